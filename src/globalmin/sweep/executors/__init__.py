"""Executors: where tasks run. One small protocol; local processes, Dask and Ray behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from globalmin._options import EXECUTORS, one_of
from globalmin.errors import PlanError
from globalmin.sweep.executors.local import LocalExecutor, available_cores
from globalmin.sweep.task import Report, Task


class Executor(Protocol):
    """Runs tasks and reports on them; never raises for a dead worker, which is a report."""

    @property
    def slots(self) -> int:
        """How many tasks it runs at once."""
        ...

    def submit(self, task: Task) -> None:
        """Take a task; called for at most `slots` tasks at a time."""
        ...

    def wait(self, timeout: float) -> Sequence[Report]:
        """News since the last call, at once if there are any, else after at most `timeout`
        seconds.
        """
        ...

    def close(self) -> None:
        """End the workers that were started here, at once."""
        ...


def check_executor(name: str, workers: int | None = None, address: str | None = None) -> None:
    """Refuse an unknown executor, a number of workers below one, and an address for local
    processes.
    """
    one_of("executor", name, EXECUTORS, error=PlanError)
    if workers is not None and (
        isinstance(workers, bool) or not isinstance(workers, int) or workers < 1
    ):
        raise PlanError(f"workers = {workers!r}: give a whole number, at least 1")
    if name == "local" and address is not None:
        raise PlanError(f"address {address!r} is for the executors dask and ray; leave it out")


def make_executor(name: str, workers: int | None = None, address: str | None = None) -> Executor:
    """The executor of that name; `workers` processes here, or the scheduler at `address`."""
    check_executor(name, workers, address)
    if name == "local":
        return LocalExecutor(workers or available_cores())
    if name == "dask":
        from globalmin.sweep.executors.cluster import DaskExecutor

        return DaskExecutor(workers or available_cores(), address)
    from globalmin.sweep.executors.cluster import RayExecutor

    return RayExecutor(workers or available_cores(), address)
