"""The fast route of one file: which claims it knows, the tests of the machine around each of them,
and the sentence that names what has to be trusted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin_check import limits
from globalmin_check.balls import precision
from globalmin_check.certificate import Claim
from globalmin_check.checks import Budget, Checks, ExactChecks
from globalmin_check.claims import relu_interpolation, stream_gap
from globalmin_check.claims.kind import Numbers
from globalmin_check.fast import dual, relu, smooth, streams
from globalmin_check.fast.choice import BITS
from globalmin_check.fast.machine import machine, one_thread, self_test
from globalmin_check.fast.products import PROJECTIONS, Products
from globalmin_check.fast.rounding import need
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import CheckLine

LARGEST_WORK = 10**13  # operations in floats of one claim
LARGEST_BYTES = 2**33


def _nothing(content: object, problem: Problem) -> str:
    return ""


@dataclass(frozen=True)
class FastKind:
    """How one claim kind is checked here: its exact part, its checks, its memory and work."""

    check: Callable[[Any, Problem, Any, Checks, smooth.Prover], Numbers]
    needed_bytes: Callable[[Any, Sizes], int]
    flops: Callable[[Any, Sizes], int]
    exact: Callable[[Any, Problem, ExactChecks], Any] | None = None  # where not that of the kind
    why_not: Callable[[Any, Problem], str] = _nothing  # why a claim of the kind is none for here


KINDS: dict[str, FastKind] = {
    "interpolation": FastKind(smooth.check_interpolation, smooth.needed_bytes, smooth.flops),
    "descent": FastKind(smooth.check_descent, smooth.needed_bytes, smooth.flops),
    "relu-interpolation": FastKind(
        relu.check, relu.needed_bytes, relu.flops, relu_interpolation.require_facts
    ),
    "dual-gap": FastKind(
        dual.check_gap, dual.needed_bytes, dual.flops, dual.exact_gap, dual.why_not
    ),
    "unused-terms": FastKind(
        dual.check_unused, dual.needed_bytes, dual.flops, dual.exact_unused, dual.why_not
    ),
    "stream-gap": FastKind(
        streams.check, streams.needed_bytes, streams.flops, stream_gap.of_file, streams.why_not
    ),
}


class FastChecks(Checks):
    """Checks of which only the certainly true ones count: any other is left to balls."""

    def require_outcome(
        self,
        number: str,
        sentence: str,
        outcome: bool | None,
        found: str,
        sides: tuple[str, str] | None = None,
    ) -> None:
        """Record an outcome; NotProved unless it is True."""
        word = "holds" if outcome else "undecided"
        self.lines.append(CheckLine(number, sentence, *(sides or (found, "")), word))
        need(outcome is True, f"check {number} ({sentence}) is not certain in floats: {found}")


class FastRoute:
    """The route for the claims of one file, whose digest seeds the projections."""

    def __init__(self, digest: bytes) -> None:
        self._prover = smooth.Prover(Products(digest))

    def prove(
        self, problem: Problem, claim: Claim, budget: Budget, lines: list[CheckLine]
    ) -> Numbers:
        """The verified numbers; NotProved for what is open, Rejected only from the exact part. The
        checks made are added to `lines`.
        """
        kind = KINDS[claim.kind.name]
        _require_room(kind, claim, problem.sizes)
        exact, checks = ExactChecks(budget), FastChecks(budget, {}, BITS)
        try:
            with np.errstate(all="ignore"), one_thread(), precision(limits.PRECISIONS[0]):
                machine()
                self_test()
                objects = (kind.exact or claim.kind.exact)(claim.content, problem, exact)
                numbers = kind.check(claim.content, problem, objects, checks, self._prover)
                self_test()  # another library may have changed the state of the processor
        finally:
            lines += [*exact.lines, *checks.lines]
        return numbers

    @property
    def sentence(self) -> str:
        """What was used and what has to be trusted, for the verdict."""
        here = machine()
        return (
            f"fast (float64, numpy {here.numpy}, {here.blas}, 1 thread; start-up tests passed; "
            f"{self._prover.products.confirmed} products confirmed by {PROJECTIONS} projections "
            "each). Trusted besides the theorems: IEEE arithmetic of this machine, numpy's "
            "elementwise operations, the BLAS product in some order of summation; python-flint "
            "for scalars."
        )


def _require_room(kind: FastKind, claim: Claim, sizes: Sizes) -> None:
    needed, work = kind.needed_bytes(claim.content, sizes), kind.flops(claim.content, sizes)
    need(needed <= LARGEST_BYTES, f"it needs {needed:.3g} bytes")
    need(work <= LARGEST_WORK, f"it needs {work:.3g} operations")
