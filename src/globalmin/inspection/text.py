"""An inspection as a table for a terminal."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from globalmin.facts.finding import Finding, number

if TYPE_CHECKING:
    from globalmin.facts.finding import TheoremReport
    from globalmin.inspection.inspection import Inspection

WIDTH = 110
# convergence theorems with a width
PRINTED = "OS-T6.2", "OS-T2.1", "OS-T6.3", "OS-T2.3", "OS-T2.5", "DU-T2.2", "DU-T2.3"
MARKS = {Finding.HOLDS: "+", Finding.FAILS: "-", Finding.UNKNOWN: "?"}


def as_text(inspection: Inspection) -> str:
    """The whole table: instance, widths, quantities, theorems about this network, and the others in
    one line each.
    """
    inside = [report for report in inspection.theorems if report.is_in_scope]
    outside = [report for report in inspection.theorems if not report.is_in_scope]
    lines = [
        *_header(inspection),
        "",
        "Quantities (estimates in floats)",
        *_quantities(inspection),
        "",
        *_legend(),
    ]
    for report in inside:
        lines += _report(report)
    if outside:
        names = ", ".join(r.item for r in outside)
        line = f"Not about {inspection.activation} networks on such data: {names}"
        lines += ["", *textwrap.wrap(line, 120, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


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
        f"instance     {sizes} (head {i.head}, seed {i.seed})",
        f"recommended  width {i.recommended_width:,}: the least even k with k·rank(X) ≥ 1.2 × free "
        "outputs, tried first",
        f"a priori     {explicit}; {asked}",
        f"step         η = {number(i.step_size)} on ½Σr²; the linearized start predicts a rate of "
        f"{_rate(i.prediction.rate)}",
    ]
    for warning in i.warnings:
        lines += textwrap.wrap(f"warning      {warning}", WIDTH, subsequent_indent=" " * 13)
    return lines


def _quantities(i: Inspection) -> list[str]:
    width = max(len(q.symbol) for q in i.quantities)
    return [f"  {q.symbol:<{width}}  {number(q.value, 4):>10}  {q.meaning}" for q in i.quantities]


def _legend() -> list[str]:
    return [
        "Theorems about this kind of network (+ holds, - fails, ? constant unknown)",
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
