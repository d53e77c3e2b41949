"""The sums over the rows of a shard that an additive network needs, bin by bin, in exact integers
(`spec/claims/additive-stream-gap.md`, K10).

In a bin the network is a linear function of the column, but for the neurons that have their kink in
it; both are worked out once, before the rows are read.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from operator import mul

from globalmin_check.claims.additive_network import AdditiveStream
from globalmin_check.claims.shard_rows import Column, integers, scaled


@dataclass(frozen=True)
class Curve:
    """What a column adds to the network, bin by bin: slope and constant of the neurons that are
    active in the whole bin, and weight, bias and head of those with a kink in it; all integers,
    slopes and constants over 2^exponent, weights and heads over powers that multiply to it.
    """

    edges: list[float]
    slopes: list[int]
    constants: list[int]
    bent: dict[int, list[tuple[int, int, int]]]
    exponent: int

    def place(self, raw: float) -> int:
        """The bin of a raw number; -1 if it is in none."""
        if raw == self.edges[-1]:
            return len(self.slopes) - 1
        found = bisect_right(self.edges, raw) - 1
        return found if found < len(self.slopes) else -1

    def values(self, places: Sequence[int], x: Column) -> list[int]:
        """What the rows get, over 2^(exponent + that of x)."""
        slopes, constants, up = self.slopes, self.constants, x.exponent
        found = [
            slopes[k] * value + (constants[k] << up)
            for k, value in zip(places, x.values, strict=True)
        ]
        if self.bent:
            for i, (k, value) in enumerate(zip(places, x.values, strict=True)):
                for w, bias, v in self.bent.get(k, ()):
                    found[i] += v * max(w * value + (bias << up), 0)
        return found


def curve_of(stream: AdditiveStream, column: int, edges: list[float]) -> Curve:
    """The curve of a column."""
    d, k = stream.sizes.d, stream.sizes.k
    inner = integers([*stream.W.values[column::d], *stream.biases.values])
    heads = integers(stream.v.values)
    seen = [
        (w, bias, v)
        for w, bias, v in zip(inner.values[:k], inner.values[k:], heads.values, strict=True)
        if w
    ]
    shift, scale = (Fraction(part.values[column]) for part in (stream.X, stream.y))
    z = [(Fraction(edge) - shift) * scale for edge in edges]
    slopes, constants = [0] * (len(edges) - 1), [0] * (len(edges) - 1)
    bent: dict[int, list[tuple[int, int, int]]] = {}
    for w, bias, v in seen:
        signs = [w * p + bias >= 0 for p in z]
        for bin_, (left, right) in enumerate(pairwise(signs)):
            if left and right:
                slopes[bin_] += v * w
                constants[bin_] += v * bias
            elif left or right:
                bent.setdefault(bin_, []).append((w, bias, v))
    return Curve(edges, slopes, constants, bent, inner.exponent + heads.exponent)


class BinSums:
    """Of one column: the numbers of rows, and the sums of r, r x and r^2 in every bin, as integers
    over powers of two that grow with the rows.
    """

    def __init__(self, size: int) -> None:
        self.counts, self.r, self.rx, self.rr = ([0] * size for _ in range(4))
        self.exponent = 0  # of x

    def lift(self, x: int, r: int) -> None:
        """Multiply the sums for the powers of two of x and r that are needed more."""
        self.exponent += x
        self.r = [value << r for value in self.r]
        self.rx = [value << r + x for value in self.rx]
        self.rr = [value << 2 * r for value in self.rr]

    def add(self, places: list[int], x: list[int], r: list[int], squares: list[int]) -> None:
        """Rows with the powers of two that the sums have."""
        counts, sums, moved, whole = self.counts, self.r, self.rx, self.rr
        for k, value, residual, square in zip(places, x, r, squares, strict=True):
            counts[k] += 1
            sums[k] += residual
            moved[k] += residual * value
            whole[k] += square


class AdditiveSums:
    """All sums of a shard; `outside` counts numbers that lie in no bin."""

    def __init__(self, stream: AdditiveStream, curves: list[Curve]) -> None:
        self._stream, self._curves = stream, curves
        self.bins = [BinSums(len(curve.slopes)) for curve in curves]
        self.exponent = 0  # of r
        self.outside = 0
        self.squares, self.products, self.residuals, self.labels = (Fraction(0) for _ in range(4))
        neurons = zip(stream.W.rows(), stream.biases.values, stream.v.values, strict=True)
        # with the intercept; a neuron that sees no column is a constant
        self._constant = sum(
            (
                Fraction(v) * max(Fraction(bias), Fraction(0))
                for weights, bias, v in neurons
                if not any(weights)
            ),
            Fraction(stream.intercept.values[0]),
        )

    def add(self, block: array) -> None:
        """Add the sums of a block of rows."""
        stream, width = self._stream, self._stream.width
        raw = [block[j::width] for j in range(width)]
        scale = zip(raw, stream.X.values, stream.y.values, strict=True)
        *columns, label = (scaled(*one) for one in scale)
        places = [
            list(map(curve.place, values)) for curve, values in zip(self._curves, raw, strict=False)
        ]
        self.outside += sum(found.count(-1) for found in places)
        if self.outside:
            return
        r = self._residuals(places, columns, label)
        squares = list(map(mul, r, r))
        for sums, found, column in zip(self.bins, places, columns, strict=True):
            more = max(column.exponent - sums.exponent, 0)
            if more:
                sums.lift(more, 0)
            up = sums.exponent - column.exponent
            sums.add(found, [value << up for value in column.values], r, squares)
        below = self.exponent
        self.squares += Fraction(sum(squares), 1 << 2 * below)
        self.residuals += Fraction(sum(r), 1 << below)
        self.products += Fraction(sum(map(mul, r, label.values)), 1 << below + label.exponent)
        self.labels += Fraction(sum(label.values), 1 << label.exponent)

    def _residuals(
        self, places: list[list[int]], columns: list[Column], label: Column
    ) -> list[int]:
        """F - y of every row over 2^`exponent`, which may have to grow."""
        own = self._constant.denominator.bit_length() - 1
        below = [
            curve.exponent + column.exponent
            for curve, column in zip(self._curves, columns, strict=True)
        ]
        more = max(*below, label.exponent, own, self.exponent) - self.exponent
        if more:
            self.exponent += more
            for sums in self.bins:
                sums.lift(0, more)
        unit = self.exponent
        first, up = self._constant.numerator << unit - own, unit - label.exponent
        r = [first - (value << up) for value in label.values]
        for curve, found, column, exponent in zip(
            self._curves, places, columns, below, strict=True
        ):
            up = unit - exponent
            values = curve.values(found, column)
            r = [total + (value << up) for total, value in zip(r, values, strict=True)]
        return r
