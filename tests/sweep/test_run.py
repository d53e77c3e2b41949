"""Running sweeps on local processes: tables, failures, poison, batches, resuming, interrupting,
orphans.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from tests.sweep import recipes
from tests.sweep.marked_recipe import marked
from tests.sweep.marks import children_of, count_marks, is_alive, process_environment, start_driver

from globalmin import sweep
from globalmin.errors import GlobalMinError, PlanError
from globalmin.sweep import task
from globalmin.sweep.driver import _checked_code, trials_of
from globalmin.sweep.executors import available_cores, local, make_executor
from globalmin.sweep.executors.local import LocalExecutor
from globalmin.sweep.ledger import Trial
from globalmin.sweep.task import Task


def _until(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


def test_the_table_has_every_trial_in_order_with_what_the_recipe_returned(tmp_path):
    plan = sweep.Plan(
        recipes.product, grid={"a": [0, 1], "b": [2, 3]}, fixed={"scale": 10.0}, seeds=2
    )
    summary = sweep.run(plan, tmp_path / "out", workers=2)
    assert (summary.total, summary.done, summary.failed, summary.computed) == (8, 8, 0, 8)
    table = sweep.rows(tmp_path / "out", arrays=True)
    assert [(row["a"], row["b"], row["seed"]) for row in table] == [
        (a, b, s) for a in (0, 1) for b in (2, 3) for s in (0, 1)
    ]
    for row, trial in zip(table, trials_of(plan, _checked_code(plan)), strict=True):
        expected = recipes.product(row["a"], row["b"], row["seed"], 10.0)
        assert row["trial"] == trial.id
        assert (row["status"], row["error"]) == ("done", None)
        np.testing.assert_array_equal(row["curve"], expected.pop("curve"))
        for name, value in expected.items():
            np.testing.assert_equal(row[name], value)
    assert list(table[0])[:5] == ["trial", "a", "b", "scale", "seed"]


def test_running_again_computes_nothing_and_a_larger_plan_only_what_is_new(tmp_path):
    def plan(values):
        return sweep.Plan(marked, grid={"a": values}, fixed={"folder": str(tmp_path)}, seeds=2)

    assert sweep.run(plan([1, 2]), tmp_path / "out", workers=1).computed == 4
    assert sweep.run(plan([1, 2]), tmp_path / "out", workers=1).computed == 0
    assert sweep.resume(tmp_path / "out").computed == 0
    assert sweep.run(plan([3, 1]), tmp_path / "out", workers=1).computed == 2
    assert [row["a"] for row in sweep.rows(tmp_path / "out")] == [3, 3, 1, 1]
    assert sweep.run(plan([2, 3]), tmp_path / "out", workers=1).computed == 0
    assert set(count_marks(tmp_path).values()) == {1}


def test_poisoned_trials_fail_alone_and_leave_their_traceback(tmp_path):
    plan = sweep.Plan(
        recipes.poisoned, grid={"a": list(range(8))}, fixed={"folder": str(tmp_path)}, seeds=2
    )
    summary = sweep.run(plan, tmp_path / "out", workers=2)
    assert (summary.done, summary.failed) == (8, 8)
    found = {(f.parameters["a"], f.seed): f for f in sweep.failures(tmp_path / "out")}
    assert set(found) == {(a, seed) for a in (1, 2, 3, 4) for seed in (0, 1)}
    assert found[1, 1].error.rstrip().endswith("ValueError: no luck with seed 1")
    assert 'raise ValueError(f"no luck' in found[1, 1].error
    assert "SIGKILL" in found[2, 0].error
    assert "exit code 7" in found[3, 0].error
    assert "SystemExit: leaving" in found[4, 0].error
    assert {a: found[a, 0].tries for a in (1, 2, 3, 4)} == {1: 1, 2: 3, 3: 3, 4: 1}
    assert set(count_marks(tmp_path).values()) == {1}
    row = sweep.rows(tmp_path / "out")[2]
    assert (row["status"], row["error"], row["value"]) == (
        "failed",
        "ValueError: no luck with seed 0",
        None,
    )


def test_failed_trials_are_tried_again_only_when_asked(tmp_path):
    plan = sweep.Plan(recipes.poisoned, grid={"a": [0, 1]}, fixed={"folder": str(tmp_path)})
    sweep.run(plan, tmp_path / "out", workers=1)
    assert sweep.resume(tmp_path / "out", workers=1).computed == 0
    assert sweep.resume(tmp_path / "out", workers=1, retry_failed=True).computed == 1


def test_results_that_no_table_can_hold_fail_with_the_reason(tmp_path):
    kinds = ["list", "no dict", "key", "taken", "reserved", "objects", "class"]
    assert sweep.run(
        sweep.Plan(recipes.wrong, grid={"kind": kinds}), tmp_path / "out", workers=1
    ).failed == len(kinds)
    assert all("recipe" in failure.error for failure in sweep.failures(tmp_path / "out"))


def test_a_trial_that_never_ends_is_ended_by_its_timeout(tmp_path):
    plan = sweep.Plan(recipes.sleeper, grid={"a": [0, 1, 2]}, timeout=0.5)
    summary = sweep.run(plan, tmp_path / "out", workers=2)
    assert (summary.done, summary.failed) == (2, 1)
    (failure,) = sweep.failures(tmp_path / "out")
    assert (failure.parameters["a"], failure.tries) == (1, 3)
    assert "Timeout" in failure.error
    assert "in sleeper" in failure.error


def test_batches_give_the_same_rows_and_only_culprits_fail(tmp_path):
    plan = sweep.Plan(
        recipes.batched,
        grid={"a": list(range(12))},
        seeds=3,
        fixed={"folder": str(tmp_path)},
        batch_size=9,
        name="batches",
    )
    summary = sweep.run(plan, tmp_path / "out", workers=2)
    table = sweep.rows(tmp_path / "out", arrays=True)
    assert (summary.done, summary.failed) == (30, 6)
    for row in table:
        if row["a"] in (5, 9):
            assert row["status"] == "failed"
        else:
            assert row["value"] == recipes.batched(row["a"], row["seed"])["value"]
            np.testing.assert_array_equal(row["line"], [row["a"]] * 2)
    errors = {failure.parameters["a"]: failure for failure in sweep.failures(tmp_path / "out")}
    assert "ValueError: five" in errors[5].error
    assert (errors[9].tries, "SIGKILL" in errors[9].error) == (3, True)


def test_a_batch_is_one_transaction(tmp_path, monkeypatch):
    from globalmin.sweep.store import Store

    sizes = []
    settle = Store.settle

    def counted(self, outcomes=(), blobs=None, **rest):
        sizes.append(len(outcomes))
        return settle(self, outcomes, blobs, **rest)

    monkeypatch.setattr(Store, "settle", counted)
    plan = sweep.Plan(recipes.batched, trials=[{"a": 1, "folder": ""}], seeds=500, batch_size=100)
    assert sweep.run(plan, tmp_path / "out", workers=1).done == 500
    assert [size for size in sizes if size] == [100] * 5


def test_a_batch_of_the_wrong_length_fails_its_trials(tmp_path):
    assert (
        sweep.run(
            sweep.Plan(recipes.short_batch, grid={"a": [1, 2]}), tmp_path / "out", workers=1
        ).failed
        == 2
    )
    assert "returned 0 results for 1 trials" in sweep.failures(tmp_path / "out")[0].error


def test_a_recipe_beside_the_plan_is_found_and_a_change_of_it_is_noticed(tmp_path):
    recipe = tmp_path / "beside_the_plan.py"
    recipe.write_text(
        "def f(a, seed):\n    print('noise')\n    return {'x': a}\n", encoding="ascii"
    )
    (tmp_path / "plan.toml").write_text(
        'recipe = "beside_the_plan:f"\n[grid]\na = [1, 2]\n', encoding="ascii"
    )
    program = (
        "import sys; from globalmin import sweep\n"
        "s = sweep.run(sweep.Plan.from_toml(sys.argv[1]), sys.argv[2], workers=1); "
        "print(s.computed)\n"
    )
    resumed = "import sys; from globalmin import sweep\nprint(sweep.resume(sys.argv[2]).computed)\n"

    def call(text):
        process = start_driver(
            tmp_path / "plan.toml",
            tmp_path / "out",
            program=text,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, error = process.communicate(timeout=60)
        return out.decode(), error.decode()

    out, error = call(program)
    assert (out, "noise" in error) == ("2\n", True)
    assert call(resumed) == ("0\n", "")
    recipe.write_text("def f(a, seed):\n    return {'x': a + 1}\n", encoding="ascii")
    assert "changed since this sweep began" in call(resumed)[1]
    assert call(program)[0] == "2\n"
    assert [row["x"] for row in sweep.rows(tmp_path / "out")] == [2, 3]


def test_a_bad_plan_makes_no_folder(tmp_path):
    for plan in (sweep.Plan(recipes.product, grid={"a": [1]}), sweep.Plan("nowhere_at_all:f")):
        with pytest.raises(PlanError):
            sweep.run(plan, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(PlanError, match="unknown; choose one of 'local', 'dask', 'ray'"):
        make_executor("threads")
    with pytest.raises(PlanError, match="workers = 0"):
        make_executor("local", 0)
    with pytest.raises(PlanError, match="address"):
        make_executor("local", 1, "tcp://x")


def test_a_plan_killed_before_it_was_written_can_only_be_run_again(tmp_path):
    from globalmin.sweep.store import Store

    Store(tmp_path / "out", create=True).close()
    with pytest.raises(PlanError, match="run the plan again"):
        sweep.resume(tmp_path / "out")
    with pytest.raises(GlobalMinError, match="no plan"):
        sweep.rows(tmp_path / "out")


def _slow_plan(tmp_path, pause, n):
    (tmp_path / "marks").mkdir()
    path = tmp_path / "plan.toml"
    path.write_text(
        f'recipe = "{marked.__module__}:marked"\n[grid]\na = {list(range(n))}\n'
        f'[fixed]\nfolder = "{tmp_path / "marks"}"\npause = {pause}\n',
        encoding="ascii",
    )
    return path


INTERRUPTIBLE = """
import sys
from globalmin import sweep
try:
    sweep.run(sweep.Plan.from_toml(sys.argv[1]), sys.argv[2], workers=int(sys.argv[3]))
except sweep.Interrupted as interrupted:
    print(interrupted)
    sys.exit(130)
except KeyboardInterrupt:
    sys.exit(131)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_interrupt_ends_after_the_running_trials_are_recorded(tmp_path, number):
    plan = _slow_plan(tmp_path, 0.3, 100)
    driver = start_driver(
        plan,
        tmp_path / "out",
        program=INTERRUPTIBLE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    _until(lambda: count_marks(tmp_path / "marks"))
    driver.send_signal(number)
    out, _ = driver.communicate(timeout=60)
    assert driver.returncode == 130
    done = sweep.status(tmp_path / "out").done
    assert f"{done} of 100 trials are recorded" in out.decode()
    assert count_marks(tmp_path / "marks").total() == done < 100


def test_the_second_interrupt_ends_at_once(tmp_path):
    plan = _slow_plan(tmp_path, 3600, 2)
    driver = start_driver(plan, tmp_path / "out", program=INTERRUPTIBLE, stderr=subprocess.PIPE)
    _until(lambda: children_of(driver.pid) and sweep.status(tmp_path / "out").running == 2)
    workers = children_of(driver.pid)
    driver.send_signal(signal.SIGINT)
    assert b"once more" in driver.stderr.readline() + driver.stderr.readline()
    driver.send_signal(signal.SIGINT)
    assert driver.wait(timeout=60) == 131
    driver.stderr.close()
    _until(lambda: not any(map(is_alive, workers)))
    assert sweep.status(tmp_path / "out").running == 0


def test_orphaned_workers_end_in_the_middle_of_a_trial(tmp_path):
    driver = start_driver(_slow_plan(tmp_path, 3600, 2), tmp_path / "out")
    _until(lambda: len(children_of(driver.pid)) == 2)
    _until((tmp_path / "out" / "ledger.sqlite").exists)
    time.sleep(0.5)
    workers = children_of(driver.pid)
    driver.kill()
    driver.wait()
    _until(lambda: not any(map(is_alive, workers)))


def test_status_tells_how_far_a_running_sweep_is(tmp_path):
    driver = start_driver(_slow_plan(tmp_path, 0.2, 12), tmp_path / "out")
    try:
        _until(lambda: count_marks(tmp_path / "marks").total() >= 3)
        _until(lambda: sweep.status(tmp_path / "out").done >= 2)
        found = sweep.status(tmp_path / "out")
        assert (found.name, found.total, found.driven, found.failed) == ("marked", 12, True, 0)
        assert found.done + found.running + found.waiting == 12
        assert found.rate > 0
        assert found.seconds_left == pytest.approx((12 - found.done) / found.rate)
        assert driver.wait(timeout=60) == 0
    finally:
        driver.kill()
        driver.wait()
    found = sweep.status(tmp_path / "out")
    assert (found.done, found.running, found.waiting, found.driven, found.seconds_left) == (
        12,
        0,
        0,
        False,
        0.0,
    )


def test_a_sweep_may_run_outside_the_main_thread(tmp_path):
    plan = sweep.Plan(marked, grid={"a": [1]}, fixed={"folder": str(tmp_path)})
    thread = threading.Thread(
        target=sweep.run, args=(plan, tmp_path / "out"), kwargs={"workers": 1}
    )
    thread.start()
    thread.join(60)
    assert sweep.status(tmp_path / "out").done == 1


def test_the_progress_bar_counts_on_stderr(tmp_path, capsys):
    plan = sweep.Plan(recipes.poisoned, grid={"a": [0, 1]}, fixed={"folder": str(tmp_path)})
    sweep.run(plan, tmp_path / "out", workers=1, progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "2/2" in captured.err
    assert "1 failed" in captured.err


def test_threads_of_workers_share_the_cores(monkeypatch):
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    assert local._environment(LocalExecutor(1)._threads)["OPENBLAS_NUM_THREADS"] == str(
        available_cores()
    )
    assert local._environment(LocalExecutor(10**6)._threads)["OPENBLAS_NUM_THREADS"] == "1"
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    assert local._environment(1)["OPENBLAS_NUM_THREADS"] == "7"


def test_workers_that_cannot_start_are_an_error_not_a_loop(monkeypatch, tmp_path):
    monkeypatch.setattr(local, "_PROGRAM", "import sys; sys.exit(3)")
    with pytest.raises(GlobalMinError, match="end before they are ready"):
        sweep.run(
            sweep.Plan(marked, grid={"a": [1]}, fixed={"folder": str(tmp_path)}),
            tmp_path / "out",
            workers=1,
        )
    found = sweep.status(tmp_path / "out")
    assert (found.waiting, found.failed) == (1, 0)


def _one(a, tmp_path, code=None):
    plan = sweep.Plan(marked, grid={"a": [a]}, fixed={"folder": str(tmp_path)})
    real = _checked_code(plan)
    return Task(1, plan.recipe, code or real, tuple(trials_of(plan, real)))


def test_a_worker_with_other_code_refuses(tmp_path):
    executor = LocalExecutor(1)
    try:
        executor.submit(_one(1, tmp_path, code="other"))
        with pytest.raises(PlanError, match="another version"):
            [
                executor.wait(30) for _ in range(2)
            ]  # "ready" and the refusal come together or one after the other
    finally:
        executor.close()


def test_a_worker_that_dies_while_idle_is_replaced(tmp_path):
    executor = LocalExecutor(1)
    try:
        for a in range(2):
            executor.submit(_one(a, tmp_path))
            reports = []
            while not any(report.ended and not report.lost for report in reports):
                reports += executor.wait(10)
                for report in reports:
                    if report.lost:
                        assert not report.outcomes
                        executor.submit(_one(a, tmp_path))
                        reports = []
                        break
            for pid in executor.pids:
                os.kill(pid, signal.SIGKILL)
                _until(lambda pid=pid: not is_alive(pid))
        assert count_marks(tmp_path).total() == 2
    finally:
        executor.close()


def test_the_worker_runs_a_task_in_this_process_too(tmp_path):
    ((outcome, _),) = task.run_task(_one(4, tmp_path))
    assert outcome.result is not None
    poisoned = Task(
        1,
        f"{recipes.__name__}:poisoned",
        _code(recipes.poisoned),
        (Trial("x", '{"a":1,"folder":""}', 3),),
    )
    ((outcome, blobs),) = task.run_task(poisoned)
    assert (outcome.result, blobs) == (None, {})
    assert "no luck with seed 3" in outcome.error


def _code(recipe):
    from globalmin.sweep.plan import code_version, recipe_name

    return code_version(recipe_name(recipe), recipe)


def test_importing_the_room_is_light():
    heavy = ("numpy", "pyarrow", "rich", "distributed", "ray")
    program = (
        f"import sys; import globalmin.sweep; print([m for m in {heavy!r} if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env=process_environment(),
    )
    assert out.stdout == "[]\n"


def test_extras_that_are_missing_are_named(monkeypatch):
    for name in ("distributed", "ray"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("dask", "ray"):
        with (
            pytest.raises(PlanError, match=rf"globalmin\[{name}\]"),
            contextlib.closing(make_executor(name, 1)),
        ):
            pass


def test_batches_run_in_this_process_too():
    code, name = _code(recipes.batched), f"{recipes.__name__}:batched"
    trials = tuple(Trial(str(a), f'{{"a":{a},"folder":""}}', 0) for a in (1, 5, 7))
    found = {
        outcome.id: outcome
        for outcome, _ in task.run_task(Task(1, name, code, trials, batch=True, timeout=60))
    }
    assert found["1"].result is not None
    assert "ValueError: five" in found["5"].error
    assert found["7"].result is not None  # its batch failed as a whole, alone it does not
    short = Task(
        1,
        f"{recipes.__name__}:short_batch",
        _code(recipes.short_batch),
        (Trial("x", '{"a":1}', 0),),
        batch=True,
    )
    ((outcome, _),) = task.run_task(short)
    assert "return one for each" in outcome.error
    with pytest.raises(PlanError, match="another version"):
        list(task.run_task(Task(1, name, "other", trials)))


def test_a_task_in_a_process_of_its_own_reports_outcomes_and_deaths(tmp_path):
    from globalmin.sweep.executors import local as isolated

    try:
        report = isolated.report_of(
            _one(3, tmp_path), isolated.run_isolated(_one(3, tmp_path).to_text())
        )
        assert [outcome.error for outcome in report.outcomes] == [None]
        assert (report.ended, report.lost) == (True, "")
        (idle,) = isolated._idle
        poison = Task(
            2,
            f"{recipes.__name__}:poisoned",
            _code(recipes.poisoned),
            (Trial("x", '{"a":2,"folder":""}', 3),),
        )
        report = isolated.report_of(poison, isolated.run_isolated(poison.to_text()))
        assert (report.outcomes, report.in_order, "SIGKILL" in report.lost) == ([], True, True)
        assert list(isolated._idle) == [idle]
        with pytest.raises(PlanError, match="another version"):
            isolated.run_isolated(_one(3, tmp_path, code="other").to_text())
        assert not isolated._idle
    finally:
        while isolated._idle:
            isolated._idle.pop().close()


def test_interrupts_are_counted_and_handlers_put_back(capsys):
    from globalmin.sweep.driver import Interrupts

    before = signal.getsignal(signal.SIGTERM)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
        _until(lambda: interrupts.requested)
        with pytest.raises(KeyboardInterrupt):
            interrupts._handle(signal.SIGTERM, None)
    assert signal.getsignal(signal.SIGTERM) is before
    assert "once more ends at once" in capsys.readouterr().err


def test_an_executor_of_ones_own_is_used_and_left_open(tmp_path):
    executor = LocalExecutor(1)
    try:
        plan = sweep.Plan(marked, grid={"a": [1, 2]}, fixed={"folder": str(tmp_path)})
        assert sweep.run(plan, tmp_path / "out", executor).done == 2
        assert len(executor.pids) == 1
    finally:
        executor.close()


@pytest.mark.parametrize(
    "wrong", [{"executor": "spark"}, {"workers": 0}, {"workers": "a"}, {"address": "here"}]
)
def test_a_wrong_executor_leaves_nothing_behind(tmp_path, wrong):
    plan = sweep.Plan(marked, grid={"a": [1]}, fixed={"folder": str(tmp_path)})
    with pytest.raises(PlanError):
        sweep.run(plan, tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()
