"""Exact facts about doubles against plain rationals."""

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from globalmin_check.exact import inner_product, row_ratio

doubles = st.floats(allow_nan=False, allow_infinity=False)
small = st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -6.0, 1.5, 2.0**-1074, 2.0**1000])


def ratio_by_rationals(x: list[float], u: list[float]) -> Fraction | None:
    place = next((j for j, value in enumerate(u) if value), None)
    if place is None or not x[place]:
        return None
    c = Fraction(x[place]) / Fraction(u[place])
    return c if all(Fraction(a) == c * Fraction(b) for a, b in zip(x, u, strict=True)) else None


@given(st.lists(st.tuples(small, small), min_size=1, max_size=4))
def test_the_ratio_of_two_rows_is_that_of_rationals(pairs: list[tuple[float, float]]):
    x, u = map(list, zip(*pairs, strict=True))
    assert row_ratio(x, u) == ratio_by_rationals(x, u)


@given(st.lists(doubles, min_size=1, max_size=4), st.integers(-40, 40), st.booleans())
def test_a_row_and_a_multiple_of_it_by_a_power_of_two(u: list[float], power: int, turned: bool):
    x = [(-1.0 if turned else 1.0) * 2.0**power * value for value in u]
    assume(all(map(math.isfinite, x)))
    assert row_ratio(x, u) == ratio_by_rationals(x, u)


@pytest.mark.parametrize(
    ("x", "u"),
    [
        ([1.0, 2.0], [1.0, 1.0]),  # equal odd parts, other exponents
        ([3.0, 6.0], [1.0, 4.0]),
        ([1.0, 0.0], [1.0, 1.0]),
        ([0.0, 1.0], [1.0, 1.0]),
        ([1.0, 1.0], [0.0, 0.0]),
    ],
)
def test_rows_that_are_not_proportional_have_no_ratio(x: list[float], u: list[float]):
    assert row_ratio(x, u) is None


@given(st.lists(st.tuples(doubles, doubles), max_size=5))
def test_the_inner_product_is_that_of_rationals(pairs: list[tuple[float, float]]):
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    exact = sum((Fraction(a) * Fraction(b) for a, b in pairs), Fraction(0))
    assert inner_product(left, right) == exact
