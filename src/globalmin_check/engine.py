"""From bytes to a result: form first, for the whole file, then every claim at rising precision within one budget."""

from __future__ import annotations

from flint import arb

from globalmin_check.balls import precision
from globalmin_check.certificate import Claim, read_certificate
from globalmin_check.checks import Budget, Checks, at_rising_precision
from globalmin_check.problem import Problem
from globalmin_check.verdict import BIAS_NOTE, DESCENT_NOTE, NOTES, ClaimResult, Malformed, Rejected, Result, Undecided, Verdict

ZERO_LOSS = ("interpolation", "descent", "relu-interpolation", "relu-descent", "deep-descent")  # these prove zero-loss weights


def check_bytes(blob: bytes, data: bytes | None = None) -> Result:
    """The verdict on the bytes of a certificate file, and of its data file if the data are not stored in it."""
    try:
        problem, claims = read_certificate(blob, data)
    except Malformed as error:
        return Result(Verdict.MALFORMED, str(error))
    except Rejected as error:
        return Result(Verdict.REJECTED, str(error))
    except Undecided as error:
        return Result(Verdict.UNDECIDED, str(error))
    budget = Budget()
    facts: dict[tuple, arb] = {}
    return _combined(problem, claims, tuple(_check_claim(problem, claim, budget, facts) for claim in claims))


def _check_claim(problem: Problem, claim: Claim, budget: Budget, facts: dict[tuple, arb]) -> ClaimResult:
    checks = Checks(facts)

    def step(bits: int) -> dict[str, str | float]:
        work, balls = claim.module.work(claim.content, problem.sizes)
        budget.charge(work, balls, bits)
        with precision(bits):
            return claim.module.check(claim.content, problem, checks)

    try:
        numbers = at_rising_precision(step, checks)
    except Rejected as error:
        return ClaimResult(claim.kind, Verdict.REJECTED, str(error), checks=checks.lines)
    except Undecided as error:
        return ClaimResult(claim.kind, Verdict.UNDECIDED, str(error), checks=checks.lines)
    statement = claim.module.statement(claim.content, problem)
    return ClaimResult(claim.kind, Verdict.ACCEPTED, "every check holds", statement, numbers, checks.lines)


def _require_consistency(claims: tuple[Claim, ...], results: tuple[ClaimResult, ...]) -> None:
    """A positive floor for every head and zero-loss weights exclude each other; if both are proved, the checker has a defect."""
    proved = [claim for claim, result in zip(claims, results, strict=True) if result.verdict is Verdict.ACCEPTED]
    floors = [claim.content for claim in proved if claim.kind == "loss-floor"]
    positive = any(content.floor > 0 and not content.nonnegative for content in floors)
    if positive and any(claim.kind in ZERO_LOSS for claim in proved):
        raise RuntimeError("a positive loss floor and zero-loss weights were both proved")


def _combined(problem: Problem, claims: tuple[Claim, ...], results: tuple[ClaimResult, ...]) -> Result:
    notes = NOTES
    if any(claim.kind.endswith(("descent", "barrier", "basin", "spurious-minimum")) for claim in claims):
        notes += (DESCENT_NOTE,)
    if problem.bias:
        notes += (BIAS_NOTE,)
    _require_consistency(claims, results)
    for verdict in (Verdict.REJECTED, Verdict.UNDECIDED):
        for index, result in enumerate(results):
            if result.verdict is verdict:
                return Result(verdict, f"claim {index} ({result.kind}): {result.reason}", results, notes)
    return Result(Verdict.ACCEPTED, f"every check of {len(results)} claim{'s' * (len(results) > 1)} holds", results, notes)
