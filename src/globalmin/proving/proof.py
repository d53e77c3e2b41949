"""`Proof`: what the checker says of one network, or why there is nothing to check."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from globalmin.proving.claim import EXACT_FIT, WIDEST_GAP, ClaimRecord, Proves, records

if TYPE_CHECKING:
    from globalmin_check import Result


Number = str | float
"""A double that the checker rounded to the safe side, or an exact rational "p/q"."""


@dataclass(frozen=True)
class ProvedNumbers:
    """The verified numbers of one claim; None for what the claim does not speak of.

    Attributes
    ----------
    loss, loss_upper : bounds of the loss of the stored weights from above: the tightest, and the
        one in the file.
    objective, floor, gap : of the value that the claim is about (with weight decay the penalized
        loss): from above at the stored weights, from below over the class of networks, and the
        difference from above.
    decay : the weight decay w, exact; heads : the signs of the heads that the class covers.
    R, R_lo : zero-loss weights exist within R and not within R_lo.
    path, rate, eta : length of the path of descent, its factor per step, its step.
    others : by name, what only one kind of claim has.
    """

    loss: float | None = None
    loss_upper: float | None = None
    objective: float | None = None
    floor: float | None = None
    gap: float | None = None
    decay: str | None = None
    heads: str | None = None
    method: str | None = None
    rank: Number | None = None
    R: float | None = None
    R_lo: float | None = None
    r: float | None = None
    r_minus: float | None = None
    starts: float | None = None
    path: float | None = None
    rate: float | None = None
    eta: str | None = None
    a: float | None = None
    b: float | None = None
    mu: float | None = None
    Lip: float | None = None
    e: float | None = None
    h: float | None = None
    eps: float | None = None
    delta: float | None = None
    gamma: float | None = None
    radius: float | None = None
    E0: float | None = None
    barrier: float | None = None
    difference: float | None = None
    others: Mapping[str, Number] = field(default_factory=dict)

    @classmethod
    def read(cls, numbers: Mapping[str, Number] | None) -> ProvedNumbers:
        """From the checker's result on a claim."""
        given = dict(numbers or {})
        known = {f.name: given.pop(f.name) for f in fields(cls) if f.name in given}
        return cls(**known, others=given)  # pyright: ignore[reportArgumentType]

    def by_name(self) -> dict[str, Number]:
        """As the checker gave them, for JSON and tables."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "others"}
        return {name: value for name, value in named.items() if value is not None} | {**self.others}

    @property
    def is_penalized(self) -> bool:
        """Whether `objective`, `floor` and `gap` are those of the loss plus weight decay."""
        return self.decay not in (None, "0")

    @property
    def value_upper(self) -> float | None:
        """What `gap` is to be compared with: the objective, or the loss."""
        return self.loss_upper if self.objective is None else self.objective

    @property
    def covers_all_heads(self) -> bool:
        """Whether the class of networks has heads of both signs."""
        return self.heads in (None, "any")


def float_up(value: Fraction) -> float:
    """The least double that is at least this."""
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


ACCEPTED = "ACCEPTED"
NOT_PROVED = "NOT PROVED"


@dataclass(frozen=True)
class ProvedClaim:
    """One claim of the file: its kind, its verdict, the checker's statement and the numbers it
    verified.
    """

    kind: str
    verdict: str
    reason: str
    statement: str
    numbers: ProvedNumbers

    @property
    def record(self) -> ClaimRecord | None:
        """Our record of the kind, or of what this claim says of it; None for a kind that only the
        checker knows.
        """
        record = records().get(self.kind)
        landing = str(self.numbers.others.get("landing", ""))
        return None if record is None else record.variants.get(landing, record)

    @property
    def proves(self) -> Proves | None:
        """What the claim says about the minimum."""
        return None if self.record is None else self.record.proves

    @property
    def is_accepted(self) -> bool:
        """Whether the claim is certainly true."""
        return self.verdict == ACCEPTED

    @property
    def is_narrow(self) -> bool:
        """Whether the gap is so small that the stored network may be said to be at the minimum."""
        gap, value = self.numbers.gap, self.numbers.value_upper
        return (
            gap is not None
            and value is not None
            and (gap <= WIDEST_GAP * value or gap <= EXACT_FIT)
        )


@dataclass(frozen=True)
class Proof:
    """What is proved about one network at one data set; get one from `prove`.

    Attributes
    ----------
    verdict : the checker's word on the file, ACCEPTED, REJECTED, UNDECIDED or MALFORMED; NOT PROVED
        if no certificate could be made.
    reason : why the file is not accepted, or why there is none. `reasons` : the same claim by
        claim.
    claims : the claims of the file with their verified numbers.
    certificate : the bytes of the accepted file, None if nothing was accepted.
    data : what the file speaks of; rows that repeat another are left out where they do not matter.
    copies : how often the most frequent row of `data` occurs in all data: over all of them the loss
        is at most `copies` times `loss_upper`.
    notes : what was left out of the data, and what the checker wants to be known;
        `notes_on_data` are the former alone.
    lacks_memory : whether the attempt was given up because it needs too much memory.
    seconds : time taken, by part.
    """

    verdict: str
    reason: str = ""
    claims: tuple[ProvedClaim, ...] = ()
    notes: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    certificate: bytes | None = field(default=None, repr=False)
    data: Any = field(default=None, repr=False, compare=False)
    notes_on_data: tuple[str, ...] = ()
    copies: int = 1
    lacks_memory: bool = False
    seconds: Mapping[str, float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_accepted(self) -> bool:
        """Whether every claim of the file is certainly true."""
        return self.verdict == ACCEPTED

    @property
    def has_file(self) -> bool:
        """Whether there was a certificate to check."""
        return self.verdict != NOT_PROVED

    @property
    def why(self) -> str:
        """Why nothing is accepted, in one line; empty if something is."""
        if self.is_accepted:
            return ""
        if self.has_file:
            return f"the checker answered {self.verdict}: {self.reason}"
        return joined(self.reasons) or self.reason

    @property
    def statement(self) -> str:
        """The statements of all accepted claims, one per line."""
        return "\n".join(claim.statement for claim in self.accepted_claims)

    @property
    def accepted_claims(self) -> tuple[ProvedClaim, ...]:
        """The claims, if the file is accepted."""
        return tuple(c for c in self.claims if c.is_accepted) if self.is_accepted else ()

    @property
    def loss_upper(self) -> float:
        """Proved: the objective of the stored network (the loss, plus the penalty of weight decay
        where the file has one) at `data` is at most this; infinity without a proof.
        """
        return min((c.numbers.value_upper or math.inf for c in self._bounding), default=math.inf)

    @property
    def loss_lower(self) -> float:
        """Proved: no network of the class that the file covers has an objective below this.

        No loss is negative, so 0 needs no proof; but objectives may be that state a floor of
        their own, such as that of Poisson's loss.
        """
        stated = [c.numbers.floor for c in self._bounding if c.numbers.floor is not None]
        return max(stated, default=0.0)

    @property
    def gap(self) -> float:
        """Proved: the objective exceeds its infimum over the class by at most this; infinity
        without a proof.
        """
        stated = [c.numbers.gap for c in self._bounding if c.numbers.gap is not None]
        if stated or not math.isfinite(self.loss_upper):
            return min(stated, default=math.inf)
        return float_up(Fraction(self.loss_upper) - Fraction(self.loss_lower))

    @property
    def _bounding(self) -> tuple[ProvedClaim, ...]:
        """Claims about one and the same objective and class: with weight decay only those that know
        it, and those about heads only where no claim says more.
        """
        penalized = tuple(c for c in self.accepted_claims if c.numbers.is_penalized)
        if penalized:
            return penalized
        wider = (Proves.ZERO_LOSS, Proves.GAP, Proves.FLOOR, Proves.DESCENT)
        says_more = any(c.proves in wider for c in self.accepted_claims)
        return tuple(c for c in self.accepted_claims if not (says_more and c.proves is Proves.HEAD))

    @property
    def reaches_minimum(self) -> bool:
        """Whether the accepted claims say that the stored network is at the global minimum.

        A loss floor or a lower bound far below the loss of the stored weights is a true statement
        too, but not this one; nor are the claims about saddles, stationary points, and what the
        data determine.
        """
        bounds = (Proves.GAP, Proves.FLOOR)
        return any(
            c.proves is Proves.ZERO_LOSS
            or (c.proves in bounds and c.is_narrow)
            or (c.proves is Proves.HEAD and c.numbers.R is not None)
            for c in self.accepted_claims
        )

    @property
    def reaches_head_minimum(self) -> bool:
        """Whether the accepted claims say that the stored head is the best one for the stored
        hidden weights; all that training the head alone can reach.
        """
        return any(
            c.proves is Proves.HEAD and (c.is_narrow or c.numbers.R is not None)
            for c in self.accepted_claims
        )

    def that(self, *proves: Proves) -> ProvedClaim | None:
        """The first accepted claim that proves one of these, in the order asked for."""
        found = [c for wanted in proves for c in self.accepted_claims if c.proves is wanted]
        return found[0] if found else None

    def claim(self, *kinds: str) -> ProvedClaim | None:
        """The first accepted claim of one of these kinds, in the order of `kinds`."""
        found = [c for kind in kinds for c in self.accepted_claims if c.kind == kind]
        return found[0] if found else None


def joined(reasons: Mapping[str, str]) -> str:
    """The reasons in one line, each once with all claims it stands in the way of."""
    kinds: dict[str, list[str]] = {}
    for kind, why in reasons.items():
        kinds.setdefault(why, []).append(kind)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in kinds.items())


def proof_from(result: Result, **known: Any) -> Proof:
    """A `Proof` from the result of the checker; `known` are the attributes it cannot tell."""
    claims = tuple(
        ProvedClaim(c.kind, c.verdict.value, c.reason, c.statement, ProvedNumbers.read(c.numbers))
        for c in result.claims
    )
    notes = (*known.get("notes_on_data", ()), *result.notes)
    return Proof(result.verdict.value, result.reason, claims, notes, **known)


def no_proof(
    reasons: Mapping[str, str], *, message: str = "no certificate could be made", **known: Any
) -> Proof:
    """The proof of a network for which no certificate exists."""
    return Proof(NOT_PROVED, message, reasons=dict(reasons), **known)
