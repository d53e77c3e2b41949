"""Ball comparisons are certain or nothing; rounding goes to the safe side."""

import math
from fractions import Fraction

import pytest
from flint import arb, ctx

from globalmin_check.balls import (
    ball,
    decide,
    decimal_down,
    decimal_up,
    largest,
    lower_float,
    precision,
    root,
    shown,
    sum_of_squares,
    upper_float,
)

NAN = arb("nan")


def test_precision_is_set_and_restored_also_after_an_exception() -> None:
    before = ctx.prec
    with precision(300):
        assert ctx.prec == 300
    with pytest.raises(ZeroDivisionError), precision(500):
        raise ZeroDivisionError
    assert ctx.prec == before


def test_rationals_are_compared_exactly() -> None:
    third = Fraction(1, 3)
    assert decide(third, "<=", third) is True
    assert decide(third, "<", third) is False
    assert decide(third, "<", third + Fraction(1, 10**400)) is True


def test_balls_decide_only_when_certain() -> None:
    wide = arb(1, 0.5)
    assert decide(wide, "<", 2) is True
    assert decide(wide, "<=", Fraction(1, 4)) is False
    assert decide(wide, "<", 1) is None
    assert decide(wide, "<=", arb(1.2, 0.5)) is None
    assert decide(arb(1), "<", 1) is False
    assert decide(arb(1), "<=", 1) is True


@pytest.mark.parametrize("relation", ["<", "<="])
def test_nan_and_unbounded_balls_decide_nothing(relation: str) -> None:
    for other in (arb(0), NAN, Fraction(5), arb("inf")):
        assert decide(NAN, relation, other) is None
        assert decide(other, relation, NAN) is None
    assert decide(arb(0, math.inf), relation, 1) is None


def test_a_rational_that_is_no_double_becomes_a_ball_that_contains_it() -> None:
    tenth = ball(Fraction(1, 10))
    assert not tenth.is_exact()
    assert abs(10 * tenth - 1) < 1e-30
    assert ball(Fraction(1, 8)).is_exact()
    assert ball(3) == 3


def test_root_respects_a_known_sign() -> None:
    assert root(arb(4)) == 2
    assert root(arb(0)) == 0
    around_zero = root(arb(0, 1e-20))
    assert around_zero.contains(0)
    assert around_zero.contains(arb(0.99e-10))
    assert around_zero < 1.1e-10
    assert root(arb(-1)).is_nan()
    assert root(NAN).is_nan()


def test_the_largest_of_overlapping_balls_encloses_the_maximum() -> None:
    result = largest([arb(1, 0.5), arb(1.2, 0.1), arb(0.3)])
    assert result.contains(arb(1.5))
    assert result.contains(arb(1.2))
    assert largest([NAN]).is_nan()
    assert sum_of_squares([arb(3), arb(-4)]) == 25


@pytest.mark.parametrize(
    "value", [Fraction(p, q) for p in (1, -1, 10**400, -(10**400), 0) for q in (1, 2, 3, 10**500)]
)
def test_floats_and_decimals_are_rounded_to_the_safe_side(value: Fraction) -> None:
    assert upper_float(value) == math.inf or Fraction(upper_float(value)) >= value
    assert lower_float(value) == -math.inf or Fraction(lower_float(value)) <= value
    assert Fraction(decimal_down(value)) <= value <= Fraction(decimal_up(value))
    assert value == 0 or abs(Fraction(decimal_up(value)) / value - 1) < Fraction(1, 10**5)


def test_floats_of_balls_are_rounded_to_the_safe_side() -> None:
    third = ball(Fraction(1, 3))
    assert Fraction(lower_float(third)) < Fraction(1, 3) < Fraction(upper_float(third))
    assert upper_float(third) - lower_float(third) < 1e-15
    assert upper_float(arb(10) ** 400) == math.inf
    assert lower_float(arb(10) ** 400) > 1e308
    assert math.isnan(upper_float(NAN))


def test_numbers_are_shown_shortly() -> None:
    assert shown(Fraction(1, 3)) == "0.3333333333"
    assert shown(Fraction(10) ** 400) == "a number beyond 10^300"
    assert "+/-" in shown(arb(1, 0.5))
    assert shown(arb("inf")) == "infinity"
    assert shown(NAN) == "an unbounded ball"
    assert "+/-" not in shown(ball(Fraction(1, 3)))
