"""The program of a local worker process: tasks in, outcomes out, and no life after the driver's."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import queue
import signal
import sys
import threading
from multiprocessing.connection import Connection

from globalmin.errors import PlanError
from globalmin.sweep import task as worker
from globalmin.sweep.task import Task, outcome_text

PR_SET_PDEATHSIG = 1  # of Linux' prctl


def main() -> None:
    """Serve until the driver closes the connection or dies."""
    connection = Connection(int(sys.argv[1]))
    worker.CRASH_LOG = int(sys.argv[2])
    faulthandler.enable(worker.CRASH_LOG)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.argv[3] == "1":
        _die_with_parent()
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(connection, tasks), daemon=True).start()
    _send(connection, {"ready": True})
    while True:
        _serve(connection, Task.from_text(tasks.get().decode("ascii")))


def _listen(connection: Connection, tasks: queue.SimpleQueue[bytes]) -> None:
    """End of file means that the driver is gone, whatever this process is computing."""
    try:
        while True:
            tasks.put(connection.recv_bytes())
    except (EOFError, OSError):
        os._exit(0)


def _serve(connection: Connection, task: Task) -> None:
    finished = []
    try:
        if task.batch:
            finished = list(
                worker.run_task(task)
            )  # one message, so that the driver records the batch in one transaction
        else:
            for outcome, blobs in worker.run_task(task):
                _send(connection, {"outcomes": [outcome_text(outcome)], "ended": False}, blobs)
    except PlanError as error:
        _send(connection, {"refused": str(error)})
        return
    blobs = {digest: content for _, found in finished for digest, content in found.items()}
    _send(
        connection,
        {"outcomes": [outcome_text(outcome) for outcome, _ in finished], "ended": True},
        blobs,
    )


def _send(
    connection: Connection, message: dict[str, object], blobs: dict[str, bytes] | None = None
) -> None:
    blobs = blobs or {}
    try:
        connection.send_bytes(json.dumps({**message, "blobs": list(blobs)}).encode("ascii"))
        for content in blobs.values():
            connection.send_bytes(content)
    except OSError:
        os._exit(0)


def _die_with_parent() -> None:
    """Linux ends this process with its parent even inside compiled code that holds the
    interpreter.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
