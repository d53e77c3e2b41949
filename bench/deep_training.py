"""What a step of `train_deep` costs beside a bare numpy loop: `python -m bench.deep_training`.

Ours and the bare loop take turns, and the smallest CPU time of each counts, so that a busy machine
slows both alike. Gradient descent, three layers of tanh, a given step.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import globalmin as gm
from globalmin._types import Array

SIZES = ((40, 100, 2000), (200, 200, 200), (1000, 400, 60))  # samples, width, steps
FEATURES, DEPTH, ROUNDS = 8, 3, 4


def bare_loop(network: gm.DeepNetwork, X: Array, y: Array, step: float, n_steps: int) -> float:
    """Gradient descent as one would write it down, tanh only; the last loss."""
    weights, head = [W.copy() for W in network.weights], network.head.copy()
    s = network.scales
    for _ in range(n_steps):
        layers = [X]
        for W, scale in zip(weights, s, strict=True):
            layers.append(scale * np.tanh(layers[-1] @ W.T))
        r = layers[-1] @ head - y
        slope = np.outer(r, head)
        gradients = [layers[-1].T @ r]
        for h in reversed(range(len(weights))):
            delta = slope * (s[h] - layers[h + 1] ** 2 / s[h])
            gradients.append(delta.T @ layers[h])
            if h:
                slope = delta @ weights[h]
        head = head - step * gradients[0]
        weights = [W - step * g for W, g in zip(weights, reversed(gradients[1:]), strict=True)]
    layer = X
    for W, scale in zip(weights, s, strict=True):
        layer = scale * np.tanh(layer @ W.T)
    r = layer @ head - y
    return 0.5 * float(r @ r)


def _problem(n: int, width: int) -> tuple[gm.DeepNetwork, Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    network = gm.DeepNetwork.initialize(X, width, DEPTH, "fully_connected", "tanh", seed=0)
    return network, X, rng.standard_normal(n)


def _timed(work: Callable[[], float]) -> tuple[float, float]:
    started = time.process_time()
    loss = work()
    return time.process_time() - started, loss


def measured(n: int, width: int, count: int) -> tuple[float, float, float]:
    """CPU milliseconds a step of both, and how far the last losses are apart, relatively."""
    network, X, y = _problem(n, width)
    step = 0.5 / float(np.linalg.eigvalsh(np.sum(network.layer_grams(X), axis=0))[-1])
    options = {"method": "gradient_descent", "step_size": step, "max_iter": count, "tol": 0.0}
    work = {
        "bare": lambda: bare_loop(network, X, y, step, count),
        "ours": lambda: float(gm.train_deep(network, (X, y), **options).trajectory.loss[-1]),
    }
    least, losses = dict.fromkeys(work, np.inf), dict.fromkeys(work, 0.0)
    for _ in range(ROUNDS):
        for name, run in work.items():
            seconds, losses[name] = _timed(run)
            least[name] = min(least[name], 1e3 * seconds / count)
    return least["ours"], least["bare"], abs(losses["ours"] / losses["bare"] - 1.0)


def main() -> None:
    """Print the table."""
    print("| n | width | steps | ours, ms a step | bare loop | ratio | losses differ by |")
    print("|---|---|---|---|---|---|---|")
    for n, width, count in SIZES:
        ours, bare, apart = measured(n, width, count)
        ratio = f"{ours / bare:.2f}"
        print(f"| {n} | {width} | {count} | {ours:.2f} | {bare:.2f} | {ratio} | {apart:.0e} |")


if __name__ == "__main__":
    main()
