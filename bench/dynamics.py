"""Five descents on five families: iterations to a second-order point against dimension, one table
and one picture a family.

Run `python -m bench.dynamics [folder]`: the tables of docs/dynamics.md, and the pictures in the
folder if one is given. A run has arrived when the gradient is at most eps and the least eigenvalue
of the Hessian at least -delta, both checked in floats.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

import globalmin as gm
from globalmin.factorization.factors import Factors
from globalmin.factorization.landscape import (
    factorization_gradient,
    factorization_loss,
    hessian_times,
)
from globalmin.linalg.symmetric import moment_matrix
from globalmin.octopus.descent import descent_escape_times, descent_points
from globalmin.optimize.perturbed import perturbed_gradient_descent
from globalmin.optimize.run import Status
from globalmin.optimize.trust_region import minimize
from globalmin.quadratic.runs import conditioned_teacher

METHODS = (
    "gradient descent",
    "perturbed gradient descent",
    "SGD",
    "trust region",
    "cubic regularization",
)
WALLS = 1.5  # L of the octopus, gamma = 1
# iterations after which a start with a dead neuron is given up: descent is at its saddle after
# about a thousand
HELD = 2_500


@dataclass(frozen=True)
class Problem:
    """A function with its derivatives and a stochastic gradient, a start, the step of the
    first-order methods, what counts as a second-order point, and the noise of perturbed descent.
    """

    start: np.ndarray
    value: Callable[[np.ndarray], float]
    gradient: Callable[[np.ndarray], np.ndarray]
    hessian: Callable[[np.ndarray], np.ndarray]
    sample_gradient: Callable[[np.ndarray, np.random.Generator], np.ndarray]
    step_size: float
    epsilon: float
    delta: float
    radius: float
    wait: int
    sgd_share: float = 1.0  # of the step size
    max_iter: int = 100_000  # of plain descent; SGD has four times as many
    exact_descent: Callable[[], float] | None = None


def octopus(d: int, seed: int) -> Problem:
    """The octopus from a uniform start, everything as in the thesis; SGD sees the gradient with
    Gaussian noise of length eps.
    """
    function, rng = gm.landscape.Octopus(d, WALLS), np.random.default_rng(seed)
    start, eta, epsilon = rng.uniform(-1.0, 1.0, d), 1.0 / (4.0 * WALLS), math.e / 100.0

    def exact() -> float:
        last = int(descent_escape_times(function, start, eta)[-1])
        slopes = np.linalg.norm(
            function.gradient(descent_points(function, start, eta, range(last, last + 100))), axis=1
        )
        return float(last + int(np.argmax(slopes <= epsilon)))

    return Problem(
        start,
        lambda x: float(function.value(x)),
        function.gradient,
        function.hessian,
        lambda x, noise: function.gradient(x) + epsilon / math.sqrt(d) * noise.standard_normal(d),
        eta,
        epsilon,
        math.sqrt(gm.landscape.octopus_smoothness_upper(function).hessian * epsilon),
        radius=math.e / 100.0,
        wait=1,
        exact_descent=exact,
    )


def quadratic_network(d: int, seed: int, *, dead: bool = False) -> Problem:
    """Mean squared error of d quadratic neurons, 2d(d + 1) samples of a teacher, from tiny weights:
    next to the saddle W = 0.

    `dead`: one neuron starts at exactly zero. Its gradient is then zero for ever, also that of
    every batch.
    """
    rng, teacher, n = (
        np.random.default_rng(seed),
        conditioned_teacher(d, d, seed=seed),
        2 * d * (d + 1),
    )
    X = rng.standard_normal((n, d))
    y = np.sum((X @ teacher.T) ** 2, axis=1)

    def residual(W: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        return np.sum((X[rows] @ W.T) ** 2, axis=1) - y[rows]

    def gradient(W: np.ndarray, rows: slice | np.ndarray = slice(None)) -> np.ndarray:
        r = residual(W, rows)
        return 2.0 / len(r) * W @ moment_matrix(X[rows], r)

    def hessian(W: np.ndarray) -> np.ndarray:
        J = 2.0 * ((X @ W.T)[:, :, None] * X[:, None, :]).reshape(n, -1)
        return J.T @ J / n + np.kron(np.eye(d), 2.0 / n * moment_matrix(X, residual(W)))

    top, start = float(np.linalg.eigvalsh(hessian(teacher))[-1]), 1e-3 * rng.standard_normal((d, d))
    start[-1] *= 0.0 if dead else 1.0
    return Problem(
        start,
        lambda W: 0.5 * float(np.mean(residual(W) ** 2)),
        gradient,
        hessian,
        lambda W, noise: gradient(W, noise.integers(n, size=16)),
        0.5 / top,
        1e-4 * top,
        1e-3 * top,
        radius=1e-3,
        wait=10,
        sgd_share=0.1,
        max_iter=HELD if dead else 100_000,
    )


def factorization(n: int, seed: int, *, dead: bool = False) -> Problem:
    """An n x n matrix of singular values 3, 2, 1 by two factors of rank 3, from a tiny start: next
    to the saddle U = V = 0.

    `dead`: one pair of columns starts at exactly zero.
    """
    rng, r = np.random.default_rng(seed), 3
    left, right = (np.linalg.qr(rng.standard_normal((n, r)))[0] for _ in range(2))
    M = (left * [3.0, 2.0, 1.0]) @ right.T

    def factors(x: np.ndarray) -> Factors:
        return Factors(x[0], x[1])

    def hessian(x: np.ndarray) -> np.ndarray:
        return np.array(
            [
                np.ravel(hessian_times(factors(x), M, tuple(u)))
                for u in np.eye(2 * n * r).reshape(-1, 2, n, r)
            ]
        )

    def sampled(x: np.ndarray, noise: np.random.Generator) -> np.ndarray:
        R = (x[0] @ x[1].T - M) * (noise.random((n, n)) < 0.5) * 2.0
        return np.stack([R @ x[1], R.T @ x[0]])

    start = 1e-3 * rng.standard_normal((2, n, r))
    start[:, :, -1] *= 0.0 if dead else 1.0
    return Problem(
        start,
        lambda x: factorization_loss(factors(x), M),
        lambda x: np.stack(factorization_gradient(factors(x), M)),
        hessian,
        sampled,
        0.5 / 6.0,  # the largest eigenvalue of the Hessian at a balanced minimum is 2 sigma_1
        6e-4,
        6e-3,
        radius=1e-3,
        wait=10,
        sgd_share=0.5,
        max_iter=HELD if dead else 100_000,
    )


def sgd(problem: Problem, seed: int) -> float:
    """Steps of plain SGD until the full gradient and the Hessian pass the test, looked at every
    `wait` steps; NaN if never.
    """
    x, noise = problem.start, np.random.default_rng((seed, 1))
    for step in range(0, 4 * problem.max_iter, problem.wait):
        small = float(np.linalg.norm(problem.gradient(x))) <= problem.epsilon
        if small and float(np.linalg.eigvalsh(problem.hessian(x))[0]) >= -problem.delta:
            return float(step)
        for _ in range(problem.wait):
            x = x - problem.sgd_share * problem.step_size * problem.sample_gradient(x, noise)
    return math.nan


def iterations(problem: Problem, method: str, seed: int) -> float:
    """Iterations of one run to a second-order point; NaN if it did not arrive."""
    if method == "SGD":
        return sgd(problem, seed)
    if method == "gradient descent" and problem.exact_descent is not None:
        return problem.exact_descent()
    options = {
        "gradient": problem.gradient,
        "hessian": problem.hessian,
        "gradient_tol": problem.epsilon,
        "curvature_tol": problem.delta,
    }
    if method in ("trust region", "cubic regularization"):
        run = minimize(
            problem.value,
            problem.start,
            method="auto" if method == "trust region" else "cubic",
            **options,
        )
    else:
        run = perturbed_gradient_descent(
            problem.value,
            problem.start,
            step_size=problem.step_size,
            radius=problem.radius,
            wait=problem.wait,
            gradient_threshold=0.0 if method == "gradient descent" else problem.epsilon,
            max_iter=problem.max_iter if method == "gradient descent" else 100_000,
            seed=seed,
            **options,
        )
    return float(run.n_iter) if run.status is Status.SECOND_ORDER else math.nan


@dataclass(frozen=True)
class Family:
    """A family of problems by dimension."""

    name: str
    title: str
    make: Callable[[int, int], Problem]
    dimensions: tuple[int, ...]
    x_label: str
    runs: int = 3


NEURONS, MATRIX = "input dimension d", "size n of the matrix"
FAMILIES = (
    Family(
        "octopus",
        f"octopus, L = {WALLS:g}, γ = 1",
        octopus,
        (2, 4, 6, 8, 10, 15, 20),
        "dimension d",
        runs=5,
    ),
    Family(
        "quadratic",
        "quadratic networks, d neurons, d² weights",
        quadratic_network,
        (2, 4, 6, 8, 12),
        NEURONS,
    ),
    Family(
        "quadratic-dead",
        "quadratic networks, one neuron dead at the start",
        partial(quadratic_network, dead=True),
        (2, 4, 8),
        NEURONS,
    ),
    Family(
        "factorization", "factorization, rank 3, 6n entries", factorization, (5, 10, 20, 40), MATRIX
    ),
    Family(
        "factorization-dead",
        "factorization, one pair of columns zero at the start",
        partial(factorization, dead=True),
        (5, 10, 20),
        MATRIX,
    ),
)


def measure(family: Family) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """For every method, iterations (dimensions x runs) and CPU seconds of the median run
    (dimensions).
    """
    counts = {method: np.full((len(family.dimensions), family.runs), np.nan) for method in METHODS}
    seconds = {method: np.full((len(family.dimensions), family.runs), np.nan) for method in METHODS}
    for row, dimension in enumerate(family.dimensions):
        for seed in range(family.runs):
            problem = family.make(dimension, seed)
            for method in METHODS:
                began = time.process_time()
                counts[method][row, seed] = iterations(problem, method, seed)
                seconds[method][row, seed] = time.process_time() - began
    return counts, {method: np.median(values, axis=1) for method, values in seconds.items()}


def table(family: Family, counts: dict[str, np.ndarray], seconds: dict[str, np.ndarray]) -> str:
    """Medians, CPU seconds in brackets, and how many runs arrived where not all did."""
    lines = [
        f"| {family.x_label} | " + " | ".join(METHODS) + " |",
        "|---" * (len(METHODS) + 1) + "|",
    ]
    for row, dimension in enumerate(family.dimensions):
        cells = []
        for method in METHODS:
            found = counts[method][row]
            arrived = found[np.isfinite(found)]
            median = f"{np.median(arrived):,.0f}" if len(arrived) else "never"
            short = "" if len(arrived) == len(found) else f", {len(arrived)} of {len(found)}"
            cells.append(f"{median}{short} ({seconds[method][row]:.2g} s)")
        lines.append(f"| {dimension} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    for family in FAMILIES:
        counts, seconds = measure(family)
        print(f"\n**{family.title}**\n\n{table(family, counts, seconds)}", flush=True)
        if arguments:
            from globalmin.drawing import save
            from globalmin.octopus.figures import iterations_by_dimension

            labels = {"x_label": family.x_label, "title": family.title}
            path = Path(arguments[0]) / f"dynamics-{family.name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            save(
                partial(iterations_by_dimension, np.array(family.dimensions), counts, **labels),
                path,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
