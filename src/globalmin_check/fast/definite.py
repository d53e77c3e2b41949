"""PD-R of `spec/fast-route.md`: a symmetric matrix A is above a2 I if D (A - a2 I) D differs from
L L^T + c I by less than c in every row sum, L being any lower triangular matrix of floats and D any
diagonal one.

The factor comes from LAPACK, of which nothing is assumed: only products enter the proof, and each
is confirmed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from globalmin_check.fast.products import (
    LowerGram,
    Products,
    SymmetricStrips,
    symmetric_strip,
    tiled,
)
from globalmin_check.fast.rounding import UPS, Floats, NotProved, U, gamma, need, up

STRIP = 256
BLOCK = 64  # columns that are factored together
NEAR = 16 * U  # of the diagonal: farther columns of the factor are improved once
LARGEST_EXPONENT = 240


class Enclosure(Protocol):
    """A symmetric matrix of floats, given in strips of its lower triangle, and what is known of its
    distance from the real matrix that is meant.
    """

    n: int
    scaled: bool  # whether the bounds can be had for a scaled matrix

    def diagonal(self) -> Floats:
        """The diagonal, nearly."""
        ...

    def strips(self, products: Products | None) -> Strips:
        """The strips from the top, confirmed if `products` is given."""
        ...

    def errors(self, D: Floats, products: Products) -> Floats:
        """At least the sums over j of D_i |A - Ah|_ij D_j."""
        ...


class Strips(Protocol):
    """What gives the strips of a matrix in order."""

    def strip(self, start: int, end: int) -> Floats:
        """Rows start to end, columns up to end; a new array."""
        ...


class Dense:
    """A whole matrix with bounds of the row sums of its errors; never scaled."""

    scaled = False

    def __init__(self, values: Floats, row_errors: Floats) -> None:
        self.values, self.row_errors, self.n = values, row_errors, len(values)

    def diagonal(self) -> Floats:
        """The diagonal."""
        return np.diagonal(self.values).copy()

    def strips(self, products: Products | None) -> Dense:
        """The matrix itself: nothing is computed again."""
        return self

    def strip(self, start: int, end: int) -> Floats:
        """A copy of the strip."""
        return self.values[start:end, :end].copy()

    def errors(self, D: Floats, products: Products) -> Floats:
        """The stored bounds, which are of the unscaled matrix."""
        need((D == 1.0).all(), "bounds of row sums were scaled")
        return self.row_errors


@dataclass(frozen=True)
class _Shifted:
    """The matrix D (A - a2 I) D - c I that is compared with L L^T."""

    A: Enclosure
    a2: float
    D: Floats
    c: float

    def fill(self, strip: Floats, block: Floats, start: int) -> None:
        """The strip that begins at row `start`, from that of A, which is overwritten."""
        end = start + len(block)
        here = np.arange(len(block))
        block[here, here + start] -= self.a2
        block *= self.D[start:end, None]
        np.multiply(block, self.D[:end], out=strip)
        strip[here, here + start] -= self.c


def prove_above(A: Enclosure, a2: float, products: Products) -> tuple[float, float]:
    """Prove A > a2 I or raise NotProved; returns the used part and c, the first below the
    second.
    """
    matrix, errors = _shifted(A, a2, products)
    T, diagonal = _filled(matrix, products)
    try:
        rows, sizes = _factor(T, products)
    except np.linalg.LinAlgError:
        raise NotProved("no Cholesky factor: the matrix is indefinite or too near to it") from None
    D, c = matrix.D, matrix.c
    roundings = up(4 * U * ((abs(a2) + np.abs(diagonal)) * (D * D) + c), 4)
    used = up(rows, 2 * A.n) + gamma(A.n + 2) * sizes + roundings + errors + A.n * 2.0**-800
    used = up(used, 8)
    need((used < c).all(), "the matrix is not far enough inside the positive definite ones")
    return float(used.max()), c


def _shifted(A: Enclosure, a2: float, products: Products) -> tuple[_Shifted, Floats]:
    """Powers of two that bring the diagonal near 1, a shift c that leaves room, and the bounds of
    the errors scaled by the powers; any choice of the first two is sound.
    """
    own = A.diagonal()
    diagonal = own - a2
    need(np.isfinite(diagonal).all() and (diagonal > 0).all(), "a diagonal entry is too small")
    exponents = np.rint(-0.5 * np.log2(diagonal)) if A.scaled else np.zeros(A.n)
    need((np.abs(exponents) <= LARGEST_EXPONENT).all(), "the diagonal spreads too far")
    D = np.ldexp(1.0, exponents.astype(np.int32))
    s = np.sqrt(diagonal) * D
    errors = A.errors(D, products)
    rough = gamma(A.n + 2) * s * s.sum() + errors + 4 * U * (abs(a2) + np.abs(own)) * D * D
    c = float(1.21 * rough.max() + 70 * A.n * U * s.max() ** 2)
    need(math.isfinite(c), "the bound of the errors is not finite")
    return _Shifted(A, a2, D, c), errors


def _ranges(n: int) -> list[tuple[int, int]]:
    return [(start, min(n, start + STRIP)) for start in range(0, n, STRIP)]


def _filled(matrix: _Shifted, products: Products) -> tuple[Floats, Floats]:
    """The scaled and shifted matrix (of the strips up to their ends), and the diagonal of A."""
    n, source = matrix.A.n, matrix.A.strips(products)
    T, diagonal = np.empty((n, n)), np.zeros(n)
    for start, end in _ranges(n):
        block = source.strip(start, end)
        here = np.arange(end - start)
        diagonal[start:end] = block[here, here + start]
        matrix.fill(T[start:end, :end], block, start)
    return T, diagonal


def _factor(T: Floats, products: Products) -> tuple[Floats, Floats]:
    """Overwrite the lower triangle of T with some L, and return the row sums of |T - L L^T| as
    computed and at least |L| |L|^T 1.

    The product with the columns that are finished is needed to go on, and is a part of L L^T that
    is final: so L L^T costs little beside the factorization.
    """
    n = len(T)
    rows, sizes, gram = np.zeros(n), np.zeros(n), LowerGram(n, products)
    for start in range(0, n, BLOCK):
        end = min(n, start + BLOCK)
        G = tiled(T[start:, :start], T[start:end, :start].T)
        L, last = _columns(T[start:, start:end] - G)
        G += last
        _add_sums_of_columns(rows, np.abs(T[start:, start:end] - G), start)
        T[start:, start:end] = L
        gram.confirm(T[start:end, :end], G)
        L = np.abs(L, out=L)
        sizes[start:] += np.einsum("ij,j->i", L, up(L.sum(axis=0), n))
    return rows, up(sizes, 2 * n)


def _columns(S: Floats) -> tuple[Floats, Floats]:
    """Columns L of a Cholesky factor from those of the matrix that is left, from the diagonal
    downwards, and L L_0^T, near S, L_0 being the square on top: zero above its diagonal, whoever
    makes it.
    """
    m = S.shape[1]
    top = np.tril(np.asarray(np.linalg.cholesky(S[:m]), np.float64))
    inverse = np.linalg.inv(top).T
    L = np.empty_like(S)
    L[:m], L[m:] = top, S[m:] @ inverse
    product = tiled(L, top.T)
    missing = S[m:] - product[m:]
    if np.abs(missing).max(initial=0.0) <= NEAR * S.diagonal().max():
        return L, product
    L[m:] += missing @ inverse
    return L, tiled(L, top.T)


def _add_sums_of_columns(rows: Floats, H: Floats, start: int) -> None:
    """Add what some columns of the lower triangle of a symmetric matrix, from the diagonal
    downwards, give to its row sums.
    """
    end = start + H.shape[1]
    corner, below = np.tril(H[: end - start]), H[end - start :]
    rows[start:end] += corner.sum(axis=1) + np.tril(corner, -1).sum(axis=0)
    rows[start:end] += below.sum(axis=0)
    rows[end:] += below.sum(axis=1)


def _add_row_sums(rows: Floats, H: Floats, start: int) -> None:
    """Add what a strip of the lower triangle of a symmetric matrix gives to its row sums."""
    end, left, corner = start + len(H), H[:, :start], np.tril(H[:, start:])
    rows[start:end] += left.sum(axis=1) + corner.sum(axis=1)
    rows[:start] += left.sum(axis=0)
    rows[start:end] += np.tril(corner, -1).sum(axis=0)


def row_sums_up(A: Enclosure, products: Products) -> Floats:
    """At least the sums of absolute values of the rows of the real matrix."""
    rows, source = np.zeros(A.n), A.strips(products)
    for start, end in _ranges(A.n):
        _add_row_sums(rows, np.abs(source.strip(start, end)), start)
    return up(up(rows, A.n + STRIP) + A.errors(np.ones(A.n), products), 2)


class GramMatrix:
    """sign (B B^T o X X^T [+ Q Q^T]) with the radii of K1, never held as a whole."""

    scaled = True

    def __init__(
        self,
        X: Floats,
        B: Floats,
        dB: Floats,
        head: tuple[Floats, Floats] | None = None,
        *,
        sign: int = 1,
    ) -> None:
        self.X, self.B, self.dB, self.head, self.sign = X, B, dB, head, sign
        self.n = len(X)

    def diagonal(self) -> Floats:
        """The diagonal, up to rounding."""
        K = np.einsum("il,il->i", self.B, self.B) * np.einsum("ia,ia->i", self.X, self.X)
        if self.head is not None:
            K = K + np.einsum("il,il->i", self.head[0], self.head[0])
        return self.sign * K

    def strips(self, products: Products | None) -> _GramStrips:
        """Strips of products of the factors."""
        return _GramStrips(self, products)

    def errors(self, D: Floats, products: Products) -> Floats:
        """K1 and B6: sums over j of D_i |K - Kh|_ij D_j."""
        sizes, dB, X = np.abs(self.B), self.dB, np.abs(self.X)
        g = gamma(self.B.shape[1] + X.shape[1] + 2)
        own = up(g * sizes + dB, 2)
        result = self._sums(sizes, own, X, D, products)
        if dB.any():
            result = result + self._sums(dB, up(sizes + dB), X, D, products)
        if self.head is not None:
            Q, dQ = self.head
            result = result + 2 * U * self._sums(sizes, sizes, X, D, products)
            g = gamma(Q.shape[1] + 2) + 2 * U
            result = result + _plain_sums(np.abs(Q), up(g * np.abs(Q) + dQ, 2), D)
            result = result + _plain_sums(dQ, up(np.abs(Q) + dQ), D)
        return up(up(result, 8) * D + UPS * D * up(D.sum(), self.n), 8)

    @staticmethod
    def _sums(P: Floats, R: Floats, X: Floats, D: Floats, products: Products) -> Floats:
        """At least (P R^T o X X^T) D, for matrices without negative entries."""
        inner = products.upper(up(R * D[:, None]).T, X)
        return up(np.einsum("il,il->i", P, products.upper(X, inner.T)), P.shape[1] + 1)


def _plain_sums(P: Floats, R: Floats, D: Floats) -> Floats:
    """At least P R^T D, for matrices without negative entries."""
    inner = up(np.einsum("il,i->l", R, D), len(R))
    return up(np.einsum("il,l->i", P, inner), P.shape[1])


class _GramStrips:
    """The strips of a `GramMatrix`."""

    def __init__(self, gram: GramMatrix, products: Products | None) -> None:
        self.sign = gram.sign
        self.factors = [gram.B, gram.X] + ([gram.head[0]] if gram.head is not None else [])
        self.confirmed = products and [SymmetricStrips(A, products) for A in self.factors]

    def strip(self, start: int, end: int) -> Floats:
        """Rows start to end, columns up to end."""
        if self.confirmed:
            parts = [source.strip(start, end) for source in self.confirmed]
        else:
            parts = [symmetric_strip(A, start, end) for A in self.factors]
        K = parts[0]
        K *= parts[1]
        if len(parts) > 2:
            K += parts[2]
        return -K if self.sign < 0 else K
