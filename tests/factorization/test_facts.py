"""What `gm.theorem` says of factorization on the inputs of a table, number by number."""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.factorization import facts
from globalmin.factorization.rank_one import rank_one_constants
from globalmin.inspection.inspection import pose


@pytest.fixture(scope="module")
def it():
    return pose(gm.generators.sphere_with_random_labels(12, 5, seed=0), 6, "relu")


def test_descent_on_the_factors_is_told_as_a_second_loop_sees_it(it):
    """DU-A4.9, DU-T4.4, DU-L4.4, DU-L4.2: rank 2 of 5, 200 steps of 1/((66 sqrt 2 + 2)|M|)."""
    report = facts.factorizing(it)
    X = it.m.X
    left, values, right = np.linalg.svd(X, full_matrices=False)
    target = (left[:, :2] * values[:2]) @ right[:2]
    norm = math.hypot(values[0], values[1])
    eta = 1.0 / ((66 * math.sqrt(2) + 2) * norm)
    assert report.step_size == pytest.approx(eta)
    start = gm.Factors.initialize(X.shape, 2, scale=1e-2 * math.sqrt(norm / 12), seed=0)
    U, V, slack, f, g2 = start.U, start.V, math.inf, None, None
    for step in range(201):
        R = U @ V.T - target
        new = 0.5 * np.sum(R**2)
        if 0 < step < 200:
            slack = min(slack, f - new - 0.5 * eta * g2)
        by_u, by_v = R @ V, R.T @ U
        f, g2 = new, np.sum(by_u**2) + np.sum(by_v**2)
        if step == 0:
            change = np.linalg.norm(eta**2 * (by_u.T @ by_u - by_v.T @ by_v))
        if step < 200:
            U, V = U - eta * by_u, V - eta * by_v
    said = [value for _, value in report.numbers]
    assert said[0] == pytest.approx(0.5 * np.sum(values[2:] ** 2))
    assert said[1] == pytest.approx(change, rel=1e-6)
    assert said[2] == pytest.approx(slack, rel=1e-4, abs=1e-12)
    assert said[3] == pytest.approx(np.linalg.norm(U.T @ U - V.T @ V), rel=1e-6)
    # at the factors that lack the second singular value, along the missing balanced column:
    # 2 <R, dU dV^T> + |...|^2 = -2 sigma^2
    assert said[4] == pytest.approx(-2 * values[1] ** 2, rel=1e-9)
    assert [c.finding.name for c in report.hypotheses] == ["HOLDS"]
    assert "200 steps" in report.numbers[2][0]


@pytest.mark.parametrize(("columns", "rank"), [(1, 1), (2, 1), (3, 1), (4, 2), (6, 3)])
def test_half_of_the_rank_is_factorized_and_one_at_least(columns, rank):
    """DU-A4.9: the best loss of that rank is half the sum of the other squared singular values."""
    X = np.random.default_rng(columns).standard_normal((7, columns))
    data = gm.Dataset(X, np.arange(7.0), bias=False, scaling="none")
    numbers = dict(facts.factorizing(pose(data, 6, "relu")).numbers)
    left_out = np.linalg.svd(X, compute_uv=False)[rank:]
    best = 0.5 * np.sum(left_out**2)
    assert numbers[f"best loss of rank {rank} on X"] == pytest.approx(best, abs=1e-12)


def test_the_rank_one_run_is_told_as_a_second_loop_sees_it(it):
    """DU-T4.5: both lemmas along a run with c_init = c_step = 0.1 on the leading part of X."""
    report = facts.rank_one_run(it)
    left, values, right = np.linalg.svd(it.m.X, full_matrices=False)
    sigma, rng = values[0], np.random.default_rng(0)
    assert report.step_size == pytest.approx(0.1 / sigma)
    u, v = (0.1 * math.sqrt(sigma / 12) * rng.standard_normal(size) for size in (12, 5))
    if (u @ left[:, 0]) * (v @ right[0]) < 0:
        v = -v
    total = abs(u @ left[:, 0]) + abs(v @ right[0])
    target, steps, first = sigma * np.outer(left[:, 0], right[0]), 0, None
    while np.linalg.norm(np.outer(u, v) - target) > 1e-10 * sigma:
        if first is None and (u @ left[:, 0]) ** 2 + (v @ right[0]) ** 2 >= sigma / 2:
            first = steps
        R = np.outer(u, v) - target
        u, v, steps = u - 0.1 / sigma * R @ v, v - 0.1 / sigma * R.T @ u, steps + 1
    said = [value for _, value in report.numbers]
    assert said[:3] == [
        first,
        math.ceil(math.log(math.sqrt(sigma) / total) / math.log(1 + 0.1 / 3)) + 1,
        steps,
    ]
    assert said[4:] == [rank_one_constants().c_1, rank_one_constants().c_init_printed]
    assert len(report.hypotheses) == 8
    assert {c.finding.name for c in report.hypotheses} == {"HOLDS"}
