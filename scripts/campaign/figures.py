"""The figures of the campaign, from figures.toml, and what their tests measured."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "out" / "campaign"
ATTACKS = ("R1", "R2", "R4", "R9", "hostile")  # whose hostile files are added up
COUNT = "tests"  # how many tests passed: a number that every figure has


@dataclass(frozen=True)
class Figure:
    """One line of the table."""

    id: str
    what: str
    asked: str
    tests: list[str]
    goals: dict[str, dict[str, float]]
    judged: list[str]
    size: str = "campaign"
    only: str = ""
    note: str = ""
    why: str = ""  # it is not reached

    @property
    def selection(self) -> list[str]:
        """The words of pytest that select the tests, in full size."""
        marks = "campaign or not campaign" if self.size == "one" else "campaign"
        return ["-m", marks, *(["-k", self.only] if self.only else []), *self.tests]

    @property
    def command(self) -> str:
        """How somebody measures it again."""
        return f"python -m scripts.campaign run {self.id}"


@cache
def figures() -> dict[str, Figure]:
    """All of them by id, in the order of the table."""
    text = (Path(__file__).parent / "figures.toml").read_text(encoding="utf-8")
    found = [Figure(**entry) for entry in tomllib.loads(text)["figure"]]
    return {figure.id: figure for figure in found}


@dataclass(frozen=True)
class Measured:
    """What the tests of one figure left behind."""

    numbers: dict[str, float]
    failed: tuple[str, ...]
    cpu: float
    stamps: tuple[str, ...]  # dates with commits

    @classmethod
    def of(cls, kept: list[dict[str, Any]]) -> Measured:
        """All tests together."""
        passed = [one for one in kept if one["outcome"] == "passed"]
        count = sum(one.get(COUNT, 1) for one in passed)
        numbers = total(one["numbers"] for one in passed) | {COUNT: float(count)}
        failed = tuple(one["test"] for one in kept if one["outcome"] == "failed")
        stamps = tuple(sorted({_stamp(one) for one in kept}))
        return cls(numbers, failed, sum(one["cpu"] for one in kept), stamps)

    def verdict(self, figure: Figure) -> str:
        """Whether it was reached; if not, what is missing."""
        if self.failed:
            return f"**failed**: {self.failed[0]}" + _more(len(self.failed) - 1)
        if not self.numbers[COUNT]:
            return "**not run**"
        short = [
            f"{name} {number(self.numbers[name]) if name in self.numbers else 'not measured'}"
            for name, ends in figure.goals.items()
            if not _within(self.numbers.get(name), ends)
        ]
        return f"**short**: {', '.join(short)}" if short else "reached"

    def words(self, figure: Figure) -> str:
        """The numbers that were reached, those with a goal first."""
        others = [name for name in self.numbers if name not in (*figure.goals, COUNT)]
        names = [*(name for name in figure.goals if name in self.numbers), *others] or [COUNT]
        return ", ".join(f"{name}: {number(self.numbers[name])}" for name in names)


def _stamp(one: dict[str, Any]) -> str:
    """The date and the commit of a number, and whether it is about other sources than these."""
    return f"{one['date']} {one['commit']}" + (
        " (sources changed since)" if one.get("stale") else ""
    )


def _more(count: int) -> str:
    return f" and {count} more" if count else ""


def _within(value: float | None, ends: dict[str, float]) -> bool:
    return (
        value is not None
        and value >= ends.get("at_least", value)
        and value <= ends.get("at_most", value)
    )


def total(measured: Iterable[dict[str, float]]) -> dict[str, float]:
    """Numbers of one name together: added up, or the largest or least where they are called so."""
    found: dict[str, list[float]] = {}
    for numbers in measured:
        for name, value in numbers.items():
            found.setdefault(name, []).append(value)
    ends = {"largest": max, "least": min}
    return {name: ends.get(name.split()[0], sum)(values) for name, values in found.items()}


def number(value: float) -> str:
    """With commas; of a broken number four digits."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


def kept(id: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """What was kept of the tests of a figure."""
    files = sorted((folder / id).glob("*.json"))
    return [json.loads(file.read_text(encoding="utf-8")) for file in files]
