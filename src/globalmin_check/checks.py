"""The numbered checks of a claim: exact ones are decided once, enclosed ones anew at every
precision.

What is checked never depends on the precision it is checked at. `ExactChecks` is open while the
objects of a claim are built from the stored numbers, and takes no balls; `Checks` belongs to one
pass at one precision and is thrown away with it, so that no outcome survives a change of precision.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import Number, decide, shown
from globalmin_check.verdict import CheckLine, Rejected, TooCoarse, Undecided


class Budget:
    """Work and memory of a whole file, counted before they are spent."""

    def __init__(self) -> None:
        self.spent = 0

    def charge(self, work: int, balls: int, bits: int) -> None:
        """Refuse what would exceed the limits; work is in ball multiplications at 128 bits."""
        memory = balls * limits.BYTES_PER_BALL * max(bits, 128) // 128
        self.spent += work * bits // limits.PRECISIONS[0]
        if self.spent > limits.WORK:
            raise Undecided(
                f"the work of {self.spent:.3g} ball multiplications exceeds the budget of "
                f"{limits.WORK:.3g}"
            )
        if memory > limits.BALL_BYTES:
            raise Undecided(
                f"the balls need {memory:.3g} bytes, more than the budget of "
                f"{limits.BALL_BYTES:.3g}"
            )

    def charge_exact(self, operations: int) -> None:
        """The same for operations on exact numbers, whose integers can have some 4,000 bits."""
        self.charge(operations * limits.WORK_PER_EXACT, 0, limits.PRECISIONS[0])


class ExactChecks:
    """Checks of rationals and stored integers, made once, while the objects of a claim are
    built.
    """

    def __init__(self, budget: Budget) -> None:
        self.lines: list[CheckLine] = []
        self._budget = budget

    def require(
        self, number: str, inequality: str, left: Fraction, relation: str, right: Fraction
    ) -> None:
        """Record `left relation right` of two rationals; a failure raises Rejected."""
        holds = left < right if relation == "<" else left <= right
        found = shown(left), shown(right)
        self.lines.append(CheckLine(number, inequality, *found, _WORDS[holds]))
        if not holds:
            raise Rejected(
                f"check {number} ({inequality}) fails: {found[0]} is not {relation} {found[1]}"
            )

    def require_fact(self, number: str, sentence: str, holds: bool, found: str) -> None:
        """Record an exact test that is not an inequality."""
        self.lines.append(CheckLine(number, sentence, found, "", _WORDS[holds]))
        if not holds:
            raise Rejected(f"check {number} ({sentence}) fails: {found}")

    def require_sign(self, number: str, sentence: str, value: Fraction) -> None:
        """Record the sign of an exact number; the sentence is "name > 0" or "name >= 0"."""
        name, relation, _ = sentence.split()
        self.require_fact(
            number,
            sentence,
            value > 0 or (value == 0 and relation == ">="),
            f"{name} = {shown(value)}",
        )

    def charge(self, operations: int) -> None:
        """Count operations on exact numbers before they are done."""
        self._budget.charge_exact(operations)

    def charge_balls(self, work: int, balls: int, bits: int) -> None:
        """Count a pass in balls that a claim makes once, at the bits it names itself."""
        self._budget.charge(work, balls, bits)

    def charge_memory(self, balls: int) -> None:
        """Refuse exact numbers that are kept, in the unit of balls, beyond the memory of the
        budget.
        """
        self._budget.charge(0, balls, limits.PRECISIONS[0])


class Checks:
    """The checks of one pass at one precision. Before the last precision the first open check ends
    the pass.
    """

    def __init__(self, budget: Budget, shared: dict[tuple, arb], bits: int) -> None:
        self.lines: list[CheckLine] = []
        self.budget = budget
        self.shared = shared  # residuals of P1 that claims of the same file share, by precision
        self.bits = bits

    def require(
        self, number: str, inequality: str, left: Number, relation: str, right: Number
    ) -> None:
        """Record `left relation right` of two enclosed numbers: it holds only if certainly true."""
        found = f"{shown(left)} is not {relation} {shown(right)}"
        self.require_outcome(
            number, inequality, decide(left, relation, right), found, (shown(left), shown(right))
        )

    def require_outcome(
        self,
        number: str,
        sentence: str,
        outcome: bool | None,
        found: str,
        sides: tuple[str, str] | None = None,
    ) -> None:
        """Record an outcome: False raises Rejected, None (open) ends the pass unless it is the
        last.
        """
        self.lines.append(CheckLine(number, sentence, *(sides or (found, "")), _WORDS[outcome]))
        if outcome is False:
            raise Rejected(f"check {number} ({sentence}) fails: {found}")
        if outcome is None and self.bits < limits.PRECISIONS[-1]:
            raise TooCoarse

    def undecided(self) -> str:
        """The first open check, as a sentence; empty if there is none."""
        line = next((line for line in self.lines if line.outcome == _WORDS[None]), None)
        return (
            f"check {line.number} ({line.inequality}) is undecided: {line.left} against "
            f"{line.right}"
            if line
            else ""
        )


_WORDS = {True: "holds", False: "fails", None: "undecided"}
