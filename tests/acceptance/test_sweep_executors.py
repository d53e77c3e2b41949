"""The same plan on local processes, Dask and Ray gives the same table, also when a worker of the
cluster is killed.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
import types

import pytest
from tests.sweep import recipes
from tests.sweep.marks import count_marks, is_alive, parent_of
from tests.sweep.torment import table, write_plan

from globalmin import sweep
from globalmin.errors import GlobalMinError, PlanError
from globalmin.sweep.executors import make_executor

pytestmark = pytest.mark.xdist_group("cluster")  # one cluster at a time


def _plan(marks, pause):
    marks.mkdir()
    values = {"a": [0, 1, 2, *range(5, 25)]}  # 1 raises, 2 ends its worker
    return sweep.Plan(
        recipes.poisoned_array, grid=values, fixed={"folder": str(marks), "pause": pause}, seeds=3
    )


def _table(folder):
    """All that the plan determines: neither folders nor the words in which an executor speaks of a
    dead worker.
    """
    table = sweep.rows(folder)
    for row in table:
        for name in ("trial", "folder", "pause"):
            del row[name]
        if row["a"] == 2:
            assert "given up after 3 tries" in row["error"]
            row["error"] = "given up"
    return table


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    base = tmp_path_factory.mktemp("local")
    summary = sweep.run(_plan(base / "marks", 0.0), base / "out", workers=2)
    assert (summary.done, summary.failed) == (63, 6)
    return _table(base / "out")


class _Assassin(threading.Thread):
    """Kills the cluster's worker behind a process that leaves marks, so many times; between two
    kills some trials are computed.
    """

    def __init__(self, marks, kills=1, between=10):
        super().__init__(daemon=True)
        self.marks, self.kills, self.between = marks, kills, between
        self.killed, self.orphans = 0, []

    def run(self):
        deadline, seen = time.monotonic() + 300, 0
        while self.killed < self.kills and time.monotonic() < deadline:
            time.sleep(0.01)
            if count_marks(self.marks).total() < seen + self.between * bool(self.killed):
                continue
            living = [int(file.stem) for file in self.marks.glob("*.marks")]
            for orphan in filter(is_alive, living):
                with contextlib.suppress(OSError):
                    victim = parent_of(orphan)
                    if victim == 1 or victim == os.getpid():  # its worker is dead already
                        continue
                    os.kill(victim, signal.SIGKILL)
                    self.orphans.append(orphan)
                    self.killed, seen = self.killed + 1, count_marks(self.marks).total()
                    break


def _run_with_a_killed_worker(tmp_path, **options):
    plan = _plan(tmp_path / "marks", 0.05)
    assassin = _Assassin(tmp_path / "marks")
    assassin.start()
    summary = sweep.run(plan, tmp_path / "out", **options)
    assassin.join()
    assert assassin.killed == 1
    assert not any(map(is_alive, assassin.orphans))
    assert len(list((tmp_path / "marks").glob("*.marks"))) >= 2  # others went on
    assert (summary.done, summary.failed) == (63, 6)
    assert len(count_marks(tmp_path / "marks")) == 63
    assert sweep.resume(tmp_path / "out", **options).computed == 0
    return _table(tmp_path / "out")


def test_dask_at_an_address_with_a_killed_worker_gives_the_same_table(tmp_path, expected):
    import distributed

    options = {
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "silence_logs": 50,
    }
    with distributed.LocalCluster(n_workers=3, **options) as cluster:
        table = _run_with_a_killed_worker(
            tmp_path, executor="dask", address=cluster.scheduler_address
        )
    assert table == expected


def test_dask_with_a_cluster_of_its_own_gives_the_same_table(tmp_path):
    grid = {"a": list(range(12))}
    plan = sweep.Plan(recipes.batched, grid=grid, seeds=2, fixed={"folder": ""}, batch_size=5)
    sweep.run(plan, tmp_path / "local", workers=1)
    sweep.run(plan, tmp_path / "dask", executor="dask", workers=2)
    tables = []
    for folder in ("local", "dask"):
        tables.append(sweep.rows(tmp_path / folder))
        for row in tables[-1]:
            row["error"] = row["error"] and row["error"][:23]
    assert tables[0] == tables[1]
    assert sum(row["status"] == "failed" for row in tables[0]) == 4


def test_ray_with_a_killed_worker_gives_the_same_table(tmp_path, expected):
    assert _run_with_a_killed_worker(tmp_path, executor="ray", workers=2) == expected


def _run_with_many_killed_workers(tmp_path, record, executor):
    """Workers of the cluster die again and again; what was computed twice had not reached us."""
    marks, kills, trials = tmp_path / "marks", 12, 300
    plan = sweep.Plan.from_toml(write_plan(tmp_path / "plan.toml", marks, trials, 0.1))
    calm = write_plan(tmp_path / "calm.toml", tmp_path / "calm-marks", trials, 0.0)
    sweep.run(sweep.Plan.from_toml(calm), tmp_path / "calm", workers=2)
    assassin = _Assassin(marks, kills)
    assassin.start()
    summary, clusters = None, 0
    while summary is None:
        clusters += 1
        with contextlib.suppress(GlobalMinError):  # all workers lost: a new cluster goes on
            summary = sweep.run(plan, tmp_path / "out", executor=executor, workers=3)
    assassin.join()
    assert (summary.done, summary.failed) == (trials, 0)
    assert table(tmp_path / "out") == table(tmp_path / "calm")
    executed = count_marks(marks)
    assert len(executed) == trials
    assert sweep.resume(tmp_path / "out").computed == 0
    assert count_marks(marks) == executed
    lost = executed.total() - trials
    print(f"{assassin.killed} kills, {lost} results lost on their way, {clusters} clusters")
    for name, value in (("trials", trials), ("kills", assassin.killed), ("lost", 0)):
        record(name, value)
    assert assassin.killed >= kills // 2


@pytest.mark.campaign
@pytest.mark.parametrize("executor", ["dask", "ray"])
def test_a_cluster_whose_workers_die_again_and_again(tmp_path, record_property, executor):
    _run_with_many_killed_workers(tmp_path, record_property, executor)


def test_a_dask_cluster_without_workers_is_told_and_ours_does_not_wait_for_ever(
    tmp_path, monkeypatch, capsys
):
    """Found by killing workers again and again: Dask gave up on them, and the sweep said nothing
    and waited for ever.
    """
    monkeypatch.setattr("globalmin.sweep.executors.cluster.LONELY_SECONDS", 0.5)
    plan = sweep.Plan(recipes.needs_nothing_else, grid={"a": [1, 2]})
    ours = make_executor("dask", 1)
    try:
        ours._cluster.scale(0)
        with pytest.raises(GlobalMinError, match="lost all of its workers; resume"):
            sweep.run(plan, tmp_path / "out", executor=ours)
        assert sweep.status(tmp_path / "out").waiting == 2
        theirs = make_executor("dask", 1, ours._cluster.scheduler_address)
        threading.Timer(2.0, ours._cluster.scale, [1]).start()
        assert sweep.run(plan, tmp_path / "out", executor=theirs).done == 2
        assert "no workers; waiting" in capsys.readouterr().err
        theirs.close()
    finally:
        ours.close()


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch):
    import distributed
    import ray

    def refuse(*_, **__):
        raise ConnectionError("nobody there")

    monkeypatch.setattr(distributed, "Client", refuse)
    monkeypatch.setattr(ray, "init", refuse)
    for name in ("dask", "ray"):
        with pytest.raises(PlanError, match=f"'far:1': no {name.capitalize()}"):
            make_executor(name, 1, "far:1")


def test_ray_that_does_not_start_in_time_is_started_again(monkeypatch):
    import ray

    asked = []

    def late(**options):
        asked.append(options)
        raise Exception("The current node timed out during startup.")  # Ray's own words and class

    monkeypatch.setattr(ray, "init", late)
    with pytest.raises(PlanError, match="Ray did not start here"):
        make_executor("ray", 1)
    assert [options["num_cpus"] for options in asked] == [1, 1, 1]


def test_workers_without_the_recipe_stop_the_sweep_with_its_name(tmp_path, monkeypatch):
    """The module is in this process only, so that no worker can import it."""
    module = types.ModuleType("only_here")
    module.f = recipes.needs_nothing_else
    monkeypatch.setitem(sys.modules, "only_here", module)
    plan = sweep.Plan("only_here:f", grid={"a": [1, 2]})
    for name in ("local", "dask"):
        with pytest.raises(PlanError, match="no module only_here"):
            sweep.run(plan, tmp_path / name, executor=name, workers=1)
        assert sweep.status(tmp_path / name).waiting == 2


def test_a_cluster_of_its_own_starts_where_the_usual_port_is_taken(tmp_path):
    """Port 8787, where schedulers show themselves, may belong to another run: a warning here is an
    error.
    """
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # then somebody has it already
            taken.bind(("", 8787))
            taken.listen()
        plan = sweep.Plan(recipes.needs_nothing_else, grid={"a": [1, 2]})
        sweep.run(plan, tmp_path, executor="dask", workers=1)
    assert sweep.status(tmp_path).waiting == 0
