"""Activations of the slow checker: enclosures against 300-bit balls, suprema against the closed
forms, golden values of the spec's table."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq
from tests.oracles.fraction_activations import SMOOTH, derivatives, exact_value, suprema, value

BITS = 160


def ball(x: Fraction) -> arb:
    return arb(fmpq(x.numerator, x.denominator))


def by_balls(name: str, z: arb, b: arb) -> tuple[arb, arb, arb]:
    """phi, phi', phi'' from their textbook formulas."""
    if name in ("softplus", "sigmoid"):
        s = 1 / (1 + (-b * z).exp())
        if name == "softplus":
            return (1 + (b * z).exp()).log() / b, s, b * s * (1 - s)
        return s, b * s * (1 - s), b**2 * s * (1 - s) * (1 - 2 * s)
    if name == "tanh":
        t = z.tanh()
        return t, 1 - t**2, -2 * t * (1 - t**2)
    slope = 2 / arb.pi().sqrt() * (-(z**2)).exp()
    return z.erf(), slope, -2 * z * slope


CASES = [
    ("softplus", None),
    ("softplus", Fraction(3, 2)),
    ("sigmoid", None),
    ("sigmoid", Fraction(5)),
    ("tanh", None),
    ("erf", None),
]


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_enclosures_contain_the_ball_values_and_are_tight(name: str, parameter: Fraction | None):
    rng = np.random.default_rng(7)
    points = [Fraction(float(z)) for z in 3 * rng.normal(size=40)] + [
        Fraction(0),
        Fraction(1e-12),
        Fraction(-7.5),
    ]
    for z in points:
        truths = by_balls(name, ball(z), ball(parameter or Fraction(1)))
        for interval, truth in zip(derivatives(name, z, BITS, parameter), truths, strict=True):
            low, high = ball(interval.lower), ball(interval.upper)
            slack = ball(Fraction(1, 2**230))
            assert low - slack < truth < high + slack
            assert high - low <= (abs(truth) + ball(Fraction(1, 2**100))) * ball(
                Fraction(1, 2**140)
            )


@pytest.mark.parametrize("name", ["softplus", "sigmoid", "tanh", "erf"])
@pytest.mark.parametrize("z", [Fraction(10) ** 300, -(Fraction(10) ** 300)])
def test_huge_arguments_stay_bounded(name: str, z: Fraction):
    phi, slope, curvature = derivatives(name, z, BITS, None)
    limit = {"softplus": max(z, Fraction(0)), "sigmoid": Fraction(int(z > 0))}.get(
        name, Fraction(1 if z > 0 else -1)
    )
    assert phi.lower <= limit + Fraction(1, 2**150) * (abs(limit) + 1)
    assert limit <= phi.upper + Fraction(1, 2**150) * (abs(limit) + 1)
    assert 0 <= slope.lower <= slope.upper <= 1
    assert -Fraction(1, 2**1000) <= curvature.lower <= curvature.upper <= Fraction(1, 2**1000)


@pytest.mark.parametrize(("name", "parameter"), [*CASES, ("quadratic", None)])
def test_suprema_are_attained_within_the_rounding_and_never_exceeded(
    name: str, parameter: Fraction | None
):
    b1, b2, _ = suprema(name, parameter)
    e1, e2, _ = suprema(name, parameter, exact=True)
    points = [Fraction(i, 80) for i in range(-400, 401)]
    slopes, curvatures = [], []
    for z in points:
        _, slope, curvature = derivatives(name, z, 60, parameter)
        slopes.append(abs(slope).upper)
        curvatures.append(abs(curvature).upper)
    assert max(curvatures) <= b2 * (1 + Fraction(1, 2**40))
    assert max(curvatures) >= e2 * (1 - Fraction(1, 1000))
    assert e2 <= b2
    if b1 is not None and e1 is not None:
        assert max(slopes) <= b1 * (1 + Fraction(1, 2**40))
        assert max(slopes) >= e1 * (1 - Fraction(1, 100))


def test_lowered_suprema_lie_below_the_closed_forms_and_the_rounded_ones_above():
    root3, slope = arb(3).sqrt(), 2 / arb.pi().sqrt()
    closed = {
        ("softplus", 3): root3 / 18,
        ("sigmoid", 2): root3 / 18,
        ("tanh", 2): 4 / (3 * root3),
        ("erf", 1): slope,
        ("erf", 2): slope * (2 / arb(1).exp()).sqrt(),
        ("erf", 3): 2 * slope,
    }
    for (name, order), truth in closed.items():
        rounded, lowered = (
            suprema(name, None)[order - 1],
            suprema(name, None, exact=True)[order - 1],
        )
        assert rounded is not None
        assert lowered is not None
        assert ball(lowered) < truth < ball(rounded)
        assert rounded - lowered <= Fraction(2, 10**8)


def test_rational_activations_are_exact():
    z = Fraction(-3, 7)
    assert exact_value("relu", z, None) == 0
    assert exact_value("abs", z, None) == Fraction(3, 7)
    assert exact_value("quadratic", z, None) == Fraction(9, 49)
    assert exact_value("linear", z, None) == z
    assert exact_value("leaky_relu", z, Fraction(1, 3)) == Fraction(-1, 7)
    assert exact_value("leaky_relu", -z, Fraction(1, 3)) == Fraction(3, 7)
    assert exact_value("tanh", z, None) is None
    assert value("relu", Fraction(3), BITS, None).lower == 3


@pytest.mark.parametrize("name", ["relu", "leaky_relu", "abs", "linear"])
def test_an_activation_outside_the_table_of_suprema_has_no_derivatives_here(name: str):
    assert name not in SMOOTH
    with pytest.raises(ValueError, match="table of suprema"):
        derivatives(name, Fraction(1), BITS, None)
