r"""How fast Jacobian and Hessian of a shallow network can change on a ball around given weights.
Floating-point estimates of true bounds; the producer of certificates adds its margins, the checker
proves.

Jacobian: its Lipschitz constant (LIP-W, LIP-VW).

Hessian in W, loss $L = (1/2)\sum_i r_i^2$, network $f = \sum_l v_l\phi(w_l\cdot x)$ (the paper's
loss is L/n with heads 1/K), and the four lower bounds of it that certificates use. Form A
("plain"): Lipschitz constant of the Hessian. Form B ("split"): $\|(J+E)B\|^2 \ge (1-\tau)\|JB\|^2 -
(1/\tau-1)\|EB\|^2$ for the Gauss-Newton part. Form C ("tensor"): exact third derivative at the
center. "mixed" (ours): the split of B for $J^TJ$, the exact tensor of C for the residual part,
bounded as a matrix instead of by its norm.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from globalmin._options import Trained, one_of
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg import quartic
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork, preactivations, residual

if TYPE_CHECKING:
    from globalmin.activations import Activation


def local_suprema(activation: Activation, Z: Array, reach: Array, *, order: int) -> Array:
    r"""$s_j = \min(b_j, |\phi^{(j)}(z)| + b_{j+1}\,\mathrm{reach})$, at least $\sup |\phi^{(j)}|$
    over $z \pm \mathrm{reach}$.

    Parameters
    ----------
    activation : gives the derivatives and their suprema b_j over the line (`math.inf` allowed).
    Z : n x k pre-activations.
    reach : how far a pre-activation may move, broadcast against Z; `rho * ||x_i||` on a ball of
        radius rho.
    order : j, 1 to 3.
    """
    return suprema_by_reach(activation, Z, order=order)(reach)


def suprema_by_reach(activation: Activation, Z: Array, *, order: int) -> Callable[[Array], Array]:
    """`local_suprema` as a function of the reach: the derivative is computed once."""
    bound, slope = float(activation.supremum(order)), float(activation.supremum(order + 1))
    if math.isinf(slope):
        if math.isinf(bound) and activation.is_smooth:
            # polynomials of higher degree: finite on intervals only
            return lambda reach: activation.supremum_on(order, Z - reach, Z + reach)
        return lambda reach: np.full(Z.shape, bound)
    try:
        size = np.abs(activation.derivative(Z, order=order))
    except DataError:  # a user's activation, registered without this derivative
        return lambda reach: np.full(Z.shape, bound)
    return lambda reach: np.minimum(bound, size + slope * reach)


def rounding_of_preactivations(network: ShallowNetwork, X: Array) -> Array:
    """Estimate of the rounding error of each entry of Z = X W^T computed in floats, n x k."""
    d = X.shape[1]
    return (d + 2) * np.finfo(np.float64).eps * (np.abs(X) @ np.abs(network.W).T)


def output_rounding(network: ShallowNetwork, X: Array, y: Array) -> Array:
    """Estimated rounding error of the outputs (and so of the residual) in floats, sample by
    sample.
    """
    Z, phi = preactivations(network, X), network.activation
    moved = np.abs(phi.derivative(Z)) * (np.abs(X) @ np.abs(network.W).T)
    eps = float(np.finfo(np.float64).eps)
    return (
        4.0
        * sum(network.W.shape)
        * eps
        * ((moved + np.abs(phi(Z))) @ np.abs(network.v) + np.abs(y))
    )


def curvature_weights(
    network: ShallowNetwork, X: Array, rho: float, *, trained: Trained = "W", rounding: float = 1.0
) -> Array:
    r"""$c_i = \max_l |v_l| s_{2,il}(\rho)$, with $|v_l| + \rho$ in place of $|v_l|$ when both
    layers are trained.

    The pre-activations in floats are off by their rounding, which is added to the reach; with
    `rounding` = -1 it is taken off instead, and the true number lies between the two answers.
    """
    return curvature_by_radius(network, X, trained)(rho, rounding)


def curvature_by_radius(
    network: ShallowNetwork, X: Array, trained: Trained
) -> Callable[[float, float], Array]:
    """`curvature_weights` as a function of rho and `rounding`, for a walk over rho."""
    suprema, heads = _suprema_by_radius(network, X, order=2), np.abs(network.v)

    def weights(rho: float, rounding: float) -> Array:
        s2 = suprema(rho, rounding) * (heads + rho if trained == "vW" else heads)
        return np.maximum(s2.max(axis=1), 0.0)

    return weights


def slope_weights(network: ShallowNetwork, X: Array, rho: float, *, rounding: float = 1.0) -> Array:
    r"""$\max_l s_{1,il}(\rho)$, needed when both layers are trained; `rounding` as in
    `curvature_weights`.
    """
    s1 = _suprema_by_radius(network, X, order=1)(rho, rounding)
    return np.maximum(s1.max(axis=1), 0.0)


def _suprema_by_radius(
    network: ShallowNetwork, X: Array, *, order: int
) -> Callable[[float, float], Array]:
    """The suprema on the ball of radius rho, the rounding of the pre-activations times a factor
    added to the reach.
    """
    suprema = suprema_by_reach(network.activation, preactivations(network, X), order=order)
    norms = np.linalg.norm(X, axis=1)[:, None]
    lost = rounding_of_preactivations(network, X)
    return lambda rho, rounding: suprema(rho * norms + rounding * lost)


def slope_matrix(X: Array, slopes: Array) -> Array:
    r"""X^T diag(s)^2 X, d x d, whose largest eigenvalue is $\beta^2 = \|\mathrm{diag}(s) X\|^2$ of
    LIP-VW.
    """
    scaled = X * slopes[:, None]
    return scaled.T @ scaled


def combine_layers(mm: float, beta: float) -> float:
    r"""$(mm + \sqrt{mm^2 + 4\beta^2})/2$, the norm of [[0, beta], [beta, mm]] (LIP-VW)."""
    return (mm + math.hypot(mm, 2.0 * beta)) / 2.0


@states("OS-K4")
def estimate_lipschitz(
    network: ShallowNetwork,
    X: Array,
    rho: float,
    *,
    trained: Trained = "W",
    method: Method = "rows",
) -> float:
    r"""Lip with $\|J(\theta') - J(\theta)\| \le \mathrm{Lip}\,\|\theta' - \theta\|$ on the ball of
    radius rho, up to rounding.

    Parameters
    ----------
    network, X : smooth network and its n x d inputs.
    rho : radius of the ball around the stored weights.
    trained : "W" (head frozen) or "vW" (both layers).
    method : bound of the quartic form, "rows" (d x d) or "svec" (N x N, sharper and slower).

    Returns
    -------
    The estimate, or `math.inf` where the activation has no bound.

    Theory
    ------
    LIP-W and LIP-VW; OS-K4 for the quartic form.
    """
    one_of("method", method, METHODS)
    q = curvature_weights(network, X, rho, trained=trained) ** 2
    if not np.isfinite(q).all():
        return math.inf
    kappa = (
        quartic.estimate_quartic_rows(X, q)
        if method == "rows"
        else quartic.estimate_quartic_svec(X, q).kappa
    )
    mm = math.sqrt(kappa)
    if trained == "W":
        return mm
    slopes = slope_weights(network, X, rho)
    if not np.isfinite(slopes).all():
        return math.inf
    return combine_layers(
        mm, math.sqrt(max(quartic.largest_eigenvalue(slope_matrix(X, slopes)), 0.0))
    )


Method = Literal["rows", "svec"]
METHODS: tuple[Method, ...] = get_args(Method)
Level = Literal["crude", "spectral", "quartic"]
LEVELS: tuple[Level, ...] = get_args(Level)
MIXED = 0.385  # at least 2/(3 sqrt 3), the largest value of a^2 b on a^2 + b^2 = 1


@dataclass(frozen=True)
class LocalSizes:
    r"""Per sample, on the ball: $n_1 = \|(v_ls_{1l})_l\|$, $\max_l|v_l|s_{jl}$ for j = 2, 3, 4, and
    $e \ge |r_i|$.
    """

    n1: Array
    top2: Array
    top3: Array
    top4: float
    e: Array

    def cubic_weights(self, share: float = 3.0) -> Array:
        """The c_i of FCL-LIP: `share` 3 for the whole Hessian, 1 for its residual part."""
        return share * self.n1 * self.top2 + self.e * self.top3

    def quartic_weights(self, squares: float, share: float) -> Array:
        """Weights of what is of second order in the distance: squares top2^2 + (share n1 top3 + e
        top4)/2.
        """
        return squares * self.top2**2 + (share * self.n1 * self.top3 + self.e * self.top4) / 2.0


@states("FCL-LIP")
def local_sizes(network: ShallowNetwork, X: Array, y: Array, R: float) -> LocalSizes:
    """The sizes on the ball of radius R around W from which every form takes its weights."""
    Z, head = preactivations(network, X), np.abs(network.v)
    norms = np.linalg.norm(X, axis=1)
    reach = R * norms[:, None] + rounding_of_preactivations(network, X)
    s1, s2, s3 = (head * local_suprema(network.activation, Z, reach, order=j) for j in (1, 2, 3))
    n1 = np.linalg.norm(s1, axis=1)
    top4 = float(head.max()) * float(network.activation.supremum(4))
    return LocalSizes(
        n1, s2.max(axis=1), s3.max(axis=1), top4, np.abs(residual(network, X, y)) + R * norms * n1
    )


@states("FCL-LIP")
def estimate_hessian_lipschitz(
    network: ShallowNetwork, X: Array, y: Array, R: float, *, level: Level = "quartic"
) -> float:
    r"""$\Lambda$ with $\|\nabla^2L(W)-\nabla^2L(W')\| \le \Lambda\|W-W'\|_F$ on the ball of radius
    R, up to rounding.

    Theory
    ------
    FCL-LIP: an upper bound of $\sup_a\sum_ic_i|a\cdot x_i|^3$, "crude" $\sum c_i\|x_i\|^3$,
    "spectral" $\lambda_{\max}(\sum c_i\|x_i\|x_ix_i^T)$, or "quartic", the root of
    $\lambda_{\max}(\sum c_ix_ix_i^T)$ times the quartic form.
    """
    one_of("level", level, LEVELS)
    c = local_sizes(network, X, y, R).cubic_weights()
    if not np.isfinite(c).all():
        return math.inf
    norms = np.linalg.norm(X, axis=1)
    if level == "crude":
        return float(c @ norms**3)
    if level == "spectral":
        return quartic.largest_eigenvalue((X * (c * norms)[:, None]).T @ X)
    return math.sqrt(quartic.largest_eigenvalue((X * c[:, None]).T @ X) * estimate_quartic(X, c))


def estimate_hessian_lipschitz_both_layers(
    network: ShallowNetwork, X: Array, y: Array, R: float
) -> float:
    """The same constant for (v, W) together: the sum over the samples of the largest values of the
    monomials of the third derivative along (u, A) of norm 1.
    """
    Z, norms, heads = preactivations(network, X), np.linalg.norm(X, axis=1), np.abs(network.v) + R
    reach = R * norms[:, None] + rounding_of_preactivations(network, X)
    s1, s2, s3 = (local_suprema(network.activation, Z, reach, order=order) for order in (1, 2, 3))
    n0 = np.linalg.norm(np.abs(network.activation(Z)) + s1 * reach, axis=1)
    n1, m2, m3 = (
        np.linalg.norm(heads * s1, axis=1),
        (heads * s2).max(axis=1),
        (heads * s3).max(axis=1),
    )
    e = (
        np.abs(residual(network, X, y))
        + output_rounding(network, X, y)
        + R * np.hypot(n0, n1 * norms)
    )
    mixed = (
        6.0 * n0 * s1.max(axis=1)
        + (3.0 * n0 * m2 + 6.0 * n1 * s1.max(axis=1) + 3.0 * e * s2.max(axis=1)) * norms
    )
    return float(np.sum(MIXED * mixed * norms + (3.0 * n1 * m2 + e * m3) * norms**3))


def estimate_quartic(X: Array, q: Array) -> float:
    """The quartic form from above, by the better of the two methods that fits d."""
    return (
        quartic.estimate_quartic_svec(X, q).kappa
        if X.shape[1] <= 30
        else quartic.estimate_quartic_rows(X, q)
    )


@states("FCL-D3")
def third_blocks(network: ShallowNetwork, X: Array, y: Array, *, diagonal: float) -> Array:
    r"""T of shape (k, d, k, d, d): $T_{mjl} = \sum_iw_ix_{ij}x_ix_i^T$ with $w =
    v_m\phi'_mv_l\phi''_l$, for m = l that times `diagonal` plus $r_iv_l\phi'''_l$.

    `diagonal` = 1 is the derivative of the residual part of the Hessian, 3 that of the whole
    Hessian (`third_derivative`).
    """
    k, d = network.W.shape
    Z, r = preactivations(network, X), residual(network, X, y)
    p, c, t = (network.activation.derivative(Z, order=j) * network.v for j in (1, 2, 3))
    rows, columns = np.triu_indices(d)
    monomials = X[:, rows] * X[:, columns]
    T = np.empty((k, d, k, d, d))
    for m in range(k):
        for j in range(k):
            w = p[:, m] * c[:, j]
            entries = (X * (w if m != j else diagonal * w + r * t[:, j])[:, None]).T @ monomials
            T[m, :, j][:, rows, columns] = entries
            T[m, :, j][:, columns, rows] = entries
    return T


@states("FCL-D3")
def third_derivative(network: ShallowNetwork, X: Array, y: Array) -> Array:
    """The third derivative of L in W as a symmetric p x p x p array, p = kd, W row by row."""
    T = third_blocks(network, X, y, diagonal=3.0)
    k, d = network.W.shape
    D = np.zeros((k, d, k, d, k, d))
    for m in range(k):
        for j in range(k):
            D[m, :, j, :, j, :] = T[m, :, j]
            if m != j:
                D[j, :, m, :, j, :] = T[m, :, j].transpose(1, 0, 2)
                D[j, :, j, :, m, :] = T[m, :, j].transpose(1, 2, 0)
    return D.reshape(k * d, k * d, k * d)


def tilted(T: Array, V: Array) -> Array:
    r"""$S_l = (Y + \sum_aT_{al}Y^{-1}T_{al})/2$ for every neuron, $Y = V_lV_l^T$:
    $\pm\sum_aD_aT_{al} \le S_l$ for unit D.

    For any Y > 0, $T \le (Y + TY^{-1}T)/2$, and $\|\sum_aD_az_a\|^2 \le \sum_a\|z_a\|^2$ for unit
    D.
    """
    k, d = T.shape[0], T.shape[1]
    parts = []
    for j in range(k):
        slices = np.linalg.solve(V[j], T[:, :, j].reshape(k * d, d, d))
        parts.append((V[j] @ V[j].T + np.einsum("aij,aik->jk", slices, slices)) / 2.0)
    return np.stack(parts)


@np.errstate(all="ignore")
def best_tilt(
    T: Array, base: Array, r: float, *, steps: int = 25, softness: float = 0.2
) -> tuple[Array, float]:
    """Factors V that make the least eigenvalue of base - r S(V) large, and that eigenvalue.

    Each step weights the directions by a soft minimum of the spectrum and takes the Y that is best
    for the weighted trace.
    """
    k, d = T.shape[0], T.shape[1]
    Z, best, found = np.eye(k * d), -math.inf, np.stack([np.eye(d)] * k)
    for _ in range(steps):
        V = np.stack(
            [
                _balanced(
                    T[:, :, j].reshape(k * d, d, d), Z[j * d : (j + 1) * d, j * d : (j + 1) * d]
                )
                for j in range(k)
            ]
        )
        if not np.isfinite(V).all():
            break
        values, vectors = np.linalg.eigh(base - r * block_diagonal(tilted(T, V)))
        if values[0] > best:
            best, found = float(values[0]), V
        weights = np.exp(
            -(values - values[0]) / (softness * abs(float(np.linalg.eigvalsh(base)[0])) + 1e-300)
        )
        Z = 0.5 * Z + 0.5 * (vectors * weights) @ vectors.T * (k * d / weights.sum())
    return found, best


def _balanced(slices: Array, Z: Array) -> Array:
    """Cholesky factor of the minimizer Y of tr Z (Y + sum_a T_a Y^-1 T_a)."""
    d = Z.shape[0]
    Z = Z + 1e-9 * np.trace(Z) * np.eye(d)
    Q = np.einsum("aij,jk,akl->il", slices, Z, slices)
    low, basis = np.linalg.eigh(Z)
    root, inverse = (basis * np.sqrt(low)) @ basis.T, (basis / np.sqrt(low)) @ basis.T
    values, vectors = np.linalg.eigh(root @ Q @ root)
    values = np.maximum(values, 1e-12 * values[-1] + 1e-200)
    Y = inverse @ ((vectors * np.sqrt(values)) @ vectors.T) @ inverse
    return np.asarray(np.linalg.cholesky((Y + Y.T) / 2.0), dtype=np.float64)


def block_diagonal(blocks: Array) -> Array:
    """The kd x kd matrix with the k given d x d blocks."""
    k, d, _ = blocks.shape
    whole = np.zeros((k, d, k, d))
    for j in range(k):
        whole[j, :, j] = blocks[j]
    return whole.reshape(k * d, k * d)
