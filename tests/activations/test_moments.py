"""Gaussian moments against published values, ball integrals, adaptive quadrature and identities."""

import math
from itertools import pairwise

import numpy as np
import pytest
from flint import acb, arb, ctx
from scipy import integrate

from globalmin.activations import get_activation, register_activation, registry
from globalmin.activations.moments import (
    expectation,
    hermite_coefficients,
    hermite_integrals,
    mean_curvature,
    mean_slope,
    mean_square,
    mean_square_slope,
    mean_value,
    normalizer,
    slope_coefficients,
    variance,
)
from globalmin.errors import DataError

SCALES = np.array([0.05, 0.7, 1.0, 3.0, 12.0])
CLOSED = (
    "relu",
    "leaky_relu(0.3)",
    "abs",
    "linear",
    "erf",
    "quadratic",
    "polynomial(1,-2,0.5,0.25)",
)
QUADRATURE = ("softplus", "softplus(4)", "sigmoid", "tanh", "swish", "gelu")


def adaptive(psi, s, *, steep=1.0):
    """E psi(s g) by adaptive quadrature, cut where psi may be steep or have a kink."""
    cuts = [-13.0, -5 / (steep * s), 0.0, 5 / (steep * s), 13.0]
    cuts = sorted(min(max(c, -13.0), 13.0) for c in cuts)
    weight = 1 / math.sqrt(2 * math.pi)
    parts = [
        integrate.quad(
            lambda g: float(psi(s * g)) * weight * math.exp(-g * g / 2),
            a,
            b,
            epsabs=1e-13,
            epsrel=1e-12,
        )[0]
        for a, b in pairwise(cuts)
        if b > a
    ]
    return math.fsum(parts)


@pytest.mark.parametrize("name", [*CLOSED, *QUADRATURE])
def test_moments_agree_with_adaptive_quadrature(name):
    phi = get_activation(name)
    for s in (0.7, 3.0):
        size = 1e-12 * (1 + float(mean_square(phi, s)))
        assert float(mean_value(phi, s)) == pytest.approx(adaptive(phi, s), abs=size)
        assert float(mean_slope(phi, s)) == pytest.approx(adaptive(phi.derivative, s), abs=size)
        assert float(mean_square(phi, s)) == pytest.approx(
            adaptive(lambda z: phi(z) ** 2, s), abs=size
        )
        assert float(mean_square_slope(phi, s)) == pytest.approx(
            adaptive(lambda z: phi.derivative(z) ** 2, s), abs=size
        )
        center = float(mean_value(phi, s))
        assert float(variance(phi, s)) == pytest.approx(
            adaptive(lambda z, c=center: (phi(z) - c) ** 2, s), abs=size
        )
        stein = adaptive(lambda z, s=s: phi.derivative(z) * z / s**2, s)
        assert float(mean_curvature(phi, s)) == pytest.approx(stein, abs=size)


def test_published_values_of_normalizers():
    """DU-DA6: c_sigma = 1/E[phi(g)^2] as printed in the thesis."""
    table = {
        "relu": 2.0, "softplus": 1.08548650298835, "sigmoid": 3.40855984162311,
        "tanh": 2.53617543321748,
        "swish": 2.81076112407449, "erf": 2.15257886060762, "quadratic": 1 / 3, "linear": 1.0,
    }  # fmt: skip
    for name, value in table.items():  # DU-DA6
        assert normalizer(name) == pytest.approx(value, rel=1e-13)


def test_published_values_of_squared_slopes_and_means():
    slopes = {
        "relu": 0.5, "softplus": 0.293379035858, "sigmoid": 0.0448362413502, "tanh": 0.464402902448,
        "swish": 0.379482351633,
        "erf": 0.569410034734,
    }  # fmt: skip
    means = {
        "relu": 0.564189583548,
        "softplus": 0.839806330608,
        "sigmoid": 0.923114272669,
        "tanh": 0.0,
        "swish": 0.346406755435,
    }
    for name, value in slopes.items():
        assert float(mean_square_slope(name)) == pytest.approx(value, abs=1e-12)
    for name, value in means.items():
        assert math.sqrt(normalizer(name)) * float(mean_value(name)) == pytest.approx(
            value, abs=1e-12
        )


def test_published_hermite_coefficients():
    """OS-HERM, DU-DA2: coefficients of softplus, its derivative and the step."""
    softplus = [0.5, 0.206621, 0, -0.025473, 0, 0.005877, 0]
    step = [0.5, 0.398942, 0, -0.162868, 0, 0.109255, 0, -0.084292]
    np.testing.assert_allclose(
        hermite_coefficients("softplus", 7, order=1), softplus, atol=5e-7
    )  # OS-HERM
    np.testing.assert_allclose(hermite_coefficients("relu", 8, order=1), step, atol=5e-7)
    assert float(variance("softplus")) == pytest.approx(0.271515, abs=5e-7)
    assert float(variance("relu")) == pytest.approx(0.5 - 1 / (2 * math.pi), abs=1e-15)
    assert hermite_coefficients("softplus", 3)[2] == pytest.approx(0.146103, abs=5e-7)
    np.testing.assert_allclose(
        hermite_coefficients("sigmoid", 2, [1, 1.5, 2, 3])[:, 1],
        [0.2066210, 0.2650916, 0.3028528, 0.3445137],
        atol=5e-8,
    )


def test_examples_of_the_first_assumption():
    """SJL-A2.3 and SJL-Ex2.4: average slope and curvature of the examples."""
    s = np.geomspace(1e-3, 1e4, 15)
    np.testing.assert_allclose(
        mean_slope("softplus(8)", s), 0.5, rtol=1e-14
    )  # SJL-Ex2.4: 1/2 exactly for all s
    np.testing.assert_allclose(
        mean_slope("erf", s), 2 / math.sqrt(math.pi) / np.sqrt(1 + 2 * s**2), rtol=1e-14
    )
    for odd in ("tanh", "erf", "sigmoid"):
        np.testing.assert_allclose(mean_curvature(odd, s), 0.0, atol=1e-14)
    np.testing.assert_allclose(mean_slope("quadratic", s), 0.0, atol=1e-14)
    np.testing.assert_allclose(mean_curvature("quadratic", s), 2.0, rtol=1e-14)
    np.testing.assert_allclose(
        mean_curvature("relu", s), 1 / (s * math.sqrt(2 * math.pi)), rtol=1e-14
    )


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_agree_with_quadrature(name):
    phi = get_activation(name)
    closed, quadrature = (
        hermite_coefficients(phi, 60, SCALES),
        hermite_integrals(phi.derivatives[0], 60, SCALES),
    )
    np.testing.assert_allclose(closed, quadrature, atol=1e-13 * np.abs(closed).max())


@pytest.mark.parametrize("name", [*CLOSED, *QUADRATURE])
def test_coefficients_of_the_derivative_follow_from_those_of_the_function(name):
    value, slope = (
        hermite_coefficients(name, 21, SCALES),
        hermite_coefficients(name, 20, SCALES, order=1),
    )
    expected = (
        np.sqrt(np.arange(1, 21)) * value[:, 1:] / SCALES[:, None]
    )  # mu_r(phi') = sqrt(r+1)/s mu_{r+1}(phi)
    np.testing.assert_allclose(slope, expected, atol=1e-12 * np.abs(slope).max())


@pytest.mark.parametrize("name", ["softplus", "tanh", "gelu", "erf", "relu"])
def test_squares_sum_to_the_mean_square(name):
    coefficients = hermite_coefficients(name, 400)
    assert float(np.square(coefficients).sum()) == pytest.approx(
        float(mean_square(name)), abs=2e-5 if name == "relu" else 1e-12
    )


def test_steep_functions_agree_with_ball_integrals():
    """E tanh(s g)^2 and the third coefficient of the logistic function at s = 5 and 40, with proved
    error bounds below 1e-20.
    """
    before, ctx.prec = ctx.prec, 100
    try:
        for s in (5, 40):
            norm = (2 * arb.pi()).sqrt()

            def square(g, _, s=s):
                return (s * g).tanh() ** 2 * (-g * g / 2).exp()

            def third(g, _, s=s):
                return (g**3 - 3 * g) / (1 + (-s * g).exp()) * (-g * g / 2).exp()

            cuts = [-14, -1, 0, 1, 14]
            pairs = list(pairwise(cuts))
            exact = sum((acb.integral(square, a, b) for a, b in pairs), acb(0)).real / norm
            cubic = (
                sum((acb.integral(third, a, b) for a, b in pairs), acb(0)).real
                / norm
                / arb(6).sqrt()
            )
            assert float(exact.rad()) < 1e-20
            assert float(mean_square("tanh", s)) == pytest.approx(float(exact), rel=1e-13)
            assert hermite_coefficients("sigmoid", 4, s)[3] == pytest.approx(
                float(cubic), rel=1e-12
            )
    finally:
        ctx.prec = before


def test_very_steep_functions_approach_their_limits():
    assert float(mean_square("tanh", 1e9)) == pytest.approx(1.0, abs=1e-8)
    assert float(mean_value("softplus(1e6)", 1.0)) == pytest.approx(
        1 / math.sqrt(2 * math.pi), abs=1e-11
    )
    assert float(mean_curvature("softplus(1e6)", 1.0)) == pytest.approx(
        1 / math.sqrt(2 * math.pi), rel=1e-10
    )


def test_moments_of_polynomials_are_exact():
    assert float(mean_square("quadratic", 2.0)) == pytest.approx(3 * 16)
    assert float(variance("quadratic", 2.0)) == pytest.approx(2 * 16)
    assert float(mean_value("polynomial(1,0,2,0,3)", 2.0)) == pytest.approx(1 + 2 * 4 + 3 * 3 * 16)
    assert float(mean_square("polynomial(5)")) == pytest.approx(25.0)
    assert float(mean_square_slope("polynomial(5)")) == 0.0


def test_the_quadrature_integrates_gaussian_moments_and_steps():
    for power, value in ((0, 1.0), (2, 1.0), (4, 3.0), (8, 105.0), (1, 0.0)):
        assert expectation(lambda g, p=power: g**p) == pytest.approx(
            value, abs=1e-13 * max(1.0, value)
        )
    assert expectation(lambda g: (g > 0).astype(float)) == pytest.approx(0.5, abs=1e-15)


def test_kinks_of_a_registered_function_count_with_their_mass(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    relu = get_activation("relu")
    register_activation("mine", *relu.derivatives[:2], suprema=[1], is_smooth=False)
    np.testing.assert_allclose(
        mean_curvature("mine", SCALES), mean_curvature("relu", SCALES), rtol=1e-13
    )
    np.testing.assert_allclose(mean_square("mine", SCALES), mean_square("relu", SCALES), rtol=1e-13)


def test_results_have_the_shape_of_the_scale():
    scales = np.ones((2, 3))
    for moment in (
        mean_value,
        mean_slope,
        mean_curvature,
        mean_square,
        mean_square_slope,
        variance,
    ):
        for name in ("softplus", "relu", "erf", "quadratic"):
            assert np.shape(moment(name, scales)) == (2, 3)
            assert np.shape(moment(name)) == ()
    assert hermite_coefficients("softplus", 5, scales).shape == (2, 3, 5)
    assert hermite_coefficients("softplus", 5, np.ones(0)).shape == (0, 5)
    assert hermite_coefficients("erf", 5, np.ones(0)).shape == (0, 5)


def test_many_scales_are_the_scales_one_by_one():
    scales = np.linspace(0.5, 2.0, 3001)
    table = hermite_coefficients("tanh", 6, scales)
    for i in (0, 1500, 3000):
        np.testing.assert_allclose(table[i], hermite_coefficients("tanh", 6, scales[i]), atol=1e-15)


def test_wrong_arguments_are_refused():
    for scale in (0.0, -1.0, math.nan, math.inf, [1.0, 0.0]):
        with pytest.raises(DataError, match="scale must be positive"):
            mean_value("softplus", scale)
    for options in ({"count": 0}, {"count": 513}, {"count": 2, "order": 3}):
        with pytest.raises(DataError, match="count"):
            hermite_coefficients("softplus", **options)


@pytest.mark.parametrize(
    ("activation", "zero"),
    [
        ("tanh", {1, 3, 5}),
        ("sigmoid", {1, 3, 5}),
        ("erf", {1, 3, 5}),
        ("softplus", {2, 4}),
        ("softplus(10)", {2, 4}),
        ("relu", {2, 4}),
        ("gelu", {2, 4}),
        ("abs", {0, 2, 4}),
        ("quadratic", {0, 2, 3, 4, 5}),
        ("linear", {1, 2, 3, 4, 5}),
    ],
)
def test_coefficients_of_the_slope_are_exactly_zero_by_symmetry_and_only_there(activation, zero):
    """OS-LH.1: mu_r(phi'); the others agree with quadrature and are far from 0."""
    found = slope_coefficients(activation, 6)
    assert {r for r in range(6) if found[r] == 0.0} == zero
    others = [r for r in range(6) if r not in zero]
    assert np.abs(found[others]).min() > 1e-3
    expected = hermite_coefficients(activation, 6, order=1)
    assert found == pytest.approx(expected, abs=1e-14)
