"""A printed bound is a bound: rounding goes outward, exactly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalmin.proving.proof import ProvedClaim, ProvedNumbers
from globalmin.report.words import (
    SHOWN,
    bound_text,
    lower_text,
    nearest_text,
    plain_statement,
    shown_numbers,
    typeset,
    upper_text,
)

RATIONALS = st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction)


@given(RATIONALS, st.integers(1, 8))
def test_upper_and_lower_texts_enclose_the_value_within_one_unit_of_the_last_digit(value, digits):
    low, high = Fraction(lower_text(value, digits)), Fraction(upper_text(value, digits))
    assert low <= value <= high
    assert low <= Fraction(nearest_text(value, digits)) <= high
    assert high - low <= abs(value) * Fraction(10) ** (1 - digits)


@pytest.mark.parametrize(
    ("value", "up", "down"),
    [
        ("1/3", "0.334", "0.333"),
        (0.5, "0.5", "0.5"),
        (0, "0", "0"),
        ("-1/3", "-0.333", "-0.334"),
        (999.9, "1000", "999"),
        (1e-27, "1.01e-27", "1e-27"),  # the double 1e-27 is a little above 10^-27
        (123456789, "1.24e8", "1.23e8"),
        (99999, "100000", "99900"),
        (999999, "1e6", "999000"),
    ],
)
def test_known_roundings(value, up, down):
    assert (upper_text(value), lower_text(value)) == (up, down)


def test_what_is_not_a_number_is_a_dash_or_infinity():
    assert nearest_text(None) == "–"
    assert nearest_text(float("nan")) == "–"
    assert upper_text(float("inf")) == "∞"


def test_typesetting_uses_a_true_minus_and_spaces_that_do_not_break():
    assert typeset("-1.5e-7") == "−1.5\u00a0×\u00a010⁻⁷"
    assert typeset("12.5") == "12.5"


def test_every_number_shown_is_rounded_to_the_side_that_keeps_its_bound_true():
    third = Fraction(1, 3)
    claim = ProvedClaim(
        "interpolation",
        "ACCEPTED",
        "",
        "",
        ProvedNumbers.read({name: str(third) for name in SHOWN} | {"trained": "W"}),
    )
    for name, _, text in shown_numbers(claim):
        side = SHOWN[name][1]
        assert side == "nearest" or (Fraction(text) > third) == (side == "up")


def test_a_rate_close_to_one_is_shown_by_its_distance_from_one():
    assert (
        bound_text("rate", 1 - 2.0**-20) == "1 - 9.53e-7"
    )  # 2^-20 = 9.5367...e-7, rounded down: the rate is rounded up
    assert bound_text("rate", 0.5) == "0.5"


def test_plain_words_carry_the_numbers_and_unknown_kinds_fall_back_to_the_checker():
    claim = ProvedClaim(
        "interpolation", "ACCEPTED", "", "words", ProvedNumbers(R=1e-12, loss_upper=0.125)
    )
    assert "0.125" in plain_statement(claim)
    assert (
        plain_statement(ProvedClaim("new-kind", "ACCEPTED", "", "words", ProvedNumbers()))
        == "words"
    )
