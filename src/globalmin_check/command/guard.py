"""Time and memory limits of the command: the check runs in a process of its own, which ends when a
limit is reached.

The parent waits and kills; on Linux the kernel's limits of address space and processor time stand
behind it, because a long call into the arithmetic library cannot be interrupted from within.
Whatever ends the child early is UNDECIDED or no verdict, never acceptance: its output is passed on
only if it ended by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from math import ceil

GIB = 2**30
THREAD_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """Exit code and output of the child, or the limit that ended it."""

    code: int
    out: str = ""
    error: str = ""
    limit: str = ""


def run_guarded(arguments: list[str], seconds: float, gibibytes: float) -> Outcome:
    """Run the command with these arguments in a child process; 0 means no limit."""
    command = [
        sys.executable,
        "-P",
        "-m",
        "globalmin_check",
        *arguments,
        "--in-child",
    ]  # -P: never import from the current folder
    time_limit = f"the time limit of {seconds:g} s was reached"
    alone = {name: "1" for name in THREAD_VARIABLES}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds or None,
            check=False,
            env={**os.environ, **alone},
        )
    except subprocess.TimeoutExpired:
        return Outcome(4, limit=time_limit)
    if done.returncode == -getattr(signal, "SIGXCPU", 0):
        return Outcome(4, limit=time_limit)
    if (
        gibibytes and done.returncode == -signal.SIGABRT
    ):  # how the arithmetic library ends when it gets no memory
        return Outcome(4, limit=f"the memory limit of {gibibytes:g} GiB was reached")
    if done.returncode < 0:
        return Outcome(
            5, error=f"globalmin-check: ended by signal {-done.returncode}, no verdict\n"
        )
    return Outcome(done.returncode, done.stdout, done.stderr)


def limit_this_process(seconds: float, gibibytes: float) -> None:
    """Ask the kernel for the same limits, where it can: a little more time than the parent waits,
    and the address space.
    """
    try:
        import resource
    except ImportError:  # pragma: no cover
        return
    for kind, value in (
        (resource.RLIMIT_CPU, ceil(seconds) + 1 if seconds else 0),
        (resource.RLIMIT_AS, int(gibibytes * GIB)),
    ):
        _, hard = resource.getrlimit(kind)
        if value:
            resource.setrlimit(
                kind, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard)
            )
