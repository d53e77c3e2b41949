"""Panels of the claims about quadratic networks: the bracket around the minimum, the dual spectrum,
barrier, sample count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.proving.claim import Proves
from globalmin.report import figures
from globalmin.report.panel import Panel, as_texts, make_panel, make_table
from globalmin.report.rounding import typeset, upper_text

if TYPE_CHECKING:
    from globalmin.proving.proof import Proof, ProvedClaim
    from globalmin.report.record import TargetRecord


def landscape_panels(target: TargetRecord, proof: Proof, *, prefix: str) -> list[Panel]:
    """The panels that the accepted claims about quadratic networks call for."""
    facts = target.quadratic or {}
    made: list[Panel] = []
    gap = proof.that(Proves.GAP)
    if gap is not None:
        made.append(_bracket_panel(gap, facts, prefix))
        if facts.get("threshold") and gap.numbers.is_penalized:
            made.append(_dual_panel(facts, gap, prefix))
    below = proof.that(Proves.DESCENT)
    if below is not None:
        made.append(_barrier_panel(below, prefix))
    counted = proof.that(Proves.DATA)
    if counted is not None and facts:
        made.append(_count_panel(facts, counted, prefix))
    return made


def _bracket_panel(claim: ProvedClaim, facts: dict[str, Any], prefix: str) -> Panel:
    gap, floor = claim.numbers.gap or 0.0, claim.numbers.floor or 0.0
    named = {"zero": "all weights zero", "linear": "least-squares line"}
    references = [
        (label, facts[name] - floor) for name, label in named.items() if facts.get(name) is not None
    ]
    caption = (
        "Nobody gets below the proved lower bound; the network is at most "
        f"{typeset(upper_text(gap))} above it. Gray: others on the same rows, floating point."
    )
    rows = [*references, ("this network, proved at most", gap)]
    table = make_table(
        ("", "above the lower bound"),
        [[name for name, _ in rows], as_texts(np.array([v for _, v in rows]), 4)],
    )
    return make_panel(
        "Distance to the global minimum",
        lambda: figures.bracket(gap, references),
        caption,
        table,
        f"{prefix}-bracket",
    )


def _dual_panel(facts: dict[str, Any], claim: ProvedClaim, prefix: str) -> Panel:
    values, threshold = (
        np.asarray(facts["dual_eigenvalues"], dtype=np.float64),
        float(facts["threshold"]),
    )
    two_sided = claim.numbers.covers_all_heads
    caption = (
        "Why this is the minimum: a neuron w would lower the penalized loss only if wᵀZw left the "
        "band. Orange: the eigenvalues on its edge, whose directions are the neurons. The proof "
        "moves the residual by the gap to be strictly inside."
    )
    table = make_table(
        ("index", "eigenvalue"),
        [[str(i + 1) for i in range(len(values))], as_texts(np.sort(values)[::-1], 6)],
    )

    def draw() -> Any:
        return figures.dual_spectrum(values, threshold=threshold, two_sided=two_sided)

    return make_panel("The dual certificate", draw, caption, table, f"{prefix}-dual")


def _barrier_panel(claim: ProvedClaim, prefix: str) -> Panel:
    excess, height = claim.numbers.E0 or 0.0, claim.numbers.barrier or 0.0
    caption = (
        "Descent never climbs, so it cannot meet rank-deficient weights, the only ones where it "
        "could get stuck."
    )
    table = make_table(
        ("", "loss above the least"),
        [["this network", "barrier"], as_texts(np.array([excess, height]), 4)],
    )
    return make_panel(
        "Below the barrier",
        lambda: figures.barrier(excess, height),
        caption,
        table,
        f"{prefix}-barrier",
    )


def _count_panel(facts: dict[str, Any], claim: ProvedClaim, prefix: str) -> Panel:
    n, needed, determined = int(facts["n"]), int(facts["needed"]), claim.numbers.rank is not None
    caption = (
        "The squares of the rows span all symmetric matrices: outputs on these rows determine a "
        "quadratic function everywhere."
        if determined
        else "The squares of the rows do not span the symmetric matrices: another network fits as "
        "well and differs elsewhere."
    )
    table = make_table(("", "count"), [["samples n", "d(d+1)/2"], [str(n), str(needed)]])
    return make_panel(
        "Samples and unknowns",
        lambda: figures.sample_count(n, needed, determined=determined),
        caption,
        table,
        f"{prefix}-count",
    )
