"""From which width on gradient descent from a random start of a ReLU network is proved to reach
zero loss: relu-descent against relu-linearized-descent.

Run `python -m bench.relu_widths [n ...]`: a table on the screen. Rows uniform on the sphere, labels
and weights normal, head +-1/sqrt(m); three seeds; the widths 1,000, 3,000, ... 300,000 are tried as
long as n m d is at most 2 10^8. At the first width at which a claim holds for all seeds, the file
of the first seed is checked.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import globalmin as gm
from globalmin.proving.certificate import Certificate
from globalmin_check.engine import check_bytes

KINDS = ("relu-descent", "relu-linearized-descent")
WIDTHS = (1000, 3000, 10_000, 30_000, 100_000, 300_000)
SEEDS = (0, 1, 2)
LARGEST = 2 * 10**8  # n m d


def start(n: int, d: int, m: int, seed: int) -> tuple[gm.ShallowNetwork, gm.Dataset]:
    """A random start of DU-M2."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    data = gm.Dataset(
        X / np.linalg.norm(X, axis=1, keepdims=True),
        rng.standard_normal(n),
        bias=False,
        scaling="none",
    )
    W, v = rng.standard_normal((m, d)), rng.choice([-1.0, 1.0], m) / np.sqrt(m)
    return gm.ShallowNetwork(W, v, gm.get_activation("relu")), data


def certificate(kind: str, n: int, d: int, m: int, seed: int) -> Certificate | None:
    """The claim at this start, or None."""
    try:
        return gm.certify(*start(n, d, m, seed), claims=[kind])
    except gm.errors.CannotCertify:
        return None


def first_width(kind: str, n: int, d: int) -> str:
    """The first width at which the claim holds for all seeds, its rate and the time to check it."""
    some, last = 0, 0
    for m in WIDTHS:
        if n * m * d > LARGEST:
            break
        files = [certificate(kind, n, d, m, seed) for seed in SEEDS]
        found = [file for file in files if file is not None]
        if len(found) == len(SEEDS):
            before = time.process_time()
            verdict = check_bytes(found[0].to_bytes()).verdict.value
            seconds = time.process_time() - before
            rates = ", ".join(f"{1 - file.summary()['rate']:.2f}" for file in found)
            return f"{m:,} (1 - rate {rates}; {verdict}, checked in {seconds:.1f} s)"
        some, last = (len(found), m) if found else (some, m)
    return f"not for all at {last:,} ({some} of {len(SEEDS)})"


def main() -> None:
    """Print the table."""
    sizes = [int(word) for word in sys.argv[1:]] or [10, 20]
    print("| n, d | " + " | ".join(KINDS) + " |\n|---|---|---|")
    for n in sizes:
        for d in (n, 2 * n, 5 * n):
            cells = " | ".join(first_width(kind, n, d) for kind in KINDS)
            print(f"| {n}, {d} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
