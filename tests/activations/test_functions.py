"""Values and derivatives against ball arithmetic, exact fractions and the conventions at kinks."""

from fractions import Fraction

import numpy as np
import pytest
from tests.activations.ball_formulas import SMOOTH, jet

from globalmin.activations import activation_names, get_activation
from globalmin.activations.suprema import SLACK, float_above

POINTS = np.concatenate(
    [
        np.random.default_rng(0).uniform(-8, 8, 60),
        np.random.default_rng(1).uniform(-60, 60, 20),
        [0.0, -0.0, 1e-300, -1e-300, 1e-9, -1e-9, 36.9, -36.9, 300.0, -300.0, 740.0, -740.0],
    ]
)
SPELLINGS = (
    *SMOOTH,
    "quadratic",
    "polynomial(1,-2,0.5,3)",
    "linear",
    "relu",
    "leaky_relu(0.1)",
    "abs",
    "softplus(4)",
    "sigmoid(0.5)",
)


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("name", SMOOTH)
def test_formulas_agree_with_ball_arithmetic(name, order):
    computed = get_activation(name).derivative(POINTS, order)
    for z, value in zip(POINTS, computed, strict=True):
        exact = float(jet(name, float(z), order)[order])
        assert abs(value - exact) <= 1e-14 * max(1.0, abs(exact))


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", SMOOTH)
def test_rounding_stays_far_below_the_slack_of_the_interval_bounds(name, order):
    phi = get_activation(name)
    allowed = SLACK / 4 * float_above(phi.supremum(order))
    computed = phi.derivative(POINTS, order)
    worst = max(
        abs(v - float(jet(name, float(z), order)[order]))
        for z, v in zip(POINTS, computed, strict=True)
    )
    assert worst <= allowed


@pytest.mark.parametrize("name", ["softplus", "sigmoid"])
@pytest.mark.parametrize("b", [0.25, 3.0, 1024.0])
def test_steep_versions_are_the_scaled_function(name, b):
    z = np.random.default_rng(2).normal(size=40) * 3 / b
    steep, plain = get_activation(f"{name}({b})"), get_activation(name)
    gain = 1 / b if name == "softplus" else 1.0
    for order in range(4):
        expected = gain * b**order * plain.derivative(b * z, order)
        np.testing.assert_allclose(
            steep.derivative(z, order), expected, rtol=1e-13, atol=1e-15 * b**order
        )


@pytest.mark.parametrize("order", range(4))
def test_polynomials_agree_with_exact_fractions(order):
    coefficients = (0.5, -1.25, 3.0, 0.0, -2.0, 0.125)
    phi = get_activation(f"polynomial({','.join(map(str, coefficients))})")
    exact = [Fraction(c) for c in coefficients]
    for _ in range(order):
        exact = [j * c for j, c in enumerate(exact)][1:]
    for z in (-2.5, -0.1, 0.0, 1.75, 30.0):
        assert float(phi.derivative(z, order)) == pytest.approx(
            float(sum(c * Fraction(z) ** j for j, c in enumerate(exact))), rel=1e-14
        )


def test_quadratic_equals_the_polynomial_of_the_same_coefficients():
    z = np.linspace(-3, 3, 31)
    for order in range(4):
        quadratic, polynomial = (
            get_activation(name).derivative(z, order) for name in ("quadratic", "polynomial(0,0,1)")
        )
        np.testing.assert_allclose(quadratic, polynomial, rtol=1e-15)


@pytest.mark.parametrize(
    "name", [n for n in SPELLINGS if not n.startswith(("quadratic", "polynomial"))]
)
def test_no_argument_overflows(name):
    z = np.array([1e-320, 50.0, 745.2, 1e5, 1e154, 1e200, 1e300])
    z = np.concatenate([-z, z])
    phi = get_activation(name)
    for order in range(4):
        assert np.isfinite(phi.derivative(z, order)).all()  # warnings are errors in this suite


@pytest.mark.parametrize("name", SPELLINGS)
def test_shapes_are_kept_and_scalars_and_integers_are_accepted(name):
    phi = get_activation(name)
    for order in range(4):
        assert phi.derivative(np.ones((2, 3, 4)), order).shape == (2, 3, 4)
        assert float(phi.derivative(2, order)) == float(phi.derivative(2.0, order))
        assert phi.derivative([1, 2], order).dtype == np.float64


def test_derivatives_at_a_kink_are_those_from_the_right():
    assert get_activation("relu").derivative([-0.0, 0.0]).tolist() == [1.0, 1.0]
    assert get_activation("leaky_relu(0.25)").derivative([0.0, -1.0]).tolist() == [1.0, 0.25]
    assert get_activation("abs").derivative([0.0, -2.0]).tolist() == [1.0, -1.0]


def test_the_catalog_is_complete():
    expected = [
        "softplus",
        "sigmoid",
        "tanh",
        "erf",
        "swish",
        "gelu",
        "quadratic",
        "polynomial",
        "linear",
        "relu",
        "leaky_relu",
        "abs",
    ]
    assert list(activation_names())[: len(expected)] == expected


def test_the_argument_is_never_changed():
    for name in SPELLINGS:
        z = np.linspace(-1, 1, 5)
        for order in range(4):
            value = get_activation(name).derivative(z, order)
            value += 1.0
        assert (z == np.linspace(-1, 1, 5)).all()
