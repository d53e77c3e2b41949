"""Recovery as promised: regression to 1e-3 in 19 of 20 draws, classification errors by n (FCL-ALG1,
FCL-ALG2, FCL-T2).
"""

import numpy as np
import pytest
from bench.recovery import Problem, end_errors, large, start_errors

from globalmin.recovery.information import asymptotic_error, estimate_label_information


@pytest.mark.parametrize("d", [10, 20])
def test_regression_from_three_thousand_samples(d):
    found = [Problem(d, 1.5).recover(3_000, seed) for seed in range(20)]
    errors = np.array([one.error_against(W) for one, W in found])
    print(f"d={d}: {np.sum(errors < 1e-3)} of 20 below 1e-3, worst {errors.max():.2g}")
    assert np.sum(errors < 1e-3) >= 19
    silent = [
        one
        for (one, _), error in zip(found, errors, strict=True)
        if error >= 1e-3 and not one.warnings
    ]
    assert not silent


def test_classification_errors_fall_with_the_number_of_samples():
    """Median of 8 draws at d = 10, sigma = 3, the critical point of the squared loss: at most .20,
    .11, .05.
    """
    errors = np.median(
        end_errors(Problem(10, 3.0, "classification"), [10_000, 30_000, 100_000], 8), axis=1
    )
    print(f"classification: {errors.round(4)}")
    assert np.all(errors <= [0.20, 0.11, 0.05])


def test_the_likelihood_is_no_worse_than_the_squares():
    problem = Problem(10, 3.0, "classification")
    squares, likelihood = (
        end_errors(problem, [10_000], 6, estimator=name) for name in ("squares", "likelihood")
    )
    assert likelihood.mean() < squares.mean()


def test_tuning_matters():
    """Start alone, regression, d = 10, sigma = 1.5: literal against tuned over n, medians of 3
    draws.
    """
    errors = start_errors(Problem(10, 1.5), [3_000, 30_000], 3)
    literal, tuned = (np.median(errors[name], axis=1) for name in ("literal", "tuned"))
    print(f"literal {literal.round(3)}, tuned {tuned.round(3)}")
    assert np.all(tuned < [0.3, 0.12])
    assert np.all(literal > 4 * tuned)


@pytest.mark.campaign
@pytest.mark.parametrize("d", [10, 20])
def test_regression_from_three_thousand_samples_over_a_hundred_draws(d):
    """The same promise with little left to luck: 95 of 100 other draws, and no failure without a
    warning.
    """
    found = [Problem(d, 1.5).recover(3_000, seed) for seed in range(100, 200)]
    errors = np.array([one.error_against(W) for one, W in found])
    print(f"d={d}: {np.sum(errors < 1e-3)} of 100 below 1e-3, worst {errors.max():.2g}")
    assert np.sum(errors < 1e-3) >= 95
    assert all(one.warnings for (one, _), error in zip(found, errors, strict=True) if error >= 1e-3)


@pytest.mark.campaign
def test_classification_errors_are_those_of_the_theory_over_twenty_draws():
    """n = 100,000: root mean squares of both estimators within four standard errors of the
    asymptotic ones (FCL-T2 with numbers).

    Their medians are .0511 and .0488 in the limit, and the median of 20 draws scatters by .003.
    """
    problem, n = Problem(10, 3.0, "classification"), 100_000
    W = problem.draw(10, 0)[2]
    info = estimate_label_information(W, "sigmoid")
    for name, C in (
        ("squares", info.squares_covariance),
        ("likelihood", info.likelihood_covariance),
    ):
        squares = np.square(end_errors(problem, [n], 20, estimator=name)[0])
        expected = (asymptotic_error(C, n) / np.linalg.norm(W)) ** 2
        print(f"{name}: {np.sqrt(squares.mean()):.4f}, in the limit {np.sqrt(expected):.4f}")
        assert abs(squares.mean() - expected) < 4 * squares.std() / np.sqrt(20)


@pytest.mark.campaign
def test_a_million_samples_of_a_hundred_features_fit_into_eight_gibibytes():
    """d = 100, K = 5, n = 1,000,000: about 45 CPU seconds; the error falls to rounding, the moments
    are streamed.
    """
    error, peak = large()
    assert error < 1e-8
    assert peak < 8


@pytest.mark.campaign
def test_classification_slope_is_one_half_over_twenty_draws():
    sizes = [10_000, 30_000, 100_000]
    errors = np.sqrt(
        np.mean(np.square(end_errors(Problem(10, 3.0, "classification"), sizes, 20)), axis=1)
    )
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    print(f"root mean square errors {errors.round(4)}, slope {slope:.3f}")
    assert -0.65 < slope < -0.4
