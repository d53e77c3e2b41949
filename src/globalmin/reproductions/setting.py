"""What a reproduction is told: its scale, its seed, and how its trials are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from globalmin.errors import DataError

SCALES = ("thumbnail", "paper")

Value = TypeVar("Value")
Recipe = Callable[..., Mapping[str, Any]]
Point = Mapping[str, Any]
Trials = Callable[[Recipe, Sequence[Point]], list[dict[str, Any]]]


def in_this_process(recipe: Recipe, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Run the trials one after the other, here, and keep nothing: for tests; `recipe.batch`, if
    there is one, takes them all.
    """
    batch = getattr(recipe, "batch", None)
    if batch is not None:
        return [dict(result) for result in batch([dict(point) for point in points])]
    return [dict(recipe(**point)) for point in points]


@dataclass(frozen=True)
class Setting:
    """Scale and seed of one reproduction, and the function `trials(recipe, points)` that runs its
    trials.
    """

    scale: str = "thumbnail"
    seed: int = 0
    trials: Trials = in_this_process

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise DataError(f"scale {self.scale!r} is unknown; choose {' or '.join(SCALES)}")

    def pick(self, *, thumbnail: Value, paper: Value) -> Value:
        """The value for this scale."""
        return thumbnail if self.scale == "thumbnail" else paper
