r"""A loss that no network of a class can beat on these data, as an exact fraction: the mathematics
of the claim `loss-floor`.

If every network of the class satisfies $f(x_i) = g_i t$ on a group of samples, with known $g_i$ and
one unknown $t$, the group costs at least $\frac12 (\|y\|^2 - (g \cdot y)^2 / \|g\|^2)$; disjoint
groups add up. Networks with a linear activation are linear functions, whose least loss is that of
least squares.

The groups are the one rule that training, this floor and the theory share (`tied_groups`). Uniting
groups that share a relation can only raise the floor, so the coarsest relation that the activation
allows is used: lines for homogeneous activations that are even or odd, rays for other homogeneous
ones, opposite pairs for other odd ones, equal rows for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._options import HEADS, Heads, one_of
from globalmin._types import Array, NDArray
from globalmin.data.exact_algebra import least_squares_floor, pivots
from globalmin.errors import HypothesisError

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data.degeneracy import Degeneracy

_EVEN = ("abs", "quadratic")
# the index is the code in the certificate file
KINDS = "equal", "zero", "ray", "line", "odd", "negative label"


class Group(NamedTuple):
    """Samples whose outputs are tied together: the kind and the indices; the first is the reference
    row.

    The kinds are those of the certificate format (`KINDS`) and "linear":
    all rows, where every network is a linear function.
    """

    kind: str
    members: tuple[int, ...]


def is_linear(activation: Activation) -> bool:
    """Whether phi(z) = c z with c > 0 or c < 0: networks of every width are then linear
    functions.
    """
    return activation.is_odd and activation.homogeneity == 1


def parity(activation: Activation) -> int:
    """1 if phi(-z) = phi(z) is known, -1 if phi(-z) = -phi(z) is, otherwise 0."""
    if activation.is_odd:
        return -1
    # odd powers were is_odd
    is_even_power = activation.name == "polynomial" and activation.homogeneity is not None
    return 1 if is_even_power or activation.name in _EVEN else 0


def tied_groups(
    facts: Degeneracy, activation: Activation, *, certifiable: bool = False
) -> list[Group]:
    """The disjoint groups of samples whose outputs are tied together for every network with this
    activation.

    Parameters
    ----------
    facts : the exact facts about the rows.
    activation : phi.
    certifiable : only groups of the certificate format, which knows rays and no lines for the
        linear activation.
    """
    zero = (
        [Group("zero", facts.zero_rows)] if activation.vanishes_at_zero and facts.zero_rows else []
    )
    if activation.homogeneity is not None:
        has_lines = parity(activation) == 1 or (parity(activation) == -1 and not certifiable)
        kind, groups = ("line", facts.lines) if has_lines else ("ray", facts.rays)
        return zero + [_named(facts, kind, rows) for rows in groups]
    if activation.is_odd:
        return zero + [_named(facts, "odd", rows) for rows in facts.opposite_rows]
    skipped = set(facts.zero_rows) if zero else set()
    return zero + [Group("equal", rows) for rows in facts.equal_rows if rows[0] not in skipped]


def _named(facts: Degeneracy, kind: str, members: tuple[int, ...]) -> Group:
    """Call a group "equal" when its rows are: that relation holds for every model."""
    rows = facts.X[list(members)]
    return Group("equal" if (rows == rows[0]).all() else kind, members)


class LossFloor(NamedTuple):
    """An exact lower bound of L over a class of networks of every width, and the disjoint groups
    that each cost something.
    """

    floor: Fraction
    groups: tuple[Group, ...]

    def rounded_down(self, bits: int = 256) -> Fraction:
        """A lower bound of `floor` with about `bits` significant bits, for files that limit the
        length of a number.
        """
        numerator, denominator = self.floor.numerator, self.floor.denominator
        shift = bits - (numerator.bit_length() - denominator.bit_length())
        if numerator == 0 or denominator.bit_length() <= bits:
            return self.floor
        scaled = (
            (numerator << shift) // denominator
            if shift >= 0
            else numerator // (denominator << -shift)
        )
        return Fraction(scaled, 1 << shift) if shift >= 0 else Fraction(scaled << -shift)

    def tensors(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Arrays (members, sizes, kinds) as the certificate stores them; a kind is its index in
        `KINDS`.
        """
        members = [i for group in self.groups for i in group.members]
        sizes = [len(group.members) for group in self.groups]
        kinds = [KINDS.index(group.kind) for group in self.groups]
        return (
            np.array(members, dtype=np.int64),
            np.array(sizes, dtype=np.int64),
            np.array(kinds, dtype=np.int64),
        )


def loss_floor(
    facts: Degeneracy,
    activation: Activation,
    y: Array,
    *,
    heads: Heads = "any",
    certifiable: bool = False,
) -> LossFloor:
    """A proved lower bound, exact as a number, of L = (1/2) sum of squared residuals over all
    networks with this activation.

    It is the least loss itself for linear networks, where it is that of least squares, and for wide
    networks where tied samples are all that stands in the way: tanh, erf, abs, and softplus,
    sigmoid, ReLU, leaky ReLU if no two rows point in opposite directions (never with a bias).
    Elsewhere, as for quadratic networks with more samples than d(d+1)/2, the least loss may be
    larger.

    Parameters
    ----------
    facts, activation, y : facts about the rows, phi, and the labels.
    heads : "any", or "nonnegative" for networks with v >= 0 (needs phi >= 0; then outputs are >= 0
        and negative labels cost too).
    certifiable : only what the claim can state: for linear networks the rays instead of least
        squares.

    Theory
    ------
    Section 6 of the certificate theorems, claim `loss-floor` (group-floor/1).
    """
    nonnegative = _check_heads(heads, activation)
    tied = list(tied_groups(facts, activation, certifiable=certifiable))
    if not tied and not nonnegative and (certifiable or not is_linear(activation)):
        return LossFloor(Fraction(0), ())  # the usual case, without a fraction for every label
    labels = [Fraction(value) for value in y.tolist()]
    degree, odd = activation.homogeneity or 0, activation.is_odd

    def priced(groups: Iterable[Group]) -> list[tuple[Group, Fraction]]:
        costs = (
            (group, group_floor(facts.X, labels, group, degree, odd=odd, nonnegative=nonnegative))
            for group in groups
        )
        return [(group, cost) for group, cost in costs if cost]

    chosen = priced(tied)
    if nonnegative:
        taken = {i for group, _ in chosen for i in group.members}
        chosen += priced(
            Group("negative label", (i,))
            for i, label in enumerate(labels)
            if label < 0 and i not in taken
        )
    floor = LossFloor(exact_sum(cost for _, cost in chosen), tuple(group for group, _ in chosen))
    return floor if certifiable or not is_linear(activation) else _least_squares(facts.X, y, floor)


def _least_squares(X: Array, y: Array, tied: LossFloor) -> LossFloor:
    """The least loss of linear functions; the floor of the ties where it says as much, or where
    integers would be too large.
    """
    least = least_squares_floor(X, y)
    return (
        tied
        if least is None or least <= tied.floor
        else LossFloor(least, (Group("linear", tuple(range(len(y)))),))
    )


def group_floor(
    X: Array,
    labels: Sequence[Fraction],
    group: Group,
    degree: int,
    *,
    odd: bool = False,
    nonnegative: bool = False,
) -> Fraction:
    """Cost of one group: (1/2)(|y|^2 - (g.y)^2/|g|^2), with g.y replaced by max(0, g.y) when t >= 0
    is known.
    """
    g = _factors(X, group, degree, odd=odd)
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


def _factors(X: Array, group: Group, degree: int, *, odd: bool) -> list[Fraction]:
    """The g_i up to one common factor, which does not matter: all members have their first nonzero
    entry in the same column.
    """
    if group.kind == "zero":
        return [Fraction(0)] * len(group.members)
    if group.kind in ("equal", "negative label"):
        return [Fraction(1)] * len(group.members)
    lead = pivots(X[list(group.members)])[1].tolist()
    if group.kind == "odd":
        return [Fraction(1 if value > 0 else -1) for value in lead]
    return [Fraction(value) ** degree if odd else abs(Fraction(value)) ** degree for value in lead]


def _check_heads(heads: Heads, activation: Activation) -> bool:
    one_of("heads", heads, HEADS)
    if heads == "nonnegative" and not activation.is_nonnegative:
        raise HypothesisError(
            'heads="nonnegative" needs an activation that is nowhere negative, and '
            f"{activation.name} is not known to be; "
            'use heads="any"',
            hypothesis="phi >= 0",
            value=activation.name,
        )
    return heads == "nonnegative"
