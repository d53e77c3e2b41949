"""`theorem`: one item of the catalogue in plain words, what it says of your data, and both as text
for a terminal.
"""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from globalmin._options import Scheme
from globalmin.data import Dataset
from globalmin.errors import DataError
from globalmin.facts.finding import Finding, TheoremReport, ask, facts, number, subject_of
from globalmin.facts.instance import Instance
from globalmin.references import works
from globalmin.theorems.sources import Entry, code_of_items, entry, tests_of

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork

FORMAT = "globalmin-theorem/1"


class Door(StrEnum):
    """How a user meets an item."""

    MEASURED = "measured: gm.theorem(ID, data)"
    PROVED = "proved: a claim of gm.certify"
    RUN = "run: gm.reproduce(ID)"
    COMPUTED = "computed: the functions named"
    NOTHING = "nothing to compute"


@dataclass(frozen=True)
class Theorem:
    """One item; print it, or ask for `to_json()`.

    Attributes
    ----------
    item, work, title : str
        ID, title of the work, and a name.
    statement, formula, correction : str
        As in the catalogue, corrected by us.
    doors : tuple[Door, ...]
        How one meets it, at least one.
    status : str
        The first of them in words, or why there is nothing to compute.
    functions, tests : tuple[str, ...]
        What stands behind it; tests only where the sources are at hand.
    report : TheoremReport | None
        What it says of the data given, with numbers; None without data.
    answer : str
        That in one line.
    """

    item: str
    work: str
    title: str
    statement: str
    formula: str
    correction: str
    doors: tuple[Door, ...]
    status: str
    functions: tuple[str, ...] = field(repr=False)
    tests: tuple[str, ...] = field(repr=False)
    report: TheoremReport | None = None
    answer: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers that are not finite become None."""
        content = {**asdict(self), "format": FORMAT, "doors": [door.name for door in self.doors]}
        return {**content, "report": None if self.report is None else self.report.to_dict()}

    def to_json(self) -> str:
        """The same as text, sorted keys, ended by a line feed."""
        text = json.dumps(
            self.to_dict(), sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False
        )
        return text + "\n"

    def __str__(self) -> str:

        return as_text(self)


def theorem(
    item: str,
    data: object = None,
    *,
    width: int | None = None,
    activation: str | Activation | None = None,
    network: ShallowNetwork | None = None,
    scheme: Scheme | None = None,
    seed: int = 0,
    **options: float,
) -> Theorem:
    """One numbered item in plain words: statement, formula, what we corrected, and what it says of
    your data.

    Parameters
    ----------
    item : str
        An ID such as "OS-T2.1"; `docs/theorems.md` lists them.
    data : Any
        A Dataset with one target; for the theorems about one filter a FilterTeacher, for those
        about saddles an Octopus. None for the statement alone.
    width : int | None
        Of the network that is drawn, as in `inspect`.
    activation : str | Activation | None
        Of that network; softplus by default.
    network : ShallowNetwork | None
        A network of yours that is measured instead, as in `inspect`.
    scheme : str | None
        The law of the drawn weights, as in `inspect`.
    seed : int
        Of the draw.
    options : float
        `delta`, `theta`, `failure`, `depth`, as in `inspect`.

    Returns
    -------
    Theorem
        Print it, or read `statement`, `answer` and `report`.

    Raises
    ------
    DataError
        For an unknown ID, with close matches, and for data that the item is not about.

    Examples
    --------
    >>> print(theorem("OS-L6.6").title)
    Size of the Jacobian
    """
    known = entry(item)
    functions = tuple(code_of_items().get(known.item, ()))
    doors = _doors(known, functions)
    asked = {
        "width": width,
        "activation": activation,
        "network": network,
        "scheme": scheme,
        "seed": seed,
        **options,
    }
    report = None if data is None else _report(known, data, asked)
    return Theorem(
        known.item,
        works()[known.item.partition("-")[0]].title,
        known.title,
        known.statement,
        known.formula,
        known.correction,
        doors,
        known.nothing or doors[0].value.replace("ID", f'"{known.item}"'),
        functions,
        tests_of(known.item),
        report,
        "" if data is None else _answer(known, report),
    )


def _doors(known: Entry, functions: tuple[str, ...]) -> tuple[Door, ...]:
    found = []
    if known.item in facts():
        found.append(Door.MEASURED)
    if any(".claims." in name for name in functions):
        found.append(Door.PROVED)
    if any(name.startswith("globalmin.reproductions.") for name in functions):
        found.append(Door.RUN)
    if functions and not found:
        found.append(Door.COMPUTED)
    return tuple(found) or (Door.NOTHING,)


def _report(known: Entry, data: object, options: dict[str, Any]) -> TheoremReport | None:
    if known.item not in facts():
        return None
    subject = subject_of(known.item)
    if subject is not Instance:
        if not isinstance(data, subject):
            raise DataError(
                f"{known.item} is about a {subject.__name__}, not about a table of data; give one, "
                f"such as globalmin.{_home(subject)}(...)"
            )
        return ask(known.item, data)
    if not isinstance(data, Dataset):
        raise DataError(
            f"{known.item} is about a Dataset with one target; got a {type(data).__name__}"
        )
    from globalmin.inspection.inspection import pose

    return ask(known.item, pose(data, options.pop("width"), options.pop("activation"), **options))


def _home(subject: type) -> str:
    return f"{subject.__module__.removeprefix('globalmin.')}.{subject.__name__}"


def _answer(known: Entry, report: TheoremReport | None) -> str:
    if report is None:
        return known.nothing or "not about a table of data: see its functions"
    if not report.is_in_scope:
        return "not about this kind of network"
    return {
        "holds": "its hypotheses hold here",
        "fails": "a hypothesis fails here",
        "constant unknown": "not computable: constant unknown",
    }[report.finding.value]


WIDTH = 100
MARKS = {Finding.HOLDS: "+", Finding.FAILS: "-", Finding.UNKNOWN: "?"}


def as_text(theorem: Theorem) -> str:
    """Title, statement, formula and correction; then what it says of the data; then what stands
    behind it.
    """
    lines = [f"{theorem.item}  {theorem.title}", f"  {theorem.work}", ""]
    lines += [*_paragraph(theorem.statement), "", f"  {theorem.formula}"]
    if theorem.correction:
        lines += ["", *_paragraph(f"Corrected: {theorem.correction}")]
    if theorem.answer:
        lines += ["", *_paragraph(f"On your data: {theorem.answer}.")]
    if theorem.report is not None:
        lines += _report_lines(theorem.report)
    lines += ["", *_paragraph(f"Status: {theorem.status}.")]
    lines += _list("Functions", theorem.functions) + _list("Tests", theorem.tests)
    return "\n".join(lines) + "\n"


def _report_lines(report: TheoremReport) -> list[str]:
    lines = _paragraph(f"Here: {report.says}.")
    for hypothesis in report.hypotheses:
        measured = f"  ({hypothesis.measured})" if hypothesis.measured else ""
        lines += _hanging(f"{MARKS[hypothesis.finding]} ", f"{hypothesis.statement}{measured}")
    asked = {
        "least width": report.width,
        "step": report.step_size,
        "factor of ‖r‖ per step": report.rate,
        "failure probability, at most": report.failure,
    }
    numbers = [(what, value) for what, value in asked.items() if value is not None]
    numbers += list(report.numbers)
    wide = max((len(what) for what, _ in numbers), default=0)
    lines += [f"    {what:{wide}}  {number(value, 4)}" for what, value in numbers]
    return lines + (_paragraph(f"Instead: {report.instead}.") if report.instead else [])


def _list(word: str, names: tuple[str, ...]) -> list[str]:
    return [f"  {word}:", *(f"    {name}" for name in names)] if names else []


def _paragraph(text: str) -> list[str]:
    return _hanging("", text)


def _hanging(mark: str, text: str) -> list[str]:
    indent = "  " + " " * len(mark)
    return textwrap.wrap(
        text, WIDTH, initial_indent="  " + mark, subsequent_indent=indent, break_long_words=False
    )
