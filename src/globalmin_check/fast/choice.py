"""Which route a claim takes, and what the verdict says of it. numpy is imported only if the fast
route is tried.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from globalmin_check.certificate import Claim
from globalmin_check.checks import Budget
from globalmin_check.problem import Problem
from globalmin_check.verdict import (
    CheckLine,
    ClaimResult,
    Rejected,
    Undecided,
    Verdict,
)

if TYPE_CHECKING:
    from globalmin_check.fast.route import FastRoute

ROUTES = ("auto", "fast", "exact")
EXACT_ROUTE = "exact (python-flint balls)"
BITS = 53
# ball multiplications below which the exact route is quicker: the import of numpy takes as long
EXACT_FIRST = 2 * 10**7
EXACT_FIRST_BESIDE_NUMPY = 10**6


def _has_numpy() -> bool:
    """Whether somebody in this process has imported it already."""
    return "numpy" in sys.modules


class Choice:
    """The route asked for, for the claims of one file."""

    def __init__(self, route: str, digest: bytes, problem: Problem, budget: Budget) -> None:
        if route not in ROUTES:
            raise ValueError(f"route={route!r} must be one of {', '.join(ROUTES)}")
        self.route, self.digest, self.problem, self.budget = route, digest, problem, budget
        self._fast: FastRoute | None = None

    def check(self, claim: Claim, exact: Callable[[Claim], ClaimResult]) -> ClaimResult:
        """The verdict on one claim: the fast route first if it is wanted, the exact one for what it
        leaves open.
        """
        refused = self._why_not(claim)
        if not refused:
            result = self._attempt(claim)
            if self.route == "fast" or result.verdict is not Verdict.UNDECIDED:
                return result
            last = exact(claim)
            if last.verdict is Verdict.UNDECIDED:
                return replace(last, reason=f"{result.reason}; exact: {last.reason}")
            return last
        if self.route == "fast":
            return ClaimResult(claim.kind.name, Verdict.UNDECIDED, refused, route="fast")
        return exact(claim)

    def _attempt(self, claim: Claim) -> ClaimResult:
        """The fast route's word on a claim."""
        from globalmin_check.fast.rounding import NotProved
        from globalmin_check.fast.route import FastRoute

        self._fast = self._fast or FastRoute(self.digest)
        kind, content = claim.kind, claim.content
        lines: list[CheckLine] = []
        verdict, reason = Verdict.UNDECIDED, ""
        try:
            numbers = self._fast.prove(self.problem, claim, self.budget, lines)
            return kind.accepted(
                content, self.problem, numbers, tuple(lines), bits=BITS, route="fast"
            )
        except Rejected as error:
            verdict, reason = Verdict.REJECTED, str(error)
        except (NotProved, Undecided, MemoryError) as error:
            reason = f"fast: {str(error) or 'out of memory'}"
        return ClaimResult(kind.name, verdict, reason, checks=tuple(lines), route="fast")

    def _why_not(self, claim: Claim) -> str:
        """Empty if the fast route is to be tried."""
        if self.route == "exact":
            return "only the exact route is asked for"
        if find_spec("numpy") is None:
            return "the fast route needs numpy: install globalmin-check[fast]"
        content, sizes = claim.content, self.problem.sizes
        work = claim.kind.work(content, sizes)[0] + claim.kind.search(content, sizes)
        work += self.problem.work_of_rows
        least = EXACT_FIRST_BESIDE_NUMPY if _has_numpy() else EXACT_FIRST
        if self.route == "auto" and work <= min(least, EXACT_FIRST):
            return "the exact route is quick enough"
        from globalmin_check.fast.route import KINDS

        kind = KINDS.get(claim.kind.name)
        if kind is None:
            return f"the fast route does not know the claim {claim.kind.name}"
        return kind.why_not(content, self.problem)

    def words(self, results: tuple[ClaimResult, ...]) -> str:
        """The weakest route that a verdict rests on."""
        fast = any(result.route == "fast" for result in results)
        return self._fast.sentence if fast and self._fast is not None else EXACT_ROUTE
