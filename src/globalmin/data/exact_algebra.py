r"""Linear algebra on doubles over the rationals, exactly and without tolerance: which rows are
equal, opposite or proportional, the rank of a matrix, and the least loss of linear functions; which
two rows are most nearly proportional is an estimate for warnings.

Equality is found by hashing bytes. For proportionality every row is mapped to one residue modulo
the prime $P = 2^{61} - 1$ that is the same for all nonzero rational multiples of the row: with
$x_p$ the first nonzero entry and fixed weights $a_j$,

    key(x) = x_p^{-1} \sum_j a_j x_j  (mod P).

A double is $m 2^e$ with $|m| < 2^{53} < P$ and 2 is invertible, so no nonzero entry vanishes modulo
P and the key of $cx$ equals the key of $x$ for every $c \ne 0$ that makes $cx$ a row of doubles: no
proportional pair is missed. Rows that share a key are then compared as exact integers, so none is
invented.

Rank: proved bounds, equal whenever that is affordable. Lower bound: the rank modulo one odd prime
(a minor that is nonzero modulo p is nonzero). Upper bound: the size of the matrix without zero and
proportional rows and columns, or an exact rational dependency found by solving with the pivot
block.

Least squares, $\min_w \frac12\|Xw - y\|^2$ over the reals: independent columns are found modulo
the prime, the normal equations of these columns are solved in integers, and the residual is
verified to be orthogonal to every column. That verification is the proof: by Pythagoras' theorem no
other w has a smaller residual.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.data.preprocessing import normalized_rows

if TYPE_CHECKING:
    from flint import fmpz_mat, nmod_mat

PRIME = (1 << 61) - 1
_P = np.uint64(PRIME)
_LOW31 = np.uint64((1 << 31) - 1)
_LOW30 = np.uint64((1 << 30) - 1)
# any fixed number: the answer does not depend on it, only the number of exact comparisons
_WEIGHT_SEED = 20240229

Words = NDArray[np.uint64]
Groups = tuple[tuple[int, ...], ...]


def equal_groups(X: Array) -> Groups:
    """Groups of two or more equal rows (0.0 equals -0.0), each in increasing order."""
    return _gather(row.tobytes() for row in X + 0.0)


def opposite_groups(X: Array) -> Groups:
    """Groups of two or more nonzero rows that are equal up to sign."""
    sign = np.sign(pivots(X)[1])
    nonzero = np.flatnonzero(sign)
    oriented = X[nonzero] * sign[nonzero, None] + 0.0
    return _renumber(_gather(row.tobytes() for row in oriented), nonzero)


def line_groups(X: Array) -> Groups:
    """Groups of two or more nonzero rows that are multiples of each other, with factors of either
    sign.
    """
    nonzero = np.flatnonzero(pivots(X)[1])
    if nonzero.size == 0:
        return ()
    keys = projective_keys(X[nonzero])
    found: list[tuple[int, ...]] = []
    for candidates in _renumber(_gather(keys.tolist()), nonzero):
        found += _exact_lines(X, candidates)
    return tuple(sorted(found))


def pivots(X: Array) -> tuple[NDArray[np.intp], Array]:
    """Column and value of the first nonzero entry of each row; value 0 for a zero row."""
    column = np.argmax(X != 0, axis=1)
    return column, X[np.arange(X.shape[0]), column]


def primitive_vector(row: Array) -> tuple[int, ...]:
    """The integer vector on the line of a nonzero row whose entries have no common factor and whose
    first nonzero entry is positive.

    >>> primitive_vector(np.array([0.0, -0.5, 1.5]))
    (0, 1, -3)
    """
    integers = integer_row(row)
    divisor = math.gcd(*integers)
    lead = next(entry for entry in integers if entry)
    signed = divisor if lead > 0 else -divisor
    return tuple(entry // signed for entry in integers)


def integer_row(row: Array) -> list[int]:
    """The row times a positive power of two that makes every entry an integer (zero rows stay
    zero).
    """
    mantissa, exponent = np.frexp(row)
    integers = np.ldexp(mantissa, 53).astype(np.int64).tolist()
    nonzero = exponent[row != 0]
    low = int(nonzero.min()) if nonzero.size else 0
    return [m << (e - low) if m else 0 for m, e in zip(integers, exponent.tolist(), strict=True)]


def residues(X: Array) -> Words:
    """Each double as an element of the field of P elements (2 is invertible there)."""
    mantissa, exponent = np.frexp(X)
    integers = np.ldexp(mantissa, 53).astype(np.int64)
    words = np.abs(integers).astype(np.uint64)
    turn = np.mod(exponent - 53, 61).astype(np.uint64)
    # 2^61 = 1 modulo P, so multiplying by a power of two rotates the 61 bits
    turned = ((words << turn) & _P) | (words >> (np.uint64(61) - turn))
    return np.where(integers < 0, _P - turned, turned)


def multiply(a: Words, b: Words) -> Words:
    """Product a b modulo P for residues below P, without leaving 64 bits."""
    a1, a0 = a >> np.uint64(31), a & _LOW31
    b1, b0 = b >> np.uint64(31), b & _LOW31
    middle = a1 * b0 + a0 * b1
    # 2^62 = 2 and middle 2^31 = (middle >> 30) + (middle mod 2^30) 2^31; the sum stays below 2^63 +
    # 2^32
    total = (
        np.uint64(2) * (a1 * b1)
        + (middle >> np.uint64(30))
        + ((middle & _LOW30) << np.uint64(31))
        + a0 * b0
    )
    return _reduced(total)


def projective_keys(X: Array) -> Words:
    """One residue per nonzero row, the same for every nonzero multiple of the row."""
    weights = np.random.default_rng(_WEIGHT_SEED).integers(
        1, PRIME, size=X.shape[1], dtype=np.uint64
    )
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for j, weight in enumerate(weights):
        total = _reduced(total + multiply(residues(X[:, j]), np.full(X.shape[0], weight)))
    inverses = [pow(int(lead), -1, PRIME) for lead in residues(pivots(X)[1])]
    return multiply(total, np.array(inverses, dtype=np.uint64))


def _reduced(total: Words) -> Words:
    folded = (total & _P) + (total >> np.uint64(61))
    return np.where(folded >= _P, folded - _P, folded)


def _exact_lines(X: Array, candidates: tuple[int, ...]) -> list[tuple[int, ...]]:
    if all(np.array_equal(X[candidates[0]], X[i]) for i in candidates[1:]):
        return [candidates]
    groups = _gather(primitive_vector(X[i]) for i in candidates)
    return [tuple(candidates[i] for i in group) for group in groups]


def _gather(keys: Iterable[Hashable]) -> Groups:
    members: defaultdict[Hashable, list[int]] = defaultdict(list)
    for index, key in enumerate(keys):
        members[key].append(index)
    return tuple(tuple(group) for group in members.values() if len(group) > 1)


def _renumber(groups: Groups, indices: NDArray[np.intp]) -> Groups:
    return tuple(tuple(int(indices[i]) for i in group) for group in groups)


_CANDIDATES = 32


class NearPair(NamedTuple):
    """Rows i < j and the angle in radians between the lines they span, in [0, pi/2]."""

    i: int
    j: int
    angle: float


def estimate_closest_pair(
    X: Array, rows: NDArray[np.intp], *, max_bytes: int = 2**26
) -> NearPair | None:
    """The pair among `rows` (nonzero rows of X) with the smallest angle between their lines; None
    for fewer than two rows.

    Cosines are compared in blocks of at most `max_bytes`; the best candidates are compared again by
    chord length, which resolves angles far below the 1e-8 that a cosine can.
    """
    if rows.size < 2:
        return None
    U = normalized_rows(X[rows])
    block = max(1, max_bytes // (16 * rows.size))
    candidates = [
        pair
        for start in range(0, rows.size - 1, block)
        for pair in _block_candidates(U, start, min(block, rows.size - start))
    ]
    i, j, angle = min(
        ((i, j, _line_angle(U[i], U[j])) for i, j in candidates),
        key=lambda pair: (pair[2], pair[0], pair[1]),
    )
    return NearPair(int(rows[i]), int(rows[j]), angle)


def _block_candidates(U: Array, start: int, size: int) -> list[tuple[int, int]]:
    cosines = np.abs(U[start : start + size] @ U[start:].T)
    cosines[np.tril_indices(size)] = -1.0
    flat = cosines.ravel()
    count = min(_CANDIDATES, flat.size)
    best = np.argpartition(flat, flat.size - count)[flat.size - count :]
    pairs = [divmod(int(position), cosines.shape[1]) for position in best if flat[position] >= 0]
    return [(start + row, start + column) for row, column in pairs]


def _line_angle(u: Array, v: Array) -> float:
    chord = min(float(np.linalg.norm(u - v)), float(np.linalg.norm(u + v)))
    return 2.0 * float(np.arcsin(min(chord / 2.0, 1.0)))


MAX_PIVOTS = 200  # the exact solve with a pivot block of this order takes seconds
MAX_ENTRIES = 4_000_000


def rank_bounds(X: Array) -> tuple[int, int]:
    """Proved bounds (lower, upper) of the rank of X; equal unless the exact elimination would be
    too large.

    Theory
    ------
    P4 of the certificate theorems: a modular rank bounds from below only, so the upper bound always
    rests on exact integer arithmetic.
    """
    if not X.any():
        return 0, 0
    reduced = without_multiples(without_multiples(X).T).T
    full = min(reduced.shape)
    sample = _spread_rows(reduced)
    lower = modular_rank(sample)
    if lower == full or reduced.size > MAX_ENTRIES:
        return lower, full
    if sample.shape[0] < reduced.shape[0]:
        lower = modular_rank(reduced)
    if lower == full or lower > MAX_PIVOTS:
        return lower, full
    return _bounds_by_pivot_block(reduced)


def without_multiples(X: Array) -> Array:
    """X without its zero rows, and with one row kept of every group of proportional rows: the rank
    is unchanged.
    """
    keep = (X != 0).any(axis=1)
    for group in line_groups(X):
        keep[list(group[1:])] = False
    return np.ascontiguousarray(X[keep])


def modular_rank(X: Array) -> int:
    """Rank over the field of 2^61 - 1 elements: a lower bound of the rank over the rationals."""
    return _modular(X).rank()


def independent_columns(X: Array) -> list[int]:
    """Columns that are independent over the rationals, as many as there are modulo the prime 2^61 -
    1: in practice a basis.
    """
    return _pivot_columns(_modular(X)) if X.any() else []


def _spread_rows(X: Array) -> Array:
    """Evenly spaced rows, enough to show full column rank in almost every case."""
    count = 2 * X.shape[1] + 8
    return X if X.shape[0] <= count else X[np.linspace(0, X.shape[0] - 1, count).astype(int)]


def _bounds_by_pivot_block(X: Array) -> tuple[int, int]:
    """B the r x r block of pivot rows and columns: the rank is r exactly when X = X_J B^{-1} X_I,
    tested in integers.
    """
    columns = _pivot_columns(_modular(X))
    rows = _pivot_columns(_modular(np.ascontiguousarray(X[:, columns].T)))
    r = len(rows)
    others = [j for j in range(X.shape[1]) if j not in set(columns)]
    scaled = [integer_row(row) for row in X]
    block = _integer_matrix([[scaled[i][j] for j in columns] for i in rows])
    right = _integer_matrix([[scaled[i][j] for j in others] for i in rows])
    solution: Any = block.solve(right)
    numerator, denominator = solution.numer_denom()
    predicted = _integer_matrix([[row[j] for j in columns] for row in scaled]) * numerator
    actual = _integer_matrix([[row[j] for j in others] for row in scaled]) * denominator
    return (r, r) if predicted == actual else (r + 1, min(X.shape))


def _modular(X: Array) -> nmod_mat:
    from flint import nmod_mat

    return nmod_mat(X.shape[0], X.shape[1], residues(X).ravel().tolist(), PRIME)


def _integer_matrix(table: list[list[int]]) -> fmpz_mat:
    from flint import fmpz_mat

    return fmpz_mat(table)


def _pivot_columns(matrix: nmod_mat) -> list[int]:
    echelon, rank = matrix.rref()
    table = echelon.tolist()
    return [next(j for j, entry in enumerate(table[i]) if int(entry)) for i in range(rank)]


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
