"""Exact rank against elimination over the fractions."""

from fractions import Fraction

import numpy as np
import pytest

from globalmin.data import exact_algebra as exact_rank
from globalmin.data.exact_algebra import PRIME, modular_rank, rank_bounds, without_multiples


def brute_rank(X):
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    rank = 0
    for column in range(X.shape[1]):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for i in range(rank + 1, len(rows)):
            factor = rows[i][column] / rows[rank][column]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


@pytest.mark.parametrize("seed", range(30))
def test_rank_agrees_with_elimination_over_the_fractions(seed):
    rng = np.random.default_rng(seed)
    n, d, r = rng.integers(1, 9, 3)
    X = rng.integers(-4, 5, (n, r)).astype(float) @ rng.integers(-4, 5, (r, d)).astype(float)
    X = np.ldexp(X, rng.integers(-60, 60, (n, 1)))
    assert rank_bounds(X) == (brute_rank(X),) * 2


@pytest.mark.parametrize("seed", range(5))
def test_rounding_makes_a_product_of_low_rank_full(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 5))
    assert np.linalg.matrix_rank(X) == 2
    assert rank_bounds(X) == (brute_rank(X),) * 2
    assert rank_bounds(X)[0] > 2


def test_a_sum_of_columns_is_found():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(200, 30)) * 256) / 256
    X[:, 7] = X[:, 8] + X[:, 9]
    X[:, 20] = 3 * X[:, 21] - X[:, 22]
    assert rank_bounds(X) == (28, 28)


def test_rows_that_matter_are_found_among_many_that_do_not():
    X = np.zeros((1000, 4))
    X[:, 0] = np.arange(1000)
    X[:, 1] = 1.0
    X[777, 2] = 1.0
    assert rank_bounds(X) == (3, 3)


def test_a_prime_that_divides_every_minor_is_not_believed():
    X = np.array([[float(2**30), 1.0], [1.0, float(2**31)]])  # determinant 2^61 - 1
    assert modular_rank(X) == 1
    assert PRIME == 2**61 - 1
    assert rank_bounds(X)[0] == 2


def test_zero_and_proportional_rows_do_not_count():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [-3.0, -6.0], [0.5, 1.0]])
    assert without_multiples(X).tolist() == [[1.0, 2.0]]
    assert rank_bounds(X) == (1, 1)
    assert rank_bounds(np.zeros((3, 4))) == (0, 0)
    assert rank_bounds(np.ones((5, 7))) == (1, 1)


def test_beyond_the_budget_the_bounds_stay_true(monkeypatch):
    X = np.random.default_rng(1).integers(-3, 4, (12, 6)).astype(float)
    X[:, 5] = X[:, 0] + X[:, 1]
    monkeypatch.setattr(exact_rank, "MAX_PIVOTS", 3)
    assert rank_bounds(X) == (5, 6)
    monkeypatch.setattr(exact_rank, "MAX_ENTRIES", 10)
    lower, upper = rank_bounds(X)
    assert lower <= 5 <= upper
