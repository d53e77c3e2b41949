"""A sweep's folder: ledger, objects and the lock that keeps it to one driver. Objects go in before
the rows that name them.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from globalmin.errors import StoreError
from globalmin.sweep.ledger import Ledger, Outcome, store_errors
from globalmin.sweep.objects import Files, Objects, file_errors

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
