"""Dask and Ray: tasks go to the scheduler of the library, at an address or in a local cluster of
worker processes.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import time
from typing import Any

from globalmin.errors import GlobalMinError, PlanError
from globalmin.sweep.executors.local import report_of, run_isolated
from globalmin.sweep.task import Report, Task

GATHER_SECONDS = 30.0
LONELY_SECONDS = 30.0  # without a report, after which the scheduler is asked whether anybody works


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
        self._heard = time.monotonic()

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
        self._watch(len(found))
        reports = [self._report(future) for future in found if future in self._tasks]
        return [report for report in reports if report is not None]

    def _watch(self, reports: int) -> None:
        """A cluster without workers is an error if it is ours, for nobody will send any; elsewhere
        it is told, and workers may come.
        """
        if reports or time.monotonic() - self._heard < LONELY_SECONDS:
            self._heard = time.monotonic() if reports else self._heard
            return
        self._heard = time.monotonic()
        if self._client.nthreads():
            return
        if self._cluster is not None:
            raise GlobalMinError(
                "the local Dask cluster has lost all of its workers; resume the sweep, what was "
                "recorded is safe"
            )
        sys.stderr.write("the Dask cluster has no workers; waiting for some\n")

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
        dashboard_address=":0",  # any free port: None would mean 8787, which another run may hold
        silence_logs=50,
    )


START_TRIES = 3
QUIET = {"log_to_driver": False, "configure_logging": False}


class RayExecutor:
    """A client of a Ray cluster; a lost worker's task is reported as lost, Ray replaces the
    worker.
    """

    def __init__(self, workers: int, address: str | None = None) -> None:
        self._ray = _ray()
        self._ours = not self._ray.is_initialized()
        if self._ours:
            self._start(workers, address)
        # not Ray's to retry: tries are counted in the ledger
        self._run = self._ray.remote(num_cpus=1, max_retries=0)(run_isolated)
        self._tasks: dict[Any, Task] = {}

    def _start(self, workers: int, address: str | None) -> None:
        if address is None:
            self._start_here(workers)
            return
        try:
            self._ray.init(address=address, **QUIET)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise PlanError(
                f"address {address!r}: no Ray cluster answers ({error}); start one with `ray start "
                "--head`"
            ) from error

    def _start_here(self, workers: int) -> None:
        """Ray gives its own processes 30 seconds to start, which a busy machine may exceed: then it
        is worth another try.
        """
        modules = {
            "PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder)
        }  # what is importable here is so there
        for attempt in range(1, START_TRIES + 1):
            try:
                self._ray.init(
                    num_cpus=workers,
                    include_dashboard=False,
                    runtime_env={"env_vars": modules},
                    **QUIET,
                )
                return
            except Exception as error:
                self._ray.shutdown()
                if attempt == START_TRIES:
                    raise PlanError(
                        f"Ray did not start here ({error}); try again, or use executor 'local'"
                    ) from error

    @property
    def slots(self) -> int:
        """Two tasks per core, so that none waits for the driver."""
        return 2 * max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def submit(self, task: Task) -> None:
        """Send the task."""
        self._tasks[self._run.remote(task.to_text())] = task

    def wait(self, timeout: float) -> list[Report]:
        """Finished and lost tasks."""
        if not self._tasks:
            return []
        ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=timeout)
        more, _ = self._ray.wait(list(self._tasks), num_returns=len(self._tasks), timeout=0)
        return [self._report(reference) for reference in {*ready, *more}]

    def _report(self, reference: Any) -> Report:
        task = self._tasks.pop(reference)
        try:
            return report_of(task, self._ray.get(reference))
        except (
            self._ray.exceptions.RayTaskError
        ) as error:  # trials never raise: this worker cannot run the recipe at all
            raise PlanError(
                f"a Ray worker cannot run {task.recipe}: {error.cause}; install the same code there"
            ) from error
        except self._ray.exceptions.RayError as error:
            return Report(
                task.key, ended=True, lost=f"Ray lost the task, {type(error).__name__}: {error}"
            )

    def close(self) -> None:
        """Cancel what runs; end the cluster if it was started here."""
        for reference in self._tasks:
            self._ray.cancel(reference, force=True)
        self._tasks.clear()
        if self._ours:
            self._ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise PlanError(
            "executor 'ray' needs ray; install globalmin[ray], or use executor 'local'"
        ) from error
    return ray
