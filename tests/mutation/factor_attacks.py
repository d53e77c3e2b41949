"""Attacks on the factors of P1: made for a lie, far too small, or so small in one row that the
residual is 1 - 2^-132.

The residual of P1 decides alone whether a matrix is proved positive definite. With a tiny row it is
as near to 1 as one likes, so that an attacker chooses the precision at which the check is decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from tests.corpus.small_producer import inverse_factor
from tests.corpus.whole_files import Whole
from tests.mutation.oracle_margins import Matrix, residual, walk
from tests.mutation.tiny_instances import base

NEARLY_ONE = 132  # a residual of P1 within 2^-132 of 1
REFIT_BITS = 120


def factors(file: Whole, bits: int = REFIT_BITS) -> Iterator[tuple[str, int, Matrix, Matrix]]:
    """(tensor, first row of the block in it, A, C) of every use of P1 that the oracle reaches."""
    arrays = {
        n: a
        for n, a in file.tensors.items()
        if n.startswith("claims.0.") and a.ndim == 2 and a.dtype.kind == "f"
    }
    for step in walk(file.sealed(), bits):
        if step.comparison is None or step.comparison.A is None or step.comparison.C is None:
            continue
        A, C = step.comparison.A, step.comparison.C
        for name, array in arrays.items():
            for start in range(0, len(array), len(A)):
                block = array[start : start + len(A)]
                if (
                    block.shape == (len(A), len(A))
                    and [[Fraction(float(x)) for x in row] for row in block] == C
                ):
                    yield name, start, A, C


def refitted(file: Whole, shy: bool = False) -> Whole:
    """The same claims with factors made for their own matrices; where a matrix is not positive
    definite, the nearest lie.
    """
    result = Whole(file.top, dict(file.tensors))
    for name, start, A, _ in factors(file):
        try:
            fresh = (_shy_factor if shy else inverse_factor)(
                np.array([[float(x) for x in row] for row in A])
            )
        except (OverflowError, np.linalg.LinAlgError):
            continue
        if np.all(np.isfinite(fresh)):
            array = result.tensors[name].copy()
            array[start : start + len(A)] = fresh
            result.tensors[name] = array
    return result


def _shy_factor(A: np.ndarray) -> np.ndarray:
    """Eigenvectors over the roots of the eigenvalues, the least one eight times too small: only the
    sign of that one matters.

    If the checker's matrix has a positive least eigenvalue where the true one has not, this factor
    proves it.
    """
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    C = (vectors / np.sqrt(np.maximum(np.abs(values), 1e-300))).T
    C[0] /= 8
    return C


def shrunk(A: Matrix, C: np.ndarray, row: int, side: int) -> np.ndarray | None:
    """C with one row so small that the residual of P1 is within 2^-120 of 1, below it (side +1) or
    above (side -1).

    With that row times s the squared residual is 1 - 2 s^2 (alpha - beta) + s^4 alpha^2 + epsilon,
    epsilon that of the other rows: s is chosen where this is 1 - 2^-132 or 1 + 2^-132.
    """
    rows = [[Fraction(float(x)) for x in line] for line in C]
    products = [
        [
            sum((p * A[i][j] * q for i, p in enumerate(a) for j, q in enumerate(b)), Fraction(0))
            for b in rows
        ]
        for a in rows
    ]
    others = [i for i in range(len(rows)) if i != row]
    alpha, beta = products[row][row], sum((products[row][i] ** 2 for i in others), Fraction(0))
    epsilon = sum(
        ((products[i][j] - int(i == j)) ** 2 for i in others for j in others), Fraction(0)
    )
    aim = epsilon + side * Fraction(1, 2**NEARLY_ONE)
    if aim <= 0 or alpha <= beta:
        return None
    result = np.array(C)
    result[row] = result[row] * float(aim / (2 * (alpha - beta))) ** 0.5
    away = 1 - residual(A, [[Fraction(float(x)) for x in line] for line in result])
    return result if side * away > 0 and abs(away) < Fraction(1, 2**120) else None


@dataclass(frozen=True)
class Shrinkable:
    """A use of P1 in a file, with its matrix to many bits."""

    name: str
    start: int
    A: Matrix


@lru_cache(maxsize=512)
def cached_factors(kind: str, number: int) -> tuple[Shrinkable, ...]:
    """Every use of P1 in an honest file."""
    return tuple(
        Shrinkable(name, start, A) for name, start, A, _ in factors(base(kind, number), 400)
    )


def with_small_factor(file: Whole, use: Shrinkable, row: int, side: int) -> Whole | None:
    """The file with one factor shrunk in one row."""
    block = slice(use.start, use.start + len(use.A))
    small = shrunk(use.A, file.tensors[use.name][block], row, side)
    if small is None:
        return None
    array = file.tensors[use.name].copy()
    array[block] = small
    return Whole(file.top, file.tensors | {use.name: array})
