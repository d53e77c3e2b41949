"""The sweep engine under load: many trials, many workers, kills, full and slow disks, two drivers
on one folder. Nothing acknowledged is lost, nothing acknowledged is computed again.

The slow disk is a layer of the store itself: every write, every flush, every commit waits.
"""

import signal
import subprocess
import time

import pytest
from tests.sweep import recipes
from tests.sweep.marks import DRIVER, children_of, count_marks, start_driver
from tests.sweep.tiny_disk import tiny_disk
from tests.sweep.torment import Torment, acknowledged, await_end, table, write_plan

from globalmin import sweep
from globalmin.errors import StoreFull

SLOW = """
import contextlib, time
from globalmin.sweep import ledger, store
WAIT = {wait}

def slow(call):
    def waiting(*arguments):
        time.sleep(WAIT)
        return call(*arguments)
    return waiting

for name in ("write", "sync", "rename", "sync_folder"):
    setattr(store.Files, name, slow(getattr(store.Files, name)))
plain = ledger.Ledger.transaction

@contextlib.contextmanager
def transaction(self):
    with plain(self):
        yield
        time.sleep(WAIT)  # the rows are there, the commit is not

ledger.Ledger.transaction = transaction
"""


def note(record, **numbers):
    """What was measured."""
    for name, value in numbers.items():
        record(name, value)


def tormented(folder, record, **options):
    """A sweep with kills; it raises if an acknowledged trial is lost or computed again."""
    torment = Torment(folder, **options)
    repeated = torment.run()
    print(f"{torment.counts}, {repeated} results were on their way when they were lost")
    assert repeated <= 2 * torment.workers * torment.kills
    note(record, trials=torment.trials, kills=torment.kills, lost=0)


def test_sixteen_workers_lose_nothing(tmp_path, record_property):
    tormented(tmp_path, record_property, trials=2000, kills=12, workers=16, drivers=0.2, pause=0.05)


@pytest.mark.campaign
def test_a_hundred_thousand_trials_sixteen_workers_five_hundred_kills(tmp_path, record_property):
    options = {"trials": 100_000, "kills": 500, "workers": 16, "drivers": 0.1, "pause": 0.02}
    tormented(tmp_path, record_property, **options)


@pytest.mark.parametrize(
    ("trials", "kills", "wait"),
    [(300, 6, 0.05), pytest.param(2000, 100, 0.3, marks=pytest.mark.campaign)],
)
def test_a_slow_disk_loses_nothing(tmp_path, record_property, trials, kills, wait):
    program = SLOW.format(wait=wait) + DRIVER
    options = {"trials": trials, "kills": kills, "workers": 4, "pause": 0.3}
    tormented(tmp_path, record_property, drivers=0.3, program=program, **options)


CONTENDER = """
import sys, time
from globalmin import sweep
from globalmin.errors import StoreError
plan = sweep.Plan.from_toml(sys.argv[1])
while True:
    try:
        summary = sweep.run(plan, sys.argv[2], workers=int(sys.argv[3]), progress=False)
        break
    except StoreError as error:
        assert "another process is running" in str(error), error
        time.sleep(0.02)
print(summary.computed)
"""


def _holder(drivers):
    """The one that has workers."""
    while True:
        for driver in drivers:
            if driver.poll() is None and children_of(driver.pid):
                return driver
        assert any(driver.poll() is None for driver in drivers)
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("trials", "kills"), [(400, 4), pytest.param(4000, 60, marks=pytest.mark.campaign)]
)
def test_two_drivers_on_one_folder_never_work_at_the_same_time(
    tmp_path, record_property, trials, kills
):
    """Both want it; whoever has it is killed, and the other takes over."""
    marks, out = tmp_path / "marks", tmp_path / "out"
    plan = write_plan(tmp_path / "plan.toml", marks, trials, 0.02)

    def start():
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return start_driver(plan, out, 2, CONTENDER, **pipes)

    drivers, known, executed = [start(), start()], {}, {}
    try:
        for number in range(kills):
            holder = _holder(drivers)
            while count_marks(marks).total() < 0.7 * trials * number / kills:
                time.sleep(0.01)
            busy = [driver for driver in drivers if children_of(driver.pid)]
            assert busy == [holder]
            orphans = children_of(holder.pid)
            holder.send_signal(signal.SIGSTOP)  # it may not go on while we look
            marked, done = count_marks(marks), acknowledged(out)
            holder.send_signal(signal.SIGKILL)
            holder.communicate()
            assert not await_end(orphans)
            assert known.items() <= done.items()
            assert all(marked[trial] == executed[trial] for trial in known)
            known, executed = done, count_marks(marks)
            drivers = [*(driver for driver in drivers if driver is not holder), start()]
        ended = [driver.communicate(timeout=600) for driver in drivers]
    finally:
        for driver in drivers:
            driver.kill()
    assert [driver.returncode for driver in drivers] == [0, 0], ended
    assert min(int(out) for out, _ in ended) == 0  # the second found nothing to do
    final = count_marks(marks)
    assert all(final[trial] == executed[trial] for trial in known)
    assert len(final) == len(table(out)) == trials
    note(record_property, trials=trials, kills=kills, lost=0)


def _until_full(plan, folder, workers):
    """The summary, or what was said of the full disk."""
    try:
        return sweep.run(plan, folder, workers=workers), ""
    except StoreFull as error:
        return None, str(error)


@pytest.mark.parametrize(
    ("trials", "workers"), [(120, 4), pytest.param(2000, 16, marks=pytest.mark.campaign)]
)
def test_a_disk_that_fills_again_and_again_loses_nothing(record_property, trials, workers):
    """Arrays of 8 kB; whenever the disk is full it is made a little larger. Where no disk can be
    made, tests/sweep/test_faults.py stands for this one.
    """
    with tiny_disk(512) as disk:
        if disk is None:
            return
        plan = sweep.Plan(recipes.heavy, grid={"a": list(range(trials))})
        size, full, before, summary = 512, 0, {}, None
        while summary is None:
            summary, words = _until_full(plan, disk / "out", workers)
            if summary is None:
                full += 1
                assert str(disk / "out") in words
                now = acknowledged(disk / "out")
                assert before.items() <= now.items()
                before, size = now, size + max(512, 2 * trials)
                assert size < 40 * trials + 8192
                subprocess.run(["mount", "-o", f"remount,size={size}k", str(disk)], check=True)
        assert full >= 2
        assert (summary.done, summary.computed) == (trials, trials - len(before))
        assert len(sweep.rows(disk / "out", arrays=True)) == trials
    note(record_property, trials=trials, lost=0)
    record_property("times the disk was full", full)
