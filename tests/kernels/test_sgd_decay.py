"""Mean decay of stochastic descent against OS-C4 and (2.10): the right step and rate agree, wrong
ones do not.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.shallow.methods.sgd_cases import near_fit

import globalmin as gm
from globalmin.errors import DataError, HypothesisError
from globalmin.kernels.sgd_decay import SGDDecay


def with_rate(found: SGDDecay, factor: float) -> SGDDecay:
    """The same runs against a bound whose decay is faster by the factor."""
    promised = replace(found.guarantee, rate=1 - factor * (1 - found.guarantee.rate))
    bound = promised.envelope(found.updates, float(found.bound[0]))
    return replace(found, guarantee=promised, bound=bound)


@pytest.fixture(scope="module")
def decay() -> SGDDecay:
    network, data, _ = near_fit()
    return gm.sgd_decay(network, data, runs=200, updates=3000)


def test_runs_agree_with_os_c4_and_their_slowest_decay_is_near_its_edge(decay):
    """The residual lies along the least singular direction, where the mean falls by 1 - 2 eta a^2/n
    at most, against the promised 1 - eta (2a/3)^2/n: at most 4.5 times as fast.
    """
    assert decay.is_consistent
    assert decay.exits == 0
    assert (decay.low <= decay.mean).all()
    assert (decay.mean <= decay.high).all()
    slope = math.log(decay.mean[-1] / decay.mean[0]) / decay.updates[-1]
    ratio = slope / math.log(decay.guarantee.rate)
    assert 1.0 < ratio <= 4.5 * 1.1  # the rate of the mean is measured to some per cent


def test_a_wrong_rate_is_caught(decay):
    assert with_rate(decay, 1.5).is_consistent  # OS-C4 is not sharp
    assert not with_rate(decay, 6.0).is_consistent
    assert with_rate(decay, 6.0).excess > 4.0


def test_a_wrong_step_is_caught():
    network, data, _ = near_fit()
    eta = gm.sgd_guarantee(network, data).step_size
    slow = gm.sgd_decay(network, data, runs=40, updates=3000, step_size=eta / 10)
    assert not slow.is_consistent
    fast = gm.sgd_decay(network, data, runs=40, updates=300, step_size=200 * eta)
    assert not fast.is_consistent


def test_the_band_is_that_of_the_mean_of_independent_runs():
    """Two halves of the runs differ by what their standard errors say."""
    network, data, _ = near_fit()
    halves = [gm.sgd_decay(network, data, runs=60, updates=400, seed=s) for s in (1, 2)]
    gap = abs(halves[0].mean[-1] - halves[1].mean[-1])
    assert 0 < gap < 5 * math.hypot(halves[0].error[-1], halves[1].error[-1])
    again = gm.sgd_decay(network, data, runs=60, updates=400, seed=1)
    assert np.array_equal(again.mean, halves[0].mean)


def test_exits_end_a_run_and_count_against_the_promised_probability():
    network, data, _ = near_fit()
    eta = gm.sgd_guarantee(network, data).step_size
    lost = gm.sgd_decay(network, data, runs=10, updates=200, step_size=3000 * eta)
    assert lost.exits == 10
    assert lost.exit_probability < 1e-6
    assert lost.mean[-1] == 0.0
    assert not lost.is_consistent


def test_runs_agree_with_the_printed_theorem_and_not_with_a_far_too_fast_one():
    data = gm.generators.sphere_with_random_labels(4, 6, seed=0)
    network = gm.ShallowNetwork.initialize(data, width=40, seed=0)
    found = gm.sgd_decay(network, data, theorem="OS-T2.6", runs=40, updates=3000)
    assert found.is_consistent
    X, y_norm = data.X, float(np.linalg.norm(data.y))
    products = np.stack([np.outer(x, x).ravel() for x in X])
    sigma, X_norm = np.linalg.svd(products)[1][-1], np.linalg.norm(X, 2)
    mu = 0.206621  # E[g phi'(g)] of softplus, B = 1
    nu = 4 / 0.1 * (3 * X_norm / (mu * sigma)) ** (1 / 240)
    eta = mu**2 / (9 * nu) * 4 / y_norm**2 * sigma**2 / X_norm**2
    assert found.step_size == pytest.approx(eta, rel=1e-5)
    decay = (mu * sigma) ** 4 / (144 * 4 * nu * X_norm**2)
    assert 1 - found.guarantee.rate == pytest.approx(decay, rel=1e-5)
    assert found.guarantee.failure == pytest.approx(0.1)
    # alpha^2 = a^2/8 and a factor 2 are lost, and lambda(X) is above its lower bound: some 1e2
    assert not with_rate(found, 1e5).is_consistent


def test_the_figure_is_written(decay, tmp_path):
    path = decay.plot(tmp_path / "decay.svg")
    text = path.read_text(encoding="utf-8")
    assert "bound of OS-C4" in text
    assert "mean of 200 runs" in text


def test_refusals_name_the_argument():
    network, data, _ = near_fit()
    for bad, word in (
        ({"theorem": "OS-T2.1"}, "theorem="),
        ({"runs": 1}, "runs="),
        ({"updates": 0}, "updates="),
        ({"theorem": "OS-T2.6", "failure": 2.0}, "failure="),
    ):
        with pytest.raises(DataError, match=word):
            gm.sgd_decay(network, data, **bad)
    wide = gm.Dataset(2.0 * data.X, data.y, bias=False, scaling="none")
    with pytest.raises(HypothesisError, match="norm 1"):
        gm.sgd_decay(network, wide, theorem="OS-T2.6")
