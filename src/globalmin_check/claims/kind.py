"""The record of a claim kind: what it is called, what its theorem says, and the functions that
check it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.container import Tensors
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import CheckLine, ClaimResult, Verdict

Content = TypeVar("Content")
Objects = TypeVar("Objects")
Numbers = dict[str, str | float]


def _not_vacuous(content: object, problem: Problem, numbers: Numbers) -> str:
    return ""


def _always(content: object) -> bool:
    return True


def _no_search(content: object, sizes: Sizes) -> int:
    return 0


@dataclass(frozen=True)
class ClaimKind(Generic[Content, Objects]):
    """Everything the engine knows of a claim kind.

    `read` takes the fields and tensors out of the file (form only). `work` counts ball
    multiplications and balls of one pass. `exact` makes the exact checks and builds, once, what the
    claim speaks of from the stored numbers: sets, patterns, rationals. `check` encloses that at the
    present precision and makes the remaining checks. `statement` is the conclusion in words.
    """

    name: str
    theorem: str
    meaning: str
    read: Callable[[Fields, Tensors, Sizes], Content]
    work: Callable[[Content, Sizes], tuple[int, int]]
    exact: Callable[[Content, Problem, ExactChecks], Objects]
    check: Callable[[Content, Problem, Objects, Checks], Numbers]
    statement: Callable[[Content, Problem], str]
    vacuous: Callable[[Content, Problem, Numbers], str] = _not_vacuous
    notes: tuple[str, ...] = ()
    network: str = "shallow"
    zero_loss: bool = False  # whether it proves that weights with zero loss exist
    reaches_zero: Callable[[Content], bool] = _always  # whether this one of its kind does
    read_second: Callable[[Fields, Tensors, Sizes], Content] | None = None  # for version 2
    search: Callable[[Content, Sizes], int] = _no_search  # what it may add to `work`

    def accepted(
        self,
        content: Content,
        problem: Problem,
        numbers: Numbers,
        lines: tuple[CheckLine, ...],
        *,
        bits: int,
        route: str = "exact",
    ) -> ClaimResult:
        """The result of a claim whose checks all hold."""
        return ClaimResult(
            self.name,
            Verdict.ACCEPTED,
            "every check holds",
            f"{self.statement(content, problem)} ({problem.about}.)",
            numbers,
            lines,
            self.notes,
            self.vacuous(content, problem, numbers),
            bits,
            route,
        )
