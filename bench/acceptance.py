"""How often a fit ends in an accepted certificate: random labels on the unit sphere, one row of the
table per configuration.

Run `python -m bench.acceptance` for the table in docs/figures.md; the tests run the same rows.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import globalmin as gm


@dataclass(frozen=True)
class Configuration:
    """n samples on the sphere of R^d with N(0,1) labels, k neurons; `target` is the share of seeds
    that must be accepted.
    """

    n: int
    d: int
    k: int
    activation: str
    target: float

    def __str__(self) -> str:
        return (
            f"{self.activation} n={self.n} d={self.d} k={self.k} (kd = "
            f"{self.k * self.d / self.n:.2f} n)"
        )


@dataclass(frozen=True)
class Outcome:
    """What happened for one seed."""

    verdict: str
    n_iter: int
    starts: int
    relative_residual: float
    train_seconds: float
    certify_seconds: float
    check_seconds: float


SOFTPLUS = [
    Configuration(*sizes, "softplus", 1.0)
    for sizes in (
        (100, 10, 11),
        (100, 10, 15),
        (100, 20, 6),
        (100, 20, 10),
        (200, 20, 11),
        (442, 10, 60),
    )
]
EDGE = [
    Configuration(*sizes, "softplus", 0.95)
    for sizes in ((98, 10, 10), (190, 20, 10), (198, 20, 10))
]
RELU = [
    Configuration(*sizes, "relu", 1.0) for sizes in ((100, 20, 8), (100, 20, 10), (100, 10, 20))
]
RELU_EDGE = [Configuration(100, 20, 6, "relu", 0.85)]
ALL = SOFTPLUS + EDGE + RELU + RELU_EDGE


def outcome(configuration: Configuration, seed: int) -> Outcome:
    """Train (at most six starts), certify, write the file, check the file."""
    data = gm.generators.sphere_with_random_labels(configuration.n, configuration.d, seed=seed)
    began = time.process_time()
    run = gm.train_auto(data, width=configuration.k, activation=configuration.activation, seed=seed)
    trained = time.process_time()
    relative = float(np.sqrt(2 * run.losses[-1]) / np.linalg.norm(data.y))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.gmc"
        try:
            gm.certify(run.network, data).save(path)
        except gm.errors.CannotCertify as reason:
            return Outcome(
                f"none: {reason}",
                run.n_iter,
                run.starts,
                relative,
                trained - began,
                time.process_time() - trained,
                0.0,
            )
        certified = time.process_time()
        verdict = gm.check(path).verdict.value
    return Outcome(
        verdict,
        run.n_iter,
        run.starts,
        relative,
        trained - began,
        certified - trained,
        time.process_time() - certified,
    )


def row(configuration: Configuration, outcomes: list[Outcome]) -> str:
    """One line of the table."""
    accepted = sum(one.verdict == "ACCEPTED" for one in outcomes)
    steps = [one.n_iter for one in outcomes]
    columns = zip(
        *((one.train_seconds, one.certify_seconds, one.check_seconds) for one in outcomes),
        strict=True,
    )
    seconds = " | ".join(f"{np.median(column):.2f}" for column in columns)
    starts = max(one.starts for one in outcomes)
    return (
        f"| {configuration} | {accepted} of {len(outcomes)} | {min(steps)}-{max(steps)} | {starts} "
        f"| {seconds} |"
    )


def main(n_seeds: int = 20) -> None:
    print(
        "| configuration | accepted | steps | most starts | train, CPU s | certify, CPU s | check, "
        "CPU s |"
    )
    print("|---|---|---|---|---|---|---|")
    for configuration in ALL:
        print(
            row(configuration, [outcome(configuration, seed) for seed in range(n_seeds)]),
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
