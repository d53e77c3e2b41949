"""A contest: contenders that do the same job, run in turns, and their CPU seconds over ours.

Every contender runs once before the clock counts (imports, compilation). Then all run in turns,
another one first in each round, and a ratio is taken within a round: what slows the machine down
for a while slows everybody. The spread printed is the least and the largest ratio of the rounds.
"""

from __future__ import annotations

import math
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

LEAST = 0.05  # seconds: a shorter job is repeated until it takes as long
PATIENCE = 20.0  # a contender that took longer in its first run is not run again


@dataclass(frozen=True)
class Outcome:
    """How good the answer is (in the unit of the contest), the floating point operations that the
    job cannot do without, where they are known, and the seconds of a contender that measures its
    own, in a process that lives on.
    """

    quality: float
    operations: float | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Contender:
    """Somebody who does the job."""

    name: str
    run: Callable[[], Outcome]


@dataclass(frozen=True)
class Contest:
    """A job of one size; the first contender is ours, the ratios are over it."""

    job: str
    size: str
    contenders: Sequence[Contender]
    quality: str
    clock: str = "CPU"
    is_quick: bool = True

    @property
    def key(self) -> str:
        """The name in the file of results."""
        return f"{self.job}: {self.size}"


@dataclass
class Score:
    """Seconds of one contender in each round (one figure: it was run once), and its answer."""

    seconds: list[float] = field(default_factory=list)
    outcome: Outcome | None = None
    absent: str = ""


def cpu_seconds() -> float:
    """User and system time of this process and of its children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


CLOCKS = {"CPU": cpu_seconds, "wall": time.perf_counter}


def timed(contender: Contender, clock: str, repeats: int = 1) -> tuple[float, Outcome]:
    """Seconds of one run, the mean of `repeats`."""
    now = CLOCKS[clock]
    began = now()
    outcomes = [contender.run() for _ in range(repeats)]
    passed = now() - began
    own = [outcome.seconds for outcome in outcomes if outcome.seconds is not None]
    return (sum(own) if own else passed) / repeats, outcomes[-1]


def measured(contest: Contest, rounds: int) -> dict[str, Score]:
    """Run all contenders in turns; somebody who is not installed is absent."""
    scores = {contender.name: Score() for contender in contest.contenders}
    repeats: dict[str, int] = {}
    for contender in contest.contenders:
        score = scores[contender.name]
        try:
            seconds, score.outcome = timed(contender, contest.clock)
        except ImportError as missing:
            score.absent = f"not installed: {missing.name}"
            continue
        if seconds > PATIENCE:
            score.seconds = [seconds]
        else:
            repeats[contender.name] = max(1, math.ceil(LEAST / max(seconds, 1e-6)))
    again = [contender for contender in contest.contenders if contender.name in repeats]
    for number in range(rounds):
        turn = number % max(1, len(again))
        for contender in [*again[turn:], *again[:turn]]:
            seconds, outcome = timed(contender, contest.clock, repeats[contender.name])
            scores[contender.name].seconds.append(seconds)
            scores[contender.name].outcome = outcome
    return scores


def ratios(score: Score, ours: Score) -> list[float]:
    """Seconds over ours, round by round; of somebody who ran once, over our median."""
    if len(score.seconds) == len(ours.seconds):
        return [one / other for one, other in zip(score.seconds, ours.seconds, strict=True)]
    return [seconds / statistics.median(ours.seconds) for seconds in score.seconds]


def record(contest: Contest, scores: dict[str, Score], peak: float) -> dict[str, Any]:
    """What is kept of a contest; `peak` is the machine's speed in matrix products, operations a
    second.
    """
    ours = scores[contest.contenders[0].name]
    rows = {}
    for name, score in scores.items():
        if score.absent or score.outcome is None:
            rows[name] = {"absent": score.absent}
            continue
        median, over = statistics.median(score.seconds), ratios(score, ours)
        rows[name] = {
            "seconds": median,
            "ratio": statistics.median(over),
            "ratio_low": min(over),
            "ratio_high": max(over),
            "runs": len(score.seconds),
            "quality": score.outcome.quality,
        }
        if score.outcome.operations is not None:
            rows[name]["share_of_peak"] = score.outcome.operations / median / peak
    return {
        "job": contest.job,
        "size": contest.size,
        "clock": contest.clock,
        "quality": contest.quality,
        "contenders": rows,
    }
