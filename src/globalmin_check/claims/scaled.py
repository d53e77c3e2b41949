"""Exact numbers with one denominator, so that sums over thousands of rows are sums of integers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import compress, count


@dataclass(frozen=True)
class Scaled:
    """Exact numbers with one denominator: number i is values[i]/unit."""

    values: list[int]
    unit: int

    @property
    def bits(self) -> int:
        """The length of the longest integer."""
        return max(self.unit, *map(abs, self.values)).bit_length()

    @cached_property
    def places(self) -> list[int] | None:
        """Where the numbers are not zero; None unless at most an eighth of them are."""
        found = list(compress(count(), self.values))
        return found if 8 * len(found) <= len(self.values) else None

    def total(self) -> Fraction:
        """The sum."""
        return Fraction(sum(self.values), self.unit)

    def over(self, unit: int) -> list[int]:
        """The integers over a multiple of the unit."""
        factor = unit // self.unit
        return self.values if factor == 1 else [value * factor for value in self.values]


def scaled(numbers: Iterable[float]) -> Scaled:
    """Doubles over their least common power of two."""
    ratios = [number.as_integer_ratio() for number in numbers]
    length = max(q.bit_length() for _, q in ratios)
    return Scaled([p << length - q.bit_length() for p, q in ratios], 1 << length - 1)
