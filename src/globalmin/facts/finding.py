"""What is found out about one theorem on one instance: its hypotheses one by one and the numbers
it promises; and the one table of facts, theorem ID -> the function that says what it means.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from importlib import import_module
from typing import Any

from globalmin.errors import DataError
from globalmin.facts.instance import Instance
from globalmin.references import states


class Finding(StrEnum):
    """The three answers: the hypothesis holds, it fails, or it needs a constant that nobody
    knows.
    """

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "constant unknown"


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis: what it asks, the finding, and the measured value (estimates in floats unless
    said otherwise).

    `is_scope` marks those that say what kind of network the theorem is about at all. `remedy` is
    what would make it hold, in words that theorems share, so that they can be grouped.
    """

    statement: str
    finding: Finding
    measured: str = ""
    is_scope: bool = False
    remedy: str = ""


@dataclass(frozen=True)
class TheoremReport:
    """One theorem on this instance.

    Attributes
    ----------
    item : its ID in the catalogue.
    says : what it promises, in plain words.
    hypotheses : each with its finding.
    width : least width it asks for (infinite: never satisfied; None: it asks for no width, or only
        with unknown constants).
    step_size, rate : step on the loss (1/2) sum of squares, and factor of the residual norm per
        step; None where it gives none.
    failure : bound of the probability that a random start breaks the promise, at this instance's
        width; None if it has none.
    instead : what this program can say where the theorem cannot.
    numbers : what was computed on the instance, each with the words that say what it is.
    """

    item: str
    says: str
    hypotheses: tuple[Hypothesis, ...]
    width: float | None = None
    step_size: float | None = None
    rate: float | None = None
    failure: float | None = None
    instead: str = ""
    numbers: tuple[tuple[str, float], ...] = ()

    @property
    def finding(self) -> Finding:
        """FAILS if a hypothesis fails, else UNKNOWN if one needs an unknown constant, else
        HOLDS.
        """
        found = {hypothesis.finding for hypothesis in self.hypotheses}
        return next(
            (finding for finding in (Finding.FAILS, Finding.UNKNOWN) if finding in found),
            Finding.HOLDS,
        )

    @property
    def is_in_scope(self) -> bool:
        """Whether the theorem is about this kind of network."""
        return all(h.finding is not Finding.FAILS for h in self.hypotheses if h.is_scope)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers that are not finite become None."""
        content = {**asdict(self), "finding": self.finding.value, "is_in_scope": self.is_in_scope}
        content["hypotheses"] = [{**asdict(h), "finding": h.finding.value} for h in self.hypotheses]
        content["numbers"] = [{"what": what, "value": finite(x)} for what, x in self.numbers]
        content["never_wide_enough"] = self.width is not None and math.isinf(self.width)
        names = ("width", "step_size", "rate", "failure")
        return content | {name: finite(content[name]) for name in names}


def finite(value: float | None) -> float | None:
    """The number as JSON can hold it: None where it is missing or not finite."""
    return float(value) if value is not None and math.isfinite(value) else None


def check(
    statement: str,
    condition: bool,
    measured: str = "",
    *,
    is_scope: bool = False,
    remedy: str = "",
) -> Hypothesis:
    """A hypothesis that was decided."""
    found = Finding.HOLDS if condition else Finding.FAILS
    return Hypothesis(statement, found, measured, is_scope, "" if condition else remedy)


def unknown(statement: str, measured: str = "") -> Hypothesis:
    """A hypothesis with a constant that nobody knows; `measured` is the quantity it would be
    compared with.
    """
    return Hypothesis(statement, Finding.UNKNOWN, measured)


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: '40', '0.0196', '6.1e+09'; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.{digits}g}"


Fact = Callable[[Any], TheoremReport]

# modules that register facts, in the order of the table that `inspect` prints
HOMES = (
    "globalmin.kernels.facts_smooth",
    "globalmin.kernels.facts_weights",
    "globalmin.kernels.facts_relu",
    "globalmin.deep.facts_convergence",
    "globalmin.deep.facts",
    "globalmin.quadratic.facts_landscape",
    "globalmin.quadratic.facts_teacher",
    "globalmin.quadratic.facts_samples",
    "globalmin.kernels.facts_spectrum",
    "globalmin.recovery.facts_planted",
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
    return _as_given(replace(facts()[item](instance), item=item), instance)


def headlines(instance: Instance) -> tuple[TheoremReport, ...]:
    """The rows of the table of `inspect`."""
    table = facts()
    return tuple(
        _as_given(table[item](instance), instance) for item in sorted(_HEADLINES, key=_place)
    )


GIVEN = (("drawn start", "given network"), ("drawn network", "given network"))


def _as_given(report: TheoremReport, instance: object) -> TheoremReport:
    """The same report, its words about the drawn start said of the network the user gave."""
    if not (isinstance(instance, Instance) and instance.start.is_given):
        return report

    def said(text: str) -> str:
        for drawn, given in GIVEN:
            text = text.replace(drawn, given)
        return text

    hypotheses = tuple(
        replace(h, statement=said(h.statement), measured=said(h.measured))
        for h in report.hypotheses
    )
    numbers = tuple((said(what), value) for what, value in report.numbers)
    return replace(
        report,
        says=said(report.says),
        hypotheses=hypotheses,
        instead=said(report.instead),
        numbers=numbers,
    )


def _place(item: str) -> tuple[int, int]:
    function = _FACTS[item]
    return HOMES.index(function.__module__), _HEADLINES.index(item)
