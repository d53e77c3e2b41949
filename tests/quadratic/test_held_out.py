"""Held-out errors from moments: against the rows themselves, the solver of one network, and paths
that end where the error turns.
"""

import numpy as np
import pytest

from globalmin.estimators import QuadraticNetworkRegressorCV
from globalmin.linalg.symmetric import quadratic_forms, svec, unsvec
from globalmin.quadratic import held_out
from globalmin.quadratic.held_out import (
    FoldPart,
    Moments,
    PathOptions,
    Rows,
    has_turned,
    moment_errors,
    row_errors,
)
from globalmin.quadratic.solve import solve_quadratic


def fold(n=60, d=4, seed=0, number=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n, d - 1)), np.ones(n)])
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.standard_normal(n)
    return FoldPart(Rows(X[: n // 2], y[: n // 2]), Rows(X[n // 2 :], y[n // 2 :]), 2.0, number)


def test_moments_are_those_of_the_rows():
    part, rng = fold(), np.random.default_rng(1)
    M = rng.standard_normal((4, 4))
    M += M.T
    columns = np.array([0.5, 0.5, 2.0, 1.0])
    found = Moments.of(*part.train).weighed(columns)
    X = part.train.X * columns
    residual = quadratic_forms(X, M) - part.train.y
    assert found.mean_error(svec(M)) == pytest.approx(np.mean(residual**2), rel=1e-12)
    gradient = unsvec(found.gram @ svec(M) - found.cross)
    assert gradient == pytest.approx((X * residual[:, None]).T @ X, rel=1e-10)


@pytest.mark.parametrize("signs", ["mixed", "positive"])
def test_errors_from_moments_are_those_of_the_solver(signs):
    parts = [fold(seed=s, number=s // 2) for s in range(4)]  # two folds of two targets
    decays = np.array([[20.0, 5.0, 1.0], [2.0, 0.5, 0.1]])
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [0.25, 0.25, 0.25, 1.0]])
    options = PathOptions(signs, None, 1e-6)
    fast = moment_errors(parts, decays, weights, options)
    slow = row_errors(parts, decays, weights, options)
    assert fast.shape == (2, 3, 2)
    # a relative gap of 1e-6 moves outputs by about its root
    np.testing.assert_allclose(fast, slow, rtol=5e-3)
    expected = 0.0
    for part in parts[2:]:
        M = solve_quadratic(
            part.train.X * weights[1], part.train.y, signs=signs, weight_decay=0.5
        ).M
        error = quadratic_forms(part.test.X * weights[1], M) - part.test.y
        expected += 2.0 * np.mean(error**2)
    assert fast[1, 1, 1] == pytest.approx(expected, rel=5e-3)


def test_the_batch_reaches_the_minimum_of_the_solver():
    part = fold(n=200, d=5)
    batch = held_out.Batch.of([Moments.of(*part.train)], two_sided=True)
    for decay in (30.0, 3.0, 0.3):
        batch.solve(np.arange(1), np.array([decay / 2]), 1e-9)
        solution = solve_quadratic(*part.train, weight_decay=decay)
        M = unsvec(batch.m[0])
        value = 0.5 * np.sum((quadratic_forms(part.train.X, M) - part.train.y) ** 2)
        value += decay / 2 * np.abs(np.linalg.eigvalsh(M)).sum()
        assert value == pytest.approx(solution.objective, rel=1e-8)
        gap = batch._gaps(np.arange(1), np.array([decay / 2]))[0]
        assert -1e-12 < gap <= 1e-9


def test_the_gap_is_a_gap_far_from_the_minimum():
    """At M = 0 and at a random matrix it is at least the distance to the solver's minimum."""
    part, rng = fold(n=200, d=5), np.random.default_rng(2)
    batch = held_out.Batch.of([Moments.of(*part.train)] * 6, two_sided=True)
    spectra = [np.zeros((5, 5)), *(0.2 * rng.standard_normal((5, 5)) for _ in range(5))]
    batch.m = np.stack([svec(A + A.T) for A in spectra])
    batch.sizes = np.array([np.abs(np.linalg.eigvalsh(A + A.T)).sum() for A in spectra])
    c = np.full(6, 2.0)
    least = solve_quadratic(*part.train, weight_decay=4.0).objective
    for m, size, gap in zip(batch.m, batch.sizes, batch._gaps(np.arange(6), c), strict=True):
        residual = quadratic_forms(part.train.X, unsvec(m)) - part.train.y
        value = 0.5 * residual @ residual + 2.0 * size
        assert gap * value >= (value - least) * (1 - 1e-9)


def test_a_path_ends_where_the_mean_error_turns():
    falling = np.array([[5.0, 5.0], [4.0, 3.0], [3.0, 3.5], [4.0, 4.0]])
    assert not has_turned(falling)  # the least mean, 3.25, is one step back
    worse = np.vstack([falling, falling[-1:], falling[-1:]])
    assert has_turned(worse)
    assert not has_turned(worse[:-1])


@pytest.mark.parametrize("width", ["auto", 12])
def test_what_was_not_tried_is_nan_and_never_chosen(width):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    y = X[:, 0] + 2.0 * rng.standard_normal(40)  # mostly noise: strong decay is best
    model = QuadraticNetworkRegressorCV(
        n_decays=14, bias_scales=[1.0, 4.0], cv=3, width=width, certify=False
    ).fit(X, y)
    tried = ~np.isnan(model.mse_path_)
    assert not tried.all()
    assert (tried.all(axis=-1) == tried.any(axis=-1)).all()
    for row, means in zip(tried[..., 0], model.mse_path_.mean(axis=-1), strict=True):
        count = int(row.sum())
        assert row[:count].all()
        assert count == 14 or count - 1 - int(np.nanargmin(means)) == held_out.WORSE
    assert tried[model.best_index_].all()
    assert model.mse_path_[model.best_index_].mean() == np.nanmin(model.mse_path_.mean(axis=-1))


def test_many_columns_take_the_road_of_the_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4)), rng.standard_normal(40)
    options = {"weight_decays": [30.0, 10.0], "bias_scales": [2.0], "cv": 2, "certify": False}
    fast = QuadraticNetworkRegressorCV(**options).fit(X, y)
    monkeypatch.setattr("globalmin.estimators.quadratic_cv.MOST_MOMENTS", 1)
    monkeypatch.setattr("globalmin.estimators.quadratic_cv.moment_errors", None)
    slow = QuadraticNetworkRegressorCV(**options).fit(X, y)
    np.testing.assert_allclose(fast.mse_path_, slow.mse_path_, rtol=1e-2)
