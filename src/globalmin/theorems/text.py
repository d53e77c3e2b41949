"""A theorem as text for a terminal."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from globalmin.facts.finding import Finding, number

if TYPE_CHECKING:
    from globalmin.facts.finding import TheoremReport
    from globalmin.theorems.door import Theorem

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
        lines += _report(theorem.report)
    lines += ["", *_paragraph(f"Status: {theorem.status}.")]
    lines += _list("Functions", theorem.functions) + _list("Tests", theorem.tests)
    return "\n".join(lines) + "\n"


def _report(report: TheoremReport) -> list[str]:
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
