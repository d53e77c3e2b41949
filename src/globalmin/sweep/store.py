"""A sweep's folder: ledger, objects and the lock that keeps it to one driver. Objects go in before
the rows that name them.

An object is a file named by the SHA-256 of its bytes, never visible before it is whole and on the
disk.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import socket
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from globalmin.errors import StoreError, StoreFull
from globalmin.sweep.ledger import Ledger, Outcome, store_errors

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Files:
    """The operating system's calls that can fail; tests put one in their place that does."""

    def write(self, handle: int, content: bytes) -> None:
        """All of `content`."""
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]

    def sync(self, handle: int) -> None:
        """Wait until the file is on the disk."""
        os.fsync(handle)

    def rename(self, source: Path, target: Path) -> None:
        """Move into place, atomically."""
        os.replace(source, target)

    def sync_folder(self, folder: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Inside, what the operating system raises becomes a StoreError that names the file and the
    remedy.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL or error.errno == errno.EIO:
            raise StoreFull(
                f"{path}: {reason}; make room or check the disk and resume, what was recorded is "
                "safe"
            ) from error
        raise StoreError(
            f"{path}: {reason}; the folder must exist and be writable, choose another if it is not"
        ) from error


class Objects:
    """The objects folder of a sweep."""

    def __init__(self, folder: Path, files: Files | None = None) -> None:
        self.folder = folder
        self._files = files or Files()

    def path(self, digest: str) -> Path:
        """Where an object lies."""
        return self.folder / digest[:2] / digest[2:]

    def put(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs by digest; when this returns they are on the disk. Those already there are
        not written again.
        """
        fresh = {
            digest: content
            for digest, content in blobs.items()
            if not self._is_whole(digest, content)
        }
        folders = {self.path(digest).parent for digest in fresh}
        for folder in sorted(folders):
            if not folder.is_dir():
                with file_errors(folder):
                    folder.mkdir(parents=True, exist_ok=True)
                    self._files.sync_folder(self.folder)
        for digest, content in fresh.items():
            self._write(self.path(digest), content)
        for folder in sorted(folders):
            with file_errors(folder):
                self._files.sync_folder(folder)

    def get(self, digest: str) -> bytes:
        """The bytes of an object, after a look at their digest."""
        path = self.path(digest)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be read ({error.strerror}); restore it from a copy, or compute "
                "the trial again"
            ) from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoreError(
                f"{path}: damaged, its bytes no longer match its name; restore it, or compute the "
                "trial again"
            )
        return content

    def remove_unless(self, kept: set[str]) -> int:
        """Remove every file that is no kept object, temporary files included; returns how many. No
        driver may be writing.
        """
        removed = 0
        for shard in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            for file in sorted(shard.iterdir()) if shard.is_dir() else ():
                if shard.name + file.name not in kept:
                    with file_errors(file):
                        file.unlink()
                    removed += 1
        return removed

    def _is_whole(self, digest: str, content: bytes) -> bool:
        try:
            return self.path(digest).read_bytes() == content
        except OSError:
            return False

    def _write(self, target: Path, content: bytes) -> None:
        with file_errors(target):
            handle, name = tempfile.mkstemp(prefix=".tmp-", dir=target.parent)
            temporary = Path(name)
            try:
                try:
                    self._files.write(handle, content)
                    self._files.sync(handle)
                finally:
                    os.close(handle)
                self._files.rename(temporary, target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise


LEDGER = "ledger.sqlite"
LOCK = "driver.lock"
OBJECTS = "objects"
HEARTBEAT_SECONDS = 5.0
STALE_SECONDS = 60.0
LOCK_SECONDS = 1.0


class DriverLock:
    """At most one driver per folder. The lock is sqlite's own: the system frees it when the process
    dies, however it dies.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / LOCK
        with store_errors(path):
            # patience for somebody who asks `is_driven` at this very moment
            self._connection = sqlite3.connect(path, timeout=LOCK_SECONDS, isolation_level=None)
        try:
            self._connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            self._connection.close()
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise StoreError(
                    f"{folder}: another process is running this sweep; wait for it, or end it"
                ) from error
            if isinstance(error, sqlite3.OperationalError):
                with store_errors(path):
                    raise
            raise StoreError(
                f"{path}: not a lock of globalmin; remove this file, it holds no results"
            ) from error

    def close(self) -> None:
        """Let others run the sweep."""
        self._connection.close()


def is_driven(folder: Path) -> bool:
    """Whether a living driver on this machine holds the folder."""
    path = folder / LOCK
    if not path.is_file():
        return False
    try:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=0, isolation_level=None
        )
    except sqlite3.Error:
        return False
    with contextlib.closing(connection):
        try:
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError as error:
            return getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY")
        except sqlite3.Error:
            return False
    return False


class Store:
    """The folder in the hands of its driver; use as a context manager."""

    def __init__(
        self, folder: str | os.PathLike[str], *, create: bool = False, files: Files | None = None
    ) -> None:
        self.folder = Path(folder)
        if create:
            with file_errors(self.folder):
                self.folder.mkdir(parents=True, exist_ok=True)
        elif not (self.folder / LEDGER).is_file():
            raise StoreError(
                f"{self.folder}: no sweep here; give a folder made by globalmin sweep run"
            )
        self._lock = DriverLock(self.folder)
        try:
            self.ledger = Ledger(self.folder / LEDGER, "create" if create else "write")
        except BaseException:
            self._lock.close()
            raise
        self.objects = Objects(self.folder / OBJECTS, files)
        self.owner = f"{socket.gethostname()}:{os.getpid()}"
        self._last_beat = 0.0
        try:
            self.ledger.check()
            self._take_over()
        except BaseException:
            self.close()
            raise

    def _take_over(self) -> None:
        """The lock says that no driver lives on this machine; leases left behind are void, unless
        another machine still beats.
        """
        owner, beat = self.ledger.get("owner"), float(self.ledger.get("heartbeat") or 0.0)
        elsewhere = owner is not None and owner.partition(":")[0] != socket.gethostname()
        if elsewhere and time.time() - beat < STALE_SECONDS:
            raise StoreError(
                f"{self.folder}: {owner} is running this sweep, last seen {time.time() - beat:.0f} "
                "s ago; end it there first"
            )
        with self.ledger.transaction():
            left_behind = self.ledger.release_all()
            self.ledger.put("owner", self.owner)
            self._beat()
        if left_behind:
            self.collect()

    def _beat(self) -> None:
        self._last_beat = time.time()
        self.ledger.put("heartbeat", repr(self._last_beat))

    def settle(
        self,
        outcomes: Sequence[Outcome] = (),
        blobs: Mapping[str, bytes] | None = None,
        *,
        leased: Iterable[str] = (),
        released: Iterable[str] = (),
        suspected: Iterable[str] = (),
    ) -> int:
        """Record what came in and lease what goes out, in one transaction; when this returns, it is
        acknowledged.
        """
        if blobs:
            self.objects.put(blobs)
        with self.ledger.transaction():
            new = self.ledger.record(outcomes)
            self.ledger.release(released, counted=False)
            self.ledger.release(suspected, counted=True)
            self.ledger.lease(leased, self.owner)
            if time.time() - self._last_beat > HEARTBEAT_SECONDS:
                self._beat()
        return new

    def heartbeat(self) -> None:
        """Show that this driver lives, at most once in a few seconds."""
        if time.time() - self._last_beat > HEARTBEAT_SECONDS:
            with self.ledger.transaction():
                self._beat()

    def collect(self) -> int:
        """Remove objects that no row names, and temporary files; returns how many."""
        return self.objects.remove_unless(
            {name for (name,) in self.ledger.query("SELECT DISTINCT object FROM artifact")}
        )

    def rest(self) -> None:
        """The driver ends on purpose: no heartbeat is owed any more."""
        with self.ledger.transaction():
            self.ledger.release_all()
            self.ledger.put("heartbeat", "0")

    def close(self) -> None:
        """Close ledger and lock."""
        self.ledger.close()
        self._lock.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
