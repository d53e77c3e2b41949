"""The one table of facts: theorem ID -> the function that says what it means for an instance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from globalmin.errors import DataError
from globalmin.facts.finding import TheoremReport
from globalmin.facts.instance import Instance
from globalmin.references import states

Fact = Callable[[Any], TheoremReport]

# modules that register facts, in the order of the table that `inspect` prints
HOMES = (
    "globalmin.kernels.facts_smooth",
    "globalmin.kernels.facts_relu",
    "globalmin.deep.facts",
    "globalmin.deep.facts_lemmas",
    "globalmin.quadratic.facts",
    "globalmin.quadratic.facts_teacher",
    "globalmin.kernels.facts_spectrum",
    "globalmin.recovery.facts",
    "globalmin.recovery.facts_teacher",
    "globalmin.kernels.facts_lemmas",
    "globalmin.kernels.facts_signs",
    "globalmin.kernels.facts_start",
    "globalmin.patches.facts",
    "globalmin.factorization.facts",
    "globalmin.balancedness.facts",
    "globalmin.one_filter.facts",
    "globalmin.octopus.facts",
)

_FACTS: dict[str, Fact] = {}
_SUBJECTS: dict[str, type] = {}
_HEADLINES: list[str] = []


def fact(*items: str, headline: bool = False, subject: type = Instance) -> Callable[[Fact], Fact]:
    """Register what an item says of an instance.

    The first ID is the one the report carries; further ones are lemmas that the same numbers
    answer. A headline has a row in the table of `inspect`; the others are answered by
    `gm.theorem(ID, data)` and `Inspection.theorem`. A theorem that is not about tables of data
    names its subject: a teacher of one filter, an octopus.
    """

    def register(function: Fact) -> Fact:
        for item in items:
            if item in _FACTS:
                raise DataError(
                    f"two facts for {item}: {_FACTS[item].__name__}, {function.__name__}"
                )
            _FACTS[item] = function
            _SUBJECTS[item] = subject
        if headline:
            _HEADLINES.append(items[0])
        return states(*items)(function)

    return register


def facts() -> dict[str, Fact]:
    """Every fact of every family by ID."""
    for home in HOMES:
        import_module(home)
    return dict(_FACTS)


def subject_of(item: str) -> type:
    """What the fact of this item is asked about."""
    facts()
    return _SUBJECTS[item]


def ask(item: str, instance: object) -> TheoremReport:
    """What the item says of the instance, under the ID that was asked for."""
    return replace(facts()[item](instance), item=item)


def headlines(instance: Instance) -> tuple[TheoremReport, ...]:
    """The rows of the table of `inspect`."""
    table = facts()
    return tuple(table[item](instance) for item in sorted(_HEADLINES, key=_place))


def _place(item: str) -> tuple[int, int]:
    function = _FACTS[item]
    return HOMES.index(function.__module__), _HEADLINES.index(item)
