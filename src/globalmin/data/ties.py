r"""Samples whose outputs are tied together for every network with an activation: $f(x_i) = g_i t$,
known $g_i$ and one free t.

The one rule that training, the loss floor and the theory share. Uniting groups that share a
relation can only raise the floor, so the coarsest relation that the activation allows is used:
lines for homogeneous activations that are even or odd, rays for other homogeneous ones, opposite
pairs for other odd ones, equal rows for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data.degeneracy import Degeneracy

_EVEN = ("abs", "quadratic")


class Group(NamedTuple):
    """Samples whose outputs are tied together: the kind and the indices; the first is the reference
    row.

    The kinds are those of the certificate format (`globalmin.data.loss_floor.KINDS`) and "linear":
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
