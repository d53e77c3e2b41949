"""CPU seconds from the shell to the answer: `--help` of both commands, an empty interpreter beside
them.

Run with `python -m bench.startup`. Budgets: globalmin 0.4 s, globalmin-check 0.15 s (CPU time, best
of several runs).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

RUNS = 7
COMMANDS = {
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "globalmin --help": (
        [sys.executable, "-c", "from globalmin.cli import main; main(['--help'])"],
        0.4,
    ),
    "globalmin-check --help": ([sys.executable, "-m", "globalmin_check", "--help"], 0.15),
}


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one run of `command`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=os.environ
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print the best time of each command and its budget."""
    for name, (command, budget) in COMMANDS.items():
        best = min(cpu_seconds(command) for _ in range(RUNS))
        limit = "" if budget is None else f"   budget {budget:.2f} s   ratio {best / budget:.2f}"
        print(f"{name:24s} {best:6.3f} s{limit}")


if __name__ == "__main__":
    main()
