"""The oracle for neurons of one column, against a fine grid of directions and exact rationals."""

from fractions import Fraction

import numpy as np
import pytest
from tests.regularized.column_cases import is_feasible_column

from globalmin.regularized.columns import ColumnOracle

ANGLES = np.linspace(0.0, 2.0 * np.pi, 40_001)


def _sums(x, u, w, tau):
    return np.maximum(np.outer(w[:, 0], x) + tau * w[:, 1:], 0.0) @ u


def _cases():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 40):
        for scale in (1e-3, 1.0, 1e3):
            yield scale * rng.standard_normal(n), rng.standard_normal(n)
        yield np.round(rng.standard_normal(n), 0), rng.standard_normal(n)  # ties
        yield np.full(n, 2.0), rng.standard_normal(n)
        yield rng.random(n) + 5.0, rng.standard_normal(n)  # all of one sign


@pytest.mark.parametrize("tau", [1.0, 0.25])
def test_height_is_the_maximum_over_a_grid(tau: float):
    grid = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
    for x, u in _cases():
        rays = np.stack([np.full_like(x, tau), -x], axis=1)
        rays = np.vstack([grid, rays / np.linalg.norm(rays, axis=1)[:, None]])
        rays = np.vstack([rays, -rays])
        brute = np.abs(_sums(x, u, rays, tau)).max()
        heights, _ = ColumnOracle.of(x[:, None], tau=tau).search(u, np.inf)
        # a step of 1.6e-4 misses an interior maximum by at most 1.6e-4^2/2 of it
        assert brute <= heights[0] * (1 + 1e-12)
        assert heights[0] <= brute * (1 + 2e-8)


def test_height_decides_exactly():
    for x, u in _cases():
        height = ColumnOracle.of(x[:, None]).search(u, np.inf)[0][0]
        order = sorted(set(x.tolist()))
        values = [
            (Fraction(z), sum((Fraction(a) for a in u[x == z].tolist()), Fraction(0)))
            for z in order
        ]
        if height == 0.0:
            continue
        # 1e-9 is far above the rounding of forty sums and far below anything that matters
        assert is_feasible_column(values, Fraction(height) * Fraction(1_000_000_001, 10**9), 1)
        assert not is_feasible_column(values, Fraction(height) * Fraction(999_999_999, 10**9), 1)


def test_free_biases_are_hinges_at_the_values():
    rng = np.random.default_rng(1)
    for n in (2, 3, 10, 40):
        x = np.round(rng.standard_normal(n), 1)
        u = rng.standard_normal(n)
        u -= u.mean()
        kinks = np.r_[x, rng.uniform(-4, 4, 2000)]
        brute = max(
            np.abs(np.maximum(sign * (x[None, :] - kinks[:, None]), 0.0) @ u).max()
            for sign in (1.0, -1.0)
        )
        oracle = ColumnOracle.of(x[:, None], hidden_bias="free")
        assert oracle.search(u, np.inf)[0][0] == pytest.approx(brute, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("hidden_bias", ["penalized", "free"])
def test_candidates_attain_what_they_say_and_the_largest_is_among_them(hidden_bias: str):
    rng = np.random.default_rng(2)
    X = np.round(rng.standard_normal((80, 4)), 1)
    u = rng.standard_normal(80)
    u -= u.mean()
    oracle = ColumnOracle.of(X, hidden_bias=hidden_bias)
    heights, found = oracle.search(u, 0.2 * float(oracle.search(u, np.inf)[0].max()))
    features = oracle.features(found.group, found.weights)
    np.testing.assert_allclose(features @ u, found.values, rtol=1e-11, atol=1e-12)
    assert np.abs(found.values).max() == heights.max()
    size = found.weights if hidden_bias == "penalized" else found.weights[:, :1]
    np.testing.assert_allclose(np.linalg.norm(size, axis=1), 1.0, rtol=1e-14)
    for j in range(4):
        here = np.abs(found.values[found.group == j])
        assert not here.size or here.max() == heights[j]


def test_a_cone_holds_its_candidate():
    """Two neurons of one cone and sign have active the same rows, so that they may be merged."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(30)
    oracle = ColumnOracle.of(x[:, None])
    z = np.sort(x)
    rays = np.vstack(
        [
            np.stack([np.ones(30), -z[::-1]], axis=1),
            [[0.0, 1.0]],
            np.stack([-np.ones(30), z[::-1]], axis=1),
        ]
    )
    for seed in range(20):
        u = np.random.default_rng(seed).standard_normal(30)
        _, found = oracle.search(u, 0.0)
        for w, (first, last) in zip(found.weights, found.cones, strict=True):
            for cone in {first, last}:
                p, q = rays[cone], rays[cone + 1]
                left, right = p[0] * w[1] - p[1] * w[0], w[0] * q[1] - w[1] * q[0]
                assert left >= -1e-14  # rounding of a product of numbers up to 3
                assert right >= -1e-14
