r"""Additive networks on given kinks, from moments: a neuron with unit weights $(\pm1, \mp p)/
\sqrt{1+p^2}$ is a hinge that looks right or left, its size $|v||w|$ pays the weight decay, and what
is minimized is $\frac12c^TGc - z^Tc + b\|c\|_1$, by an active set method, exactly up to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, Indices, Mask
from globalmin.regularized.hinge_moments import HingePlan
from globalmin.regularized.network import RegularizedNetwork

_STEPS = 20_000  # of the active set method at most
_SLACK = 1e-10  # of the decay: constraints that are violated by less are left


@dataclass(frozen=True, eq=False)
class HingeFit:
    """Hinges with a coefficient that is not zero: column, kink, direction (1: right, -1: left), and
    coefficient; the intercept.
    """

    column: Indices
    kink: Array
    direction: Array
    coefficient: Array
    intercept: float

    def network(self, inputs: int) -> RegularizedNetwork:
        """Every neuron balanced; one of zeros if there is none."""
        if not len(self.column):
            return RegularizedNetwork(np.zeros((1, inputs)), [0.0], [0.0], self.intercept)
        size = np.sqrt(np.abs(self.coefficient))
        inner = self.direction * size / np.hypot(1.0, self.kink)
        W = np.zeros((len(size), inputs))
        W[np.arange(len(size)), self.column] = inner
        return RegularizedNetwork(
            W, -inner * self.kink, np.sign(self.coefficient) * size, self.intercept
        )


def _hinges(plan: HingePlan) -> tuple[Indices, Array, Array, Array]:
    """Column, kink and direction of the hinges, and their coordinates in the functions of the
    plan.
    """
    column = np.concatenate([np.full(len(k), j) for j, k in enumerate(plan.kinks)])
    kink, count = np.concatenate(plan.kinks), len(column)
    inputs = len(plan.kinks)
    right = np.zeros((count, plan.order - 1))
    right[np.arange(count), 1 + inputs + np.arange(count)] = 1.0
    left = right.copy()  # relu(p - x) = relu(x - p) - x + p
    left[np.arange(count), 1 + column] -= 1.0
    left[:, 0] += kink
    shrink = 1.0 / np.hypot(1.0, kink)
    both = np.concatenate([right, left]) * np.tile(shrink, 2)[:, None]
    direction = np.repeat([1.0, -1.0], count)
    return np.tile(column, 2), np.tile(kink, 2), direction, both


def fit_hinges(gram: Array, plan: HingePlan, weight_decay: float) -> HingeFit:
    """The best network on the kinks of the plan."""
    column, kink, direction, both = _hinges(plan)
    rows, mean = gram[0, 0], gram[0] / gram[0, 0]
    centered = gram - rows * np.outer(mean, mean)
    G = both @ centered[:-1, :-1] @ both.T
    z = both @ centered[:-1, -1]
    c = lasso(0.5 * (G + G.T), z, weight_decay)
    kept = np.flatnonzero(c)
    intercept = float(mean[-1] - c @ (both @ mean[:-1]))
    return HingeFit(column[kept], kink[kept], direction[kept], c[kept], intercept)


def lasso(G: Array, z: Array, b: float) -> Array:
    r"""The minimum of $\frac12c^TGc - z^Tc + b\|c\|_1$: coordinates come in one by one where the
    slope exceeds b, and leave where they reach zero.
    """
    c, signs, refused = np.zeros(len(z)), np.zeros(len(z)), np.zeros(len(z), bool)
    jitter = 1e-13 * max(float(np.diag(G).max(initial=0.0)), np.finfo(np.float64).tiny)
    for _ in range(_STEPS):
        slope = z - G @ c
        excess = np.where((signs == 0.0) & ~refused, np.abs(slope), 0.0)
        newest = int(np.argmax(excess))
        if not excess[newest] > b * (1.0 + _SLACK):
            break
        signs[newest] = np.sign(slope[newest])
        _settle(G, z - b * signs, c, signs, jitter)
        # by rounding a coordinate may leave at once; until another moves, it is not tried again
        refused = (refused | (np.arange(len(z)) == newest)) & (signs[newest] == 0.0)
    return c


def _settle(G: Array, target: Array, c: Array, signs: Array, jitter: float) -> None:
    """The minimum over the active coordinates with these signs: as far as the first that reaches
    zero, which leaves, and again.
    """
    while (active := signs != 0.0).any():
        new = _solved(G[np.ix_(active, active)], target[active], jitter)
        old, wanted = c[active], signs[active]
        crossing: Mask = new * wanted <= 0.0
        if not crossing.any():
            c[active] = new
            return
        shares = np.full(len(new), np.inf)
        shares[crossing] = old[crossing] / (old - new)[crossing]
        share = float(shares.min())
        moved = old + share * (new - old)
        gone = shares <= share
        moved[gone] = 0.0
        c[active] = moved
        signs[np.flatnonzero(active)[gone]] = 0.0


def _solved(G: Array, target: Array, jitter: float) -> Array:
    return np.asarray(np.linalg.solve(G + jitter * np.eye(len(G)), target), dtype=np.float64)
