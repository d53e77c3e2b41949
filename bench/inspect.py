"""What an inspection costs, and how often the descent claim fires at the explicit width of OS-C6.

Run `python -m bench.inspect` for the tables in docs/inspect.md; the tests run the same rows.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import globalmin as gm
from globalmin.errors import CannotCertify
from globalmin.inspection import inspect

INSTANCES = (
    (2, 8),
    (4, 12),
    (6, 20),
)  # (n, d) of the three small instances: softplus, theta = 1/2, delta = 1


@dataclass(frozen=True)
class Fired:
    """How often the claim was made and accepted at the width of OS-C6, and the largest h = Lip
    ||r||/a^2 among them.
    """

    n: int
    d: int
    width: int
    starts: int
    certified: int
    accepted: int
    largest_h: float


def fire(n: int, d: int, starts: int, *, seed: int = 0, checked: int | None = None) -> Fired:
    """Draw `starts` networks at the width of OS-C6, make the descent claim for each, and check the
    first `checked` files (all).
    """
    data = gm.generators.sphere_with_random_labels(n, d, seed=seed)
    width = int(inspect(data, width=2, activation="softplus", theta=0.5, delta=1.0).explicit_width)
    certified = accepted = 0
    largest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for start in range(starts):
            network = gm.ShallowNetwork.initialize(
                data, width=width, activation="softplus", seed=start
            )
            try:
                certificate = gm.certify(network, data, claims=["descent"])
            except CannotCertify:
                continue
            certified += 1
            largest = max(largest, float(certificate.summary()["h"]))
            if checked is None or start < checked:
                path = Path(folder) / "descent.gmc"
                certificate.save(path)
                accepted += gm.check(path).verdict.value == "ACCEPTED"
    return Fired(n, d, width, starts, certified, accepted, largest)


def main(starts: int = 100) -> None:
    """Print both tables."""
    print(
        "| n, d | width by OS-C6 | claims made | accepted | largest h | CPU s "
        "|\n|---|---|---|---|---|---|"
    )
    for n, d in INSTANCES:
        began = time.process_time()
        f = fire(n, d, starts)
        seconds = time.process_time() - began
        print(
            f"| {n}, {d} | {f.width:,} | {f.certified} of {f.starts} | {f.accepted} | "
            f"{f.largest_h:.3f} | {seconds:.0f} |",
            flush=True,
        )
    print("\n| n, d, width, activation | CPU s | peak memory |\n|---|---|---|")
    for n, d, k, activation in (
        (500, 20, 60, "softplus"),
        (2000, 50, 100, "relu"),
        (5000, 50, 120, "softplus"),
    ):
        data = gm.generators.sphere_with_random_labels(n, d, seed=0)
        began = time.process_time()
        inspect(data, width=k, activation=activation)
        seconds, peak = (
            time.process_time() - began,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        )
        print(f"| {n}, {d}, {k}, {activation} | {seconds:.1f} | {peak:.2f} GiB |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
