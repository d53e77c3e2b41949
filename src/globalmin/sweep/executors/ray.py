"""Ray: tasks go to Ray's own scheduler, at an address or in a local cluster."""

from __future__ import annotations

import os
import sys
from typing import Any

from globalmin.errors import PlanError
from globalmin.sweep.executors.local import report_of, run_isolated
from globalmin.sweep.task import Report, Task

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
