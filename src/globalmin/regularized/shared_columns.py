r"""The exact oracle of neurons that see one column and that several outputs share (theorem R2 with
c outputs): the largest $\|\sum_i \mathrm{relu}(w\cdot(x_{ij}, \tau))\,U_i\|_2$ over $\|w\| \le 1$.

On a cone between neighboring kinks the sum is $Sw$ with S of size c x 2, so the largest value is at
one of the two rays or at the first eigenvector of the 2 x 2 matrix $S^TS$. One pass over the sorted
column, as for one output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._compiled import compiled
from globalmin._types import Array, Indices
from globalmin.regularized.columns import Candidates, ColumnOracle
from globalmin.regularized.objective import HiddenBias


@compiled()
def _largest_in_cone(rays: Any, G: Any, best: Any, i: int) -> int:
    """The unit w in the cone {p, q} with the largest w.G.w, G given as (G_00, G_01, G_11): best[i]
    = (root of the value, w); 0 at the ray p, 1 inside, 2 at the ray q.
    """
    p, q = rays
    a, h, d = G
    angle = 0.5 * math.atan2(2.0 * h, a - d)
    e0, e1 = math.cos(angle), math.sin(angle)
    left, right = p[0] * e1 - p[1] * e0, e0 * q[1] - e1 * q[0]
    if left * right > 0:
        sign = math.copysign(1.0, left)
        top = 0.5 * (a + d) + math.hypot(0.5 * (a - d), h)
        best[i, 0], best[i, 1], best[i, 2] = math.sqrt(max(top, 0.0)), sign * e0, sign * e1
        return 1
    at_p = (a * p[0] * p[0] + 2.0 * h * p[0] * p[1] + d * p[1] * p[1]) * p[2] * p[2]
    at_q = (a * q[0] * q[0] + 2.0 * h * q[0] * q[1] + d * q[1] * q[1]) * q[2] * q[2]
    if at_p >= at_q:
        best[i, 0], best[i, 1], best[i, 2] = math.sqrt(max(at_p, 0.0)), p[0] * p[2], p[1] * p[2]
        return 0
    best[i, 0], best[i, 1], best[i, 2] = math.sqrt(max(at_q, 0.0)), q[0] * q[2], q[1] * q[2]
    return 2


@compiled()
def _add(S: Any, sums: Any, z: float, tau: float) -> Any:
    """Add the rows of one value to S (c x 2); the entries of S^T S."""
    a, h, d = 0.0, 0.0, 0.0
    for o in range(S.shape[0]):
        S[o, 0] += sums[o] * z
        S[o, 1] += sums[o] * tau
        a += S[o, 0] * S[o, 0]
        h += S[o, 0] * S[o, 1]
        d += S[o, 1] * S[o, 1]
    return a, h, d


@compiled()
def _shared_cones(values: Any, sums: Any, tau: float, best: Any, place: Any) -> None:
    """Fill best (2m x 3: value, w) and place (2m), as `_cones` does for one output."""
    z, shrink = values
    m, S = z.size, np.zeros((sums.shape[1], 2))
    up = (0.0, 1.0, 1.0)
    G = (0.0, 0.0, 0.0)
    p = (tau, -z[m - 1], shrink[m - 1])
    for i in range(m):  # suffixes, in the end all rows
        j = m - 1 - i
        G = _add(S, sums[j], z[j], tau)
        q = (tau, -z[j - 1], shrink[j - 1]) if j > 0 else up
        place[i] = _largest_in_cone((p, q), G, best, i)
        p = q
    place[m] = _largest_in_cone((up, (-tau, z[m - 1], shrink[m - 1])), G, best, m)
    S[:] = 0.0
    q = (-tau, z[0], shrink[0])
    for i in range(2 * m - 1, m, -1):  # prefixes
        j = 2 * m - 1 - i
        G = _add(S, sums[j], z[j], tau)
        p = (-tau, z[j + 1], shrink[j + 1])
        place[i] = _largest_in_cone((p, q), G, best, i)
        q = p


@compiled()
def _shared_hinges(values: Any, sums: Any, tau: float, best: Any, place: Any) -> None:
    """The same for free biases (R2-free): hinges at the values, looking right and then left."""
    z = values[0]
    m, c = z.size, sums.shape[1]
    place[:] = 1
    slope, constant = np.zeros(c), np.zeros(c)
    for i in range(m):
        j = m - 1 - i
        best[i, 0] = np.sqrt(np.sum((constant - slope * z[j]) ** 2))
        best[i, 1], best[i, 2] = 1.0, -z[j] / tau
        slope += sums[j]
        constant += sums[j] * z[j]
    slope[:] = 0.0
    constant[:] = 0.0
    for j in range(m):
        i = 2 * m - 1 - j
        best[i, 0] = np.sqrt(np.sum((slope * z[j] - constant) ** 2))
        best[i, 1], best[i, 2] = -1.0, z[j] / tau
        slope += sums[j]
        constant += sums[j] * z[j]


@compiled()
def _shared_scan(U: Any, table: Any, setting: Any, found: Any, where: Any) -> Any:
    """Over all columns: H of each, and every local maximum above the threshold, as rows (value, w)
    of `found` and (column, first cone, last cone) of `where`.
    """
    tau, threshold, free = setting
    d, c = table.ends.size - 1, U.shape[1]
    height = np.zeros(d)
    count = 0
    for col in range(d):
        first, last = table.ends[col], table.ends[col + 1]
        m = last - first
        sums = np.zeros((m, c))
        for k in range(m):
            for i in range(table.starts[first + col + k], table.starts[first + col + k + 1]):
                for o in range(c):
                    sums[k, o] += U[table.order[col, i], o]
        best, place = np.empty((2 * m, 3)), np.empty(2 * m, np.int64)
        values = table.z[first:last], table.shrink[first:last]
        if free:
            _shared_hinges(values, sums, tau, best, place)
        else:
            _shared_cones(values, sums, tau, best, place)
        for i in range(2 * m):
            size = best[i, 0]
            height[col] = max(height[col], size)
            below = (i == 0 or best[i - 1, 0] <= size) and (i == 2 * m - 1 or best[i + 1, 0] < size)
            if size > threshold and below and count < found.shape[0]:
                found[count] = best[i]
                where[count, 0] = col
                where[count, 1] = max(i - 1, 0) if place[i] == 0 else i
                where[count, 2] = min(i + 1, 2 * m - 1) if place[i] == 2 else i
                count += 1
    return height, count


@dataclass(frozen=True, eq=False)
class SharedColumnOracle:
    """The columns of one table, sorted once; call `search` with a dual matrix (n x c).

    Attributes
    ----------
    columns : the oracle of one output, which holds the sorted table.
    """

    columns: ColumnOracle

    @classmethod
    def of(
        cls, X: Array, *, tau: float = 1.0, hidden_bias: HiddenBias = "penalized"
    ) -> SharedColumnOracle:
        """Sort the columns."""
        return cls(ColumnOracle.of(X, tau=tau, hidden_bias=hidden_bias))

    def search(self, u: Array, threshold: float, limit: int = 1024) -> tuple[Array, Candidates]:
        """H(u) of every column, in floats, and the local maxima above the threshold.

        Free biases need columns of u that sum to zero.
        """
        known = self.columns
        found, where = np.empty((limit, 3)), np.empty((limit, 3), np.int64)
        setting = (known.tau, float(threshold), known.hidden_bias == "free")
        given = np.ascontiguousarray(u)
        heights, count = _shared_scan(given, known.table, setting, found, where)
        found, where = found[:count], where[:count]
        return heights, Candidates(found[:, 0], found[:, 1:], where[:, 0], where[:, 1:])

    def turns(self, group: Indices, weights: Array, cones: Indices) -> tuple[Array, Array, Array]:
        """As `ColumnOracle.turns`: nothing of it depends on the outputs."""
        return self.columns.turns(group, weights, cones)

    def features(self, group: Indices, weights: Array) -> Array:
        """The hidden outputs of neurons at all rows, one row each."""
        return self.columns.features(group, weights)
