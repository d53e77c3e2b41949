r"""Lower bounds of lambda_min of the limiting Gram matrices, each a proved inequality, evaluated in
floats: estimates of bounds.

With $\hat K$ the cosines of the rows and $D_r = diag(\|x_i\| \mu_r(\phi'; \|x_i\|))$ every norm is
covered: $\Sigma = \sum_r D_r \hat K^{\circ(r+1)} D_r$; all terms are positive semidefinite (Schur),
so any partial sum is a lower bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._options import one_of
from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike
from globalmin.activations import get_activation
from globalmin.activations.moments import hermite_coefficients, mean_square, mean_square_slope
from globalmin.data.preprocessing import normalized_rows
from globalmin.data.validation import as_matrix, gram_bytes, require_memory
from globalmin.errors import DataError
from globalmin.kernels.khatri_rao import separation
from globalmin.kernels.limit_gram import KINDS, Kind
from globalmin.linalg.spectrum import estimate_lambda_min
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation


PRINTED, OURS = 1.0 / 100.0, 0.0186  # constants of OS-TI.1: printed, and kept from its proof


class LambdaBound(NamedTuple):
    """One inequality lambda_min >= value: its item in the catalogue, what it is, and its value in
    floats.
    """

    item: str
    description: str
    value: float


@states("OS-LH.1", "OS-LH.2", "OS-L6.4", "OS-L6.5")
@renamed(kind="kernel")
def lambda_lower_bounds(
    X: ArrayLike,
    activation: str | Activation = "relu",
    *,
    kernel: Kind = "weights",
    terms: int = 4,
) -> tuple[LambdaBound, ...]:
    r"""Lower bounds of lambda_min of `limit_gram(X, activation, kernel=kernel)`: proved
    inequalities, estimated in floats.

    Parameters
    ----------
    terms : int
        Number of terms of the series used, 2 or more; the cost is about one eigenvalue of an n x n
        matrix per term.

    Theory
    ------
    OS-LH.1: $\lambda \ge \mu_r(\phi')^2 \sigma_{\min}(X^{*(r+1)})^2$ for each r; OS-LH.2 for the
    features; OS-L6.4: r = 0 and 1 together; partial sums; partial sums with the tail of the series
    by diagonal dominance. ReLU besides: OS-TI.1 and the series of DU-D2.1. For norms other than 1
    the smallest weight of a row takes the place of $\mu_r^2$ (OS-L6.5).
    """
    X, phi = as_matrix(X), get_activation(activation)
    one_of("kernel", kernel, KINDS)
    if terms < 2:
        raise DataError(f"terms={terms!r}: give terms >= 2")
    require_memory(
        gram_bytes(len(X), copies=5), f"lower bounds of lambda_min for {len(X):,} samples"
    )
    norms = np.linalg.norm(X, axis=1)
    if not norms.all():
        return (
            ()
            if kernel == "features"
            else (LambdaBound("OS-DEF6.1", "a zero row makes the matrix singular", 0.0),)
        )
    U = normalized_rows(X)
    cosines = U @ U.T
    np.fill_diagonal(cosines, 1.0)
    weights = _weights(phi, norms, terms, kernel)
    shift = int(kernel == "weights")
    bounds = _series_bounds(cosines, weights, shift)
    bounds.append(_with_tail(bounds[-1].value, cosines, weights, _total(phi, norms, kernel), shift))
    if phi.name == "relu" and kernel == "weights":
        least = float(np.square(norms).min())
        bounds += [*_separation_bounds(X, least), _arcsine_bound(cosines, least, terms)]
    return tuple(bounds)


def _weights(phi: Activation, norms: Array, terms: int, kind: Kind) -> Array:
    """Diagonals of the D_r, terms x n."""
    if kind == "features":
        return hermite_coefficients(phi, terms, norms).T
    return norms * hermite_coefficients(phi, terms, norms, order=1).T


def _total(phi: Activation, norms: Array, kind: Kind) -> Array:
    """Sum over all r of the squared weights: the diagonal of the matrix."""
    return (
        mean_square(phi, norms)
        if kind == "features"
        else np.square(norms) * mean_square_slope(phi, norms)
    )


def _series_bounds(cosines: Array, weights: Array, shift: int) -> list[LambdaBound]:
    item = "OS-LH.1" if shift else "OS-LH.2"
    bounds, total, power = [], np.zeros_like(cosines), np.ones_like(cosines)
    if shift:
        power *= cosines
    for r, weight in enumerate(weights):
        least = float(np.square(weight).min())
        if r > 0:
            power *= cosines
        smallest = _smallest(power) if least > 0 else 0.0
        bounds.append(LambdaBound(item, f"one term, r = {r}", least * smallest))
        total += power * np.multiply.outer(weight, weight)
        if r == 1 and shift:
            bounds.append(
                LambdaBound(
                    "OS-L6.4",
                    "reduction to the quadratic activation, terms 0 and 1",
                    _smallest(total),
                )
            )
    bounds.append(LambdaBound(item, f"partial sum, r < {len(weights)}", _smallest(total)))
    return bounds


def _smallest(G: Array) -> float:
    """Smallest eigenvalue less the rounding of its computation, or 0."""
    rounding = len(G) * np.finfo(np.float64).eps * float(np.abs(G).sum(axis=1).max())
    return max(estimate_lambda_min(G) - rounding, 0.0)


def _with_tail(
    partial: float, cosines: Array, weights: Array, total: Array, shift: int
) -> LambdaBound:
    """Terms from S on: each power of the cosines has lambda_min >= 1 - (n-1) rho^S, rho the largest
    |cosine|.
    """
    terms = len(weights)
    rest = float(np.maximum(total - np.square(weights).sum(axis=0), 0.0).min())
    dominance = 1.0 - (len(cosines) - 1) * _largest_cosine(cosines) ** (terms + shift)
    item = "OS-LH.1" if shift else "OS-LH.2"
    return LambdaBound(
        item,
        f"partial sum, r < {terms}, and the tail by diagonal dominance",
        partial + rest * max(0.0, dominance),
    )


def _largest_cosine(cosines: Array) -> float:
    n = len(cosines)
    return (
        max((float(np.abs(np.delete(cosines[i], i)).max()) for i in range(n)), default=0.0)
        if n > 1
        else 0.0
    )


@states("OS-TI.1", "OS-CI.2")
def _separation_bounds(X: Array, least: float) -> list[LambdaBound]:
    delta, n = separation(X), len(X)
    delta = min(delta, math.sqrt(2.0))  # a single row: any delta that two rows could have
    return [
        LambdaBound(
            "OS-CI.2",
            f"separation delta = {delta:.6g}: delta/(100 n^2)",
            least * PRINTED * delta / n**2,
        ),
        LambdaBound(
            "OS-TI.1",
            f"separation delta = {delta:.6g}: .0186 delta/n^2, the proof's own constant",
            least * OURS * delta / n**2,
        ),
    ]


@states("DU-D2.1")
def _arcsine_bound(cosines: Array, least: float, terms: int) -> LambdaBound:
    r"""$H^\infty = K/4 + \frac1{2\pi} K \circ \arcsin K$ for unit rows, $\arcsin t = \sum_j q_j
    t^{2j+1}$.
    """
    J = max(1, terms // 2)
    q = arcsine_coefficients(J)
    value = _smallest(cosines) / 4
    square = np.square(cosines)
    power = square.copy()
    for j in range(J):
        value += q[j] * _smallest(power) / (2.0 * math.pi)
        power *= square
    dominance = 1.0 - (len(cosines) - 1) * _largest_cosine(cosines) ** (2 * J + 2)
    value += (math.pi / 2 - sum(q)) / (2.0 * math.pi) * max(0.0, dominance)
    return LambdaBound(
        "DU-D2.1", f"arcsine series, {J} terms and the tail by diagonal dominance", least * value
    )


def arcsine_coefficients(count: int) -> list[float]:
    """q_j of arcsin t = sum_j q_j t^{2j+1}: 1, 1/6, 3/40, ..."""
    return [math.comb(2 * j, j) / (4.0**j * (2 * j + 1)) for j in range(count)]
