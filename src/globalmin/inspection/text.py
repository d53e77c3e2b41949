"""An inspection as a table for a terminal."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from globalmin.facts.assumptions import WIDER
from globalmin.facts.finding import Finding, number

if TYPE_CHECKING:
    from globalmin.facts.finding import TheoremReport
    from globalmin.inspection.inspection import Inspection

WIDTH = 110
# convergence theorems with a width
PRINTED = "OS-T6.2", "OS-T2.1", "OS-T6.3", "OS-T2.3", "OS-T2.5", "DU-T2.2", "DU-T2.3"
MARKS = {Finding.HOLDS: "+", Finding.FAILS: "-", Finding.UNKNOWN: "?"}


@dataclass(frozen=True)
class Standing:
    """The theorems of an inspection in the order in which one wants to read them.

    Attributes
    ----------
    holds : those whose hypotheses all hold.
    in_the_way : what would make further ones hold, each with the theorems it stands before; a
        theorem that needs two things is in two groups.
    refused : those that fail for a reason of their own, without a remedy.
    unknown : those with a constant that nobody knows.
    outside : those about other networks or data.
    """

    holds: tuple[TheoremReport, ...]
    in_the_way: tuple[tuple[str, tuple[TheoremReport, ...]], ...]
    refused: tuple[TheoremReport, ...]
    unknown: tuple[TheoremReport, ...]
    outside: tuple[TheoremReport, ...]

    @property
    def inside(self) -> tuple[TheoremReport, ...]:
        """Those about this kind of network, what holds first."""
        before = {report.item: report for _, group in self.in_the_way for report in group}
        return (*self.holds, *before.values(), *self.refused, *self.unknown)


def standing(inspection: Inspection) -> Standing:
    """Sort the theorems by what they say here."""
    inside = [report for report in inspection.theorems if report.is_in_scope]
    groups: dict[str, list[TheoremReport]] = {}
    refused = []
    for report in inside:
        if report.finding is not Finding.FAILS:
            continue
        if not all(missing(report)):
            refused.append(report)
            continue
        for remedy in missing(report):
            groups.setdefault(remedy, []).append(report)
    largest = sorted(groups.items(), key=lambda pair: -len(pair[1]))
    return Standing(
        tuple(r for r in inside if r.finding is Finding.HOLDS),
        tuple((remedy, tuple(found)) for remedy, found in largest),
        tuple(refused),
        tuple(r for r in inside if r.finding is Finding.UNKNOWN),
        tuple(r for r in inspection.theorems if not r.is_in_scope),
    )


def missing(report: TheoremReport) -> tuple[str, ...]:
    """What would make it hold, each thing once; empty words where there is no remedy."""
    return tuple(dict.fromkeys(h.remedy for h in report.hypotheses if h.finding is Finding.FAILS))


def named(report: TheoremReport) -> str:
    """The item, with the width from which it would hold where that is all that lacks, and a star
    where it lacks more than one thing.
    """
    lacks = missing(report)
    if lacks == (WIDER,) and report.width is not None and math.isfinite(report.width):
        return f"{report.item} (from {number(report.width)})"
    return f"{report.item}*" if len(lacks) > 1 else report.item


def as_text(inspection: Inspection) -> str:
    """The whole table: instance, what holds, what stands in the way of the rest, quantities, and
    theorem by theorem.
    """
    found = standing(inspection)
    lines = [
        *_header(inspection),
        "",
        *_summary(inspection, found),
        "",
        "Quantities (estimates in floats)",
        *_quantities(inspection),
        "",
        *_legend(),
    ]
    for report in found.inside:
        lines += _report(report)
    return "\n".join(lines) + "\n"


def _summary(i: Inspection, found: Standing) -> list[str]:
    lines = ["Holds here"]
    for report in found.holds:
        lines += _hanging(f"  {report.item:<9} {report.says}", 12)
    lines += [] if found.holds else ["  nothing at this width and these weights"]
    if found.in_the_way:
        lines += ["", "Stands in the way of the others (* lacks more than this)"]
    for remedy, reports in found.in_the_way:
        lines += _hanging(f"  {remedy} — {', '.join(map(named, reports))}", 6)
    short = (
        ("Fails for a reason of its own", found.refused),
        ("Constants that nobody knows", found.unknown),
        (f"Not about {i.activation} networks on such data", found.outside),
    )
    for title, reports in short:
        if reports:
            lines += ["", *_hanging(f"{title}: {', '.join(r.item for r in reports)}", 4)]
    return lines


def _hanging(text: str, indent: int) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, break_long_words=False)


def _header(i: Inspection) -> list[str]:
    explicit = f"width {number(i.explicit_width)} by OS-C6 (ours, explicit)"
    if math.isinf(i.explicit_width):
        explicit = (
            "no explicit width: OS-C6 needs a smooth activation with bounded φ' and φ'', and λ(X) "
            "> 0"
        )
    printed = min(
        (width for item, width in i.required_widths().items() if item in PRINTED), default=math.inf
    )
    asked = (
        "no printed width applies"
        if math.isinf(printed)
        else f"a printed theorem asks for at least {number(printed)}"
    )
    sizes = f"{i.n_samples:,} samples, {i.n_features} features, {i.activation}, width {i.width:,}"
    lines = [
        f"instance     {sizes} ({origin(i)})",
        f"recommended  width {i.recommended_width:,}: the least even k with k·rank(X) ≥ 1.2 × free "
        "outputs, tried first",
        f"a priori     {explicit}; {asked}",
        f"step         η = {number(i.step_size)} on ½Σr²; the linearized start predicts a rate of "
        f"{_rate(i.prediction.rate)}",
    ]
    for warning in i.warnings:
        lines += textwrap.wrap(f"warning      {warning}", WIDTH, subsequent_indent=" " * 13)
    return lines


def origin(i: Inspection) -> str:
    """Where the measured weights come from."""
    return "the given network" if i.head == "given" else f"head {i.head}, seed {i.seed}"


def _quantities(i: Inspection) -> list[str]:
    width = max(len(q.symbol) for q in i.quantities)
    return [f"  {q.symbol:<{width}}  {number(q.value, 4):>10}  {q.meaning}" for q in i.quantities]


def _legend() -> list[str]:
    return [
        "Theorem by theorem (+ holds, - fails, ? constant unknown, = computed here)",
        f"  {'item':<9} {'finding':<17} {'needs width':>11} {'step':>9} {'rate':>12} "
        f"{'fails w.p. ≤':>13}",
    ]


def _report(r: TheoremReport) -> list[str]:
    head = (
        f"  {r.item:<9} {r.finding.value:<17} {number(r.width):>11} {number(r.step_size):>9} "
        f"{_rate(r.rate):>12}"
    )
    lines = [f"{head} {number(r.failure):>13}"]
    lines += textwrap.wrap(r.says, WIDTH - 12, initial_indent=" " * 12, subsequent_indent=" " * 12)
    for h in r.hypotheses:
        measured = f"  [{h.measured}]" if h.measured else ""
        lines += textwrap.wrap(
            f"{MARKS[h.finding]} {h.statement}{measured}",
            WIDTH - 2,
            initial_indent=" " * 12,
            subsequent_indent=" " * 14,
        )
    for what, value in r.numbers:
        lines.append(f"{' ' * 12}= {what}: {number(value, 4)}")
    if r.instead and r.finding is not Finding.HOLDS:
        lines += textwrap.wrap(
            f"instead: {r.instead}", WIDTH - 2, initial_indent=" " * 12, subsequent_indent=" " * 14
        )
    return lines


def _rate(rate: float | None) -> str:
    """'0.93', or '1 − 2.1e-09' close to one, where rounding would hide it."""
    if rate is None or rate != rate:
        return "–"
    return f"1 − {number(1.0 - rate, 2)}" if 0.0 < 1.0 - rate < 1e-3 else number(rate, 4)
