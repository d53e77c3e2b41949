"""The driver: enrolls the plan's trials, keeps the executor busy and records what comes back;
killing it loses nothing.

The first Ctrl-C asks the sweep to end after the running trials are recorded, the second ends it at
once. The progress bar is on stderr, on a terminal only, unless asked for.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from globalmin.errors import PlanError
from globalmin.files import canonical_json
from globalmin.sweep.canonical import trial_id
from globalmin.sweep.executors import Executor, check_executor, make_executor
from globalmin.sweep.ledger import Outcome, Trial
from globalmin.sweep.plan import Plan, check_parameters, code_version, find_recipe
from globalmin.sweep.store import Store
from globalmin.sweep.task import Report, Schedule, Task


class Interrupted(KeyboardInterrupt):
    """The sweep was ended by the user; everything that had finished is recorded, and `resume` goes
    on.
    """


class Interrupts:
    """While inside, signals set `requested` instead of breaking off; outside the main thread
    nothing changes.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # pyright: ignore[reportArgumentType]

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        sys.stderr.write("\nending after the running trials; once more ends at once\n")


class Progress:
    """Counts trials; this one shows nothing."""

    def advance(self, done: int, failed: int) -> None:
        """So many more trials are recorded."""


class _Bar(Progress):
    def __init__(self, display: Any, task: Any, failed: int) -> None:
        self._display, self._task, self._failed = display, task, failed

    def advance(self, done: int, failed: int) -> None:
        self._failed += failed
        self._display.update(self._task, advance=done + failed, failed=self._failed)


@contextmanager
def make_progress(wanted: bool | None, name: str, counts: Mapping[str, int]) -> Iterator[Progress]:
    """A bar while inside; None: only where stderr is a terminal."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield Progress()
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description}", markup=False), progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[failed]} failed"), progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=Console(stderr=True)) as display:
        task = display.add_task(
            name,
            total=sum(counts.values()),
            completed=counts["done"] + counts["failed"],
            failed=counts["failed"],
        )
        yield _Bar(display, task, counts["failed"])


POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Summary:
    """How a run ended; `computed` counts the trials of this run, the others were there before."""

    folder: Path
    total: int
    done: int
    failed: int
    computed: int
    seconds: float


def run(
    plan: Plan,
    folder: str | os.PathLike[str],
    executor: str | Executor = "local",
    workers: int | None = None,
    *,
    address: str | None = None,
    progress: bool | None = None,
) -> Summary:
    """Compute every trial of the plan that the folder does not have yet.

    Parameters
    ----------
    plan : what to compute.
    folder : made if it is not there; a sweep that was interrupted there goes on.
    executor : "local", "dask", "ray", or an object that keeps the protocol `executors.Executor`.
    workers : number of processes; all cores if left out.
    address : of a Dask scheduler or Ray cluster; a local cluster is started if left out.
    progress : a bar on stderr; None shows it on a terminal only.
    """
    if isinstance(executor, str):
        check_executor(executor, workers, address)
    code = _checked_code(plan)
    with Store(folder, create=True) as store:
        _enroll(store, plan, code)
        return _Drive(store, plan, code).run(executor, workers, address, progress)


def resume(
    folder: str | os.PathLike[str],
    executor: str | Executor = "local",
    workers: int | None = None,
    *,
    address: str | None = None,
    progress: bool | None = None,
    retry_failed: bool = False,
) -> Summary:
    """Go on with the plan that is stored in the folder; `retry_failed` gives failed trials another
    chance.
    """
    with Store(folder) as store:
        plan = Plan.from_json(store.ledger.get("plan") or _missing_plan(store.folder))
        code = _checked_code(plan)
        stored = store.ledger.get("code")
        if code != stored:
            raise PlanError(
                f"{store.folder}: the recipe {plan.recipe} changed since this sweep began "
                f"({stored}; now {code}); run the plan on this folder to compute its trials with "
                "the new code, or restore the old code"
            )
        if retry_failed:
            with store.ledger.transaction():
                store.ledger.retry_failed()
        return _Drive(store, plan, code).run(executor, workers, address, progress)


def _missing_plan(folder: Path) -> str:
    raise PlanError(
        f"{folder}: the ledger has no plan, its first run was ended too early; run the plan again "
        "on this folder"
    )


def _checked_code(plan: Plan) -> str:
    """Everything that can be wrong with a plan is found before the first trial."""
    recipe = find_recipe(plan.recipe, plan.paths)
    for names in {(*plan.grid, *trial, *plan.fixed) for trial in plan.trials}:
        check_parameters(plan.recipe, recipe, names)
    return code_version(plan.recipe, recipe)


def _enroll(store: Store, plan: Plan, code: str) -> None:
    text = plan.to_json()
    if store.ledger.get("plan") == text and store.ledger.get("code") == code:
        return
    with store.ledger.transaction():
        store.ledger.enroll(trials_of(plan, code), code)
        store.ledger.put("plan", text)
        store.ledger.put("code", code)


def trials_of(plan: Plan, code: str) -> Iterator[Trial]:
    """The trials of a plan in the order of its table; seeds run fastest."""
    for parameters in plan.parameter_sets():
        text = canonical_json(parameters)
        for seed in plan.seeds:
            yield Trial(trial_id(plan.recipe, parameters, seed, code), text, seed)


class _Drive:
    """One run of the loop."""

    def __init__(self, store: Store, plan: Plan, code: str) -> None:
        self.store, self.plan, self.code = store, plan, code
        self.computed = 0

    def run(
        self,
        executor: str | Executor,
        workers: int | None,
        address: str | None,
        progress: bool | None,
    ) -> Summary:
        start = time.monotonic()
        counts = self._counts()
        if counts["waiting"]:
            with self.store.ledger.transaction():
                self.store.ledger.put("started", repr(time.time()))
            ours = isinstance(executor, str)
            runner = (
                make_executor(executor, workers, address) if isinstance(executor, str) else executor
            )
            try:
                with (
                    make_progress(progress, self.plan.name, counts) as bar,
                    Interrupts() as interrupts,
                ):
                    self._loop(runner, bar, interrupts)
            finally:
                if ours:
                    runner.close()
            self.store.rest()
        counts = self._counts()
        if counts["waiting"]:
            raise Interrupted(
                f"interrupted; {counts['done'] + counts['failed']} of {sum(counts.values())} "
                "trials are recorded"
            )
        return Summary(
            self.store.folder,
            sum(counts.values()),
            counts["done"],
            counts["failed"],
            self.computed,
            time.monotonic() - start,
        )

    def _counts(self) -> dict[str, int]:
        rows = self.store.ledger.query(
            "SELECT state, count(*) FROM trial WHERE position IS NOT NULL GROUP BY state"
        )
        return {"waiting": 0, "done": 0, "failed": 0, **dict(rows)}

    def _loop(self, executor: Executor, bar: Progress, interrupts: Interrupts) -> None:
        schedule = self._schedule(executor)
        self._settle(schedule, executor, [], bar, stop=False)
        while schedule.running:
            reports = executor.wait(POLL_SECONDS)
            self.store.heartbeat()
            if reports or not interrupts.requested:
                self._settle(schedule, executor, reports, bar, stop=interrupts.requested)

    def _schedule(self, executor: Executor) -> Schedule:
        recipe = find_recipe(self.plan.recipe, self.plan.paths)
        template = Task(
            0,
            self.plan.recipe,
            self.code,
            (),
            batch=hasattr(recipe, "batch"),
            timeout=self.plan.timeout,
            paths=self.plan.paths,
        )
        waiting = self._counts()["waiting"]
        return Schedule(
            self.store.ledger.waiting, template, executor.slots, waiting, self.plan.batch_size
        )

    def _settle(
        self, schedule: Schedule, executor: Executor, reports: Any, bar: Progress, *, stop: bool
    ) -> None:
        """Record the reports and lease the next tasks in one transaction, then send them."""
        outcomes: list[Outcome] = []
        blobs: dict[str, bytes] = {}
        released: list[str] = []
        suspected: list[str] = []
        for report in reports:
            self._sort(report, schedule, (outcomes, released, suspected))
            blobs.update(report.blobs)
        tasks = [] if stop else list(_fill(schedule, executor.slots))
        if outcomes or released or suspected or tasks:
            leased = [trial.id for task in tasks for trial in task.trials]
            self.computed += self.store.settle(
                outcomes, blobs, leased=leased, released=released, suspected=suspected
            )
            bar.advance(
                sum(o.result is not None for o in outcomes), sum(o.result is None for o in outcomes)
            )
        for task in tasks:
            executor.submit(task)

    @staticmethod
    def _sort(
        report: Report, schedule: Schedule, into: tuple[list[Outcome], list[str], list[str]]
    ) -> None:
        outcomes, released, suspected = into
        outcomes.extend(report.outcomes)
        schedule.note(report)
        if report.lost:
            innocent, suspect, given_up = schedule.lost(report)
            released.extend(innocent)
            suspected.extend(suspect)
            outcomes.extend(given_up)
        elif report.ended:
            released.extend(schedule.ended(report))


def _fill(schedule: Schedule, slots: int) -> Iterator[Task]:
    while len(schedule.running) < slots:
        task = schedule.next_task()
        if task is None:
            return
        yield task
