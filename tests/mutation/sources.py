"""The honest certificates every campaign starts from: the committed corpus."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.corpus.drafts import Draft, unseal
from tests.oracles.strict_container import network_kind

ACCEPTED = Path(__file__).resolve().parents[1] / "corpus" / "accepted"
LARGEST = 6000
SLOW = {
    "gram-positive"
}  # the truth oracle integrates for seconds, and for ever where the step is extreme


@cache
def sealed() -> list[tuple[str, bytes, bytes | None]]:
    """(name, certificate, data file) of every accepted certificate, the few long files left out."""
    result = []
    for path in sorted(ACCEPTED.glob("*.gmc")):
        data = path.with_suffix(".data")
        if path.stat().st_size <= LARGEST:
            result.append(
                (path.stem, path.read_bytes(), data.read_bytes() if data.exists() else None)
            )
    return result


@cache
def drafts() -> list[Draft]:
    """Those with a shallow network, opened, with their data inside."""
    opened = [unseal(raw, data) for _, raw, data in sealed() if network_kind(raw) == "shallow"]
    opened = [draft for draft in opened if draft.claims[0].fields["kind"] not in SLOW]
    for draft in opened:
        draft.stored = True
    return opened
