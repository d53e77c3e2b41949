"""Worker processes on this machine: spawned, never forked; a dead one is replaced, an orphaned one
ends by itself.

A worker of Dask or Ray hands its task to such a process too (`run_isolated`): a trial that ends its
process, by a crash, its own memory or the plan's timeout, then costs that process and not the
worker of the cluster; the trial to blame is known, and its traceback is kept. The process stays for
the next task and ends with the worker.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import IO, Any

from globalmin.errors import GlobalMinError, PlanError
from globalmin.sweep.task import Report, Task, outcome_from, outcome_text

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
MAX_STILLBORN = (
    10  # workers in a row that die before they are ready: the environment is broken, not a trial
)
MAX_DRAINED = 1024  # messages read before they are recorded
_PROGRAM = "from globalmin.sweep.executors.local_worker import main; main()"


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection
    crash_log: IO[bytes]
    task: Task | None = None
    ready: bool = False


class LocalExecutor:
    """`workers` processes, started when they are first needed.

    Parameters
    ----------
    workers : how many.
    threads : numerical threads of each; the cores divided by the workers if left out.
    tied : end a worker with the very thread that started it, even inside compiled code (Linux).
        Without it a worker notices the end of its driver when compiled code lets it.
    """

    def __init__(self, workers: int, *, threads: int | None = None, tied: bool = True) -> None:
        self._slots, self._tied = workers, tied
        self._threads = threads or max(1, available_cores() // workers)
        self._workers: list[_Worker] = []
        self._stillborn = 0

    @property
    def slots(self) -> int:
        """Number of processes."""
        return self._slots

    @property
    def pids(self) -> list[int]:
        """Process ids of the living workers."""
        return [worker.process.pid for worker in self._workers]

    def submit(self, task: Task) -> None:
        """Give the task to an idle worker, or to a new one."""
        worker = next((worker for worker in self._workers if worker.task is None), None)
        if worker is None:
            worker = _spawn(self._threads, self._tied)
            self._workers.append(worker)
        worker.task = task
        with contextlib.suppress(OSError):  # it died while idle: `wait` finds the closed connection
            worker.connection.send_bytes(task.to_text().encode("ascii"))

    def wait(self, timeout: float) -> list[Report]:
        """Outcomes and deaths."""
        by_connection = {worker.connection: worker for worker in self._workers}
        ready = wait(list(by_connection), timeout)
        reports = [
            report
            for c in ready
            if isinstance(c, Connection)
            for report in self._drain(by_connection[c])
        ]
        return [report for report in reports if report is not None]

    def _drain(self, worker: _Worker) -> Iterator[Report | None]:
        """Everything that has arrived: one transaction for all of it is what makes tiny trials
        fast.
        """
        for _ in range(MAX_DRAINED):
            yield self._read(worker)
            if worker.connection.closed or not worker.connection.poll():
                return

    def _read(self, worker: _Worker) -> Report | None:
        try:
            message = json.loads(worker.connection.recv_bytes())
            blobs = {digest: worker.connection.recv_bytes() for digest in message["blobs"]}
        except (EOFError, OSError):
            return self._bury(worker)
        if "ready" in message:
            worker.ready, self._stillborn = True, 0
            return None
        if "refused" in message:
            raise PlanError(message["refused"])
        if worker.task is None:
            raise GlobalMinError(f"worker {worker.process.pid} answered without a task")
        key, ended = worker.task.key, message["ended"]
        if ended:
            worker.task = None
        return Report(key, [outcome_from(text) for text in message["outcomes"]], blobs, ended=ended)

    def _bury(self, worker: _Worker) -> Report | None:
        """The process is gone, or no longer listens: make sure of it and say what it left
        undone.
        """
        self._workers.remove(worker)
        reason = _end(worker)
        if not worker.ready:
            self._stillborn += 1
            if self._stillborn >= MAX_STILLBORN:
                raise GlobalMinError(
                    f"worker processes end before they are ready ({reason}); try `{sys.executable} "
                    "-c 'import globalmin'`"
                )
        if worker.task is None:
            return None
        in_order = not worker.task.batch
        return Report(
            worker.task.key, ended=True, lost=reason, started=worker.ready, in_order=in_order
        )

    def close(self) -> None:
        """End every worker at once."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            _end(worker)
        self._workers.clear()


def _spawn(threads: int, tied: bool) -> _Worker:
    ours, theirs = Pipe()
    crash_log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by _end)
    try:
        process = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-c",
                _PROGRAM,
                str(theirs.fileno()),
                str(crash_log.fileno()),
                str(int(tied)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what a recipe prints must not mix with the results on stdout
            pass_fds=(theirs.fileno(), crash_log.fileno()),
            env=_environment(threads),
            process_group=0,  # Ctrl-C is the driver's business
        )
    except BaseException:
        crash_log.close()
        ours.close()
        raise
    finally:
        theirs.close()
    return _Worker(process, ours, crash_log)


def _environment(threads: int) -> dict[str, str]:
    """The same modules as here; the user's word on threads goes before ours."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    for name in THREADS:
        environment.setdefault(name, str(threads))
    return environment


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end(worker: _Worker) -> str:
    """Kill what may be left of a worker and say how it ended."""
    worker.connection.close()
    try:
        code = worker.process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        worker.process.kill()
        code = worker.process.wait()
    worker.crash_log.seek(0)
    trace = worker.crash_log.read(100_000).decode("utf-8", "replace").strip()
    worker.crash_log.close()
    how = (
        f"ended by signal {-code} ({signal.Signals(-code).name})"
        if code < 0
        else f"ended with exit code {code}"
    )
    return f"the worker process {how}" + (f"\n{trace}" if trace else "")


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
