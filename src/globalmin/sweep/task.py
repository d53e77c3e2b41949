"""Tasks: what goes to a worker and what comes back, plain texts and bytes, so that every executor
can carry them; and what every executor's worker does with one: find the recipe, run its trials,
encode what came of them.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import sys
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from globalmin.errors import PlanError
from globalmin.sweep.canonical import encode_result
from globalmin.sweep.ledger import MAX_TRIES, Outcome, Trial
from globalmin.sweep.plan import Recipe, code_version, find_recipe


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


TASK_SECONDS = (
    0.25  # of work in one task: long beside the cost of sending it, short beside a user's patience
)
MAX_CHUNK = 64
MIN_BATCH, MAX_BATCH = 8, 256
PAGE = 4096


@dataclass
class Schedule:
    """Fresh trials in the order of the plan, then those to be tried again.

    Parameters
    ----------
    fetch : (after (tries, position), limit) -> waiting trials with positions, from the ledger.
    template : the task without trials.
    slots : tasks at once.
    waiting : how many trials the ledger has waiting.
    batch_size : of the plan; None chooses.
    """

    fetch: Callable[[tuple[int, int], int], list[tuple[int, Trial]]]
    template: Task
    slots: int
    waiting: int
    batch_size: int | None = None
    running: dict[int, dict[str, Trial]] = field(default_factory=dict)
    _page: deque[Trial] = field(default_factory=deque)
    _after: tuple[int, int] = (-1, -1)
    _returned: set[str] = field(default_factory=set)
    _again: deque[tuple[Trial, ...]] = field(default_factory=deque)
    _key: int = 0
    _mean_seconds: float = TASK_SECONDS

    def next_task(self) -> Task | None:
        """The next task, now running; None if nothing waits."""
        trials = self._fresh() or (self._again.popleft() if self._again else ())
        if not trials:
            return None
        self._key += 1
        self.waiting -= len(trials)
        self.running[self._key] = {trial.id: trial for trial in trials}
        return replace(self.template, key=self._key, trials=tuple(trials))

    def _fresh(self) -> tuple[Trial, ...]:
        size = self._size()
        while len(self._page) < size and (rows := self.fetch(self._after, PAGE)):
            self._page.extend(trial for _, trial in rows if trial.id not in self._returned)
            self._after = (rows[-1][1].tries, rows[-1][0])
        return tuple(self._page.popleft() for _ in range(min(size, len(self._page))))

    def _size(self) -> int:
        """Trials per task: a batch as large as leaves work for every slot, or about a quarter
        second's worth.
        """
        share = max(1, self.waiting // (4 * self.slots))
        if self.template.batch:
            return self.batch_size or max(MIN_BATCH, min(MAX_BATCH, share))
        return max(1, min(MAX_CHUNK, share, int(TASK_SECONDS / max(self._mean_seconds, 1e-6))))

    def note(self, report: Report) -> None:
        """Take the finished trials of a report off the list."""
        for outcome in report.outcomes:
            self.running[report.key].pop(outcome.id, None)
            self._mean_seconds += 0.1 * (outcome.seconds - self._mean_seconds)

    def lost(self, report: Report) -> tuple[list[str], list[str], list[Outcome]]:
        """After a worker's death: trials given back without blame, the suspect given back with a
        try counted, or its failure.
        """
        left = tuple(self.running.pop(report.key).values())
        suspects = left if not report.in_order else left[:1]
        if not report.started:
            self._put_back(left)
            return [trial.id for trial in left], [], []
        if len(suspects) > 1:  # halves find the culprit in a few deaths
            half = len(suspects) // 2
            self._put_back(suspects[:half])
            self._put_back(suspects[half:])
            return [trial.id for trial in left], [], []
        self._put_back(left[1:])
        innocent = [trial.id for trial in left[1:]]
        suspect = [replace(trial, tries=trial.tries + 1) for trial in suspects]
        failed = [_given_up(trial, report.lost) for trial in suspect if trial.tries >= MAX_TRIES]
        again = [trial for trial in suspect if trial.tries < MAX_TRIES]
        self._put_back(tuple(again))
        return innocent, [trial.id for trial in again], failed

    def ended(self, report: Report) -> list[str]:
        """A task came to its end; trials it left without outcome (there should be none) wait
        again.
        """
        left = tuple(self.running.pop(report.key).values())
        self._put_back(left)
        return [trial.id for trial in left]

    def _put_back(self, trials: Sequence[Trial]) -> None:
        if trials:
            self._again.append(tuple(trials))
            self._returned.update(
                trial.id for trial in trials
            )  # the ledger has them waiting again, behind others
            self.waiting += len(trials)


def _given_up(trial: Trial, reason: str) -> Outcome:
    text = (
        f"given up after {trial.tries} tries, each of which ended its worker; the last time: "
        f"{reason}\n"
    )
    return Outcome(trial.id, None, text, 0.0)


Finished = tuple[Outcome, dict[str, bytes]]


def run_task(task: Task) -> Iterator[Finished]:
    """Outcomes one by one, or all at the end for a batch. Raises PlanError if this worker's code is
    not the driver's.
    """
    recipe = find_recipe(task.recipe, task.paths)
    code = code_version(task.recipe, recipe)
    if code != task.code:
        raise PlanError(
            f"a worker has another version of {task.recipe} ({code}) than the driver "
            f"({task.code}); install the same"
        )
    if task.batch:
        yield from _run_batch(recipe, task)
    else:
        for trial in task.trials:
            yield _run_trial(recipe, trial, task.timeout)


def _run_trial(recipe: Recipe, trial: Trial, timeout: float | None) -> Finished:
    start = time.perf_counter()
    parameters = json.loads(trial.parameters)
    try:
        with _deadline(timeout):
            result = recipe(**parameters, seed=trial.seed)
        return _success(trial, parameters, result, time.perf_counter() - start)
    except BaseException as error:
        return _failure(trial, error, time.perf_counter() - start), {}


def _run_batch(recipe: Recipe, task: Task) -> list[Finished]:
    start = time.perf_counter()
    sets = [{**json.loads(trial.parameters), "seed": trial.seed} for trial in task.trials]
    try:
        with _deadline(task.timeout):
            results = list(recipe.batch([dict(one) for one in sets]))  # pyright: ignore[reportFunctionMemberAccess]
        if len(results) != len(sets):
            raise ValueError(
                f"{task.recipe}.batch returned {len(results)} results for {len(sets)} trials; "
                "return one for each"
            )
    except BaseException:
        if len(sets) > 1:  # whose fault it is, only running them one by one can tell
            return [_run_batch(recipe, _single(task, trial))[0] for trial in task.trials]
        error = sys.exc_info()[1] or RuntimeError("unknown")
        return [(_failure(task.trials[0], error, time.perf_counter() - start), {})]
    seconds = (time.perf_counter() - start) / len(sets)
    return [
        _batched(trial, one, result, seconds)
        for trial, one, result in zip(task.trials, sets, results, strict=True)
    ]


def _single(task: Task, trial: Trial) -> Task:
    return Task(
        task.key,
        task.recipe,
        task.code,
        (trial,),
        batch=True,
        timeout=task.timeout,
        paths=task.paths,
    )


def _batched(
    trial: Trial, parameters: Mapping[str, Any], result: object, seconds: float
) -> Finished:
    if isinstance(result, BaseException):
        return _failure(trial, result, seconds), {}
    try:
        return _success(trial, [name for name in parameters if name != "seed"], result, seconds)
    except (TypeError, ValueError) as error:
        return _failure(trial, error, seconds), {}


def _success(
    trial: Trial, parameters: Sequence[str] | Mapping[str, Any], result: object, seconds: float
) -> Finished:
    text, blobs = encode_result(result, parameters)
    return Outcome(trial.id, text, None, seconds, tuple(blobs)), blobs


def _failure(trial: Trial, error: BaseException, seconds: float) -> Outcome:
    trace = error.__traceback__
    ours = trace is not None and trace.tb_frame.f_code.co_filename == __file__
    error = error.with_traceback(
        trace.tb_next if ours and trace else trace
    )  # the reader wants the recipe's frames only
    return Outcome(trial.id, None, "".join(traceback.format_exception(error)), seconds)


@contextlib.contextmanager
def _deadline(timeout: float | None) -> Iterator[None]:
    """End this process when the block takes longer: the only way that stops compiled code too. The
    driver sees a dead worker.
    """
    if timeout is None:
        yield
        return
    faulthandler.dump_traceback_later(
        timeout, exit=True, file=2 if CRASH_LOG is None else CRASH_LOG
    )
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


CRASH_LOG: int | None = None  # file descriptor where a dying local worker leaves its traceback
