"""A witness of P1 that the checker makes itself, for claims of version 2, whose files hold none.

Nothing is assumed of it: P1 holds for every C. It is the inverse of a Cholesky factor in plain
floats; where none is found, or it does not prove the matrix positive definite, the check is open.
"""

from __future__ import annotations

import math
from array import array
from operator import mul

from globalmin_check.checks import Checks
from globalmin_check.container import Tensor
from globalmin_check.positive import residual_norm
from globalmin_check.primitives import Rows


def require_without_witness(checks: Checks, number: str, name: str, A: Rows) -> None:
    """P1 with a witness of our own; a matrix that it does not prove is left open."""
    C = own_factor(A)
    residual = None if C is None else residual_norm(A, C, checks.bits)
    holds = True if residual is not None and residual < 1 else None
    found = "no witness was found" if residual is None else f"the residual is {residual}"
    sentence = f"P1: |C ({name}) C^T - I|_F < 1 for a C of the checker's own"
    checks.require_outcome(number, sentence, holds, found)


def own_factor(A: Rows) -> Tensor | None:
    """The inverse of the Cholesky factor of the midpoints, or None."""
    L: list[list[float]] = []
    for i, row in enumerate(A):
        line: list[float] = []
        for j in range(i):
            line.append((float(row[j].mid()) - _dot(line, L[j])) / L[j][j])
        pivot = float(row[i].mid()) - _dot(line, line)
        if not 0 < pivot < math.inf:
            return None
        L.append([*line, math.sqrt(pivot)])
    return _inverse(L)


def _inverse(L: list[list[float]]) -> Tensor | None:
    """The inverse of a lower triangular matrix, column by column."""
    n = len(L)
    values = array("d", bytes(8 * n * n))
    for j in range(n):
        column = [1 / L[j][j]]
        for i in range(j + 1, n):
            column.append(-_dot(L[i][j:i], column) / L[i][i])
        if not all(map(math.isfinite, column)):
            return None
        values[j * n + j :: n] = array("d", column)
    return Tensor("F64", (n, n), values, memoryview(b""))


def _dot(a: list[float], b: list[float]) -> float:
    return sum(map(mul, a, b))
