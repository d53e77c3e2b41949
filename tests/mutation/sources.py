"""The honest certificates every campaign starts from: the committed corpus."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tests.certificates.drafts import Draft, unseal

ACCEPTED = Path(__file__).resolve().parents[1] / "certificates" / "accepted"
LARGEST = 6000


@cache
def sealed() -> list[tuple[str, bytes, bytes | None]]:
    """(name, certificate, data file) of every accepted certificate, the few long files left out."""
    result = []
    for path in sorted(ACCEPTED.glob("*.gmc")):
        data = path.with_suffix(".data")
        if path.stat().st_size <= LARGEST:
            result.append((path.stem, path.read_bytes(), data.read_bytes() if data.exists() else None))
    return result


@cache
def drafts() -> list[Draft]:
    """The same, opened, with their data inside."""
    opened = [unseal(raw, data) for _, raw, data in sealed()]
    for draft in opened:
        draft.stored = True
    return opened
