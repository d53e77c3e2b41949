r"""Witnesses of positive definiteness (primitive P1): a square C with $\|C A C^T - I\|_F < 1$
proves A > 0; and the matrices of balls (python-flint) that reach far beyond double precision.

C is the inverse of a Cholesky factor of A. In doubles this reaches condition numbers near 1e11;
beyond, C is improved by factoring $T = C A C^T$, formed at high precision, and replacing C by
(inverse factor of T) C, up to condition numbers near 1e28.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
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


EPS = float(np.finfo(np.float64).eps)
RESIDUAL_LIMIT = 0.1  # P1 needs < 1; the rest of the room is for what floats do not see
# the claimed eigenvalue bound stays at least this fraction below the eigenvalue, so that C stays
# moderate
_GAP = 1e-5
_GAP_BY_STEPS = 5e-5  # the same where the eigenvalue is known to five digits only
_LARGEST_GAP = 0.1
_PRECISE_GAP = 1e-2
_SHIFT_FOR_NOISE = (
    40.0  # gap over noise that keeps the contribution of rounding to the residual of P1 below 1/40
)
_ROUNDS = 6
ALL_EIGENVALUES = 128  # up to this order all eigenvalues are computed, which takes a millisecond
PRECISE_ROWS_LIMIT = 1500  # the balls of larger matrices would not fit the memory promised


class NotPositiveDefiniteError(ArithmeticError):
    """No witness was found; the message says how far the matrix is from positive definite."""


@dataclass(frozen=True)
class Gram:
    """A Gram matrix in floats, the estimated norm of its rounding error, and the recipe for the
    same matrix as balls.
    """

    values: Array = field(repr=False)
    rounding: float
    make_precise: Callable[[], BallMatrix] = field(repr=False)

    @cached_property
    def extremes(self) -> tuple[float, float]:
        """Smallest and largest eigenvalue in floats; infinite if the matrix overflows."""
        if not np.isfinite(self.values).all():
            return -math.inf, math.inf
        if len(self.values) > ALL_EIGENVALUES and self.factor is not None:
            from globalmin.linalg.spectrum import extremes_by_iteration

            found = extremes_by_iteration(self.values, self.factor)
            if found is not None:
                return found
        eigenvalues = np.linalg.eigvalsh(self.values)
        return float(eigenvalues[0]), float(eigenvalues[-1])

    @cached_property
    def lowest(self) -> float:
        """Smallest eigenvalue to five digits; of a large matrix at a part of the price of both
        extremes.
        """
        if math.isfinite(self.norm) and len(self.values) > ALL_EIGENVALUES:
            from globalmin.linalg.spectrum import lowest_by_iteration

            found = None if self.factor is None else lowest_by_iteration(self.factor)
            if found is not None:
                return found
        return self.extremes[0]

    @cached_property
    def highest(self) -> float:
        """Largest eigenvalue to seven digits, of a large matrix without the smallest one."""
        if math.isfinite(self.norm) and len(self.values) > ALL_EIGENVALUES:
            from globalmin.linalg.spectrum import highest_by_iteration

            found = highest_by_iteration(self.values)
            if found is not None:
                return found
        return self.extremes[1]

    @cached_property
    def norm(self) -> float:
        """Frobenius norm: at least the largest eigenvalue, and cheap."""
        return float(np.linalg.norm(self.values))

    @cached_property
    def factor(self) -> Array | None:
        """The lower Cholesky factor in floats; None if there is none."""
        from scipy.linalg import LinAlgError, cholesky

        try:
            # of the transpose, which is the same matrix in the order that LAPACK reads
            return cholesky(self.values.T, lower=True, check_finite=False)
        except LinAlgError:
            return None

    @property
    def noise(self) -> float:
        """Estimated error of an eigenvalue: rounding of the entries plus rounding of the eigenvalue
        routine.
        """
        return self.rounding + self.values.shape[0] * EPS * max(self.extremes[1], 0.0)

    @cached_property
    def precise(self) -> BallMatrix:
        """The same matrix as balls."""
        return self.make_precise()


@dataclass(frozen=True)
class LowerWitness:
    """`bound` < lambda_min(A) and the factor C that proves it; C is empty where the checker needs
    none.

    `inverse_factor` is set when doubles were not enough: the refined C_0 with C_0 A C_0^T = I
    nearly, good for solving with A.
    """

    bound: float
    C: Array = field(repr=False)
    inverse_factor: Array | None = field(default=None, repr=False)


def lower_witness(
    gram: Gram, *, largest_gap: float = _LARGEST_GAP, precise_gap: float = _PRECISE_GAP
) -> LowerWitness:
    """A bound just below the smallest eigenvalue, with its witness; NotPositiveDefiniteError with
    the measured eigenvalue.

    Doubles are used if they give the bound within `largest_gap` of the eigenvalue, else high
    precision within `precise_gap`.
    """
    low, high = gram.extremes
    if not np.isfinite(high):
        raise NotPositiveDefiniteError("the Gram matrix overflows")
    gap = max(_GAP * low, _SHIFT_FOR_NOISE * gram.noise)
    if gap <= largest_gap * low:
        bound = low - gap
        C = inverse_factor(_minus_shift(gram.values, bound))
        # ||C||^2 = 1/gap, so the rounding of the entries contributes at most noise/gap to the
        # residual of P1
        if (
            C is not None
            and _residual(C, _minus_shift(gram.values, bound)) + gram.noise / gap < RESIDUAL_LIMIT
        ):
            return LowerWitness(bound, C)
    return _precise_lower_witness(gram, precise_gap)


def shift_without_witness(gram: Gram, terms: int) -> LowerWitness | None:
    """A number below the smallest eigenvalue, as floats see it, that the checker can prove without
    a stored C (PD-R of its fast route); None if it would not.

    Its proof compares A with L L^T up to about 1.5 n^2 u max A_ii and the rounding of A, a sum of
    `terms` products; three times that is left.
    """
    A, low = gram.values, gram.lowest
    n = len(A)
    room = (1.5 * n + 80 + 4 * terms) * n * EPS / 2 * float(A.diagonal().max())
    gap = max(_GAP_BY_STEPS * low, 3.0 * room)
    return LowerWitness(low - gap, np.empty((0, 0))) if gap <= _LARGEST_GAP * low else None


def upper_witness(
    A: Array, *, relative_gap: float = 1e-6, floor: float = 2.0**-200, uncertain: float = 0.0
) -> tuple[float, Array]:
    """(bound, C): bound just above the largest eigenvalue of A, and C proving bound I - A > 0;
    floats suffice here.

    The gap covers the rounding of A and the rounding up of the checker's table of suprema (relative
    1e-7).

    Parameters
    ----------
    A : symmetric matrix, in no direction below the one the checker will form.
    relative_gap : of the bound above the eigenvalue.
    floor : least bound.
    uncertain : Frobenius norm of what A may be above the checker's matrix. The residual of P1 then
        moves by at most this over the gap, which is kept four times as large.
    """
    if not np.isfinite(A).all():
        raise NotPositiveDefiniteError(
            "a bound of the Jacobian or of its Lipschitz constant overflows; scale the data"
        )
    high = max(float(np.linalg.eigvalsh(A)[-1]), 0.0)
    bound = max(high + max(relative_gap * high, 4.0 * uncertain), floor)
    C = inverse_factor(bound * np.eye(A.shape[0]) - A)
    if C is None:
        raise NotPositiveDefiniteError(
            f"no witness for the upper bound {bound:.6g} of the largest eigenvalue {high:.6g}"
        )
    return bound, C


def inverse_factor(A: Array) -> Array | None:
    """Inverse of the lower Cholesky factor of A, or None if A is not positive definite in
    floats.
    """
    from scipy.linalg import LinAlgError, cholesky, get_lapack_funcs

    try:
        L = cholesky(A, lower=True, check_finite=False)
    except LinAlgError:
        return None
    (invert,) = get_lapack_funcs(("trtri",), (L,))
    C, info = invert(L, lower=1)
    return np.ascontiguousarray(np.tril(C)) if info == 0 and np.isfinite(C).all() else None


def _minus_shift(A: Array, shift: float) -> Array:
    shifted = A.copy()
    shifted[np.diag_indices_from(shifted)] -= shift
    return shifted


def _residual(C: Array, A: Array) -> float:
    """||C A C^T - I||_F in floats."""
    T = C @ A @ C.T
    T[np.diag_indices_from(T)] -= 1.0
    return float(np.linalg.norm(T))


def _precise_lower_witness(gram: Gram, precise_gap: float) -> LowerWitness:
    low, high = gram.extremes
    n = gram.values.shape[0]
    if n > PRECISE_ROWS_LIMIT:
        raise NotPositiveDefiniteError(
            f"smallest eigenvalue {low:.3g} of largest {high:.3g}: beyond double precision, and n "
            f"= {n} is too large for more"
        )
    start = inverse_factor(_minus_shift(gram.values, -_shift(gram.values, gram.noise)))
    # a residual of delta moves the eigenvalue by a share of delta; at condition 1e28 a factor of
    # doubles leaves .001 to .002, depending on the machine
    unshifted = None if start is None else _refine(gram.precise, 0.0, start, limit=precise_gap / 4)
    if unshifted is None:
        raise NotPositiveDefiniteError(
            f"smallest eigenvalue {low:.3g} of largest {high:.3g}: singular or indefinite"
        )
    smallest = (1.0 / float(np.linalg.norm(unshifted, 2))) ** 2  # A^-1 = C^T C up to the residual
    bound = (1.0 - precise_gap) * smallest
    if not bound > 0.0:
        raise NotPositiveDefiniteError(
            f"smallest eigenvalue {smallest:.3g} of largest {high:.3g}: below the range of doubles"
        )
    C = _refine(gram.precise, bound, unshifted, limit=RESIDUAL_LIMIT)
    if C is None:
        raise NotPositiveDefiniteError(
            f"smallest eigenvalue {smallest:.3g} of largest {high:.3g}: no witness at {bound:.3g}"
        )
    return LowerWitness(bound, C, unshifted)


def _shift(A: Array, noise: float) -> float:
    low = float(np.linalg.eigvalsh(A)[0])
    return 2.0 * max(noise, -low)


def _refine(A: BallMatrix, shift: float, C: Array, *, limit: float) -> Array | None:
    """Improve C until ||C (A - shift I) C^T - I||_F is below the limit; None if the matrix proves
    not positive definite.
    """
    for _ in range(_ROUNDS):
        T = _congruent(A, shift, C)
        distance = float(np.linalg.norm(T - np.eye(len(T))))
        if distance < limit:
            return C
        factor = inverse_factor(T)
        if (
            factor is None
        ):  # T is singular to double precision: factor it shifted, the next round sees the rest
            factor = inverse_factor(
                _minus_shift(T, -_shift(T, len(T) * EPS * float(np.linalg.norm(T, 2))))
            )
        if factor is None:
            return None
        C = np.tril(factor @ C)
        if not np.isfinite(C).all():
            return None
    return None


def _congruent(A: BallMatrix, shift: float, C: Array) -> Array:
    with working_precision():
        balls = ball_matrix(C)
        T = balls * A * balls.transpose()
        if shift:
            T = T - shift * (balls * balls.transpose())
        values = to_floats(T)
    return (values + values.T) / 2.0
