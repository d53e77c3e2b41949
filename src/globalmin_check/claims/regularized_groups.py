"""The groups of columns of a regularized network, and the columns in which it is monotone (section
3 of the format page).
"""

from __future__ import annotations

from itertools import pairwise

from globalmin_check import limits
from globalmin_check.canonical import Fields
from globalmin_check.verdict import Malformed

Group = tuple[int, ...]
CLASSES = ("columns", "pairs", "all")


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
