"""R4-free in rationals, by the definition: the second checker of the constraint "slabs"."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from tests.oracles.definiteness import witnessed_exactly
from tests.oracles.fraction_dual import dot

if TYPE_CHECKING:
    from tests.oracles.fraction_regularized import RegularizedFile


def slab_checks(
    file: RegularizedFile, fields: dict[str, Any], found: dict[str, Any], u: list[Fraction]
) -> Iterator[tuple[str, bool]]:
    """Y14, Y9 and Y10 of R4-free, one slab and sign after the other."""
    center = found["center"].numbers()
    rows = [
        [*(x - m for x, m in zip(row, center, strict=True)), Fraction(1)]
        for row in file.group_rows(file.network["groups"][0])
    ]
    squares = [dot(z, z) - 1 for z in rows]
    ends = fields["slabs"]
    farthest = max(squares)
    yield "Y14", ends[0] < 0 < ends[-1] and farthest <= min(ends[0] ** 2, ends[-1] ** 2)
    yield "Y14", all(ends[j] < ends[j + 1] for j in range(len(ends) - 1))
    for name, sign in (("plus", 1), ("minus", -1)):
        if f"gamma_{name}" not in fields:
            continue
        for j in range(len(ends) - 1):
            delta = fields[f"delta_{name}"][j]
            yield "Y14", delta >= 0
            slopes = tuple(found[role].rows()[j] for role in ("rho", "sig", "al", "be"))
            e, f = ends[j], ends[j + 1]
            lines = [
                _slab_line(sign * x, squares[i], (e, f), tuple(s[i] for s in slopes))
                for i, x in enumerate(u)
            ]
            yield "Y9", None not in lines
            if None in lines:
                return
            multipliers = fields[f"gamma_{name}"][j], delta
            matrix = _slab_matrix(rows, lines, multipliers, (e, f), file.network["b"])
            yield "Y10", witnessed_exactly(matrix, found[f"C_{name}_{j}"].rows())


def _slab_matrix(
    rows: list[list[Fraction]],
    lines: list[Any],
    multipliers: tuple[Fraction, Fraction],
    ends: tuple[Fraction, Fraction],
    b: Fraction,
) -> list[list[Fraction]]:
    """b + gamma (|w|^2 - 1) + delta (beta - e)(beta - f) - the sum of the lines, as a form in
    (w, beta, 1).
    """
    size, (gamma, delta), (e, f) = len(rows[0]), multipliers, ends
    matrix = [[Fraction(0)] * (size + 1) for _ in range(size + 1)]
    for p in range(size - 1):
        matrix[p][p] += gamma
    matrix[size - 1][size - 1] += delta
    matrix[size - 1][size] -= delta * (e + f) / 2
    matrix[size][size - 1] -= delta * (e + f) / 2
    matrix[size][size] += b - gamma + delta * e * f
    for z, (curve, slant, rest) in zip(rows, lines, strict=True):
        for p in range(size):
            for q in range(size):
                matrix[p][q] -= curve * z[p] * z[q]
            matrix[p][size] -= slant * z[p] / 2
            matrix[size][p] -= slant * z[p] / 2
        matrix[size][size] -= rest
    return matrix


def _slab_line(
    value: Fraction,
    square: Fraction,
    ends: tuple[Fraction, Fraction],
    slopes: tuple[Fraction, ...],
) -> tuple[Fraction, Fraction, Fraction] | None:
    """Value relu(t) <= curve t^2 + slant t + rest for every t that occurs; None if not shown."""
    (e, f), (rho, sig, al, be), zero = ends, slopes, Fraction(0)
    if value == 0:
        return zero, zero, zero
    if value < 0:
        above, below = 1 - al - be * f, al + be * e
        fit = 0 <= al <= 1 and be >= 0 and above >= 0 and below >= 0
        fit = fit and be**2 * square <= above**2 and be**2 * square <= below**2
        return (value * be, value * al, zero) if fit else None
    if rho != 0:
        fit = rho > 0 and 4 * sig * rho >= 1
        return (value * rho / 2, value / 2, value * sig / 2) if fit else None
    if e >= 0 and square <= e * e:
        return zero, value, zero
    return (zero, zero, zero) if f <= 0 and square <= f * f else None
