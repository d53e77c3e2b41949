"""What a worker of Dask or Ray does with a task: hand it to a process of its own.

A trial that ends its process, by a crash, its own memory or the plan's timeout, then costs that
process and not the worker of the cluster; the trial to blame is known, and its traceback is kept.
The process stays for the next task and ends with the worker.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from globalmin.sweep.executors.local import LocalExecutor
from globalmin.sweep.task import Report, Task, outcome_from, outcome_text

POLL_SECONDS = 5.0

Answer = dict[str, Any]

_idle: deque[LocalExecutor] = deque()  # one for every task that this worker runs at the same time


def run_isolated(text: str) -> Answer:
    """Run a task, given as text, in a process of its own; the answer is plain texts and bytes."""
    try:
        executor = _idle.pop()
    except IndexError:
        executor = LocalExecutor(1, threads=1, tied=False)
    try:
        reports = _reports(executor, Task.from_text(text))
    except BaseException:
        executor.close()
        raise
    _idle.append(executor)
    last = reports[-1]
    return {
        "outcomes": [outcome_text(outcome) for report in reports for outcome in report.outcomes],
        "blobs": {
            digest: content for report in reports for digest, content in report.blobs.items()
        },
        "lost": last.lost,
        "started": last.started,
        "in_order": last.in_order,
    }


def report_of(task: Task, answer: Answer) -> Report:
    """The answer as the driver takes it."""
    outcomes = [outcome_from(text) for text in answer["outcomes"]]
    how = {name: answer[name] for name in ("lost", "started", "in_order")}
    return Report(task.key, outcomes, answer["blobs"], ended=True, **how)


def _reports(executor: LocalExecutor, task: Task) -> list[Report]:
    executor.submit(task)
    reports: list[Report] = []
    while not (reports and reports[-1].ended):
        reports += executor.wait(POLL_SECONDS)
    return reports
