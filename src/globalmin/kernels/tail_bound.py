r"""A proved lower bound of lambda_min of the limiting Gram matrices of functions with a kink, for
any number of rows: one pass over the cosines, block by block (theorem and rounding:
spec/streamed-kernels.md).

With the cosines c of the rows, phi(z) = even |z| + odd z and $\arcsin t = \sum_j q_j t^{2j+1}$, the
matrix is $D(odd^2\,C + \tfrac2\pi even^2 \sum_j w_j C^{\circ(2j+2)})D + \dots$ with all terms
positive semidefinite, and by Gershgorin $\lambda_{\min}(C^{\circ r}) \ge 1 - s_S$ for $r \ge S$,
$s_S = \max_i \sum_{k \ne i} |c_{ik}|^S$.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.activations import get_activation
from globalmin.activations.dual_pairs import KINKED
from globalmin.data.preprocessing import normalized_rows
from globalmin.data.validation import as_matrix
from globalmin.errors import DataError
from globalmin.kernels.limit_gram import Kind, kernel_order

if TYPE_CHECKING:
    from globalmin.activations import Activation

POWERS: tuple[int, ...] = (2, 4, 6, 8, 10, 12, 16, 24, 32, 64, 128, 256, 512)
BLOCK = 1024
_PRODUCTS = {4: (2, 2), 6: (4, 2), 8: (4, 4), 10: (8, 2), 12: (8, 4), 16: (8, 8), 24: (16, 8),
             32: (16, 16), 64: (32, 32), 128: (64, 64), 256: (128, 128),
             512: (256, 256)}  # fmt: skip
_TINY = 2.0**-100  # far above what underflow loses in a block, far below anything that counts
_SLACK = 1.0 + 2.0**-40  # for the few roundings of the bound's own arithmetic
_FLOAT32 = 2.0**-24


@dataclass(frozen=True)
class TailBound:
    """A proved bound lambda_min >= `lower` for the stored rows, over the reals.

    Attributes
    ----------
    lower : float
        The bound; 0 where the rows are too close to each other for this proof.
    power : int
        The least power whose row sums are below 1; 0 if there is none.
    row_sum : float
        Upper bound of these row sums.
    n : int
        Number of rows.
    """

    lower: float
    power: int
    row_sum: float
    n: int


def prove_lambda_lower(
    X: ArrayLike,
    activation: str | Activation = "relu",
    *,
    kernel: Kind = "weights",
    watch: Callable[[float], None] | None = None,
) -> TailBound:
    r"""Prove a lower bound of lambda_min of `limit_gram(X, activation, kernel=kernel)` without the
    matrix: time $O(n^2 d)$, memory a few blocks.

    Parameters
    ----------
    X : ArrayLike
        n x d inputs without zero rows.
    activation : str | Activation
        "relu", "leaky_relu" or "abs": their series is known in closed form.
    kernel : Kind
        As in `limit_gram`.
    watch : Callable[[float], None] | None
        Told after every strip of blocks which share of the work is done.

    Theory
    ------
    True over the reals for the stored rows, if matrix products are sums of products in some order
    (no Strassen) and rounding is that of IEEE 754.
    """
    X, phi, order = as_matrix(X), get_activation(activation), kernel_order(kernel)
    if phi.name not in KINKED or phi.name == "linear":
        raise DataError(
            f"activation={phi.name!r} has no proved series here; give 'relu', 'leaky_relu' or "
            "'abs', or take lambda_lower_bounds, an estimate"
        )
    least = least_square_lower(X)
    if not least > 0:
        raise DataError("X has a zero row, or one below 1e-140: the matrix is singular; drop it")
    sums = row_sums_upper(X, watch)
    share = _series_lower(sums, order) * 2 / _PI_ABOVE
    even = (Fraction(float(phi(1.0))) + Fraction(float(phi(-1.0)))) / 2
    lower = _down(share * even**2 * Fraction(least))
    below = [S for S in POWERS if sums[S] < 1.0]
    power = below[0] if below else 0
    return TailBound(lower, power, sums[power] if power else sums[POWERS[-1]], len(X))


_PI_BELOW = Fraction(math.pi)  # the double below pi
_PI_ABOVE = Fraction(math.nextafter(math.pi, 4.0))


def _down(value: Fraction) -> float:
    return math.nextafter(float(value), 0.0) if value > 0 else 0.0


def _series_lower(sums: dict[int, float], order: int) -> Fraction:
    r"""$\sum_r w_r \max(0, 1 - s_{S(r)})$ over the even powers r, S(r) the largest of ours up to r,
    from below and in rational numbers.
    """
    total, spent, after = Fraction(0), Fraction(0), POWERS[0]
    whole = _PI_BELOW / 2 - (0 if order else 1)
    for S, after in pairwise(POWERS):
        part = sum((_weight(r, order) for r in range(S, after, 2)), start=Fraction(0))
        spent += part
        total += part * max(Fraction(0), 1 - Fraction(sums[S]))
    return total + max(whole - spent, Fraction(0)) * max(Fraction(0), 1 - Fraction(sums[after]))


def _weight(r: int, order: int) -> Fraction:
    """The coefficient of c^r in c arcsin c, or for order 0 in sqrt(1 - c^2) + c arcsin c."""
    j = r // 2 - 1
    q = Fraction(math.comb(2 * j, j), 4**j * (2 * j + 1))
    return q if order else q / r


def least_square_lower(X: Array) -> float:
    """A lower bound of the least squared norm of a row; 0 where squares may underflow."""
    squares = np.einsum("ij,ij->i", X, X)
    low = float(squares.min()) * (1.0 - (X.shape[1] + 2) * 2.0**-52)
    return low if low > 1e-280 and math.isfinite(float(squares.max())) else 0.0


def cosine_error(d: int) -> float:
    """How far a cosine from products of single precision may be from that of the stored rows."""
    u = _FLOAT32
    unit = (d + 4) * 2.0**-52 + u * (1.0 + 2.0**-20)  # of a row: normalized, then rounded
    product = d * u / (1.0 - d * u)
    return (product * (1.0 + unit) ** 2 + unit * (2.0 + unit)) * _SLACK + _TINY


def row_sums_upper(X: Array, watch: Callable[[float], None] | None = None) -> dict[int, float]:
    """For each power S an upper bound of the largest sum over the others of |cosine|^S."""
    n, d = X.shape
    if d * _FLOAT32 > 2.0**-8:
        raise DataError(f"X has {d:,} columns; single precision bounds need at most 65,536")
    U = normalized_rows(X).astype(np.float32)
    shift = np.nextafter(np.float32(cosine_error(d)), np.float32(1.0))
    sums = {S: np.zeros(n) for S in POWERS}
    for i in range(0, n, BLOCK):
        for j in range(i, n, BLOCK):
            t = U[i : i + BLOCK] @ U[j : j + BLOCK].T
            np.abs(t, out=t)
            t += shift
            if i == j:
                np.fill_diagonal(t, 0.0)
            _add_powers(t, sums, i, j)
        if watch is not None:
            watch(share_done(n, i + BLOCK))
    return {S: float(sums[S].max()) * _above(S, n) + n * _TINY for S in POWERS}


def share_done(n: int, rows: int) -> float:
    """Of all pairs, those whose first is among so many rows."""
    return 1.0 - (max(n - rows, 0) / n) ** 2


def _above(S: int, n: int) -> float:
    """What rounding may have taken from a sum of powers."""
    power = 1.0 + 4.0 * S * _FLOAT32  # at most 2S roundings of single precision
    block = 1.0 + 2.0 * BLOCK * _FLOAT32  # a sum of at most BLOCK terms in single precision
    return power * block * (1.0 + n * 2.0**-52) * _SLACK


def _add_powers(t: NDArray[Any], sums: dict[int, Array], i: int, j: int) -> None:
    """Row sums of the powers of a block, and its column sums if it is off the diagonal."""
    rows, columns = t.shape
    ones = np.ones(max(rows, columns), np.float32)
    powers = {2: t * t}
    for S in POWERS:
        if S not in powers:
            left, right = _PRODUCTS[S]
            powers[S] = powers[left] * powers[right]
        sums[S][i : i + rows] += powers[S] @ ones[:columns]
        if i != j:
            sums[S][j : j + columns] += ones[:rows] @ powers[S]
