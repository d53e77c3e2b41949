"""Residual, tangent Gram matrix, Lipschitz weights and the quartic form against automatic
differentiation and brute force.
"""

from fractions import Fraction
from itertools import product

import jax
import numpy as np
import pytest
from flint import arb
from tests.checker.autodiff_cases import PHI, symmetric, tensor
from tests.checker.cases import svec_matrix
from tests.checker.records import last_pass

from globalmin_check import limits
from globalmin_check.balls import sum_of_squares
from globalmin_check.network import Tangent, exact_loss, require_loss, residual
from globalmin_check.primitives import (
    add_lower,
    hadamard,
    lower_product,
    quartic_matrix,
    row_sums,
    shifted,
    strips,
    weighted_gram,
)
from globalmin_check.problem import Problem, Sizes

jax.config.update("jax_enable_x64", True)
ACTIVATIONS = ["softplus", "sigmoid", "tanh", "erf", "quadratic"]


def problem(activation: str, *, seed: int = 0, n: int = 5, d: int = 3, k: int = 4) -> Problem:
    rng = np.random.default_rng(seed)
    X, y, W, v = (
        rng.standard_normal((n, d)),
        rng.standard_normal(n),
        rng.standard_normal((k, d)),
        rng.standard_normal(k),
    )
    slope = Fraction(1, 4) if activation == "leaky_relu" else Fraction(1)
    return Problem(
        activation, slope, False, Sizes(n, d, k), tensor(X), tensor(y), tensor(W), tensor(v)
    )


def arrays(p: Problem) -> tuple[np.ndarray, ...]:
    return tuple(np.array(t.values).reshape(t.shape) for t in (p.X, p.y, p.W, p.v))


def jacobian(p: Problem, both: bool) -> np.ndarray:
    X, _, W, v = arrays(p)
    f = lambda v, W: PHI[p.activation](X @ W.T) @ v  # noqa: E731
    dv, dW = jax.jacobian(f, argnums=(0, 1))(v, W)
    flat = np.asarray(dW).reshape(len(X), -1)
    return np.hstack([flat, np.asarray(dv)]) if both else flat


@pytest.mark.parametrize("activation", list(PHI))
def test_residual_agrees_with_the_forward_pass(activation: str) -> None:
    p = problem(activation)
    X, y, W, v = arrays(p)
    expected = np.asarray(PHI[activation](X @ W.T) @ v - y)
    np.testing.assert_allclose(
        [float(entry) for entry in residual(p)], expected, rtol=0, atol=1e-13
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("both", [False, True])
def test_gram_and_its_products_agree_with_the_jacobian(activation: str, both: bool) -> None:
    p = problem(activation)
    J = jacobian(p, both)
    K = J @ J.T
    tangent = Tangent(p, both)
    np.testing.assert_allclose(symmetric(tangent.gram()), K, rtol=1e-12, atol=1e-13)
    z = np.random.default_rng(1).standard_normal(len(K))
    Kz, energy = tangent.apply(z.tolist())
    np.testing.assert_allclose([float(entry) for entry in Kz], K @ z, rtol=1e-12, atol=1e-13)
    assert float(energy) == pytest.approx(float(z @ K @ z), rel=1e-12)
    np.testing.assert_allclose(
        [float(entry) for entry in tangent.residual()],
        [float(entry) for entry in residual(p)],
        rtol=1e-14,
        atol=1e-14,
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("order", [1, 2])
def test_local_suprema_hold_on_the_ball_and_are_tight_at_radius_zero(
    activation: str, order: int
) -> None:
    p = problem(activation)
    X, _, W, _ = arrays(p)
    derivative = PHI[activation]
    for _ in range(order):
        derivative = jax.grad(derivative)
    tangent = Tangent(p, False)
    for rho, i in product((0.0, 0.1, 3.0), range(len(X))):
        bounds = [float(s) for s in tangent.local_supremum(order, i, arb(rho))]
        reach = rho * np.linalg.norm(X[i])
        for neuron, bound in enumerate(bounds):
            points = W[neuron] @ X[i] + np.linspace(-reach, reach, 41)
            top = float(np.max(np.abs(jax.vmap(derivative)(points))))
            assert top <= bound * (1 + 1e-12)
            assert rho > 0 or top == pytest.approx(bound, rel=1e-7)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("both", [False, True])
def test_lipschitz_constant_holds_between_random_weights_in_the_ball(
    activation: str, both: bool
) -> None:
    p = problem(activation, seed=3)
    X, _, W, v = arrays(p)
    rho = 0.3
    tangent = Tangent(p, both)
    c2 = np.array([float(q) for q in tangent.curvature_weights(Fraction(rho))])
    S, _ = svec_matrix(X)
    mm2 = float(np.linalg.eigvalsh((S.T * c2) @ S)[-1])
    s2 = np.array([float(q) for q in tangent.slope_weights(Fraction(rho))])
    beta2 = float(np.linalg.eigvalsh((X.T * s2) @ X)[-1])
    Lip = (np.sqrt(mm2) + np.sqrt(mm2 + 4 * beta2)) / 2 if both else np.sqrt(mm2)
    rng = np.random.default_rng(4)
    for _ in range(40):
        points = []
        for _ in range(2):
            step = rng.standard_normal(W.size + (v.size if both else 0))
            step *= rho * rng.uniform() / np.linalg.norm(step)
            points.append((W + step[: W.size].reshape(W.shape), v + step[W.size :] if both else v))
        moved = [
            Problem(
                activation, Fraction(1), False, p.sizes, p.X, p.y, tensor(weights), tensor(head)
            )
            for weights, head in points
        ]
        distance = np.sqrt(sum(np.sum((a - b) ** 2) for a, b in zip(*points, strict=True)))
        change = np.linalg.norm(jacobian(moved[0], both) - jacobian(moved[1], both), 2)
        assert change <= Lip * distance * (1 + 1e-9)


def test_quartic_matrices_bound_the_quartic_form() -> None:
    rng = np.random.default_rng(5)
    X, q = rng.standard_normal((6, 3)), rng.uniform(0.1, 2, 6)
    S, u = svec_matrix(X)
    weights = [arb(float(value)) for value in q]
    for t in (0.0, 0.7, -1.3):
        expected = 5 * np.eye(6) - (S.T * q) @ S + t * (np.outer(u, u) - np.eye(6))
        np.testing.assert_allclose(
            symmetric(quartic_matrix(X.tolist(), weights, Fraction(5), Fraction(t))),
            expected,
            atol=1e-12,
        )
    expected = 5 * np.eye(3) - (X.T * (q * np.sum(X**2, axis=1))) @ X
    np.testing.assert_allclose(
        symmetric(quartic_matrix(X.tolist(), weights, Fraction(5), None)), expected, atol=1e-12
    )
    directions = rng.standard_normal((4000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    top = float(np.max((directions @ X.T) ** 4 @ q))
    for t in (0.0, 0.7, -1.3):
        kappa = np.linalg.eigvalsh((S.T * q) @ S - t * (np.outer(u, u) - np.eye(6)))[-1]
        assert top <= kappa * (1 + 1e-12)


def test_symmetric_products_agree_in_strips(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    U, weights = rng.standard_normal((9, 4)), rng.uniform(1, 2, 4)
    for size in (2, 4, 512):
        monkeypatch.setattr(limits, "STRIP", size)
        assert strips(9)[0][0] == 0
        assert strips(9)[-1][1] == 9
        rows = lower_product(U.tolist(), U.tolist())
        np.testing.assert_allclose(symmetric(rows), U @ U.T, atol=1e-13)
        gram = weighted_gram(
            [[arb(float(x)) for x in row] for row in U], [arb(float(w)) for w in weights]
        )
        np.testing.assert_allclose(symmetric(gram), (U * weights) @ U.T, atol=1e-13)
        np.testing.assert_allclose(
            symmetric(hadamard(rows, gram)), (U @ U.T) * ((U * weights) @ U.T), atol=1e-12
        )
        np.testing.assert_allclose(
            symmetric(add_lower(rows, gram)), U @ U.T + (U * weights) @ U.T, atol=1e-12
        )
        np.testing.assert_allclose(
            symmetric(shifted(rows, -1, Fraction(1, 3))), np.eye(9) / 3 - U @ U.T, atol=1e-13
        )
        np.testing.assert_allclose(
            [float(s) for s in row_sums(rows)], np.sum(np.abs(U @ U.T), axis=1), atol=1e-12
        )


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs", "linear", "quadratic"])
def test_exact_loss_lies_in_the_ball_and_decides_ties(
    activation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = problem(activation)
    loss = exact_loss(p)
    r = residual(p)
    assert (sum_of_squares(r) / 2 - arb(float(loss))).abs_upper() < 1e-12
    checks = last_pass()
    require_loss(checks, "1", p, loss, r)
    assert checks.undecided() == ""
    monkeypatch.setattr(limits, "EXACT_TERMS", 0)
    wide = [arb(0, 1)] * p.sizes.n
    require_loss(checks, "2", p, loss, wide)
    assert "check 2" in checks.undecided()
