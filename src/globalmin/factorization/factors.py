"""Factors of a matrix as values: $U$ (m x r) and $V$ (n x r) with the product $UV^T$, a linear
network with one hidden layer; and the way from the span of a factor to that of the leading right
singular vectors of M.

In every round the span is enlarged by the residual directions $(I-Q)M^TMQ$ and by the last change,
and the best subspace of dimension r in it is kept (Rayleigh-Ritz through a singular value
decomposition of M on the enlarged basis: nothing is squared).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.references import states

# between these the squares and products of entries stay far from overflow and underflow
LARGEST, SMALLEST = 1e100, 1e-100


def checked_matrix(M: ArrayLike, name: str = "M") -> Array:
    """A read-only copy as finite float64 of moderate size; DataError names the argument
    otherwise.
    """
    value: Any = np.asarray(M)
    if value.dtype.kind not in "fiub":
        raise DataError(f"{name} has entries of type {value.dtype}; give a matrix of real numbers")
    exact = value.astype(np.float64)
    if value.dtype.kind in "iu" and not np.array_equal(exact.astype(value.dtype), value):
        raise DataError(
            f"{name} has integers beyond 2^53, which float64 would round; scale the matrix"
        )
    if exact.ndim != 2 or exact.size == 0:
        raise DataError(
            f"{name} has shape {exact.shape}; give a matrix with at least one row and one column"
        )
    if not np.isfinite(exact).all():
        row, column = np.argwhere(~np.isfinite(exact))[0]
        raise DataError(
            f"{name}[{row}, {column}] is {exact[row, column]}; every entry must be finite (no "
            "missing values)"
        )
    top = float(np.abs(exact).max())
    if top != 0.0 and not SMALLEST <= top <= LARGEST:
        raise DataError(
            f"{name} has a largest entry of {top:.3g}; scale it (by a power of two, exactly) to "
            "between 1e-100 and 1e100"
        )
    exact = np.ascontiguousarray(exact)
    exact.setflags(write=False)
    return exact


@states("DU-M4")
@dataclass(frozen=True, eq=False)
class Factors:
    """Two factors with the same number of columns, the rank r; the arrays are read-only copies."""

    U: Array
    V: Array

    def __init__(self, U: ArrayLike, V: ArrayLike) -> None:
        for name, value in (("U", U), ("V", V)):
            object.__setattr__(self, name, checked_matrix(value, name))
        if self.U.shape[1] != self.V.shape[1]:
            raise DataError(
                f"U has {self.U.shape[1]} columns and V has {self.V.shape[1]}; give factors of one "
                "rank"
            )

    @classmethod
    def initialize(
        cls, shape: tuple[int, int], rank: int, *, scale: float = 1e-3, seed: int = 0
    ) -> Factors:
        """Independent Gaussian entries with standard deviation `scale`."""
        if not (isinstance(rank, int | np.integer) and rank >= 1):
            raise DataError(f"rank={rank!r} is not a positive integer")
        if not (scale > 0.0 and np.isfinite(scale)):
            raise DataError(
                f"scale={scale!r} is not a positive number; zero factors are a saddle that no "
                "descent leaves"
            )
        rng = np.random.default_rng(seed)
        return cls(
            scale * rng.standard_normal((shape[0], rank)),
            scale * rng.standard_normal((shape[1], rank)),
        )

    @property
    def rank(self) -> int:
        """The number r of columns."""
        return self.U.shape[1]

    def product(self) -> Array:
        """The matrix U V^T."""
        return self.U @ self.V.T

    def balanced(self) -> Factors:
        """Factors of the same product with U^T U = V^T V (diagonal), up to rounding."""
        Qu, Ru = np.linalg.qr(self.U)
        Qv, Rv = np.linalg.qr(self.V)
        left, values, right = np.linalg.svd(Ru @ Rv.T)
        roots = np.sqrt(values)
        # qr of a wide factor has fewer columns than the rank: pad with zero columns
        small = roots.size
        U, V = np.zeros_like(self.U), np.zeros_like(self.V)
        U[:, :small], V[:, :small] = (
            (Qu @ left)[:, :small] * roots,
            (Qv @ right.T)[:, :small] * roots,
        )
        return Factors(U, V)

    def require_fit(self, M: Array) -> None:
        """DataError unless the product has the shape of M."""
        if (self.U.shape[0], self.V.shape[0]) != M.shape:
            raise DataError(
                f"U has {self.U.shape[0]} rows and V has {self.V.shape[0]}, but M has shape "
                f"{M.shape}; U V^T must have that shape"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Factors):
            return NotImplemented
        return np.array_equal(self.U, other.U) and np.array_equal(self.V, other.V)

    def __hash__(self) -> int:
        return hash((self.U.tobytes(), self.V.tobytes()))


EPS = float(np.finfo(np.float64).eps)
# below this relative residual three rounds without halving it mean that rounding has been reached
_ROUNDING = 1e-12
_PATIENCE = 30  # the same above it
# relative residual that counts as converged: the excess of the loss is of the order of its square
_SETTLED = 1e-9


@dataclass(frozen=True)
class Span:
    """An orthonormal basis Z (n x s, s <= r) with M Z = P diag(values); `leak` is |(I - Q) M^T M
    Q|/|M|^2 (estimate).
    """

    Z: Array = field(repr=False)
    P: Array = field(repr=False)
    values: Array
    leak: float
    sweeps: int
    settled: bool

    def factors(self, M: Array, rank: int) -> Factors:
        """Balanced factors with the product M Q, padded with zero columns if M has a smaller
        rank.
        """
        roots = np.sqrt(self.values)
        U, V = np.zeros((M.shape[0], rank)), np.zeros((M.shape[1], rank))
        U[:, : roots.size], V[:, : roots.size] = self.P * roots, self.Z * roots
        return Factors(U, V)


def improve_span(
    M: Array, factors: Factors, max_sweeps: int, report: Callable[[int, float], None]
) -> Span:
    """Rounds until the residual is at the level of rounding, or `max_sweeps`."""
    size = min(factors.rank, *M.shape)
    Z = _orthonormal(factors.V)[:, :size]
    Z, P, values = _ritz(M, Z, size)
    change, best, since, sweeps = np.empty((M.shape[1], 0)), None, 0, 0
    while True:
        rest = M.T @ (P * values) - Z * values**2
        rest -= Z @ (Z.T @ rest)
        leak = float(np.linalg.norm(rest)) / max(float(values[0]) ** 2, np.finfo(np.float64).tiny)
        report(sweeps, leak)
        if best is None or leak < best.leak:
            since = 0 if best is None or leak < 0.5 * best.leak else since + 1
            best = Span(Z, P, values, leak, sweeps, leak <= _SETTLED)
        else:
            since += 1
        idle = since >= (3 if best.leak <= _ROUNDING else _PATIENCE) and best.settled
        if leak <= EPS or idle or sweeps >= max_sweeps or Z.shape[1] == M.shape[1]:
            return Span(best.Z, best.P, best.values, best.leak, sweeps, best.settled)
        basis = _orthonormal(np.hstack([Z, _scaled(rest), _scaled(change)]))
        turned, P, values = _ritz(M, basis, size)
        change, Z, sweeps = turned - Z @ (Z.T @ turned), turned, sweeps + 1


def _ritz(M: Array, basis: Array, size: int) -> tuple[Array, Array, Array]:
    """The best `size` directions of a basis: right vectors, left vectors, singular values of M on
    it.
    """
    P, values, Wt = np.linalg.svd(M @ basis, full_matrices=False)
    return basis @ Wt[:size].T, P[:, :size], values[:size]


def _scaled(A: Array) -> Array:
    """Columns of length 1; zero columns are dropped."""
    lengths = np.linalg.norm(A, axis=0)
    keep = lengths > 0.0
    return A[:, keep] / lengths[keep]


def _orthonormal(A: Array) -> Array:
    """An orthonormal basis, twice for the sake of rounding; more columns than rows are cut."""
    Q, _ = np.linalg.qr(A)
    Q, _ = np.linalg.qr(Q)
    return Q
