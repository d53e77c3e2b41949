"""Quadratic networks to the global minimum: solved, proved to the checker, and beside CVXPY with
Clarabel and SCS.

`python -m bench.quadratic` makes the table of docs/figures.md for d = 20 and 50; `--dimensions 100`
or `300` for more, `--peers` with no name for us alone. One process, one thread, the same instances
for all; times are CPU seconds, so that a busy machine does not blur the ratios. How to install the
peers: `bench/quadratic_peers.py`; without them the table has our columns only.

*Proved gap* is what `globalmin-check` accepted: the gap of an optimality-gap claim relative to the
proved floor of the class. Where the minimum is zero (planted labels without decay, or fewer samples
than d(d+1)/2 with mixed signs) there is no such ratio; the gap is then relative to the loss of the
zero network and marked "of L(0)". For interpolation the gap is the loss.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  (the number of threads is read at import)
from bench.quadratic_peers import INSTALL, Limits, PeerOutcome, best_time, installed, run_peer  # noqa: E402

import globalmin as gm  # noqa: E402
from globalmin.quadratic.duality import critical_decay, matrix_objective  # noqa: E402
from globalmin.quadratic.solve import QuadraticSolution, solve_quadratic  # noqa: E402

SEED = 0
DECAY = 0.1  # weight decay relative to the critical one
CLASSES = ("positive", "decay", "mixed")
MIXED_LARGEST = 50  # theorem S needs a square of order d(d+1)/2


@dataclass(frozen=True)
class Instance:
    """n Gaussian samples of d features with random or planted labels, for one class of networks."""

    d: int
    n: int
    labels: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}, d={self.d}, n={self.n}, {self.labels}"

    @property
    def signs(self) -> str:
        """Signs of the heads; weight decay is tried with both."""
        return "positive" if self.kind == "positive" else "mixed"

    @property
    def claim(self) -> str:
        """What is proved: the gap, or, with mixed signs and too few samples for theorem S, that the
        data are interpolated.
        """
        return (
            "interpolation"
            if self.kind == "mixed" and self.n < self.d * (self.d + 1) // 2
            else "optimality-gap"
        )

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples and labels."""
        rng = np.random.default_rng(SEED)
        X = rng.standard_normal((self.n, self.d))
        if self.labels == "random":
            return X, rng.standard_normal(self.n)
        W = rng.standard_normal((self.d, self.d)) / np.sqrt(self.d)
        return X, np.sum((X @ W.T) ** 2, axis=1)


@dataclass(frozen=True)
class Proof:
    """The verdict on the certificate file, the gap it proves (relative, see the module), and the
    cost.
    """

    verdict: str
    gap: float
    of_zero_network: bool
    certify_seconds: float
    check_seconds: float

    def __str__(self) -> str:
        return f"{self.gap:.0e}{' of L(0)' if self.of_zero_network else ''}, {self.verdict}"


def instances(
    dimensions: list[int], kinds: list[str], sizes: list[str], labels: list[str]
) -> Iterator[Instance]:
    """The cells of the table; mixed signs only where theorem S fits the checker's budget."""
    for d in dimensions:
        for size in sizes:
            n = d * (d + 1) // 4 if size == "small" else 2 * d * d
            for one in labels:
                yield from (
                    Instance(d, n, one, kind)
                    for kind in kinds
                    if kind != "mixed" or d <= MIXED_LARGEST
                )


def weight_decay(instance: Instance, X: np.ndarray, y: np.ndarray) -> float:
    return DECAY * critical_decay(X, y) if instance.kind == "decay" else 0.0


def solve(instance: Instance, X: np.ndarray, y: np.ndarray) -> tuple[float, QuadraticSolution]:
    """CPU seconds of our solver, and its solution."""
    w = weight_decay(instance, X, y)
    return best_time(lambda: solve_quadratic(X, y, signs=instance.signs, weight_decay=w))


def prove(instance: Instance, X: np.ndarray, y: np.ndarray, found: QuadraticSolution) -> Proof:
    """Certify the network, write the file, and let the checker judge it."""
    began = time.process_time()
    data = gm.Dataset(X, y, bias=False, scaling="none")
    certificate = gm.certify(
        found.network, data, claims=[instance.claim], weight_decay=found.weight_decay or None
    )
    certified = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "quadratic.gmc"
        certificate.save(path)
        saved = time.process_time()
        result = gm.check(path)
    gap, is_of_zero = proved_gap(dict(result.claims[0].numbers or {}), float(y @ y) / 2.0)
    return Proof(
        result.verdict.value, gap, is_of_zero, certified - began, time.process_time() - saved
    )


def proved_gap(numbers: dict[str, str | float], zero: float) -> tuple[float, bool]:
    """The relative gap by the checker's own numbers, and whether it is relative to the loss of the
    zero network.
    """
    gap, floor = (
        float(numbers.get("gap", numbers.get("loss_upper", np.inf))),
        float(numbers.get("floor", 0.0)),
    )
    return (gap / floor, False) if floor > 1e-6 * zero else (gap / zero, True)


def peer_cell(
    X: np.ndarray, y: np.ndarray, found: QuadraticSolution, ours: float, peer: PeerOutcome
) -> str:
    """CPU seconds, ratio to ours, and the gap of the peer's point to our lower bound."""
    if peer.M is None:
        more = "> " if peer.reason == ">limit" else ""
        return f"{more}{peer.seconds:.0f} s, {more}{peer.seconds / ours:.0f} x" + (
            f" ({peer.reason})" if not more else ""
        )
    value = matrix_objective(peer.M, X, y, c=found.weight_decay / 2.0)
    zero = float(y @ y) / 2.0
    is_of_zero = found.lower_estimate <= 1e-6 * zero
    relative = (value - found.lower_estimate) / (zero if is_of_zero else found.lower_estimate)
    return (
        f"{peer.seconds:.2f} s, {peer.seconds / ours:.0f} x, gap "
        f"{max(relative, 0.0):.0e}{' of L(0)' if is_of_zero else ''}"
    )


def row(instance: Instance, peers: list[str], limits: Limits) -> str:
    """One line of the table."""
    X, y = instance.data()
    seconds, found = solve(instance, X, y)
    proof = prove(instance, X, y, found)
    c = found.weight_decay / 2.0
    cells = [
        str(instance),
        f"{seconds:.3f}",
        str(found.rank),
        str(proof),
        f"{proof.certify_seconds:.2f}",
        f"{proof.check_seconds:.2f}",
    ]
    for solver in peers:
        outcome = run_peer(solver, (X, y), signs=instance.signs, c=c, limits=limits)
        cells.append(peer_cell(X, y, found, seconds, outcome))
    return "| " + " | ".join(cells) + " |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--dimensions", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--classes", nargs="+", default=list(CLASSES), choices=CLASSES)
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=["small", "large"],
        choices=("small", "large"),
        help="n = d(d+1)/4, n = 2 d^2",
    )
    parser.add_argument(
        "--labels", nargs="+", default=["random", "planted"], choices=("random", "planted")
    )
    parser.add_argument(
        "--peers", nargs="*", default=["CLARABEL", "SCS"], choices=("CLARABEL", "SCS")
    )
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds given to a peer")
    parser.add_argument("--memory", type=float, default=10.0, help="GiB given to a peer")
    chosen = parser.parse_args(arguments)
    peers = installed(chosen.peers)
    if len(peers) < len(chosen.peers):
        print(
            f"Not installed, so left out: {', '.join(set(chosen.peers) - set(peers))}. To install: "
            f"{INSTALL}\n"
        )
    warm = Instance(5, 30, "random", "positive")  # imports and caches
    solve(warm, *warm.data())
    print(
        "| instance | solve, CPU s | rank | proved gap, verdict | certify | check | "
        + "".join(f"{peer} | " for peer in peers)
    )
    print("|---" * (6 + len(peers)) + "|")
    for instance in instances(chosen.dimensions, chosen.classes, chosen.sizes, chosen.labels):
        print(row(instance, peers, Limits(chosen.limit, chosen.memory)), flush=True)
    print(
        "\npeak memory of this process "
        f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB"
    )


if __name__ == "__main__":
    main()
