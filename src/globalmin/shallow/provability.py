r"""How far a network is from being provably near zero loss: the scalar quantities of the
interpolation theorem (Newton-Kantorovich, OS-C2) and of the descent theorem (OS-C1), pure functions
of a = sigma_min(J), e = ||J^+ r||, g = ||r||, b = ||J|| and Lip, and from them one number that
training can watch.

Estimates in floats, never a proof. Below 1 the certificate can be expected to exist.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.linalg.spectrum import smallest_eigenvalue_from_factor
from globalmin.references import states
from globalmin.shallow.lipschitz import estimate_lipschitz, rounding_of_preactivations
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, preactivations, residual
from globalmin.shallow.relu_margins import cell_slopes, choose_neurons, relative_margins


@dataclass(frozen=True)
class Linearization:
    r"""Smallest singular value a of J, norm b of J, Newton step e = ||J^+ r|| and residual norm g,
    at one point.
    """

    a: float
    b: float
    e: float
    g: float


def linearize(K: Array, r: Array) -> Linearization | None:
    r"""a, b, e, g from $K = J J^T$ and r by one symmetric eigendecomposition; None if K is
    numerically singular.
    """
    eigenvalues, vectors = np.linalg.eigh(K)
    low, high = float(eigenvalues[0]), float(eigenvalues[-1])
    if not low > K.shape[0] * np.finfo(np.float64).eps * high:
        return None
    coordinates = vectors.T @ r
    e = math.sqrt(float(np.sum(coordinates**2 / eigenvalues)))
    return Linearization(math.sqrt(low), math.sqrt(high), e, float(np.linalg.norm(r)))


def newton_ratio(a: float, e: float, Lip: float) -> float:
    r"""$2\,\mathrm{Lip}\,e/a$; a zero of r is near if it is at most 1. `math.inf` if a = 0."""
    return 2.0 * Lip * e / a if a > 0 else math.inf


@states("OS-C2")
def newton_radius(a: float, e: float, Lip: float) -> float:
    r"""$R = 2e/(1+\sqrt{1-2\,\mathrm{Lip}\,e/a})$: a zero-loss point lies within R. `math.inf` if
    the hypothesis fails.
    """
    ratio = newton_ratio(a, e, Lip)
    return 2.0 * e / (1.0 + math.sqrt(1.0 - ratio)) if ratio <= 1.0 else math.inf


@states("OS-C2")
def newton_radius_below(a: float, e: float, Lip: float) -> float:
    r"""$R_{lo} = 2e/(1+\sqrt{1+2\,\mathrm{Lip}\,e/a})$: no zero-loss point is closer, if Lip holds
    on that ball.
    """
    return 2.0 * e / (1.0 + math.sqrt(1.0 + newton_ratio(a, e, Lip))) if a > 0 else 0.0


@dataclass(frozen=True)
class DescentQuantities:
    """Path bound S, slowest rate alpha, largest step eta_max and the factor `rate` per step at the
    step eta.
    """

    alpha: float
    S: float
    eta_max: float
    eta: float
    rate: float


def descent_ratio(a: float, g: float, Lip: float) -> float:
    r"""$2\,\mathrm{Lip}\,g/a^2$; gradient descent from here converges if it is below 1. `math.inf`
    if a = 0.
    """
    return 2.0 * Lip * g / a**2 if a > 0 else math.inf


@states("OS-C1", "OS-C5")
def descent_quantities(
    point: Linearization, Lip: float, *, eta: float | None = None
) -> DescentQuantities | None:
    r"""Constants of the descent theorem, or None if $2\,\mathrm{Lip}\,g < a^2$ fails or eta is too
    large.

    $\alpha = \sqrt{a^2 - 2\,\mathrm{Lip}\,g}$, $S = 2g/(a+\alpha)$, $\eta_{\max} = (b +
    \mathrm{Lip}\,S)^{-2}$, rate $1-\eta\alpha^2$.

    Theory
    ------
    OS-C1: the path of gradient descent on (1/2)||r||^2 is at most S long and each step multiplies
    ||r|| by at most the rate.
    """
    if not descent_ratio(point.a, point.g, Lip) < 1.0:
        return None
    alpha = math.sqrt(point.a**2 - 2.0 * Lip * point.g)
    S = 2.0 * point.g / (point.a + alpha)
    eta_max = 1.0 / (point.b + Lip * S) ** 2
    step = eta_max if eta is None else eta
    if not 0.0 < step <= eta_max:
        return None
    return DescentQuantities(alpha, S, eta_max, step, 1.0 - step * alpha**2)


LANDED = 0.5  # of 1, where the descent theorem begins to hold: room for Delta and for the step
_ROOM = 1.0 + 1e-4
_EXACT_LIMIT = 500  # samples up to which a full eigenvalue problem costs next to nothing
_RITZ_ROOM = (
    0.97  # a Ritz value overestimates the smallest eigenvalue by less than this in practice
)


@np.errstate(
    over="ignore", invalid="ignore"
)  # huge data overflow to an infinite answer, not to a warning
def estimate_provability(
    network: ShallowNetwork,
    X: Array,
    y: Array,
    trained: Trained = "W",
    *,
    claim: str = "interpolation",
    K: Array | None = None,
) -> float:
    r"""The number that must fall below 1 before zero loss near these weights can be proved.

    Smooth activations: $2\,\mathrm{Lip}\,e/a$ (claim "interpolation") or
    $2\,\mathrm{Lip}\,\|r\|/a^2$ (claim "descent"), with a = sigma_min(J), e = ||J^+ r||. ReLU: the
    largest $\|x_i\| \|r\| / (|z_{li}| \sqrt\mu)$ over the usable neurons.

    Parameters
    ----------
    network, X, y : the network and its n x d inputs and labels.
    trained : "W" or "vW".
    claim : "interpolation" (default) or "descent"; the same number for ReLU.
    K : J J^T at these weights if the caller has it already (smooth activations only).

    Returns
    -------
    A float >= 0, one part in 10^4 on the safe side for the margins of the producer; `math.inf`
    where the Jacobian is numerically singular or no theorem covers the activation.

    Theory
    ------
    OS-C2, OS-C1 with LIP-W / LIP-VW (d x d bound of the quartic form); theorem RI for ReLU. Cost
    O(n^2 (k + d)) and one Cholesky factorization (smooth; up to n = 500 also the eigenvalues), one
    or a few symmetric eigenvalue problems of size n (ReLU).
    """
    if network.activation.name == "relu":
        return _relu_ratio(network, X, y)
    if not network.activation.is_smooth:
        return math.inf
    K = jacobian_gram(network, X, trained=trained) if K is None else K
    r = residual(network, X, y)
    measured = _smallest_singular_value_and_newton_step(K, r)
    if measured is None:
        return math.inf
    a, e = measured
    g = float(np.linalg.norm(r))
    # Both radii (R and S) are at most twice the first step whenever their hypothesis holds, so the
    # ball of that radius suffices.
    rho = 2.0 * e if claim == "interpolation" else 2.0 * g / a
    Lip = estimate_lipschitz(network, X, rho, trained=trained)
    if math.isinf(Lip):
        return math.inf
    return _ROOM * (
        newton_ratio(a, e, Lip) if claim == "interpolation" else descent_ratio(a, g, Lip)
    )


def _relu_ratio(network: ShallowNetwork, X: Array, y: Array) -> float:
    kept = X.any(axis=1) | (
        y != 0
    )  # a zero row with label zero is fitted by every ReLU network and leaves the proof
    X, y = X[kept], y[kept]
    Z = preactivations(network, X)
    margins = relative_margins(Z, X, rounding_of_preactivations(network, X))
    norm = float(np.linalg.norm(residual(network, X, y)))
    cell = choose_neurons(X, cell_slopes(Z, network.v), margins, norm)
    return math.inf if cell is None else _ROOM * cell.ratio


def _smallest_singular_value_and_newton_step(K: Array, r: Array) -> tuple[float, float] | None:
    from scipy.linalg import LinAlgError, cholesky, solve_triangular

    if not np.isfinite(K).all():
        return None
    try:
        L = cholesky(K, lower=True, check_finite=False)
    except LinAlgError:
        return None
    exact = K.shape[0] <= _EXACT_LIMIT
    low = (
        float(np.linalg.eigvalsh(K)[0])
        if exact
        else _RITZ_ROOM * smallest_eigenvalue_from_factor(L)
    )
    if not low > K.shape[0] * np.finfo(np.float64).eps * float(np.trace(K)) / K.shape[0]:
        return None
    return math.sqrt(low), float(
        np.linalg.norm(solve_triangular(L, r, lower=True, check_finite=False))
    )
