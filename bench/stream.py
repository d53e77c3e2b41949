"""Ten million rows: a parquet table of twenty columns is written, a quadratic network fitted and
certified on it in one pass, and the certificate checked against the rows in another.

`python -m bench.stream [rows]`; with `--dask` the same by three Dask workers, one of which is
killed; with `--additive` an additive network instead; with `--check` the certificate is checked
against the rows. The table is deleted at the end.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS, GROUP, SEED = 20, 2**19, 20
Fit = Callable[[Path, int, Any], Any]


def groups(rows: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs of different means and sizes; a label with squares, products and noise."""
    rng = np.random.default_rng(SEED)
    means, sizes = rng.uniform(-50, 50, COLUMNS), 10.0 ** rng.uniform(-2, 3, COLUMNS)
    for start in range(0, rows, GROUP):
        Z = rng.standard_normal((min(GROUP, rows - start), COLUMNS))
        y = Z[:, 0] * Z[:, 1] - Z[:, 2] ** 2 + Z[:, 3] + 0.5 * Z[:, 4] * Z[:, 5]
        yield Z * sizes + means, 100.0 + 30.0 * (y + rng.standard_normal(len(Z)))


def write(path: Path, rows: int) -> None:
    """The table, one row group after the other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [*(f"x{j}" for j in range(COLUMNS)), "y"]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as file:
        for X, y in groups(rows):
            file.write_table(pa.table([*X.T, y], names=names), row_group_size=GROUP)


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Run it and print wall and CPU seconds and the peak of the memory so far."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{name}: {time.perf_counter() - wall:.1f} s, {time.process_time() - cpu:.1f} CPU s, "
        f"peak {peak:.2f} GiB",
        flush=True,
    )
    return found


def fit(path: Path, rows: int, client: Any = None) -> Any:
    """The fit, at a weight decay of a thousandth per row."""
    import globalmin as gm

    return gm.fit_stream(path, target="y", weight_decay=1e-3 * rows, client=client)


def fit_additive(path: Path, rows: int, client: Any = None) -> Any:
    """The same with an additive network."""
    import globalmin as gm

    return gm.fit_additive_stream(path, target="y", weight_decay=1e-3 * rows, client=client)


def told(found: Any) -> str:
    """What was proved, and the seal of the file."""
    import hashlib

    digest = hashlib.sha256(found.certificate).hexdigest()[:16]
    return (
        f"{found.verdict}, {found.n_rows} rows in {len(found.shards)} shards, "
        f"{found.network.width} neurons, R^2 {found.r2:.6f}, objective at most "
        f"{found.proof.loss_upper:.10g}, relative gap {found.relative_gap:.3g}, file {digest}"
    )


def on_dask(path: Path, rows: int, work: Fit) -> None:
    """The same fit by three workers, of which one is killed half-way."""
    import threading

    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        found: Any = client.run(os.getpid)
        timer = threading.Timer(20.0, os.kill, (next(iter(found.values())), 9))
        timer.start()
        print(told(timed("fit on Dask, a worker killed", lambda: work(path, rows, client))))
        timer.cancel()


def checked(path: Path, certificate: Path) -> None:
    """The checker as its own program, with the rows."""
    command = [sys.executable, "-m", "globalmin_check", str(certificate), "--rows", str(path)]
    wall = time.perf_counter()
    done = subprocess.run([*command, "--time-limit", "0"], capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"check with rows: {time.perf_counter() - wall:.1f} s, {used.ru_utime:.1f} CPU s, peak "
        f"{used.ru_maxrss / 2**20:.2f} GiB\n{done.stdout.splitlines()[1][:200]}"
    )


def main() -> None:
    """Write, fit, check, delete."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=10**7)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--additive", action="store_true")
    options = parser.parse_args()
    work = fit_additive if options.additive else fit
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        timed("write", lambda: write(path, options.rows))
        found = timed("fit and certify", lambda: work(path, options.rows))
        print(told(found), flush=True)
        if options.check:
            checked(path, found.save_certificate(Path(folder) / "stream.gmc"))
        if options.dask:
            on_dask(path, options.rows, work)


if __name__ == "__main__":
    main()
