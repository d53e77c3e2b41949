"""Shapes of curves by the slow road: the sums of R7 (b) as a longer list of rows, and the shapes of
the stored network from values of its curves between and outside of all kinks.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from tests.oracles.fraction_dual import neuron_sum, one_column_square
from tests.oracles.regularized_grammar import RegularizedFile, Row
from tests.oracles.strict_container import Tensor

Check = tuple[str, bool | None]
ZERO = Fraction(0)


def multipliers(file: RegularizedFile, found: dict[str, Tensor]) -> dict[int, Row]:
    """The row of `rho` of every column that has one."""
    rising = [
        j for j, word in enumerate(file.network["shapes"]) if word in ("increasing", "decreasing")
    ]
    flat, n = found["rho"].numbers() if rising else [], len(file.X)
    return {j: flat[r * n : (r + 1) * n] for r, j in enumerate(rising)}


def shape_checks(file: RegularizedFile, found: dict[str, Tensor]) -> Iterator[Check]:
    """Y15 and Y16."""
    for j, rho in multipliers(file, found).items():
        column = [row[j] for row in file.X]
        tops = [r for r, z in zip(rho, column, strict=True) if z == max(column)]
        yield "Y15", min(rho) >= 0 and not any(tops)
    for j, word in enumerate(file.network["shapes"]):
        yield "Y16", word == "none" or _is_shaped(file, j, word)


def _is_shaped(file: RegularizedFile, j: int, word: str) -> bool:
    parts = [
        (row[j], file.tau * beta, v) for row, beta, v in zip(file.W, file.bias, file.v, strict=True)
    ]
    parts = [part for part in parts if part[0]]
    if not parts:
        return True

    def f(t: Fraction) -> Fraction:
        return sum((v * max(w * t + beta, ZERO) for w, beta, v in parts), ZERO)

    kinks = sorted({-beta / w for w, beta, _ in parts})
    places = [kinks[0] - 2, kinks[0] - 1]
    for a, b in pairwise(kinks):
        places += [a + (b - a) / 3, a + 2 * (b - a) / 3]
    places += [kinks[-1] + 1, kinks[-1] + 2]
    slopes = [(f(b) - f(a)) / (b - a) for a, b in zip(places[::2], places[1::2], strict=True)]
    bends = [b - a for a, b in pairwise(slopes)]
    return {
        "increasing": min(slopes) >= 0,
        "decreasing": max(slopes) <= 0,
        "convex": min(bends, default=ZERO) >= 0,
        "concave": max(bends, default=ZERO) <= 0,
    }[word]


def curve_holds(
    file: RegularizedFile, column: int, u: Row, bound: Fraction, found: dict[str, Tensor]
) -> bool:
    """The condition of R7 (b) on one column with a shape or without."""
    return all(square <= bound**2 for square in needed_squares(file, column, u, found))


def needed_squares(
    file: RegularizedFile, column: int, u: Row, found: dict[str, Tensor]
) -> Iterator[Fraction]:
    """The squares that have to be at most b^2."""
    word = file.network["shapes"][column]
    values = [row[column] for row in file.X]
    if word in ("decreasing", "concave"):
        u = [-x for x in u]
    rho = multipliers(file, found).get(column)
    if rho is not None:
        places = sorted(set(values))
        after = dict(pairwise(places))
        pairs = [(z, r) for z, r in zip(values, rho, strict=True) if z in after]
        values = values + [z for z, _ in pairs] + [after[z] for z, _ in pairs]
        u = u + [r for _, r in pairs] + [-r for _, r in pairs]
    signs = (-1,) if word in ("convex", "concave") else (1, -1)
    for half in (1, -1):
        for sign in signs:
            yield _square(file, values, u, half, sign)
    if word in ("convex", "concave"):
        yield from _line_squares(file, values, u)


def _square(file: RegularizedFile, values: Row, u: Row, half: int, sign: int) -> Fraction:
    """The square of the largest sign * sum over the neurons that look to one half."""
    if file.network["hidden_bias"] == "penalized":
        return one_column_square(values, file.tau, u, half, sign)
    sums = (
        sign * sum((x * max(ZERO, half * (z - t)) for x, z in zip(u, values, strict=True)), ZERO)
        for t in set(values)
    )
    return max(ZERO, *sums) ** 2


def _line_squares(file: RegularizedFile, values: Row, u: Row) -> Iterator[Fraction]:
    """Lines, which cost 2, and constants."""
    if file.network["hidden_bias"] == "free":
        yield (sum((x * z for x, z in zip(u, values, strict=True)), ZERO) / 2) ** 2
        return
    rows = [(z, file.tau) for z in values]
    # a linear curve w . x is the difference of the neurons w and -w
    right, up = (
        neuron_sum(rows, u, w) - neuron_sum(rows, u, (-w[0], -w[1]))
        for w in ((Fraction(1), ZERO), (ZERO, Fraction(1)))
    )
    yield (right**2 + up**2) / 4
    yield up**2
