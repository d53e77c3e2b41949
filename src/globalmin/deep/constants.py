r"""The constants in the proofs of DU-T3.1 and DU-T3.2, as far as they are explicit, corrected
(DU-L3.1 to L3.27).

They hold with room to spare - the factor c_x^H with c_x about 4 makes them astronomical - and are
here to be looked at; what can be proved of a given network is theorem DS's business
(`deep_lipschitz`). Floats, hence estimates of the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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
