"""What is found out about one theorem on one instance: its hypotheses one by one, and the numbers
it promises.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum


class Finding(StrEnum):
    """The three answers: the hypothesis holds, it fails, or it needs a constant that nobody
    knows.
    """

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "constant unknown"


@dataclass(frozen=True)
class Hypothesis:
    """One hypothesis: what it asks, the finding, and the measured value (estimates in floats unless
    said otherwise).

    `is_scope` marks those that say what kind of network the theorem is about at all.
    """

    statement: str
    finding: Finding
    measured: str = ""
    is_scope: bool = False


@dataclass(frozen=True)
class TheoremReport:
    """One theorem on this instance.

    Attributes
    ----------
    item : its ID in the catalogue.
    says : what it promises, in plain words.
    hypotheses : each with its finding.
    width : least width it asks for (infinite: never satisfied; None: it asks for no width, or only
        with unknown constants).
    step_size, rate : step on the loss (1/2) sum of squares, and factor of the residual norm per
        step; None where it gives none.
    failure : bound of the probability that a random start breaks the promise, at this instance's
        width; None if it has none.
    instead : what this program can say where the theorem cannot.
    numbers : what was computed on the instance, each with the words that say what it is.
    """

    item: str
    says: str
    hypotheses: tuple[Hypothesis, ...]
    width: float | None = None
    step_size: float | None = None
    rate: float | None = None
    failure: float | None = None
    instead: str = ""
    numbers: tuple[tuple[str, float], ...] = ()

    @property
    def finding(self) -> Finding:
        """FAILS if a hypothesis fails, else UNKNOWN if one needs an unknown constant, else
        HOLDS.
        """
        found = {hypothesis.finding for hypothesis in self.hypotheses}
        return next(
            (finding for finding in (Finding.FAILS, Finding.UNKNOWN) if finding in found),
            Finding.HOLDS,
        )

    @property
    def is_in_scope(self) -> bool:
        """Whether the theorem is about this kind of network."""
        return all(h.finding is not Finding.FAILS for h in self.hypotheses if h.is_scope)


def check(
    statement: str, condition: bool, measured: str = "", *, is_scope: bool = False
) -> Hypothesis:
    """A hypothesis that was decided."""
    return Hypothesis(statement, Finding.HOLDS if condition else Finding.FAILS, measured, is_scope)


def unknown(statement: str, measured: str = "") -> Hypothesis:
    """A hypothesis with a constant that nobody knows; `measured` is the quantity it would be
    compared with.
    """
    return Hypothesis(statement, Finding.UNKNOWN, measured)


def number(value: float | None, digits: int = 3) -> str:
    """A number for people: '40', '0.0196', '6.1e+09'; a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.{digits}g}"


def enough_width(width: int, needed: float) -> Hypothesis:
    """The hypothesis that the network is as wide as the theorem asks."""
    return check(f"width ≥ {number(needed)}", width >= needed, f"width {number(width)}")
