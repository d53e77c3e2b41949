"""The crossing of one half: against simulation, a generic optimizer, and the cases in which plain
likelihood fails.
"""

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.reproductions.crossing import logistic_crossing


def counts(center, slope, x, trials, seed):
    p = 1 / (1 + np.exp(-slope * (x - center)))
    return np.random.default_rng(seed).binomial(trials, p)


def test_the_fit_is_the_maximum_found_by_a_generic_optimizer():
    from scipy.optimize import minimize

    x, trials = np.arange(5.0, 18.0), 40
    hits = counts(11.4, 0.9, x, trials, seed=0)

    def height(theta):
        logit = theta[0] + theta[1] * x
        p = 1 / (1 + np.exp(-logit))
        weight = trials * p * (1 - p)
        design = np.stack([np.ones_like(x), x])
        likelihood = np.sum(hits * np.log(p) + (trials - hits) * np.log1p(-p))
        return -(likelihood + 0.5 * np.linalg.slogdet(design * weight @ design.T)[1])

    best = minimize(
        height,
        [-11.0, 1.0],
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 4_000},
    ).x
    found = logistic_crossing(x, hits, trials)
    assert found.center == pytest.approx(-best[0] / best[1], abs=0.02)
    assert found.slope == pytest.approx(best[1], rel=0.05)
    assert found.curve(np.array([found.center]))[0] == pytest.approx(0.5)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    x, truth, draws = np.arange(6.0, 17.0), 11.2, 200
    inside = 0
    for seed in range(draws):
        found = logistic_crossing(x, counts(truth, 1.2, x, 10, seed), 10)
        assert found.low <= found.center <= found.high
        inside += found.low <= truth <= found.high
    assert 0.90 * draws <= inside <= 0.99 * draws  # 95 % nominal, three standard errors of 0.0154


def test_a_jump_from_none_to_all_gives_a_finite_crossing_between_the_points():
    found = logistic_crossing([4, 5, 6, 7], [0, 0, 10, 10], 10)
    assert 5 < found.low < found.center < found.high < 6
    assert found.center == pytest.approx(5.5, abs=0.01)


def test_shares_of_single_trials_may_repeat_a_point():
    once = logistic_crossing([1, 2, 3], [0, 2, 4], 4)
    spread = logistic_crossing([1] * 4 + [2] * 4 + [3] * 4, [0] * 4 + [1, 1, 0, 0] + [1] * 4, 1)
    assert spread.center == pytest.approx(once.center, abs=1e-9)


def test_bad_counts_are_refused():
    with pytest.raises(DataError, match="two different x"):
        logistic_crossing([3, 3], [1, 0], 2)
    with pytest.raises(DataError, match="between 0 and"):
        logistic_crossing([3, 4], [1, 5], 2)
