"""Full disks, failing calls, read-only folders, damaged rows: clear errors, and what was
acknowledged stays readable (R12).
"""

import contextlib
import errno
import hashlib
import os
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pytest
from tests.sweep import recipes
from tests.sweep.tiny_disk import tiny_disk

from globalmin import sweep
from globalmin.errors import StoreError, StoreFull
from globalmin.sweep.canonical import encode_result
from globalmin.sweep.ledger import Outcome, Trial
from globalmin.sweep.store import Files, Objects, Store, is_driven

N = 6


class FailingFiles(Files):
    """Every file operation is counted; the k-th fails, `write` after half of its bytes."""

    def __init__(self, k, code=errno.ENOSPC):
        self.left, self.code = k, code

    def _count(self):
        self.left -= 1
        if self.left == 0:
            raise OSError(self.code, os.strerror(self.code))

    def write(self, handle, content):
        try:
            self._count()
        except OSError:
            super().write(handle, content[: len(content) // 2])
            raise
        super().write(handle, content)

    def sync(self, handle):
        self._count()
        super().sync(handle)

    def rename(self, source, target):
        self._count()
        super().rename(source, target)

    def sync_folder(self, folder):
        self._count()
        super().sync_folder(folder)


def _fill(folder, files=None, size=3):
    """Record N trials with an array each, one transaction per trial; returns the ids acknowledged
    and the error, if any.
    """
    acknowledged = []
    try:
        with Store(folder, create=True, files=files) as store:
            with store.ledger.transaction():
                store.ledger.enroll([Trial(f"t{i}", "{}", i) for i in range(N)], "code")
            for i in range(N):
                text, blobs = encode_result({"x": np.full(size, float(i))}, [])
                store.settle([Outcome(f"t{i}", text, None, 0.1, tuple(blobs))], blobs)
                acknowledged.append(f"t{i}")
    except StoreError as error:
        return acknowledged, error
    return acknowledged, None


def _check_whole(folder, acknowledged, *, at_most=1):
    """Every acknowledged row and its object is there; nothing half-written can be seen; a later run
    goes on.
    """
    with Store(folder) as store:
        done = [
            id
            for (id,) in store.ledger.query(
                "SELECT id FROM trial WHERE state = 'done' ORDER BY seed"
            )
        ]
        assert done[: len(acknowledged)] == acknowledged
        assert len(done) <= len(acknowledged) + at_most
        for (digest,) in store.ledger.query("SELECT object FROM artifact"):
            store.objects.get(digest)
        store.collect()
        left = {path.parent.name + path.name for path in store.objects.folder.glob("*/*")}
        assert left == {digest for (digest,) in store.ledger.query("SELECT object FROM artifact")}
    again, error = _fill(folder)
    assert error is None
    assert len(again) == N


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_any_file_operation_may_fail_and_nothing_acknowledged_is_lost(
    tmp_path, code, record_property
):
    failed = 0
    for k in range(1, 200):
        folder = tmp_path / str(k)
        acknowledged, error = _fill(folder, FailingFiles(k, code))
        if error is None:
            break
        failed += 1
        assert isinstance(error, StoreFull)
        assert str(folder / "objects") in str(error)
        assert os.strerror(code) in str(error)
        _check_whole(folder, acknowledged)
    print(f"{failed} operations failed in turn")
    record_property("failed calls", failed)
    assert failed >= 4 * N


def test_a_ledger_that_cannot_grow_stops_the_sweep_and_stays_readable(tmp_path, record_property):
    """The limit on the size of files is lowered in this process, to every multiple of a page up to
    the size that suffices.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    refused = 0
    for limit in range(4096, 10**6, 12288):
        folder = tmp_path / str(limit)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        try:
            acknowledged, error = _fill(folder)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        if error is None:
            break
        refused += 1
        assert str(folder) in str(error)
        if (folder / "ledger.sqlite").exists() and acknowledged:
            _check_whole(folder, acknowledged)
        else:
            again, none = _fill(folder)
            assert (len(again), none) == (N, None)
    print(f"{refused} sizes refused")
    record_property("sizes refused", refused)
    assert refused >= 3


def test_a_full_disk_is_named_and_what_was_recorded_is_read_back():
    """Where no tiny disk can be made, the two tests above stand for this one."""
    with tiny_disk(512) as disk:
        if disk is None:
            return
        acknowledged, error = _fill(disk / "out", size=15000)
        assert isinstance(error, StoreFull)
        assert "make room" in str(error)
        assert 0 < len(acknowledged) < N
        for index in range(len(acknowledged)):  # on the full disk itself
            digest = next(iter(encode_result({"x": np.full(15000, float(index))}, [])[1]))
            assert (
                hashlib.sha256(Objects(disk / "out" / "objects").get(digest)).hexdigest() == digest
            )
        subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
        _check_whole(disk / "out", acknowledged)


def test_a_whole_sweep_on_a_full_disk_ends_with_a_clear_error_and_goes_on_later():
    with tiny_disk(256) as disk:
        if disk is None:
            return
        plan = sweep.Plan(recipes.heavy, grid={"a": list(range(40))})
        with pytest.raises(StoreFull, match="make room"):
            sweep.run(plan, disk / "out", workers=1)
        before = sweep.status(disk / "out").done
        subprocess.run(["mount", "-o", "remount,size=8m", str(disk)], check=True)
        summary = sweep.resume(disk / "out", workers=1)
        assert (summary.done, summary.computed) == (40, 40 - before)


def _as_nobody(work):
    """Run `work` in a child without root's rights over files; returns what it raised, as text."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            try:
                work()
                message = "nothing raised"
            except BaseException as error:
                message = "".join(traceback.format_exception_only(error))
            os.write(write, message.encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        message = stream.read().decode()
    os.waitpid(child, 0)
    return message


@pytest.fixture
def open_folder():
    """A folder that others may enter, unlike pytest's."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_is_named_and_still_read(open_folder):
    plan = sweep.Plan(recipes.product, grid={"a": [1, 2], "b": [3]})
    out = open_folder / "out"
    sweep.run(plan, out, workers=1)
    expected = repr(sweep.rows(out))
    out.chmod(0o555)
    for file in out.glob("*"):
        file.chmod(0o444 if file.is_file() else 0o555)
    assert "StoreError" in (message := _as_nobody(lambda: sweep.run(plan, out, workers=1)))
    assert str(out) in message
    assert "writable" in message
    assert "StoreError" in _as_nobody(lambda: sweep.gc(out))

    def read():
        raise RuntimeError(repr(sweep.rows(out)) == expected, sweep.status(out).done)

    assert _as_nobody(read) == "RuntimeError: (True, 2)\n"
    open_folder.chmod(0o555)
    message = _as_nobody(lambda: sweep.run(plan, open_folder / "new", workers=1))
    assert "StoreError" in message
    assert str(open_folder / "new") in message


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("x", encoding="ascii")
    with pytest.raises(StoreError, match="file"):
        Store(tmp_path / "file" / "out", create=True)
    with pytest.raises(StoreError, match="no sweep here"):
        Store(tmp_path)
    with pytest.raises(StoreError, match="no sweep here"):
        sweep.status(tmp_path)


@pytest.fixture
def done(tmp_path):
    sweep.run(
        sweep.Plan(recipes.product, grid={"a": [1, 2], "b": [3]}), tmp_path / "out", workers=1
    )
    return tmp_path / "out"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE trial SET result = "
        """replace(result, '"even":true', '"even":false') WHERE position = 1""",
        """UPDATE trial SET parameters = '{"a":7,"b":3}' WHERE position = 0""",
        "UPDATE trial SET seed = 5 WHERE position = 0",
    ],
)
def test_a_row_that_was_changed_is_found(done, change):
    with contextlib.closing(sqlite3.connect(done / "ledger.sqlite")) as connection:
        assert connection.execute(change).rowcount == 1
        connection.commit()
    with pytest.raises(StoreError, match="no longer matches"):
        sweep.rows(done)


def test_an_array_that_was_changed_or_is_gone_is_found(done):
    files = sorted((done / "objects").glob("*/*"))
    files[0].write_bytes(files[0].read_bytes()[:-1] + b"\x00")
    with pytest.raises(StoreError, match="damaged"):
        sweep.rows(done, arrays=True)
    files[0].unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        sweep.rows(done, arrays=True)
    assert len(sweep.rows(done)) == 2


def test_a_damaged_ledger_stops_every_command_with_its_name(done):
    path = done / "ledger.sqlite"
    for file in done.glob("ledger.sqlite-*"):
        file.unlink()
    path.write_bytes(path.read_bytes()[:100] + bytes(range(256)) * 100)
    plan = sweep.Plan(recipes.product, grid={"a": [1, 2], "b": [3]})
    for command in (
        sweep.status,
        sweep.rows,
        sweep.resume,
        sweep.gc,
        sweep.failures,
        lambda folder: sweep.run(plan, folder),
    ):
        with pytest.raises(StoreError, match="damaged") as caught:
            command(done)
        assert str(path) in str(caught.value)


def test_one_driver_at_a_time(tmp_path):
    with Store(tmp_path / "out", create=True):
        assert is_driven(tmp_path / "out")
        with pytest.raises(StoreError, match="another process is running"):
            Store(tmp_path / "out")
    assert not is_driven(tmp_path / "out")
    assert not is_driven(tmp_path)


def test_a_driver_on_another_machine_is_left_in_peace_until_its_heart_stops(tmp_path):
    with Store(tmp_path / "out", create=True) as store, store.ledger.transaction():
        store.ledger.put("owner", "some-other-machine:17")
        store.ledger.put("heartbeat", repr(4e9))
    with pytest.raises(StoreError, match="some-other-machine:17"):
        Store(tmp_path / "out")
    with contextlib.closing(sqlite3.connect(tmp_path / "out" / "ledger.sqlite")) as connection:
        connection.execute("UPDATE sweep SET value = '1.0' WHERE key = 'heartbeat'")
        connection.commit()
    Store(tmp_path / "out").close()


def test_leases_of_a_dead_driver_are_void_and_its_orphans_removed(tmp_path):
    with Store(tmp_path / "out", create=True) as store:
        with store.ledger.transaction():
            store.ledger.enroll([Trial("t", "{}", 0)], "code")
        store.settle(leased=["t"])
        orphan = b"an array whose row was never written"
        store.objects.put({hashlib.sha256(orphan).hexdigest(): orphan})
        (store.objects.path(hashlib.sha256(orphan).hexdigest()).parent / ".tmp-left").write_bytes(
            b"half"
        )
    with Store(tmp_path / "out") as store:
        assert store.ledger.query("SELECT state, tries FROM trial") == [("waiting", 0)]
        assert not list(store.objects.folder.glob("*/*"))


def test_the_heart_beats_while_trials_run(tmp_path, monkeypatch):
    monkeypatch.setattr("globalmin.sweep.store.HEARTBEAT_SECONDS", 0.0)
    with Store(tmp_path / "out", create=True) as store:
        first = store.ledger.get("heartbeat")
        store.heartbeat()
        second = store.ledger.get("heartbeat")
        store.settle()
        assert float(first) < float(second) < float(store.ledger.get("heartbeat"))
        monkeypatch.setattr("globalmin.sweep.store.HEARTBEAT_SECONDS", 60.0)
        store.heartbeat()


def test_a_lock_that_is_no_lock_is_named_and_does_not_count_as_a_driver(done):
    (done / "driver.lock").write_bytes(b"neither a lock nor a database" * 100)
    assert not is_driven(done)
    with pytest.raises(StoreError, match=r"driver\.lock.*remove this file"):
        Store(done)
    (done / "driver.lock").unlink()
    (done / "driver.lock").mkdir()
    assert not is_driven(done)
    with pytest.raises(StoreError, match=r"driver\.lock"):
        Store(done)


def test_a_ledger_alone_in_a_folder_is_read_without_its_journal(done, monkeypatch):
    """What a read-only folder does to sqlite, without one: the first look fails, the second takes
    the file as it is.
    """
    connect = sqlite3.connect
    asked = []

    class Refusing(sqlite3.Connection):
        def execute(self, *arguments):
            raise sqlite3.OperationalError("unable to open database file")

    def once(address, **options):
        asked.append(address)
        return connect(address, **options, **({"factory": Refusing} if len(asked) == 1 else {}))

    monkeypatch.setattr("globalmin.sweep.ledger.sqlite3.connect", once)
    assert len(sweep.rows(done)) == 2
    assert asked[1].endswith("immutable=1")
    asked.clear()
    (
        done / "ledger.sqlite-wal"
    ).touch()  # somebody may be writing: then the file alone is not the truth
    with pytest.raises(StoreError, match="unable to open"):
        sweep.rows(done)


def test_a_table_that_cannot_be_moved_into_place_leaves_nothing(done, tmp_path, monkeypatch):
    def refuse(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StoreFull, match=r"t\.csv"):
        sweep.export(done, tmp_path / "t.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
