"""What the checker proved, as the report shows it: read from the checker's result on the file,
never from the producer.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from globalmin.proving.proof import Proof, no_proof, proof_from

if TYPE_CHECKING:
    from globalmin.report.record import TargetRecord


def color_of(proof: Proof) -> str:
    """'green', 'amber' or 'red': whatever is not accepted is shown."""
    if proof.is_accepted:
        return "green" if proof.reaches_minimum else "amber"
    return "amber" if proof.verdict == "UNDECIDED" else "red"


def proved_loss(proof: Proof) -> float | None:
    """The least proved bound of the loss of the stored weights, without weight decay."""
    known = [c.numbers.loss_upper for c in proof.accepted_claims]
    return min((bound for bound in known if bound is not None), default=None)


def check_target(directory: str | Path, target: TargetRecord) -> Proof:
    """Run the checker on the certificate file of `target` in `directory`; a missing file is
    reported, not raised.
    """
    from globalmin.proving.producer import check

    if target.certificate is None:
        return no_proof(target.reasons, message=target.not_proved or "no certificate could be made")
    path = Path(directory) / target.certificate
    if not path.is_file():
        return no_proof(
            {}, message=f"the certificate {target.certificate} is missing from the folder"
        )
    return proof_from(check(path))
