r"""Gradient descent from a random start, followed until the rest of the run can be proved.

The theorems of the papers speak of the start: descent from $W_0 \sim N(0,1)$ reaches zero loss. The
claim *trajectory* proves that for one start. Here is the run it speaks of (the start, the step, the
number of steps, the weights where it lands), and the start that belongs to a seed by a rule which
the checker repeats, so that nobody can choose a lucky one and call it random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import (
    LANDINGS,
    START_METHODS,
    TRAINED,
    Architecture,
    Landing,
    StartMethod,
    Trained,
    one_of,
)
from globalmin._types import Array, NDArray
from globalmin.activations import Activation, get_activation
from globalmin.errors import CannotCertify, DataError
from globalmin.proving.claim import StartQuestion, deep_door
from globalmin.proving.producer import prove, unproved
from globalmin.shallow.claims.relu_trajectory import KINKED
from globalmin.shallow.degenerate import pose
from globalmin.shallow.initialization import os_head
from globalmin.shallow.methods.gradient_descent import MAX_ITER, check_step, steps
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.provability import LANDED, estimate_provability
from globalmin.shallow.step_sizes import theory_step

if TYPE_CHECKING:
    import os

    from globalmin.data import Dataset
    from globalmin.proving.proof import Proof
    from globalmin.shallow.problem import Point
    from globalmin.shallow.trajectory import ShallowRun

TOL = 1e-2  # relative residual at which a run that only wants a small loss ends
_ASKED_EVERY = 0.8  # the theorem is asked when the residual fell by a fifth since the last question
_CELL_BITS = 1024
_TINY = 1e-300  # keeps the logarithm of a loss of zero finite


@dataclass(frozen=True)
class StartedRun:
    """Gradient descent from a start to weights from which the rest is provable.

    Attributes
    ----------
    start : the network at the start, rounded to doubles where the start is the cell of a seed.
    network : the network after `n_iter` steps.
    step_size : eta on L = (1/2) sum r^2.
    n_iter : K.
    seed : whose cell the start is; None for stored doubles.
    norms : ||r|| before each of the K steps.
    lengths : length of each step.
    trained : "W", or "vW" where the head moved too.
    landing : "descent", or "loss" where the run just ends.
    factors : by how much the replay's error grows in each step (an estimate), where `norms` does
        not say it.
    order : the sample of each step of a stochastic run.
    """

    start: ShallowNetwork
    network: ShallowNetwork
    step_size: float
    n_iter: int
    seed: int | None
    norms: Array = field(repr=False)
    lengths: Array = field(repr=False)
    trained: Trained = "W"
    landing: Landing = "descent"
    factors: Array | None = field(default=None, repr=False)
    order: NDArray[np.int64] | None = field(default=None, repr=False)


def started(run: ShallowRun) -> StartedRun:
    """The run of `train(..., method="gradient_descent")` as the claim *trajectory* speaks of it.

    Between recorded steps the residual and the length of the path are interpolated; the length of
    the whole path is exact, the residuals decide only how many bits the replay is given.

    Raises CannotCertify for the run of another method, for one that moved the head, and for one
    whose last step is not the network it returned.
    """
    seen = run.trajectory
    if run.start is None or run.step_size is None:
        raise CannotCertify(
            f"the run of {run.method} has no start and step that could be replayed: train by "
            "method='gradient_descent', until='proved'"
        )
    if not np.array_equal(run.start.v, run.network.v):
        raise CannotCertify("both layers moved, and the claim is about runs that keep the head")
    if seen.iteration[-1] != run.n_iter or seen.loss[-1] != run.loss:
        raise CannotCertify(
            f"the network is not that of the last of {run.n_iter} steps ({run.message}): train "
            "until='proved'"
        )
    every = np.arange(run.n_iter + 1)
    norms = np.exp(np.interp(every, seen.iteration, 0.5 * np.log(2.0 * seen.loss + _TINY)))
    walked = np.interp(every, seen.iteration, seen.path_length)
    return StartedRun(
        start=run.start,
        network=run.network,
        step_size=run.step_size,
        n_iter=run.n_iter,
        seed=None,
        norms=norms[:-1],
        lengths=np.diff(walked),
    )


def seeded_start(seed: int, width: int, n_features: int) -> Array:
    r"""The hidden weights that belong to a seed, to the rounding of doubles: independent N(0, 1).

    Entry j (row by row) is $\Phi^{-1}(m_j/2^{1024})$, $m_j$ the integer of the four SHA-256 digests
    of "globalmin-start/1|seed|j|b", b = 0..3. The checker draws it again, to any precision.
    """
    return seeded_entries(seed, width * n_features).reshape(width, n_features)


def seeded_entries(seed: int, count: int) -> Array:
    """The first entries of the start of a seed, in the order in which the checker draws them."""
    if not 0 <= seed < 10**18:
        raise DataError(f"seed={seed!r} must be an integer from 0 to 10^18 - 1")
    return np.array([_normal(f"{seed}|{j}") for j in range(count)])


def _normal(place: str) -> float:
    from scipy.special import ndtri

    digests = (sha256(f"globalmin-start/1|{place}|{b}".encode("ascii")) for b in range(4))
    m = int.from_bytes(b"".join(digest.digest() for digest in digests), "big")
    rest = (1 << _CELL_BITS) - m
    return float(ndtri(m / (1 << _CELL_BITS)) if m < rest else -ndtri(rest / (1 << _CELL_BITS)))


def descend(
    start: ShallowNetwork,
    data: Dataset,
    *,
    step_size: float | str | None = "theory",
    max_iter: int = MAX_ITER,
    seed: int | None = None,
    trained: Trained = "W",
    landing: Landing = "descent",
    tol: float = TOL,
) -> StartedRun:
    """Follow gradient descent until the claim *descent* holds with room at its weights, or with
    landing "loss" until the relative residual is `tol` or after `max_iter` steps.

    Raises CannotCertify, with the number that must fall below 1, if the claim does not come to hold
    within `max_iter` steps. A step costs one gradient, O(n k d); with both layers also O(n^2 k).
    """
    first, eta = first_point(start, data, step_size, trained)
    seen, last, asked, point = (
        _Seen(start, eta, trained),
        math.inf,
        0.2 * first.problem.scale,
        first,
    )
    for following in islice((i.point for i in steps(first, eta)), max_iter + 1):
        landed = landing == "loss" and (
            point.relative_residual <= tol or len(seen.norms) == max_iter
        )
        if landing == "descent" and point.norm <= asked:
            asked, last = _ASKED_EVERY * point.norm, _ratio(start, point, data)
            landed = last < LANDED
        if landed:
            network = start.with_weights(W=point.W, v=point.v)
            path, factors = (np.array(seen.norms), np.array(seen.lengths)), seen.factors
            return StartedRun(
                start, network, eta, len(seen.norms), seed, *path, trained, landing, factors
            )
        seen.record(point, following)
        point = following
    raise CannotCertify(
        f"gradient descent with step {eta:.3g} does not come within the reach of the descent "
        f"theorem in {len(seen.norms)} steps: 2 Lip ||r|| / a^2 = {last:.3g} at the last question, "
        f"must be below {LANDED:g}; relative residual {point.relative_residual:.2g}. Take more "
        "steps, a longer step, or a wider network"
    )


def first_point(
    start: ShallowNetwork, data: Dataset, step_size: float | str | None, trained: Trained
) -> tuple[Point, float]:
    """The start as a point of its problem, and the step."""
    first = pose(start, data, trained)
    is_theory = step_size in (None, "theory")
    return first, theory_step(start, first) if is_theory else check_step(step_size)


class _Seen:
    """What is kept of every step: ||r||, its length and, for both layers, its expansion."""

    def __init__(self, start: ShallowNetwork, eta: float, trained: Trained) -> None:
        self.bend = float(start.activation.supremum(2))
        self.eta, self.both = eta, trained == "vW"
        self.norms: list[float] = []
        self.lengths: list[float] = []
        self._factors: list[float] = []

    def record(self, point: Point, following: Point) -> None:
        """Of the step from one point to the next."""
        self.norms.append(point.norm)
        moved = following.W - point.W, following.v - point.v
        self.lengths.append(math.hypot(*map(float, map(np.linalg.norm, moved))))
        if self.both:
            self._factors.append(_both_factor(point, self.eta, self.bend))

    @property
    def factors(self) -> Array | None:
        """Of all steps; None where they follow from the norms."""
        return np.array(self._factors) if self.both else None


def _both_factor(point: Point, eta: float, b2: float) -> float:
    r"""The expansion "blocks" of a step of both layers, for the radius 0: $\max(1, \eta b^2 - 1) +
    \eta(s + \sqrt{s^2 + 4c^2})/2$.
    """
    problem, phi = point.problem, point.problem.activation
    longest = float(np.linalg.norm(problem.X, axis=1).max())
    mm = b2 * float(np.abs(point.v).max()) * longest
    s = mm * float(np.linalg.norm(problem.X, 2)) * point.norm
    slopes = phi.derivative(point.preactivations) * point.residual[:, None]
    c = float(np.linalg.norm(slopes.T @ problem.X, axis=1).max())
    rows = float(np.abs(point.gram()).sum(axis=1).max())
    return max(1.0, eta * rows - 1.0) + eta * (s + math.hypot(s, 2.0 * c)) / 2.0


def _ratio(start: ShallowNetwork, point: Point, data: Dataset) -> float:
    network, trained = start.with_weights(W=point.W, v=point.v), point.problem.trained
    return estimate_provability(network, data.X, data.y, trained, claim="descent")


def prove_start(
    start: Any,
    data: Dataset,
    *,
    width: int | None = None,
    depth: int | None = None,
    architecture: Architecture = "fully_connected",
    activation: str | Activation = "softplus",
    trained: Trained = "W",
    method: StartMethod = "gradient_descent",
    landing: Landing = "descent",
    step_size: float | str | None = None,
    max_iter: int = MAX_ITER,
    tol: float = TOL,
    shuffle_seed: int = 0,
    path: str | os.PathLike[str] | None = None,
) -> Proof:
    """Prove that gradient descent from this start reaches zero loss: the headline of the papers,
    for these data, this width and this start.

    Parameters
    ----------
    start : ShallowNetwork | DeepNetwork | int
        The network at the start: a shallow one, or a deep one, of which all layers and the head are
        trained; or a seed, which stands for independent N(0, 1) weights that the checker draws
        again: hidden weights with the head of OS, or with `depth` all weights and the head. With
        trained="vW" the weights of a seed are stored as doubles, and the statement is about them.
    data : Dataset
        The samples.
    width : int | None
        Neurons, for a seed; of every layer.
    depth : int | None
        For a seed: hidden weight matrices of a deep network; None for a shallow one.
    architecture : str
        For a seed with a depth: "fully_connected", "resnet" or "convolutional_resnet".
    activation : str | Activation
        For a seed: softplus, sigmoid, tanh or erf; for a shallow network also relu.
    trained : str
        "W", the head stays fixed; "vW", both layers move with one common step.
    method : str
        "gradient_descent", or "sgd": one sample a step, one permutation of all samples after the
        other. The statement is then about the recorded order, and about every order in which the
        run may go on as long as it keeps meeting all samples.
    landing : str
        "descent", the run is proved to converge to zero loss; "loss", only what its loss is after
        its steps, for runs that never come within the reach of the theorem (W by gradient descent;
        leaky_relu and abs too).
    step_size : float | str | None
        The step on L = (1/2) sum r^2; "theory" (default) for that of the theorem which speaks of
        the start, for a deep network 0.6/|J|^2 there. For "sgd" the step on one r^2/2, by default
        1/max|grad f_i|^2.
    max_iter : int
        Steps after which the attempt is given up, or with landing "loss" ends.
    tol : float
        Relative residual at which a run with landing "loss" ends.
    shuffle_seed : int
        Of the permutations of "sgd".
    path : str | os.PathLike[str] | None
        Where the certificate file is to be.

    Returns
    -------
    Proof
        With `verdict`, `statement` and `certificate`; `reason` if nothing could be proved.
    """
    _check_variant(trained, method, landing)
    seed = _seed_of(start)
    if depth is not None or not (seed is not None or isinstance(start, ShallowNetwork)):
        _require_plain("a deep network", trained, method, landing)
        form: dict[str, Any] = {"width": width, "depth": depth, "architecture": architecture}
        how: dict[str, Any] = {"step_size": step_size, "max_iter": max_iter, "path": path}
        return deep_door(start, depth)(
            StartQuestion(start, data, activation=activation, **form, **how)
        )
    network: Any = start if seed is None else seeded_network(seed, data, width, activation)
    options: dict[str, Any] = {"step_size": step_size, "max_iter": max_iter}
    options["seed"] = seed if trained == "W" else None
    if network.activation.name in KINKED:
        from globalmin.shallow.relu_from_start import prove_kinked

        _require_plain("a network with kinks", trained, method)
        return prove_kinked(network, data, landing=landing, tol=tol, path=path, **options)
    try:
        if method == "sgd":
            from globalmin.shallow.stochastic_start import descend_by_samples

            run = descend_by_samples(network, data, shuffle_seed=shuffle_seed, **options)
        else:
            run = descend(network, data, trained=trained, landing=landing, tol=tol, **options)
    except CannotCertify as error:
        return unproved(error, data)
    kind = "sgd-trajectory" if method == "sgd" else "trajectory"
    return prove(run.network, data, claims=(kind,), run=run, path=path)


def _check_variant(trained: Trained, method: StartMethod, landing: Landing) -> None:
    one_of("trained", trained, TRAINED)
    one_of("method", method, START_METHODS)
    one_of("landing", landing, LANDINGS)
    if trained == "vW" and (method == "sgd" or landing == "loss"):
        raise DataError(
            f"trained='vW' with method={method!r} and landing={landing!r}: both layers are covered "
            "by gradient descent that lands in the descent theorem; take trained='W'"
        )
    if method == "sgd" and landing == "loss":
        raise DataError("method='sgd' lands in its own theorem; take landing='descent'")


def _seed_of(start: object) -> int | None:
    if isinstance(start, bool) or not isinstance(start, int | np.integer):
        return None
    return int(start)


def _require_plain(
    network: str, trained: Trained, method: StartMethod, landing: Landing = "descent"
) -> None:
    """Refuse what is covered for shallow smooth networks only."""
    if (trained, method, landing) != ("W", "gradient_descent", "descent"):
        raise DataError(
            f"trained={trained!r}, method={method!r}, landing={landing!r}: for {network} leave "
            "them out"
        )


def seeded_network(
    seed: object, data: Dataset, width: int | None, activation: str | Activation
) -> ShallowNetwork:
    """The network of a seed: N(0, 1) hidden weights by the checker's rule, the head of OS."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise DataError(f"start={seed!r} must be a ShallowNetwork, or an integer seed")
    if width is None:
        raise DataError("width=None: a seed needs the number of neurons, for example width=40")
    W = seeded_start(int(seed), width, data.n_features)
    return ShallowNetwork(W, os_head(np.asarray(data.y), width), get_activation(activation))
