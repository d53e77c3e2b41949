"""Upper bounds of the quartic form (OS-K4): they hold, are tight where tightness is known, and
match the reference table.
"""

import numpy as np
import pytest
from scipy.optimize import minimize

from globalmin.linalg.quartic import (
    estimate_quartic_attained,
    estimate_quartic_rows,
    estimate_quartic_svec,
    row_matrix,
    svec_identity,
    svec_matrix,
    symmetric_monomials,
)


def sphere(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None]


def quartic(X, q, a):
    return float(q @ (X @ a) ** 4) / float(a @ a) ** 2


def largest_by_search(X, q, seed, starts=40):
    """The form maximized by quasi-Newton from random directions and from the rows: another road
    than the power ascent.
    """
    rng = np.random.default_rng(seed)
    points = [*rng.standard_normal((starts, X.shape[1])), *X[:10]]
    return max(-minimize(lambda a: -quartic(X, q, a), start).fun for start in points)


@pytest.mark.parametrize(("n", "d", "seed"), [(12, 2, 0), (30, 5, 1), (8, 6, 2), (3, 4, 3)])
def test_both_bounds_hold_against_random_and_optimized_directions(n, d, seed):
    rng = np.random.default_rng(seed)
    X, q = rng.standard_normal((n, d)) * rng.uniform(0.2, 3.0, (n, 1)), rng.uniform(0.0, 2.0, n)
    attained = largest_by_search(X, q, seed)
    directions = rng.standard_normal((20_000, d))
    values = ((directions @ X.T) ** 4) @ q / np.sum(directions**2, axis=1) ** 2
    assert values.max() <= attained * (1 + 1e-9)
    assert attained <= estimate_quartic_svec(X, q).kappa * (1 + 1e-9)
    assert attained <= estimate_quartic_rows(X, q) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_power_ascent_attains_what_quasi_newton_finds_within_a_percent(seed):
    rng = np.random.default_rng(seed)
    X, q = rng.standard_normal((25, 4)), rng.uniform(0.0, 2.0, 25)
    found = largest_by_search(X, q, seed)
    assert 0.99 * found <= estimate_quartic_attained(X, q) <= found * (1 + 1e-6)


def test_bounds_are_exact_on_orthogonal_data_and_in_one_dimension():
    X, q = np.diag([1.0, 2.0, 0.5]), np.array([1.0, 0.25, 3.0])
    assert estimate_quartic_rows(X, q) == pytest.approx(
        4.0, rel=1e-14
    )  # attained at the second axis: 0.25 * 2^4
    assert estimate_quartic_svec(X, q).kappa == pytest.approx(4.0, rel=1e-3)
    x, weights = np.array([[1.0], [2.0], [-3.0]]), np.array([1.0, 1.0, 2.0])
    exact = 1.0 + 16.0 + 162.0
    assert estimate_quartic_rows(x, weights) == pytest.approx(exact, rel=1e-14)
    assert estimate_quartic_svec(x, weights).kappa == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize(
    ("n", "d", "svec", "rows", "attained"),
    [
        (100, 10, 2.616, 4.099, 2.535),
        (100, 20, 1.875, 3.213, 1.730),
        (200, 14, 2.537, 4.570, 2.380),
        (400, 10, 4.139, 7.117, 4.022),
    ],
)
def test_square_roots_match_the_reference_table_for_unit_sphere_data(n, d, svec, rows, attained):
    """One draw per row in the table, another seed here: the values concentrate within a few per
    cent.
    """
    X, q = sphere(n, d, 5), np.ones(n)
    assert np.sqrt(estimate_quartic_svec(X, q).kappa) == pytest.approx(svec, rel=0.08)
    assert np.sqrt(estimate_quartic_rows(X, q)) == pytest.approx(rows, rel=0.08)
    assert np.sqrt(estimate_quartic_attained(X, q)) == pytest.approx(attained, rel=0.08)
    assert (
        estimate_quartic_attained(X, q)
        <= estimate_quartic_svec(X, q).kappa
        <= estimate_quartic_rows(X, q)
    )


@pytest.mark.parametrize("t", [-3.0, 0.0, 0.7, 11.0])
def test_every_multiplier_gives_a_valid_bound(t):
    rng = np.random.default_rng(3)
    X, q = rng.standard_normal((9, 3)), rng.uniform(0.0, 1.0, 9)
    assert np.linalg.eigvalsh(svec_matrix(X, q, t))[-1] >= largest_by_search(X, q, 0) * (1 - 1e-9)


def test_the_search_over_the_multiplier_finds_the_minimum_of_a_fine_grid():
    X, q = sphere(30, 4, 1), np.ones(30)
    found = estimate_quartic_svec(X, q)
    start = np.linalg.eigvalsh(svec_matrix(X, q, 0.0))[-1]
    grid = [np.linalg.eigvalsh(svec_matrix(X, q, t))[-1] for t in np.linspace(-start, start, 801)]
    assert found.kappa <= min(grid) * (1 + 1e-3)
    assert found.kappa == pytest.approx(
        np.linalg.eigvalsh(svec_matrix(X, q, found.t))[-1], rel=1e-12
    )


def test_matrices_equal_their_definitions_written_as_loops():
    rng = np.random.default_rng(4)
    X, q = rng.standard_normal((6, 3)), rng.uniform(0.0, 1.0, 6)
    rows = sum(w * (x @ x) * np.outer(x, x) for w, x in zip(q, X, strict=True))
    np.testing.assert_allclose(row_matrix(X, q), rows, rtol=1e-13)
    pairs = [(a, b) for a in range(3) for b in range(a, 3)]
    S = np.array([[x[a] * x[b] * (1.0 if a == b else np.sqrt(2.0)) for a, b in pairs] for x in X])
    np.testing.assert_allclose(symmetric_monomials(X), S, rtol=1e-14)
    u = np.array([1.0 if a == b else 0.0 for a, b in pairs])
    np.testing.assert_array_equal(svec_identity(3), u)
    np.testing.assert_allclose(
        svec_matrix(X, q, 0.3),
        S.T @ np.diag(q) @ S - 0.3 * (np.outer(u, u) - np.eye(6)),
        atol=1e-12,
    )


def test_zero_weights_and_zero_rows_give_zero():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    assert estimate_quartic_rows(X, np.zeros(2)) == 0.0
    assert estimate_quartic_svec(X, np.zeros(2)).kappa == 0.0
    assert estimate_quartic_attained(np.zeros((2, 2)), np.ones(2)) == 0.0
    assert estimate_quartic_attained(X, np.zeros(2)) == 0.0
