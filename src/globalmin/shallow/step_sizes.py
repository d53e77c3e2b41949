r"""Step sizes of the theory for gradient descent on L = (1/2) sum of r_i^2.

A step for another scaling of the loss is converted by the caller: with L/n (SJL) the step of the
papers is n times ours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import HypothesisError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import Point


UNIT = 1e-9  # rows and heads count as those of the theorem up to this relative error


@states("OS-T6.2")
def smooth_step(X: Array, y: Array, B: float) -> float:
    r"""$\eta = n / (2 B^2 \|y\|^2 \|X\|^2)$: OS-T6.2 with etabar = 1, for |phi'| <= B, the OS head
    and unit rows.
    """
    return len(y) / (2.0 * B**2 * float(y @ y) * spectral_norm(X) ** 2)


@states("OS-T6.3")
def relu_step(X: Array, y: Array) -> float:
    r"""$\eta = n / (3 \|y\|^2 \|X\|^2)$: OS-T6.3 with etabar = 1, for ReLU, the OS head and unit
    rows.
    """
    return len(y) / (3.0 * float(y @ y) * spectral_norm(X) ** 2)


@states("OS-L6.6")
def general_step(X: Array, v: Array, B: float) -> float:
    r"""$\eta = 1/(B^2 \|v\|^2 \|X\|^2) \le 1/\|J(W)\|^2$ for every W: $\|J\| \le B \|v\| \|X\|$
    (OS-L6.6; any rows and head).
    """
    return 1.0 / (B**2 * float(v @ v) * spectral_norm(X) ** 2)


@states("OS-T2.6")
def sgd_step(X: Array, y: Array, activation: Activation, *, nu: float = 3.0) -> float:
    r"""$\eta = \frac{\mu^2}{9 \nu B^4} \frac{n}{\|y\|^2} \frac{\sigma_{\min}(X*X)^2}{\|X\|^2}$,
    with $\mu = E[g \phi'(g)]$.

    OS-T2.6 with etabar = 1.

    Raises
    ------
    HypothesisError
        If n exceeds the number d(d+1)/2 of products of two features (then $\sigma_{\min}(X*X) = 0$)
        or phi' is unbounded.
    """
    B, mu = float(activation.supremum(1)), first_moment(activation)
    smallest = float(np.linalg.eigvalsh((X @ X.T) ** 2)[0])
    if not smallest > len(y) * np.finfo(np.float64).eps * spectral_norm(X) ** 2:
        raise HypothesisError(
            "OS-T2.6 needs sigma_min(X*X) > 0, which these data do not have; give step_size as a "
            "number",
            hypothesis="sigma_min(X*X) > 0",
            value=smallest,
        )
    if not math.isfinite(B):
        raise HypothesisError(
            "OS-T2.6 needs a bounded derivative phi'; give step_size as a number",
            hypothesis="sup |phi'| finite",
            value=B,
        )
    return mu**2 / (9.0 * nu * B**4) * len(y) / float(y @ y) * smallest / spectral_norm(X) ** 2


def first_moment(activation: Activation, *, nodes: int = 200) -> float:
    """E[g phi'(g)] for a standard normal g, by Gauss-Legendre quadrature on both half-lines, so
    that a kink at 0 does no harm.
    """
    t, weight = np.polynomial.legendre.leggauss(nodes)
    g = 6.0 * (t + 1.0)  # [0, 12]: the density beyond is below 1e-31
    density = 6.0 * weight * np.exp(-0.5 * g**2) / math.sqrt(2.0 * math.pi)
    return float(np.sum(density * g * (activation.derivative(g) - activation.derivative(-g))))


def theory_step(network: ShallowNetwork, start: Point) -> float:
    """The step size of the strongest theorem that speaks of this start.

    In this order: OS-T6.2 (bounded phi') or OS-T6.3 (ReLU) if the head is the OS head, the rows
    have unit norm and only W is trained; the step 1/(b + Lip S)^2 of OS-C1 if that theorem's
    hypothesis holds at the start (estimated in floats); 1/(B^2 ||v||^2 ||X||^2) if only W is
    trained and phi' is bounded; else 1/(2 ||J(theta_0)||^2), measured at the start and without a
    guarantee.
    """
    X, y = start.problem.X, start.problem.y
    B, only_W = float(network.activation.supremum(1)), start.problem.trained == "W"
    if (
        only_W
        and math.isfinite(B)
        and float(y @ y) > 0
        and has_os_head(network.v, y)
        and has_unit_rows(X)
    ):
        return relu_step(X, y) if network.activation.name == "relu" else smooth_step(X, y, B)
    certified = _descent_step(network, start)
    if certified is not None:
        return certified
    if only_W and math.isfinite(B) and network.v.any() and X.any():
        return general_step(X, network.v, B)
    return measured_step(start)


def measured_step(start: Point) -> float:
    """1/(2 ||J||^2) at this point, the norm found by power iteration on J J^T without forming it; 1
    if J = 0.
    """
    u = np.random.default_rng(0).standard_normal(len(start.residual))
    square = 0.0
    for _ in range(50):
        size = float(np.linalg.norm(u))
        if size == 0.0:
            return 1.0
        u = _push_forward(start, *start.pull_back(u / size))
        square = float(np.linalg.norm(u))
    return 1.0 / (2.0 * square) if square > 0 else 1.0


def _push_forward(point: Point, in_W: Array, in_v: Array | None) -> Array:
    """J applied to a direction: sum_l S_il (D_l . x_i), plus phi(Z) times the direction in v."""
    moved = np.einsum("il,il->i", point.slopes, point.problem.X @ in_W.T)
    return moved if in_v is None else moved + point.features @ in_v


def _descent_step(network: ShallowNetwork, start: Point) -> float | None:
    from globalmin.shallow.lipschitz import estimate_lipschitz
    from globalmin.shallow.provability import descent_quantities, linearize

    X = start.problem.X
    if not network.activation.is_smooth or len(X) > DENSE_LIMIT:
        return None
    point = linearize(start.gram(), start.residual)
    if point is None:
        return None
    Lip = estimate_lipschitz(network, X, 2.0 * point.g / point.a, trained=start.problem.trained)
    quantities = descent_quantities(point, Lip) if math.isfinite(Lip) else None
    return None if quantities is None else quantities.eta_max


# an eigendecomposition of this size takes seconds; beyond it gradient descent must stay free of n x
# n arrays
DENSE_LIMIT = 2_000


def spectral_norm(X: Array) -> float:
    """||X||, the largest singular value."""
    return float(np.linalg.norm(X, 2))


def has_os_head(v: Array, y: Array) -> bool:
    r"""Whether the nonzero entries of v are $\pm\|y\|/\sqrt{kn}$ (OS-HEAD, up to rounding)."""
    expected = float(np.linalg.norm(y)) / math.sqrt(len(v) * len(y))
    nonzero = np.abs(v[v != 0])
    return len(nonzero) > 0 and bool(np.all(np.abs(nonzero - expected) <= UNIT * expected))


def has_unit_rows(X: Array) -> bool:
    """Whether all rows have norm 1, up to rounding."""
    return bool(np.all(np.abs(np.linalg.norm(X, axis=1) - 1.0) <= UNIT))
