"""Gradient, Hessian, third derivatives and the Lipschitz constant of the Hessian against automatic
differentiation.
"""

from dataclasses import replace
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb
from tests.checker.autodiff_cases import loss, phi, problem, symmetric
from tests.checker.cases import Smooth, svec_matrix
from tests.checker.second_order_cases import random_smooth

from globalmin_check.claims.hessian import Curve, third_derivatives

jax.config.update("jax_enable_x64", True)
ACTIVATIONS = ["softplus", "sigmoid", "tanh", "erf", "quadratic"]


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize(
    ("activation", "b"), [*((name, 1) for name in ACTIVATIONS), ("softplus", 3), ("sigmoid", 2)]
)
def test_gradient_and_hessian_agree_with_automatic_differentiation(
    activation: str, b: int, trained: str
) -> None:
    net = random_smooth(6, 3, 4, activation=activation, trained=trained)
    value, theta = loss(net, float(b))
    H, g = (
        np.asarray(array)
        for array in jax.jit(lambda w: (jax.hessian(value)(w), jax.grad(value)(w)))(theta)
    )
    curve = Curve(problem(net, Fraction(b)), trained == "vW")
    np.testing.assert_allclose(symmetric(curve.matrix()), H, rtol=1e-10, atol=1e-10)
    assert float(curve.gradient_square()) == pytest.approx(float(g @ g), rel=1e-11)
    rng = np.random.default_rng(2)
    for _ in range(3):
        direction = rng.standard_normal(len(theta))
        k = len(net.v)
        u = direction[:k] if trained == "vW" else np.zeros(k)
        along = curve.along(direction[-net.W.size :].reshape(net.W.shape).tolist(), u.tolist())
        assert float(along) == pytest.approx(float(direction @ H @ direction), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("activation", "b"), [*((name, 1) for name in ACTIVATIONS), ("softplus", 3), ("sigmoid", 2)]
)
def test_third_derivatives_agree_with_automatic_differentiation(activation: str, b: int) -> None:
    net = random_smooth(6, 3, 4, activation=activation)
    third = jax.jit(jax.vmap(jax.vmap(jax.grad(jax.grad(jax.grad(phi(activation, float(b))))))))
    found = third_derivatives(Curve(problem(net, Fraction(b)), False).tangent)
    np.testing.assert_allclose(
        [[float(z) for z in row] for row in found], third(net.X @ net.W.T), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_hessian_is_lipschitz_on_the_ball(activation: str) -> None:
    net = random_smooth(5, 2, 3, activation=activation, seed=1)
    R = 0.4
    c = np.array(
        [float(entry) for entry in Curve(problem(net), False).lipschitz_weights(Fraction(R))]
    )
    S = svec_matrix(net.X)[0]
    lam, kappa = (
        np.linalg.eigvalsh((net.X.T * c) @ net.X)[-1],
        np.linalg.eigvalsh((S.T * c) @ S)[-1],
    )
    Lam = float(np.sqrt(lam * kappa))
    value, theta = loss(net)
    hess = jax.jit(jax.hessian(value))
    rng = np.random.default_rng(3)
    for _ in range(60):
        steps = rng.standard_normal((2, len(theta)))
        steps *= R * rng.uniform(size=(2, 1)) / np.linalg.norm(steps, axis=1)[:, None]
        change = np.linalg.norm(np.asarray(hess(theta + steps[0]) - hess(theta + steps[1])), 2)
        assert change <= Lam * np.linalg.norm(steps[0] - steps[1]) * (1 + 1e-9)


def test_the_lipschitz_constant_is_exact_for_one_neuron() -> None:
    """w = 1, y = 1, z^2: L''' = 12 w, and the lemma gives 12 (1 + R)."""
    net = Smooth(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.ones(1), "quadratic")
    for R in (Fraction(0), Fraction(1, 5), Fraction(3)):
        c = Curve(problem(net), False).lipschitz_weights(R)
        assert (
            c == [arb(12) * (1 + arb(R.numerator) / R.denominator)]
            or (c[0] - 12 * (1 + arb(float(R)))).abs_upper() < 1e-12
        )


def test_blocks_are_the_diagonal_blocks_without_the_positive_part() -> None:
    net = random_smooth(6, 3, 4, activation="tanh")
    net = replace(net, v=np.array([1.0, 0.0, -2.0, 0.5]))
    curve = Curve(problem(net), False)
    value, theta = loss(net)
    residuals = lambda w: jnp.tanh(net.X @ w.reshape(net.W.shape).T) @ net.v - net.y  # noqa: E731
    J, H = (
        np.asarray(array)
        for array in jax.jit(lambda w: (jax.jacobian(residuals)(w), jax.hessian(value)(w)))(theta)
    )
    rest = H - J.T @ J
    for j in range(4):
        np.testing.assert_allclose(
            symmetric(curve.block(j)), rest[3 * j : 3 * j + 3, 3 * j : 3 * j + 3], atol=1e-11
        )
