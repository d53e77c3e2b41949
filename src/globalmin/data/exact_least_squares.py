r"""The least loss of linear functions on the stored doubles, as an exact fraction: $\min_w
\frac12\|Xw - y\|^2$ over the reals.

Independent columns are found modulo a prime (a minor that is nonzero there is nonzero), the normal
equations of these columns are solved in integers, and the residual is verified to be orthogonal to
every column. That verification is the proof: by Pythagoras' theorem no other w has a smaller
residual.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.data.exact_rank import MAX_PIVOTS, independent_columns

if TYPE_CHECKING:
    from flint import fmpz_mat

MAX_WORK = 20_000_000  # n d^2, about a second
MAX_BITS = 2_000  # between the largest and the smallest entry


def least_squares_floor(X: Array, y: Array) -> Fraction | None:
    r"""$\min_w \frac12\|Xw - y\|^2$ of the stored doubles, exact; None where integers would be too
    large or too many.

    >>> least_squares_floor(np.array([[1.0], [2.0]]), np.array([1.0, 1.0]))
    Fraction(1, 10)
    """
    if X.size * X.shape[1] > MAX_WORK:
        return None
    scaled, labels = _integers(X), _integers(y[:, None])
    columns = independent_columns(X)
    if scaled is None or labels is None or len(columns) > MAX_PIVOTS:
        return None
    (A, _), (b, exponent) = scaled, labels
    unit = Fraction(2) ** (2 * exponent)
    square = int((b.transpose() * b)[0, 0])
    if not columns:
        return unit * square / 2
    chosen = _columns(A, columns)
    right = chosen.transpose() * b
    solution: Any = (chosen.transpose() * chosen).solve(right)
    numerator, denominator = solution.numer_denom()
    residual = denominator * b - chosen * numerator
    if any(int(entry) for entry in (A.transpose() * residual).entries()):
        return None  # the columns found modulo the prime do not span the others
    explained = Fraction(int((right.transpose() * numerator)[0, 0]), int(denominator))
    return unit * (square - explained) / 2


def _integers(values: Array) -> tuple[fmpz_mat, int] | None:
    """The matrix as integers times 2^exponent, or None if its entries are too far apart."""
    from flint import fmpz_mat

    mantissa, exponent = np.frexp(values)
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    used = exponent[integers != 0]
    low = int(used.min()) if used.size else 0
    if used.size and int(used.max()) - low > MAX_BITS:
        return None
    shifts = np.where(integers != 0, exponent - low, 0)
    entries = [
        int(m) << int(e)
        for m, e in zip(integers.ravel().tolist(), shifts.ravel().tolist(), strict=True)
    ]
    return fmpz_mat(values.shape[0], values.shape[1], entries), low - 53


def _columns(A: fmpz_mat, columns: list[int]) -> fmpz_mat:
    from flint import fmpz_mat

    table: Any = A.tolist()
    return fmpz_mat([[row[j] for j in columns] for row in table])
