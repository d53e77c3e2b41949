r"""The exact oracle for neurons that see one column and the bias (theorem R2): the largest
$|\sum_i u_i\,\mathrm{relu}(w\cdot(x_{ij}, \tau))|$ over $\|w\| \le 1$, and where it is attained.

The rays $(\tau, -z_m), \dots, (\tau, -z_1), (0, 1), (-\tau, z_m), \dots, (-\tau, z_1)$ of the
distinct values z cut the plane into 2m cones, counted from 0 in this order, and one cone without
active rows. On a cone the sum is a linear function $S\cdot w$, so its extremes are at the two rays,
or along $\pm S$. All of it is one pass over the sorted column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from globalmin._compiled import compiled
from globalmin._types import Array, Indices, Mask
from globalmin.regularized.objective import HiddenBias
from globalmin.regularized.small_columns import SMALL, scan_small


@compiled(inline="always")
def _best_in_cone(rays: Any, s: Any, sign: int, best: Any, i: int) -> int:
    """The unit w in the cone {p, q} with the largest |s.w|, rays given as (p_0, p_1, 1/|p|):
    best[i] = (signed value, w); 0 at the ray p, 1 inside, 2 at the ray q. With a sign 1 or -1 only
    values of that sign count, 0 if there is none.
    """
    p, q = rays
    left, right = p[0] * s[1] - p[1] * s[0], s[0] * q[1] - s[1] * q[0]
    if left * right > 0 and left * sign >= 0:
        size = math.copysign(math.sqrt(s[0] * s[0] + s[1] * s[1]), left)
        best[i, 0], best[i, 1], best[i, 2] = size, s[0] / size, s[1] / size
        return 1
    at_p = (s[0] * p[0] + s[1] * p[1]) * p[2]
    at_q = (s[0] * q[0] + s[1] * q[1]) * q[2]
    if sign != 0:
        at_p, at_q = sign * max(sign * at_p, 0.0), sign * max(sign * at_q, 0.0)
    if abs(at_p) >= abs(at_q):
        best[i, 0], best[i, 1], best[i, 2] = at_p, p[0] * p[2], p[1] * p[2]
        return 0
    best[i, 0], best[i, 1], best[i, 2] = at_q, q[0] * q[2], q[1] * q[2]
    return 2


@compiled()
def _cones(values: Any, sums: Any, setting: Any, best: Any, place: Any) -> None:
    """Fill best (2m x 3: value, w) and place (2m) for the column with the values z and 1/|(tau,
    z)|, and the sums of u over each. `setting` is tau and the slope of the neurons: with 1 they are
    nondecreasing, so that a negative sum counts where w_0 >= 0 and a positive one where w_0 <= 0.
    """
    tau, slope = setting
    z, shrink = values
    m = z.size
    up = (0.0, 1.0, 1.0)
    s0, s1 = 0.0, 0.0
    p = (tau, -z[m - 1], shrink[m - 1])
    for i in range(m):  # suffixes, in the end all rows
        j = m - 1 - i
        s0 += sums[j] * z[j]
        s1 += tau * sums[j]
        q = (tau, -z[j - 1], shrink[j - 1]) if j > 0 else up
        place[i] = _best_in_cone((p, q), (s0, s1), -slope, best, i)
        p = q
    place[m] = _best_in_cone((up, (-tau, z[m - 1], shrink[m - 1])), (s0, s1), slope, best, m)
    s0, s1 = 0.0, 0.0
    q = (-tau, z[0], shrink[0])
    for i in range(2 * m - 1, m, -1):  # prefixes
        j = 2 * m - 1 - i
        s0 += sums[j] * z[j]
        s1 += tau * sums[j]
        p = (-tau, z[j + 1], shrink[j + 1])
        place[i] = _best_in_cone((p, q), (s0, s1), slope, best, i)
        q = p


@compiled()
def _hinges(values: Any, sums: Any, setting: Any, best: Any, place: Any) -> None:
    """The same for free biases (R2-free): hinges at the values, looking right and then left."""
    z = values[0]
    tau, direction = setting
    m = z.size
    slope, constant = 0.0, 0.0
    for i in range(m):
        j = m - 1 - i
        best[i, 0] = constant - slope * z[j]
        best[i, 1], best[i, 2] = 1.0, -z[j] / tau
        slope += sums[j]
        constant += sums[j] * z[j]
        place[i] = 1
    slope, constant = 0.0, 0.0
    for j in range(m):
        i = 2 * m - 1 - j
        best[i, 0] = slope * z[j] - constant
        best[i, 1], best[i, 2] = -1.0, z[j] / tau
        slope += sums[j]
        constant += sums[j] * z[j]
        place[i] = 1
    for i in range(2 * m):
        wanted = -direction if i < m else direction
        if wanted * best[i, 0] < 0:
            best[i, 0] = 0.0


class Table(NamedTuple):
    """Columns sorted once: the rows in order (d x n), where equal values begin, the distinct values
    of all columns one after another with 1/|(tau, z)|, and where each column's begin.
    """

    order: Indices
    starts: Indices
    z: Array
    shrink: Array
    ends: Indices


@compiled()
def _note(col: int, i: int, best: Any, place: Any, where: Any) -> None:
    """The cone i, or the two that share the ray, on which the best value is attained."""
    where[0] = col
    where[1] = max(i - 1, 0) if place[i] == 0 else i
    where[2] = min(i + 1, best.shape[0] - 1) if place[i] == 2 else i


@compiled()
def _scan(u: Any, table: Any, setting: Any, found: Any, where: Any) -> Any:
    """Over all columns: H of each, and the largest value of every run of cones above the
    threshold, as rows (value, w) of `found` and (column, first cone, last cone) of `where`.
    """
    tau, threshold, free, slopes = setting
    d = table.ends.size - 1
    height = np.zeros(d)
    count = 0
    for col in range(d):
        first, last = table.ends[col], table.ends[col + 1]
        m = last - first
        sums = np.zeros(m)
        for k in range(m):
            for i in range(table.starts[first + col + k], table.starts[first + col + k + 1]):
                sums[k] += u[table.order[col, i]]
        best, place = np.empty((2 * m, 3)), np.empty(2 * m, np.int64)
        values = table.z[first:last], table.shrink[first:last]
        if free:
            _hinges(values, sums, (tau, slopes[col]), best, place)
        else:
            _cones(values, sums, (tau, slopes[col]), best, place)
        top = -1  # the best cone of the current run above the threshold with one sign
        for i in range(2 * m + 1):
            size = abs(best[i, 0]) if i < 2 * m else 0.0
            height[col] = max(height[col], size)
            goes_on = size > threshold and top >= 0 and (best[i, 0] > 0) == (best[top, 0] > 0)
            if top >= 0 and not goes_on:
                if count < found.shape[0]:
                    found[count] = best[top]
                    _note(col, top, best, place, where[count])
                    count += 1
                top = -1
            if size > threshold and (top < 0 or size > abs(best[top, 0])):
                top = i
    return height, count


_FAR = 1e3  # the tangent of an angle of nearly 90 degrees


class Candidates(NamedTuple):
    """Neurons found by an oracle: |sum| at each, unit weights (columns of the group and bias), the
    group, and the first and last cone they belong to.
    """

    values: Array
    weights: Array
    group: Indices
    cones: Indices


@dataclass(frozen=True, eq=False)
class ColumnOracle:
    """The columns of one table, sorted once; call `search` with a dual vector.

    Attributes
    ----------
    X : n x d rows.
    tau : the bias feature.
    hidden_bias : "penalized" or "free".
    table : the sorted columns.
    slopes : for each column 1 (nondecreasing neurons only), -1 (nonincreasing) or 0.
    """

    X: Array
    tau: float
    hidden_bias: HiddenBias
    table: Table
    slopes: Indices

    @classmethod
    def of(
        cls,
        X: Array,
        *,
        tau: float = 1.0,
        hidden_bias: HiddenBias = "penalized",
        slopes: Sequence[int] | None = None,
    ) -> ColumnOracle:
        """Sort the columns."""
        n, d = X.shape
        order = np.ascontiguousarray(np.argsort(X, axis=0, kind="stable").T.astype(np.int64))
        starts, values, ends = [], [], [0]
        for j in range(d):
            column = X[order[j], j]
            first = np.flatnonzero(np.r_[True, column[1:] != column[:-1]])
            starts += [first, [n]]
            values.append(column[first])
            ends.append(ends[-1] + first.size)
        z = np.concatenate(values)
        shrink = 1.0 / np.hypot(z, tau)
        table = Table(order, np.concatenate(starts).astype(np.int64), z, shrink, np.array(ends))
        signs = np.zeros(d, np.int64) if slopes is None else np.array(slopes, dtype=np.int64)
        return cls(X, tau, hidden_bias, table, signs)

    def search(self, u: Array, threshold: float, limit: int = 512) -> tuple[Array, Candidates]:
        """H(u) of every column, in floats, and the largest value of every run of cones above the
        threshold; of the values that count, where neurons have to be monotone (R7).

        Free biases need a u that sums to zero.
        """
        setting = (self.tau, float(threshold), self.hidden_bias == "free", self.slopes)
        if self.X.size <= SMALL:
            heights, found, where = scan_small(u, self.table, setting, limit)
        else:
            found, where = np.empty((limit, 3)), np.empty((limit, 3), np.int64)
            heights, count = _scan(u, self.table, setting, found, where)
            found, where = found[:count], where[:count]
        return heights, Candidates(found[:, 0], found[:, 1:], where[:, 0], where[:, 1:])

    def turns(self, group: Indices, weights: Array, cones: Indices) -> tuple[Array, Array, Array]:
        """Unit vectors at right angles to neurons inside a cone, their outputs on its active rows,
        and the tangents of the angles to its two rays; free biases have no room to turn.
        """
        across = np.stack([-weights[:, 1], weights[:, 0]], axis=1)
        x = self.X.T[group]
        rows = x * across[:, :1] + self.tau * across[:, 1:]
        room = np.zeros((group.size, 2))
        if self.hidden_bias == "penalized":
            for i, (col, w, t, cone) in enumerate(
                zip(group, weights, across, cones[:, 0], strict=True)
            ):
                rows[i] *= self._is_active(int(col), int(cone))
                for end in (0, 1):
                    ray = self._ray(int(col), int(cone) + end)
                    along, aside = float(ray @ w), float(ray @ t)
                    room[i, end] = aside / along if along > 0 else math.copysign(_FAR, aside)
        return across, rows, room

    def _is_active(self, col: int, cone: int) -> Mask:
        """The rows that are active on a cone; the sign of a pre-activation next to a ray is
        rounding.
        """
        z = self.table.z[self.table.ends[col] : self.table.ends[col + 1]]
        m = z.size
        if cone < m:
            return self.X[:, col] >= z[m - 1 - cone]
        return self.X[:, col] <= z[min(2 * m - 1 - cone, m - 1)]

    def _ray(self, col: int, i: int) -> Array:
        """Ray number i of a column, 0..2m."""
        z = self.table.z[self.table.ends[col] : self.table.ends[col + 1]]
        m = z.size
        if i == m:
            return np.array([0.0, 1.0])
        sign, value = (1.0, z[m - 1 - i]) if i < m else (-1.0, z[2 * m - i])
        return sign * np.array([self.tau, -value])

    def features(self, group: Indices, weights: Array) -> Array:
        """The hidden outputs of neurons at all rows, one row each."""
        inputs = self.X.T[group] * weights[:, :1] + self.tau * weights[:, 1:]
        return np.maximum(inputs, 0.0, out=inputs)
