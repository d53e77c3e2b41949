"""Matrix products by BLAS, each confirmed afterwards by random projections that do not use BLAS
(C1 of `spec/fast-route.md`). The projections are drawn from the digest of the file.

All products are cut into tiles below the sizes at which a library might change its algorithm.
"""

from __future__ import annotations

import hashlib

import numpy as np

from globalmin_check.fast.rounding import Floats, U, need, up

TILE = 4096
BLOCK = 256  # columns of a triangular product that are computed together
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

    def __init__(self, A: Floats, products: Products, *, triangular: bool = False) -> None:
        self.A, self.triangular = A, triangular
        self.z = products.draw(len(A))
        self.w = np.zeros((PROJECTIONS, A.shape[1]))
        self.size = np.zeros(A.shape[1])
        self.reached = 0

    def strip(self, start: int, end: int) -> Floats:
        """Rows start to end, columns up to end; strips must be asked for in order."""
        need(start == self.reached, "strips of a product were asked for out of order")
        self.reached = end
        width = end if self.triangular else self.A.shape[1]
        rows, zs = self.A[start:end, :width], self.z[:, start:end]
        C = symmetric_strip(self.A, start, end, triangular=self.triangular)
        sizes = np.abs(rows)
        self.size[:width] = up(self.size[:width] + up(sizes.sum(axis=0), end - start), 2)
        allowed = _allowed(sizes, self.size[:width], end)
        for p, z in enumerate(zs):
            self.w[p, :width] += np.einsum("ij,i->j", rows, z)
            _confirm(rows, C, self.z[p, :end], self.w[p, :width], allowed)
        return C


def symmetric_strip(A: Floats, start: int, end: int, *, triangular: bool = False) -> Floats:
    """A[start:end] A[:end]^T, not confirmed; the columns of a triangular A end with its rows."""
    if not triangular:
        return tiled(A[start:end], A[:end].T)
    C = np.empty((end - start, end))
    for i in range(0, end, BLOCK):
        j = min(end, i + BLOCK)
        C[:, i:j] = tiled(A[start:end, :j], A[i:j, :j].T)
    return C


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
    agree = np.abs(_applied(A, w) - _applied(C, z)) <= allowed
    need(agree.all(), "a matrix product was not confirmed by its projections")
