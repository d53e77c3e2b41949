"""The claim `global-basin`: descent from the stored weights ends at the teacher
(`spec/claims/global-basin.md`).
"""

from __future__ import annotations

from fractions import Fraction

from globalmin_check.balls import decimal_up
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.trap import (
    MEANING,
    Exact,
    Trap,
    descent_words,
    quantities,
    read_trap,
    require_step,
    require_trap,
    trap_work,
)
from globalmin_check.container import Tensors
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> Trap:
    """Take the fields of the claim; form only."""
    return read_trap(fields)


def work(claim: Trap, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    return trap_work(sizes)


def exact(claim: Trap, problem: Problem, checks: ExactChecks) -> Exact:
    """T1, T2, T5a and T8: the side G of theorem TB."""
    at = quantities(problem, checks)
    checks.require("T2", "0 < a . a*", Fraction(0), "<", at.b)
    checks.require_fact(
        "T8", "v is not a negative multiple of w*", not at.antiparallel, "the filters are opposite"
    )
    require_step(checks, claim)
    return at


def check(claim: Trap, problem: Problem, at: Exact, checks: Checks) -> Numbers:
    """T3 to T5 at the present precision."""
    return require_trap(checks, claim, at)


def statement(claim: Trap, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    return (
        f"{descent_words(claim)} on the population loss of this one-filter network "
        f"({problem.sizes.k} Gaussian patches of size {problem.sizes.d}, the stored teacher) from "
        "the stored weights converges to the teacher's function: zero loss, the global minimum. "
        f"The stored weights have loss at most {decimal_up(claim.loss_upper)}. Nothing is said "
        "about an empirical loss."
    )


CLAIM = ClaimKind(
    "global-basin",
    "filter-basin/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE,),
    network="filter",
)
