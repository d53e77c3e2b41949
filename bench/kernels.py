"""Kernels of n = 2,000 samples: ours beside Neural Tangents (in its own environment, same arrays),
and the time an entry.

`python -m bench.kernels` makes the other environment with `scripts/neural_tangents.sh` on first
use. Both sides compute E[phi phi] (nngp) and the tangent kernel of all layers (ntk) of a ReLU
network of depth 1 and 5; CPU seconds, all threads, best of five after compilation. The exact
diagonal is known: every layer halves it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

N, D, DEPTHS, REPEATS = 2_000, 50, (1, 5), 5
SMOOTH = ("softplus", "tanh", "sigmoid", "swish", "gelu", "erf")
PEER = "--peer"  # run this file with the python of the other environment


def best(run: Callable[[], Any]) -> tuple[float, Any]:
    """Least CPU seconds of a few runs, and the last result."""
    seconds, result = [], None
    for _ in range(REPEATS):
        began = time.process_time()
        result = run()
        seconds.append(time.process_time() - began)
    return min(seconds), result


def our_kernels(X: np.ndarray, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """The nngp and the ntk of a ReLU network without biases, inputs of norm 1 (standard weights of
    variance 1/width).
    """
    from globalmin.activations.dual import dual_matrices

    K = X @ X.T
    tangent = K.copy()
    for _ in range(depth):
        K, slopes = dual_matrices("relu", K)
        tangent *= slopes
        tangent += K
    return K, tangent


def peer(folder: Path, bits: int) -> None:
    """Runs inside the other environment: kernels to files, seconds to stdout."""
    import jax  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", bits == 64)
    from neural_tangents import stax  # pyright: ignore[reportMissingImports]

    X = np.load(folder / "X.npy") * np.sqrt(D)  # their first layer divides by the number of inputs
    for depth in DEPTHS:
        layers = [layer for _ in range(depth) for layer in (stax.Dense(1), stax.Relu())]
        kernel = stax.serial(*layers, stax.Dense(1))[2]
        compiled = jax.jit(lambda x, kernel=kernel: tuple(kernel(x, None, ("nngp", "ntk"))))
        jax.block_until_ready(compiled(X))
        seconds, result = best(lambda compiled=compiled: jax.block_until_ready(compiled(X)))
        np.savez(folder / f"{depth}-{bits}.npz", nngp=result[0], ntk=result[1])
        print(json.dumps({"depth": depth, "seconds": seconds}), flush=True)


def run_peer(folder: Path, bits: int) -> dict[int, float]:
    script = Path(__file__).parent.parent / "scripts" / "neural_tangents.sh"
    python = (
        os.environ.get("NEURAL_TANGENTS_PYTHON")
        or subprocess.check_output([script], text=True).strip()
    )
    answer = subprocess.run(
        [python, "-P", __file__, PEER, str(folder), str(bits)],
        capture_output=True,
        text=True,
        check=True,
    )
    return {line["depth"]: line["seconds"] for line in map(json.loads, answer.stdout.splitlines())}


def compare(folder: Path, X: np.ndarray) -> None:
    ours = {depth: best(lambda depth=depth: our_kernels(X, depth)) for depth in DEPTHS}
    print(
        "| depth | their bits | our CPU s | theirs | largest difference off the diagonal | error "
        "of their diagonal | of ours |"
    )
    print("|---|---|---|---|---|---|---|")
    for bits in (64, 32):
        seconds = run_peer(folder, bits)
        for depth in DEPTHS:
            theirs = np.load(folder / f"{depth}-{bits}.npz")
            exact = {"nngp": 0.5**depth, "ntk": (depth + 1) * 0.5**depth}
            off, diagonals = [], ([], [])
            for key, mine in zip(("nngp", "ntk"), ours[depth][1], strict=True):
                difference = np.abs(mine - theirs[key])
                np.fill_diagonal(difference, 0.0)
                off.append(difference.max())
                for errors, matrix in zip(diagonals, (theirs[key], mine), strict=True):
                    errors.append(
                        np.abs(np.diagonal(matrix) - exact[key] * np.square(X).sum(axis=1)).max()
                    )
            row = (
                f"{ours[depth][0]:.3f}",
                f"{seconds[depth]:.3f}",
                f"{max(off):.1e}",
                *(f"{max(e):.1e}" for e in diagonals),
            )
            print(f"| {depth} | {bits} | {' | '.join(row)} |", flush=True)


def entries(X: np.ndarray) -> None:
    """Time an entry of E[phi' phi'] o XX^T, unit rows, and rows with variances spread up to 25 and
    beyond.
    """
    from globalmin.kernels.limit_gram import limit_gram

    spread = X * np.random.default_rng(1).uniform(0.2, 5.0, size=(len(X), 1))
    large = X * np.random.default_rng(2).uniform(1.0, 10.0, size=(len(X), 1))
    print(
        "\n| activation | unit rows, us an entry | variances .04 to 25 | variances 1 to 100 "
        "|\n|---|---|---|---|"
    )
    for name in ("relu", *SMOOTH):
        times = [
            best(lambda Y=Y, name=name: limit_gram(Y, name))[0] / len(X) ** 2 * 1e6
            for Y in (X, spread, large)
        ]
        print(f"| {name} | {' | '.join(f'{t:.3f}' for t in times)} |", flush=True)


def large_instance() -> None:
    """Seconds and peak memory for n = 5,000."""
    import resource

    from globalmin.kernels.limit_gram import limit_gram

    X = np.random.default_rng(3).standard_normal((5_000, D))
    for name in ("relu", "softplus"):
        began = time.process_time()
        limit_gram(X, name)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"n = 5,000, {name}: {time.process_time() - began:.1f} CPU s, peak memory {peak:.2f} "
            "GiB",
            flush=True,
        )


def main() -> None:
    X = np.random.default_rng(0).standard_normal((N, D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        compare(Path(folder), X)
    entries(X)
    large_instance()


if __name__ == "__main__":
    if PEER in sys.argv:
        peer(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main()
