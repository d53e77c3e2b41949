"""The bounds of |phi^(j)| over the line, proved again by ball arithmetic on [-T, T] and an explicit
tail beyond.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from tests.activations.ball_formulas import SMOOTH, is_below, jet, precision

from globalmin.activations import get_activation
from globalmin.activations.suprema import float_above

EDGE = {"softplus": 40.0, "sigmoid": 40.0, "tanh": 40.0, "swish": 40.0, "erf": 12.0, "gelu": 12.0}
LIMIT_AT_INFINITY = {
    ("softplus", 1): 1.0,
    ("swish", 1): 1.0,
    ("gelu", 1): 1.0,
}  # every other |phi^(j)| tends to 0 on both sides
EXACT_AT_ZERO = {  # by hand: the bound is |phi^(j)(0)|, and phi^(j) is even, so its slope at 0 is 0
    ("softplus", 2): Fraction(1, 4),
    ("softplus", 4): Fraction(1, 8),
    ("sigmoid", 1): Fraction(1, 4),
    ("sigmoid", 3): Fraction(1, 8),
    ("tanh", 1): Fraction(1),
    ("tanh", 3): Fraction(2),
    ("swish", 2): Fraction(1, 2),
    ("swish", 4): Fraction(1, 2),
}
CASES = [(name, order) for name in SMOOTH for order in (1, 2, 3, 4)]


def ball(fraction):
    with precision(160, 2):
        return arb(fmpq(fraction.numerator, fraction.denominator))


def tail_envelope(name, z):
    """A decreasing bound, for z >= 5, of the distance of |phi^(j)(+-z)|, j = 1..4, from its limit.

    Logistic: |s^(j)| <= 2 e^{-z} since s' <= e^{-z} and s^(j)/s' are products of factors at most 1,
    and 1 - 12 s' in [-2, 1]; z s(z): Leibniz gives |phi^(j)| <= 4 |s^(j-1)| + z |s^(j)| up to the
    limit; tanh z = 2 s(2z) - 1: at most 64 e^{-2z}. erf, GELU: a Hermite polynomial of degree <= 4
    with coefficients at most 16 times e^{-z^2/2}, and 1 - Phi(z) <= e^{-z^2/2}.
    """
    if name in ("erf", "gelu"):
        return 100 * (1 + z) ** 4 * math.exp(-z * z / 2)
    return 64 * (1 + z) * math.exp(-z)


@pytest.mark.parametrize(("name", "order"), CASES)
def test_line_bounds_hold(name, order):
    bound = get_activation(name).supremum(order)
    exact = EXACT_AT_ZERO.get((name, order)) == bound
    if exact:
        psi, slope = jet(name, 0.0, order + 1)[order:]
        assert abs(psi).contains(ball(bound))
        assert slope.contains(0)
    edge = EDGE[name]
    assert is_below(
        lambda z: jet(name, z, order + 2)[order:], ball(bound), -edge, edge, exact_at_zero=exact
    )
    if (name, order) == ("softplus", 1):
        assert bound == 1  # the logistic function is below 1 everywhere
    else:
        assert LIMIT_AT_INFINITY.get((name, order), 0.0) + tail_envelope(name, edge) < bound


@pytest.mark.parametrize("name", SMOOTH)
def test_the_tail_envelope_is_one(name):
    for z in (5.0, 8.0, EDGE[name]):
        for side in (-z, z):
            for order in (1, 2, 3, 4):
                value = jet(name, side, order)[order]
                limit = LIMIT_AT_INFINITY.get((name, order), 0.0) if side > 0 else 0.0
                with precision(160, 2):
                    assert abs(abs(value) - limit) < tail_envelope(name, z)


@pytest.mark.parametrize(("name", "order"), CASES)
def test_line_bounds_are_within_1e_7_of_a_value_attained(name, order):
    bound = float(get_activation(name).supremum(order))
    grid = np.concatenate([np.linspace(-9, 9, 721), [-40.0, 40.0]])
    sizes = [abs(float(jet(name, float(z), order)[order])) for z in grid]
    center, width = float(grid[int(np.argmax(sizes))]), 0.025
    for _ in range(4):  # zoom in on the largest value
        local = np.linspace(center - width, center + width, 21)
        center, width = (
            float(local[np.argmax([abs(float(jet(name, float(z), order)[order])) for z in local])]),
            width / 10,
        )
    attained = max(abs(float(jet(name, center, order)[order])), max(sizes))
    assert attained <= bound * (1 + 1e-15)
    assert bound <= attained * (1 + 1e-7)


def test_the_known_decimals():
    table = {
        "sigmoid": ("1/4", "0.09622505", "1/8", "0.12768393"),
        "softplus": ("1", "1/4", "0.09622505", "1/8"),
        "tanh": ("1", "0.76980036", "2", "4.08588551"),
        "erf": ("1.12837917", "0.96788290", "2.25675834", "4.40470272"),
    }
    for name, decimals in table.items():
        assert [get_activation(name).supremum(j) for j in (1, 2, 3, 4)] == [
            Fraction(text) for text in decimals
        ]


@pytest.mark.parametrize("b", [0.1, 4.0, 1024.0, 1 / 3])
def test_steep_versions_scale_exactly(b):
    exact = Fraction(b)
    for order in (1, 2, 3, 4):
        softplus, sigmoid = (
            get_activation(f"{name}({b!r})").supremum(order) for name in ("softplus", "sigmoid")
        )
        assert softplus == get_activation("softplus").supremum(order) * exact ** (order - 1)
        assert sigmoid == get_activation("sigmoid").supremum(order) * exact**order


def test_line_suprema_of_functions_with_kinks_and_polynomials():
    assert [get_activation("relu").supremum(j) for j in (1, 2, 3, 4)] == [
        1,
        math.inf,
        math.inf,
        math.inf,
    ]
    assert [get_activation("leaky_relu(0.5)").supremum(j) for j in (1, 2)] == [1, math.inf]
    assert [get_activation("abs").supremum(j) for j in (1, 2)] == [1, math.inf]
    assert [get_activation("linear").supremum(j) for j in (1, 2, 3, 4)] == [1, 0, 0, 0]
    assert [get_activation("quadratic").supremum(j) for j in (1, 2, 3, 4)] == [math.inf, 2, 0, 0]
    assert [get_activation("polynomial(5,1,0.1)").supremum(j) for j in (1, 2, 3)] == [
        math.inf,
        2 * Fraction(0.1),
        0,
    ]
    assert [get_activation("polynomial(5,-3,0,0)").supremum(j) for j in (1, 2)] == [3, 0]
    assert get_activation("polynomial(5)").supremum(1) == 0


def test_float_above_never_rounds_down():
    for value in (
        Fraction(1, 3),
        Fraction(2, 3),
        Fraction(1, 10),
        Fraction(10**30, 7),
        Fraction(1),
        Fraction(-1, 3),
    ):
        above = float_above(value)
        assert Fraction(above) >= value
        assert Fraction(math.nextafter(above, -math.inf)) < value
    assert float_above(math.inf) == math.inf
