"""Training of deep networks, all layers and the head: gradient descent as in DU-T3.1 to T3.3, and
Levenberg-Marquardt.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator
from dataclasses import replace
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.data.pixels import whole_number
from globalmin.data.validation import gram_bytes, require_memory
from globalmin.deep.lipschitz import estimate_deep_descent
from globalmin.deep.problem import SPECTRA, DeepPoint, DeepRecorder, DeepRun, Spectra, pose_deep
from globalmin.errors import DataError
from globalmin.optimize.follow import Iterate, Monitor, Watch, follow
from globalmin.optimize.run import Run, Status
from globalmin.references import states
from globalmin.shallow.methods.gradient_descent import check_step

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork


PATIENCE = 1_000  # gradient steps without a new smallest loss
PASSES = 100  # the same of passes of minibatches
START_DAMPING = 0.1  # lambda at the start, relative to the mean of the diagonal of G
MAX_REJECTIONS = 12
STALL, PROGRESS = 40, 0.99  # given up when so many systems have not lowered ||r|| by one per cent


def descent_steps(
    point: DeepPoint, eta: float
) -> Generator[Iterate[DeepPoint], None, Status | None]:
    """Steps theta <- theta - eta J^T r for all layers, until the weights overflow or the loss has
    found no new minimum for a thousand of them.
    """
    lowest, since = point.norm, 0
    while since < PATIENCE:
        moved = point.moved(point.gradient, -eta)
        if moved is None:
            return Status.DIVERGED
        point = moved
        yield Iterate(point)
        lowest, since = (point.norm, 0) if point.norm < lowest else (lowest, since + 1)
    return None


def minibatch_steps(
    point: DeepPoint, eta: float, batch: int, rng: np.random.Generator
) -> Generator[Iterate[DeepPoint], None, Status | None]:
    """Updates theta <- theta - eta (n/s) J_B^T r_B over s samples B, drawn without replacement
    within a pass; one iterate per pass, until the weights overflow or the loss has found no new
    minimum for a hundred passes.

    The factor n/s makes the mean of the update that of gradient descent with the same eta.
    """
    problem, n = point.problem, len(point.residual)
    network, lowest, since = point.network, point.norm, 0
    while since < PASSES:
        order = rng.permutation(n)
        for first in range(0, n, batch):
            rows = order[first : first + batch]
            moved = problem.part(rows).at(network)
            stepped = moved.moved(moved.gradient, -eta * n / len(rows))
            if stepped is None:
                return Status.DIVERGED
            network = stepped.network
        point = problem.at(network)
        yield Iterate(point, -(-n // batch))
        lowest, since = (point.norm, 0) if point.norm < lowest else (lowest, since + 1)
    return None


def damped_steps(point: DeepPoint) -> Generator[Iterate[DeepPoint], None, None]:
    """Levenberg-Marquardt steps, one point per linear system solved, rejected or not, down to the
    rounding level.
    """
    eps = float(np.finfo(np.float64).eps)
    diagonal = float(np.trace(point.gram)) / len(point.residual)
    mu, growth, rejections = START_DAMPING * diagonal / max(point.norm, eps), 2.0, 0
    norms = [point.norm]
    while diagonal > 0 and point.norm > 0 and rejections < MAX_REJECTIONS:
        shift = max(mu * point.norm, 4 * eps * diagonal)
        u = _solve(point.gram, point.residual, shift)
        trial = None if u is None else point.moved(point.pull_back(u), -1.0)
        if u is not None and trial is not None and trial.norm < point.norm:
            expected = max(point.norm**2 - shift**2 * float(u @ u), np.finfo(np.float64).tiny)
            gain = (point.norm**2 - trial.norm**2) / expected
            mu *= max(1 / 3, 1 - (2 * gain - 1) ** 3) if gain < 0.9 else 1 / 10
            point, growth, rejections = trial, 2.0, 0
            diagonal = float(np.trace(point.gram)) / len(point.residual)
        else:
            mu, growth, rejections = mu * growth, 2 * growth, rejections + 1
        yield Iterate(point)
        norms.append(point.norm)
        if len(norms) > STALL and norms[-1] > PROGRESS * norms[-STALL - 1]:
            return


def _solve(G: Array, r: Array, shift: float) -> Array | None:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    damped = G.copy()
    damped.flat[:: len(G) + 1] += shift
    try:
        u = cho_solve(
            cho_factor(damped, lower=True, overwrite_a=True, check_finite=False),
            r,
            check_finite=False,
        )
    except LinAlgError:
        return None
    return u if np.isfinite(u).all() else None


Method = Literal["gradient_descent", "levenberg_marquardt"]
MAX_ITER: dict[Method, int] = {"gradient_descent": 20_000, "levenberg_marquardt": 400}
ROUNDED_FIT = (
    1e-8  # a run that stops by itself below this relative residual has met the rounding floor
)
Until = Literal["tolerance", "descent"]
UNTIL: tuple[Until, ...] = get_args(Until)


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
def train_deep(
    network: DeepNetwork,
    data: Any,
    *,
    method: Method = "levenberg_marquardt",
    step_size: float | None = None,
    batch_size: int | None = None,
    max_iter: int | None = None,
    tol: float = 1e-12,
    until: Until = "tolerance",
    spectra: Spectra = "sparse",
    seed: int | np.random.Generator | None = 0,
    verbose: bool = False,
    throw: bool = False,
    monitor: Callable[..., object] | None = None,
) -> DeepRun:
    """Train all layers on L = (1/2) sum of r_i^2.

    Parameters
    ----------
    network : DeepNetwork
        The start.
    data : Any
        A pair (X, y), or anything with X and y such as a Dataset; X has one input per row, of the
        network's input shape.
    method : str
        "gradient_descent", the method of the theorems, or "levenberg_marquardt", which reaches late
        iterates fast.
    step_size : float | None
        Eta of gradient descent; default 1/||J(theta_0)||^2, the limit of theorem DS's step as the
        radius shrinks. With minibatches of s samples also 1/(n/s max_i ||J_i||^2) where that is
        less: no batch carries the residual of its own samples beyond zero, to first order.
    batch_size : int | None
        Samples of one update of gradient descent, drawn anew in every pass (stochastic gradient
        descent); None for all. An update is eta times n/s times the gradient of the batch;
        `max_iter` counts updates, and the loss is looked at once a pass.
    tol : float
        The run ends when ||r|| <= tol ||y||.
    until : str
        "tolerance", or "descent" to end as soon as theorem DS can be expected to hold
        (`estimate_deep_descent`).
    spectra : str
        How often the least eigenvalues of the Gram matrices are recorded: "sparse", as many as cost
        some 3 % of the training, and at both ends; "every", at every recorded step; or "none".
    seed : int | np.random.Generator | None
        Of the minibatches.
    verbose, throw : bool
        As in `train`.
    monitor : Monitor | None
        As in `train`.
    """
    one_of("method", method, MAX_ITER)
    one_of("until", until, UNTIL)
    if not tol >= 0:
        raise DataError(f"tol={tol!r} must be a number >= 0")
    problem = pose_deep(network, *data_arrays(data))
    n, pixels, _ = problem.inputs.shape
    require_memory(
        gram_bytes(n * pixels, copies=3) + gram_bytes(n, copies=network.depth + 4),
        f"training on n={n} inputs",
    )
    start = problem.at(network)
    batch = _checked_batch(batch_size, method, n)
    eta = np.nan
    if method == "gradient_descent":
        eta = _largest_step(start, batch) if step_size is None else check_step(step_size)
    target = _Target(until, tol)
    watch = Watch(
        start,
        lambda point: point.network,
        DeepRecorder(start, one_of("spectra", spectra, SPECTRA)),
        {
            "max_iter": max_iter,
            "verbose": verbose,
            "throw": throw,
            "monitor": _one_argument(monitor),
        },
        method=method,
        default_max_iter=MAX_ITER[method],
        reached=target.reached,
        ending=target.ending,
    )
    return _deep_run(watch, follow(watch, _steps(method, start, eta, batch, seed)), eta)


def data_arrays(data: Any) -> tuple[Any, Any]:
    """X and y of a Dataset or a pair."""
    return (data.X, data.y) if hasattr(data, "X") else data


def _steps(
    method: Method,
    start: DeepPoint,
    eta: float,
    batch: int | None,
    seed: int | np.random.Generator | None,
) -> Generator[Iterate[DeepPoint], None, Status | None]:
    if method == "levenberg_marquardt":
        return damped_steps(start)
    if batch is None:
        return descent_steps(start, eta)
    return minibatch_steps(start, eta, batch, np.random.default_rng(seed))


def _checked_batch(batch_size: int | None, method: Method, n: int) -> int | None:
    """The size of minibatches, None for all samples at once."""
    if batch_size is None:
        return None
    batch = whole_number(batch_size, "batch_size")
    if method != "gradient_descent":
        raise DataError(
            f"batch_size={batch_size!r} is for method='gradient_descent'; {method} uses all samples"
        )
    return batch if batch < n else None


def _largest_step(start: DeepPoint, batch: int | None) -> float:
    largest = float(np.linalg.eigvalsh(start.gram)[-1])
    if batch is not None:
        largest = max(largest, len(start.gram) / batch * float(np.diag(start.gram).max()))
    if not 0 < largest < np.inf:
        raise DataError(
            "the Jacobian is zero or not finite at these weights: no step moves the outputs; draw "
            "another network"
        )
    return 1.0 / largest


class _Target:
    """What a run is asked to reach: a relative residual, or weights from which descent is
    provable.
    """

    def __init__(self, until: Until, tol: float) -> None:
        self.until, self.tol = until, tol
        self._asked = np.inf

    def reached(self, point: DeepPoint, _best: DeepPoint) -> Status | None:
        if self.until == "descent" and self._is_provable(point):
            return Status.PROVABLE
        return Status.CONVERGED if point.relative_residual <= self.tol else None

    def ending(self, best: DeepPoint, otherwise: Status) -> Status:
        rounded = otherwise is Status.STALLED and best.relative_residual <= ROUNDED_FIT
        return Status.CONVERGED if rounded else otherwise

    def _is_provable(self, point: DeepPoint) -> bool:
        """Ask theorem DS, but only when the residual fell by a fifth since the last question."""
        if point.norm > 0.8 * self._asked:
            return False
        self._asked = point.norm
        problem = point.problem
        X = problem.inputs.transpose(0, 2, 1).reshape(len(problem.inputs), -1)
        return problem.floor == 0.0 and estimate_deep_descent(point.network, X, problem.y).holds


def _deep_run(watch: Watch[DeepPoint, DeepNetwork], run: Run[DeepNetwork], eta: float) -> DeepRun:
    best, message = watch.chosen, run.message
    floor = best.problem.floor
    if floor > 0:
        message += f"; equal or zero inputs keep the loss at or above {floor:.3g}"
    return DeepRun.of(
        run,
        message=message,
        trajectory=replace(run.trajectory, step_size=eta, width=best.network.width),  # pyright: ignore[reportCallIssue]
        relative_residual=best.relative_residual,
        floor=floor,
        start=watch.start.network,
    )


def _one_argument(monitor: Callable[..., object] | None) -> Monitor | None:
    """A monitor of one `Step`; the older form monitor(iteration, point) still works."""
    if monitor is None:
        return None
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in signature(monitor).parameters.values() if p.kind in kinds]
    if sum(p.default is Parameter.empty for p in needed) < 2:
        return monitor
    warnings.warn(
        "monitor(iteration, point) is deprecated: take one Step, with iteration, loss and "
        "network()",
        DeprecationWarning,
        stacklevel=3,
    )
    return lambda step: monitor(step.iteration, step.point)
