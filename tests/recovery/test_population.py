"""The exact population loss (FCL-POP), its closed form (FCL-ORTH), explicit constants (FCL-LMIN,
FCL-HMAX, FCL-L1, FCL-L2) and the scales of FCL-T1, FCL-C1, FCL-T2, FCL-C2, FCL-L3, FCL-L4, FCL-A1.
"""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.errors import DataError, HypothesisError
from globalmin.recovery.bounds import (
    conditioning,
    descent_rate,
    pathwise_hessian_lipschitz,
    population_curvature_least,
    population_curvature_most,
    population_hessian_lipschitz,
    population_radius,
    theorem_scales,
)
from globalmin.recovery.geometry import (
    empirical_hessian,
    empirical_loss,
    empirical_loss_and_gradient,
)
from globalmin.recovery.moments import rho
from globalmin.recovery.population import (
    gradient_deviation,
    hessian_deviation,
    orthonormal_hessian,
    population_gradient,
    population_hessian,
    population_loss,
)

NAMES = ("sigmoid", "tanh", "softplus")


def teacher(seed, K=3, d=4, scale=1.0):
    return scale * np.random.default_rng(seed).standard_normal((K, d))


def labels(X, W, name, seed=None):
    p = get_activation(name)(X @ W.T).mean(axis=1)
    return p if seed is None else (np.random.default_rng(seed).random(len(p)) < p).astype(float)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("sigma", "K", "d"), [(0.5, 3, 4), (1.5, 2, 2), (2.0, 3, 3), (1.0, 1, 3)])
def test_quadrature_and_closed_form_agree_for_orthogonal_neurons(name, sigma, K, d):
    W = sigma * np.eye(K, d)
    np.testing.assert_allclose(
        population_hessian(W, W, name), orthonormal_hessian(sigma, K, d, name), atol=1e-13
    )


def test_population_quantities_agree_with_samples_within_five_standard_errors():
    W, Wstar = teacher(0, K=2, d=3), teacher(1, K=2, d=3)
    rng, batches = np.random.default_rng(2), 40
    values = []
    for _ in range(batches):
        X = rng.standard_normal((5_000, 3))
        y = labels(X, Wstar, "sigmoid")
        loss, G = empirical_loss_and_gradient(W, X, y, "sigmoid")
        values.append(
            np.concatenate([[loss], G.ravel(), empirical_hessian(W, X, y, "sigmoid").ravel()])
        )
    values = np.array(values)
    exact = np.concatenate(
        [
            [population_loss(W, Wstar, "sigmoid")],
            population_gradient(W, Wstar, "sigmoid").ravel(),
            population_hessian(W, Wstar, "sigmoid").ravel(),
        ]
    )
    assert np.all(
        np.abs(values.mean(axis=0) - exact) < 5 * values.std(axis=0) / np.sqrt(batches - 1)
    )


@pytest.mark.parametrize("name", NAMES)
def test_gradient_and_hessian_are_derivatives_of_the_loss(name):
    W, Wstar, h = teacher(3, K=2, d=3), teacher(4, K=2, d=3), 1e-4
    A = teacher(5, K=2, d=3)
    ahead, behind = (population_loss(W + s * h * A, Wstar, name) for s in (1, -1))
    assert (ahead - behind) / (2 * h) == pytest.approx(
        float((population_gradient(W, Wstar, name) * A).sum()), abs=1e-7
    )
    slope = (
        population_gradient(W + h * A, Wstar, name) - population_gradient(W - h * A, Wstar, name)
    ) / (2 * h)
    np.testing.assert_allclose(
        slope.ravel(), population_hessian(W, Wstar, name) @ A.ravel(), atol=1e-7
    )


def test_parallel_neurons_and_one_feature_need_no_special_case():
    W = np.array([[1.0, 0.0], [2.0, 0.0]])
    near = W + np.array([[0.0, 0.0], [0.0, 1e-7]])
    np.testing.assert_allclose(
        population_hessian(W, near, "sigmoid"), population_hessian(near, W, "sigmoid"), atol=1e-7
    )
    line = population_hessian(np.array([[1.5]]), np.array([[1.5]]), "sigmoid")
    z = np.arange(-12, 12, 0.002)
    slope = get_activation("sigmoid").derivative(1.5 * z)
    assert line[0, 0] == pytest.approx(
        np.sum(slope**2 * z**2 * np.exp(-z * z / 2)) * 0.002 / np.sqrt(2 * np.pi), rel=1e-12
    )
    assert population_loss(W, W, "sigmoid") == pytest.approx(0.0, abs=1e-17)


def test_long_neurons_refine_the_grid():
    W = np.array([[12.0, 0.0], [0.0, 9.0]])
    exact = orthonormal_hessian(12.0, 2, 2, "sigmoid")
    np.testing.assert_allclose(
        population_hessian(12.0 * np.eye(2), 12.0 * np.eye(2), "sigmoid"), exact, atol=1e-13
    )
    with pytest.raises(DataError, match="too long"):
        population_hessian(10 * W, 10 * W, "sigmoid")


@pytest.mark.parametrize("name", NAMES)
def test_curvature_at_the_teacher_lies_between_its_bounds(name):
    """FCL-LMIN with constant 1, FCL-HMAX."""
    ratios = []
    for seed in range(6):
        W = teacher(seed, K=2 + seed % 2, d=3, scale=0.5 + 0.3 * seed)
        eigenvalues = np.linalg.eigvalsh(population_hessian(W, W, name))
        ratios.append(eigenvalues[0] / population_curvature_least(W, name))
        assert eigenvalues[-1] <= population_curvature_most(len(W), name)
    assert min(ratios) >= 1.0


def test_the_least_curvature_is_attained_by_orthogonal_neurons():
    H = orthonormal_hessian(1.0, 3, 4, "sigmoid")
    assert np.linalg.eigvalsh(H)[0] == pytest.approx(
        population_curvature_least(np.eye(3, 4), "sigmoid"), rel=1e-9
    )
    assert population_curvature_least(np.eye(3, 4), "sigmoid") == pytest.approx(
        float(rho(1.0, "sigmoid")) / 9
    )


def test_the_hessian_is_lipschitz_with_the_explicit_constant():
    """FCL-L1."""
    worst = 0.0
    for seed in range(8):
        Wstar = teacher(seed, K=2, d=3)
        W = Wstar + 0.4 * teacher(seed + 100, K=2, d=3)
        gap = np.linalg.norm(
            population_hessian(W, Wstar, "sigmoid") - population_hessian(Wstar, Wstar, "sigmoid"), 2
        )
        worst = max(
            worst, gap / np.linalg.norm(W - Wstar) / population_hessian_lipschitz(2, "sigmoid")
        )
    assert 0.02 < worst <= 1.0


def test_on_the_population_radius_all_eigenvalues_lie_in_the_claimed_interval():
    """FCL-L2."""
    Wstar, rng = 1.5 * np.eye(3, 4), np.random.default_rng(0)
    exact = float(np.linalg.eigvalsh(population_hessian(Wstar, Wstar, "sigmoid"))[0])
    for found in (
        population_radius(Wstar, "sigmoid", 0.5),
        population_radius(Wstar, "sigmoid", 0.5, curvature=exact),
    ):
        for _ in range(3):
            D = rng.standard_normal(Wstar.shape)
            eigenvalues = np.linalg.eigvalsh(
                population_hessian(Wstar + found.radius * D / np.linalg.norm(D), Wstar, "sigmoid")
            )
            assert found.least <= eigenvalues[0] <= eigenvalues[-1] <= found.most
    assert population_radius(Wstar, "sigmoid", 1e-9).radius == pytest.approx(0.01785, abs=1e-5)
    with pytest.raises(DataError, match="theta"):
        population_radius(Wstar, "sigmoid", 1.0)


def test_the_scales_of_the_theorems_have_the_numbers_of_the_spec():
    scales = theorem_scales(1.5 * np.eye(3, 10), 20_000, "sigmoid")
    assert scales.samples == pytest.approx(1.1e7, rel=0.02)
    assert theorem_scales(np.eye(3, 10), 20_000, "sigmoid").samples == pytest.approx(
        3.0e7, rel=0.03
    )
    assert scales.hessian_least < scales.hessian_most
    later = theorem_scales(1.5 * np.eye(3, 10), 80_000, "sigmoid")
    assert later.error < scales.error
    assert later.radius == scales.radius
    with pytest.raises(HypothesisError, match="K <= d"):
        conditioning(np.ones((3, 2)), "sigmoid")
    with pytest.raises(HypothesisError, match="dependent"):
        conditioning(np.ones((2, 3)), "sigmoid")


@pytest.mark.parametrize("binary", [False, True])
def test_deviations_from_the_population_fall_like_one_over_root_n(binary):
    """FCL-L3 and FCL-L4: slope -1/2 in n, medians of 9 draws at n and 16 n."""
    Wstar = 1.5 * np.eye(2, 4)
    W = Wstar + 0.05
    medians = []
    for n in (1_000, 16_000):
        found = []
        for seed in range(9):
            X = np.random.default_rng(seed).standard_normal((n, 4))
            y = labels(X, Wstar, "sigmoid", seed=seed + 1 if binary else None)
            found.append(
                [f(W, Wstar, X, y, "sigmoid") for f in (hessian_deviation, gradient_deviation)]
            )
        medians.append(np.median(found, axis=0))
    slopes = np.log(medians[1] / medians[0]) / np.log(16)
    np.testing.assert_allclose(slopes, -0.5, atol=0.17)


def test_population_losses_of_the_two_label_models_differ_by_a_constant():
    Wstar, W = teacher(0, K=2, d=3), teacher(1, K=2, d=3)
    X = np.random.default_rng(0).standard_normal((400_000, 3))
    p = labels(X, Wstar, "sigmoid")
    gap = empirical_loss(W, X, labels(X, Wstar, "sigmoid", seed=1), "sigmoid") - empirical_loss(
        W, X, p, "sigmoid"
    )
    assert gap == pytest.approx(0.5 * np.mean(p * (1 - p)), abs=1e-3)  # about five standard errors


def test_the_repaired_rate_is_attained_on_a_quadratic_and_long_steps_are_refused():
    """FCL-T2, repaired: eta <= 2/(least + most) contracts by 1 - eta least."""
    eta, factor = descent_rate(1.0, 9.0)
    assert eta == pytest.approx(0.2)
    assert factor == pytest.approx(max(abs(1 - eta * 1.0), abs(1 - eta * 9.0)))
    assert descent_rate(1.0, 9.0, 0.1)[1] == pytest.approx(0.9)
    with pytest.raises(DataError, match="eta"):
        descent_rate(1.0, 9.0, 0.3)


def test_the_corrected_pathwise_constant_holds_where_the_printed_power_of_k_fails():
    """FCL-L6: one neuron moved, one sample, residual near 1; the printed bound replaces 1/K by
    K^(-3/2).
    """
    K = 64
    W, X = np.zeros((K, 1)), np.array([[1.0]])
    W[1:] = 40.0
    y, moved = np.array([0.0]), W.copy()
    moved[0] = 0.1
    gap = np.linalg.norm(
        empirical_hessian(moved, X, y, "sigmoid") - empirical_hessian(W, X, y, "sigmoid"), 2
    ) / abs(moved[0, 0])
    corrected = pathwise_hessian_lipschitz(X, K, "sigmoid")
    printed = (0.25 * 0.0962251 + 0.125) / K**1.5 * 3
    assert printed < gap <= corrected
    assert gap > 0.5 * corrected
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.random(50)
    for _ in range(5):
        A, B = rng.standard_normal((2, 4, 3))
        gap = np.linalg.norm(
            empirical_hessian(A, X, y, "sigmoid") - empirical_hessian(B, X, y, "sigmoid"), 2
        )
        assert gap <= pathwise_hessian_lipschitz(X, 4, "sigmoid") * np.linalg.norm(A - B)
