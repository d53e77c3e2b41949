"""Stochastic gradient descent: `train(method="sgd")` with its compiled loop against a plain numpy
loop, the same updates in one run.

`python -m bench.sgd` prints microseconds of CPU time an update, the least of `ROUNDS` rounds (the
machine may be busy), and checks that both end at the same weights.
"""

from __future__ import annotations

import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import globalmin as gm

N, D, K, ETA, SEED = 40, 10, 60, 0.05, 3
UPDATES, ROUNDS = 40_000, 3


def plain_numpy(network: gm.ShallowNetwork, data: gm.Dataset, updates: int) -> np.ndarray:
    """The loop that one writes down."""
    W, v, phi = network.W.copy(), network.v, network.activation
    rng = np.random.default_rng(SEED)
    for i in rng.integers(N, size=updates):
        x = data.X[i]
        z = W @ x
        r = phi(z) @ v - data.y[i]
        W -= ETA * r * np.outer(v * phi.derivative(z), x)
    return W


def compiled(network: gm.ShallowNetwork, data: gm.Dataset, updates: int) -> np.ndarray:
    """The public door, with its trajectory."""
    options = {"step_size": ETA, "max_iter": updates, "seed": SEED, "tol": 0}
    seen: list[np.ndarray] = []
    gm.train(network, data, "sgd", monitor=lambda step: seen.append(step.point.W), **options)
    return seen[-1]


def measured(activation: str) -> tuple[float, float, float]:
    """CPU microseconds an update of both, and the largest difference of the weights."""
    data = gm.generators.sphere_with_random_labels(N, D, seed=1)
    network = gm.ShallowNetwork.initialize(data, K, activation, seed=0)
    compiled(network, data, N)  # compilation, or loading from disk
    least, ends = [np.inf, np.inf], [network.W, network.W]
    for _ in range(ROUNDS):
        for place, run in enumerate((plain_numpy, compiled)):
            started = time.process_time()
            ends[place] = run(network, data, UPDATES)
            least[place] = min(least[place], (time.process_time() - started) / UPDATES * 1e6)
    return least[0], least[1], float(np.abs(ends[0] - ends[1]).max())


def main() -> None:
    """Print the table."""
    print(f"n = {N}, d = {D}, k = {K}, {UPDATES} updates, CPU microseconds an update")
    for activation in ("softplus", "relu", "tanh", "quadratic", "gelu"):
        numpy, ours, difference = measured(activation)
        print(
            f"{activation:10} numpy {numpy:7.1f}  train {ours:6.1f}  {numpy / ours:5.1f} times as "
            f"fast  weights differ by {difference:.1e}"
        )


if __name__ == "__main__":
    main()
