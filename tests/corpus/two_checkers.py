"""The fast checker through its public function, the slow one beside it: one call, two outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.oracles.fraction_checker import Outcome, check_bytes

from globalmin_check import check_file

VERDICTS = {"ACCEPTED", "REJECTED", "MALFORMED", "UNDECIDED"}
REFUSALS = {"REJECTED", "MALFORMED"}


@dataclass(frozen=True)
class Bench:
    """A folder in which certificates are written for the fast checker, which reads files only."""

    folder: Path

    def fast(self, raw: bytes, data: bytes | None = None) -> Outcome:
        """Verdict and reason of globalmin_check; an exception is reported as the verdict CRASH."""
        path, data_path = self.folder / "certificate.gmc", self.folder / "certificate.data"
        path.write_bytes(raw)
        if data is not None:
            data_path.write_bytes(data)
        try:
            result = check_file(path, data_path if data is not None else None)
            return Outcome(str(result.verdict.value), str(result.reason))
        except Exception as error:
            return Outcome("CRASH", f"{type(error).__name__}: {error}")

    def both(self, raw: bytes, data: bytes | None = None) -> tuple[Outcome, Outcome]:
        """(fast, slow)."""
        return self.fast(raw, data), check_bytes(raw, data)


def contradict(fast: Outcome, slow: Outcome) -> bool:
    """One accepts what the other certainly refuses, or there is no verdict at all."""
    pair = {fast.verdict, slow.verdict}
    return not pair <= VERDICTS or ("ACCEPTED" in pair and bool(pair & REFUSALS))
