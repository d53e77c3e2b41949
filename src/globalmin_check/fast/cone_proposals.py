"""What floats propose to the fast search over cones, for many cones at once: the shortest vector q
with q . p_k >= height_k at the unit rays of each, and the edge to split. Nothing here is trusted
(`spec/fast-route.md`, section 8), so it rounds as it likes.

The last axis of every array is the cones.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from globalmin_check.fast.rounding import Floats

TINY = 1e-15  # below this a float is rounding
SMALL = 1e-9  # rows that amount to less, of b, do not decide where a cone is split
TURNS = 12  # of the sets of rays that q rests on
FREE = 3  # turns in which all rays that are wrong change at once; then the last one, which ends

Mask = np.ndarray


def shortest(gram: Floats, heights: Floats, active: Mask) -> tuple[Floats, Mask]:
    """Nonnegative weights of the unit rays whose sum is q, nearly, and the rays that q rests on;
    `active` are the rays to begin with.
    """
    weights, rests = np.zeros(heights.shape), active.copy()
    places = np.arange(heights.shape[1])
    for turn in range(TURNS):
        found = _solved(gram, heights, active)
        lacks = heights - (gram * found).sum(axis=1)
        wrong = np.where(active, found < 0.0, lacks > 100 * TINY)
        weights[:, places], rests[:, places] = np.maximum(found, 0.0), active
        more = np.flatnonzero(wrong.any(axis=0))
        if not len(more):
            break
        gram, heights, places = gram[:, :, more], heights[:, more], places[more]
        active, wrong = active[:, more], wrong[:, more]
        active = active ^ (wrong if turn < FREE else _last(wrong))
    return weights, rests


def _last(wrong: Mask) -> Mask:
    """Only the last wrong ray of each cone."""
    found = np.zeros_like(wrong)
    found[len(wrong) - 1 - wrong[::-1].argmax(axis=0), np.arange(wrong.shape[1])] = True
    return found


def _solved(gram: Floats, heights: Floats, active: Mask) -> Floats:
    """The weights with q . p_k = height_k on the active rays, 0 for the others and for one that
    depends on those before it.
    """
    p, on = len(heights), active.astype(np.float64)
    A = np.empty((p, p + 1, heights.shape[1]))
    A[:, :p], A[:, p] = gram * (on[:, None] * on), heights * on
    diagonal = np.arange(p)
    A[diagonal, diagonal] += 1.0 - on
    for s in range(p):
        A[s, s] = np.where(A[s, s] > TINY, 1.0 / A[s, s], 0.0)
        A[s + 1 :, s + 1 :] -= (A[s + 1 :, s] * A[s, s])[:, None] * A[s, s + 1 :]
    found = np.empty_like(heights)
    for s in range(p - 1, -1, -1):
        known = (A[s, s + 1 : p] * found[s + 1 :]).sum(axis=0)
        found[s] = (A[s, p] - known) * A[s, s]
    return found


def lifted(units: Floats, gram: Floats, weights: Floats, heights: Floats) -> Floats:
    """The vector of these weights, made a little longer so that no ray lacks anything."""
    q = (units * weights[:, None]).sum(axis=0)
    lift = gram.sum(axis=1).min(axis=0)
    lack = (heights - (units * q).sum(axis=1)).max(axis=0)
    step = np.where(lift > 0.0, np.maximum(lack, 0.0) / lift, 0.0)
    return q + step * units.sum(axis=0)


def widest_edges(units: Floats, gram: Floats, sums: Floats) -> tuple[Mask, Mask]:
    """The edge of each cone at which the sums of the active rows change most; the widest one where
    none does.
    """
    a, b = (np.array(ends) for ends in zip(*combinations(range(len(units)), 2), strict=True))
    at = np.einsum("ksjm,ljm->sklm", sums, units)  # the sum of ray k at ray l
    height = np.einsum("skkm->skm", at)
    left, right = height[:, a] - at[:, b, a], height[:, b] - at[:, a, b]
    turn = np.where(left + right > 0.0, left * right / (left + right), 0.0).sum(axis=0)
    best, here = turn.argmax(axis=0), np.arange(units.shape[2])
    best = np.where(turn[best, here] > SMALL, best, gram[a, b].argmin(axis=0))
    return a[best], b[best]
