r"""Which rows of a matrix of doubles are equal, opposite or proportional: exact answers, no
tolerance; and which two are most nearly proportional, an estimate for warnings.

Equality is found by hashing bytes. For proportionality every row is mapped to one residue modulo
the prime $P = 2^{61} - 1$ that is the same for all nonzero rational multiples of the row: with
$x_p$ the first nonzero entry and fixed weights $a_j$,

    key(x) = x_p^{-1} \sum_j a_j x_j  (mod P).

A double is $m 2^e$ with $|m| < 2^{53} < P$ and 2 is invertible, so no nonzero entry vanishes modulo
P and the key of $cx$ equals the key of $x$ for every $c \ne 0$ that makes $cx$ a row of doubles: no
proportional pair is missed. Rows that share a key are then compared as exact integers, so none is
invented.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable
from typing import NamedTuple

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.data.preprocessing import normalized_rows

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
