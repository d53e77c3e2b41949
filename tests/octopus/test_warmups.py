"""The two warm-ups and the key fact about two saddles: closed forms against runs, derivatives
against seventy digits.
"""

import math
from decimal import Decimal

import numpy as np
import pytest
from tests.oracles.decimal_differences import derivatives

from globalmin.errors import DataError
from globalmin.octopus.escape import escape_ratio
from globalmin.octopus.warmups import (
    band_exit_steps,
    descent_path,
    far_escape_steps,
    far_gradient,
    far_value,
    saddle_gradient,
    saddle_value,
    two_saddle_times,
)


@pytest.mark.parametrize("x2", [0.9, 0.5, 1e-3, -1e-9, 1.0])
def test_exit_from_the_band_takes_the_closed_form(x2):
    """DU-E7.a: the simulated exit, step 1/4."""
    path = descent_path(saddle_gradient, [0.7, x2], 0.25, 60)
    assert int(np.argmax(np.abs(path[:, 1]) >= 1.0 - 1e-12)) == band_exit_steps(x2)
    np.testing.assert_allclose(path[:20, 0], 0.7 * 0.5 ** np.arange(20), rtol=1e-12)
    values = saddle_value(path)
    assert (np.diff(values) < 0).all()


def test_the_band_of_exponential_time_has_the_stated_width():
    """DU-E7.a: half-width 1.5^-exp(1/eps) needs exp(1/eps) steps."""
    for epsilon in (0.5, 0.25, 0.2):
        assert band_exit_steps(1.5 ** -math.exp(1 / epsilon)) >= math.exp(1 / epsilon) - 1e-9


@pytest.mark.parametrize(("distance", "steps"), [(10, 27), (20, 54), (40, 108)])
def test_far_starts_leave_as_late_as_measured(distance, steps):
    """DU-E7.b: R = 10, 20, 40, and the law 2.71 R."""
    assert far_escape_steps(distance) == steps
    assert distance * (1 + math.log(2) / math.log(1.5)) == pytest.approx(steps, abs=0.6)


def test_leaving_counts_beyond_the_slope_only():
    """DU-E7.b: from the joint with a short step |x_2| passes 1 while x_1 is still below -1."""
    path = descent_path(far_gradient, [-2.0001, 1.0], 0.002, 200)[1:]
    wide, beyond = np.abs(path[:, 1]) >= 1.0, path[:, 0] > -1.0
    assert (wide & ~beyond).any()
    assert far_escape_steps(2.0001, 1.0, 0.002) == 1 + int(np.argmax(wide & beyond))


def far_by_cases(x):
    """The three pieces in Decimal arithmetic."""
    u = x[0] + 2
    if u < 0:
        return -4 * x[0] + x[1] ** 2 - Decimal(23) / 6
    if u > 1:
        return x[0] ** 2 - x[1] ** 2
    straight = Decimal(25) / 6 - 4 * u + 4 * u**3 / 3 - u**4 / 2
    return straight + (1 - 2 * (10 * u**3 - 15 * u**4 + 6 * u**5)) * x[1] ** 2


def test_far_value_has_the_derivatives_of_its_pieces():
    """DU-E7.b: differences in seventy digits."""
    x = np.random.default_rng(0).uniform([-3.5, -1.0], [1.0, 1.0], (60, 2))
    values, gradients, _ = zip(*(derivatives(far_by_cases, row) for row in x), strict=True)
    np.testing.assert_allclose(far_value(x), values, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(far_gradient(x), gradients, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("edge", [-2.0, -1.0])
def test_far_value_is_twice_differentiable_at_the_joints(edge):
    """DU-E7.b: value, gradient and its differences agree on both sides."""
    for x2 in (-1.0, 0.3, 0.9):
        left, right = np.array([edge - 1e-12, x2]), np.array([edge + 1e-12, x2])
        np.testing.assert_allclose(far_value(left), far_value(right), atol=1e-10)
        np.testing.assert_allclose(far_gradient(left), far_gradient(right), atol=1e-10)
        for move in 1e-6 * np.eye(2):
            below = (far_gradient(left) - far_gradient(left - move)) / 1e-6
            above = (far_gradient(right + move) - far_gradient(right)) / 1e-6
            np.testing.assert_allclose(below, above, atol=1e-4)


def test_far_slope_falls_all_the_way_on_the_axis():
    """DU-E7.b: the derivative along x1 rises monotonically from -4 to -2 in between."""
    slopes = far_gradient(np.stack([np.linspace(-2, -1, 200), np.zeros(200)], axis=1))[:, 0]
    assert slopes[0] == -4.0
    assert slopes[-1] == pytest.approx(-2.0)
    assert (np.diff(slopes) > 0).all()


@pytest.mark.parametrize(
    ("L", "gamma", "eta"), [(1.0, 1.0, 0.25), (2.0, 1.0, 0.125), (3.0, 0.5, 0.01)]
)
def test_second_saddle_takes_the_key_factor_longer(L, gamma, eta):
    """DU-K7: the closed form against a run in logarithms; never less than (L + gamma)/gamma times
    as long.
    """
    up, down = math.log1p(2 * eta * gamma), math.log1p(-2 * eta * L)
    a, b, t, first = math.log(1e-4), math.log(0.3), 0, None
    while b < 0:
        first = t if first is None and a >= 0 else first
        b += down if a < 0 else up
        a += up
        t += 1
    t1, t2 = two_saddle_times(1e-4, 0.3, L, gamma, eta)
    assert math.ceil(t1) == first
    assert t2 == pytest.approx(t, abs=1 + (L + gamma) / gamma)
    assert t2 >= (L + gamma) / gamma * t1
    t1, t2 = two_saddle_times(0.2, 0.2, L, gamma, eta)
    assert t2 / t1 == pytest.approx(escape_ratio(L, gamma, eta) + 1, rel=1e-12)


def test_values_without_meaning_are_refused():
    with pytest.raises(DataError, match="x2"):
        band_exit_steps(0.0)
    with pytest.raises(DataError, match="distance"):
        far_escape_steps(1.0)
    with pytest.raises(DataError, match="max_iter"):
        far_escape_steps(10.0, max_iter=5)
    with pytest.raises(DataError, match="two entries"):
        saddle_value([1.0, 2.0, 3.0])
    with pytest.raises(DataError, match="step_size"):
        two_saddle_times(0.5, 0.5, 1.0, 1.0, 0.5)
