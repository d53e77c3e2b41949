"""Binned columns: few values at the means of their rows, a problem that is the same for rows that
fall together, and a proof that speaks of the binned rows; pairs that are chosen by themselves.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.regularized.binning import binned


@pytest.mark.parametrize("seed", range(5))
def test_bins_are_quantiles_at_the_means_of_their_rows(seed: int):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.standard_normal(500) * 1e3, rng.exponential(size=500), rng.integers(0, 5, 500)]
    weight = rng.uniform(0.5, 2.0, 500) if seed % 2 else None
    used = np.ones(500) if weight is None else weight
    found = binned(X, 8, weight)
    np.testing.assert_array_equal(found[:, 2], X[:, 2])  # five values stay as they are
    for x, b in zip(X.T[:2], found.T[:2], strict=True):
        values = np.unique(b)
        assert len(values) == 8
        parts = [used[b == v].sum() for v in values]
        # a bin holds an eighth of the weight, up to one row at either end
        assert np.abs(np.array(parts) - used.sum() / 8).max() <= 2 * used.max()
        for v in values:
            mean = used[b == v] @ x[b == v] / used[b == v].sum()
            assert v == pytest.approx(mean, abs=np.abs(x).max() * 2.0**-19)  # rounded to 20 bits
        order = np.argsort(x)
        assert (np.diff(b[order]) >= 0).all()  # the order of the rows stays


def test_a_heavy_value_and_a_constant_column_have_bins_too():
    x = np.r_[np.zeros(90), np.arange(1.0, 11.0)]
    found = binned(np.c_[x, np.full(100, 7.0)], 4)
    assert len(np.unique(found[:, 0])) <= 4
    np.testing.assert_array_equal(found[:, 1], 7.0)
    assert np.ptp(found[x == 0.0, 0]) == 0.0


def test_the_proof_is_about_the_binned_rows_and_says_so():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(300)
    model = gm.AdditiveNetworkRegressor(
        interactions="pairs", bins=6, weight_decay=3.0, gap=1e-4
    ).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert model.optimal_
    assert "binned to at most 6 values" in model.gap_statement()
    stored = model.runs_[0].problem.X
    assert [len(np.unique(column)) for column in stored.T] == [6, 6, 6]
    # rows in the user's units are predicted as they are
    assert len(np.unique(model.predict(X))) == 300
    with pytest.raises(ValueError, match="bins"):
        gm.AdditiveNetworkRegressor(bins=1).fit(X, y)


def test_pairs_that_are_lacking_are_found_by_themselves():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((250, 5))
    y = X[:, 1] * X[:, 3] + X[:, 0] + 0.1 * rng.standard_normal(250)
    model = gm.AdditiveNetworkRegressor(
        interactions="auto", bins=8, weight_decay=20.0, gap=1e-3
    ).fit(X, y)
    groups = model.runs_[0].problem.group_list()
    assert groups[0] == (1, 3)  # the pair that is lacking most comes first
    assert 1 <= sum(len(group) == 2 for group in groups) <= 10
    assert {j for group in groups for j in group} == set(range(5))
    assert model.verdict_ == "ACCEPTED"
    assert model.score(X, y) > gm.AdditiveNetworkRegressor(weight_decay=20.0).fit(X, y).score(X, y)
    # nothing is lacking of a sum of curves with a strong decay
    plain = gm.AdditiveNetworkRegressor(interactions="auto", weight_decay=300.0).fit(X, X[:, 0])
    assert plain.runs_[0].problem.groups == "columns"
