"""P1 of `spec/claims/primitives.md`: a symmetric matrix A is positive definite if |C A C^T - I|_F <
1 for some square C.

C is any matrix, so the stored one may be rounded to integers first, and A may be replaced by
integers if the error is accounted for: with A = (H + E)/2^t, |E|_F <= eps and N = 2^s C integer, C
A C^T differs from (N H N^T)/2^(t+2s) by at most |N|_F^2 eps/2^(t+2s) in that norm. Integer products
are several times faster than ball products, and strips of rows save the zero half of a triangular C
and one half of the symmetric result. A is first scaled to D A D, D diagonal with powers of two, so
that its diagonal lies in [1, 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb, ctx, fmpz, fmpz_mat

from globalmin_check import limits
from globalmin_check.checks import Checks
from globalmin_check.container import Tensor
from globalmin_check.primitives import Rows, strips


def require_positive_definite(checks: Checks, number: str, name: str, A: Rows, C: Tensor) -> None:
    """Check that A, given by its lower triangle, is positive definite."""
    _require_residual(checks, number, name, _residual(A, C))


def require_shared(
    checks: Checks, number: str, name: str, A: Callable[[], Rows], C: Tensor, *, of: tuple
) -> None:
    """The same for a matrix that several claims of a file may ask about: equal `of` and C give the
    same residual, computed once.

    `of` says everything A is made of besides the stored network and data. A residual is shared at
    its own precision only.
    """
    key = (*of, ctx.prec, C.values.tobytes())
    if key not in checks.shared:
        checks.shared[key] = _residual(A(), C)
    _require_residual(checks, number, name, checks.shared[key])


def _require_residual(checks: Checks, number: str, name: str, residual: arb) -> None:
    if residual > 1 and not residual.is_finite():
        found = "it is not: a diagonal entry is not positive, or a 2 x 2 minor is negative"
        checks.require_outcome(number, f"P1: {name} is positive definite", False, found)
    checks.require(number, f"P1: |C ({name}) C^T - I|_F < 1", residual, "<", 1)


def _residual(A: Rows, C: Tensor) -> arb:
    """|C A C^T - I|_F, first with coarse integers, which is cheap and mostly enough, then with the
    whole precision.
    """
    residual = residual_norm(A, C, limits.FIRST_BITS)
    return residual if residual < 1 else residual_norm(A, C, ctx.prec)


def residual_norm(A: Rows, C: Tensor, bits: int) -> arb:
    """The ball of |C A C^T - I|_F for C rounded to `bits` bits; infinite if A is certainly not
    positive definite.
    """
    diagonal = [row[i] for i, row in enumerate(A)]
    if any(entry <= 0 for entry in diagonal):
        return arb("inf")
    exponents = [_exponent(entry) for entry in diagonal]
    if not all(entry > 0 for entry in diagonal) or max(map(abs, exponents)) > limits.EXPONENT:
        return arb("nan")
    t = bits - 2
    H, error = _integers(A, exponents, t)
    if not error < math.inf:
        return error
    N, s = _integer_witness(C, exponents, bits)
    residual, square = _products(H, N, t + 2 * s)
    return residual + arb(0, 1) * arb(square) * error * arb(2) ** (-2 * s - t)


def _exponent(entry: arb) -> int:
    """E such that the midpoint divided by 4^e lies in [1, 4); 0 for a ball without a finite
    midpoint.
    """
    if not entry.is_finite():
        return 0
    mantissa, exponent = entry.mid().man_exp()
    return (int(mantissa).bit_length() - 1 + int(exponent)) // 2


def _integers(A: Rows, exponents: list[int], t: int) -> tuple[list[list[fmpz]], arb]:
    """Lower triangle of the integer part of 2^t D A D, and a bound of the Frobenius norm of what
    was cut off.

    The bound is infinite if an entry is so large that a 2 x 2 minor of A is certainly negative, NaN
    if an entry is not known.
    """
    scales = [arb(2) ** -e for e in exponents]
    unit, limit = arb(2) ** t, fmpz(64) << t
    H: list[list[fmpz]] = []
    radius = 0.0
    for i, row in enumerate(A):
        factor = scales[i] * unit
        scaled = [
            entry * scale * factor for entry, scale in zip(row[: i + 1], scales, strict=False)
        ]
        radius = max(radius, *(float(entry.rad()) for entry in scaled))
        if not radius < math.ldexp(1.0, t) or not all(map(arb.is_finite, scaled)):
            return H, arb("nan")
        H.append([entry.mid().floor().fmpz() for entry in scaled])
        if max(H[i]) > limit or min(H[i]) < -limit:
            return H, arb("inf")
    return H, (arb(math.nextafter(radius, math.inf)) + 1) * len(A)


def _integer_witness(C: Tensor, exponents: list[int], bits: int) -> tuple[list[list[int]], int]:
    """N = 2^s C D^-1 rounded to integers of at most `bits` bits, and s."""
    bits = min(
        bits, 512
    )  # beyond this a double would overflow, and 512 bits are far more than C has
    m = len(exponents)
    tops = [math.frexp(max(map(abs, C.values[j::m])))[1] for j in range(m)]
    s = bits - max(map(int.__add__, tops, exponents))
    shifts = [e + s for e in exponents]
    return [list(map(int, map(math.ldexp, row, shifts))) for row in C.rows()], s


def _products(H: list[list[fmpz]], N: list[list[int]], shift: int) -> tuple[arb, fmpz]:
    """The Frobenius norm of (N H N^T)/2^shift - I, and the square of that of N."""
    square, witness_square = fmpz(0), fmpz(0)
    one, lift = fmpz(1) << max(shift, 0), fmpz(1) << max(-shift, 0)
    extent = 1
    for start, end in strips(len(H)):
        extent = max(extent, *(_extent(row) for row in N[start:end]))
        left = fmpz_mat([row[:extent] for row in N[start:end]])
        witness_square += _square(left.entries())
        right = fmpz_mat([row[:extent] for row in N[:end]]).transpose()
        for i, row in enumerate((left * _corner(H, extent) * right * lift).tolist()):
            row[start + i] -= one
            square += _square(row[start:]) + 2 * _square(row[:start])
    return arb(square).sqrt() * arb(2) ** -max(shift, 0), witness_square


def _square(entries: list[fmpz]) -> fmpz:
    return sum(map(fmpz.__mul__, entries, entries), fmpz(0))


def _extent(row: list[int]) -> int:
    """One more than the place of the last non-zero entry, at least 1."""
    return next((j + 1 for j in range(len(row) - 1, -1, -1) if row[j]), 1)


def _corner(H: list[list[fmpz]], size: int) -> fmpz_mat:
    """The leading square block of a symmetric matrix given by its lower triangle."""
    return fmpz_mat([H[i][: i + 1] + [H[j][i] for j in range(i + 1, size)] for i in range(size)])
