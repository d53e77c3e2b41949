"""The relaxation whose dual is the best bound of R4: its derivatives, and its place between floor
and minimum.
"""

from __future__ import annotations

import numpy as np
import pytest

from globalmin._types import Array
from globalmin.regularized import relaxation
from globalmin.regularized.relaxation import RelaxedPoint, RelaxedProblem, solve_relaxation
from globalmin.regularized.spectral import spectral_witness


def _problem(seed: int, b: float, n: int = 25, d: int = 2, ridge: float = 0.0) -> RelaxedProblem:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.standard_normal((n, d)), np.ones(n)])
    y = np.maximum(rows[:, 0], 0.0) + 0.3 * rng.standard_normal(n)

    def loss(f: Array) -> tuple[Array, Array, Array]:
        return 0.5 * np.square(f - y), f - y, np.ones(n)

    return RelaxedProblem(rows, np.ones((n, 1)), np.full(1, ridge), b, loss, np.array([y.mean()]))


def _direction(point: RelaxedPoint, rng: np.random.Generator, size: float) -> RelaxedPoint:
    def noise(a: Array) -> Array:
        return size * rng.standard_normal(a.shape)

    moments = (noise(point.moments[0]), noise(point.moments[1]))
    return RelaxedPoint(moments, (noise(point.z[0]), noise(point.z[1])), noise(point.coefficients))


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_newton_step_solves_the_newton_equation_of_the_merit(ridge: float) -> None:
    """For every direction e: the derivative of the merit along e, plus its second derivative along
    e and the step, is zero. Both by differences.
    """
    problem = _problem(0, 3.0, ridge=ridge)
    point, weight, rng = relaxation._first_point(problem), 2.0, np.random.default_rng(1)
    step, decrement = relaxation._newton_step(problem, point, weight)
    size = float(np.abs(point.z[0]).min()) * 1e-4

    def merit(p: RelaxedPoint) -> float:
        return relaxation._merit(problem, p, weight)

    unit = 1e-4  # of the step, inside the feasible set
    along = (merit(point.moved(step, unit)) - merit(point.moved(step, -unit))) / (2 * unit)
    assert along == pytest.approx(-decrement, rel=1e-4)
    for _ in range(5):
        e = _direction(point, rng, size)
        slope = (merit(point.moved(e, 1)) - merit(point.moved(e, -1))) / 2

        def slope_at(length: float, e: RelaxedPoint = e) -> float:
            there = point.moved(step, length)
            return (merit(there.moved(e, 1)) - merit(there.moved(e, -1))) / 2

        bend = (slope_at(unit) - slope_at(-unit)) / (2 * unit)
        assert bend == pytest.approx(-slope, rel=2e-3, abs=1e-7)


@pytest.mark.parametrize("seed", range(3))
def test_floor_below_relaxed_value_below_every_network(seed: int) -> None:
    """D(u) <= relaxed minimum <= P of any network: here of networks with one or two neurons."""
    problem = _problem(seed, 4.0)
    found = solve_relaxation(problem, tol=1e-7)
    y = -problem.loss(np.zeros(len(problem.rows)))[1]
    height = max(w.bound for w in found.witnesses)
    u = found.u * min(1.0, problem.b / height)
    floor = -float(u @ y + 0.5 * u @ u)
    assert abs(found.u.sum()) < 1e-6 * np.abs(found.u).sum()
    assert floor <= found.value * (1 + 1e-9)
    assert floor >= found.value * (1 - 1e-4)  # the multipliers are a witness up to the accuracy
    rng = np.random.default_rng(seed)
    for _ in range(200):
        W, v = rng.standard_normal((2, 3)) * 0.7, rng.standard_normal(2) * 0.7
        f = np.maximum(problem.rows @ W.T, 0.0) @ v
        f = f + float((y - f).mean())
        P = float(problem.loss(f)[0].sum()) + 0.5 * problem.b * float((W * W).sum() + v @ v)
        assert found.value <= P * (1 + 1e-9)


def test_vector_of_the_relaxation_proves_at_least_what_the_residual_of_the_mean_does() -> None:
    """Any feasible vector is a floor, and this one is the best that R4 proves."""
    problem = _problem(5, 2.0)
    y = -problem.loss(np.zeros(len(problem.rows)))[1]
    found = solve_relaxation(problem)
    best = found.u * min(1.0, problem.b / max(w.bound for w in found.witnesses))
    other = y.mean() - y
    height = max(spectral_witness(problem.rows, s * other).bound for s in (1.0, -1.0))
    other = other * min(1.0, problem.b / height)
    floors = [-float(u @ y + 0.5 * u @ u) for u in (best, other)]
    assert floors[0] > floors[1]


def test_golden_example_of_two_rows() -> None:
    """a = (-1, 1), y = (-1, 1), b = 1/2: the minimum is 2t - t^2 at t = b/sqrt 2, by hand."""
    rows = np.array([[-1.0, 1.0], [1.0, 1.0]])
    y = np.array([-1.0, 1.0])

    def loss(f: Array) -> tuple[Array, Array, Array]:
        return 0.5 * np.square(f - y), f - y, np.ones(2)

    problem = RelaxedProblem(rows, np.ones((2, 1)), np.zeros(1), 0.5, loss, np.zeros(1))
    found = solve_relaxation(problem, tol=1e-8)
    t = 0.5 / np.sqrt(2.0)
    # a Newton matrix that rounding had left indefinite once ended the path at 2e-6, on one machine
    assert found.value == pytest.approx(2 * t - t * t, rel=1e-7)
    assert found.u == pytest.approx([t, -t], rel=1e-5)
