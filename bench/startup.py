"""CPU seconds from the shell to the answer: `--help` of both commands, an empty interpreter and
scikit-learn's import beside them, and `globalmin fit` on a table of 100 rows, whole process trees.

Run with `python -m bench.startup`. Budgets: globalmin 0.4 s, globalmin-check 0.15 s, a fit 2 s (CPU
time, best of several runs). Bytecode is written to a folder of its own first, as an installation
does; without it every run would compile the sources again.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

RUNS = 5
ROWS = 100
OURS = [sys.executable, "-c", "import sys; from globalmin.cli import main; main(sys.argv[1:])"]
COMMANDS = {
    "python -c pass": ([sys.executable, "-c", "pass"], None),
    "import sklearn.base": ([sys.executable, "-c", "import sklearn.base"], None),
    "globalmin --help": ([*OURS, "--help"], 0.4),
    "globalmin-check --help": ([sys.executable, "-m", "globalmin_check", "--help"], 0.15),
}
FITS = {"globalmin fit": [], "globalmin fit --interpolate": ["--interpolate"]}


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """User and system time of one run of `command` and of what it started."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
        env=environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def table(folder: Path) -> Path:
    """100 rows of five columns, a smooth function with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, 5))
    y = X[:, 0] ** 2 + np.sin(X[:, 1]) + 0.1 * rng.standard_normal(ROWS)
    path = folder / "table.csv"
    np.savetxt(path, np.c_[X, y], "%.6f", ",", header="a,b,c,d,e,y", comments="")
    return path


def main() -> None:
    """Print the best time of each command and its budget."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        out = ["--out", str(folder / "fit"), "--force", "--quiet"]
        fit = [*OURS, "fit", str(table(folder)), "--target", "y", *out]
        fits = {title: ([*fit, *options], 2.0) for title, options in FITS.items()}
        for title, (command, budget) in (COMMANDS | fits).items():
            cpu_seconds(command, environment)
            best = min(cpu_seconds(command, environment) for _ in range(RUNS))
            told = f"   budget {budget:.2f} s" if budget else ""
            print(f"{title:28s} {best:6.3f} s{told}", flush=True)


if __name__ == "__main__":
    main()
