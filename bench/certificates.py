"""How long `certify` and `check` take, and how much memory: random labels on the unit sphere,
softplus and ReLU.

Run `python -m bench.certificates` for n = 442, with `--large` also n = 2,000, with `--largest` only
n = 10,000 (a quarter of an hour). Training, certifying and checking each run in their own process,
so that the peak memory printed is theirs alone.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SMALL = [(442, 10, 60, "softplus"), (442, 10, 90, "relu")]
LARGE = [(2000, 50, 50, "softplus"), (2000, 50, 64, "relu")]
LARGEST = [(10_000, 100, 120, "softplus")]
SEED = 0


def peak_gib() -> float:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def prepare(n: int, d: int, k: int, activation: str, folder: Path) -> dict[str, float]:
    """Train and keep the network and the data."""
    import numpy as np

    import globalmin as gm

    data = gm.generators.sphere_with_random_labels(n, d, seed=SEED)
    began, cpu = time.perf_counter(), time.process_time()
    run = gm.train_auto(data, width=k, activation=activation, seed=SEED)
    seconds = {"train s": time.perf_counter() - began, "train cpu s": time.process_time() - cpu}
    np.savez(folder / "trained.npz", X=data.X, y=data.y, W=run.network.W, v=run.network.v)
    fit = {"steps": float(run.n_iter), "relative residual": run.relative_residual}
    return {**seconds, "train GiB": peak_gib(), **fit}


def produce(activation: str, folder: Path) -> dict[str, float]:
    """Certify the kept network and write the file."""
    import numpy as np

    import globalmin as gm

    with np.load(folder / "trained.npz", allow_pickle=False) as arrays:
        data = gm.Dataset.from_preprocessed(arrays["X"], arrays["y"])
        network = gm.ShallowNetwork(arrays["W"], arrays["v"], activation)
    began, cpu = time.perf_counter(), time.process_time()
    certificate = gm.certify(network, data)
    size = certificate.save(folder / "fit.gmc").stat().st_size
    seconds = {"certify s": time.perf_counter() - began, "certify cpu s": time.process_time() - cpu}
    return {
        **seconds,
        "certify GiB": peak_gib(),
        "file MB": size / 1e6,
        "claims": float(len(certificate.claims)),
    }


def verify(folder: Path) -> dict[str, float]:
    """Check the file; the program ends with an error unless it is accepted."""
    from globalmin_check import check_file

    began, cpu = time.perf_counter(), time.process_time()
    result = check_file(folder / "fit.gmc")
    if result.verdict.name != "ACCEPTED":
        raise SystemExit(f"{result.verdict.name}: {result.reason}")
    return {
        "check s": time.perf_counter() - began,
        "check cpu s": time.process_time() - cpu,
        "check GiB": peak_gib(),
    }


def row(n: int, d: int, k: int, activation: str) -> dict[str, float]:
    """All three steps of one configuration, each in its own process."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for step in ("prepare", "produce", "verify"):
            command = [
                sys.executable,
                "-m",
                "bench.certificates",
                step,
                str(n),
                str(d),
                str(k),
                activation,
                folder,
            ]
            figures |= json.loads(
                subprocess.run(command, check=True, capture_output=True, text=True).stdout
            )
    return figures


def _step(name: str, sizes: list[str], activation: str, folder: Path) -> dict[str, float]:
    if name == "prepare":
        n, d, k = map(int, sizes)
        return prepare(n, d, k, activation, folder)
    return produce(activation, folder) if name == "produce" else verify(folder)


def main(arguments: list[str]) -> None:
    """Print the table, or run one step (internal)."""
    if len(arguments) == 6:
        print(json.dumps(_step(arguments[0], arguments[1:4], arguments[4], Path(arguments[5]))))
        return
    rows = SMALL + (LARGE if "--large" in arguments else [])
    for n, d, k, activation in LARGEST if "--largest" in arguments else rows:
        figures = ", ".join(
            f"{name} {value:.3g}" for name, value in row(n, d, k, activation).items()
        )
        print(f"{activation} n={n} d={d} k={k}: {figures}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
