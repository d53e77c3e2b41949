"""Quadratic networks to the global minimum: us beside CVXPY with Clarabel and SCS, one process, one thread, the same instances.

Run `python -m bench.quadratic` for d = 20 and 50, `--dimensions 100` or `300` for more, `--no-peers` for us alone. Times are CPU
seconds, so that a busy machine does not blur the ratios. A peer is given `--limit` seconds; its value is projected onto the
feasible set before it is judged. The gaps are relative to the objective, or, for planted labels without decay (minimum zero), the
objective relative to that of the zero network.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  (the number of threads is read at import)

from globalmin.theory.quadratic_duality import critical_decay, matrix_objective  # noqa: E402
from globalmin.training.quadratic import QuadraticSolution, solve_quadratic  # noqa: E402

SEED = 0
DECAY = 0.1  # weight decay relative to the critical one
Result = TypeVar("Result")
PeerResult = tuple[float, np.ndarray | None, str]
CLASSES = ("positive", "decay", "mixed")


@dataclass(frozen=True)
class Instance:
    """n Gaussian samples of d features with random or planted labels, for one class of networks."""

    d: int
    n: int
    labels: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}, d={self.d}, n={self.n}, {self.labels}"

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples and labels."""
        rng = np.random.default_rng(SEED)
        X = rng.standard_normal((self.n, self.d))
        if self.labels == "random":
            return X, rng.standard_normal(self.n)
        W = rng.standard_normal((self.d, self.d)) / np.sqrt(self.d)
        return X, np.sum((X @ W.T) ** 2, axis=1)


@dataclass(frozen=True)
class Outcome:
    """CPU seconds, objective, gap (relative, see the module) and a remark."""

    seconds: float
    objective: float
    gap: float
    remark: str


def instances(dimensions: list[int], kinds: list[str], sizes: list[str]) -> Iterator[Instance]:
    for d in dimensions:
        for size in sizes:
            n = d * (d + 1) // 4 if size == "small" else 2 * d * d
            for labels in ("random", "planted"):
                yield from (Instance(d, n, labels, kind) for kind in kinds)


def weight_decay(instance: Instance, X: np.ndarray, y: np.ndarray) -> float:
    return DECAY * critical_decay(X, y) if instance.kind == "decay" else 0.0


def solve(instance: Instance, X: np.ndarray, y: np.ndarray) -> tuple[Outcome, QuadraticSolution]:
    """Our solver."""
    signs = "positive" if instance.kind == "positive" else "mixed"
    w = weight_decay(instance, X, y)
    seconds, found = best_time(lambda: solve_quadratic(X, y, signs=signs, weight_decay=w))
    return Outcome(
        seconds, found.objective, relative_gap(found.objective, found.lower_estimate, y), f"rank {found.rank}, {found.status}"
    ), found


def best_time(work: Callable[[], Result]) -> tuple[float, Result]:
    """Least CPU seconds of up to five runs (one if it takes long), and the result."""
    times: list[float] = []
    while True:
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
        if len(times) == 5 or sum(times) > 0.5:
            return min(times), result


def relative_gap(objective: float, lower: float, y: np.ndarray) -> float:
    zero = 0.5 * float(y @ y)
    return (objective - lower) / (objective if lower > 1e-6 * zero else zero)


def solve_by_peer(instance: Instance, X: np.ndarray, y: np.ndarray, solver: str, limit: float) -> PeerResult:
    """CPU seconds of CVXPY (canonicalization included), the symmetric matrix found, and the solver's status."""
    import cvxpy as cp

    d = X.shape[1]
    rows, columns = np.triu_indices(d)
    S = X[:, rows] * X[:, columns] * np.where(rows == columns, 1.0, 2.0)
    parts = [cp.Variable((d, d), PSD=True)] if instance.kind == "positive" else [cp.Variable((d, d), PSD=True) for _ in range(2)]
    M = parts[0] if len(parts) == 1 else parts[0] - parts[1]
    residual = S @ cp.vec(M, order="C")[rows * d + columns] - y
    penalty = weight_decay(instance, X, y) / 2.0 * sum(cp.trace(part) for part in parts) if instance.kind == "decay" else 0.0
    options = {"CLARABEL": {"time_limit": limit}, "SCS": {"time_limit_secs": limit, "max_iters": 100_000}}[solver]

    def work() -> cp.Problem:
        problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(residual) + penalty))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem.solve(solver=solver, **options)
        return problem

    began = time.process_time()
    try:
        seconds, problem = best_time(work)
    except cp.error.SolverError as failure:
        return time.process_time() - began, None, str(failure).split(".")[0]
    values = [part.value for part in parts]
    if any(value is None for value in values):
        return seconds, None, str(problem.status)
    cones = [positive_part((value + value.T) / 2.0) for value in values]
    return seconds, cones[0] if len(cones) == 1 else cones[0] - cones[1], str(problem.status)


def positive_part(M: np.ndarray) -> np.ndarray:
    eigenvalues, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T


def judge(ours: Outcome, lower: float, data: tuple[np.ndarray, np.ndarray], c: float, peer: PeerResult) -> str:
    """One cell: seconds, ratio to us, and the gap of the peer's point to our lower bound."""
    seconds, M, status = peer
    ratio = seconds / ours.seconds
    if M is None:
        return f"{seconds:.1f} s, {ratio:.0f} x, {status}"
    value = matrix_objective(M, *data, c=c)
    return f"{seconds:.2f} s, {ratio:.0f} x, gap {relative_gap(value, lower, data[1]):.0e}"


def row(instance: Instance, peers: list[str], limit: float) -> str:
    """One line of the table."""
    X, y = instance.data()
    ours, found = solve(instance, X, y)
    c = weight_decay(instance, X, y) / 2.0
    cells = [judge(ours, found.lower_estimate, (X, y), c, solve_by_peer(instance, X, y, solver, limit)) for solver in peers]
    return " | ".join([f"| {instance}", f"{ours.seconds:.3f}", f"{ours.gap:.0e}", ours.remark, *cells]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--classes", nargs="+", default=["positive", "decay"], choices=CLASSES)
    parser.add_argument(
        "--sizes", nargs="+", default=["small", "large"], choices=("small", "large"), help="n = d(d+1)/4, n = 2 d^2"
    )
    parser.add_argument("--limit", type=float, default=120.0, help="seconds given to a peer")
    parser.add_argument("--peers", nargs="*", default=["CLARABEL", "SCS"], choices=("CLARABEL", "SCS"))
    chosen = parser.parse_args()
    solve(Instance(5, 30, "random", "positive"), *Instance(5, 30, "random", "positive").data())  # imports and caches are warm
    print("| instance | ours, CPU s | gap | remark | " + " | ".join(chosen.peers) + " |")
    print("|---" * (4 + len(chosen.peers)) + "|")
    for instance in instances(chosen.dimensions, chosen.classes, chosen.sizes):
        print(row(instance, chosen.peers, chosen.limit), flush=True)


if __name__ == "__main__":
    main()
