"""The two rows that point most nearly along one line, in floating point: an estimate, for
warnings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.data.preprocessing import normalized_rows

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
