"""Which trials go together, and who is blamed when a worker dies."""

from globalmin.sweep.ledger import MAX_TRIES, Outcome, Trial
from globalmin.sweep.task import (
    MAX_BATCH,
    MAX_CHUNK,
    MIN_BATCH,
    PAGE,
    Report,
    Schedule,
    Task,
    outcome_from,
    outcome_text,
)


def _schedule(n, *, batch=False, slots=2, batch_size=None, tries=0):
    trials = [(i, Trial(f"t{i}", "{}", i, tries)) for i in range(n)]
    asked = []

    def fetch(after, limit):
        asked.append(after)
        return [pair for pair in trials if (pair[1].tries, pair[0]) > after][:limit]

    schedule = Schedule(fetch, Task(0, "m:f", "c", (), batch=batch), slots, n, batch_size)
    schedule.asked = asked
    return schedule


def _ids(task):
    return [trial.id for trial in task.trials]


def test_every_trial_is_given_out_once_in_order_over_several_pages():
    schedule = _schedule(2 * PAGE + 10)
    seen = []
    while task := schedule.next_task():
        seen += _ids(task)
        schedule.note(Report(task.key, [Outcome(id, "{}", None, 1e-5) for id in _ids(task)]))
        assert schedule.ended(Report(task.key, ended=True)) == []
    assert seen == [f"t{i}" for i in range(2 * PAGE + 10)]
    assert schedule.waiting == 0


def test_tasks_grow_when_trials_are_cheap_and_shrink_when_they_are_dear():
    schedule = _schedule(5000)
    sizes = []
    for seconds in [1e-4] * 60 + [10.0] * 20:
        task = schedule.next_task()
        sizes.append(len(task.trials))
        schedule.note(Report(task.key, [Outcome(id, "{}", None, seconds) for id in _ids(task)]))
    assert sizes[0] == 1
    assert max(sizes) == MAX_CHUNK
    assert sizes[-1] == 1


def test_batches_leave_work_for_every_slot():
    assert len(_schedule(10_000, batch=True).next_task().trials) == MAX_BATCH
    assert len(_schedule(160, batch=True).next_task().trials) == 20
    assert len(_schedule(10, batch=True).next_task().trials) == MIN_BATCH
    assert len(_schedule(160, batch=True, batch_size=33).next_task().trials) == 33


def test_only_the_first_unfinished_trial_is_suspect_where_trials_run_in_order():
    schedule = _schedule(4, batch=True, batch_size=4)
    task = schedule.next_task()
    schedule.note(Report(task.key, [Outcome("t0", "{}", None, 0.1)]))
    assert schedule.lost(Report(task.key, ended=True, lost="signal 9", in_order=True)) == (
        ["t2", "t3"],
        ["t1"],
        [],
    )
    assert [_ids(schedule.next_task()) for _ in range(2)] == [["t2", "t3"], ["t1"]]
    assert schedule.next_task() is None


def test_halves_find_the_trial_that_ends_its_worker():
    schedule = _schedule(64, batch=True, batch_size=64)
    poison, deaths, failed, done = "t37", 0, [], []
    while task := schedule.next_task():
        if poison in _ids(task):
            deaths += 1
            _, _, outcomes = schedule.lost(Report(task.key, ended=True, lost="boom"))
            failed += outcomes
        else:
            done += _ids(task)
            schedule.note(Report(task.key, [Outcome(id, "{}", None, 0.1) for id in _ids(task)]))
            schedule.ended(Report(task.key, ended=True))
    assert [outcome.id for outcome in failed] == [poison]
    assert "given up after 3 tries" in failed[0].error
    assert "boom" in failed[0].error
    assert sorted(done) == sorted(f"t{i}" for i in range(64) if f"t{i}" != poison)
    assert deaths == 6 + MAX_TRIES


def test_a_worker_that_dies_before_it_is_ready_blames_nobody():
    schedule = _schedule(1)
    for _ in range(10):
        task = schedule.next_task()
        assert schedule.lost(Report(task.key, ended=True, lost="x", started=False)) == (
            ["t0"],
            [],
            [],
        )


def test_tries_of_earlier_runs_count():
    schedule = _schedule(1, tries=MAX_TRIES - 1)
    task = schedule.next_task()
    released, suspected, failed = schedule.lost(Report(task.key, ended=True, lost="x"))
    assert (released, suspected, [outcome.id for outcome in failed]) == ([], [], ["t0"])


def test_a_task_that_ends_without_some_outcomes_gives_them_back():
    schedule = _schedule(1)
    task = schedule.next_task()
    assert schedule.ended(Report(task.key, ended=True)) == ["t0"]
    assert _ids(schedule.next_task()) == ["t0"]


def test_trials_put_back_are_not_fetched_a_second_time():
    trial = Trial("t0", "{}", 0)
    again = [(0, trial)], [(0, Trial("t0", "{}", 0, 1))], []
    pages = iter(again)
    schedule = Schedule(lambda after, limit: next(pages), Task(0, "m:f", "c", ()), 1, 1)
    task = schedule.next_task()
    schedule.lost(Report(task.key, ended=True, lost="x"))
    pages = iter([[(0, Trial("t0", "{}", 0, 1))], [], []])
    assert _ids(schedule.next_task()) == ["t0"]
    assert schedule.next_task() is None


def test_tasks_and_outcomes_survive_the_way_as_text():
    task = Task(
        3, "m:f", "c", (Trial("a", '{"x":1}', 2, 1),), batch=True, timeout=2.5, paths=("p",)
    )
    assert Task.from_text(task.to_text()) == task
    outcome = Outcome("a", '{"x":1}', None, 0.5, ("d1", "d2"))
    assert outcome_from(outcome_text(outcome)) == outcome
