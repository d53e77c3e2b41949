"""What the figures were measured on: speed in matrix products, versions, threads."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time

import numpy as np

ORDER, ROUNDS = 1_000, 5
PACKAGES = [
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "jax",
    "optax",
    "optimistix",
    "cvxpy",
    "clarabel",
    "scs",
    "pyscnn",
    "interpret-core",
    "joblib",
    "dask",
    "ray",
    "python-flint",
    "numba",
]


def peak() -> float:
    """Operations a second of a float64 matrix product, the best of five."""
    A = np.random.default_rng(0).standard_normal((ORDER, ORDER))
    times = []
    for _ in range(ROUNDS):
        began = time.process_time()
        A @ A
        times.append(time.process_time() - began)
    return 2.0 * ORDER**3 / min(times)


def versions() -> dict[str, str]:
    """The packages that take part, as far as they are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def commit() -> str:
    """The revision measured; "+" stands for changes that are not committed."""
    asked = ["git", "describe", "--always", "--dirty=+"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def description() -> dict[str, object]:
    """Everything a reader needs to compare with figures of another day."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "cores": os.cpu_count(),
        "load_at_start": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "gflops": round(peak() / 1e9, 1),
        "packages": versions(),
    }
