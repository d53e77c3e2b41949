"""The search over cones in floats: it closes above the exact maximum and meets a direction below
it, and it makes the cones that the checker makes.
"""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.oracles.circle_walk import highest

from globalmin._types import Array
from globalmin.regularized.cone_closing import shortest_vector
from globalmin.regularized.cone_search import search_cones
from globalmin_check.claims import dual_cones

BITS = 40  # of the integers that the checker gets


def _sums(rows: Array, u: Array, W: Array) -> Array:
    return u @ np.maximum(rows @ W.T, 0.0)


def _table(seed: int, n: int, p: int) -> tuple[Array, Array]:
    """Rows and u that are integers over 2^BITS, in the order in which both searches see them."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.standard_normal((n, p - 1)), np.ones(n)])
    rows = np.unique(np.round(rows * 2.0**BITS) / 2.0**BITS, axis=0)
    u = np.round(rng.standard_normal(len(rows)) * 2.0**BITS) / 2.0**BITS
    return rows, u


def _cones_of_checker(rows: Array, u: Array, b: float, monkeypatch: Any) -> int:
    """How many the checker makes until all are closed."""
    splits: list[int] = []
    split = dual_cones._split

    def counted(*args: Any) -> Any:
        splits.append(1)
        return split(*args)

    monkeypatch.setattr(dual_cones, "_split", counted)
    free: Any = SimpleNamespace(charge=lambda _: None, charge_memory=lambda _: None)
    whole = [[int(x * 2.0**BITS) for x in row] for row in rows]
    U = [int(x * 2.0**BITS) for x in u]
    assert dual_cones.cones_hold(whole, U, Fraction(b) * 4**BITS, free, (1, -1))
    return 2 ** rows.shape[1] + 2 * len(splits)


@pytest.mark.parametrize("seed", range(4))
def test_three_dimensions_on_either_side_of_the_exact_maximum(seed: int) -> None:
    """The maximum over the sphere of the sum and of minus it, by the walk over circles."""
    rows, u = _table(seed, 15, 3)
    H = highest(rows, u)
    found = search_cones(rows, u, 1.0001 * H, max_cones=20_000)
    assert found.is_closed
    assert not len(found.above)
    below = search_cones(rows, u, 0.9999 * H, max_cones=20_000)
    assert not below.is_closed
    assert np.abs(_sums(rows, u, below.above)).max() > 0.9999 * H


@pytest.mark.parametrize(("n", "p"), [(14, 2), (40, 3), (150, 3), (30, 4), (20, 5)])
def test_the_cones_are_those_of_the_checker(n: int, p: int, monkeypatch: Any) -> None:
    """Counted there, in integers. Where few rows are left their slopes depend on their order, and a
    cone more or less is closed: hence up to 5 %.
    """
    rows, u = _table(p, n, p)
    W = np.random.default_rng(0).standard_normal((20_000, p))
    top = np.abs(_sums(rows, u, W / np.linalg.norm(W, axis=1)[:, None])).max()
    b = 1.05 * float(top)
    found = search_cones(rows, u, b, max_cones=100_000)
    assert found.is_closed
    expected = _cones_of_checker(rows, u, b, monkeypatch)
    assert found.n_cones == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("p", [2, 4, 6])
def test_directions_that_are_met_are_above_the_bound(p: int) -> None:
    """At most as many as are asked for, of norm one, of either sign; the search goes on after each
    with other cones, of which two dimensions have few.
    """
    rows, u = _table(10 + p, 25, p)
    top = np.abs(_sums(rows, u, np.vstack([np.eye(p), -np.eye(p)]))).max()
    found = search_cones(rows, u, 0.5 * float(top), max_cones=50_000, max_met=5)
    assert not found.is_closed
    assert 2 <= len(found.above) <= 5
    assert p == 2 or len(found.above) == 5
    np.testing.assert_allclose(np.linalg.norm(found.above, axis=1), 1.0, rtol=1e-12)
    assert np.abs(_sums(rows, u, found.above)).min() > 0.5 * top
    few = search_cones(rows, -u, 0.5 * float(top), max_cones=50_000)
    assert len(few.above) == 1


def test_equal_rows_are_added_up_and_the_limit_is_kept() -> None:
    """u and -u on the same row are nothing; a search that may not split ends at its limit."""
    rows, u = _table(3, 20, 4)
    twice = search_cones(np.vstack([rows, rows]), np.r_[u, -u], 1e-6, max_cones=16)
    assert twice.is_closed
    assert twice.n_cones == 16
    W = np.random.default_rng(0).standard_normal((20_000, 4))
    top = np.abs(_sums(rows, u, W / np.linalg.norm(W, axis=1)[:, None])).max()
    short = search_cones(rows, u, 1.05 * float(top), max_cones=17)
    assert not short.is_closed
    assert short.n_cones == 18
    assert not len(short.above)


@pytest.mark.parametrize("seed", range(20))
def test_the_shortest_vector_against_its_conditions(seed: int) -> None:
    """q is at least G at every ray; its weights are nonnegative and zero where q is above G: these
    conditions have one solution. The spare length is 1e-12, over the least product with the middle
    of the cone.
    """
    rng = np.random.default_rng(seed)
    p = 2 + seed % 5
    units = np.eye(p) + 0.4 * rng.standard_normal((p, p))
    units /= np.linalg.norm(units, axis=1)[:, None]
    gram, G = units @ units.T, rng.standard_normal(p)
    weights, q = np.empty(p), np.empty(p)
    size = shortest_vector(units, gram, G, weights, q)
    assert size == pytest.approx(q @ q)
    assert (weights >= 0).all()
    if gram.sum(axis=1).min() > 0:
        assert (units @ q >= G).all()
        excess = units @ (weights @ units) - G
        assert np.abs(weights * excess).max() <= 1e-10
        np.testing.assert_allclose(q, weights @ units, atol=1e-9)
