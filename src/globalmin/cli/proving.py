"""From a trained network to a verdict: certify, write the file, and let the checker read it back
from its path.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin.cli import exits
from globalmin.cli.console import working
from globalmin.errors import CannotCertify, HypothesisError, MemoryRefused
from globalmin.report.proof import Proof, no_proof, proof_from

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.proving.certificate import Certificate
    from globalmin.proving.claim import Claim
    from globalmin.shallow.network import ShallowNetwork

TINY_PENALTIES = (1e-8, 1e-7)  # of the loss


@dataclass(frozen=True)
class Attempt:
    """What came of trying to prove something: the proof, the exit code it means, and how long each
    part took.
    """

    proof: Proof
    exit_code: int
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def has_file(self) -> bool:
        """Whether a certificate file was written."""
        return bool(self.proof.claims) or self.proof.verdict in (
            "MALFORMED",
            "REJECTED",
            "UNDECIDED",
        )


def prove(
    network: ShallowNetwork,
    data: Dataset,
    path: Path,
    *,
    trained: str,
    claims: Sequence[str] | None = None,
    weight_decay: float | None = None,
    extras: Sequence[str] = (),
    quiet: bool = True,
) -> Attempt:
    """Certify, write the certificate to `path` and check that file; nothing is written if nothing
    can be proved.

    `claims` must hold all; those of `extras` that hold are added.
    """
    from globalmin.proving.checking import check

    started = time.perf_counter()
    try:
        with working("proving", quiet=quiet):
            certificate = _certificate(
                network, data, trained, claims=claims, weight_decay=weight_decay
            )
            certificate = replace(
                certificate, claims=(*certificate.claims, *_extra_claims(network, data, extras))
            )
    except (CannotCertify, HypothesisError, MemoryRefused) as error:
        reasons = error.reasons if isinstance(error, CannotCertify) else {}
        message = "none of the claims tried holds" if reasons else str(error).strip().rstrip(".")
        return Attempt(no_proof(reasons, message=message), exits.code_of_error(error))
    certificate.save(path)
    proved = time.perf_counter()
    with working("checking the file", quiet=quiet):
        proof = proof_from(check(path))
    return Attempt(
        proof,
        exits.code_of_proof(proof),
        {"prove": proved - started, "check": time.perf_counter() - proved},
    )


def _certificate(
    network: ShallowNetwork,
    data: Dataset,
    trained: str,
    *,
    claims: Sequence[str] | None,
    weight_decay: float | None,
) -> Certificate:
    """The certificate; where the squares of the inputs depend, so that no bound for all weights is
    provable, the gap of a quadratic network at a weight decay whose penalty is a tiny part of the
    loss: a bound for all weights that are not huge.
    """
    from globalmin.proving.producer import certify
    from globalmin.shallow.network import loss

    try:
        return certify(network, data, claims, trained, weight_decay=weight_decay)
    except CannotCertify:
        square = float((network.W**2).sum())
        if (
            claims is not None
            or weight_decay
            or trained != "W"
            or network.activation.name != "quadratic"
            or not square
        ):
            raise
        for part in TINY_PENALTIES:
            with suppress(CannotCertify):
                decay = 2.0 * part * loss(network, data.X, data.y) / square
                found = certify(network, data, ["optimality-gap"], trained, weight_decay=decay)
                if found.summary()["relative_gap"] <= 10.0 * part:
                    return found
        raise


def _extra_claims(network: ShallowNetwork, data: Dataset, kinds: Sequence[str]) -> list[Claim]:
    from globalmin.proving.producer import certify

    found: list[Claim] = []
    for kind in kinds:
        with suppress(CannotCertify, MemoryRefused):
            found += certify(network, data, [kind]).claims
    return found


def prove_into(network: ShallowNetwork, data: Dataset, path: Path, **options: Any) -> Attempt:
    """As `prove`, but the file appears at `path` only after it was checked."""
    handle, name = tempfile.mkstemp(prefix=".globalmin-", suffix=".gmc", dir=path.absolute().parent)
    os.close(handle)
    temporary = Path(name)
    try:
        attempt = prove(network, data, temporary, **options)
        if attempt.has_file:
            os.replace(temporary, path)
        return attempt
    finally:
        temporary.unlink(missing_ok=True)


def interrupted() -> Attempt:
    """The attempt that was not made because the user interrupted."""
    return Attempt(
        no_proof({}, message="it was interrupted before a proof was tried"), exits.INTERRUPTED
    )
