r"""Data on which no network reaches zero loss, turned into data on which one can.

Samples are *tied* if every network with the activation satisfies $f(x_i) = g_i t$ on them, with
known $g_i$ and one free number t: equal rows, rays of a homogeneous activation, opposite rows of an
odd one, zero rows. The best labels such a group can have are the projection $y^*_i = g_i (g \cdot
y)/\|g\|^2$, and by Pythagoras' theorem $L = \mathrm{floor} + \frac12\|f - y^*\|^2$ for every
network. So training fits $y^*$, and when it does the loss is the floor.

Tied rows make J J^T singular even where their labels agree. Methods that factorize it see one
representative per group, weighted by $\|g\|/|g_i|$, which leaves $\frac12\|f - y^*\|^2$ and its
gradient unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array, NDArray
from globalmin.data.loss_floor import tied_groups
from globalmin.shallow.problem import Problem, Tie, check_shapes

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data.degeneracy import Degeneracy
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point


def pose(network: ShallowNetwork, data: HasData, trained: Trained) -> Point:
    """The training problem at the network's weights, with the best reachable labels in place of
    conflicting ones.
    """
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    check_shapes(network, X, y, trained)
    facts = _facts(data, X)
    ties = tuple(tied_samples(facts, network.activation))
    floor = facts.loss_floor(network.activation, y)
    scale = float(np.linalg.norm(y))
    problem = Problem(
        X,
        _projected(X, y)
        if any(group.kind == "linear" for group in floor.groups)
        else reachable_labels(y, ties),
        network.activation,
        trained,
        scale=scale if scale > 0 else 1.0,
        floor=float(floor.floor),
        ties=ties,
    )
    return problem.at(network.W, network.v)


def _projected(X: Array, y: Array) -> Array:
    """The best labels that a linear function can have."""
    return X @ np.linalg.lstsq(X, y, rcond=None)[0]


def count_free_outputs(data: HasData, activation: Activation) -> int:
    """Number of outputs that can be chosen independently as far as the ties go: n less the samples
    tied to others.
    """
    X = np.asarray(data.X, dtype=np.float64)
    return len(X) - sum(
        len(members) - int(g.any()) for members, g in tied_samples(_facts(data, X), activation)
    )


def untied_samples(data: HasData, activation: Activation) -> NDArray[np.intp]:
    """One sample for each output that can be chosen independently: the first of every tie, and all
    that are in none.
    """
    X = np.asarray(data.X, dtype=np.float64)
    kept = np.ones(len(X), dtype=bool)
    for members, g in tied_samples(_facts(data, X), activation):
        kept[members[int(g.any()) :]] = False
    return np.flatnonzero(kept)


def _facts(data: HasData, X: Array) -> Degeneracy:
    from globalmin.data.degeneracy import Degeneracy

    known = getattr(data, "degeneracy", None)
    return known if isinstance(known, Degeneracy) else Degeneracy(X)


def tied_samples(facts: Degeneracy, activation: Activation) -> Iterator[Tie]:
    """Disjoint groups of tied samples and their ratios g, by the rule of `data.loss_floor`.

    Theory
    ------
    The table of section 6 of the certificate theorems (claim loss-floor); the ratios are floats
    here, exact in the certificate.
    """
    for kind, members in tied_groups(facts, activation):
        index = np.array(members)
        yield Tie(
            index, np.zeros(len(index)) if kind == "zero" else _ratios(facts.X[index], activation)
        )


def _ratios(rows: Array, activation: Activation) -> Array:
    """The ratios g to the first row: c^p on rays, with the sign of c for odd activations and
    without it for even ones.
    """
    column = int(np.argmax(np.abs(rows[0])))
    if not rows[0, column]:
        return np.ones(len(rows))
    factors = rows[:, column] / rows[0, column]
    size = np.abs(factors) ** (activation.homogeneity or 0)
    return np.sign(factors) * size if activation.is_odd else size


def reachable_labels(y: Array, ties: tuple[Tie, ...]) -> Array:
    """The labels, those of every tied group projected on what networks can output there."""
    target = y.copy()
    for members, g in ties:
        square = float(g @ g)
        target[members] = g * (float(g @ y[members]) / square) if square > 0 else 0.0
    return target


def representatives(start: Point) -> Point:
    """The same weights in the equivalent problem with one weighted sample per tied group; `start`
    itself if nothing is tied.
    """
    problem = start.problem
    if not problem.ties:
        return start
    weights, keep = np.ones(len(problem.y)), np.ones(len(problem.y), dtype=bool)
    for members, g in problem.ties:
        keep[members] = False
        if g.any():
            chosen = int(np.argmax(np.abs(g)))
            keep[members[chosen]] = True
            weights[members[chosen]] = float(np.linalg.norm(g)) / abs(g[chosen])
    if not keep.any():  # all rows are zero: one of them stands for all, and its residual is zero
        keep[0] = True
    reduced = replace(problem, X=problem.X[keep], y=problem.y[keep], weights=weights[keep], ties=())
    return reduced.at(start.W, start.v)
