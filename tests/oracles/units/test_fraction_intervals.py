"""The interval arithmetic of the slow checker against exact rationals and against 300-bit balls of
another library.
"""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from tests.oracles.fraction_elementary import (
    decay,
    erf,
    exp_minus_one,
    log_one_plus,
    pi,
    two_over_root_pi,
)
from tests.oracles.fraction_intervals import (
    Interval,
    UndefinedError,
    at_most,
    larger,
    largest,
    less,
    smaller,
    total,
)

BITS = 160


def ball(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def assert_encloses(interval: Interval, truth: arb, bits: int = BITS) -> None:
    assert not truth < ball(interval.lower)
    assert not truth > ball(interval.upper)
    width = interval.upper - interval.lower
    assert ball(width) <= abs(truth) * ball(Fraction(1, 2 ** (bits - 12)))


def bits_of(rng: np.random.Generator, count: int) -> int:
    return int.from_bytes(rng.bytes(16), "little") >> (128 - count)


def rationals(seed: int, count: int, largest_exponent: int) -> list[Fraction]:
    rng = np.random.default_rng(seed)
    return [
        Fraction(bits_of(rng, 60) + 1, bits_of(rng, 60) + 1)
        * Fraction(2) ** int(rng.integers(-60, largest_exponent + 1))
        for _ in range(count)
    ]


def random_interval(rng: np.random.Generator, bits: int) -> tuple[Interval, Fraction]:
    a = Fraction(bits_of(rng, 80) - 2**79, bits_of(rng, 70) + 1)
    width = Fraction(bits_of(rng, 30), bits_of(rng, 40) + 1)
    interval = Interval.between(Interval.of(a, bits), Interval.of(a + width, bits))
    return interval, a + width * Fraction(int(rng.integers(9)), 8)


def test_every_operation_contains_the_exact_result_of_its_points():
    rng = np.random.default_rng(20)
    for _ in range(2000):
        bits = int(rng.choice([20, 60, 160]))
        (A, a), (B, b) = random_interval(rng, bits), random_interval(rng, bits)
        cases = [
            (A + B, a + b),
            (A - B, a - b),
            (A * B, a * b),
            (-A, -a),
            (abs(A), abs(a)),
            (A.square(), a * a),
        ]
        cases += [
            (smaller(A, B), min(a, b)),
            (larger(A, B), max(a, b)),
            (largest([A, B, A]), max(a, b)),
            (total([A, B], bits), a + b),
        ]
        if not B.low <= 0 <= B.high:
            cases += [(A / B, a / b), (B.reciprocal(), 1 / b)]
        for interval, exact in cases:
            assert interval.lower <= exact <= interval.upper


def test_point_operations_are_tight_and_short_dyadic_ones_are_exact():
    for p, q in zip(rationals(1, 200, 60), rationals(2, 200, 60), strict=True):
        A, B = Interval.of(p, BITS), Interval.of(q, BITS)
        for interval, exact in ((A * B, p * q), (A + B, p + q), (A / B, p / q)):
            assert interval.upper - interval.lower <= exact / 2 ** (BITS - 4)
    half, three = Interval.of(Fraction(1, 2), BITS), Interval.of(3, BITS)
    assert (half * three).lower == (half * three).upper == Fraction(3, 2)
    assert (three - half).lower == (three - half).upper == Fraction(5, 2)


def test_square_root_is_the_tightest_dyadic_enclosure_and_exact_on_squares():
    for x in rationals(3, 300, 80):
        root = Interval.of(x, BITS).sqrt()
        assert root.lower**2 <= x <= root.upper**2
        assert root.upper - root.lower <= root.upper / 2 ** (BITS - 3)
        exact = Interval.of(Fraction(x.numerator, 2**61) ** 2, BITS).sqrt()
        assert exact.lower == exact.upper == Fraction(x.numerator, 2**61)


def test_square_root_cuts_the_negative_part_and_refuses_a_negative_interval():
    assert Interval(-1, 4, 0, BITS).sqrt().lower == 0
    assert Interval(-1, 4, 0, BITS).sqrt().upper == 2
    with pytest.raises(UndefinedError):
        Interval(-4, -1, 0, BITS).sqrt()


def test_division_by_an_interval_with_zero_is_undefined():
    for low, high in ((-1, 1), (0, 1), (-1, 0), (0, 0)):
        with pytest.raises(UndefinedError):
            Interval(low, high, 0, BITS).reciprocal()


def test_comparisons_have_three_answers():
    one, two, wide = Interval.of(1, BITS), Interval.of(2, BITS), Interval(1, 3, 0, BITS)
    assert less(one, two) is True
    assert less(two, one) is False
    assert less(one, one) is False
    assert at_most(one, one) is True
    assert at_most(two, one) is False
    assert less(wide, two) is None
    assert at_most(wide, two) is None
    assert at_most(one, wide) is True
    assert less(one, wide) is None


def test_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="empty"):
        Interval(2, 1, 0, BITS)


@pytest.mark.parametrize("bits", [60, 160, 260])
def test_exponential_encloses_and_is_tight(bits: int):
    for t in [Fraction(0), *rationals(4, 60, 6), *rationals(5, 40, -20), Fraction(8192)]:
        if t > 8192:
            continue
        falling, complement = decay(t, bits)
        assert_encloses(exp_minus_one(t, bits), ball(t).expm1(), bits)
        assert_encloses(falling, (-ball(t)).exp(), bits)
        assert_encloses(complement, -(-ball(t)).expm1(), bits)


def test_exponential_of_a_huge_argument_is_between_zero_and_a_tiny_number():
    for t in (Fraction(8193), Fraction(10) ** 300):
        falling, complement = decay(t, BITS)
        assert falling.lower == 0
        assert 0 < falling.upper < Fraction(1, 2**11000)
        assert complement.upper == 1
        assert 1 - complement.lower < Fraction(1, 2**150)


@pytest.mark.parametrize("bits", [60, 160, 260])
def test_logarithm_encloses_and_is_tight(bits: int):
    for t in [*rationals(6, 80, 0), *rationals(7, 40, -40), Fraction(1)]:
        u = min(t, 1 / t)
        assert_encloses(log_one_plus(Interval.of(u, bits)), ball(u).log1p(), bits)


def test_logarithm_of_an_interval_contains_both_ends_and_the_domain_is_checked():
    low, high = Fraction(1, 3), Fraction(2, 3)
    wide = log_one_plus(Interval.between(Interval.of(low, BITS), Interval.of(high, BITS)))
    assert ball(wide.lower) < ball(low).log1p()
    assert ball(high).log1p() < ball(wide.upper)
    zero = log_one_plus(Interval.of(0, BITS))
    assert zero.lower == zero.upper == 0
    for bad in (Interval.of(2, BITS), Interval.of(-1, BITS)):
        with pytest.raises(ValueError, match="inside"):
            log_one_plus(bad)


@pytest.mark.parametrize("bits", [60, 160, 260])
def test_error_function_encloses_and_is_tight(bits: int):
    for z in [
        *rationals(8, 60, 2),
        *rationals(9, 30, -30),
        Fraction(1, 2),
        Fraction(13),
        Fraction(40),
    ]:
        if z < 60:
            assert_encloses(erf(z, bits), ball(z).erf(), bits)
    zero, far = erf(Fraction(0), bits), erf(Fraction(10) ** 200, bits)
    assert zero.lower == zero.upper == 0
    assert far.upper == 1
    assert 1 - far.lower < Fraction(1, 2 ** (bits - 2))


def test_pi_encloses_and_is_tight():
    for bits in (60, 160, 280):
        assert_encloses(pi(bits), arb.pi(), bits)
        assert_encloses(two_over_root_pi(bits), 2 / arb.pi().sqrt(), bits)
