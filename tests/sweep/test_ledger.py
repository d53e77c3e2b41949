"""The ledger: transactions, many writers, and damage that is found and named (R11)."""

import contextlib
import json
import sqlite3
import subprocess
import sys

import pytest
from tests.sweep.marks import process_environment

from globalmin.errors import StoreError
from globalmin.sweep.ledger import SCHEMA_VERSION, Ledger, Outcome, Trial, row_digest

WRITERS, PER_WRITER = 8, 500

WRITER = """
import sys
from pathlib import Path
from globalmin.sweep.ledger import Ledger, Outcome
number, writers, count = map(int, sys.argv[2:5])
with Ledger(Path(sys.argv[1])) as ledger:
    new = 0
    for start in range(0, count, 10):
        mine = [f"{number}-{i}" for i in range(start, start + 10)]
        # two writers want this one: the first has it
        theirs = [f"{(number + 1) % writers}-{start}"]
        with ledger.transaction():
            ledger.lease(mine, str(number))
        with ledger.transaction():
            text = lambda id: '{"x":"' + id * 20 + '"}'
            outcomes = [Outcome(id, text(id), None, 0.1) for id in mine + theirs]
            new += ledger.record(outcomes)
print(new)
"""

READER = """
import sys, time
from pathlib import Path
from globalmin.sweep.ledger import Ledger, row_digest
total, last, looks = int(sys.argv[2]), 0, 0
with Ledger(Path(sys.argv[1]), "read") as ledger:
    while last < total:
        rows = ledger.query("SELECT id, result, digest FROM trial WHERE state = 'done'")
        assert all(row_digest(id, result) == digest for id, result, digest in rows)
        assert len(rows) >= last
        last, looks = len(rows), looks + 1
        time.sleep(0.05)
print(looks)
"""


def _trials(ids):
    return [Trial(id, "{}", 0) for id in ids]


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite", "create") as made, made.transaction():
        made.enroll(_trials(["a", "b", "c"]), "code")
    with Ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def test_the_file_is_as_promised(ledger):
    assert ledger.query("PRAGMA journal_mode") == [("wal",)]
    assert ledger.query("PRAGMA synchronous") == [(2,)]
    assert ledger.query("PRAGMA user_version") == [(SCHEMA_VERSION,)]
    assert ledger.query("SELECT strict FROM pragma_table_list WHERE name = 'trial'") == [(1,)]
    with pytest.raises(StoreError), ledger.transaction():
        ledger.put("key", b"\xff")  # pyright: ignore[reportArgumentType]


def test_an_outcome_is_recorded_once_and_stays(ledger):
    with ledger.transaction():
        ledger.lease(["a"], "me")
        assert ledger.record([Outcome("a", '{"x":1}', None, 0.5, ("d",))]) == 1
        assert ledger.record([Outcome("a", '{"x":2}', None, 0.5, ("e",))]) == 0
        assert ledger.record([Outcome("a", None, "late failure", 0.5)]) == 0
        assert ledger.record([Outcome("unknown", '{"x":2}', None, 0.5)]) == 0
    assert ledger.query("SELECT result, tries, lease, digest FROM trial WHERE id = 'a'") == [
        ('{"x":1}', 1, None, row_digest("a", '{"x":1}'))
    ]
    assert ledger.query("SELECT * FROM artifact") == [("a", "d")]


def test_a_failed_transaction_leaves_nothing(ledger):
    def break_off():
        ledger.record([Outcome("a", "{}", None, 0.5)])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), ledger.transaction():
        break_off()
    assert ledger.query("SELECT count(*) FROM trial WHERE state = 'done'") == [(0,)]


def test_leases_come_back_with_or_without_a_try(ledger):
    with ledger.transaction():
        ledger.lease(["a", "b", "c"], "me")
    assert ledger.waiting((-1, -1), 9) == []
    with ledger.transaction():
        ledger.release(["a"], counted=True)
        ledger.release(["b"], counted=False)
    assert [(trial.id, trial.tries) for _, trial in ledger.waiting((-1, -1), 9)] == [
        ("b", 0),
        ("a", 1),
    ]
    with ledger.transaction():
        assert ledger.release_all() == 1
    assert len(ledger.waiting((-1, -1), 9)) == 3
    assert len(ledger.waiting((0, 1), 9)) == 2


def test_enrolling_again_keeps_what_is_known(ledger):
    with ledger.transaction():
        ledger.record([Outcome("b", "{}", None, 0.5)])
        ledger.enroll(_trials(["d", "b"]), "code")
    assert ledger.query(
        "SELECT id, state FROM trial WHERE position IS NOT NULL ORDER BY position"
    ) == [
        ("d", "waiting"),
        ("b", "done"),
    ]
    assert ledger.query("SELECT count(*) FROM trial") == [(4,)]


def test_failed_trials_can_wait_again(ledger):
    with ledger.transaction():
        ledger.record([Outcome("b", None, "no", 0.5)])
        assert ledger.retry_failed() == 1
    assert ledger.query("SELECT state, tries, error FROM trial WHERE id = 'b'") == [
        ("waiting", 0, None)
    ]


def test_eight_writers_and_two_readers_lose_nothing_and_wait_for_each_other(
    tmp_path, record_property
):
    path = tmp_path / "ledger.sqlite"
    with Ledger(path, "create") as ledger, ledger.transaction():
        ledger.enroll(
            _trials(f"{w}-{i}" for w in range(WRITERS) for i in range(PER_WRITER)), "code"
        )

    def start(program, *arguments):
        command = [sys.executable, "-c", program, str(path), *map(str, arguments)]
        return subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=process_environment(),
        )

    readers = [start(READER, WRITERS * PER_WRITER) for _ in range(2)]
    writers = [start(WRITER, number, WRITERS, PER_WRITER) for number in range(WRITERS)]
    ended = [
        (process.communicate(timeout=300), process.returncode) for process in (*writers, *readers)
    ]
    assert [(error, code) for (_, error), code in ended] == [("", 0)] * (WRITERS + 2)
    assert sum(int(out) for (out, _), _ in ended[:WRITERS]) == WRITERS * PER_WRITER
    print(f"looks of the readers: {[int(out) for (out, _), _ in ended[WRITERS:]]}")
    with Ledger(path, "read") as ledger:
        ledger.check()
        assert ledger.query(
            "SELECT state, count(*), min(tries), max(tries) FROM trial GROUP BY state"
        ) == [("done", 4000, 1, 1)]
    record_property("rows", WRITERS * PER_WRITER)
    record_property("writers", WRITERS)


def test_a_lock_held_too_long_is_explained(ledger, monkeypatch):
    monkeypatch.setattr("globalmin.sweep.ledger.BUSY_SECONDS", 0.05)
    with (
        ledger.transaction(),
        Ledger(ledger.path) as other,
        pytest.raises(StoreError, match="still locked"),
        other.transaction(),
    ):
        pass


def _damages():
    yield (
        "no database",
        lambda content: b"this is no database at all, but it is long enough to look at" * 100,
    )
    yield "empty page", lambda content: content[:4096] + bytes(4096) + content[8192:]
    yield "cut short", lambda content: content[: len(content) // 2]
    yield (
        "garbage inside",
        lambda content: content[:5000] + bytes(range(256)) * 20 + content[5000 + 5120 :],
    )
    yield "header", lambda content: b"SQLite format 9\x00" + content[16:]


@pytest.mark.parametrize(("name", "damage"), list(_damages()), ids=[name for name, _ in _damages()])
def test_a_damaged_ledger_is_named_with_a_remedy(tmp_path, name, damage):
    path = tmp_path / "ledger.sqlite"
    with Ledger(path, "create") as ledger, ledger.transaction():
        ledger.enroll(
            [Trial(f"trial {i}", json.dumps({"x": "y" * 200}), i) for i in range(200)], "code"
        )
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StoreError, match="damaged") as caught, Ledger(path) as ledger:
        ledger.check()
    assert str(path) in str(caught.value)
    assert "restore" in str(caught.value)


def test_a_ledger_of_another_format_or_nobodys_is_refused(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("PRAGMA user_version = 9")
    with pytest.raises(StoreError, match="format 9"):
        Ledger(path, "create")
    with pytest.raises(StoreError, match="no ledger"):
        Ledger(tmp_path / "none.sqlite")
    with pytest.raises(StoreError, match="none"):
        Ledger(tmp_path / "none" / "ledger.sqlite", "create")
