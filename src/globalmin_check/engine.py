"""From bytes to a result: form first, for the whole file, then every claim, by the fast route where
that is asked for and possible, else at rising precision within one budget.
"""

from __future__ import annotations

import hashlib
from itertools import pairwise

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import precision
from globalmin_check.certificate import Claim, read_certificate
from globalmin_check.checks import Budget, Checks, ExactChecks
from globalmin_check.claims.kind import Numbers
from globalmin_check.claims.stream_network import Blocks, with_rows
from globalmin_check.fast.choice import Choice
from globalmin_check.problem import Problem
from globalmin_check.verdict import (
    BIAS_NOTE,
    NOTES,
    ClaimResult,
    Malformed,
    Rejected,
    Result,
    TooCoarse,
    Undecided,
    Verdict,
)


def check_bytes(
    blob: bytes,
    data: bytes | None = None,
    route: str = "auto",
    *,
    rows: Blocks | None = None,
    shard: int = 0,
) -> Result:
    """The verdict on the bytes of a certificate file, and of its data file if the data are not
    stored in it; of a stream also on the raw `rows` from the given shard on (called with the names
    of the columns, it gives flat blocks of doubles).
    """
    try:
        problem, claims = read_certificate(blob, data)
        problem = problem if rows is None else with_rows(problem, rows, shard)
    except Malformed as error:
        return Result(Verdict.MALFORMED, str(error))
    except Rejected as error:
        return Result(Verdict.REJECTED, str(error))
    except Undecided as error:
        return Result(Verdict.UNDECIDED, str(error))
    budget = Budget()
    shared: dict[tuple, arb] = {}
    choice = Choice(route, hashlib.sha256(blob + (data or b"")).digest(), problem, budget)
    results = tuple(
        choice.check(claim, lambda claim: _check_claim(problem, claim, budget, shared))
        for claim in claims
    )
    return _combined(problem, claims, results, choice.words(results))


class _Proof:
    """The checks of one claim: the exact ones once, then one pass after the other at rising
    precision.
    """

    def __init__(
        self, problem: Problem, claim: Claim, budget: Budget, shared: dict[tuple, arb]
    ) -> None:
        self.problem, self.claim, self.budget, self.shared = problem, claim, budget, shared
        self.exact = ExactChecks(budget)
        self.checks = Checks(budget, shared, limits.PRECISIONS[0])

    def run(self) -> Numbers:
        """The verified numbers; raises Rejected or Undecided."""
        kind, content = self.claim.kind, self.claim.content
        first, last = limits.PRECISIONS[0], limits.PRECISIONS[-1]
        work, balls = kind.work(content, self.problem.sizes)
        self.budget.charge(work, balls, first)
        with precision(first):
            objects = kind.exact(content, self.problem, self.exact)
        for bits, finer in pairwise(limits.PRECISIONS):
            try:
                return self._pass(objects, bits)
            except TooCoarse:
                self.budget.charge(work, balls, finer)
        numbers = self._pass(objects, last)
        if self.checks.undecided():
            raise Undecided(f"{self.checks.undecided()} (at {last} bits)")
        return numbers

    def _pass(self, objects: object, bits: int) -> Numbers:
        self.checks = Checks(self.budget, self.shared, bits)
        with precision(bits):
            return self.claim.kind.check(self.claim.content, self.problem, objects, self.checks)


def _check_claim(
    problem: Problem, claim: Claim, budget: Budget, shared: dict[tuple, arb]
) -> ClaimResult:
    proof = _Proof(problem, claim, budget, shared)
    try:
        numbers = proof.run()
    except (Rejected, Undecided) as error:
        verdict = Verdict.REJECTED if isinstance(error, Rejected) else Verdict.UNDECIDED
        return ClaimResult(
            claim.kind.name, verdict, str(error), checks=(*proof.exact.lines, *proof.checks.lines)
        )
    lines = (*proof.exact.lines, *proof.checks.lines)
    return claim.kind.accepted(claim.content, problem, numbers, lines, bits=proof.checks.bits)


def _require_consistency(claims: tuple[Claim, ...], results: tuple[ClaimResult, ...]) -> None:
    """A positive floor for every head and zero-loss weights exclude each other; if both are proved,
    the checker has a defect.
    """
    proved = [
        claim
        for claim, result in zip(claims, results, strict=True)
        if result.verdict is Verdict.ACCEPTED
    ]
    floors = [claim.content for claim in proved if claim.kind.name == "loss-floor"]
    positive = any(content.floor > 0 and not content.nonnegative for content in floors)
    zero = any(claim.kind.zero_loss and claim.kind.reaches_zero(claim.content) for claim in proved)
    if positive and zero:
        raise RuntimeError("a positive loss floor and zero-loss weights were both proved")


def _combined(
    problem: Problem, claims: tuple[Claim, ...], results: tuple[ClaimResult, ...], route: str
) -> Result:
    notes = (
        *NOTES,
        *(note for claim in claims for note in claim.kind.notes),
        *((BIAS_NOTE,) if problem.bias else ()),
    )
    notes = tuple(dict.fromkeys(notes))
    _require_consistency(claims, results)
    for verdict in (Verdict.REJECTED, Verdict.UNDECIDED):
        for index, result in enumerate(results):
            if result.verdict is verdict:
                reason = f"claim {index} ({result.kind}): {result.reason}"
                return Result(verdict, reason, results, notes, route)
    reason = f"every check of {len(results)} claim{'s' * (len(results) > 1)} holds"
    empty = [f"claim {index}" for index, result in enumerate(results) if result.vacuous]
    if empty:
        reason += f", but {', '.join(empty)} says next to nothing: see the note"
    return Result(Verdict.ACCEPTED, reason, results, notes, route)
