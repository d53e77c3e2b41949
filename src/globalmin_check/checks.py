"""The record of one claim's checks: each inequality is accepted only if certainly true."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from globalmin_check import limits
from globalmin_check.balls import Number, decide, shown
from globalmin_check.verdict import CheckLine, Rejected, Undecided


class Budget:
    """Work and memory of a whole file, counted before they are spent."""

    def __init__(self) -> None:
        self.spent = 0

    def charge(self, work: int, balls: int, bits: int) -> None:
        """Refuse what would exceed the limits; work is in ball multiplications at 128 bits."""
        memory = balls * limits.BYTES_PER_BALL * max(bits, 128) // 128
        self.spent += work * bits // limits.PRECISIONS[0]
        if self.spent > limits.WORK:
            raise Undecided(f"the work of {self.spent:.3g} ball multiplications exceeds the budget of {limits.WORK:.3g}")
        if memory > limits.BALL_BYTES:
            raise Undecided(f"the balls need {memory:.3g} bytes, more than the budget of {limits.BALL_BYTES:.3g}")


class Checks:
    """Outcomes of the numbered checks of one claim, kept over the precisions: what is proved once is not computed again."""

    def __init__(self, facts: dict[tuple, arb] | None = None) -> None:
        self._lines: dict[str, CheckLine] = {}
        self._open: set[str] = set()
        self.facts = {} if facts is None else facts  # costly facts about the stored numbers, shared by the claims of a file

    def require(self, number: str, inequality: str, left: Number, relation: str, right: Number) -> None:
        """Record `left relation right`; a certain failure raises Rejected, an undecided one is remembered."""
        outcome = decide(left, relation, right)
        self._lines[number] = CheckLine(number, inequality, shown(left), shown(right), _WORDS[outcome])
        self._open.discard(number)
        if outcome is False:
            raise Rejected(f"check {number} ({inequality}) fails: {shown(left)} is not {relation} {shown(right)}")
        if outcome is None:
            self._open.add(number)

    def require_fact(self, number: str, sentence: str, holds: bool, found: str) -> None:
        """Record an exact test that is not an inequality."""
        self._lines[number] = CheckLine(number, sentence, found, "", _WORDS[holds])
        self._open.discard(number)
        if not holds:
            raise Rejected(f"check {number} ({sentence}) fails: {found}")

    def require_sign(self, number: str, sentence: str, value: Fraction) -> None:
        """Record the sign of an exact number; the sentence is "name > 0" or "name >= 0"."""
        name, relation, _ = sentence.split()
        self.require_fact(number, sentence, value > 0 or (value == 0 and relation == ">="), f"{name} = {shown(value)}")

    def is_proved(self, number: str) -> bool:
        """Whether an earlier, lower precision has already decided this check."""
        return number in self._lines and number not in self._open

    def undecided(self) -> str:
        """The first check still open, as a sentence; empty if there is none."""
        if not self._open:
            return ""
        line = self._lines[min(self._open, key=list(self._lines).index)]
        return f"check {line.number} ({line.inequality}) is undecided: {line.left} against {line.right}"

    @property
    def lines(self) -> tuple[CheckLine, ...]:
        """All checks so far, in the order of their first appearance."""
        return tuple(self._lines.values())


_WORDS = {True: "holds", False: "fails", None: "undecided"}


def at_rising_precision(step: Callable[[int], dict], checks: Checks) -> dict:
    """Run the step at 128, 256, 512, 1024 bits until no check is open; raises Undecided after the last."""
    for bits in limits.PRECISIONS:
        numbers = step(bits)
        if not checks.undecided():
            return numbers
    raise Undecided(f"{checks.undecided()} (at {limits.PRECISIONS[-1]} bits)")
