"""Moments of activations (FCL-DEF1, FCL-A2, FCL-F2, FCL-GAM, FCL-A3, FCL-A4): golden values,
identities, and other roads.
"""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery.moments import (
    first_moment_inverse,
    hermite_moment,
    moment_orders,
    rho,
    rho_terms,
    saturation_norm,
    slope_moment,
    squared_slope_moment,
    value_moment,
)

SCALES = np.array([0.3, 1.0, 2.0, 5.0, 20.0])
GOLDEN_RHO = {
    0.5: 3.17714e-4, 1.0: 2.144019e-3, 1.5: 3.560326e-3, 2.0: 3.074565e-3,
    3.0: 1.747951e-3, 5.0: 5.595481e-4, 10.0: 8.231234e-5, 50.0: 6.85365e-7,
}  # fmt: skip


def plain_trapezoid(function, sigma, step=0.002):
    """E[function(sigma z, z)] by the trapezoid rule on the line itself, another rule than the one
    in the package.
    """
    z = np.arange(-12.0, 12.0 + step / 2, step)
    return float(np.sum(function(sigma * z, z) * np.exp(-z * z / 2)) * step / np.sqrt(2 * np.pi))


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus", "erf", "swish", "gelu"])
def test_moments_agree_with_the_plain_trapezoid_rule_to_1e_10(name):
    phi = get_activation(name)
    for s in SCALES:
        for q in range(3):
            assert slope_moment(s, phi, q) == pytest.approx(
                plain_trapezoid(lambda u, z, q=q: phi.derivative(u) * z**q, s), abs=1e-10
            )
            road = plain_trapezoid(lambda u, z, q=q: phi.derivative(u) ** 2 * z**q, s)
            assert squared_slope_moment(s, phi, q) == pytest.approx(road, abs=1e-10)
        for j in range(5):
            assert value_moment(s, phi, j) == pytest.approx(
                plain_trapezoid(lambda u, z, j=j: phi(u) * z**j, s), abs=1e-10 * max(1, s)
            )


def test_rho_of_the_sigmoid_has_its_golden_values_and_limits():
    for sigma, value in GOLDEN_RHO.items():
        assert rho(sigma, "sigmoid") == pytest.approx(value, rel=2e-6)
    assert rho(1e-2, "sigmoid") == pytest.approx(1e-8 / 128, rel=1e-3)
    assert rho(1e3, "sigmoid") == pytest.approx(
        (np.pi**2 - 6) / (18 * np.sqrt(2 * np.pi)) * 1e-9, rel=1e-3
    )
    grid = np.linspace(1.4, 1.5, 2001)
    values = rho(grid, "sigmoid")
    assert values.max() == pytest.approx(3.566432e-3, rel=1e-6)
    assert grid[values.argmax()] == pytest.approx(1.4492, abs=1e-3)
    first, second = rho_terms(np.array([1.28, 1.29]), "sigmoid")
    assert first[0] < second[0]
    assert first[1] > second[1]


def test_rho_of_other_activations():
    np.testing.assert_allclose(rho(SCALES, "tanh"), 16 * rho(2 * SCALES, "sigmoid"), rtol=1e-10)
    assert rho(1.0, "softplus") == pytest.approx(6.86813e-4, rel=1e-5)
    assert rho(50.0, "softplus") == pytest.approx(0.0830805, rel=1e-5)
    assert np.all(np.diff(rho(np.linspace(0.1, 20, 50), "softplus")) > 0)
    np.testing.assert_allclose(rho(SCALES, "linear"), 0.0, atol=1e-25)


def test_rho_is_the_minimum_of_the_printed_differences():
    a0, a1, a2 = (slope_moment(SCALES, "sigmoid", q) for q in range(3))
    b0, b2 = (squared_slope_moment(SCALES, "sigmoid", q) for q in (0, 2))
    np.testing.assert_allclose(
        rho(SCALES, "sigmoid"), np.minimum(b0 - a0**2 - a1**2, b2 - a1**2 - a2**2), atol=1e-14
    )


def test_rho_agrees_with_a_sample_mean_within_five_standard_errors():
    z = np.random.default_rng(0).standard_normal(400_000)
    p = get_activation("sigmoid").derivative(1.5 * z)
    residual = (p - slope_moment(1.5, "sigmoid", 0) - slope_moment(1.5, "sigmoid", 1) * z) ** 2
    assert abs(residual.mean() - rho_terms(1.5, "sigmoid")[0]) < 5 * residual.std() / np.sqrt(
        len(z)
    )


def test_hermite_moments_have_their_golden_values_and_identities():
    np.testing.assert_allclose(
        hermite_moment([1, 1.5, 2, 3], "sigmoid", 1),
        [0.2066210, 0.2650916, 0.3028528, 0.3445137],
        atol=5e-8,
    )
    np.testing.assert_allclose(
        hermite_moment([1, 1.5, 2, 3], "sigmoid", 3),
        [-0.0623965, -0.1254195, -0.1817977, -0.2609837],
        atol=5e-8,
    )
    for name in ("sigmoid", "tanh", "softplus"):
        phi = get_activation(name)
        m1, m2, m3, m4 = (hermite_moment(SCALES, phi, j) for j in (1, 2, 3, 4))
        h = 1e-5
        for k, (m, higher) in {1: (m1, m3), 2: (m2, m4)}.items():
            slope = (hermite_moment(SCALES + h, phi, k) - hermite_moment(SCALES - h, phi, k)) / (
                2 * h
            )
            np.testing.assert_allclose(slope, (higher + k * m) / SCALES, atol=1e-8)
        np.testing.assert_allclose((m3 + m1) / SCALES, slope_moment(SCALES, phi, 2), atol=1e-12)
        g = [value_moment(SCALES, phi, j) for j in range(5)]
        np.testing.assert_allclose(m4, g[4] - 6 * g[2] + 3 * g[0], atol=1e-11)
    np.testing.assert_allclose(hermite_moment(SCALES, "softplus", 1), SCALES / 2, rtol=1e-12)
    np.testing.assert_allclose(
        hermite_moment(SCALES, "softplus", 4),
        SCALES * hermite_moment(SCALES, "sigmoid", 3),
        atol=1e-11,
    )


def test_vanishing_moments_are_computed_for_every_activation():
    odd, ramp = (1, 3, 3, (2, 4)), (1, 2, 4, (3,))
    expected = {
        "sigmoid": odd,
        "sigmoid(3)": odd,
        "tanh": odd,
        "erf": odd,
        "softplus": ramp,
        "swish": ramp,
        "gelu": ramp,
    }
    for name, (l1, j2, j3, vanishing) in expected.items():
        orders = moment_orders(name)
        assert (orders.magnitude, orders.matrix, orders.tensor, orders.vanishing) == (
            l1,
            j2,
            j3,
            vanishing,
        ), name
    for name in ("linear", "quadratic", "abs"):
        with pytest.raises(HypothesisError, match="vanish"):
            moment_orders(name)


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus", "gelu"])
def test_the_inverse_of_the_first_moment_is_an_inverse_and_clips(name):
    for s in (0.05, 0.7, 1.5, 3.0):
        assert first_moment_inverse(float(hermite_moment(s, name, 1)), name) == pytest.approx(
            s, abs=1e-9
        )
    assert first_moment_inverse(0.0, name) == 0.0
    assert first_moment_inverse(1e9, name, largest=5.0) == 5.0
    with pytest.raises(DataError, match="absolute value"):
        first_moment_inverse(-0.1, name)


def test_saturation_is_near_five_for_the_sigmoid_and_never_for_softplus():
    assert saturation_norm("sigmoid") == pytest.approx(5.0, abs=0.1)
    assert saturation_norm("tanh") == pytest.approx(saturation_norm("sigmoid") / 2, rel=1e-6)
    assert saturation_norm("softplus") == 100.0


def test_bad_arguments_are_refused_by_name():
    with pytest.raises(DataError, match="sigma"):
        rho(0.0, "sigmoid")
    with pytest.raises(DataError, match="power"):
        slope_moment(1.0, "sigmoid", 3)
    with pytest.raises(DataError, match="j=5"):
        hermite_moment(1.0, "sigmoid", 5)
