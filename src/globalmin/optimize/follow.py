"""The part of a run that is the same for every method: recording, stopping, interrupts, progress,
the best point.

A method is a generator of iterates and contains only mathematics; `follow` pulls its iterates
through a `Watch`. A routine that calls back instead (scipy) feeds `Watch.see` itself.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, TypedDict, TypeVar

import numpy as np

from globalmin.errors import DataError, NotConverged
from globalmin.optimize.run import Model, Run, Status, Trajectory

INTERVAL = 0.1  # seconds between two updates: a fast method must not spend its time drawing


class Progress:
    """Shows on stderr how far a run has come, if asked to and if stderr is a terminal."""

    def __init__(self, title: str, max_iter: int, *, visible: bool) -> None:
        self._title, self._max_iter = title, max_iter
        self._visible = visible and sys.stderr.isatty()
        self._live = None
        self._due = 0.0

    def __enter__(self) -> Progress:
        if self._visible:
            from rich.console import Console
            from rich.status import Status

            self._live = Status(self._title, console=Console(stderr=True))
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def is_shown(self) -> bool:
        """Whether anybody looks at it."""
        return self._live is not None

    def update(self, iteration: int, words: str) -> None:
        """Redraw, at most ten times a second."""
        now = time.monotonic()
        if self._live is not None and now >= self._due:
            self._due = now + INTERVAL
            self._live.update(
                f"{self._title}: iteration {iteration} of at most {self._max_iter}, {words}"
            )


class Point(Protocol):
    """What the loop needs of a point."""

    @property
    def loss(self) -> float:
        """The loss that is reported."""
        ...

    @property
    def error(self) -> float:
        """What the run lowers: the best point has the least, a point where it is not finite has
        diverged.
        """
        ...

    def in_words(self) -> str:
        """How good the point is, for the progress line and the message."""
        ...


P = TypeVar("P", bound=Point)
R = TypeVar("R", bound=Run[Any])


@dataclass(frozen=True)
class Weighed(Generic[Model]):
    """A point of which the loop knows the loss only."""

    network: Model
    loss: float

    @property
    def error(self) -> float:
        """The loss."""
        return self.loss

    def in_words(self) -> str:
        """The loss."""
        return f"loss {self.loss:.6g}"


class Iterate(NamedTuple, Generic[P]):
    """One step of a method: the new point, how many iterations it stands for, and how far it
    travelled (None: straight).
    """

    point: P
    steps: int = 1
    travel: float | None = None


class End(NamedTuple, Generic[P]):
    """How a method says that it is over: the status, the point to return (None: the watch's
    choice), and a message of its own.
    """

    status: Status
    point: P | None = None
    note: str = ""


# what the generator returns, if anything, says how it ended
Method = Iterator[Iterate[P]] | Generator[Iterate[P], None, End[P] | Status | None]


@dataclass(frozen=True)
class Step(Generic[Model]):
    """What a monitor sees: `monitor(step)` is called at every recorded step; return True from it to
    stop there, raise KeyboardInterrupt to stop with the best point.
    """

    iteration: int
    point: Any
    network: Callable[[], Model]

    @property
    def loss(self) -> float:
        """The loss at this step."""
        return self.point.loss

    @property
    def relative_residual(self) -> float:
        """||f - y||/||y||; NaN for a loss that has no residual."""
        return getattr(self.point, "relative_residual", math.nan)


Monitor = Callable[[Step[Any]], object]


class Watching(TypedDict, total=False):
    """Options that every run takes.

    verbose : show a progress line if stderr is a terminal. throw : raise NotConverged instead of
    returning a run that missed its target. monitor : called with a `Step` at every recorded step.
    """

    verbose: bool
    throw: bool
    monitor: Monitor | None


class Options(Watching, total=False):
    """The same with the iteration limit."""

    max_iter: int | None


class Recorder(Generic[P]):
    """Collects a trajectory: iteration, loss and what `measure` adds, at the steps that are due.

    Parameters
    ----------
    kind : the class of the trajectory.
    measure : (point, iteration) -> the further columns, numbers or vectors.
    gap : iteration -> iterations until the next record; by default every step at first, then
        thinned geometrically, so that a million steps leave two thousand entries.
    most : entries of the trajectory at most, evenly spaced among the recorded ones.
    """

    def __init__(
        self,
        kind: type[Trajectory] = Trajectory,
        measure: Callable[[P, int], tuple[Any, ...]] = lambda point, iteration: (),
        *,
        gap: Callable[[int], int] = lambda iteration: max(1, iteration // 200),
        most: int | None = None,
    ) -> None:
        self._kind, self._measure, self._gap, self._most = kind, measure, gap, most
        self.rows: list[tuple[Any, ...]] = []
        self._next = 0

    def passed(self, iterate: Iterate[P]) -> None:
        """An iterate at a new point, recorded or not."""

    def is_due(self, iteration: int) -> bool:
        """Whether this step is to be recorded."""
        return iteration >= self._next

    def record(self, point: P, iteration: int) -> None:
        """Append one entry."""
        self.rows.append((iteration, point.loss, *self._measure(point, iteration)))
        self._next = iteration + self._gap(iteration)

    def is_recorded(self, iteration: int) -> bool:
        """Whether the last entry is this step's."""
        return bool(self.rows) and self.rows[-1][0] == iteration

    def close(self) -> Trajectory:
        """The trajectory so far."""
        if not self.rows:
            iteration, *others = np.empty((len(fields(self._kind)), 0))
            return self._kind(iteration.astype(np.int64), *others)
        kept = [self.rows[i] for i in evenly(len(self.rows), self._most or len(self.rows))]
        return self._kind(*(np.array(column) for column in zip(*kept, strict=True)))


def every_step(_iteration: int) -> int:
    """The gap of a record without thinning."""
    return 1


def evenly(n: int, most: int) -> list[int]:
    """The first and the last of n places and evenly spaced ones between, at most so many."""
    if n <= most:
        return list(range(n))
    return sorted({round(place) for place in np.linspace(0, n - 1, max(2, most)).tolist()})


class Watch(Generic[P, Model]):
    """Follows one run: sees every iterate, says when to stop, and makes the `Run`.

    Parameters
    ----------
    start : the first point; it is seen before the method begins.
    network : the network at a point.
    recorder : what is kept of the path.
    options : limits, progress line, monitor, exception.
    reached : (point, best) -> a status if the target is reached there (or the run is lost), else
        None.
    ending : (best, status) -> the status of a run that ended by its limit or by itself: a fit that
        misses the tolerance by rounding only has converged.
    keeps_last : return the last point instead of the best, unless the run diverged or was
        interrupted.

    Attributes
    ----------
    best, last, chosen : the best point seen, the last one, and after the run the one it returns.
    """

    def __init__(
        self,
        start: P,
        network: Callable[[P], Model],
        recorder: Recorder[P],
        options: Options,
        *,
        method: str,
        default_max_iter: int,
        reached: Callable[[P, P], Status | None],
        ending: Callable[[P, Status], Status] = lambda best, status: status,
        keeps_last: bool = False,
    ) -> None:
        self.method, self.max_iter = method, iteration_limit(options, default_max_iter)
        self.monitor, self.throw = options.get("monitor"), bool(options.get("throw", False))
        self.start: P = start
        self.best: P = start
        self.chosen: P = start
        self.last: P | None = None
        self.iteration, self._last_at = 0, 0
        self._network, self._recorder, self._keeps_last = network, recorder, keeps_last
        self._reached, self._ending = reached, ending
        self._progress = Progress(
            method, self.max_iter, visible=bool(options.get("verbose", False))
        )

    def see(self, iterate: Iterate[P]) -> Status | None:
        """Take in one iterate; the status if the run is over."""
        point = iterate.point
        self.iteration += iterate.steps
        if not np.isfinite(point.error):
            return Status.DIVERGED
        if point is not self.last:
            self._recorder.passed(iterate)
            self.best = point if point.error < self.best.error else self.best
        self.last, self._last_at = point, self.iteration
        status = self._reached(point, self.best)
        if status is None and self.iteration >= self.max_iter:
            status = self._ending(self.best, Status.MAX_ITER)
        if status is not None or self._recorder.is_due(self.iteration):
            status = self._show(point) or status
        if status in (Status.PROVABLE, Status.STOPPED):
            self.best = point  # it was said of this point
        return status

    def _show(self, point: P) -> Status | None:
        self._recorder.record(point, self.iteration)
        if self._progress.is_shown:
            self._progress.update(self.iteration, point.in_words())
        if self.monitor is None:
            return None
        step = Step(self.iteration, point, lambda: self._network(point))
        return Status.STOPPED if self.monitor(step) is True else None

    def run(self, body: Callable[[], End[P] | Status | None]) -> Run[Model]:
        """Run `body`, which feeds `see`, and return the result; Ctrl-C keeps the best point.

        The body returns how it ended; None if it found no way to go on.
        """
        with np.errstate(over="ignore", invalid="ignore"), self._progress:
            try:
                end = self.see(Iterate(self.start, 0)) or body()
            except KeyboardInterrupt:
                end = Status.INTERRUPTED
            end = self._ending(self.best, Status.STALLED) if end is None else end
            result = self._result(end if isinstance(end, End) else End(end))
        return raised_if(self.throw, result)

    def _result(self, end: End[P]) -> Run[Model]:
        if self.last is not None and not self._recorder.is_recorded(self._last_at):
            self._recorder.record(self.last, self._last_at)
        lost = end.status in (Status.DIVERGED, Status.INTERRUPTED)
        last = self.last if self._keeps_last and not lost else None
        self.chosen = point = end.point or last or self.best
        words = f"{point.in_words()} after {self.iteration} iterations"
        return Run(
            network=self._network(point),
            status=end.status,
            message=f"{self.method}: {end.note or f'{end.status.message} ({words})'}",
            trajectory=self._recorder.close(),
            n_iter=self.iteration,
            method=self.method,
            loss=point.loss,
            start=self._network(self.start),
        )


def follow(watch: Watch[P, Model], iterates: Method[P]) -> Run[Model]:
    """Pull iterates until the watch or the method says that it is over."""
    return watch.run(lambda: pull(watch, iterates))


def pull(watch: Watch[P, Any], iterates: Method[P]) -> End[P] | Status | None:
    """Show the watch one iterate after the other; how it ended."""
    while True:
        try:
            status = watch.see(next(iterates))
        except StopIteration as over:
            return over.value
        if status is not None:
            return status


def raised_if(throw: bool, run: R) -> R:
    """The run, or the exception the caller asked for."""
    if throw and not run.status.is_success:
        raise NotConverged(
            f"{run.message}; try another start or step size, a wider network, a larger max_iter or "
            "a looser tolerance"
        )
    return run


def at_most(target: float) -> Callable[[Point, Point], Status | None]:
    """The rule that a run is over when the loss is at most so much."""
    return lambda point, best: Status.CONVERGED if point.loss <= target else None


def iteration_limit(options: Options, default: int) -> int:
    """The iteration limit the caller gave, or the method's own."""
    max_iter = options.get("max_iter")
    if max_iter is None:
        return default
    if isinstance(max_iter, bool) or int(max_iter) != max_iter or max_iter < 0:
        raise DataError(
            f"max_iter={max_iter!r} must be a whole number >= 0, or None for the method's own limit"
        )
    return int(max_iter)
