"""The loop itself, on points that are numbers: how runs end, what they record, who stops them."""

import io
import sys
from itertools import count

import numpy as np
import pytest

from globalmin.errors import DataError, NotConverged
from globalmin.optimize.follow import (
    End,
    Iterate,
    Recorder,
    Watch,
    Weighed,
    at_most,
    every_step,
    follow,
)
from globalmin.optimize.run import Run, Status, Trajectory


def points(losses):
    return (Iterate(Weighed(i, loss)) for i, loss in enumerate(losses, start=1))


def watch(target=-np.inf, *, start=10.0, gap=every_step, most=None, keeps_last=False, **options):
    return Watch(
        Weighed(0, start),
        lambda point: point.network,
        Recorder(gap=gap, most=most),
        options,
        method="test",
        default_max_iter=1_000,
        reached=at_most(target),
        keeps_last=keeps_last,
    )


def test_a_run_ends_at_its_target_and_records_every_step():
    run = follow(watch(3.0), points([8.0, 5.0, 3.0, 1.0]))
    assert isinstance(run, Run)
    assert run.status is Status.CONVERGED
    assert (run.network, run.n_iter, run.loss) == (3, 3, 3.0)
    assert run.losses.tolist() == [10.0, 8.0, 5.0, 3.0]
    assert run.trajectory.iteration.tolist() == [0, 1, 2, 3]
    assert run.message == f"test: {Status.CONVERGED.message} (loss 3 after 3 iterations)"


def test_a_start_at_its_target_takes_no_step():
    run = follow(watch(10.0), points([1.0]))
    assert (run.status, run.n_iter, run.network) == (Status.CONVERGED, 0, 0)


def test_a_method_that_ends_has_stalled_and_the_best_point_is_kept():
    run = follow(watch(), points([4.0, 2.0, 7.0]))
    assert (run.status, run.network, run.n_iter) == (Status.STALLED, 2, 3)
    assert follow(watch(keeps_last=True), points([4.0, 2.0, 7.0])).network == 3


def test_a_method_may_say_how_it_ended_and_where():
    def method():
        yield Iterate(Weighed("good", 1.0))
        yield Iterate(Weighed("best", 0.5))
        return End(Status.SECOND_ORDER, Weighed("good", 1.0), "a saddle was left")

    run = follow(watch(), method())
    assert (run.status, run.network, run.loss) == (Status.SECOND_ORDER, "good", 1.0)
    assert run.message == "test: a saddle was left"


@pytest.mark.parametrize("keeps_last", [False, True])
@pytest.mark.parametrize("bad", [np.inf, np.nan])
def test_divergence_ends_the_run_with_the_best_point(bad, keeps_last):
    run = follow(watch(keeps_last=keeps_last), points([4.0, 6.0, bad, 1.0]))
    assert (run.status, run.network, run.n_iter) == (Status.DIVERGED, 1, 3)
    assert run.losses.tolist() == [10.0, 4.0, 6.0]


def test_a_start_that_is_not_finite_leaves_an_empty_record():
    run = follow(watch(start=np.nan), points([1.0]))
    assert run.status is Status.DIVERGED
    assert len(run.trajectory) == 0
    assert run.trajectory.iteration.dtype == np.int64


@pytest.mark.parametrize("keeps_last", [False, True])
def test_an_interrupt_keeps_the_best_point(keeps_last):
    def method():
        yield from points([4.0, 6.0])
        raise KeyboardInterrupt

    run = follow(watch(keeps_last=keeps_last), method())
    assert (run.status, run.network) == (Status.INTERRUPTED, 1)
    assert run.losses.tolist() == [10.0, 4.0, 6.0]


def test_a_monitor_sees_the_recorded_steps_and_may_stop_the_run_there():
    seen = []

    def monitor(step):
        seen.append((step.iteration, step.loss, step.network()))
        assert np.isnan(step.relative_residual)
        return step.loss == 6.0

    run = follow(watch(monitor=monitor), points([4.0, 6.0, 5.0]))
    assert seen == [(0, 10.0, 0), (1, 4.0, 1), (2, 6.0, 2)]
    assert (run.status, run.network) == (Status.STOPPED, 2)


def test_a_monitor_that_returns_something_else_than_true_stops_nothing():
    run = follow(watch(1.0, monitor=lambda step: np.ones(2)), points([4.0, 1.0]))
    assert run.status is Status.CONVERGED


def test_the_limit_counts_iterations_not_iterates():
    run = follow(watch(max_iter=5), (Iterate(Weighed(i, 1.0 / i), 2) for i in count(1)))
    assert (run.status, run.n_iter) == (Status.MAX_ITER, 6)
    for wrong in (-1, 1.5, True):
        with pytest.raises(DataError, match="max_iter"):
            watch(max_iter=wrong)


def test_throw_raises_where_the_target_was_missed_only():
    with pytest.raises(NotConverged, match="iteration limit"):
        follow(watch(max_iter=1, throw=True), points([1.0]))
    assert follow(watch(1.0, throw=True), points([1.0])).status is Status.CONVERGED


def test_records_are_thinned_and_contain_the_last_step():
    run = follow(watch(gap=lambda i: 7, max_iter=20), points(range(9, -30, -1)))
    assert run.trajectory.iteration.tolist() == [0, 7, 14, 20]
    stalled = follow(watch(gap=lambda i: 7), points(range(9, 0, -1)))
    assert stalled.trajectory.iteration.tolist() == [0, 7, 9]
    few = follow(watch(most=3), points(range(9, -1, -1)))
    assert few.trajectory.iteration.tolist() == [0, 5, 10]
    usual = Recorder()
    for i in range(2_000):
        if usual.is_due(i):
            usual.record(Weighed(i, 1.0), i)
    assert usual.close().iteration[:401].tolist() == list(range(401))
    assert len(usual.close()) < 900


def test_a_family_adds_columns_and_fields():
    recorder = Recorder(Trajectory, gap=every_step)
    recorder.record(Weighed(0, 2.0), 0)
    assert set(recorder.close().columns()) == {"iteration", "loss"}
    run = follow(watch(), points([1.0]))
    assert Run.of(run, n_iter=7).n_iter == 7
    with pytest.raises(TypeError):
        Run.of(run, unknown=1)


class _Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for stream, shown in ((_Terminal(), True), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        follow(watch(verbose=True), points([4.0, 2.0]))
        assert ("test" in stream.getvalue()) is shown
        assert ("loss" in stream.getvalue()) is shown
