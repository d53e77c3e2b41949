"""The constants in the proofs of DU-T3.1 and DU-T3.2, corrected (DU-L3.1 to L3.27), the width they
ask for, and the rate promised by DU-T3.1 to T3.3, against a run.

The factor c_x^H with c_x about 6 makes them astronomical: `sufficient_width` has our own chain,
which asks for far less, and what can be proved of a given network is theorem DS's business
(`lipschitz`). Floats, hence estimates of the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.activations import Activation, get_activation
from globalmin.activations.moments import normalizer
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from globalmin.deep.network import DeepNetwork


def geometric_sum(ratio: float, count: int) -> float:
    """g_ratio(count) = sum of ratio^i over i < count."""
    return float(sum(ratio**i for i in range(count)))


@dataclass(frozen=True)
class Slopes:
    """|sigma(0)|, Lipschitz constants L of sigma and beta of sigma', and c_sigma."""

    at_zero: float
    L: float
    beta: float
    c_sigma: float

    @classmethod
    def of(cls, activation: str | Activation) -> Slopes:
        """Those of an activation (DU-A3.1, Condition 3.1)."""
        phi = get_activation(activation)
        return cls(
            abs(float(phi(0.0))), float(phi.supremum(1)), float(phi.supremum(2)), normalizer(phi)
        )


@dataclass(frozen=True)
class Start:
    """Sizes at the first weights, in the letters of the thesis.

    Attributes
    ----------
    c_x0 : largest ||x_i^(h)||.
    c_w0 : largest ||W^(h)||/sqrt(m), h >= 2 (h >= 1 if there is one layer only).
    a_20, a_40 : ||a||_2/sqrt(m) and ||a||_4/m^{1/4}.
    """

    c_x0: float
    c_w0: float
    a_20: float
    a_40: float


def measured_start(network: DeepNetwork, X: ArrayLike) -> Start:
    """The constants of `Start` as they are for this network and these inputs."""
    m, passed = network.width, network.forward(X)
    sizes = [float(np.linalg.norm(x, axis=(1, 2)).max()) for x in passed.features]
    norms = [float(np.linalg.norm(W, 2)) for W in network.weights]
    a = network.head
    return Start(
        max(sizes),
        max(norms) / math.sqrt(m),
        float(np.linalg.norm(a)) / math.sqrt(m),
        float((a**4).sum() / m) ** 0.25,
    )


@states("DU-L3.1")
def width_for_norms(
    n: int, depth: int, activation: str | Activation, *, delta: float = 0.1
) -> float:
    r"""Width from which 1/2 <= ||x_i^(h)(0)|| <= 2 for all i, h with probability 1 - delta; fully
    connected, inputs of norm 1.

    $m \ge 4 n H g_C(H)^2 C_2/\delta$ with the corrected C and C_2 (erratum E16).
    """
    if not 0.0 < delta < 1.0:
        raise DataError(f"delta={delta!r} must satisfy 0 < delta < 1")
    s, root = Slopes.of(activation), math.sqrt(2.0 / math.pi)
    z, L = s.at_zero, s.L
    C = s.c_sigma * L * (2 * z * root + 2.5 * L)
    C_2 = s.c_sigma**2 * (
        z**4 + 8 * z**3 * L * root + 24 * z**2 * L**2 + 64 * z * L**3 * root + 48 * L**4
    )
    return 4 * n * depth * geometric_sum(C, depth) ** 2 * C_2 / delta


def spectral_tail(width: int, c_w0: float, *, window: int = 1) -> float:
    """Upper bound of P(||W|| > c_w0 sqrt(m)) for W of shape m x window*m with N(0, 1) entries
    (DU-L3.27, sign corrected).
    """
    excess = max(c_w0 - math.sqrt(window) - 1.0, 0.0)
    return math.exp(-(excess**2) * width / 2)


def spectral_limit(width: float, columns: float, failure: float) -> float:
    """Bound of ||W|| that fails with probability `failure`, for W of shape width x columns with
    standard normal entries: sqrt(m) + sqrt(columns) + sqrt(2 log(1/failure)), DU-L3.27 for
    rectangles.
    """
    return math.sqrt(width) + math.sqrt(columns) + math.sqrt(2.0 * math.log(1.0 / failure))


def mean_size(activation: str | Activation, variance: float) -> float:
    """Bound of E|sigma(sqrt(v) z)|: |sigma(0)| + L sqrt(2 v/pi)."""
    s = Slopes.of(activation)
    return s.at_zero + s.L * math.sqrt(2.0 * variance / math.pi)


def fourth_moment(activation: str | Activation, variance: float) -> float:
    """Bound of E sigma(sqrt(v) z)^4, from |sigma(x)| <= |sigma(0)| + L |x|."""
    s, root = Slopes.of(activation), math.sqrt(2.0 / math.pi)
    z, tau = s.at_zero, s.L * math.sqrt(variance)
    return z**4 + 4 * z**3 * tau * root + 6 * z**2 * tau**2 + 8 * z * tau**3 * root + 3 * tau**4


@states("DU-L3.8")
def feature_limit(
    activation: str | Activation, c_w0: float, *, c_res: float, pixels: int = 1, window: int = 1
) -> float:
    r"""c_x0 of residual networks: ||x_i^(h)(0)|| <= this for all h, once ||x^(1)|| <= 2 (or its
    bound for convolutions).

    $e^{\sqrt q c_{res} c_{w0} L}(\|x^{(1)}\| + c_{res}|\sigma(0)|\sqrt p)$; print lacks the term
    with sigma(0) (erratum E18). For convolutions ||x^(1)|| is bounded by sqrt(c_sigma)(|sigma(0)|
    sqrt(p) + sqrt(q) L c_w0), inputs of norm 1.
    """
    s, root = Slopes.of(activation), math.sqrt(window)
    first = (
        2.0
        if pixels == 1
        else math.sqrt(s.c_sigma) * (s.at_zero * math.sqrt(pixels) + root * s.L * c_w0)
    )
    return math.exp(root * c_res * c_w0 * s.L) * (first + c_res * s.at_zero * math.sqrt(pixels))


@states("DU-L3.3")
def feature_movement(
    activation: str | Activation, start: Start, layer: int, R: float, *, c_res: float | None = None
) -> float:
    """Bound of ||x^(h)(k) - x^(h)(0)|| when every ||W^(h)(k) - W^(h)(0)||_F <= sqrt(m) R, R <=
    c_w0.

    Fully connected (DU-L3.3) unless `c_res` is given; then residual (DU-L3.10), the same for all
    layers.
    """
    s = Slopes.of(activation)
    if c_res is None:
        c_x = 2 * math.sqrt(s.c_sigma) * s.L * start.c_w0
        return math.sqrt(s.c_sigma) * s.L * start.c_x0 * geometric_sum(c_x, layer) * R
    return (
        (math.sqrt(s.c_sigma) * s.L + start.c_x0 / start.c_w0)
        * math.exp(2 * c_res * start.c_w0 * s.L)
        * R
    )


@states("DU-L3.4")
def gram_movement(
    activation: str | Activation,
    start: Start,
    depth: int,
    n: int,
    *,
    R: float = 1.0,
    c_res: float | None = None,
) -> float:
    """Bound of ||G^(H)(k) - G^(H)(0)||_F when all weights, the head included, moved by at most
    sqrt(m) R; it is linear in R.

    Fully connected (DU-L3.4, erratum E17) unless `c_res` is given; then residual (DU-L3.11).
    """
    s = Slopes.of(activation)
    L, beta, c, x0, a2, a4 = s.L, s.beta, s.c_sigma, start.c_x0, start.a_20, start.a_40
    if c_res is None:
        g = geometric_sum(2 * math.sqrt(c) * L * start.c_w0, depth)
        terms = (
            3 * c**1.5 * a2**2 * x0**2 * L**3 * g
            + 2 * beta * c * a4**2 * x0**3 * L * g
            + 12 * L**2 * x0**2 * c * a2
        )
        return terms * n * R
    c_x = feature_movement(activation, start, depth, 1.0, c_res=c_res)
    terms = (
        3 * x0 * c_x * a2**2
        + 2 * beta * x0**2 * (2 * c_x * start.c_w0 + x0) * a4**2
        + 12 * x0**2 * a2
    )
    return (c_res * L / depth) ** 2 * terms * n * R


def allowed_movement(
    activation: str | Activation,
    start: Start,
    depth: int,
    n: int,
    *,
    lambda0: float,
    c_res: float | None = None,
) -> float:
    """R up to which G^(H) stays within lambda_0/4 of its start: lambda_0/(4 times the bound of
    `gram_movement` at R = 1).
    """
    return lambda0 / (4 * gram_movement(activation, start, depth, n, c_res=c_res))


@dataclass(frozen=True)
class Movement:
    """Bounds of how far gradient descent moves each block, divided by sqrt(m): first layer, upper
    layers, head.
    """

    first: float
    upper: float
    head: float


@states("DU-L3.5")
def predicted_movement(
    activation: str | Activation,
    start: Start,
    depth: int,
    n: int,
    *,
    width: int,
    residual: float,
    lambda0: float,
    c_res: float | None = None,
) -> Movement:
    """R' as long as the loss falls by the factor 1 - eta lambda_0/2 in every step; `residual` is
    ||y - u(0)||.

    Fully connected: DU-L3.5 for all blocks. Residual (`c_res`): DU-L3.12 for h >= 2 only; first
    layer and head lack the factor 1/H (erratum E15).
    """
    s = Slopes.of(activation)
    factor = 8 * math.sqrt(n) * residual / (lambda0 * math.sqrt(width))
    if c_res is None:
        c_x = max(2 * math.sqrt(s.c_sigma) * s.L * start.c_w0, 1.0)
        bound = 2 * factor * start.c_x0 * start.a_20 * c_x**depth
        return Movement(bound, bound, bound)
    growth = start.a_20 * s.L * math.exp(2 * c_res * start.c_w0 * s.L)
    return Movement(
        math.sqrt(s.c_sigma) * growth * factor,
        2 * c_res * start.c_x0 * growth * factor / depth,
        start.c_x0 * factor,
    )


@states("DU-L3.6")
def proof_step_size(
    activation: str | Activation,
    start: Start,
    depth: int,
    n: int,
    *,
    residual: float,
    lambda0: float,
) -> float:
    """The step size eta for which the proof of DU-T3.1 goes through (fully connected)."""
    s = Slopes.of(activation)
    c_x = max(2 * math.sqrt(s.c_sigma) * s.L * start.c_w0, 1.0)
    size = (
        start.c_x0**4 * start.a_20**3 * c_x ** (3 * depth) * geometric_sum(2 * c_x, depth) * s.beta
    )
    return lambda0 / (2048 * n**1.5 * residual * depth**2 * math.sqrt(s.c_sigma) * size)


def typical_start(activation: str | Activation, *, c_res: float | None = None) -> Start:
    """Sizes that hold at the first weights with high probability for large m, inputs of norm 1:
    ||W|| <= 3 sqrt(m) (DU-L3.27), ||a||^2 <= (9/4) m, ||a||_4^4 <= 4 m, and features at most 2
    (DU-L3.1) or the bound of DU-L3.8.
    """
    c_x0 = 2.0 if c_res is None else feature_limit(activation, 3.0, c_res=c_res)
    return Start(c_x0, 3.0, 1.5, math.sqrt(2.0))


@states("DU-T3.1", "DU-T3.2")
def proof_width(
    activation: str | Activation,
    depth: int,
    n: int,
    *,
    residual: float,
    lambda0: float,
    c_res: float | None = None,
) -> float:
    """The width from which R' <= R: descent moves the weights less (DU-L3.5, L3.12) than it may
    (DU-L3.4, L3.11), by the lemmas' own constants at a typical start.

    An estimate: the probabilities of the start and the step of DU-L3.6 are not in it.
    """
    if not lambda0 > 0.0:
        return math.inf
    start = typical_start(activation, c_res=c_res)
    R = allowed_movement(activation, start, depth, n, lambda0=lambda0, c_res=c_res)
    sizes = {"width": 1, "residual": residual, "lambda0": lambda0, "c_res": c_res}
    moved = predicted_movement(activation, start, depth, n, **sizes)
    return (max(moved.first, moved.upper, moved.head) / R) ** 2


class History(Protocol):
    """What the theorems speak of: the losses of gradient descent with one step size, at recorded
    steps.
    """

    @property
    def iteration(self) -> NDArray[np.int64]:
        """Numbers of the recorded steps, 0 first."""
        ...

    @property
    def loss(self) -> Array:
        """(1/2) sum of squares at these steps."""
        ...

    @property
    def step_size(self) -> float:
        """The step size eta."""
        ...


class RateCheck(NamedTuple):
    """The promised and the measured rate.

    Attributes
    ----------
    holds : whether L_k <= (1 - eta lambda_0/2)^k L_0 at every recorded step.
    worst : largest L_k/((1 - eta lambda_0/2)^k L_0), at most 1 if the promise holds.
    at : the step where that is.
    promised : eta lambda_0/2, the promised decrease of log L per step.
    measured : mean decrease of log L per step over the run (until the loss is at the rounding level
        1e-24 L_0).
    """

    holds: bool
    worst: float
    at: int
    promised: float
    measured: float


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
def rate_check(history: History, lambda0: float) -> RateCheck:
    """Compare a run of gradient descent with the promise of the theorems.

    Parameters
    ----------
    history : History
        A trajectory of `train_deep` with method "gradient_descent", or anything with the same three
        names.
    lambda0 : float
        lambda_min(K^(H)), see `deep_gram`; lambda_min of the full kernel gives a promise that is
        not the theorems'.
    """
    k, loss, eta = (
        np.asarray(history.iteration),
        np.asarray(history.loss, dtype=np.float64),
        float(history.step_size),
    )
    if not (eta > 0 and lambda0 >= 0 and 0.5 * eta * lambda0 < 1):
        raise DataError(
            f"step_size={eta!r} and lambda0={lambda0!r} must satisfy 0 <= step_size * lambda0 < 2, "
            "step_size > 0"
        )
    promised = -math.log1p(-0.5 * eta * lambda0)
    if len(loss) == 0 or loss[0] <= 0:
        return RateCheck(True, 0.0, 0, promised, math.inf)
    seen = loss > 1e-24 * loss[0]
    with np.errstate(over="ignore", invalid="ignore"):
        ratios = np.where(
            seen, np.exp(np.log(np.maximum(loss, 1e-300) / loss[0]) + promised * k), 0.0
        )
    worst = int(np.argmax(ratios))
    last = int(np.flatnonzero(seen)[-1])
    measured = math.log(loss[0] / loss[last]) / float(k[last]) if k[last] > 0 else 0.0
    return RateCheck(
        bool(ratios[worst] <= 1.0 + 1e-9), float(ratios[worst]), int(k[worst]), promised, measured
    )
