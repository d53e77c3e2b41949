r"""The oracle for curves with a shape (R7 (b) of the page): columns whose curve increases,
decreases, is convex or concave on the whole line.

Such curves are spanned by atoms of penalty 1: single neurons that have the shape, for increasing
curves also pairs $\mathrm{relu}(t - a) - \mathrm{relu}(t - b)$, $a < b$, for convex ones lines. All
is said of $G(t) = \sum_i u_i(x_i - t)_+$, which is linear between the values of the column, and
of the price $k(t) = |(1, t/\tau)|$ of a bend at t (1 for free biases); $\sum u = 0$. Decreasing and
concave curves are the others with $-u$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from globalmin._types import Array, Indices
from globalmin.regularized.columns import Candidates, ColumnOracle
from globalmin.regularized.objective import RISING, RegularizedProblem

# 1 where the curve itself is increasing or convex, -1 where its negative is
SIDE = {"increasing": 1.0, "decreasing": -1.0, "convex": 1.0, "concave": -1.0}
_MOST = 12  # atoms of one kind that a search adds for a column
_STEPS = 60  # of the iteration for a largest ratio, which converges faster than linearly


@dataclass(frozen=True, eq=False)
class Atoms:
    """Functions of one column each: the sum of two neurons with unit weights (A x 2 x 2) times
    their coefficients (A x 2, |.| summing to 1), and the sign the weight of the atom must have.
    """

    group: Indices
    weights: Array
    coefs: Array
    signs: Array

    @classmethod
    def none(cls) -> Atoms:
        """No atoms."""
        return cls(np.zeros(0, np.int64), np.zeros((0, 2, 2)), np.zeros((0, 2)), np.zeros(0))

    def and_also(self, other: Atoms) -> Atoms:
        """These and others."""
        return Atoms(
            np.r_[self.group, other.group],
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.coefs, other.coefs]),
            np.r_[self.signs, other.signs],
        )

    def of(self, chosen: Indices) -> Atoms:
        """Some of them."""
        return Atoms(
            self.group[chosen], self.weights[chosen], self.coefs[chosen], self.signs[chosen]
        )


@dataclass(frozen=True, eq=False)
class Cells:
    """Values V(t) = sign G(t) - price k(t) at their largest in each cell: before the first value,
    between neighbors, and after the last.
    """

    places: Array
    values: Array


@dataclass(frozen=True, eq=False)
class Curve:
    """One column with a shape.

    Attributes
    ----------
    shape : the word.
    z : its distinct values, sorted.
    inverse : for every row the number of its value.
    tau : the bias feature; infinite where biases cost nothing.
    """

    shape: str
    z: Array
    inverse: Indices
    tau: float

    @classmethod
    def of(cls, x: Array, shape: str, tau: float) -> Curve:
        """Sort the column."""
        z, inverse = np.unique(x, return_inverse=True)
        return cls(shape, z, inverse.ravel(), tau)

    @property
    def is_rising(self) -> bool:
        """Whether the curve is increasing or decreasing."""
        return self.shape in RISING

    def price(self, t: Array) -> Array:
        """What a bend at t costs, per unit of slope."""
        return np.hypot(1.0, t / self.tau)

    def price_at(self, t: float) -> float:
        """The same for one place."""
        return math.hypot(1.0, t / self.tau)

    def gains(self, u: Array) -> tuple[Array, Array]:
        """G at the values, for the side of the shape, and its slopes between them."""
        sums = SIDE[self.shape] * np.bincount(self.inverse, weights=u, minlength=self.z.size)
        slopes: Array = -np.cumsum(sums[::-1], dtype=np.float64)[::-1][1:]
        G = np.zeros(self.z.size)
        G[:-1] = np.cumsum((-slopes * np.diff(self.z))[::-1])[::-1]
        return G, slopes

    @cached_property
    def ends(self) -> tuple[Array, Array, Array]:
        """The two ends of every cell, and one of them that is finite."""
        low, high = np.append(-np.inf, self.z), np.append(self.z, np.inf)
        return low, high, np.append(self.z[0], self.z)

    def cells(self, G: Array, slopes: Array, sign: float, price: float) -> Cells:
        """The largest values of sign G - price k cell by cell."""
        low, high, start = self.ends
        slope = np.zeros(start.size)
        slope[1:-1] = sign * slopes
        if math.isinf(self.tau):
            t = np.where(slope > 0, high, low)
            t[0], t[-1] = self.z[0], self.z[-1]
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                q = np.clip(slope * self.tau / price, -1.0, 1.0) if price > 0 else np.sign(slope)
                t = self.tau * q / np.sqrt(1.0 - q * q)
            t = np.minimum(np.maximum(np.where(slope == 0.0, 0.0, t), low), high)
        values = slope * (t - start) - price * self.price(t)
        values[0] += sign * G[0]
        values[1:] += sign * G
        return Cells(t, values)

    def neuron(self, t: float, side: float) -> Array:
        """The unit weights of a neuron that looks right (1) or left (-1) from t."""
        if math.isinf(self.tau):
            return side * np.array([1.0, -t])
        return side * np.array([1.0, -t / self.tau]) / float(np.hypot(1.0, t / self.tau))


def _peaks(values: Array) -> Indices:
    """The positive local maxima (of a plateau the last), the largest first."""
    is_peak = values > 0
    if not is_peak.any():
        return np.zeros(0, np.int64)
    rises = values[1:] >= values[:-1]
    is_peak[1:] &= rises
    is_peak[:-1] &= ~rises
    found = np.flatnonzero(is_peak)
    return found[np.argsort(-values[found], kind="stable")][:_MOST]


def _earlier(up: Cells, down: Cells) -> tuple[Array, Indices]:
    """For every cell the largest value of `up` at a place before that of `down`, and its cell."""
    values = np.where(up.places < down.places, up.values, -np.inf)
    number, most = np.arange(values.size), np.maximum.accumulate(up.values)
    before, tops = np.full(values.size, -np.inf), np.zeros(values.size, np.int64)
    before[1:] = most[:-1]
    tops[1:] = np.maximum.accumulate(np.where(up.values >= most, number, 0))[:-1]
    return np.maximum(values, before), np.where(values > before, number, tops)


# an atom as a list of (place, side it looks to, coefficient)
Parts = list[tuple[float, float, float]]


def _rising_atoms(curve: Curve, G: Array, slopes: Array, price: float) -> list[Parts]:
    """Neurons that increase, and pairs, whose sum of u is below minus their price."""
    up = curve.cells(G, slopes, -1.0, price)
    down = curve.cells(G, slopes, 1.0, price)
    found: list[Parts] = [[(float(up.places[i]), 1.0, 1.0)] for i in _peaks(up.values)]
    found += [[(float(down.places[i]), -1.0, -1.0)] for i in _peaks(down.values - G[0])]
    best, first = _earlier(up, down)
    for i in _peaks(down.values + best):
        found.append(_pair(curve, float(up.places[first[i]]), float(down.places[i])))
    late, last = _earlier(
        Cells(-down.places[::-1], down.values[::-1]), Cells(-up.places[::-1], up.values[::-1])
    )
    scores, last = (up.values + late[::-1]), down.values.size - 1 - last[::-1]
    for i in _peaks(scores):
        found.append(_pair(curve, float(up.places[i]), float(down.places[last[i]])))
    return found


def _pair(curve: Curve, a: float, b: float) -> Parts:
    """Rises from a to b, with penalty 1."""
    first, second = curve.price_at(a), curve.price_at(b)
    return [(a, 1.0, first / (first + second)), (b, 1.0, -second / (first + second))]


def _bent_atoms(curve: Curve, G: Array, slopes: Array, price: float) -> list[Parts]:
    """Neurons with positive weight, and lines, whose sum of u is below minus their price."""
    right = curve.cells(G, slopes, -1.0, price)
    found: list[Parts] = [[(float(right.places[i]), 1.0, 1.0)] for i in _peaks(right.values)]
    found += [[(float(right.places[i]), -1.0, 1.0)] for i in _peaks(right.values + G[0])]
    if abs(G[0]) > 2.0 * price:
        sign = -math.copysign(0.5, G[0])
        found.append([(0.0, 1.0, sign), (0.0, -1.0, -sign)])
    return found


def _gain(curve: Curve, G: Array, parts: Parts) -> float:
    """Minus the sum of u over an atom."""
    total = 0.0
    for t, side, coefficient in parts:
        inside = float(np.interp(t, curve.z, G))  # constant outside, as G is
        value = inside if side > 0 else inside - float(G[0])
        total -= coefficient * value / curve.price_at(t)
    return total


def curve_atoms(curve: Curve, u: Array, price: float) -> tuple[float, list[Parts]]:
    """Atoms of one column that gain more than this price, and the largest gain found."""
    G, slopes = curve.gains(u)
    search = _rising_atoms if curve.is_rising else _bent_atoms
    found = search(curve, G, slopes, price)
    return max((_gain(curve, G, parts) for parts in found), default=0.0), found


def curve_height(curve: Curve, u: Array, least: float = 0.0) -> float:
    """The largest gain of an atom: prices raised until none is worth it; at least `least`."""
    price = least
    for _ in range(_STEPS):
        gain, found = curve_atoms(curve, u, price)
        if not found or gain <= price * (1.0 + 1e-15):
            break
        price = gain
    return price


@dataclass(frozen=True, eq=False)
class CurveOracle:
    """All columns: those with a shape one by one, the others by the oracle of columns.

    Attributes
    ----------
    X : n x d rows.
    tau : the bias feature.
    curves : the columns with a shape, by their group.
    others : the groups of the other columns.
    plain : their oracle, None if there are none.
    """

    X: Array
    tau: float
    curves: dict[int, Curve]
    others: Indices
    plain: ColumnOracle | None

    @classmethod
    def of(cls, X: Array, shapes: list[str], problem: RegularizedProblem) -> CurveOracle:
        """Sort the columns X of the groups with these shapes."""
        penalty = problem.penalty
        tau = penalty.tau if penalty.hidden_bias == "penalized" else math.inf
        curves = {
            g: Curve.of(X[:, g], shape, tau) for g, shape in enumerate(shapes) if shape != "none"
        }
        others = np.array([g for g in range(len(shapes)) if g not in curves], dtype=np.int64)
        plain = (
            ColumnOracle.of(X[:, others], tau=penalty.tau, hidden_bias=penalty.hidden_bias)
            if others.size
            else None
        )
        return cls(X, penalty.tau, curves, others, plain)

    @cached_property
    def values(self) -> list[Array]:
        """The distinct values of every column."""
        return [np.unique(column) for column in self.X.T]

    def search(self, u: Array, threshold: float) -> tuple[Array, Candidates]:
        """H of every group over its atoms, in floats, and no candidates; see `atoms`."""
        del threshold
        none = np.zeros((0, 2))
        return self.heights(u), Candidates(
            none[:, 0], none, np.zeros(0, np.int64), none.astype(np.int64)
        )

    def heights(self, u: Array) -> Array:
        """H of every group over its atoms, in floats."""
        heights = np.zeros(self.X.shape[1])
        if self.plain is not None:
            heights[self.others] = self.plain.search(u, math.inf)[0]
        for group, curve in self.curves.items():
            heights[group] = curve_height(curve, u)
        return heights

    def atoms(self, u: Array, price: float) -> tuple[float, Atoms]:
        """Atoms that gain more than this price, and the largest gain of all atoms, or the price."""
        found, height = Atoms.none(), price
        if self.plain is not None:
            heights, seen = self.plain.search(u, price)
            height = max(height, float(heights.max()))
            zeros = np.zeros(seen.values.size)
            weights = np.stack([seen.weights, np.zeros_like(seen.weights)], axis=1)
            coefs = np.stack([zeros + 1.0, zeros], axis=1)
            found = Atoms(self.others[seen.group], weights, coefs, zeros)
        for group, curve in self.curves.items():
            gain, parts = curve_atoms(curve, u, price)
            if parts:
                height = max(height, curve_height(curve, u, gain))
                found = found.and_also(shaped_atoms(group, curve, parts, self.tau))
        return height, found

    def rows(self, atoms: Atoms) -> Array:
        """The outputs of atoms at all rows, one row each."""
        inputs = self.X.T[atoms.group]
        total = np.zeros_like(inputs)
        for part in (0, 1):
            w, c = atoms.weights[:, part], atoms.coefs[:, part, None]
            total += c * np.maximum(inputs * w[:, :1] + self.tau * w[:, 1:], 0.0)
        return total

    def features(self, group: Indices, weights: Array) -> Array:
        """The hidden outputs of neurons at all rows, one row each."""
        inputs = self.X.T[group] * weights[:, :1] + self.tau * weights[:, 1:]
        return np.maximum(inputs, 0.0, out=inputs)


def shaped_atoms(group: int, curve: Curve, found: list[Parts], tau: float) -> Atoms:
    """Atoms of one column with a shape, whose weights must not be negative; tau is what the bias
    weight is multiplied with.
    """
    side = SIDE[curve.shape]
    weights, coefs = np.zeros((len(found), 2, 2)), np.zeros((len(found), 2))
    for i, parts in enumerate(found):
        for place, (t, looks, coefficient) in enumerate(parts):
            weights[i, place] = curve.neuron(t, looks)
            coefs[i, place] = side * coefficient
    if math.isinf(curve.tau):
        weights[:, :, 1] /= tau
    return Atoms(np.full(len(found), group), weights, coefs, np.ones(len(found)))
