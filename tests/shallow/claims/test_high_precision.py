"""Residuals and Gram matrices at high precision against exact fractions and 60-digit decimals."""

import decimal
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.shallow.claims.trained_networks import SMOOTH, dense_jacobian, interpolating

from globalmin.linalg.positive_definite import to_floats, working_precision
from globalmin.shallow.claims.high_precision import (
    precise_cell_gram,
    precise_jacobian_gram,
    precise_residual,
)
from globalmin.shallow.network import ShallowNetwork, jacobian_gram


def fraction_residual(network, X, y, phi):
    values = []
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        Z = [
            sum(Fraction(a) * Fraction(b) for a, b in zip(w, x, strict=True))
            for w in network.W.tolist()
        ]
        values.append(
            sum(Fraction(v) * phi(z) for v, z in zip(network.v.tolist(), Z, strict=True))
            - Fraction(label)
        )
    return values


@pytest.mark.parametrize(
    ("name", "phi"),
    [
        ("quadratic", lambda z: z * z),
        ("linear", lambda z: z),
        ("abs", abs),
        ("relu", lambda z: max(z, Fraction(0))),
        ("leaky_relu(0.25)", lambda z: z if z >= 0 else z / 4),
    ],
)
def test_piecewise_polynomial_residuals_are_exact_to_the_last_place(name, phi):
    rng = np.random.default_rng(0)
    X, W, v = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)), rng.standard_normal(4)
    network = ShallowNetwork(W, v, name)
    y = network.predict(X)  # the residual is pure rounding, where doubles are useless
    exact = fraction_residual(network, X, y, phi)
    np.testing.assert_array_equal(
        precise_residual(network, X, y).r, [float(value) for value in exact]
    )


def decimal_phi(name, z):
    if name == "softplus":
        return (1 + z.exp()).ln()
    if name == "softplus(4)":
        return (1 + (4 * z).exp()).ln() / 4
    if name == "sigmoid":
        return 1 / (1 + (-z).exp())
    if name == "sigmoid(0.5)":
        return 1 / (1 + (-z / 2).exp())
    if name == "tanh":
        return 1 - 2 / ((2 * z).exp() + 1)
    return decimal_erf(z)


def decimal_erf(z):
    root_pi = Decimal("1.77245385090551602729816748334114518279754945612238712821380779")
    term = total = z
    for m in range(1, 200):
        term *= -z * z / m
        total += term / (2 * m + 1)
    return 2 * total / root_pi


@pytest.mark.parametrize("name", [name for name in SMOOTH if name != "quadratic"])
def test_transcendental_residuals_agree_with_sixty_digit_decimals(name):
    network, data = interpolating(name, n=6, d=3, k=4)
    found = precise_residual(network, data.X, data.y)
    with decimal.localcontext(prec=70):
        for i, (x, label) in enumerate(zip(data.X.tolist(), data.y.tolist(), strict=True)):
            total = -Decimal(label)
            for w, v in zip(network.W.tolist(), network.v.tolist(), strict=True):
                total += Decimal(v) * decimal_phi(
                    name, sum(Decimal(a) * Decimal(b) for a, b in zip(w, x, strict=True))
                )
            assert found.r[i] == pytest.approx(float(total), rel=1e-15, abs=1e-50)
            assert found.radius[i] < 1e-40


def test_norm_from_above_covers_the_exact_norm():
    rng = np.random.default_rng(2)
    X, W, v = rng.standard_normal((7, 3)), rng.standard_normal((4, 3)), rng.standard_normal(4)
    network = ShallowNetwork(W, v, "quadratic")
    y = network.predict(X)
    square = sum(value**2 for value in fraction_residual(network, X, y, lambda z: z * z))
    norm = Fraction(precise_residual(network, X, y).norm_above())
    assert square <= norm**2 <= square * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("name", ["softplus", "sigmoid", "tanh", "erf"])
def test_huge_arguments_stay_finite(name):
    network = ShallowNetwork([[1e300], [-1e300]], [1.0, 1.0], name)
    found = precise_residual(network, np.ones((1, 1)), np.zeros(1))
    expected = {"softplus": 1e300, "sigmoid": 1.0, "tanh": 0.0, "erf": 0.0}[name]
    assert found.r[0] == expected
    assert math.isfinite(found.radius[0])


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("name", SMOOTH)
def test_precise_gram_matrix_agrees_with_doubles_and_with_the_dense_jacobian(name, trained):
    network, data = interpolating(name, n=5, d=3, k=4)
    K = to_floats(precise_jacobian_gram(network, data.X, trained=trained))
    np.testing.assert_allclose(
        K, jacobian_gram(network, data.X, trained=trained), rtol=1e-12, atol=1e-13
    )
    J = dense_jacobian(network, data.X, trained=trained)
    np.testing.assert_allclose(K, J @ J.T, rtol=1e-12, atol=1e-13)


def test_precise_cell_gram_is_exact():
    rng = np.random.default_rng(3)
    X, S = rng.standard_normal((4, 3)), rng.standard_normal((4, 5))
    exact = [
        [
            float(
                sum(Fraction(a) * Fraction(b) for a, b in zip(s, t, strict=True))
                * sum(Fraction(a) * Fraction(b) for a, b in zip(x, z, strict=True))
            )
            for t, z in zip(S.tolist(), X.tolist(), strict=True)
        ]
        for s, x in zip(S.tolist(), X.tolist(), strict=True)
    ]
    np.testing.assert_array_equal(to_floats(precise_cell_gram(X, S)), exact)


def test_precision_of_the_library_is_restored_also_after_an_error():
    from flint import ctx

    before = ctx.prec
    with working_precision(300):
        assert ctx.prec == 300
    assert ctx.prec == before

    def fail():
        with working_precision(300):
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert ctx.prec == before
