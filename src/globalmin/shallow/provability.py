r"""How far a network is from being provably near zero loss: one number that training can watch.

An estimate in floats, never a proof. Below 1 the certificate can be expected to exist.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.shallow.lipschitz import estimate_lipschitz, rounding_of_preactivations
from globalmin.shallow.network import jacobian_gram, preactivations, residual
from globalmin.shallow.newton_kantorovich import descent_ratio, newton_ratio
from globalmin.shallow.relu_cell import cell_slopes, choose_neurons, relative_margins

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


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
    trained: str = "W",
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


def smallest_eigenvalue_from_factor(L: Array, *, block: int = 8, steps: int = 10) -> float:
    """Estimate of lambda_min(L L^T) by subspace iteration on the inverse; cost `steps * block`
    triangular solves.

    A Ritz value, so never below the true one; 10 steps with 8 vectors leave it within a per cent or
    two in practice.
    """
    from scipy.linalg import cho_solve

    n = L.shape[0]
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((n, min(block, n))))[0]
    largest = 0.0
    for _ in range(steps):
        image = cho_solve((L, True), basis, check_finite=False)
        largest = float(np.linalg.eigvalsh(_symmetric_part(basis.T @ image))[-1])
        if not math.isfinite(largest):
            return 0.0
        basis = np.linalg.qr(image)[0]
    return 1.0 / largest if largest > 0 else 0.0


def _symmetric_part(A: Array) -> Array:
    return (A + A.T) / 2.0
