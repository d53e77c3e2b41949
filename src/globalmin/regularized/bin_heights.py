r"""How large $|\sum_i r_i\,\mathrm{relu}(w x_i + c)|/\|(w, c)\|$ can be for rows of which only sums
over bins are known (theorem B of `spec/claims/additive-stream-gap.md`), in floats.

In a bin the sum is a linear function of the kink, up to a slack; on the cone of two edges a linear
function $s\cdot w$ is largest at an edge or along s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from globalmin._types import Array
from globalmin.regularized.shard_bins import BinPlan, ShardBins, added

Ends = tuple[Array, Array]  # of the linear function in every bin: at its left and right edge
_NARROW = 1e-9  # bins so narrow are judged by their edges


def heights(plan: BinPlan, shards: Sequence[ShardBins]) -> Array:
    """For every column the largest value that (1) and (2) allow for the residual itself (t = 1): t
    times it must not exceed b.
    """
    found = []
    for z, S, T, slack, rest in _columns(plan, shards):
        inside = max(float(best.max()) for best, _ in _found(z, S, T, slack))
        V = abs(float((T + (z[:-1] - z[0]) * S).sum())) + rest
        ends = np.hypot(1.0, min(z[0], 0.0)), np.hypot(1.0, max(z[-1], 0.0))
        found.append(max(inside, V / min(ends)))
    return np.array(found)


def peaks(plan: BinPlan, shards: Sequence[ShardBins], threshold: float) -> list[Array]:
    """For every column the kinks at which the sum, without any slack, is largest among the bins
    around where it exceeds the threshold.
    """
    return [
        np.array(
            [p for best, at in _found(z, S, T, 0.0 * slack) for p in _tops(best, at, threshold)]
        )
        for z, S, T, slack, _ in _columns(plan, shards)
    ]


def too_wide(plan: BinPlan, shards: Sequence[ShardBins], threshold: float) -> list[Array]:
    """For every column the left and right scaled edges of the bins that exceed the threshold by
    their slack alone.
    """
    found = []
    for z, S, T, slack, rest in _columns(plan, shards):
        loose = np.max([best for best, _ in _found(z, S, T, slack)], axis=0)
        known = np.max([best for best, _ in _found(z, S, T, 0.0 * slack)], axis=0)
        wide = (loose > threshold) & (known <= threshold) & (slack > 2.0 * rest)
        found.append(np.array([z[:-1][wide], z[1:][wide]]))
    return found


def _columns(
    plan: BinPlan, shards: Sequence[ShardBins]
) -> Iterator[tuple[Array, Array, Array, Array, float]]:
    """Of every column the scaled edges, the sums S and T of its bins, their slack, and the part of
    it that no bin can change.
    """
    whole, start = added(shards), 0
    rows = np.sum([shard.radii[2] * shard.counts for shard in shards], axis=0)
    masses = np.sqrt(whole.counts * np.maximum(whole.sums[2] + rows, 0.0))
    reach = abs(whole.totals[2]) + 2.0 * whole.radii[0]
    for z in plan.scaled_edges():
        part = slice(start, start + len(z) - 1)
        rest = float(reach * (z[-1] - z[0]) + whole.radii[1])
        yield z, *whole.sums[:2, part], np.diff(z) / 8.0 * masses[part] + rest, rest
        start += len(z) - 1


def _found(z: Array, S: Array, T: Array, slack: Array) -> Iterator[tuple[Array, Array]]:
    """For neurons that look right and left, and both signs: in every bin the largest value, and the
    kink where it is.
    """
    for low, high in _sides(z, S, T):
        for sign in (1.0, -1.0):
            yield _largest((sign * low + slack, sign * high + slack), z)


def _sides(z: Array, S: Array, T: Array) -> tuple[Ends, Ends]:
    """The sums of neurons that look right, and left."""
    values, offset = T + z[:-1] * S, np.diff(z) / 8.0 * S
    after = np.append(np.cumsum(values[::-1])[::-1][1:], 0.0)
    slopes = np.append(np.cumsum(S[::-1])[::-1][1:], 0.0)
    right = after + T - slopes * z[:-1] - offset, after - slopes * z[1:] - offset
    left = tuple(
        end - values.sum() + p * S.sum() for end, p in zip(right, (z[:-1], z[1:]), strict=True)
    )
    return right, (left[0], left[1])


def _largest(ends: Ends, z: Array) -> tuple[Array, Array]:
    """In every bin the largest s . w/|w| on the cone of its edges, and the kink where it is."""
    low, high = (end / np.hypot(1.0, p) for end, p in zip(ends, (z[:-1], z[1:]), strict=True))
    best, place = np.maximum(low, high), np.where(low >= high, z[:-1], z[1:])
    h = np.diff(z)
    slope = (ends[1] - ends[0]) / np.maximum(h, _NARROW)
    at_zero = ends[0] - slope * z[:-1]
    inside = (at_zero > 0) & (z[:-1] * at_zero <= slope) & (slope <= z[1:] * at_zero)
    inside &= h > _NARROW
    best[inside] = np.hypot(at_zero, slope)[inside]
    place[inside] = slope[inside] / at_zero[inside]
    return best, place


def _tops(best: Array, place: Array, threshold: float) -> list[float]:
    """The place of the best of every run of bins above the threshold."""
    above = np.flatnonzero(best > threshold)
    runs = np.split(above, np.flatnonzero(np.diff(above) > 1) + 1)
    return [float(place[run[np.argmax(best[run])]]) for run in runs if len(run)]
