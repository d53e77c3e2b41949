"""`--explain`: the theorem of each claim with its numbers in plain words."""

from __future__ import annotations

import textwrap

from globalmin_check.claims import KINDS
from globalmin_check.verdict import ClaimResult, Result, Verdict


def explained(result: Result) -> str:
    """The text printed after the verdict: theorem, every hypothesis with its measured value,
    conclusion, what is not proved.
    """
    lines: list[str] = []
    for index, claim in enumerate(result.claims):
        meaning = KINDS[claim.kind].meaning
        lines += [
            "",
            f"Claim {index}: {claim.kind}, {claim.verdict.value}",
            *_wrapped(meaning),
            *_checks(claim),
        ]
        lines += _conclusion(claim)
    lines += [
        "",
        "Not proved, or not said:",
        *(line for note in result.notes for line in _wrapped(f"- {note}")),
    ]
    return "\n".join(lines)


def _checks(claim: ClaimResult) -> list[str]:
    at = f" (enclosures at {claim.bits} bits)" if claim.bits else ""
    lines = [f"  Hypotheses, as measured from the stored numbers{at}:"]
    for check in claim.checks:
        found = f"{check.left} against {check.right}" if check.right else check.left
        lines.append(f"    [{check.number}] {check.inequality}: {found}: {check.outcome}")
    return lines


def _conclusion(claim: ClaimResult) -> list[str]:
    if claim.verdict is Verdict.ACCEPTED:
        vacuous = (
            [*_wrapped(f"But this says next to nothing: {claim.vacuous}.")] if claim.vacuous else []
        )
        return _wrapped(f"Conclusion, over the real numbers: {claim.statement}") + vacuous
    return _wrapped(
        f"No conclusion: {claim.reason}. The verdict speaks of the proof in the file, not of the "
        "truth of the claim."
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 118, initial_indent="  ", subsequent_indent="  ")
