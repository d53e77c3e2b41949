"""One file of rejected/, as data."""

from __future__ import annotations

from dataclasses import dataclass

from tests.corpus.drafts import Draft


@dataclass(frozen=True)
class Fault:
    """One file of rejected/: the draft, the words expected in the reason, the verdicts allowed, the
    draft whose data file is given."""

    draft: Draft
    reason: str = ""
    verdicts: tuple[str, ...] = ("REJECTED",)
    other_data: Draft | None = None
