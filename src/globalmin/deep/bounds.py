r"""Lower bounds of lambda_min(K^(H)) and the conditions for it to be positive: DU-P3.1, DU-P3.2 and
their lemmas.

The inequalities hold over the reals; what these functions return is computed in floats, hence an
estimate of the bound.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from globalmin._types import ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.activations.dual import dual_matrix
from globalmin.activations.moments import hermite_coefficients, normalizer
from globalmin.data.degeneracy import Degeneracy
from globalmin.data.pixels import real_array
from globalmin.deep.gram import framework, mean_at, mean_square_at, square_slope_at
from globalmin.deep.network import check_depth, check_residual
from globalmin.errors import DataError
from globalmin.linalg.spectrum import estimate_lambda_min
from globalmin.references import states

NOT_ANALYTIC_OR_POLYNOMIAL = ("quadratic", "polynomial", "linear", "relu", "leaky_relu", "abs")


class FullRank(NamedTuple):
    """Whether DU-P3.1 applies; if not, `reasons` say which hypothesis fails, with the rows."""

    holds: bool
    reasons: tuple[str, ...]


@states("DU-P3.1", "DU-L3.23", "DU-L3.24")
def full_rank_hypotheses(X: ArrayLike, activation: str | Activation = "softplus") -> FullRank:
    """Check on these inputs that sigma is analytic and no polynomial, and that no two rows are
    parallel and none is zero.

    Theory
    ------
    DU-P3.1 for the fully connected K^(H); DU-L3.23 and DU-L3.24 are its two steps. Parallel means
    exactly so, of either sign, for the rows as stored. Sufficient, not necessary: ReLU's Gram
    matrix is positive definite as well (DU-T2.1).
    """
    phi, rows = get_activation(activation), real_array(X, "X")
    if rows.ndim != 2:
        raise DataError(
            f"X has shape {rows.shape}; this theorem speaks of vectors: flatten each input"
        )
    facts, reasons = Degeneracy(rows), []
    if phi.name in NOT_ANALYTIC_OR_POLYNOMIAL or not phi.is_smooth:
        reasons.append(f"the activation {phi} is a polynomial or has a kink (Condition 3.2)")
    if facts.zero_rows:
        reasons.append(
            f"row {facts.zero_rows[0]} is zero, hence parallel to every other "
            f"({len(facts.zero_rows)} zero row(s))"
        )
    if facts.lines:
        first = " and ".join(map(str, facts.lines[0][:2]))
        reasons.append(f"rows {first} are parallel ({len(facts.lines)} group(s) of parallel rows)")
    return FullRank(not reasons, tuple(reasons))


@states("DU-L3.31")
def tensor_power_rank(X: ArrayLike, power: int) -> int:
    """Rank of the tensor powers x_i x ... x x_i (power times): n for pairwise non-parallel rows as
    soon as power >= n - 1.

    Computed from the Gram matrix (U U^T)^{o power} of the normalized rows; eigenvalues below 1e-12
    n count as zero.
    """
    rows = real_array(X, "X")
    sizes = np.linalg.norm(rows, axis=1)
    U = rows / np.where(sizes > 0, sizes, 1.0)[:, None]
    return int(np.count_nonzero(np.linalg.eigvalsh((U @ U.T) ** power) > 1e-12 * len(U)))


@states("DU-P3.1", "DU-L3.24")
def schur_limit(X: ArrayLike, depth: int, activation: str | Activation = "softplus") -> float:
    """Fully connected: lambda_min(K^(H)) >= c_sigma lambda_min(K^(H-1)) min_i E sigma'(sqrt(K_ii)
    z)^2, by Schur's inequality.
    """
    recursion = framework(X, "fully_connected", depth, activation)
    K = recursion.layer(depth - 1).S
    slopes = square_slope_at(recursion.activation, np.diag(K))
    return recursion.rules[-1].scale ** 2 * estimate_lambda_min(K) * float(slopes.min())


@states("DU-L3.23")
def hermite_limit(
    K: ArrayLike, activation: str | Activation = "softplus", *, terms: int = 12
) -> float:
    """lambda_min(c_sigma F(K)) >= c_sigma sum over k < terms of alpha_k^2 lambda_min(K^{o k}), for
    K with unit diagonal.
    """
    matrix = np.asarray(K, dtype=np.float64)
    if not np.allclose(np.diag(matrix), 1.0, rtol=0.0, atol=1e-9):
        raise DataError(
            "K must have diagonal 1 (inputs of norm 1); rescale the rows, or use lambda_min of the "
            "moment itself"
        )
    alpha = hermite_coefficients(activation, terms)
    powers = [max(estimate_lambda_min(matrix**k), 0.0) for k in range(terms)]
    return normalizer(activation) * float(np.sum(alpha**2 * powers))


class DepthIndependent(NamedTuple):
    """DU-P3.2 made explicit: kappa_1, the smallest slope moment, and the bound of
    lambda_min(K^(H)), (c_res/H)^2 times both.
    """

    kappa: float
    slope: float
    bound: float


@states("DU-P3.2", "DU-L3.25")
def depth_independent_limit(
    X: ArrayLike, depth: int, activation: str | Activation = "softplus", *, c_res: float = 0.5
) -> DepthIndependent:
    r"""Residual networks: $\lambda_{\min}(K^{(H)}) \ge (c_{res}/H)^2\,\kappa_1 \min_i
    E\,\sigma'(\sqrt{K^{(H-1)}_{ii}} z)^2$.

    kappa_1 = lambda_min(K^(1) - b^(1) b^(1)T) = c_sigma lambda_min(Cov sigma(u)) depends on the
    data and sigma only.

    Theory
    ------
    DU-P3.2 and DU-L3.25, corrected (erratum E14: the base is layer 1, not the inputs). Needs no n x
    n recursion: one pair moment at the inputs, and the diagonal of the recursion, which closes on
    itself.
    """
    phi, H = get_activation(activation), check_depth(depth, "resnet")
    rows, t, c_sigma = real_array(X, "X"), check_residual(c_res) / H, normalizer(phi)
    K = rows @ rows.T
    F, mu = dual_matrix(phi, K), mean_at(phi, np.diag(K))
    kappa = c_sigma * estimate_lambda_min(F - np.outer(mu, mu))
    variances, b = c_sigma * np.diag(F), np.sqrt(c_sigma) * mu
    for _ in range(H - 2):
        mu = mean_at(phi, variances)
        variances, b = (
            variances + 2 * t * b * mu + t**2 * mean_square_at(phi, variances),
            b + t * mu,
        )
    slope = float(square_slope_at(phi, variances).min())
    return DepthIndependent(kappa, slope, t**2 * kappa * slope)
