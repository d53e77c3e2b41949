"""The ledger: one sqlite file that knows every trial; a row that was acknowledged survives kill -9
and a power cut.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from globalmin.errors import StoreError, StoreFull

SCHEMA_VERSION = 1
BUSY_SECONDS = 30.0
MAX_TRIES = 3
_SCHEMA = (
    "CREATE TABLE sweep (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE TABLE trial (
        id TEXT PRIMARY KEY, position INTEGER, parameters TEXT NOT NULL, seed INTEGER NOT NULL,
        code TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting',
        'running', 'done', 'failed')), tries INTEGER NOT NULL DEFAULT 0, lease TEXT, finished
        REAL, seconds REAL, result TEXT, error TEXT, digest TEXT, CHECK ((state = 'done') =
        (result IS NOT NULL)), CHECK ((state = 'running') = (lease IS NOT NULL))
    ) STRICT""",
    "CREATE TABLE artifact (trial TEXT NOT NULL, object TEXT NOT NULL, PRIMARY KEY (trial, "
    "object)) STRICT, WITHOUT ROWID",
    "CREATE INDEX trial_by_position ON trial (position) WHERE position IS NOT NULL",
    "CREATE INDEX trial_by_state ON trial (state, finished)",
    "CREATE INDEX trial_to_do ON trial (tries, position) WHERE state = 'waiting' AND position IS "
    "NOT NULL",
)


@dataclass(frozen=True)
class Trial:
    """One row to be computed."""

    id: str
    parameters: str  # canonical JSON
    seed: int
    tries: int = 0


@dataclass(frozen=True)
class Outcome:
    """What came of a trial: `result` is the canonical JSON of a success, `error` the traceback of a
    failure.
    """

    id: str
    result: str | None
    error: str | None
    seconds: float
    objects: tuple[str, ...] = ()


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Inside, what sqlite raises becomes a StoreError that names the file and the remedy."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        text = str(error)
        if name.startswith("SQLITE_FULL"):
            raise StoreFull(
                f"{path}: {text}; make room and resume, what was recorded is safe"
            ) from error
        if name.startswith("SQLITE_IOERR"):
            raise StoreFull(
                f"{path}: {text} ({name}); check the disk and resume, what was recorded is safe"
            ) from error
        if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
            raise StoreError(
                f"{path}: the ledger is damaged ({text}); restore it from a copy, or run the plan "
                "anew in an empty folder"
            ) from error
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
            raise StoreError(
                f"{path}: {text}; the folder must exist and be writable, copy it elsewhere if it "
                "is not"
            ) from error
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            raise StoreError(
                f"{path}: still locked by another process after {BUSY_SECONDS:.0f} s; end it and "
                "try again"
            ) from error
        raise StoreError(f"{path}: {text} ({name or type(error).__name__})") from error


def row_digest(id: str, result: str) -> str:
    """Seal of a recorded result: sqlite checks its pages, not the bytes inside them."""
    return hashlib.sha256(f"{id}\n{result}".encode()).hexdigest()


class Ledger:
    """One connection to a sweep's ledger; several processes may have one each.

    Parameters
    ----------
    path : the sqlite file.
    mode : "create" (make it if it is not there), "write" or "read".
    """

    def __init__(self, path: Path, mode: str = "write") -> None:
        self.path = path
        if mode != "create" and not path.is_file():
            raise StoreError(
                f"{path}: there is no ledger; give a folder made by globalmin sweep run"
            )
        with store_errors(path):
            self._connection = _connect(path, mode)
            try:
                self._prepare(mode)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, mode: str) -> None:
        if mode != "read":
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
        if mode == "create":
            with self.transaction():
                if self._version() == 0 and not self._all("SELECT name FROM sqlite_schema"):
                    for statement in _SCHEMA:
                        self._connection.execute(statement)
                    self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if self._version() != SCHEMA_VERSION:
            raise StoreError(
                f"{self.path}: ledger of format {self._version()}, this version reads "
                f"{SCHEMA_VERSION}; use the one that wrote it"
            )

    def _version(self) -> int:
        return self._connection.execute("PRAGMA user_version").fetchone()[0]

    def check(self) -> None:
        """Raise StoreError unless sqlite finds the file whole."""
        with store_errors(self.path):
            found = self._all("PRAGMA quick_check(5)")
        if found != [("ok",)]:
            what = "; ".join(str(row[0]) for row in found)
            raise StoreError(
                f"{self.path}: the ledger is damaged ({what}); restore it from a copy, or run the "
                "plan anew in an empty folder"
            )

    def close(self) -> None:
        """Close the connection; nothing is lost if this never happens."""
        self._connection.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing; when the block has ended without an exception, its rows are on the
        disk.
        """
        with store_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, values).fetchall()

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a SELECT."""
        with store_errors(self.path):
            return self._all(statement, values)

    def get(self, key: str) -> str | None:
        """A fact about the sweep as a whole."""
        found = self.query("SELECT value FROM sweep WHERE key = ?", (key,))
        return found[0][0] if found else None

    def put(self, key: str, value: str) -> None:
        """Set a fact; inside a transaction."""
        self._connection.execute(
            "INSERT INTO sweep VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
            (key, value),
        )

    def enroll(self, trials: Iterable[Trial], code: str) -> None:
        """Make these the trials of the sweep, in this order; inside a transaction. Known ones keep
        what is known of them.
        """
        self._connection.execute("UPDATE trial SET position = NULL WHERE position IS NOT NULL")
        self._connection.executemany(
            "INSERT INTO trial (id, position, parameters, seed, code) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET position = excluded.position",
            (
                (trial.id, position, trial.parameters, trial.seed, code)
                for position, trial in enumerate(trials)
            ),
        )

    def waiting(self, after: tuple[int, int], limit: int) -> list[tuple[int, Trial]]:
        """The next trials to compute, with their positions, behind (tries, position): those that
        ended a worker come last.
        """
        rows = self.query(
            "SELECT position, id, parameters, seed, tries FROM trial WHERE state = 'waiting' AND "
            "position IS NOT NULL AND (tries, position) > (?, ?) ORDER BY tries, position LIMIT ?",
            (*after, limit),
        )
        return [(position, Trial(*rest)) for position, *rest in rows]

    def lease(self, ids: Iterable[str], owner: str) -> None:
        """Mark trials as running; inside a transaction."""
        self._connection.executemany(
            "UPDATE trial SET state = 'running', lease = ? WHERE id = ? AND state = 'waiting'",
            ((owner, id) for id in ids),
        )

    def release(self, ids: Iterable[str], *, counted: bool) -> None:
        """Give leases back; inside a transaction. `counted`: their worker died, which counts as a
        try.
        """
        self._connection.executemany(
            "UPDATE trial SET state = 'waiting', lease = NULL, tries = tries + ? WHERE id = ? AND "
            "state = 'running'",
            ((int(counted), id) for id in ids),
        )

    def release_all(self) -> int:
        """Give back every lease of a driver that is gone: not the trials' fault, so no try is
        counted. Inside a transaction.
        """
        return self._connection.execute(
            "UPDATE trial SET state = 'waiting', lease = NULL WHERE state = 'running'"
        ).rowcount

    def retry_failed(self) -> int:
        """Let failed trials of the plan wait again; inside a transaction."""
        return self._connection.execute(
            "UPDATE trial SET state = 'waiting', tries = 0, error = NULL WHERE state = 'failed' "
            "AND position IS NOT NULL"
        ).rowcount

    def record(self, outcomes: Iterable[Outcome], now: float | None = None) -> int:
        """Acknowledge outcomes; inside a transaction. A trial that is already done stays as it is.
        Returns how many were new.
        """
        finished = time.time() if now is None else now
        new = 0
        for outcome in outcomes:
            state, digest = (
                ("failed", None)
                if outcome.result is None
                else ("done", row_digest(outcome.id, outcome.result))
            )
            changed = self._connection.execute(
                "UPDATE trial SET state = ?, lease = NULL, tries = tries + 1, finished = ?, "
                "seconds = ?, result = ?, error = ?, digest = ? WHERE id = ? AND state <> 'done'",
                (
                    state,
                    finished,
                    outcome.seconds,
                    outcome.result,
                    outcome.error,
                    digest,
                    outcome.id,
                ),
            ).rowcount
            new += changed
            if changed:
                rows = ((outcome.id, name) for name in outcome.objects)
                self._connection.executemany("INSERT OR IGNORE INTO artifact VALUES (?, ?)", rows)
        return new


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    access = {"read": "ro", "create": "rwc"}.get(mode, "rw")
    address = f"{path.resolve().as_uri()}?mode={access}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    if mode != "read":
        return connection
    try:
        connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
    except sqlite3.OperationalError:
        # a read-only folder without the files beside a WAL ledger: nobody can be writing there
        connection.close()
        if path.with_name(path.name + "-wal").exists():
            raise
        connection = sqlite3.connect(address + "&immutable=1", uri=True, isolation_level=None)
    return connection
