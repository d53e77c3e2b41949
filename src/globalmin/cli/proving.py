"""From a trained network to a verdict: certify, write the file, and let the checker read it back from its path."""

from __future__ import annotations

import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from globalmin.cli import exits
from globalmin.cli.console import working
from globalmin.errors import CannotCertify, HypothesisError, MemoryRefused
from globalmin.report.proof import Proof, no_proof, proof_from

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.networks import ShallowNetwork


@dataclass(frozen=True)
class Attempt:
    """What came of trying to prove something: the proof, the exit code it means, and how long each part took."""

    proof: Proof
    exit_code: int
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def has_file(self) -> bool:
        """Whether a certificate file was written."""
        return bool(self.proof.claims) or self.proof.verdict in ("MALFORMED", "REJECTED", "UNDECIDED")


def prove(network: ShallowNetwork, data: Dataset, path: Path, *, trained: str, quiet: bool = True) -> Attempt:
    """Certify, write the certificate to `path` and check that file; nothing is written if nothing can be proved."""
    from globalmin.certificates import certify, check

    started = time.perf_counter()
    try:
        with working("proving", quiet=quiet):
            certificate = certify(network, data, trained=trained)
    except (CannotCertify, HypothesisError, MemoryRefused) as error:
        reasons = error.reasons if isinstance(error, CannotCertify) else {}
        message = "none of the claims tried holds" if reasons else str(error).strip().rstrip(".")
        return Attempt(no_proof(reasons, message=message), exits.code_of_error(error))
    certificate.save(path)
    proved = time.perf_counter()
    with working("checking the file", quiet=quiet):
        proof = proof_from(check(path))
    return Attempt(proof, exits.code_of_proof(proof), {"prove": proved - started, "check": time.perf_counter() - proved})


def prove_into(network: ShallowNetwork, data: Dataset, path: Path, *, trained: str, quiet: bool = True) -> Attempt:
    """As `prove`, but the file appears at `path` only after it was checked."""
    handle, name = tempfile.mkstemp(prefix=".globalmin-", suffix=".gmc", dir=path.absolute().parent)
    os.close(handle)
    temporary = Path(name)
    try:
        attempt = prove(network, data, temporary, trained=trained, quiet=quiet)
        if attempt.has_file:
            os.replace(temporary, path)
        return attempt
    finally:
        temporary.unlink(missing_ok=True)


def interrupted() -> Attempt:
    """The attempt that was not made because the user interrupted."""
    return Attempt(no_proof({}, message="it was interrupted before a proof was tried"), exits.INTERRUPTED)
