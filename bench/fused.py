"""Many tiny trainings: the same trials in plain NumPy, a PyTorch loop, JAX vmap and the fused
kernel, in one run.

`python -m bench.fused` trains `TRIALS` networks of OS, figure 2 (n = 100, k = d = 20, float32 and
float64) for the same number of steps with the same step size, checks that all end at the same
residual, and prints trial-iterations per CPU second, one thread each. JAX runs all trials at once
under vmap and jit; its compilation is timed apart. `--cells` shows the fused kernel over other
sizes with its share of the machine's speed in matrix products.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import numpy as np

from globalmin.fused.train import train_many
from globalmin.reproductions.os import STEPS, realizations

N, K, D, TRIALS = 100, 20, 20, 10
CELLS = ((10, 10), (12, 12), (20, 20), (25, 5), (5, 25), (25, 25), (50, 20))
Run = Callable[[int], np.ndarray]  # steps -> squared residuals of the trials


def plain_numpy(activation: str, kind: type, arrays: tuple[np.ndarray, ...]) -> Run:
    """One trial after the other, a handful of numpy calls a step."""

    def run(steps: int) -> np.ndarray:
        squares = []
        for X, y, W, v in zip(*(a.astype(kind) for a in arrays), strict=True):
            for _ in range(steps):
                Z = X @ W.T
                phi, slope = numpy_activation(Z, activation)
                r = phi @ v - y
                W = W - kind(STEPS[activation]) * (((slope * v) * r[:, None]).T @ X)
            squares.append(np.sum((numpy_activation(X @ W.T, activation)[0] @ v - y) ** 2))
        return np.array(squares)

    return run


def numpy_activation(Z: np.ndarray, activation: str) -> tuple[np.ndarray, np.ndarray]:
    if activation == "relu":
        return np.maximum(Z, 0), (Z >= 0).astype(Z.dtype)
    u = np.exp(-np.abs(Z))
    return np.maximum(Z, 0) + np.log1p(u), np.where(Z >= 0, Z.dtype.type(1), u) / (1 + u)


def torch_loop(activation: str, kind: type, arrays: tuple[np.ndarray, ...]) -> Run:
    """One trial after the other with autograd and SGD, as a tutorial writes it."""
    import torch

    torch.set_num_threads(1)
    phi = torch.relu if activation == "relu" else torch.nn.functional.softplus

    def run(steps: int) -> np.ndarray:
        squares = []
        for X, y, W, v in zip(*(torch.from_numpy(a.astype(kind)) for a in arrays), strict=True):
            weights = W.clone().requires_grad_(True)
            optimizer = torch.optim.SGD([weights], lr=STEPS[activation])
            for _ in range(steps):
                optimizer.zero_grad()
                loss = 0.5 * torch.sum((phi(X @ weights.T) @ v - y) ** 2)
                loss.backward()
                optimizer.step()
            squares.append(float(torch.sum((phi(X @ weights.T) @ v - y) ** 2).detach()))
        return np.array(squares)

    return run


def jax_vmap(activation: str, kind: type, arrays: tuple[np.ndarray, ...]) -> Run:
    """All trials at once: a compiled loop over the steps, vmap over the trials."""
    import jax
    import jax.numpy as jnp

    phi = jax.nn.relu if activation == "relu" else jax.nn.softplus

    def loss(W: jax.Array, X: jax.Array, y: jax.Array, v: jax.Array) -> jax.Array:
        return 0.5 * jnp.sum((phi(X @ W.T) @ v - y) ** 2)

    def one(X: jax.Array, y: jax.Array, W: jax.Array, v: jax.Array, steps: jax.Array) -> jax.Array:
        step = jax.grad(loss)
        last = jax.lax.fori_loop(
            0, steps, lambda _, w: w - kind(STEPS[activation]) * step(w, X, y, v), W
        )
        return 2 * loss(last, X, y, v)

    compiled = jax.jit(jax.vmap(one, in_axes=(0, 0, 0, 0, None)))
    stored = [jnp.asarray(a.astype(kind)) for a in arrays]
    return lambda steps: np.asarray(compiled(*stored, steps))


def fused(activation: str, kind: type, arrays: tuple[np.ndarray, ...]) -> Run:
    """Ours."""
    precision = "single" if kind is np.float32 else "double"
    y = arrays[1]

    def run(steps: int) -> np.ndarray:
        runs = train_many(
            *arrays,
            activation=activation,
            step_size=STEPS[activation],
            max_iter=steps,
            tol=0.0,
            precision=precision,
        )
        return (runs.relative_residual * np.linalg.norm(y, axis=1)) ** 2

    return run


PEERS = {
    "plain NumPy": plain_numpy,
    "PyTorch loop": torch_loop,
    "JAX vmap": jax_vmap,
    "fused (ours)": fused,
}
LENGTHS = {"plain NumPy": 300, "PyTorch loop": 100, "JAX vmap": 1_500, "fused (ours)": 3_000}


def speed(run: Run, steps: int, repeats: int = 5) -> tuple[float, float]:
    """Trial-iterations per CPU second, best of a few, and CPU seconds of the first call with one
    step (compilation).
    """
    began = time.process_time()
    run(1)
    first, seconds = time.process_time() - began, []
    for _ in range(repeats):
        began = time.process_time()
        run(steps)
        seconds.append(time.process_time() - began)
    return TRIALS * steps / min(seconds), first


def compare(activation: str, kind: type) -> None:
    import jax

    jax.config.update("jax_enable_x64", kind is np.float64)
    arrays = realizations(N, K, D, TRIALS, seed=0)
    reference = plain_numpy(activation, np.float64, arrays)(50)
    speeds = {}
    for name, peer in PEERS.items():
        run = peer(activation, kind, arrays)
        speeds[name] = speed(run, LENGTHS[name])
        difference = float(np.max(np.abs(run(50) / reference - 1.0)))
        assert difference < (1e-2 if kind is np.float32 else 1e-6), (
            f"{name} is on another path: {difference}"
        )
    ours = speeds["fused (ours)"][0]
    for name, (rate, first) in speeds.items():
        print(
            f"| {activation} | {kind.__name__} | {name} | {rate / 1e3:,.1f} k | {ours / rate:.1f} "
            f"| {first:.2f} |",
            flush=True,
        )


def product_speed(kind: type) -> float:
    """Floating-point operations a second in a large matrix product, one thread: what the machine
    can do.
    """
    A = np.random.default_rng(0).standard_normal((512, 512)).astype(kind)
    seconds = []
    for _ in range(8):
        began = time.process_time()
        A @ A
        seconds.append(time.process_time() - began)
    return 2 * 512**3 / min(seconds)


def cells() -> None:
    print(
        "| k, d | activation | precision | trial-iterations per CPU s | share of the speed of a "
        "large matrix product |"
    )
    print("|---|---|---|---|---|")
    for kind in (np.float32, np.float64):
        limit = product_speed(kind)
        for k, d in CELLS:
            for activation in STEPS:
                rate, _ = speed(
                    fused(activation, kind, realizations(N, k, d, TRIALS, seed=0)), 2_000, repeats=3
                )
                share = rate * 4 * N * k * d / limit
                print(
                    f"| {k}, {d} | {activation} | {kind.__name__} | {rate / 1e3:,.0f} k | "
                    f"{share:.0%} |",
                    flush=True,
                )


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cells", action="store_true", help="the fused kernel alone, over several sizes"
    )
    if parser.parse_args(argv).cells:
        cells()
        return
    print(
        f"n = {N}, k = {K}, d = {D}, {TRIALS} trials, one thread, trial-iterations per CPU second\n"
    )
    print(
        "| activation | precision | program | trial-iterations per CPU s | ours is faster by | "
        "first call, CPU s |"
    )
    print("|---|---|---|---|---|---|")
    for kind in (np.float32, np.float64):
        for activation in STEPS:
            compare(activation, kind)


if __name__ == "__main__":
    main()
