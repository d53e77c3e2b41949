r"""Hermite moment tensors of labeled Gaussian samples, streamed in blocks and never larger than d x
d or K x K x K (FCL-DEF2).

$M_1 = E[yx]$, $M_2 = E[y(xx^T-I)]$, $M_3 = E[y(x^{\otimes3} - x\,\tilde\otimes\,I)]$ and $M_4 =
E[y(x^{\otimes4} - xx^T\tilde\otimes I + \frac12I\tilde\otimes I)]$ (the half is missing in print).
For a teacher $M_j = \frac1K\sum_im_j(\|w_i\|)\,\bar w_i^{\otimes j}$, for real and for binary
labels alike.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg.symmetric import row_blocks
from globalmin.references import states

Removal = Literal["nothing", "mean", "linear"]
REMOVALS: tuple[Removal, ...] = get_args(Removal)


def linear_fit(X: Array, y: Array) -> tuple[float, Array]:
    """Intercept and slopes of the least-squares line of y on X, by streamed normal equations."""
    n, d = X.shape
    gram, right = np.zeros((d + 1, d + 1)), np.zeros(d + 1)
    for rows in row_blocks(n, d):
        part, labels = X[rows], y[rows]
        gram[:d, :d] += part.T @ part
        gram[:d, d] += part.sum(axis=0)
        right[:d] += part.T @ labels
        right[d] += labels.sum()
    gram[d, :d], gram[d, d] = gram[:d, d], n
    solution = np.asarray(np.linalg.lstsq(gram, right, rcond=None)[0], dtype=np.float64)
    return float(solution[d]), solution[:d]


@states("FCL-VR")
def reduced_labels(X: Array, y: Array, removal: Removal = "linear") -> Array:
    r"""Labels after removing nothing, their mean, or their linear fit.

    Theory
    ------
    FCL-VR: $E[He_3(x)] = E[He_3(x)x] = 0$, so the moments of order 3 and 4 do not change (up to
    O(1/n)), but the constant 1/2 in the labels no longer multiplies pure noise. For order 2 as
    well, since $E[(xx^T-I)x] = 0$.
    """
    one_of("removal", removal, REMOVALS)
    if removal == "nothing":
        return np.array(y, dtype=np.float64)
    if removal == "mean":
        return y - y.mean()
    intercept, slopes = linear_fit(X, y)
    return y - intercept - X @ slopes


@states("FCL-DEF2")
def first_moment(X: Array, r: Array) -> Array:
    """The mean of r x, the estimate of M_1."""
    return X.T @ r / X.shape[0]


class MatrixMoment:
    r"""P_2 as an implicit symmetric operator: only products P V are offered.

    Order 2: $M_2$. Order 3: $M_3(I,I,\alpha) = \frac1nX^T\mathrm{diag}(rt)X - \mathrm{mean}(rt)I -
    \alpha v^T - v\alpha^T$ with t = X alpha and v = X^T r/n. Up to `DENSE` features the d x d
    matrix is formed in one pass over the samples, above that every product passes over the samples;
    nothing of size d^3 ever exists.
    """

    DENSE = 2_000

    def __init__(
        self,
        X: Array,
        r: Array,
        *,
        order: int,
        alpha: Array | None = None,
        dense: bool | None = None,
    ) -> None:
        if order not in (2, 3) or (order == 3 and alpha is None):
            raise DataError(f"order={order!r} must be 2, or 3 with a direction alpha")
        self.X, self.dimension = X, X.shape[1]
        self.weights = r if order == 2 or alpha is None else r * (X @ alpha)
        self.shift = float(self.weights.mean())
        self.alpha = alpha if order == 3 else None
        self.v = first_moment(X, r) if order == 3 else None
        self.stored = (
            self._product(np.eye(self.dimension))
            if (self.dimension <= self.DENSE if dense is None else dense)
            else None
        )

    def times(self, V: Array) -> Array:
        """P V."""
        return self._product(V) if self.stored is None else self.stored @ V

    def _product(self, V: Array) -> Array:
        out, square = np.zeros((self.dimension, V.shape[1])), V.shape[1] == self.dimension
        for rows in row_blocks(*self.X.shape):
            part = self.X[rows]
            scaled = part * self.weights[rows, None]
            out += scaled.T @ part if square else scaled.T @ (part @ V)
        out = out @ V if square else out
        out = out / self.X.shape[0] - self.shift * V
        if self.alpha is not None and self.v is not None:
            out -= np.outer(self.alpha, self.v @ V) + np.outer(self.v, self.alpha @ V)
        return out


def _placed(A: Array, b: Array) -> Array:
    """A_ij b_k + A_ik b_j + A_jk b_i for a symmetric matrix A and a vector b."""
    return (
        np.einsum("ij,k->ijk", A, b) + np.einsum("ik,j->ijk", A, b) + np.einsum("jk,i->ijk", A, b)
    )


@states("FCL-DEF2", "FCL-DEF3", "FCL-TP")
def projected_tensor(
    X: Array, r: Array, V: Array, *, order: int = 3, alpha: Array | None = None
) -> Array:
    r"""$P_3(V,V,V)$, K x K x K: $M_3(V,V,V)$ for order 3, $M_4(V,V,V,\alpha)$ for order 4; cost ndK
    + nK^3.

    Parameters
    ----------
    V : d x K with orthonormal columns.
    alpha : the contracted direction, for order 4.

    Theory
    ------
    FCL-DEF2 projected; for order 4 with t = X alpha, Z = XV: mean r t z^3 - sym(I, mean r t z) -
    sym(mean r zz^T, V^T alpha) + mean(r) sym(I, V^T alpha).
    """
    if order not in (3, 4) or (order == 4 and alpha is None):
        raise DataError(f"order={order!r} must be 3, or 4 with a direction alpha")
    n, K = X.shape[0], V.shape[1]
    cubes, line, squares = np.zeros((K, K * K)), np.zeros(K), np.zeros((K, K))
    for rows in row_blocks(n, max(X.shape[1], K * K)):
        part = X[rows]
        Z, weights = part @ V, r[rows] if alpha is None or order == 3 else r[rows] * (part @ alpha)
        cubes += (Z * weights[:, None]).T @ (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), K * K)
        line += Z.T @ weights
        squares += (Z * r[rows, None]).T @ Z
    T = cubes.reshape(K, K, K) / n - _placed(np.eye(K), line / n)
    if order == 4 and alpha is not None:
        T += _placed(float(r.mean()) * np.eye(K) - squares / n, V.T @ alpha)
    return T


@states("FCL-VR")
def without_projected_quadratic(X: Array, r: Array, V: Array) -> Array:
    r"""Labels minus their least-squares fit by the products $z_az_b$ of the projections z = V^T x
    and a constant.

    For order 4: $M_2$ lies in the span of V, its share of the labels is noise for $M_4$, and
    K(K+1)/2 regressors remove it.
    """
    K = V.shape[1]
    a, b = np.triu_indices(K)
    count = len(a) + 1
    gram, right = np.zeros((count, count)), np.zeros(count)
    features = []
    for rows in row_blocks(X.shape[0], X.shape[1]):
        Z = X[rows] @ V
        F = np.column_stack([Z[:, a] * Z[:, b], np.ones(len(Z))])
        gram += F.T @ F
        right += F.T @ r[rows]
        features.append(F)
    fit = np.linalg.lstsq(gram, right, rcond=None)[0]
    return r - np.concatenate([F @ fit for F in features])
