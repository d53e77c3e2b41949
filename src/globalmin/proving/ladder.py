"""The ladder: which claims are tried, in which order, and when the climb is over.

What is tried for which network and data is said by the records of the claims themselves
(`ClaimRecord.rungs`); here is only the rule. Levels are tried from the strongest statement down,
all claims of a level, and the first level at which one holds is the end. Only a bound far below the
stored network does not end the climb: it is true, and kept for the case that nothing better holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from globalmin.errors import CannotCertify, DataError, MemoryRefused
from globalmin.proving.proof import joined
from globalmin.proving.record import ClaimRecord, Proves, Question, Rung, records, subject_of

if TYPE_CHECKING:
    from globalmin.proving.certificate import SealedCertificate
    from globalmin.proving.claim import Claim

Step = tuple[ClaimRecord, Rung]


def certified(
    question: Question,
    claims: Iterable[str] | None = None,
    *,
    store_data: bool = True,
    is_quick: bool = False,
) -> tuple[SealedCertificate, Question]:
    """The certificate of the claims that hold, and the question it answers: rows may be left out.

    Raises
    ------
    CannotCertify
        With `reasons`, claim by claim.
    MemoryRefused
        If nothing holds and something was given up for the memory it needs.
    """
    subject = subject_of(question.network)
    wanted = wanted_records(claims, question.network)
    question = subject.prepare(question, wanted)
    steps = _unasked(question) if wanted is None else [_asked(r, question) for r in wanted]
    if not steps:
        raise subject.refusal(question)
    climb = _Climb(is_quick=is_quick)
    built = climb.to_the_top(steps) if wanted is None else climb.all_of(steps)
    if not built or (wanted is not None and climb.reasons):
        climb.fail()
    return subject.certificate(tuple(built), question, store_data), question


def wanted_records(claims: Iterable[str] | None, network: object) -> tuple[ClaimRecord, ...] | None:
    """The records of the kinds asked for, each once; None for the ladder."""
    if claims is None:
        return None
    kinds = (claims,) if isinstance(claims, str) else tuple(dict.fromkeys(claims))
    known = records()
    if not kinds or any(kind not in known for kind in kinds):
        raise DataError(
            f"claims={list(kinds)!r} must name at least one of {', '.join(known)}, and nothing else"
        )
    foreign = [kind for kind in kinds if not isinstance(network, known[kind].network)]
    if foreign:
        fitting = [kind for kind, r in known.items() if isinstance(network, r.network)]
        about = known[foreign[0]].network.__name__
        raise DataError(
            f"claims={list(kinds)!r}: {foreign[0]!r} is about a {about}, not about a "
            f"{type(network).__name__}; ask for {', '.join(fitting)}"
        )
    return tuple(known[kind] for kind in kinds)


def _asked(record: ClaimRecord, question: Question) -> Step:
    return record, Rung(1, lambda: record.build(question))


def _unasked(question: Question) -> list[Step]:
    steps = [
        (record, rung)
        for record in records().values()
        if isinstance(question.network, record.network)
        and (question.kinds is None or record.kind in question.kinds)
        for rung in record.rungs(question)
    ]
    return sorted(steps, key=lambda step: (step[1].level, step[1].place))


def _is_wide(claims: Sequence[Claim]) -> bool:
    """Whether all of them are bounds, and the stored network is not near any."""
    known = records()
    return all(known[c.kind].proves in (Proves.FLOOR, Proves.GAP) and c.is_wide for c in claims)


class _Climb:
    """One climb: what stood in the way of which kind, for the one who asks why."""

    def __init__(self, *, is_quick: bool) -> None:
        self.is_quick = is_quick
        self.reasons: dict[str, str] = {}
        self.refused: MemoryRefused | None = None

    def to_the_top(self, steps: Sequence[Step]) -> list[Claim]:
        """The claims of the first level at which one holds, and what may stand beside them."""
        about = [step for step in steps if not step[1].is_beside]
        best: list[Claim] = []
        for _, level in groupby(about, key=lambda step: step[1].level):
            built = self._level(list(level))
            best = built if built and not (best and _is_wide(built)) else best
            if best and not _is_wide(best):
                break
        beside = [step for step in steps if step[1].is_beside and best and not self.is_quick]
        return [*best, *self.all_of(beside)]

    def _level(self, steps: Sequence[Step]) -> list[Claim]:
        if not self.is_quick:
            return self.all_of(steps)
        needed = [step for step in steps if not step[1].is_extra]
        return self.all_of(needed) or self.all_of([step for step in steps if step[1].is_extra])

    def all_of(self, steps: Sequence[Step]) -> list[Claim]:
        """Those that hold, each attempted."""
        built: list[Claim] = []
        for record, rung in steps:
            try:
                built.append(rung.build())
            except CannotCertify as failure:
                self._note(record.kind, str(failure))
            except MemoryRefused as refusal:
                self.refused = self.refused or refusal
                self._note(record.kind, str(refusal))
        return built

    def _note(self, kind: str, why: str) -> None:
        known = self.reasons.get(kind)
        self.reasons[kind] = why if known in (None, why) else f"{known}; {why}"

    def fail(self) -> None:
        """Raise what was found out."""
        if self.refused is not None:
            raise self.refused
        raise CannotCertify(f"nothing certified: {joined(self.reasons)}", reasons=self.reasons)
