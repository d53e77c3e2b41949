"""Exact facts about the stored rows: whether zero loss is possible at all, and whether a theorem's
hypotheses can hold.

Everything is about the stored doubles as rational numbers, without tolerance; only
`estimate_closest_pair` is floating point.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Heads
from globalmin._types import Array, NDArray
from globalmin.data import exact_algebra
from globalmin.data.exact_algebra import rank_bounds
from globalmin.data.loss_floor import Group, LossFloor, loss_floor
from globalmin.data.validation import as_targets
from globalmin.errors import DataError, DegenerateDataWarning

if TYPE_CHECKING:
    from globalmin.activations import Activation

_SHOWN = 3
_REASONS = {
    "equal": "are equal but have different labels",
    "zero": "are zero, where every such network outputs 0, but have nonzero labels",
    "ray": "lie on one ray from the origin, along which every such network scales, but their "
    "labels do not",
    "line": "lie on one line through the origin, along which every such network scales, but their "
    "labels do not",
    "odd": "are equal up to sign, where every such network outputs opposite values, but their "
    "labels are not opposite",
    "negative label": "have negative labels, which networks with a nonnegative head cannot output",
    "linear": "have labels that no linear function fits, and every such network is one",
}


@dataclass(frozen=True, eq=False)
class Degeneracy:
    """Facts about X (n x d, as stored) and, where labels matter, y (n,); each is computed when
    first asked for.
    """

    X: Array
    y: Array | None = None

    @cached_property
    def equal_rows(self) -> exact_algebra.Groups:
        """Groups of two or more equal rows (0.0 equals -0.0)."""
        return exact_algebra.equal_groups(self.X)

    @cached_property
    def conflicting_rows(self) -> exact_algebra.Groups:
        """Groups of equal rows whose labels are not all equal: zero loss is impossible for every
        model.
        """
        y = self._labels(None)
        return tuple(group for group in self.equal_rows if (y[list(group)] != y[group[0]]).any())

    @cached_property
    def zero_rows(self) -> tuple[int, ...]:
        """Indices of the rows that are zero."""
        return tuple(int(i) for i in np.flatnonzero((self.X == 0).all(axis=1)))

    @cached_property
    def lines(self) -> exact_algebra.Groups:
        """Groups of two or more nonzero rows that are multiples of each other, of either sign."""
        return exact_algebra.line_groups(self.X)

    @cached_property
    def rays(self) -> exact_algebra.Groups:
        """Groups of two or more nonzero rows that are positive multiples of each other."""
        positive = exact_algebra.pivots(self.X)[1] > 0
        halves = [
            tuple(i for i in line if positive[i] == side)
            for line in self.lines
            for side in (True, False)
        ]
        return tuple(sorted(half for half in halves if len(half) > 1))

    @cached_property
    def opposite_rows(self) -> exact_algebra.Groups:
        """Groups of two or more nonzero rows that are equal up to sign."""
        return exact_algebra.opposite_groups(self.X)

    @cached_property
    def rank_bounds(self) -> tuple[int, int]:
        """Proved bounds (lower, upper) of the rank of X; equal unless the exact elimination would
        be too large.
        """
        return rank_bounds(self.X)

    @property
    def rank(self) -> int | None:
        """The exact rank of X, or None where only `rank_bounds` is affordable."""
        lower, upper = self.rank_bounds
        return lower if lower == upper else None

    @cached_property
    def line_representatives(self) -> NDArray[np.intp]:
        """One nonzero row of every line: rows on different lines are not parallel."""
        keep = (self.X != 0).any(axis=1)
        for line in self.lines:
            keep[list(line[1:])] = False
        return np.flatnonzero(keep)

    def estimate_closest_pair(self) -> exact_algebra.NearPair | None:
        """The most nearly parallel rows that are not exactly parallel, and their angle, in floating
        point (cost n^2 d).
        """
        return exact_algebra.estimate_closest_pair(self.X, self.line_representatives)

    def loss_floor(
        self,
        activation: Activation | str,
        y: object = None,
        heads: Heads = "any",
        *,
        certifiable: bool = False,
    ) -> LossFloor:
        """A loss that no shallow network with this activation can beat on these data, and the
        groups of samples that cause it.

        A proved lower bound, exact as a number; where it is the least loss itself, and where not,
        is said in `globalmin.data.loss_floor.loss_floor`.

        Parameters
        ----------
        activation : name or `Activation`.
        y : labels; the data set's own when not given.
        heads : "any", or "nonnegative" for networks with v >= 0 and phi >= 0.
        certifiable : only what the claim `loss-floor` can state.

        Theory
        ------
        Section 6 of the certificate theorems, claim `loss-floor` (group-floor/1).
        """
        from globalmin.activations import get_activation

        return loss_floor(
            self, get_activation(activation), self._labels(y), heads=heads, certifiable=certifiable
        )

    def message(self, activation: Activation | str, heads: Heads = "any") -> str:
        """Why zero loss is impossible, naming the first few rows; empty when nothing is known
        against it.
        """
        floor, groups = self.loss_floor(activation, heads=heads)
        if not groups:
            return ""
        shown = "; ".join(_sentence(group) for group in groups[:_SHOWN])
        more = f"; and {len(groups) - _SHOWN} more groups" if len(groups) > _SHOWN else ""
        limit = " and a head v >= 0" if heads == "nonnegative" else ""
        covered = f"on these data for networks with activation {activation}{limit}"
        least = f"the loss is at least {float(floor):.6g}"
        return f"zero loss is impossible {covered}, {least} (counting rows from 0): {shown}{more}"

    def warn(self, activation: Activation | str, heads: Heads = "any") -> None:
        """Issue a DegenerateDataWarning when zero loss is impossible."""
        text = self.message(activation, heads)
        if text:
            warnings.warn(text, DegenerateDataWarning, stacklevel=2)

    def near_message(self, below: float = 1e-6) -> str:
        """Which rows are nearly, not exactly, parallel (angle under `below`); empty when none are.
        An estimate, cost n^2 d.
        """
        pair = self.estimate_closest_pair()
        if pair is None or pair.angle >= below:
            return ""
        return (
            f"rows {pair.i} and {pair.j} (counting from 0) are nearly parallel, about "
            f"{pair.angle:.2g} radians apart: Gram matrices will be nearly singular and proofs may "
            "fail; remove one of them or measure more precisely"
        )

    def _labels(self, y: object) -> Array:
        if y is not None:
            return as_targets(y, self.X.shape[0])[:, 0]
        if self.y is None:
            raise DataError(
                "the data have several targets, so the labels are ambiguous; use "
                "data.for_target(j).degeneracy or pass y"
            )
        return self.y


def _sentence(group: Group) -> str:
    rows = group.members
    listed = ", ".join(str(i) for i in rows[:5]) + (", ..." if len(rows) > 5 else "")
    if len(rows) == 1:
        return (
            f"row {listed} "
            f"{_REASONS[group.kind].replace('are zero', 'is zero').replace('have', 'has')}"
        )
    return f"rows {listed} {_REASONS[group.kind]}"
