"""The block arcsine against 100 bits."""

import numpy as np
import pytest
from flint import arb
from tests.activations.ball_formulas import precision

from globalmin.activations.dual_pairs import arcsine


def ulps(x):
    with precision(100, 2):
        exact = [arb(float(value)).asin() for value in x]
        return [
            float(abs(arb(float(got)) - ball)) / np.spacing(abs(float(ball)))
            for got, ball in zip(arcsine(x), exact, strict=True)
        ]


@pytest.mark.parametrize("reach", [1.0, 0.505])
def test_errors_are_at_most_four_units_in_the_last_place(reach):
    """Both ways of treating entries beyond 1/2: many of them, or a few."""
    x = np.random.default_rng(0).uniform(-reach, reach, 4000)
    edges = [0.5, np.nextafter(0.5, 1), -0.5, 1e-300, 1e-9, -0.25] + (
        [1.0, -1.0, np.nextafter(1.0, 0)] if reach == 1.0 else []
    )
    assert max(ulps(np.concatenate([x, edges]))) <= 4.0


def test_ends_and_zero_are_exact():
    np.testing.assert_array_equal(arcsine(np.array([1.0, -1.0, 0.0])), [np.pi / 2, -np.pi / 2, 0.0])
    assert arcsine(np.ones((2, 3))).shape == (2, 3)
