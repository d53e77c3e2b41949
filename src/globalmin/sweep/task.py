"""What goes to a worker and what comes back: plain texts and bytes, so that every executor can
carry them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from globalmin.sweep.ledger import Outcome, Trial


@dataclass(frozen=True)
class Task:
    """Some trials of one recipe for one worker; `batch`: all in one call of `recipe.batch`."""

    key: int
    recipe: str
    code: str
    trials: tuple[Trial, ...]
    batch: bool = False
    timeout: float | None = None
    paths: tuple[str, ...] = ()

    def to_text(self) -> str:
        """JSON of the task."""
        return json.dumps(
            {**vars(self), "trials": [vars(trial) for trial in self.trials]}, allow_nan=False
        )

    @classmethod
    def from_text(cls, text: str) -> Task:
        """Undo `to_text`."""
        content = json.loads(text)
        trials = tuple(Trial(**trial) for trial in content.pop("trials"))
        return cls(**{**content, "trials": trials, "paths": tuple(content["paths"])})


@dataclass(frozen=True)
class Report:
    """News of one task.

    Parameters
    ----------
    key : of the task.
    outcomes : finished trials, each reported once.
    blobs : arrays by digest that the outcomes name.
    ended : whether the task occupies its slot no longer.
    lost : why the worker died, if it did; empty otherwise.
    started : whether the dead worker had begun; otherwise no trial is to blame.
    in_order : whether the trials without outcome are waiting behind the first of them, which then
        is the only suspect.
    """

    key: int
    outcomes: Sequence[Outcome] = ()
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    ended: bool = False
    lost: str = ""
    started: bool = True
    in_order: bool = False


def outcome_text(outcome: Outcome) -> str:
    """JSON of an outcome."""
    return json.dumps(vars(outcome), allow_nan=False)


def outcome_from(text: str) -> Outcome:
    """Undo `outcome_text`."""
    content = json.loads(text)
    return Outcome(**{**content, "objects": tuple(content["objects"])})
