"""Recovery of a teacher from samples: the literal and the tuned algorithm side by side, errors over
n, and the large case.

Run `python -m bench.recovery` for the tables (about four CPU minutes), `--figures FOLDER` to draw
them as well, and `--large` for d = 100, K = 5, n = 1,000,000 with its peak memory. Errors are
relative Frobenius errors after matching; medians.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "2")

import numpy as np  # noqa: E402  (the number of threads is read at import)

from globalmin.activations import get_activation  # noqa: E402
from globalmin.data import Dataset  # noqa: E402
from globalmin.recovery.descent import local_spread  # noqa: E402
from globalmin.recovery.matching import match_neurons  # noqa: E402
from globalmin.recovery.recover import Recovery, recover_teacher  # noqa: E402
from globalmin.recovery.tensor_initialization import VARIANTS, TensorOptions, tensor_start  # noqa: E402


@dataclass(frozen=True)
class Problem:
    """A teacher with K orthogonal neurons of norm sigma in dimension d."""

    d: int
    sigma: float
    labels: str = "regression"
    K: int = 3
    activation: str = "sigmoid"

    def draw(self, n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inputs, labels and true weights."""
        rng = np.random.default_rng(seed)
        W = self.sigma * np.linalg.qr(rng.standard_normal((self.d, self.K)))[0].T
        X = rng.standard_normal((n, self.d))
        p = get_activation(self.activation)(X @ W.T).mean(axis=1)
        return X, p if self.labels == "regression" else (rng.random(n) < p).astype(np.float64), W

    def recover(self, n: int, seed: int, **options: str | int) -> tuple[Recovery, np.ndarray]:
        """The recovery of one draw, and the true weights."""
        X, y, W = self.draw(n, seed)
        data = Dataset(X, y, bias=False, scaling="none")
        return recover_teacher(
            data, self.K, self.activation, labels=self.labels, seed=seed, **options
        ), W  # pyright: ignore

    def __str__(self) -> str:
        return f"{self.labels}, {self.activation}, d={self.d}, K={self.K}, sigma={self.sigma:g}"


def start_error(problem: Problem, n: int, seed: int, options: TensorOptions) -> float:
    X, y, W = problem.draw(n, seed)
    return match_neurons(
        tensor_start(X, y, problem.K, problem.activation, options=options, seed=seed).weights, W
    ).relative_error


def start_errors(problem: Problem, sizes: list[int], draws: int) -> dict[str, np.ndarray]:
    """Errors of the start alone, an array (sizes, draws) for each variant."""
    return {
        name: np.array(
            [[start_error(problem, n, seed, options) for seed in range(draws)] for n in sizes]
        )
        for name, options in VARIANTS.items()
    }


def end_errors(problem: Problem, sizes: list[int], draws: int, **options: str) -> np.ndarray:
    """Errors after descent, an array (sizes, draws)."""
    rows = []
    for n in sizes:
        found = [problem.recover(n, seed, **options) for seed in range(draws)]
        rows.append([one.error_against(W) for one, W in found])
    return np.array(rows)


def _row(title: str, values: np.ndarray) -> str:
    return f"| {title} | " + " | ".join(f"{v:.2g}" for v in np.median(values, axis=1)) + " |"


def steps_of_tuning(n: int = 30_000, draws: int = 5) -> None:
    """Each piece of the tuning on its own."""
    literal = VARIANTS["literal"]
    pieces = {
        "literal: random alpha, raw labels, three-way split": literal,
        "best of 20 alpha": TensorOptions("best", "nothing", True, "squared", False),
        "best of 20 alpha, labels centered": TensorOptions("best", "mean", True, "squared", False),
        "best of 20 alpha, minus linear fit": TensorOptions(
            "best", "linear", True, "squared", False
        ),
        "alpha = first moment, minus linear fit": TensorOptions(
            "first_moment", "linear", True, "squared", False
        ),
        "the same without split": TensorOptions("first_moment", "linear", False, "squared", False),
        "tuned: the same, first moment by slopes": VARIANTS["tuned"],
    }
    problem = Problem(10, 1.5)
    print(f"\nStart alone, {problem}, n={n}, {draws} draws\n\n| variant | error |\n|---|---|")
    for title, options in pieces.items():
        print(
            f"| {title} | "
            f"{np.median([start_error(problem, n, seed, options) for seed in range(draws)]):.2g} |",
            flush=True,
        )


def tables(draws: int, figures: Path | None) -> None:
    sizes = [1_000, 3_000, 10_000, 30_000, 100_000]
    for problem in (Problem(10, 1.5), Problem(10, 3.0, "classification")):
        starts = start_errors(problem, sizes, draws)
        ends = end_errors(problem, sizes, draws)
        print(
            f"\n{problem}, {draws} draws\n\n| | "
            + " | ".join(f"n={n:,}" for n in sizes)
            + " |\n|"
            + "---|" * (len(sizes) + 1)
        )
        for name, values in starts.items():
            print(_row(f"start, {name}", values))
        print(_row("after descent", ends), flush=True)
        if problem.labels == "classification":
            print(
                _row(
                    "maximum of the likelihood",
                    end_errors(problem, sizes, draws, estimator="likelihood"),
                )
            )
        if figures is not None:
            _draw(figures, problem, np.array(sizes, dtype=float), starts, ends)


def _draw(
    folder: Path,
    problem: Problem,
    sizes: np.ndarray,
    starts: dict[str, np.ndarray],
    ends: np.ndarray,
) -> None:
    from globalmin.drawing import style
    from globalmin.recovery.figures import (
        error_figure,
        neurons_figure,
        rho_figure,
        variants_figure,
    )
    from globalmin.recovery.moments import rho

    folder.mkdir(parents=True, exist_ok=True)
    with style():
        variants_figure(sizes, starts).savefig(folder / f"recovery-start-{problem.labels}.svg")
        error_figure(sizes, {"after descent": ends}).savefig(
            folder / f"recovery-error-{problem.labels}.svg"
        )
        found, W = problem.recover(10_000, 0)
        order, first = found.match(W).order, match_neurons(found.initialization, W).order
        picture = neurons_figure(
            found.weights[order], W, initialization=found.initialization[first]
        )
        picture.savefig(folder / f"recovery-neurons-{problem.labels}.svg")
        sigma = np.geomspace(0.1, 50.0, 200)
        rho_figure(
            sigma, {name: rho(sigma, name) for name in ("sigmoid", "tanh", "softplus")}
        ).savefig(folder / "rho.svg")


def spread_table() -> None:
    """SD_n and the estimation error: the first can be small where the second is not."""
    print(
        "\n| labels, d=20, K=3, orthonormal teacher | n | SD_n | mean error, absolute | success by "
        "SD_n |\n|---|---|---|---|---|"
    )
    for labels, n in (
        ("regression", 2_000),
        ("classification", 2_000),
        ("classification", 6_000),
        ("classification", 20_000),
    ):
        X, y, W = Problem(20, 1.0, labels).draw(n, 0)
        found = local_spread(X, y, W, starts=4, step=40.0, max_iter=2_000)
        print(
            f"| {labels} | {n:,} | {found.sd:.2g} | {found.mean_error:.2g} | {found.success} |",
            flush=True,
        )


def large(n: int = 1_000_000, d: int = 100, K: int = 5) -> tuple[float, float]:
    """The large case with CPU seconds and peak memory; returns the error after descent and the peak
    in GiB.
    """
    problem, clock = Problem(d, 1.5, "regression", K), time.process_time()
    found, W = problem.recover(n, 0)
    seconds, peak = (
        time.process_time() - clock,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    )
    start, end = match_neurons(found.initialization, W).relative_error, found.error_against(W)
    newton = found.descent.newton_steps
    steps = f"{len(found.descent.losses) - 1 - (newton > 0)} steps and {newton} of Newton's method"
    print(
        f"{problem}, n={n:,}: start {start:.3g}, after descent {end:.3g} ({steps}, gradient "
        f"{found.descent.gradient_norm:.2g})"
    )
    print(f"{seconds:.0f} CPU s in all, peak {peak:.2f} GiB; warnings: {found.warnings or 'none'}")
    return end, peak


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--figures", type=Path)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args(arguments)
    if options.large:
        large()
        return
    steps_of_tuning(draws=options.draws)
    tables(options.draws, options.figures)
    spread_table()


if __name__ == "__main__":
    main()
