"""Matrices of doubles as balls (python-flint), for numbers far beyond double precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from globalmin._types import Array

BITS = 192
SMALLEST_RADIUS = 2.0**-230
Ball = Any  # flint.arb; the library ships no type that pyright could use for arithmetic
BallMatrix = Any  # flint.arb_mat


@contextmanager
def working_precision(bits: int = BITS) -> Iterator[None]:
    """Set the precision of the ball library, which is global to the process, and restore it."""
    from flint import ctx

    previous = ctx.prec
    ctx.prec = bits
    try:
        yield
    finally:
        ctx.prec = previous


def ball_matrix(values: Array) -> BallMatrix:
    """Exact copy of a float64 matrix (a vector becomes one column)."""
    from flint import arb_mat

    rows = values.tolist() if values.ndim == 2 else [[value] for value in values.tolist()]
    return arb_mat(rows)


def to_floats(matrix: BallMatrix) -> Array:
    """Midpoints rounded to doubles, in the shape of the matrix."""
    return np.array([float(entry) for entry in matrix.entries()]).reshape(
        matrix.nrows(), matrix.ncols()
    )
