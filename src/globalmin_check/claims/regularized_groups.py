"""The groups of columns of a regularized network, the columns in which it is monotone, and the
shapes of its curves (section 3 of the format page).
"""

from __future__ import annotations

from itertools import pairwise

from globalmin_check import limits
from globalmin_check.canonical import Fields
from globalmin_check.verdict import Malformed

Group = tuple[int, ...]
CLASSES = ("columns", "pairs", "all")
SHAPES = ("none", "increasing", "decreasing", "convex", "concave")


def all_columns(network: Fields) -> tuple[str, tuple[Group, ...]]:
    """The one class of quadratic neurons."""
    return network.choice("groups", ("all",)), ()


def read_groups(network: Fields, d: int) -> tuple[str, tuple[Group, ...]]:
    """The name of the class, or "listed" with its maximal groups."""
    value = network.take("groups")
    if isinstance(value, str):
        if value not in CLASSES or (value == "pairs" and d < 2):
            raise Malformed(f"network.groups is {value[:40]!a}, or there is no pair of columns")
        return value, ()
    if not isinstance(value, list) or not 1 <= len(value) <= limits.GROUPS:
        raise Malformed(f"network.groups is not a list of 1 to {limits.GROUPS} groups")
    groups = [_group(entry, d) for entry in value]
    if len(set(groups)) < len(groups):
        raise Malformed("network.groups has a group twice")
    sets = [frozenset(group) for group in groups]
    maximal = (group for group, own in zip(groups, sets, strict=True) if not _inside(own, sets))
    return "listed", tuple(maximal)


def _inside(group: frozenset[int], others: list[frozenset[int]]) -> bool:
    return any(group < other for other in others)


def _group(entry: object, d: int) -> Group:
    if not isinstance(entry, list) or not entry:
        raise Malformed("network.groups has an entry that is not a non-empty list")
    group = tuple(column for column in entry if type(column) is int and 0 <= column < d)
    if len(group) < len(entry) or not all(a < b for a, b in pairwise(group)):
        raise Malformed("network.groups has a group that is not increasing columns of X")
    return group


def read_monotone(network: Fields, d: int) -> tuple[int, ...]:
    """One sign for each column."""
    values = network.array("monotone")
    signs = tuple(sign for sign in values if type(sign) is int and -1 <= sign <= 1)
    if len(values) != d or len(signs) != d:
        raise Malformed("network.monotone is not a list of -1, 0 or 1, one for each column")
    return signs


def read_shapes(network: Fields, d: int) -> tuple[str, ...]:
    """One word for each column, and not "none" for all."""
    values = network.array("shapes")
    words = tuple(word for word in values if isinstance(word, str) and word in SHAPES)
    if len(values) != d or len(words) != d or not any(word != "none" for word in words):
        raise Malformed("network.shapes is not a list of known shapes, one for each column")
    return words
