"""The claims of the committed accepted/ files, opened for experiments in floats."""

from __future__ import annotations

from pathlib import Path

from tests.corpus.drafts import ClaimDraft, Draft, unseal
from tests.corpus.small_producer import Model
from tests.oracles.strict_container import network_kind

ACCEPTED = Path(__file__).resolve().parent / "accepted"
Case = tuple[str, Draft, ClaimDraft]


def opened(kind: str) -> list[Case]:
    """(file name, draft, claim) of the first few claims of this kind in every file with a shallow
    network.
    """
    cases = []
    for path in sorted(ACCEPTED.glob("*.gmc")):
        raw, data = path.read_bytes(), path.with_suffix(".data")
        if network_kind(raw) != "shallow":
            continue
        draft = unseal(raw, data.read_bytes() if data.exists() else None)
        cases += [
            (path.stem, draft, claim) for claim in draft.claims[:3] if claim.fields["kind"] == kind
        ]
    return cases


def model_of(draft: Draft) -> Model:
    """The stored network on its data."""
    return Model(draft.network, draft.X, draft.y, draft.W, draft.v)


def name_of(case: Case) -> str:
    """The file's name."""
    return case[0]
