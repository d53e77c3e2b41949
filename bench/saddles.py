"""From a saddle to a proved second-order point: five ways to train a quadratic network from W = 0,
against dimension, and minima of smooth networks whose neighbourhood is proved.

Run `python -m bench.saddles` for the two tables of docs/saddles.md (about a CPU minute). W = 0 is a
strict saddle with zero gradient, for every sample too; an iteration of the second-order methods
factors or multiplies with the Hessian.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  (the number of threads is read at import)

import globalmin as gm  # noqa: E402
from globalmin.optimize.follow import Step  # noqa: E402
from globalmin.shallow.hessian import gradient_norm, hessian  # noqa: E402
from globalmin.shallow.trajectory import ShallowRun  # noqa: E402

DIMENSIONS = (2, 4, 8, 12, 16)
METHODS = {
    "gradient descent": ("gradient_descent", {"max_iter": 2_000}),
    "SGD": ("sgd", {"max_iter": 20_000}),
    "perturbed gradient descent": ("perturbed_gradient_descent", {"max_iter": 20_000}),
    "trust region": ("trust_region", {}),
    "cubic regularization": ("trust_region", {"solver": "cubic"}),
}
# gradient and least eigenvalue count as zero below this share of the largest eigenvalue at the
# teacher
RELATIVE = 1e-4


def planted(d: int, seed: int = 0) -> tuple[gm.Dataset, np.ndarray]:
    """Outputs of d neurons of norm about one on 2 d (d + 1) Gaussian samples."""
    rng = np.random.default_rng((d, seed))
    X, teacher = rng.standard_normal((2 * d * (d + 1), d)), rng.standard_normal((d, d)) / np.sqrt(d)
    return gm.Dataset.from_preprocessed(X, np.square(X @ teacher.T).sum(axis=1)), teacher


def sharpness(data: gm.Dataset, teacher: np.ndarray) -> float:
    """The largest eigenvalue of the Hessian at the teacher."""
    return float(
        np.linalg.eigvalsh(
            hessian(gm.ShallowNetwork(teacher, np.ones(len(teacher)), "quadratic"), data.X, data.y)
        )[-1]
    )


def arrival(d: int, label: str) -> tuple[int | None, float, gm.ShallowNetwork]:
    """Iterations to the first recorded second-order point (None: not within the limit), CPU
    seconds, and the last network.
    """
    data, teacher = planted(d)
    method, options = METHODS[label]
    sharp = sharpness(data, teacher)
    found: list[tuple[int, gm.ShallowNetwork]] = []

    def look(step: Step) -> None:
        network = step.network()
        if not step.iteration or gradient_norm(network, data.X, data.y) > RELATIVE * sharp:
            return
        if float(np.linalg.eigvalsh(hessian(network, data.X, data.y))[0]) >= -RELATIVE * sharp:
            found.append((step.iteration, network))
            raise KeyboardInterrupt  # ends the run with its best network

    start = gm.ShallowNetwork(np.zeros((d, d)), np.ones(d), "quadratic")
    step = (
        {"step_size": 0.5 / sharp}
        if "descent" in label
        else ({"step_size": 0.05 / sharp} if label == "SGD" else {})
    )
    begin = time.process_time()
    run: ShallowRun = gm.train(start, data, method=method, monitor=look, seed=0, **step, **options)
    seconds = time.process_time() - begin
    return (found[0][0], seconds, found[0][1]) if found else (None, seconds, run.network)


def certified(network: gm.ShallowNetwork, data: gm.Dataset, claim: str, trained: str = "W") -> dict:
    """The numbers of an accepted certificate."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "point.gmc"
        gm.certify(network, data, claims=[claim], trained=trained).save(path)
        result = gm.check(path)
    assert result.verdict.value == "ACCEPTED", result.reason
    return dict(result.claims[0].numbers)


def arrivals() -> None:
    print("| d | " + " | ".join(METHODS) + " | proved at the last: gradient, curvature |")
    print("|---" * (len(METHODS) + 2) + "|")
    for d in DIMENSIONS:
        cells, numbers = [], {}
        for label in METHODS:
            steps, seconds, network = arrival(d, label)
            cells.append("never" if steps is None else f"{steps:,} ({seconds:.2g} s)")
            if label == "cubic regularization":
                numbers = certified(network, planted(d)[0], "second-order-stationary")
        sharp = sharpness(*planted(d))
        proved = f"{numbers['gradient'] / sharp:.0e}, {-numbers['delta'] / sharp:.0e}"
        print(f"| {d} | " + " | ".join(cells) + f" | {proved} |", flush=True)


def minima() -> None:
    columns = (
        "activation, trained, parameters, iterations, mu, only critical point within, at most "
        "away, rho, proof and check (s)"
    )
    print()
    print("| " + " | ".join(columns.split(", ")) + " |")
    print("|---" * 9 + "|")
    for activation in ("softplus", "sigmoid", "tanh", "erf"):
        for trained, k in (("W", 4), ("vW", 1)):
            rng = np.random.default_rng(0)
            X = rng.standard_normal((200, 5))
            teacher = gm.ShallowNetwork(
                rng.standard_normal((k, 5)), rng.choice([-1.0, 1.0], k), activation
            )
            data = gm.Dataset.from_preprocessed(
                X, teacher.predict(X) + 0.05 * rng.standard_normal(200)
            )
            start = teacher.with_weights(
                W=teacher.W + 0.1 * rng.standard_normal(teacher.W.shape), v=teacher.v
            )
            run = gm.train(start, data, method="trust_region", trained=trained)
            begin = time.process_time()
            found = certified(run.network, data, "second-order-stationary", trained)
            seconds, size = time.process_time() - begin, 5 * k + (k if trained == "vW" else 0)
            shown = [
                f"{found[name]:.2g}" if name in found else "-"
                for name in ("mu", "radius", "distance", "rho")
            ]
            print(
                f"| {activation} | {trained} | {size} | {run.n_iter} | "
                + " | ".join(shown)
                + f" | {seconds:.2g} |",
                flush=True,
            )


if __name__ == "__main__":
    arrivals()
    minima()
