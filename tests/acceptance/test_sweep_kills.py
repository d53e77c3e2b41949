"""100 kill -9 of workers and driver during a sweep of 2,000 trials: nothing acknowledged is lost or
computed twice (R10).
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import time

import pytest
from tests.sweep.marked_recipe import marked
from tests.sweep.marks import children_of, count_marks, is_alive, start_driver

from globalmin import sweep

KILLS, TRIALS, PAUSE = 100, 2000, 0.02


def _write_plan(path, marks, pause):
    path.write_text(
        f'recipe = "{marked.__module__}:marked"\nseeds = 10\n[grid]\na = '
        f"{list(range(TRIALS // 10))}\n"
        f'[fixed]\nfolder = "{marks}"\npause = {pause}\n',
        encoding="ascii",
    )
    return path


def _acknowledged(folder):
    """Results of the trials that the ledger calls done, by (a, seed)."""
    path = folder / "ledger.sqlite"
    if not path.exists():
        return {}
    try:
        with contextlib.closing(
            sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=30)
        ) as connection:
            rows = connection.execute(
                "SELECT parameters, seed, result FROM trial WHERE state = 'done'"
            ).fetchall()
    except sqlite3.OperationalError:  # the driver died before it had made the table
        return {}
    return {(json.loads(parameters)["a"], seed): result for parameters, seed, result in rows}


class _Victim:
    """A driver that is started again whenever it was killed."""

    def __init__(self, plan, folder):
        self.plan, self.folder, self.starts = plan, folder, 0
        self.start()

    def start(self):
        self.starts += 1
        self.driver = start_driver(self.plan, self.folder)

    def kill_driver(self):
        orphans = children_of(self.driver.pid)
        self.driver.send_signal(signal.SIGKILL)
        self.driver.wait()
        return orphans

    def kill_worker(self, rng):
        with contextlib.suppress(ProcessLookupError):  # it may just have been replaced
            os.kill(rng.choice(self.await_workers()), signal.SIGKILL)

    def await_workers(self):
        while not (children := children_of(self.driver.pid)):
            self.must_live()
            time.sleep(0.005)
        return children

    def await_trials(self, marks, number):
        """Let so many more trials be computed."""
        goal = count_marks(marks).total() + number
        while count_marks(marks).total() < goal:
            self.must_live()
            time.sleep(0.01)

    def must_live(self):
        assert self.driver.poll() is None, "the sweep ended too early; make it longer"


def _await_end(pids, seconds=20.0):
    deadline = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [pid for pid in pids if is_alive(pid)]


def _torment(victim, marks, kills, rng):
    """Kill at random moments, some of them while the driver starts.

    Whenever all processes are dead: what was acknowledged before is still there, and was not
    executed again since.
    """
    counts = {"driver": 0, "worker": 0}
    known, executed = {}, {}
    while sum(counts.values()) < kills:
        kind = rng.choice(["driver", "worker"])
        counts[kind] += 1
        if rng.random() < 0.75:
            victim.await_trials(marks, rng.randrange(1, TRIALS // 100))
        time.sleep(rng.uniform(0.0, 0.1))
        if kind == "worker":
            victim.kill_worker(rng)
            continue
        assert not _await_end(victim.kill_driver()), "orphaned workers live on"
        now, marked_now = _acknowledged(victim.folder), count_marks(marks)
        assert known.items() <= now.items()
        assert all(marked_now[trial] == executed[trial] for trial in known)
        known, executed = now, marked_now
        victim.start()
    print(f"{len(known)} of {TRIALS} trials were acknowledged before the last kill of a driver")
    assert TRIALS // 4 < len(known) < TRIALS
    return counts, known, executed


def _check_kills(tmp_path, kills):
    seed = 20240
    marks, calm_marks = tmp_path / "marks", tmp_path / "calm-marks"
    marks.mkdir()
    calm_marks.mkdir()
    calm = sweep.Plan.from_toml(_write_plan(tmp_path / "calm.toml", calm_marks, 0.0))
    sweep.run(calm, tmp_path / "calm", workers=2)
    victim = _Victim(_write_plan(tmp_path / "plan.toml", marks, PAUSE), tmp_path / "out")
    try:
        counts, known, before = _torment(victim, marks, kills, random.Random(seed))  # noqa: S311
        assert victim.driver.wait(timeout=600) == 0
    finally:
        victim.kill_driver()
    table, undisturbed = sweep.rows(tmp_path / "out"), sweep.rows(tmp_path / "calm")
    for row in (*table, *undisturbed):
        for name in ("trial", "folder", "pause"):
            row.pop(name)
    executed = count_marks(marks)
    twice = sum(count - 1 for count in executed.values())
    print(
        f"{counts}, {len(table)} trials done, {twice} executions whose result was lost before it "
        "was acknowledged"
    )
    assert table == undisturbed
    assert len(executed) == len(table) == TRIALS
    assert all(executed[trial] == before[trial] for trial in known)
    return counts, executed, tmp_path / "out"


def test_100_kills_lose_nothing_and_the_table_is_that_of_an_undisturbed_run(tmp_path):
    counts, executed, folder = _check_kills(tmp_path, KILLS)
    assert sum(counts.values()) == KILLS
    assert min(counts.values()) >= KILLS // 4
    # an execution may be repeated only if its result had not reached the ledger: what two workers
    # had in hand or on the way
    repeated = sum(count - 1 for count in executed.values())
    assert repeated <= 4 * KILLS
    with contextlib.closing(sqlite3.connect(folder / "ledger.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert sweep.gc(folder) == 0


@pytest.mark.campaign
def test_500_kills(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.acceptance.test_sweep_kills.PAUSE", 0.2)
    counts, _, _ = _check_kills(tmp_path, 500)
    assert sum(counts.values()) == 500
