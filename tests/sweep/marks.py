"""Reading the marks that recipes leave behind, and starting drivers in processes of their own."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

DRIVER = """
import sys
from globalmin import sweep
plan = sweep.Plan.from_toml(sys.argv[1])
sweep.run(plan, sys.argv[2], workers=int(sys.argv[3]), progress=False)
"""


def count_marks(folder):
    """How often each (a, seed) was executed to its end."""
    lines = [
        line
        for file in Path(folder).glob("*.marks")
        for line in file.read_text(encoding="ascii").splitlines()
    ]
    return Counter(tuple(map(int, line.split())) for line in lines)


def process_environment():
    """What a Python process needs to import globalmin and these tests."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]),
        "OPENBLAS_NUM_THREADS": "1",
    }


def start_driver(plan, folder, workers=2, program=DRIVER, **options):
    """A driver as a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", program, str(plan), str(folder), str(workers)],
        env=process_environment(),
        **options,
    )


def children_of(pid):
    """Living child processes."""
    try:
        return [
            int(child)
            for child in Path(f"/proc/{pid}/task/{pid}/children")
            .read_text(encoding="ascii")
            .split()
        ]
    except OSError:
        return []


def is_alive(pid):
    """Whether a process runs; a zombie does not."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
            != "Z"
        )
    except OSError:
        return False


def parent_of(pid):
    """The process that started this one."""
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
