"""How time and memory grow with the rows: each job at doubling sizes, each size in a process of its
own, so that the peak memory is its own; the exponent is that of the last doubling.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROWS = {
    "train": (250, 500, 1_000, 2_000),
    "prove": (250, 500, 1_000, 2_000),
    "check": (250, 500, 1_000, 2_000),
    "quadratic solve, d = 20": (10_000, 20_000, 40_000, 80_000),
    "additive fit, d = 10": (2_500, 5_000, 10_000, 20_000),
}
D = K = 50


def _network(n: int) -> tuple[Any, Any]:
    import globalmin as gm

    data = gm.generators.sphere_with_random_labels(n, D, seed=0)
    return gm.ShallowNetwork.initialize(data, width=K, activation="softplus", seed=0), data


def _train(n: int) -> Callable[[], object]:
    import globalmin as gm

    network, data = _network(n)
    return lambda: gm.train(network, data, method="levenberg_marquardt", tol=1e-10)


def _trained(n: int) -> tuple[Any, Any]:
    import globalmin as gm

    network, data = _network(n)
    return gm.train(network, data, method="levenberg_marquardt").network, data


def _prove(n: int) -> Callable[[], object]:
    import globalmin as gm

    network, data = _trained(n)
    return lambda: gm.certify(network, data, claims=["interpolation"])


def _check(n: int) -> Callable[[], object]:
    import globalmin as gm
    from globalmin_check import check_file

    path = Path(tempfile.mkdtemp()) / "growth.gmc"
    network, data = _trained(n)
    gm.certify(network, data, claims=["interpolation"]).save(path)
    return lambda: check_file(path)


def _quadratic(n: int) -> Callable[[], object]:
    from globalmin.quadratic.solve import solve_quadratic

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = (X[:, :3] ** 2).sum(axis=1) + rng.standard_normal(n)
    return lambda: solve_quadratic(X, y, weight_decay=0.1 * n)


def _additive(n: int) -> Callable[[], object]:
    from sklearn.datasets import make_friedman1

    import globalmin as gm

    X, y = make_friedman1(n, 10, noise=1.0, random_state=0)
    model = gm.AdditiveNetworkRegressor(weight_decay=0.02 * n, certify=False)
    return lambda: model.fit(X, y)


JOBS = dict(zip(ROWS, (_train, _prove, _check, _quadratic, _additive), strict=True))


class Memory:
    """Watches the resident memory of this process while a job runs, every two milliseconds: the
    largest ever would be that of the imports.
    """

    def __enter__(self) -> Memory:
        self.before = self.most = resident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._over.wait(0.002):
            self.most = max(self.most, resident())

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.most = max(self.most, resident())

    @property
    def needed(self) -> float:
        """GiB beyond what was held before."""
        return self.most - self.before


def resident() -> float:
    """GiB held now (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**30


def one(job: str, n: int) -> dict[str, float]:
    """CPU seconds of the job, after a small one that imports and compiles; and the memory that it
    needed beyond what was held before.
    """
    small = JOBS[job](min(ROWS[job]) // 2)
    small()
    work = JOBS[job](n)
    with Memory() as memory:
        began = time.process_time()
        work()
        seconds = time.process_time() - began
    return {"rows": n, "seconds": seconds, "gib": memory.needed}


def grown(job: str, largest: int | None = None) -> list[dict[str, float]]:
    """All sizes of one job, each in its own process."""
    rows = [n for n in ROWS[job] if largest is None or n <= largest]
    command = [sys.executable, "-m", "bench.contests.growth", job]
    return [
        json.loads(subprocess.check_output([*command, str(n)], text=True).splitlines()[-1])
        for n in rows
    ]


def exponent(points: list[dict[str, float]], unit: str) -> float:
    """Of the last doubling; nan where the smaller one is too small to be measured."""
    first, last = points[-2], points[-1]
    if min(first[unit], last[unit]) <= 1e-3:
        return math.nan
    return math.log(last[unit] / first[unit]) / math.log(last["rows"] / first["rows"])


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], int(sys.argv[2]))))
