"""Dask: tasks go to distributed's own scheduler, at an address or in a local cluster of worker
processes.
"""

from __future__ import annotations

import contextlib
import queue
from typing import Any

from globalmin.errors import PlanError
from globalmin.sweep.executors.local import report_of, run_isolated
from globalmin.sweep.task import Report, Task

GATHER_SECONDS = 30.0


class DaskExecutor:
    """A client of a Dask scheduler, which gives the task of a lost worker to another, as often as
    it is configured to.
    """

    def __init__(self, workers: int, address: str | None = None) -> None:
        distributed = self._distributed = _distributed()
        self._workers = workers
        self._cluster: Any = _local_cluster(distributed, workers) if address is None else None
        try:
            self._client = distributed.Client(
                self._cluster or address, set_as_default=False, timeout=30
            )
        except (OSError, ValueError) as error:
            raise PlanError(
                f"address {address!r}: no Dask scheduler answers ({error}); start one with `dask "
                "scheduler`"
            ) from error
        self._tasks: dict[Any, Task] = {}
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def slots(self) -> int:
        """Two tasks per thread, so that none waits for the driver."""
        threads = sum(self._client.nthreads().values())
        return 2 * max(threads, self._workers if self._cluster is not None else 1)

    def submit(self, task: Task) -> None:
        """Send the task."""
        future = self._client.submit(run_isolated, task.to_text(), pure=False)
        self._tasks[future] = task
        future.add_done_callback(self._finished.put)

    def wait(self, timeout: float) -> list[Report]:
        """Finished and lost tasks."""
        found = []
        with contextlib.suppress(queue.Empty):
            found.append(self._finished.get(timeout=timeout))
            while True:
                found.append(self._finished.get_nowait())
        reports = [self._report(future) for future in found if future in self._tasks]
        return [report for report in reports if report is not None]

    def _report(self, future: Any) -> Report | None:
        task = self._tasks[future]
        try:
            report = report_of(task, future.result(timeout=GATHER_SECONDS))
        except (
            self._distributed.TimeoutError
        ):  # its worker died with the result; the scheduler computes it again
            future.add_done_callback(self._finished.put)
            return None
        except (
            self._distributed.scheduler.KilledWorker,
            self._distributed.CancelledError,
            OSError,
        ) as error:
            report = Report(
                task.key, ended=True, lost=f"Dask lost the task, {type(error).__name__}: {error}"
            )
        except Exception as error:  # trials never raise: this worker cannot run the recipe at all
            raise PlanError(
                f"a Dask worker cannot run {task.recipe}: {error}; install the same code there"
            ) from error
        del self._tasks[future]
        future.release()
        return report

    def close(self) -> None:
        """Leave the scheduler; end the cluster if it was started here."""
        for future in self._tasks:
            with contextlib.suppress(
                Exception
            ):  # a scheduler that is gone has nothing left to cancel
                future.cancel()
        self._tasks.clear()
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise PlanError(
            "executor 'dask' needs distributed; install globalmin[dask], or use executor 'local'"
        ) from error
    return distributed


def _local_cluster(distributed: Any, workers: int) -> Any:
    return distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=50,
    )
