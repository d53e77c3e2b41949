"""What training reaches and how long it takes: random labels on the unit sphere, the diabetes
table, one step, and n = 10,000.

Run `python -m bench.training` for the figures (20 seeds each), with `--steps` for the cost of a
Levenberg-Marquardt step, with `--large` for n = 10,000, d = 100, k = 120 (minutes, 3 GiB), whose
certificate quantities are printed as estimates, not proved.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from globalmin.data import Dataset, generators
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.train import train, train_auto
from globalmin.shallow.trajectory import ShallowRun

SMOOTH = [
    (100, 10, 11),
    (100, 10, 15),
    (100, 20, 6),
    (100, 20, 10),
    (200, 20, 11),
    (442, 10, 60),
    (98, 10, 10),
    (190, 20, 10),
    (198, 20, 10),
]
KINKED = [(100, 20, 8), (100, 20, 10), (100, 10, 20), (100, 20, 6)]
LARGE = (10_000, 100, 120)


def provability(run: ShallowRun, data: Dataset) -> float:
    """The number below which a proof can be expected (an estimate)."""
    from globalmin.shallow.provability import estimate_provability

    return estimate_provability(run.network, data.X, data.y)


def figures(activation: str, cases: list[tuple[int, int, int]], seeds: int) -> None:
    """Successes, steps, starts, residuals and provability over the seeds of each case."""
    for n, d, k in cases:
        began, runs, ratios = time.perf_counter(), [], []
        for seed in range(seeds):
            data = generators.sphere_with_random_labels(n, d, seed=seed)
            runs.append(train_auto(data, k, activation, seed=seed))
            ratios.append(provability(runs[-1], data))
        steps, starts = [run.n_iter for run in runs], [run.starts for run in runs]
        fitted, provable = (
            sum(run.status.is_success for run in runs),
            sum(ratio < 1 for ratio in ratios),
        )
        residual, each = (
            max(run.relative_residual for run in runs),
            (time.perf_counter() - began) / seeds,
        )
        print(
            f"{activation} n={n} d={d} k={k} (kd = {k * d / n:.2f} n): fitted {fitted}/{seeds}, "
            f"provable {provable}/{seeds},"
        )
        print(f"    steps {min(steps)}..{max(steps)}, median {np.median(steps):.0f};", end=" ")
        print(f"{starts.count(1)} at the first start, all within {max(starts)};")
        print(
            f"    residual <= {residual:.1e}, ratio <= {max(ratios):.1e}, {each:.3f} s each",
            flush=True,
        )


def diabetes(seeds: int) -> None:
    """The table that scikit-learn ships, standardized, with bias."""
    from sklearn.datasets import load_diabetes

    data = Dataset(*load_diabetes(return_X_y=True))
    for activation in ("softplus", "relu"):
        runs = [train_auto(data, 60, activation, seed=seed) for seed in range(seeds)]
        steps = [run.n_iter for run in runs]
        fitted = sum(run.status.is_success for run in runs)
        most = max(run.starts for run in runs)
        print(
            f"diabetes {activation} k=60: fitted {fitted}/{seeds}, steps "
            f"{min(steps)}..{max(steps)}, within {most} start(s)"
        )


def step_costs() -> None:
    """Time per linear system, recording included."""
    for n, d, k in [(100, 10, 15), (200, 20, 11), (442, 10, 60), (1000, 30, 40), (2000, 50, 50)]:
        data = generators.sphere_with_random_labels(n, d, seed=0)
        network = ShallowNetwork.initialize(data, k, seed=0)
        train(network, data, "levenberg_marquardt", max_iter=1)
        began = time.process_time()
        run = train(network, data, "levenberg_marquardt")
        print(
            f"n={n} d={d} k={k}: {1e3 * (time.process_time() - began) / run.n_iter:.2f} ms of CPU "
            f"a step, {run.n_iter} steps",
            flush=True,
        )


def large() -> None:
    """One run at n = 10,000 with its time, memory and estimated certificate quantities."""
    n, d, k = LARGE
    data = generators.sphere_with_random_labels(n, d, seed=0)
    network = ShallowNetwork.initialize(data, k, seed=0)
    began, cpu = time.perf_counter(), time.process_time()

    def show(step: object) -> None:
        print(f"  {time.perf_counter() - began:7.1f} s  {step}", flush=True)

    run = train(
        network,
        data,
        "levenberg_marquardt",
        monitor=lambda s: show(f"step {s.iteration}: {s.relative_residual:.2e}"),
    )
    wall, used = time.perf_counter() - began, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"n={n} d={d} k={k}: {run.message}; {wall:.0f} s ({used:.0f} s of CPU), peak {peak:.2f} GiB"
    )
    print(f"estimate, not proved: 2 Lip e/a = {provability(run, data):.1e}")


def main() -> None:
    """Parse the options and run the parts asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", action="store_true", help="time per step instead of the figures")
    parser.add_argument("--large", action="store_true", help="n = 10,000 instead of the figures")
    parser.add_argument("--seeds", type=int, default=20)
    chosen = parser.parse_args()
    if chosen.large:
        large()
    elif chosen.steps:
        step_costs()
    else:
        figures("softplus", SMOOTH, chosen.seeds)
        figures("relu", KINKED, chosen.seeds)
        diabetes(chosen.seeds)


if __name__ == "__main__":
    main()
