"""What the checker proved, as the report shows it: read from the checker's result on the file,
never from the producer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from globalmin.report.rounding import as_float

if TYPE_CHECKING:
    from globalmin.report.record import TargetRecord

NOT_PROVED = "NOT PROVED"
# weights of loss zero are near
ZERO_LOSS = "interpolation", "relu-interpolation", "descent", "relu-descent", "deep-descent"
# of the loss: a stored network with a wider gap to the floor is not said to be at the minimum
WIDEST_GAP = 1e-6
# certificates state the loss 0 of an exact fit as 2^-400, which no gap can be small against
EXACT_FIT = 2.0**-398


@dataclass(frozen=True)
class ProvedClaim:
    """One claim of the file: its kind, its verdict, the checker's statement and the numbers it
    verified.
    """

    kind: str
    verdict: str
    reason: str
    statement: str
    numbers: Mapping[str, str | float]

    def number(self, name: str) -> float | None:
        """A verified number as a double, None if the claim has none of this name."""
        value = self.numbers.get(name)
        return (
            None if value is None else float(value) if isinstance(value, float) else as_float(value)
        )


@dataclass(frozen=True)
class Proof:
    """Verdict on one certificate file. `claims` is empty when there is no file: then the verdict is
    `NOT_PROVED`.
    """

    verdict: str
    reason: str
    claims: tuple[ProvedClaim, ...] = ()
    notes: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_accepted(self) -> bool:
        """Whether every claim of the file is certainly true."""
        return self.verdict == "ACCEPTED"

    @property
    def reaches_minimum(self) -> bool:
        """Whether the accepted claims say that the stored network is at the global minimum.

        A loss floor or a lower bound far below the loss of the stored weights is a true statement
        too, but not this one; nor are the claims about saddles, stationary points, and what the
        data determine.
        """
        bounded = (self.claim("loss-floor"), self.claim("optimality-gap"))
        near_zero = any(c.kind in ZERO_LOSS for c in self.claims)
        return self.is_accepted and (
            near_zero or any(c is not None and _is_narrow(c) for c in bounded)
        )

    @property
    def color(self) -> str:
        """'green', 'amber' or 'red': whatever is not accepted is shown."""
        if self.is_accepted:
            return "green" if self.reaches_minimum else "amber"
        return "amber" if self.verdict == "UNDECIDED" else "red"

    def claim(self, *kinds: str) -> ProvedClaim | None:
        """The first accepted claim of one of these kinds, in the order of `kinds`."""
        found = [
            c for kind in kinds for c in self.claims if c.kind == kind and c.verdict == "ACCEPTED"
        ]
        return found[0] if found and self.is_accepted else None

    def smallest(self, name: str) -> float | None:
        """The least value of a verified upper bound over the accepted claims, such as
        `loss_upper`.
        """
        values = (
            [c.number(name) for c in self.claims if c.verdict == "ACCEPTED"]
            if self.is_accepted
            else []
        )
        known = [v for v in values if v is not None]
        return min(known) if known else None


def _is_narrow(claim: ProvedClaim) -> bool:
    gap, loss = claim.number("gap"), claim.number("objective")
    loss = claim.number("loss_upper") if loss is None else loss
    return gap is not None and loss is not None and (gap <= WIDEST_GAP * loss or gap <= EXACT_FIT)


def proof_from(result: Any) -> Proof:
    """A `Proof` from the result of `globalmin.certificates.check`."""
    claims = tuple(
        ProvedClaim(c.kind, str(c.verdict.value), c.reason, c.statement, dict(c.numbers or {}))
        for c in result.claims
    )
    return Proof(str(result.verdict.value), result.reason, claims, tuple(result.notes))


def no_proof(reasons: Mapping[str, str], *, message: str = "no certificate could be made") -> Proof:
    """The proof of a network for which no certificate exists."""
    return Proof(NOT_PROVED, message, reasons=dict(reasons))


def check_target(directory: str | Path, target: TargetRecord) -> Proof:
    """Run the checker on the certificate file of `target` in `directory`; a missing file is
    reported, not raised.
    """
    from globalmin.proving.checking import check

    if target.certificate is None:
        return no_proof(target.reasons, message=target.not_proved or "no certificate could be made")
    path = Path(directory) / target.certificate
    if not path.is_file():
        return no_proof(
            {}, message=f"the certificate {target.certificate} is missing from the folder"
        )
    return proof_from(check(path))
