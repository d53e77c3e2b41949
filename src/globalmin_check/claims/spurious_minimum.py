"""The claim `spurious-minimum`: descent from the stored weights ends in the trap
(`spec/claims/spurious-minimum.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.balls import decimal_down, decimal_up, lower_float
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
    spurious_loss,
    trap_work,
)
from globalmin_check.container import Tensors
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE


@dataclass(frozen=True)
class SpuriousMinimum:
    """Fields of section 5.14."""

    trap: Trap
    floor: Fraction


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> SpuriousMinimum:
    """Take the fields of the claim; form only."""
    return SpuriousMinimum(read_trap(fields), fields.rational("floor"))


def work(claim: SpuriousMinimum, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    return trap_work(sizes)


def exact(claim: SpuriousMinimum, problem: Problem, checks: ExactChecks) -> Exact:
    """T1, T2, T5a and T6: the side S of theorem TB."""
    at = quantities(problem, checks)
    checks.require("T2", "a . a* < 0", at.b, "<", Fraction(0))
    checks.require_sign("T6", "floor > 0", claim.floor)
    require_step(checks, claim.trap)
    return at


def check(claim: SpuriousMinimum, problem: Problem, at: Exact, checks: Checks) -> Numbers:
    """T3 to T5 and T7 at the present precision."""
    numbers = require_trap(checks, claim.trap, at)
    checks.require(
        "T7", "floor <= loss of the spurious minimum", claim.floor, "<=", spurious_loss(at)
    )
    return numbers | {"floor": lower_float(claim.floor)}


def statement(claim: SpuriousMinimum, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    return (
        f"{descent_words(claim.trap)} on the population loss of this one-filter network "
        f"({problem.sizes.k} Gaussian patches of size {problem.sizes.d}, the stored teacher) from "
        "the stored weights converges to the spurious local minimum at the opposite filter. Its "
        f"loss stays above {decimal_down(claim.floor)} for ever, while the global minimum is zero; "
        f"the stored weights have loss at most {decimal_up(claim.trap.loss_upper)}. Nothing is "
        "said about an empirical loss."
    )


CLAIM = ClaimKind(
    "spurious-minimum",
    "filter-trap/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE,),
    network="filter",
)
