"""Bounds around the limiting Gram matrices: lower bounds of lambda_min(K^(H)) and the conditions
for it to be positive (DU-P3.1, DU-P3.2 and their lemmas), and how far a finite network's layer
Grams are from their limits (DU-T3.4 with an explicit Lambda, DU-L3.22).

The inequalities hold over the reals; what these functions return is computed in floats, hence an
estimate of the bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from globalmin._options import Architecture
from globalmin._types import ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.activations.dual import dual_matrix
from globalmin.activations.moments import hermite_coefficients, normalizer
from globalmin.data.degeneracy import Degeneracy
from globalmin.data.pixels import real_array
from globalmin.deep import passes as deep_passes
from globalmin.deep.architecture import (
    DEFAULT_ARCHITECTURE,
    DEFAULT_DEPTH,
    check_depth,
    check_residual,
)
from globalmin.deep.gram import (
    Framework,
    Stage,
    framework,
    last_formula,
    last_layer_gram,
    mean_at,
    mean_square_at,
    network_framework,
    square_slope_at,
)
from globalmin.deep.network import DeepNetwork
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


@states("DU-T3.4", "DU-DA5")
def moment_lipschitz(activation: str | Activation, variance: float) -> tuple[float, float]:
    r"""(A, B) with $|F(A) - F(A')| \le A|\Delta_{12}| + B(|\Delta_{11}| + |\Delta_{22}|)$ for
    variances up to `variance`.

    A = L^2 and B = (beta/2)(|sigma(0)| + L sqrt(2 v/pi)); infinite when sigma or sigma' has no
    Lipschitz constant.

    Theory
    ------
    The Lambda of DU-T3.4, which the thesis only asserts to exist, by Price's theorem (DU-DA5);
    variances may vanish.
    """
    phi = get_activation(activation)
    L, beta = float(phi.supremum(1)), float(phi.supremum(2))
    return L**2, 0.5 * beta * (abs(float(phi(0.0))) + L * math.sqrt(2.0 * variance / math.pi))


@states("DU-T3.4")
def mean_lipschitz(activation: str | Activation) -> float:
    """|mu(a) - mu(b)| <= (beta/2)|a - b| for mu(a) = E sigma(sqrt(a) z)."""
    return 0.5 * float(get_activation(activation).supremum(2))


class Amplification(NamedTuple):
    """Per layer h: an error e in (S^(h-1), b^(h-1)), entry by entry, becomes at most gram * e in
    S^(h) and mean * e in b^(h).
    """

    gram: float
    mean: float


@states("DU-T3.4")
def error_amplification(
    X: ArrayLike,
    architecture: Architecture = DEFAULT_ARCHITECTURE,
    depth: int = DEFAULT_DEPTH,
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
) -> list[Amplification]:
    r"""Factors by which layers 2..H-1 multiply an error of the layer below, to first order in the
    error.

    Theory
    ------
    The product in DU-T3.4 with the corrected A_(h) = ||D|| (erratum E12) and Lambda from
    `moment_lipschitz`: for residual networks each factor is 1 + O(c_res/H), so that their product
    does not grow with the depth; the product for fully connected ones grows like C^H.
    """
    recursion = framework(X, architecture, depth, activation, c_res=c_res, patch_size=patch_size)
    below = enumerate(recursion.stages(depth - 2))
    return [_amplification(recursion, stage, h) for h, stage in below if h >= 1]


def _amplification(recursion: Framework, stage: Stage, h: int) -> Amplification:
    phi, rule, q = recursion.activation, recursion.rules[h], recursion.geometry.window
    v = float(np.diag(recursion.geometry.patch_gram(stage.S)).max(initial=0.0))
    across, along = moment_lipschitz(phi, v)
    s, slope = rule.scale, mean_lipschitz(phi) * q
    gram, mean = s**2 * q * (across + 2 * along), s * slope
    if rule.is_skip:
        size = abs(float(phi(0.0))) + float(phi.supremum(1)) * math.sqrt(2.0 * v / math.pi)
        gram += 1.0 + 2 * s * (size + float(np.abs(stage.b).max()) * slope)
        mean += 1.0
    return Amplification(gram, mean)


class LayerSplit(NamedTuple):
    """The two terms of DU-L3.22 on an instance, spectral norms.

    Attributes
    ----------
    sampling : of G^(H)(0) - K-hat^(H), the last layer's own sampling error.
    inherited : of K-hat^(H) - K^(H), what the layers below pass on.
    total : of G^(H)(0) - K^(H).
    allowed : lambda_min(K^(H))/4, which the lemma asks `total` to stay below.
    """

    sampling: float
    inherited: float
    total: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the lemma's conclusion is true here."""
        return self.total <= self.allowed


@states("DU-L3.22", "DU-L3.2")
def last_layer_split(
    network: DeepNetwork, X: ArrayLike, *, c_res: float | None = None
) -> LayerSplit:
    """Evaluate both terms of DU-L3.22 for a network at its first weights; the network knows its
    c_res, and a value given here must be the same.

    K-hat^(H) is the last formula of the recursion applied to the finite network's own features. If
    `holds`, then lambda_min(G^(H)(0)) >= (3/4) lambda_min(K^(H)), the conclusion of DU-L3.2.
    """
    own = network.c_res
    if c_res is not None and own is not None and not math.isclose(c_res, own, rel_tol=1e-9):
        raise DataError(f"c_res={c_res!r}, but this network has c_res={own!r}; leave it out")
    inputs = np.asarray(X, dtype=np.float64).reshape(-1, *network.input_shape)
    recursion = network_framework(network, inputs)
    passed = network.forward(inputs)
    below = passed.features[-2].reshape(len(recursion.S0), -1)
    P = recursion.geometry.patch_gram(below @ below.T)
    middle = last_formula(recursion, P)
    G, K = deep_passes.layer_grams(network, passed)[-2], last_layer_gram(recursion)
    sampling, inherited, total = (
        float(np.linalg.norm(D, 2)) for D in (G - middle, middle - K, G - K)
    )
    return LayerSplit(sampling, inherited, total, float(np.linalg.eigvalsh(K)[0]) / 4)
