"""The four verdicts, the result object, and the exceptions that carry a verdict out of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NOTES = ("preprocessing is not proved: the statement is about the stored numbers",)  # of every file
GENERALIZATION_NOTE = "zero training loss is not generalization"
TRIVIAL = (
    "the gap is no smaller than the objective itself, so it follows from losses not being negative"
)
DESCENT_NOTE = "gradient descent in exact arithmetic, not a floating-point run"
BIAS_NOTE = (
    "the bias is an appended feature: the last column of X is constant 1, and the weights on it "
    "are part of W"
)


class Verdict(StrEnum):
    """What the checker says of a file or a claim; the strings are the first word printed."""

    ACCEPTED = "ACCEPTED"
    REJECTED = "REJECTED"
    MALFORMED = "MALFORMED"
    UNDECIDED = "UNDECIDED"

    @property
    def exit_code(self) -> int:
        """Exit code of `globalmin-check` (section 6 of the format page)."""
        return {"ACCEPTED": 0, "REJECTED": 1, "MALFORMED": 3, "UNDECIDED": 4}[self.value]


class Malformed(Exception):
    """The bytes are not a version-1 certificate."""


class Rejected(Exception):
    """A check certainly fails."""


class Undecided(Exception):
    """A check cannot be decided, or the work exceeds the budget."""


class TooCoarse(Exception):
    """A check is open at this precision, and there is a higher one."""


@dataclass(frozen=True)
class CheckLine:
    """One inequality of a claim page: its number there, the inequality in words, both sides as
    numbers, and the outcome.
    """

    number: str
    inequality: str
    left: str
    right: str
    outcome: str


@dataclass(frozen=True)
class ClaimResult:
    """Verdict on one claim. `statement` is empty unless the claim is accepted; `numbers` holds what
    was verified.

    Floats in `numbers` are rounded to the safe side (upper bounds up, lower bounds down); exact
    rationals are strings. `notes` say what the statement leaves out, `vacuous` why it says next to
    nothing (empty if it does not), `bits` is the one precision at which every enclosed check was
    made, `route` is "fast" where floats with proved bounds decided and "exact" where balls did.
    """

    kind: str
    verdict: Verdict
    reason: str
    statement: str = ""
    numbers: dict[str, str | float] | None = None
    checks: tuple[CheckLine, ...] = ()
    notes: tuple[str, ...] = ()
    vacuous: str = ""
    bits: int = 0
    route: str = "exact"


@dataclass(frozen=True)
class Result:
    """Verdict on a file: ACCEPTED only if every claim in it is. `route` names the weakest route
    that it rests on and what has to be trusted; empty for a file that was not checked.
    """

    verdict: Verdict
    reason: str
    claims: tuple[ClaimResult, ...] = ()
    notes: tuple[str, ...] = NOTES
    route: str = ""

    @property
    def statement(self) -> str:
        """The statements of all accepted claims, one per line."""
        return "\n".join(claim.statement for claim in self.claims if claim.statement)

    def to_json(self) -> str:
        """The whole result as one JSON object; infinite numbers become strings."""
        from globalmin_check.command.json_text import as_json

        return as_json(self)
