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

from globalmin import sweep
from globalmin.errors import PlanError
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
    """Kills the cluster's worker behind the process that leaves the first mark."""

    def __init__(self, marks):
        super().__init__(daemon=True)
        self.marks, self.killed, self.orphan = marks, 0, 0

    def run(self):
        deadline = time.monotonic() + 300
        while not self.killed and time.monotonic() < deadline:
            for file in self.marks.glob("*.marks"):
                self.orphan = int(file.stem)
                self.killed = parent_of(self.orphan)
                os.kill(self.killed, signal.SIGKILL)
                break
            time.sleep(0.01)


def _run_with_a_killed_worker(tmp_path, **options):
    plan = _plan(tmp_path / "marks", 0.05)
    assassin = _Assassin(tmp_path / "marks")
    assassin.start()
    summary = sweep.run(plan, tmp_path / "out", **options)
    assassin.join()
    assert assassin.killed
    assert not is_alive(assassin.orphan)
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
