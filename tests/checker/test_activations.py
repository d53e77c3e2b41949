"""Activations in balls: values and derivatives by automatic differentiation, suprema that hold and
are tight.
"""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb

from globalmin_check.activations import (
    RATIONAL,
    SMOOTH,
    exact_value,
    jet,
    supremum,
    value,
    value_and_slope,
)
from globalmin_check.balls import precision

jax.config.update("jax_enable_x64", True)

PHI = {
    "softplus": lambda z, b: jnp.logaddexp(0.0, b * z) / b,
    "sigmoid": lambda z, b: jax.nn.sigmoid(b * z),
    "tanh": lambda z, b: jnp.tanh(z),
    "erf": lambda z, b: jax.scipy.special.erf(z),
    "quadratic": lambda z, b: z * z,
}
CASES = [(name, 1.0) for name in SMOOTH] + [("softplus", 4.0), ("softplus", 0.25), ("sigmoid", 3.0)]


def derivative(name: str, b: float, order: int):
    function = lambda z: PHI[name](z, b)  # noqa: E731
    for _ in range(order):
        function = jax.grad(function)
    return jax.vmap(function)


@pytest.mark.parametrize(("name", "b"), CASES)
def test_values_and_derivatives_agree_with_automatic_differentiation(name: str, b: float) -> None:
    points = np.linspace(-6, 6, 49)
    expected = [np.asarray(derivative(name, b, order)(points)) for order in range(3)]
    with precision(128):
        for i, z in enumerate(points):
            balls = jet(name, Fraction(b), arb(float(z)))
            for order in range(3):
                assert abs(float(balls[order]) - expected[order][i]) <= 1e-13 * (
                    1 + abs(expected[order][i])
                )
                assert balls[order].rel_accuracy_bits() > 90 or abs(balls[order]) < 1e-25


@pytest.mark.parametrize(("name", "b"), CASES)
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_suprema_hold_and_are_tight(name: str, b: float, order: int) -> None:
    bound = supremum(name, Fraction(b), order)
    if bound is None:
        assert (name, order) == ("quadratic", 1)
        return
    reach = 8 / b if name in ("softplus", "sigmoid") else 8.0
    top = float(np.max(np.abs(derivative(name, b, order)(np.linspace(-reach, reach, 40001)))))
    assert top <= float(bound) * (1 + 1e-12)
    assert name == "quadratic" or top >= float(bound) * (1 - (1e-3 if order == 1 else 1e-6))


@pytest.mark.parametrize("name", ["softplus", "sigmoid", "tanh", "erf"])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_suprema_are_the_largest_values_rounded_up_at_the_eighth_decimal(name: str, order: int):
    """The top of a grid, refined: its last step is 1e-6 wide, so a value lacks 1e-11."""
    slope, reach, center = derivative(name, 1.0, order), 8.0, 0.0
    for _ in range(4):
        points = center + np.linspace(-reach, reach, 2001)
        sizes = np.abs(slope(points))
        center, reach, top = float(points[np.argmax(sizes)]), reach / 200, float(np.max(sizes))
    bound = supremum(name, Fraction(1), order)
    assert bound is not None
    # 1e-11: the grid; and rounding of a fourth derivative by autodiff, below 1e-13
    assert top - 1e-11 <= float(bound) <= top + 1e-8 + 1e-11


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("size", [1e300, -1e300, 1e-300, 5e-324, 0.0, 745.2, -745.2])
def test_extreme_arguments_give_finite_tight_balls(name: str, size: float) -> None:
    with precision(128):
        for entry in jet(name, Fraction(1), arb(size)):
            assert entry.is_finite()
            assert entry.rad() <= abs(entry.mid()) * 1e-30 + 1e-30


@pytest.mark.parametrize("name", SMOOTH)
def test_balls_around_zero_enclose_both_sides(name: str) -> None:
    with precision(128):
        wide = jet(name, Fraction(2), arb(0, 1e-5))
        for point in (-1e-5, 0.0, 9e-6):
            for outer, inner in zip(wide, jet(name, Fraction(2), arb(point)), strict=True):
                assert outer.contains(inner.mid())


@pytest.mark.parametrize("name", RATIONAL)
@pytest.mark.parametrize("z", [-1.5, 0.0, 2.25])
def test_exact_values_lie_in_the_balls(name: str, z: float) -> None:
    slope = Fraction(1, 4)
    expected = {
        "relu": max(z, 0.0),
        "leaky_relu": z if z >= 0 else z / 4,
        "abs": abs(z),
        "linear": z,
        "quadratic": z * z,
    }[name]
    assert exact_value(name, slope, Fraction(z)) == Fraction(expected)
    assert value(name, slope, arb(z)).contains(arb(expected))


def test_kinks_are_enclosed() -> None:
    assert value("relu", Fraction(1), arb(0, 1)).contains(arb(0.99))
    assert value("leaky_relu", Fraction(1, 2), arb(0, 1)).contains(arb(-0.49))
    assert value("softplus", Fraction(1), arb(0)).contains(arb(2).log())


@pytest.mark.parametrize(("name", "b"), CASES)
def test_value_and_slope_are_those_of_the_jet(name: str, b: float) -> None:
    """The same numbers, as sharp, also far out and on a wide ball."""
    with precision(128):
        for z in (0.0, 1e-30, -0.3, 2.0, -17.0, 50.0, -600.0):
            for found, expected in zip(
                value_and_slope(name, Fraction(b), arb(z)),
                jet(name, Fraction(b), arb(z))[:2],
                strict=True,
            ):
                assert found.overlaps(expected)
                assert found.is_exact() or found.rel_accuracy_bits() > 100
        wide = arb(0.5, 0.25)
        values, slopes = value_and_slope(name, Fraction(b), wide)
        for z in (0.25, 0.5, 0.75):
            exact, slope = jet(name, Fraction(b), arb(z))[:2]
            assert values.contains(exact)
            assert slopes.contains(slope)
