r"""Turning neurons inside their cones: where a neuron lies between two rays, the objective is a
smooth convex function of its weight vector $z = c\,\hat w + \delta\,\hat t$, and one Newton step on
all weights and turns at once does what many rounds of column generation would approach slowly.

On a wide cone (few rows, tied values, directions in which all rows are active) that matters; narrow
cones leave no room to turn, and the step is left out when it promises little.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from globalmin._types import Array, Indices
from globalmin.regularized.master import Master

# of the open gap: a smaller promised decrease is not worth a new Gram matrix
_WORTH = 1e-3


@runtime_checkable
class TurningOracle(Protocol):
    """An oracle whose neurons can be turned."""

    def turns(self, group: Indices, weights: Array, cones: Indices) -> tuple[Array, Array, Array]:
        """Unit vectors at right angles, their hidden outputs, and the least and largest delta/c
        inside the cone.
        """
        ...


def turn(
    master: Master, oracle: TurningOracle, pool: tuple[Indices, Array, Indices], gap: float
) -> Array:
    """Turn the neurons inside their cones by one Newton step, in place in `master`; the weights of
    the pool (group, weights, cones) after it. `gap` is the distance to the floor that is left.
    """
    group, weights, cones = pool
    first = master.first
    inside = np.flatnonzero((cones[:, 0] == cones[:, 1]) & (master.x[first:] != 0))
    if not inside.size:
        return weights
    directions, rows, room = oracle.turns(group[inside], weights[inside], cones[inside])
    c = master.x[first + inside]
    slope = rows @ master.dual()
    h = master.curvature()
    stiff = np.square(rows) @ h + master.b / np.abs(c)
    limit = np.where(slope * c < 0, room[:, 1], -room[:, 0]) * np.abs(c)
    promised = np.abs(slope) * np.minimum(0.5 * np.abs(slope) / stiff, limit)
    if not float(promised.sum()) > _WORTH * gap:
        return weights
    ratio = _newton(master, inside, rows, slope, (h, room))
    if ratio is None:
        return weights
    scale = np.sqrt(1.0 + ratio * ratio)[:, None]
    changed = weights.copy()
    changed[inside] = (weights[inside] + ratio[:, None] * directions) / scale
    place = first + inside
    master.replace_rows(place, (master.rows[place] + ratio[:, None] * rows) / scale)
    master.x[place] *= scale[:, 0]
    return changed


def _newton(
    master: Master, inside: Indices, rows: Array, slope: Array, model: tuple[Array, Array]
) -> Array | None:
    """Move the weights of `master` and return delta/c of the turned neurons; None without gain."""
    h, room = model
    first = master.first
    used = np.flatnonzero((np.arange(master.x.size) < first) | (master.x != 0))
    sign = np.where(used < first, 0.0, np.sign(master.x[used]))
    whole = np.vstack([master.rows[used], rows])
    matrix = (whole * h) @ whole.T
    matrix[: used.size, : used.size] += np.diag(np.where(used < first, master.k0, 0.0))
    c = master.x[first + inside]
    matrix[used.size :, used.size :] += np.diag(master.b / np.abs(c))
    matrix[np.diag_indices_from(matrix)] *= 1.0 + 1e-12
    smooth = (
        master.rows[used] @ master.dual() + np.where(used < first, master.k0, 0) * master.x[used]
    )
    step = np.linalg.lstsq(matrix, -np.r_[smooth + master.b * sign, slope], rcond=None)[0]
    before = master.value
    for length in (1.0, 0.5, 0.25, 0.125):
        x = master.x.copy()
        x[used] += length * step[: used.size]
        if (x[used] * sign < 0).any() or not x[first + inside].all():
            continue
        ratio = np.clip(length * step[used.size :] / x[first + inside], room[:, 0], room[:, 1])
        f = x @ master.rows + (ratio * x[first + inside]) @ rows
        extra = np.abs(x[first + inside]) * (np.sqrt(1.0 + ratio * ratio) - 1.0)
        if master.value_at(x, f) + master.b * float(extra.sum()) < before:
            master.x, master.f = x, f
            return ratio
    return None
