"""A sweep whose workers and drivers are killed at random, and what must be true of it whenever all
of its processes are dead.
"""

import contextlib
import json
import os
import random
import signal
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.sweep.marked_recipe import marked
from tests.sweep.marks import DRIVER, children_of, count_marks, is_alive, start_driver

from globalmin import sweep

SEEDS = 10


def write_plan(path, marks, trials, pause):
    """The plan of a sweep of so many trials that leave marks."""
    marks.mkdir()
    values = list(range(trials // SEEDS))
    path.write_text(
        f'recipe = "{marked.__module__}:marked"\nseeds = {SEEDS}\n[grid]\na = {values}\n'
        f'[fixed]\nfolder = "{marks}"\npause = {pause}\n',
        encoding="ascii",
    )
    return path


def acknowledged(folder):
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


def bytes_of_marks(trials):
    """How long the marks of a sweep are, each trial once."""
    return sum(len(f"{a} {seed}\n") for a in range(trials // SEEDS) for seed in range(SEEDS))


def marked_bytes(marks):
    """How much was computed, roughly, without reading it."""
    return sum(file.stat().st_size for file in marks.glob("*.marks"))


def await_end(pids, seconds=20.0):
    """Those that still live when the time is up."""
    deadline = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [pid for pid in pids if is_alive(pid)]


class Victim:
    """A driver that is started again whenever it was killed."""

    def __init__(self, plan, folder, workers=2, program=DRIVER):
        self.plan, self.folder, self.workers, self.program = plan, folder, workers, program
        self.start()

    def start(self):
        self.driver = start_driver(self.plan, self.folder, self.workers, self.program)

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

    def await_bytes(self, marks, goal):
        """Let trials be computed until their marks have so many bytes."""
        while marked_bytes(marks) < goal:
            self.must_live()
            time.sleep(0.01)

    def must_live(self):
        assert self.driver.poll() is None, "the sweep ended too early; make it longer"


@dataclass
class Torment:
    """Kills spread over a sweep; `drivers` is the share of them that hits the driver."""

    folder: Path
    trials: int
    kills: int
    workers: int = 2
    drivers: float = 0.5
    pause: float = 0.02
    program: str = DRIVER
    seed: int = 20240
    counts: dict[str, int] = field(default_factory=lambda: {"driver": 0, "worker": 0})

    def run(self):
        """Torment, let the sweep end, and compare its table with that of an undisturbed run."""
        marks, rng = self.folder / "marks", random.Random(self.seed)  # noqa: S311
        plan = write_plan(self.folder / "plan.toml", marks, self.trials, self.pause)
        victim = Victim(plan, self.folder / "out", self.workers, self.program)
        try:
            known, before = self._torment(victim, marks, rng)
            assert victim.driver.wait(timeout=900) == 0
        finally:
            victim.kill_driver()
        executed = count_marks(marks)
        assert all(executed[trial] == before[trial] for trial in known)
        assert table(self.folder / "out") == self._undisturbed()
        assert len(executed) == self.trials
        with contextlib.closing(sqlite3.connect(self.folder / "out" / "ledger.sqlite")) as ledger:
            assert ledger.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert sweep.gc(self.folder / "out") == 0
        return sum(count - 1 for count in executed.values())

    def _torment(self, victim, marks, rng):
        """Kill at random moments, some of them while the driver starts.

        Whenever all processes are dead: what was acknowledged before is still there, and was not
        executed again since.
        """
        known, executed = {}, {}
        step = 0.7 * bytes_of_marks(self.trials) / self.kills
        for number in range(self.kills):
            last = number == self.kills - 1  # a driver, after most of the work
            if rng.random() < 0.75 or last:
                victim.await_bytes(marks, step * (number + rng.random()))
            time.sleep(rng.uniform(0.0, 0.1))
            if rng.random() >= self.drivers and not last:
                victim.kill_worker(rng)
                self.counts["worker"] += 1
                continue
            assert not await_end(victim.kill_driver()), "orphaned workers live on"
            self.counts["driver"] += 1
            now, marked_now = acknowledged(victim.folder), count_marks(marks)
            assert known.items() <= now.items()
            assert all(marked_now[trial] == executed[trial] for trial in known)
            known, executed = now, marked_now
            victim.start()
        print(f"{len(known)} of {self.trials} trials were acknowledged at the last look")
        assert self.trials // 4 < len(known) < self.trials
        return known, executed

    def _undisturbed(self):
        marks = self.folder / "calm-marks"
        calm = write_plan(self.folder / "calm.toml", marks, self.trials, 0.0)
        sweep.run(sweep.Plan.from_toml(calm), self.folder / "calm", workers=2)
        return table(self.folder / "calm")


def table(folder):
    """What the plan determines."""
    rows = sweep.rows(folder)
    for row in rows:
        for name in ("trial", "folder", "pause"):
            row.pop(name)
    return rows
