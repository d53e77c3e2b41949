"""Matrix products by BLAS, each confirmed afterwards by random projections that do not use BLAS
(C1 of `spec/fast-route.md`). The projections are drawn from the digest of the file.

All products are cut into tiles below the sizes at which a library might change its algorithm.
"""

from __future__ import annotations

import hashlib

import numpy as np

from globalmin_check.fast.rounding import Floats, U, need, up

TILE = 4096
PROJECTIONS = 2
LARGEST = 2.0**19  # above the entries of a projection
_DUST = 2.0**-960


class Products:
    """Confirmed products of one file; counts them for the verdict."""

    def __init__(self, digest: bytes) -> None:
        self._digest = digest
        self.confirmed = 0

    def draw(self, length: int) -> Floats:
        """PROJECTIONS vectors of independent half-integers below 2^19 in size."""
        self.confirmed += 1
        seed = self._digest + self.confirmed.to_bytes(8, "little")
        stream = hashlib.shake_256(seed).digest(4 * PROJECTIONS * length)
        numbers = np.frombuffer(stream, dtype="<u4").astype(np.int64) & (2**20 - 1)
        return np.asarray(numbers - 2.0**19 + 0.5, np.float64).reshape(PROJECTIONS, length)

    def product(self, A: Floats, B: Floats) -> Floats:
        """A B, confirmed."""
        C = tiled(A, B)
        rows = up(np.abs(B).sum(axis=1), B.shape[1])
        allowed = _allowed(np.abs(A), rows, B.shape[1])
        for z in self.draw(B.shape[1]):
            _confirm(A, C, z, _applied(B, z), allowed)
        return C

    def upper(self, A: Floats, B: Floats) -> Floats:
        """B2: at least A B, for matrices without negative entries."""
        return up(self.product(A, B), A.shape[1])


class SymmetricStrips:
    """The strips A[i0:i1] A[:i1]^T of a symmetric product, one after the other from the top, each
    confirmed by projections that grow with them.
    """

    def __init__(self, A: Floats, products: Products) -> None:
        self.A = A
        self._sides = _Sides(len(A), A.shape[1], products)

    def strip(self, start: int, end: int) -> Floats:
        """Rows start to end, columns up to end; strips must be asked for in order."""
        need(start == self._sides.reached, "strips of a product were asked for out of order")
        C = symmetric_strip(self.A, start, end)
        right = [_applied(C, z[:end]) for z in self._sides.z]
        self._sides.confirm(self.A[start:end], right)
        return C


class LowerGram:
    """L L^T of a lower triangular L of order n, given by columns: those that belong to a block of
    rows of L, from the diagonal downwards. Each block of rows is confirmed when it is complete.
    """

    def __init__(self, n: int, products: Products) -> None:
        self._sides = _Sides(n, n, products)
        self._right = np.zeros((PROJECTIONS, n))

    def confirm(self, rows: Floats, columns: Floats) -> None:
        """The next rows of L up to their diagonal block, and the columns of L L^T that end with
        it.
        """
        start, end = self._sides.reached, rows.shape[1]
        for right, z in zip(self._right, self._sides.z, strict=True):
            right[start:] += _applied(columns, z[start:end])
        self._sides.confirm(rows, list(self._right[:, start:end]))


class _Sides:
    """C1 for the rows of a symmetric product A A^T up to their diagonal block, from the top: the
    projections z, and what the rows so far give to A^T z and to the column sums of |A|.
    """

    def __init__(self, n: int, width: int, products: Products) -> None:
        self.z = products.draw(n)
        self._w = np.zeros((PROJECTIONS, width))
        self._size = np.zeros(width)
        self.reached = 0

    def confirm(self, rows: Floats, right: list[Floats]) -> None:
        """The next rows of A, and the products with z of their rows of A A^T."""
        start, end, width = self.reached, self.reached + len(rows), rows.shape[1]
        self.reached = end
        sizes = np.abs(rows)
        self._size[:width] = up(self._size[:width] + up(sizes.sum(axis=0), end - start), 2)
        allowed = _allowed(sizes, self._size[:width], end)
        for z, w, found in zip(self.z, self._w, right, strict=True):
            w[:width] += np.einsum("ij,i->j", rows, z[start:end])
            _agree(_applied(rows, w[:width]), found, allowed)


def symmetric_strip(A: Floats, start: int, end: int) -> Floats:
    """A[start:end] A[:end]^T, not confirmed."""
    return tiled(A[start:end], A[:end].T)


def tiled(A: Floats, B: Floats) -> Floats:
    """A B in tiles of at most TILE in every direction; sums of tiles are sums in some order."""
    rows, inner, columns = A.shape[0], A.shape[1], B.shape[1]
    if max(rows, inner, columns) <= TILE:
        return A @ B
    C = np.zeros((rows, columns))
    for i in range(0, rows, TILE):
        for j in range(0, columns, TILE):
            for p in range(0, inner, TILE):
                C[i : i + TILE, j : j + TILE] += (
                    A[i : i + TILE, p : p + TILE] @ B[p : p + TILE, j : j + TILE]
                )
    return C


def _applied(A: Floats, x: Floats) -> Floats:
    """A x by numpy's own loops, without BLAS."""
    return np.einsum("ij,j->i", A, x)


def _allowed(A: Floats, size: Floats, columns: int) -> Floats:
    """The differences that C1 allows, A and size being at least |A| and the row sums of |B|: no
    entry of a projection is above LARGEST in size.
    """
    terms = 3 * (A.shape[1] + columns + 8) * U
    return up(_applied(A, size), A.shape[1]) * (LARGEST * terms) + _DUST


def _confirm(A: Floats, C: Floats, z: Floats, w: Floats, allowed: Floats) -> None:
    """C1 for C = A B with w = B z: A w and C z must agree."""
    _agree(_applied(A, w), _applied(C, z), allowed)


def _agree(left: Floats, right: Floats, allowed: Floats) -> None:
    """Both sides of C1 must agree."""
    agree = np.abs(left - right) <= allowed
    need(agree.all(), "a matrix product was not confirmed by its projections")
