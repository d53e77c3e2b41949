"""The block arcsine against 100 bits."""

import numpy as np
import pytest
from flint import arb
from tests.activations.ball_formulas import precision

from globalmin.activations import dual_pairs
from globalmin.activations.dual_pairs import arcsine, arcsine_by_polynomial

ROADS = [arcsine, arcsine_by_polynomial]


def ulps(x, road):
    with precision(100, 2):
        exact = [arb(float(value)).asin() for value in x]
        return [
            float(abs(arb(float(got)) - ball)) / np.spacing(abs(float(ball)))
            for got, ball in zip(road(x), exact, strict=True)
        ]


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("reach", [1.0, 0.505])
def test_errors_are_at_most_four_units_in_the_last_place(reach, road):
    """numpy's own where it has vector instructions, and the polynomial with both ways of treating
    entries beyond 1/2: many of them, or a few.
    """
    x = np.random.default_rng(0).uniform(-reach, reach, 4000)
    edges = [0.5, np.nextafter(0.5, 1), -0.5, 1e-300, 1e-9, -0.25] + (
        [1.0, -1.0, np.nextafter(1.0, 0)] if reach == 1.0 else []
    )
    assert max(ulps(np.concatenate([x, edges]), road)) <= 4.0


@pytest.mark.parametrize("road", ROADS)
def test_ends_and_zero_are_exact(road):
    np.testing.assert_array_equal(road(np.array([1.0, -1.0, 0.0])), [np.pi / 2, -np.pi / 2, 0.0])
    assert road(np.ones((2, 3))).shape == (2, 3)


@pytest.mark.parametrize("has", [True, False])
def test_the_road_follows_what_numpy_has(has, monkeypatch):
    monkeypatch.setattr(dual_pairs, "has_vector_arcsine", lambda: has)
    x = np.linspace(-1.0, 1.0, 1001)
    expected = np.arcsin(x) if has else arcsine_by_polynomial(x)
    np.testing.assert_array_equal(arcsine(x), expected)
    assert not np.array_equal(np.arcsin(x), arcsine_by_polynomial(x))
