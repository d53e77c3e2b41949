"""One door to every method (`train`), and training without choices (`train_auto`): restarts and
width escalation.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import Method, Scheme, Trained, Until
from globalmin.errors import DataError
from globalmin.optimize.follow import Monitor
from globalmin.shallow.methods.table import (
    METHODS,
    RESTARTED,
    check_method,
    check_options,
    check_trained,
    method_for,
)
from globalmin.shallow.solvers import solver_for
from globalmin.shallow.starts import MAX_STARTS, best_of_starts, draws, redrawn, thrown_if
from globalmin.shallow.trajectory import ShallowRun
from globalmin.shallow.widths import can_interpolate, widths

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data import Dataset
    from globalmin.optimize.follow import Monitor
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData

GIVEN_WIDTH = ("published", "published", "published", "separating", "published", "published")
WIDENING = (("published",), ("separating", "published"), ("separating",))


def train(
    network: ShallowNetwork,
    data: HasData,
    method: Method = "auto",
    *,
    trained: Trained = "W",
    max_iter: int | None = None,
    tol: float = 1e-13,
    until: Until = "tolerance",
    step_size: float | str | None = None,
    weight_decay: float = 0.0,
    seed: int | np.random.Generator | None = 0,
    verbose: bool = False,
    throw: bool = False,
    monitor: Monitor | None = None,
    **method_options: Any,
) -> ShallowRun:
    """Train a network on data.

    Parameters
    ----------
    network : ShallowNetwork
        The start.
    data : HasData
        Anything with X (n x d, bias included) and y (n), such as a `Dataset`.
    method : str
        A name in `METHODS`, or "auto": Levenberg-Marquardt for smooth activations, the homotopy for
        those with a kink, and up to six starts; the first is `network`, the others keep its head
        and draw new hidden weights from N(0, 1). For the quadratic activation "auto" solves the
        convex problem of the head of `network`, and tries these starts only where its neurons do
        not suffice for the minimum.
    trained : str
        "W" (hidden layer only), "vW" (both layers) or "v" (head only: a convex problem, which
        "auto" solves by least squares; gradient_descent and sgd follow their steps).
    max_iter : int | None
        Iteration limit of one start; each method has its own default.
    tol : float
        Relative residual ||f - y||/||y|| to reach.
    until : str
        "tolerance"; "provable" to stop as soon as a zero-loss network nearby can be expected to be
        provable; "descent" to stop as soon as the convergence of gradient descent from here can be;
        "proved", for gradient_descent, to stop with room for a proof about its own start, which
        `prove(run.network, data, run=run)` makes: descent from that start reaches zero loss.
    step_size : float | str | None
        For gradient_descent, sgd and perturbed_gradient_descent: a number, or "theory"; for sgd
        also "local", the step of OS-C4 at the weights of `network`.
    weight_decay : float
        W >= 0 on W, for the quadratic activation with method "auto": the minimum of the loss plus
        (w/2) |W|^2.
    seed : int | np.random.Generator | None
        For restarts and for sgd.
    verbose : bool
        Show a progress line if stderr is a terminal.
    throw : bool
        Raise NotConverged instead of returning a run that did not reach its target.
    monitor : Monitor | None
        Called with a `Step` at every recorded step. Ctrl-C, or KeyboardInterrupt raised in it, ends
        the run with the best network; returning True ends it with the network of that step.
    method_options : Any
        Options of one method, such as batch_size (sgd) or memory (lbfgs).

    Returns
    -------
    ShallowRun
        A run; its `status` says how it ended, and `network` is the best network seen.
    """
    check_method(method, step_size)
    check_trained(method, trained, until)
    name = method_for(network.activation, trained) if method == "auto" else method
    check_options(name, method_options)
    options = {
        "trained": trained,
        "max_iter": max_iter,
        "tol": tol,
        "until": until,
        "seed": seed,
        "verbose": verbose,
        "monitor": monitor,
    }
    options |= method_options | ({} if step_size is None else {"step_size": step_size})
    if method != "auto" or trained == "v":
        _refuse_decay(weight_decay)
        return METHODS[name](network, data, throw=throw, **options)
    solver = solver_for(network.activation, trained, until)
    solved = None
    if solver is not None and solver.covers(network):
        solved = solver.solve_from(
            network, data, **_solver_options(weight_decay, max_iter, seed, monitor)
        )
        if solved.status.is_success or weight_decay:
            return thrown_if(throw, solved)
    _refuse_decay(weight_decay)
    starts = MAX_STARTS if can_interpolate(network, data, trained) else 1
    run, _ = best_of_starts(islice(redrawn(network, seed), starts), data, name, options)
    return thrown_if(throw, _nearer(solved, run))


def _nearer(solved: ShallowRun | None, run: ShallowRun) -> ShallowRun:
    """The run that a solver fell short with, or the one of the restarts, whichever fits better."""
    return solved if solved is not None and solved.loss <= run.loss else run


def _solver_options(
    weight_decay: float,
    max_iter: int | None,
    seed: int | np.random.Generator | None,
    monitor: Monitor | None,
) -> dict[str, Any]:
    number = seed if isinstance(seed, int) else int(np.random.default_rng(seed).integers(2**31))
    return {
        "weight_decay": weight_decay,
        "max_iter": max_iter,
        "seed": number,
        "monitor": monitor,
    }


def _refuse_decay(weight_decay: float) -> None:
    if weight_decay:
        raise DataError(
            f"weight_decay={weight_decay!r} is for the quadratic activation with method='auto' and "
            "trained='W', whose penalized loss has a convex problem; leave it out"
        )


def train_auto(
    data: Dataset,
    width: int | str = "auto",
    activation: str | Activation = "softplus",
    *,
    method: Method = "auto",
    scheme: Scheme = "os",
    trained: Trained = "W",
    weight_decay: float = 0.0,
    seed: int | np.random.Generator | None = 0,
    max_starts: int | None = None,
    throw: bool = False,
    **options: Any,
) -> ShallowRun:
    """Draw networks for the data and train them until one fits: fresh starts, then wider networks
    if `width` is "auto".

    Parameters
    ----------
    data : Dataset
        The data set.
    width : int | str
        Number k of neurons, or "auto": the smallest even k with k d >= 1.2 n, then up to six times
        wider when a start failed.
    activation : str | Activation
        Its name or an `Activation`.
    method : str
        As in `train`; "auto" chooses by the activation.
    scheme : str
        The initialization, see `ShallowNetwork.initialize`.
    trained : str
        As in `train`.
    weight_decay : float
        As in `train`. Quadratic networks solved by their convex problem have heads +1 and -1 and,
        for width "auto", as many neurons as the minimum needs.
    throw : bool
        As in `train`.
    seed : int | np.random.Generator | None
        The first start is `ShallowNetwork.initialize(..., seed=seed)`, with the head adapted as in
        `starts.usable`.
    max_starts : int | None
        Starts per width. Default: one for methods that "auto" does not choose; six at a given
        width; six in all for "auto", two of them at the second width. Some starts are made for
        inputs with few features, see `starts.separating`.
    options : Any
        The other options of `train`.

    Returns
    -------
    Run
        The first run that reached its target, or the one with the smallest residual; `run.starts`
        counts all initializations tried. A start that reached the tolerance where no proof can be
        expected (see `restarts.is_good`) does not end the search.
    """
    from globalmin.activations import get_activation

    check_method(method, options.get("step_size"))
    check_trained(method, trained, options.get("until", "tolerance"))
    phi = get_activation(activation)
    name = method_for(phi, trained) if method == "auto" else method
    check_options(name, options)
    solver = (
        solver_for(phi, trained, options.get("until", "tolerance")) if method == "auto" else None
    )
    solved = None
    if solver is not None:
        asked = _solver_options(weight_decay, options.get("max_iter"), seed, options.get("monitor"))
        solved = solver.solve_fresh(data, width, phi, **asked)
        if solved is not None and (solved.status.is_success or weight_decay):
            return thrown_if(throw, solved)
    _refuse_decay(weight_decay)
    options |= {"trained": trained, "seed": seed}
    tried, best = 0, None
    for number, k in enumerate(widths(data, width, phi, trained)):
        plan = _plan(number if width == "auto" else None, name, max_starts)
        networks = draws(data, k, phi, plan, scheme=scheme, seed=seed)
        first = next(networks)
        others = networks if can_interpolate(first, data, trained) else ()
        run, over = best_of_starts(chain([first], others), data, name, options)
        tried += run.starts
        best = (
            run if best is None or over or run.relative_residual < best.relative_residual else best
        )
        if over:
            break
    if best is None:
        raise ValueError("no width to try")
    return thrown_if(throw, _nearer(solved, best.with_starts(tried)))


def _plan(widening: int | None, method: Method, max_starts: int | None) -> tuple[str, ...]:
    """Kinds of the starts: six at a given width, fewer where a wider network comes next, one for a
    method without restarts.
    """
    if max_starts is not None:
        return tuple(GIVEN_WIDTH[i % len(GIVEN_WIDTH)] for i in range(max_starts))
    if method not in RESTARTED:
        return GIVEN_WIDTH[:1]
    return GIVEN_WIDTH if widening is None else WIDENING[min(widening, len(WIDENING) - 1)]
