r"""Step sizes of the theory for gradient descent on L = (1/2) sum of r_i^2.

A step for another scaling of the loss is converted by the caller: with L/n (SJL) the step of the
papers is n times ours.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.activations.moments import slope_coefficients
from globalmin.errors import HypothesisError
from globalmin.linalg.spectrum import extremes
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import Point


UNIT = 1e-9  # rows and heads count as those of the theorem up to this relative error


@states("OS-T6.2", "OS-T2.1")
def smooth_step(n: int, *, B: float, X_norm: float, y_norm: float) -> float:
    r"""$\eta = n / (2 B^2 \|y\|^2 \|X\|^2)$: OS-T6.2 with etabar = 1, for the OS head and unit
    rows.

    B bounds |phi'|. The paper has one letter for the bounds of phi' and phi''; the step of its
    proof, $1/(2\beta^2)$ with OS-L6.6's $\beta$, needs that of phi' only.
    """
    size = B * y_norm * X_norm
    return n / (2.0 * size * size)


@states("OS-T6.3", "OS-T2.3", "OS-T2.5")
def relu_step(n: int, *, X_norm: float, y_norm: float) -> float:
    r"""$\eta = n / (3 \|y\|^2 \|X\|^2)$: OS-T6.3 with etabar = 1, for ReLU, the OS head and unit
    rows.
    """
    size = y_norm * X_norm
    return n / (3.0 * size * size)


@states("OS-L6.6")
def general_step(X: Array, v: Array, B: float) -> float:
    r"""$\eta = 1/(B^2 \|v\|^2 \|X\|^2) \le 1/\|J(W)\|^2$ for every W: $\|J\| \le B \|v\| \|X\|$
    (OS-L6.6; any rows and head).
    """
    return 1.0 / (B**2 * float(v @ v) * spectral_norm(X) ** 2)


@states("OS-T2.6")
def stochastic_step(
    n: int, gap: float, *, nu: float, B: float, X_norm: float, y_norm: float
) -> float:
    r"""$\eta = \frac{\mu^2}{9 \nu B^4} \frac{n}{\|y\|^2} \frac{\sigma_{\min}(X*X)^2}{\|X\|^2}$:
    OS-T2.6 with etabar = 1 and gap $= |\mu|\sigma_{\min}(X*X)$.

    B bounds |phi'|: the generic statement behind the theorem has it in $\beta$ and in the largest
    row of J only.
    """
    size = B * B * y_norm * X_norm
    return gap * gap * n / (9.0 * nu * size * size)


@states("OS-T2.6")
def stochastic_nu(gap: float, *, failure: float, B: float, X_norm: float, n_weights: int) -> float:
    r"""The least $\nu \ge 3$ for which the event of OS-T2.6 fails with probability at most
    `failure`: $\frac4\nu(3B\|X\|/\mathrm{gap})^{1/(kd)} \le$ failure.
    """
    return max(3.0, 4.0 / failure * (3.0 * B * X_norm / gap) ** (1.0 / n_weights))


@states("OS-T2.6")
def sgd_step(
    X: Array, y: Array, activation: Activation, *, n_weights: int, failure: float = 0.1
) -> float:
    r"""The step of OS-T2.6 on these data, $\nu$ solved from the failure probability of its event.

    Parameters
    ----------
    n_weights : kd, the number of trained weights.
    failure : how likely the run may leave the event.

    Raises
    ------
    HypothesisError
        If a hypothesis of OS-T2.6 fails, with the reason and the remedy: phi' or phi'' unbounded
        (ReLU), $\mu = E[g\phi'(g)] = 0$ (tanh, sigmoid, erf), $\sigma_{\min}(X*X) = 0$ (n above
        d(d+1)/2, tied rows), y = 0, or a step that is 0 in floats.
    """
    B, M = (float(activation.supremum(order)) for order in (1, 2))
    _require(
        math.isfinite(B) and math.isfinite(M),
        f"bounded derivatives phi' and phi'', and {activation} has none",
        "sup |phi'|, sup |phi''| finite",
        max(B, M),
    )
    mu = float(slope_coefficients(activation, 2)[1])
    _require(
        mu != 0.0,
        f"mu = E[g phi'(g)] different from 0, and it is 0 for {activation}",
        "mu != 0",
        mu,
    )
    n, d = X.shape
    low = extremes((X @ X.T) ** 2, is_singular=n > d * (d + 1) // 2).low
    _require(low > 0.0, "sigma_min(X*X) > 0, which these data lack", "sigma_min(X*X) > 0", low)
    with np.errstate(over="ignore"):
        y_norm, X_norm = float(np.linalg.norm(y)), spectral_norm(X)
    _require(y_norm > 0.0, "labels that are not all zero", "y != 0", y_norm)
    gap = abs(mu) * math.sqrt(low)
    nu = stochastic_nu(gap, failure=failure, B=B, X_norm=X_norm, n_weights=n_weights)
    eta = stochastic_step(n, gap, nu=nu, B=B, X_norm=X_norm, y_norm=y_norm)
    return usable_step(eta, "OS-T2.6")


def _require(condition: bool, asked: str, hypothesis: str, value: float) -> None:
    if not condition:
        raise HypothesisError(
            f"step_size='theory': OS-T2.6 needs {asked}; leave step_size out for the per-sample "
            "rule, or give a number",
            hypothesis=hypothesis,
            value=value,
        )


def usable_step(eta: float, item: str) -> float:
    """The step, refused where it is 0 or not finite: a run with it would stand still."""
    if not 0.0 < eta < math.inf:
        raise HypothesisError(
            f"step_size='theory': the step of {item} is {eta:g} in floats on these data, so no "
            "update would move anything; scale the labels and inputs to sizes near 1 "
            "(scaling='standardize' or 'rows'), or give step_size as a number",
            hypothesis="0 < step_size < inf",
            value=eta,
        )
    return eta


def theory_step(network: ShallowNetwork, start: Point) -> float:
    """The step size of the strongest theorem that speaks of this start.

    In this order: OS-T6.2 (bounded phi') or OS-T6.3 (ReLU) if the head is the OS head, the rows
    have unit norm and only W is trained; the step 1/(b + Lip S)^2 of OS-C1 if that theorem's
    hypothesis holds at the start (estimated in floats); 1/(B^2 ||v||^2 ||X||^2) if only W is
    trained and phi' is bounded; else 1/(2 ||J(theta_0)||^2), measured at the start and without a
    guarantee.

    Raises
    ------
    HypothesisError
        If that step is 0 or not finite in floats: labels or inputs of an extreme size.
    """
    with np.errstate(over="ignore", divide="ignore"):
        return usable_step(*_theory_step(network, start))


def _theory_step(network: ShallowNetwork, start: Point) -> tuple[float, str]:
    """The step and the item it is from."""
    X, y = start.problem.X, start.problem.y
    B, only_W = float(network.activation.supremum(1)), start.problem.trained == "W"
    y_norm = float(np.linalg.norm(y))
    if (
        only_W
        and math.isfinite(B)
        and y_norm > 0.0
        and has_os_head(network.v, y)
        and has_unit_rows(X)
    ):
        norms = {"X_norm": spectral_norm(X), "y_norm": y_norm}
        if network.activation.name == "relu":
            return relu_step(len(y), **norms), "OS-T6.3"
        return smooth_step(len(y), B=B, **norms), "OS-T6.2"
    certified = _descent_step(network, start)
    if certified is not None:
        return certified, "OS-C1"
    if only_W and math.isfinite(B) and network.v.any() and X.any():
        return general_step(X, network.v, B), "OS-L6.6"
    return measured_step(start), "1/(2 ||J||^2)"


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
