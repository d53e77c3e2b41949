r"""The loss that no network of a class can beat on these data, as an exact fraction: the mathematics of the claim `loss-floor`.

If every network of the class satisfies $f(x_i) = g_i t$ on a group of samples, with known $g_i$ and one unknown $t$, the group
costs at least $\frac12 (\|y\|^2 - (g \cdot y)^2 / \|g\|^2)$; disjoint groups add up. Uniting two groups that share a relation can
only raise the sum, so the coarsest relation that the activation allows is used: lines for even homogeneous activations, rays for
homogeneous ones, opposite pairs for odd ones, equal rows for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalmin.data.proportionality import pivots
from globalmin.data.validation import Array
from globalmin.errors import DataError, HypothesisError

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data.degeneracy import Degeneracy

KINDS = ("equal", "zero", "ray", "line", "odd", "negative label")  # the index is the code in the certificate file
HEADS = ("any", "nonnegative")
_EVEN_HOMOGENEOUS = ("abs", "quadratic")


class Group(NamedTuple):
    """Samples whose outputs are tied together: the kind (one of `KINDS`) and the indices; the first is the reference row."""

    kind: str
    members: tuple[int, ...]


class LossFloor(NamedTuple):
    """An exact lower bound of L over a class of networks of every width, and the disjoint groups that each cost something."""

    floor: Fraction
    groups: tuple[Group, ...]

    def rounded_down(self, bits: int = 256) -> Fraction:
        """A lower bound of `floor` with about `bits` significant bits, for files that limit the length of a number."""
        numerator, denominator = self.floor.numerator, self.floor.denominator
        shift = bits - (numerator.bit_length() - denominator.bit_length())
        if numerator == 0 or denominator.bit_length() <= bits:
            return self.floor
        scaled = (numerator << shift) // denominator if shift >= 0 else numerator // (denominator << -shift)
        return Fraction(scaled, 1 << shift) if shift >= 0 else Fraction(scaled << -shift)

    def tensors(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Arrays (members, sizes, kinds) as the certificate stores them; a kind is its index in `KINDS`."""
        members = [i for group in self.groups for i in group.members]
        sizes = [len(group.members) for group in self.groups]
        kinds = [KINDS.index(group.kind) for group in self.groups]
        return np.array(members, dtype=np.int64), np.array(sizes, dtype=np.int64), np.array(kinds, dtype=np.int64)


def loss_floor(facts: Degeneracy, activation: Activation, y: Array, *, heads: str = "any") -> LossFloor:
    """The exact floor of L = (1/2) sum of squared residuals over all shallow networks with this activation.

    Parameters
    ----------
    heads : "any", or "nonnegative" for networks with v >= 0 (needs phi >= 0; then outputs are >= 0 and negative labels cost too).

    Theory
    ------
    Section 6 of the certificate theorems, claim `loss-floor` (group-floor/1).
    """
    nonnegative = _check_heads(heads, activation)
    labels = [Fraction(value) for value in y.tolist()]
    degree = activation.homogeneity or 0

    def priced(groups: Iterable[Group]) -> list[tuple[Group, Fraction]]:
        costs = ((group, group_floor(facts.X, labels, group, degree, nonnegative=nonnegative)) for group in groups)
        return [(group, cost) for group, cost in costs if cost]

    chosen = priced(tied_groups(facts, activation))
    if nonnegative:
        taken = {i for group, _ in chosen for i in group.members}
        chosen += priced(Group("negative label", (i,)) for i, label in enumerate(labels) if label < 0 and i not in taken)
    return LossFloor(exact_sum(cost for _, cost in chosen), tuple(group for group, _ in chosen))


def tied_groups(facts: Degeneracy, activation: Activation) -> list[Group]:
    """The disjoint groups of samples whose outputs are tied together for every network with this activation."""
    zero = [Group("zero", facts.zero_rows)] if activation.vanishes_at_zero and facts.zero_rows else []
    if activation.homogeneity is not None and activation.name in _EVEN_HOMOGENEOUS:
        return zero + [_named(facts, "line", line) for line in facts.lines]
    if activation.homogeneity is not None:
        return zero + [_named(facts, "ray", ray) for ray in facts.rays]
    if activation.is_odd:
        return zero + [_named(facts, "odd", rows) for rows in facts.opposite_rows]
    skipped = set(facts.zero_rows) if zero else set()
    return zero + [Group("equal", rows) for rows in facts.equal_rows if rows[0] not in skipped]


def group_floor(X: Array, labels: Sequence[Fraction], group: Group, degree: int, *, nonnegative: bool = False) -> Fraction:
    """Cost of one group: (1/2)(|y|^2 - (g.y)^2/|g|^2), with g.y replaced by max(0, g.y) when t >= 0 is known."""
    g = _factors(X, group, degree)
    y = [labels[i] for i in group.members]
    product = sum((a * b for a, b in zip(g, y, strict=True)), Fraction(0))
    square = sum((a * a for a in g), Fraction(0))
    explained = Fraction(0) if not square or (nonnegative and product < 0) else product**2 / square
    return (sum((b * b for b in y), Fraction(0)) - explained) / 2


def exact_sum(values: Iterable[Fraction]) -> Fraction:
    """Sum in a balanced tree, so that denominators grow only near the root."""
    terms = list(values)
    while len(terms) > 1:
        terms = [sum(terms[i : i + 2], Fraction(0)) for i in range(0, len(terms), 2)]
    return terms[0] if terms else Fraction(0)


def _factors(X: Array, group: Group, degree: int) -> list[Fraction]:
    """The g_i up to one common factor, which does not matter: all members have their first nonzero entry in the same column."""
    if group.kind == "zero":
        return [Fraction(0)] * len(group.members)
    if group.kind in ("equal", "negative label"):
        return [Fraction(1)] * len(group.members)
    lead = pivots(X[list(group.members)])[1].tolist()
    if group.kind == "odd":
        return [Fraction(1 if value > 0 else -1) for value in lead]
    return [abs(Fraction(value)) ** degree for value in lead]


def _named(facts: Degeneracy, kind: str, members: tuple[int, ...]) -> Group:
    """Call a group "equal" when its rows are: that relation holds for every model."""
    rows = facts.X[list(members)]
    return Group("equal" if (rows == rows[0]).all() else kind, members)


def _check_heads(heads: str, activation: Activation) -> bool:
    if heads not in HEADS:
        raise DataError(f"heads={heads!r} is unknown; choose one of {', '.join(map(repr, HEADS))}")
    if heads == "nonnegative" and not activation.is_nonnegative:
        raise HypothesisError(
            f'heads="nonnegative" needs an activation that is nowhere negative, and {activation.name} is not known to be; '
            'use heads="any"',
            hypothesis="phi >= 0",
            value=activation.name,
        )
    return heads == "nonnegative"
