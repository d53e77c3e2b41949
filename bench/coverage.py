"""Do the error bars of recovered teachers tell the truth: how often 95 % intervals hold the true
weight, and how often a lost recovery says nothing.

Teachers in general position: K Gaussian directions, norms drawn from [1.2, 2.5]. Run
`python -m bench.coverage` for the tables of docs/recovery.md (200 draws a row; some ten CPU
minutes).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "2")

import numpy as np  # noqa: E402  (the number of threads is read at import)

from globalmin.activations import get_activation  # noqa: E402
from globalmin.data import Dataset  # noqa: E402
from globalmin.recovery.recover import recover_teacher  # noqa: E402

LOST = 0.5  # relative error above which a recovery is lost


@dataclass(frozen=True)
class General:
    """A teacher of K sigmoid neurons in general position in dimension d, norms 1.2 to 2.5."""

    K: int
    d: int
    labels: str
    noise: float = 0.0
    estimator: str = "squares"

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inputs, labels and true weights."""
        rng = np.random.default_rng([seed, 77])
        U = rng.standard_normal((self.K, self.d))
        W = U / np.linalg.norm(U, axis=1, keepdims=True) * rng.uniform(1.2, 2.5, (self.K, 1))
        X = rng.standard_normal((n, self.d))
        p = get_activation("sigmoid")(X @ W.T).mean(axis=1)
        if self.labels == "regression":
            return X, p + self.noise * rng.standard_normal(n), W
        return X, (rng.random(n) < p).astype(np.float64), W


@dataclass(frozen=True)
class Tally:
    """Over all draws: part of the weights inside their 95 % interval, the same for the worst of the
    weights, median error, median of error over expected error, lost recoveries, those of them
    without a warning, and recoveries with a warning.
    """

    draws: int
    covered: float
    worst: float
    error: float
    ratio: float
    lost: int
    silent: int
    warned: int


def coverage(problem: General, n: int, draws: int) -> Tally:
    """Recover `draws` teachers from n samples each."""
    inside, errors, ratios, warned = [], [], [], []
    for seed in range(draws):
        X, y, W = problem.draw(n, seed)
        found = recover_teacher(
            Dataset(X, y, bias=False, scaling="none"),
            problem.K,
            labels=problem.labels,
            estimator=problem.estimator,
        )
        matched = found.match(W)
        low, high = (end[matched.order] for end in found.intervals())
        inside.append((low <= W) & (high >= W))
        errors.append(matched.relative_error)
        ratios.append(matched.relative_error / found.expected_error)
        warned.append(bool(found.warnings))
    hits, lost = np.array(inside), np.array(errors) > LOST
    return Tally(
        draws,
        float(hits.mean()),
        float(hits.mean(axis=0).min()),
        float(np.median(errors)),
        float(np.median(ratios)),
        int(lost.sum()),
        int((lost & ~np.array(warned)).sum()),
        int(np.sum(warned)),
    )


ROWS = (
    (General(3, 8, "regression", noise=0.05), (1_000, 4_000)),
    (General(3, 8, "classification"), (1_000, 4_000, 10_000, 40_000)),
    (General(3, 8, "classification", estimator="likelihood"), (4_000, 40_000)),
)


def main() -> None:
    """Print the table."""
    for problem, sizes in ROWS:
        for n in sizes:
            print(problem, n, coverage(problem, n, 200), flush=True)


if __name__ == "__main__":
    main()
