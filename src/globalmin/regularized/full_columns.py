r"""Training to the end of networks whose neurons see all columns: with directions fixed, the
weights of the neurons are a convex problem, solved to rounding; directions that violate its dual
constraint are added until none is found.

Directions come from sampling with local ascent and, in few dimensions, from the search over cones,
which misses none that is above its tolerance. Nothing here is a proof: that is the dual bound's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.regularized.cone_search import LARGEST_DIMENSION, search_cones
from globalmin.regularized.design import Design
from globalmin.regularized.directions import steepest_directions
from globalmin.regularized.full_training import Weights, tidied
from globalmin.regularized.master import Master
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import objective

ROUNDS = 200
_VIOLATION = 1e-7  # of b, above which a direction found by sampling is added
_SEARCHED = 3e-5  # of b, above which the search over cones must find a direction
_MET = 24  # directions that one search may find
_ALIKE = 1.0 - 1e-7  # cosine of directions of which one is enough
_COLUMNS = 400  # above which those without weight are forgotten


@dataclass
class _Columns:
    """Directions (penalized part of norm 1) and the convex problem of their weights."""

    design: Design
    W: Array
    master: Master

    @classmethod
    def of(cls, design: Design, W: Array) -> _Columns:
        problem, penalty = design.problem, design.problem.penalty
        first = int(penalty.intercept != "none")
        k0 = 0.0 if isinstance(penalty.intercept, str) else float(penalty.intercept)
        rows = np.vstack([np.ones((first, len(problem.y))), np.maximum(design.Z @ W.T, 0.0).T])
        size = first + len(W)
        return cls(
            design,
            W,
            Master(
                problem.loss,
                problem.y,
                problem.weights,
                design.b,
                first,
                k0,
                rows,
                np.zeros(size),
                np.zeros(size),
            ),
        )

    @property
    def active(self) -> Array:
        """The directions that are used."""
        return self.W[self.master.x[self.master.first :] != 0.0]

    def extend(self, W: Array) -> None:
        """More directions; those without weight are forgotten where there are many."""
        first = self.master.first
        if len(self.W) > _COLUMNS:
            kept = np.flatnonzero(self.master.x[first:])
            self.W = self.W[kept]
            self.master.keep(np.r_[np.arange(first), first + kept])
        self.W = np.vstack([self.W, W])
        self.master.extend(np.maximum(self.design.Z @ W.T, 0.0).T, np.zeros(len(W)))

    def weights(self) -> Weights:
        """The network, |w| = |v| for every neuron."""
        first, design = self.master.first, self.design
        mass = self.master.x[first:]
        size, used = np.sqrt(np.abs(mass)), mass != 0.0
        c = np.zeros(design.F.shape[1])
        c[:first] = self.master.x[:first]
        found = Weights(self.W[used] * size[used, None], np.sign(mass[used]) * size[used], c)
        return tidied(design, found)


def can_refine(design: Design) -> bool:
    """Whether the convex problem is one that the master solves: no kinks, no linear part."""
    is_smooth = design.loss.smoothed(1.0) is design.loss
    return is_smooth and design.problem.penalty.linear == "none"


def refined(
    design: Design,
    network: RegularizedNetwork,
    *,
    max_seconds: float = 20.0,
    max_cones: int = 0,
    seed: int = 0,
) -> RegularizedNetwork:
    """The network after convex rounds of its own and of new directions; the given one if that is
    no better.

    Parameters
    ----------
    design, network : the problem and a trained network.
    max_seconds : no round begins later.
    max_cones : of one search for a direction that sampling does not find; 0 for none.
    seed : of the sampled directions.
    """
    if not can_refine(design):
        return network
    deadline = time.perf_counter() + max_seconds
    rng = np.random.default_rng(seed)
    columns = _Columns.of(design, _unit(design, design.parameters(network)[0]))
    for _ in range(ROUNDS):
        columns.master.solve(1e-9)
        new = _violated(columns, rng)
        if not len(new) and time.perf_counter() < deadline:
            new = _met_by_cones(columns, rng, max_cones)
        if not len(new) or time.perf_counter() > deadline:
            break
        columns.extend(new)
    found = columns.weights()
    candidate = design.network(found.W, found.v, found.c)
    is_better = objective(candidate, design.problem) <= objective(network, design.problem)
    return candidate if is_better else network


def _unit(design: Design, W: Array) -> Array:
    norms = np.linalg.norm(W * design.decayed, axis=1)
    return W[norms > 0] / norms[norms > 0, None]


def _violated(columns: _Columns, rng: np.random.Generator, known: Array | None = None) -> Array:
    """Directions with |sum| > b, no two alike; `known` are starts of the local search besides."""
    design = columns.design
    starts = columns.active if known is None else np.vstack([columns.active, known])
    directions, sums = steepest_directions(design, columns.master.dual(), rng, starts)
    sizes = np.linalg.norm(directions, axis=1)
    chosen: list[int] = []
    for j in np.flatnonzero(np.abs(sums) > design.b * (1.0 + _VIOLATION)):
        cosines = directions[chosen] @ directions[j] / (sizes[chosen] * sizes[j])
        if not (cosines > _ALIKE).any():
            chosen.append(int(j))
    return directions[chosen]


def _met_by_cones(columns: _Columns, rng: np.random.Generator, max_cones: int) -> Array:
    """Directions near one that the search over cones met, if the dimension allows it."""
    design, u = columns.design, columns.master.dual()
    if design.is_free or design.Z.shape[1] > LARGEST_DIMENSION or not max_cones:
        return np.zeros((0, design.Z.shape[1]))
    level = design.b * (1.0 + _SEARCHED)
    found = search_cones(design.Z, u, level, max_cones=max_cones, max_met=_MET)
    return _violated(columns, rng, found.above) if len(found.above) else found.above
