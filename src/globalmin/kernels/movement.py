r"""How far the weights move by the theorems of DU chapter 2 (two-layer ReLU, head $\pm1/\sqrt m$,
only W trained).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.kernels.probability import stable_radius
from globalmin.kernels.rates import kink_guarantee
from globalmin.references import states
from globalmin.shallow.guarantee import KinkDescent

if TYPE_CHECKING:
    Counts = NDArray[np.int64]


@states("DU-L2.3")
def flow_movement(X_norm: float, residual_norm: float, m: int, lambda0: float) -> float:
    r"""$R' = 2\|X\|\|y-u(0)\|/(\sqrt m\lambda_0)$: no weight vector moves further while
    $\lambda_{\min}(H) \ge \lambda_0/2$.

    Theory
    ------
    DU-L2.3, corrected (factor 2, erratum E2) and sharpened: $\|X\|$ in place of $\sqrt n$, which it
    never exceeds for unit rows.
    """
    return 2.0 * X_norm * residual_norm / (math.sqrt(m) * lambda0)


@states("DU-C2.1")
def descent_movement(X_norm: float, residual_norm: float, m: int, lambda0: float) -> float:
    r"""$R' = 4\|X\|\|y-u(0)\|/(\sqrt m\lambda_0)$, the same for gradient descent while
    $\|r(k)\|^2 \le (1-\eta\lambda_0/2)^k\|r(0)\|^2$.
    """
    return 2.0 * flow_movement(X_norm, residual_norm, m, lambda0)


@states("DU-L2.4")
def stays_in_place(
    X_norm: float, residual_norm: float, m: int, lambda0: float, *, n: int, delta: float
) -> bool:
    r"""Whether $R' < R$: the movement bound of DU-L2.3 is below the radius on which DU-L2.2 keeps
    the Gram matrix positive.
    """
    return flow_movement(X_norm, residual_norm, m, lambda0) < stable_radius(lambda0, n, delta)


def neuron_movement(W: Array, W0: Array) -> float:
    r"""$\max_l\|w_l - w_l(0)\|$, measured."""
    return float(np.linalg.norm(W - W0, axis=1).max())


def movement_from_rate(rate: float, step_size: float, slope: float, residual_norm: float) -> float:
    r"""$\eta\,s\|r\|/(1-\mathrm{rate})$: bound of the movement of one weight vector when $\|r\|$
    shrinks by `rate` per step and its gradient is at most $s\|r\|$ (for a ReLU neuron $s =
    |v_l|\|X\|$).
    """
    return step_size * slope * residual_norm / (1.0 - rate) if rate < 1.0 else math.inf


@states("OS-L6.5")
def schur_eigenvalue_limits(A: Array, B: Array) -> tuple[float, float]:
    r"""$(\min_iB_{ii}\lambda_{\min}(A), \max_iB_{ii}\lambda_{\max}(A))$, which enclose the spectrum
    of $A\circ B$ for PSD A, B.
    """
    eigenvalues, diagonal = np.linalg.eigvalsh(A), np.diag(B)
    return float(diagonal.min()) * float(eigenvalues[0]), float(diagonal.max()) * float(
        eigenvalues[-1]
    )


@states("OS-L6.6")
def jacobian_norm_limit(v: Array, B: float, X_norm: float) -> float:
    r"""$B\|v\|_2\|X\| \ge \|J(W)\|$ for every W; the printed $\sqrt k\,B\|v\|_\infty\|X\|$ is never
    smaller.
    """
    return B * float(np.linalg.norm(v)) * X_norm


@states("OS-L6.8")
def jacobian_lipschitz_limit(v: Array, M: float, X_norm: float, row_norm: float = 1.0) -> float:
    r"""$M\|v\|_\infty\|X\|\max_i\|x_i\|$: $\|J(W')-J(W)\|$ is at most this times the *spectral*
    norm of W' - W (ours; printed: Frobenius).
    """
    return M * float(np.abs(v).max()) * X_norm * row_norm


@states("OS-LC.1")
def jacobian_change_limit(slopes: Array, other: Array, v: Array, X_norm: float) -> float:
    r"""$\|X\|\max_i\|v\circ(\phi'(Wx_i)-\phi'(W'x_i))\|$, with $\phi'(XW^T)$ and $\phi'(XW'^T)$ n x
    k; never above the printed form.
    """
    return X_norm * float(np.linalg.norm((slopes - other) * v, axis=1).max())


@states("SJL-L7.11")
def joint_jacobian_change_limit(
    dW: Array, dv: Array, v: Array, *, B: float, M: float, X_norm: float, row_norm: float
) -> float:
    r"""$M\|v\|_\infty\|X\|\max\|x_i\|\|W'-W\| + B\|X\|\|v'-v\|_2$, for the first-layer Jacobian
    when both layers move.

    Theory
    ------
    SJL-L7.11, corrected and deterministic: the printed rate of the second term is wrong for k much
    larger than d (S16, S17).
    """
    first = jacobian_lipschitz_limit(v, M, X_norm, row_norm) * float(np.linalg.norm(dW, 2))
    return first + B * X_norm * float(np.linalg.norm(dv))


@states("SJL-L7.12")
def gradient_to_loss_limits(sigma_min: float, sigma_max: float, n: int) -> tuple[float, float]:
    r"""$(\frac2n\sigma_{\min}(J)^2, \frac2n\sigma_{\max}(J)^2)$ enclose $\|\nabla_WL\|^2/L$ for $L
    = \frac1{2n}\|r\|^2$: a PL constant.
    """
    return 2.0 / n * sigma_min**2, 2.0 / n * sigma_max**2


@states("SJL-L7.12")
def head_gradient_limit(features: Array, loss: float) -> float:
    r"""$\|\nabla_vL\|_\infty \le \sqrt{\frac2n\max_l\|\phi(Xw_l)\|^2L}$ for $L =
    \frac1{2n}\|r\|^2$; features are $\phi(XW^T)$, n x k.
    """
    return math.sqrt(2.0 / features.shape[0] * float(np.square(features).sum(axis=0).max()) * loss)


@states("SJL-L7.14")
def smoothness_limit(jacobian_norm: float, Lip: float, residual_norm: float, n: int) -> float:
    r"""$(\|J_{full}\|^2+\mathrm{Lip}\|r\|)/n \ge \|\nabla^2L\|$ for $L = \frac1{2n}\|r\|^2$:
    SJL-L7.14 with the cross block it forgets.
    """
    return (jacobian_norm**2 + Lip * residual_norm) / n


@states("OS-LC.2")
def flips_allowed(Z: Array, row_norms: Array, distance: float) -> Counts:
    r"""Per sample the largest number of signs that weights within `distance` (spectral norm) can
    have changed; exact for one sample.

    $\max\{m : \text{sum of the m smallest } (w_l\cdot x_i)^2 \le \mathrm{distance}^2\|x_i\|^2\}$: a
    sign of neuron l changes only if its pre-activation moves by at least $|w_l\cdot x_i|$, and the
    squares of all the moves sum to at most the right-hand side.

    Theory
    ------
    OS-LC.2, sharpened (ours): sort and add instead of the m-th smallest alone.
    """
    sums = np.cumsum(np.sort(np.square(Z), axis=1), axis=1)
    return (sums <= (distance * row_norms[:, None]) ** 2).sum(axis=1)


@states("OS-LC.2")
def flips_allowed_by_order(Z: Array, distance: float) -> Counts:
    r"""The printed form, unit rows: each sample flips fewer than 2m signs, m the least with
    distance $\le \sqrt m|Wx_i|_{m-}$ (0: none).
    """
    k = Z.shape[1]
    reach = np.sqrt(np.arange(1, k + 1)) * np.sort(np.abs(Z), axis=1)
    enough = reach >= distance
    m = np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, k)
    return np.minimum(2 * m - 1, k)


@states("DU-L2.2")
def flippable_counts(Z: Array, row_norms: Array, R: float) -> Counts:
    r"""$|S_i^\perp(R)| = \#\{l : |w_l\cdot x_i| < R\|x_i\|\}$: neurons whose sign on sample i can
    change when each moves at most R.
    """
    return (np.abs(Z) < R * row_norms[:, None]).sum(axis=1)


def changed_signs(Z: Array, Z0: Array) -> Counts:
    """Signs per sample that differ from the first ones (convention 1{z >= 0}), measured."""
    return ((Z >= 0) != (Z0 >= 0)).sum(axis=1)


@states("DU-L2.2")
def gram_change_limit(K: Array, counts: Counts, weight: float) -> float:
    r"""Spectral norm of $(|K_{ij}|\,\mathrm{weight}\,(c_i+c_j))_{ij}$, a bound of $\|H(W)-H(0)\|$
    when sample i changes at most $c_i$ signs.

    `weight` is the square of the head's entries, 1/m for the head of DU; the matrix has nonnegative
    entries, so its norm bounds that of every matrix below it in absolute value.
    """
    bound = np.abs(K) * (weight * (counts[:, None] + counts[None, :]))
    return float(np.linalg.norm(bound, 2))


@states("OS-C3")
def kink_jacobian_change(
    Z: Array, v: Array, row_norms: Array, X_norm: float, distance: float
) -> float:
    r"""$\epsilon(R) = \|X\|\max_i\sqrt{\max\sum v_l^2}$ over sets of neurons with $\sum(w_l\cdot
    x_i)^2 \le R^2\|x_i\|^2$.

    The inner maximum is a knapsack; its fractional relaxation (cheapest $z^2/v^2$ first, the last
    one in part) is taken, which is never below it.
    """
    costs, gains = np.square(Z), np.square(v)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(np.where(gains > 0, costs / gains, math.inf), axis=1)
    costs = np.take_along_axis(costs, order, axis=1)
    gains = gains[order]
    budget = (distance * row_norms[:, None]) ** 2
    before = np.cumsum(costs, axis=1) - costs
    left = np.clip(budget - before, 0.0, None)
    share = np.where(
        costs > 0,
        np.minimum(1.0, left / np.where(costs > 0, costs, 1.0)),
        (budget - before >= 0).astype(float),
    )
    return X_norm * math.sqrt(float((gains * share).sum(axis=1).max()))


@states("OS-C3")
def kink_descent(
    Z: Array,
    v: Array,
    row_norms: Array,
    X_norm: float,
    *,
    a: float,
    b: float,
    residual_norm: float,
    points: int = 60,
) -> KinkDescent | None:
    r"""The best radius R of a grid with $3\epsilon(R) < a$ and $\|r\|/(a-3\epsilon(R)) \le R$, or
    None.

    Parameters
    ----------
    Z, v, row_norms, X_norm : pre-activations (n x k), head, norms of the rows and of X.
    a, b, residual_norm : $\sigma_{\min}(J)$, $\|J\|$, $\|r\|$ at these weights.
    points : size of the grid, from $\|r\|/a$ to $100\|r\|/a$.
    """
    if not a > 0.0:
        return None
    for factor in np.geomspace(1.0 + 1e-9, 100.0, points):
        R = float(factor) * residual_norm / a
        eps = kink_jacobian_change(Z, v, row_norms, X_norm, R)
        found = kink_guarantee(a, b, eps, residual_norm)
        if found is None:
            return None
        if found.path <= R:
            return KinkDescent(R, eps, found)
    return None
