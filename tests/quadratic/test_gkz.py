"""Every numbered item of GKZ (stationary points of quadratic networks) against an independent
computation.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import design_gram, design_matrix, svec, unsvec
from globalmin.optimize.run import Status
from globalmin.quadratic import barrier as barrier_theory
from globalmin.quadratic import risk
from globalmin.quadratic.ambiguity import (
    bad_interpolant,
    exact_kernel_matrix,
    farthest_step,
    kernel_direction,
)
from globalmin.quadratic.barrier import (
    WIDTH_CONSTANT,
    identity_start,
    risk_of_start_limit,
    singular_value_interval,
    start_margin,
    start_probability,
    sufficient_width,
)
from globalmin.quadratic.census import (
    classify_stationary,
    population_escape,
    stationary_census,
    stationary_weights,
)
from globalmin.quadratic.general_activation import balanced_head, weights_on_head
from globalmin.quadratic.identifiability import (
    critical_samples,
    exact_span_rank,
    recover_gram,
    recover_network,
    span_condition,
)
from globalmin.quadratic.population_descent import population_descent
from globalmin.shallow.complete_square import complete_square, quadratic_coefficients
from globalmin.shallow.network import ShallowNetwork

SIZES = [(1, 1), (1, 3), (2, 2), (3, 3), (3, 5), (5, 9)]  # (d, m)


def teacher(d, m, seed=0):
    return np.random.default_rng(seed).standard_normal((m, d))


def autodiff_risk(W, Wstar):
    D = W.T @ W - Wstar.T @ Wstar
    return 2 * jnp.sum(D * D) + jnp.trace(D) ** 2


def hessian_by_differences(W, Wstar):
    """Differences of the gradient, a cubic polynomial: the combination of steps 1/2 and 1 is exact
    up to rounding.
    """

    def slope(direction, h):
        return (
            risk.population_gradient(W + h * direction, Wstar)
            - risk.population_gradient(W - h * direction, Wstar)
        ) / (2 * h)

    basis = np.eye(W.size).reshape(W.size, *W.shape)
    return np.stack([((4 * slope(e, 0.5) - slope(e, 1.0)) / 3).ravel() for e in basis])


# --- closed forms
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "m"), SIZES)
def test_population_risk_equals_its_eigenvalue_form(d, m):
    """GKZ-R1: 2 sum lambda_i^2 + (sum lambda_i)^2 over the eigenvalues of D."""
    W, Wstar = teacher(d, m, 1), teacher(d, m, 2)
    eigenvalues = np.linalg.eigvalsh(W.T @ W - Wstar.T @ Wstar)
    assert risk.population_risk(W, Wstar) == pytest.approx(
        2 * np.sum(eigenvalues**2) + eigenvalues.sum() ** 2, rel=1e-12
    )


@pytest.mark.parametrize(("law", "mu4"), [("normal", 3.0), ("uniform", 9 / 5), ("signs", 1.0)])
def test_population_risk_agrees_with_monte_carlo_for_three_input_laws(law, mu4):
    """GKZ-R1, GKZ-M1: within 5 standard errors of 400,000 samples (false alarm below 1e-6)."""
    rng = np.random.default_rng(3)
    W, Wstar = teacher(3, 4, 1), teacher(3, 4, 2)
    draw = {
        "normal": lambda size: rng.standard_normal(size),
        "uniform": lambda size: rng.uniform(-math.sqrt(3), math.sqrt(3), size),
        "signs": lambda size: rng.choice([-1.0, 1.0], size),
    }[law]
    X = draw((400_000, 3))
    squares = (risk.quadratic_outputs(W, X) - risk.quadratic_outputs(Wstar, X)) ** 2
    expected = risk.population_risk(W, Wstar, fourth_moment=mu4)
    assert abs(squares.mean() - expected) <= 5 * squares.std() / math.sqrt(squares.size)


@pytest.mark.parametrize(("d", "m"), [(1, 3), (3, 5)])
def test_population_gradient_and_hessian_agree_with_automatic_differentiation(d, m):
    """GKZ-R2, GKZ-R3; the Hessian by differences, used below, agrees as well."""
    W, Wstar, V = teacher(d, m, 1), teacher(d, m, 2), teacher(d, m, 3)
    with jax.enable_x64(True):
        arrays = jnp.asarray(W), jnp.asarray(Wstar)
        gradient = np.asarray(jax.grad(autodiff_risk)(*arrays))
        H = np.asarray(jax.hessian(autodiff_risk)(*arrays)).reshape(W.size, W.size)
    np.testing.assert_allclose(risk.population_gradient(W, Wstar), gradient, rtol=1e-12, atol=1e-10)
    assert risk.population_hessian_form(W, Wstar, V) == pytest.approx(
        V.ravel() @ H @ V.ravel(), rel=1e-11
    )
    np.testing.assert_allclose(hessian_by_differences(W, Wstar), H, atol=1e-10 * np.abs(H).max())
    assert np.linalg.eigvalsh(H)[-1] <= risk.population_hessian_limit(W, Wstar) * (1 + 1e-12)


def test_hessian_bound_is_nearly_attained():
    """GKZ-R3: the bound is reasonably tight, within 30 per cent for a wide W, and holds for random
    ones.
    """
    W, Wstar = teacher(4, 40, 1), teacher(4, 40, 2)
    assert np.linalg.eigvalsh(hessian_by_differences(W, Wstar))[
        -1
    ] >= 0.7 * risk.population_hessian_limit(W, Wstar)
    for seed in range(20):
        W, Wstar = teacher(3, 4, seed), 2 * teacher(3, 4, 100 + seed)
        assert np.linalg.eigvalsh(hessian_by_differences(W, Wstar))[
            -1
        ] <= risk.population_hessian_limit(W, Wstar)


def test_empirical_risk_and_gradient_equal_sums_over_samples():
    """GKZ-R4: loops and automatic differentiation; the risk is the quadratic form of F in
    svec(D).
    """
    rng = np.random.default_rng(4)
    X, W, Wstar = rng.standard_normal((7, 3)), teacher(3, 4, 1), teacher(3, 4, 2)
    y = risk.quadratic_outputs(Wstar, X)
    by_loop = (
        sum((sum(float(w @ x) ** 2 for w in W) - label) ** 2 for x, label in zip(X, y, strict=True))
        / 7
    )
    assert risk.empirical_risk(W, X, y) == pytest.approx(by_loop, rel=1e-12)
    s = svec(W.T @ W - Wstar.T @ Wstar)
    assert s @ design_gram(X) @ s / 7 == pytest.approx(by_loop, rel=1e-11)
    with jax.enable_x64(True):
        gradient = jax.grad(
            lambda w: jnp.mean((jnp.sum((jnp.asarray(X) @ w.T) ** 2, axis=1) - jnp.asarray(y)) ** 2)
        )(jnp.asarray(W))
    np.testing.assert_allclose(risk.empirical_gradient(W, X, y), np.asarray(gradient), rtol=1e-11)


def test_expected_design_gram_agrees_with_the_population_risk():
    """GKZ-R4: svec(D)^T (2I + uu^T) svec(D) is the population risk, and the spectrum is 2 and d +
    2.
    """
    W, Wstar = teacher(4, 5, 1), teacher(4, 5, 2)
    s = svec(W.T @ W - Wstar.T @ Wstar)
    F = risk.expected_design_gram(4)
    assert s @ F @ s == pytest.approx(risk.population_risk(W, Wstar), rel=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(F), [2.0] * 9 + [6.0], atol=1e-12)


def test_outputs_do_not_change_under_rotations_of_the_neurons():
    """GKZ-M1: f(QW; x) = f(W; x)."""
    W, X = teacher(3, 5, 1), teacher(3, 8, 2)
    Q = np.linalg.qr(teacher(5, 5, 3))[0]
    np.testing.assert_allclose(
        risk.quadratic_outputs(Q @ W, X), risk.quadratic_outputs(W, X), rtol=1e-12
    )


def test_orbit_distance_is_zero_on_the_orbit_and_equals_the_nuclear_norm_formula_off_it():
    """GKZ-T2.1a."""
    Wstar, W = teacher(3, 5, 1), teacher(3, 5, 2)
    Q = np.linalg.qr(teacher(5, 5, 3))[0]
    assert risk.orbit_distance(Q @ Wstar, Wstar) == pytest.approx(0.0, abs=1e-13)
    assert risk.population_risk(Q @ Wstar, Wstar) == pytest.approx(0.0, abs=1e-24)
    nuclear = np.linalg.svd(W @ Wstar.T, compute_uv=False).sum()
    by_formula = math.sqrt(np.sum(W * W) + np.sum(Wstar * Wstar) - 2 * nuclear)
    assert risk.orbit_distance(W, Wstar) == pytest.approx(by_formula, rel=1e-12)
    best = min(
        np.linalg.norm(W - np.linalg.qr(teacher(5, 5, seed))[0] @ Wstar) for seed in range(200)
    )
    assert risk.orbit_distance(W, Wstar) <= best
    with pytest.raises(DataError, match="zero rows"):
        risk.align(W, Wstar[:4])


def test_general_quadratic_risk_agrees_with_monte_carlo():
    """GKZ-C2.2: within 5 standard errors, and the barrier scales with alpha^2."""
    rng = np.random.default_rng(5)
    W, Wstar, coefficients = teacher(3, 4, 1), teacher(3, 4, 2), (0.7, -1.3, 0.4)
    alpha, beta, gamma = coefficients
    X = rng.standard_normal((400_000, 3))

    def network(weights):
        Z = X @ weights.T
        return (alpha * Z**2 + beta * Z + gamma).sum(axis=1)

    squares = (network(W) - network(Wstar)) ** 2
    shift = (W - Wstar).sum(axis=0)
    expected = alpha**2 * risk.population_risk(W, Wstar) + beta**2 * float(shift @ shift)
    assert abs(squares.mean() - expected) <= 5 * squares.std() / math.sqrt(squares.size)


def test_completing_the_square_gives_the_same_function_on_the_extended_inputs():
    """GKZ-C2.2: alpha z^2 + beta z + gamma as z^2 on (x, 1)."""
    rng = np.random.default_rng(6)
    network = ShallowNetwork(
        rng.standard_normal((4, 3)), rng.standard_normal(4), "polynomial(0.4,-1.3,0.7)"
    )
    assert quadratic_coefficients(network) == (0.7, -1.3, 0.4)
    X = rng.standard_normal((9, 3))
    squared = complete_square(network)
    np.testing.assert_allclose(
        squared.predict(np.hstack([X, np.ones((9, 1))])), network.predict(X), rtol=1e-12
    )
    assert quadratic_coefficients(squared) == (1.0, 0.0, 0.0)
    with pytest.raises(DataError, match="not quadratic"):
        complete_square(ShallowNetwork(network.W, network.v, "polynomial(0,0,1,1)"))


@pytest.mark.parametrize("coefficients", [(0.7, -1.3, 0.4), (-2.0, 0.5, 3.0)])
def test_general_network_represents_a_prescribed_quadratic_function(coefficients):
    """GKZ-C2.2: 2d + 2 neurons whose head sums to zero, so that the constants cancel."""
    rng = np.random.default_rng(7)
    M, b, X = rng.standard_normal((3, 3)), rng.standard_normal(3), rng.standard_normal((8, 3))
    M, v = M + M.T, balanced_head(8)
    W = weights_on_head(M, b, coefficients, v)
    assert W is not None
    alpha, beta, gamma = coefficients
    network = ShallowNetwork(W, v, f"polynomial({gamma},{beta},{alpha})")
    np.testing.assert_allclose(
        network.predict(X), np.einsum("ij,jk,ik->i", X, M, X) + X @ b, rtol=1e-11, atol=1e-11
    )
    with pytest.raises(DataError, match="no linear part"):
        weights_on_head(M, b, (1.0, 0.0, 0.0), v)
    with pytest.raises(DataError, match="alpha != 0"):
        weights_on_head(M, b, (0.0, 1.0, 0.0), v)


# --- energy barrier
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "m"), SIZES)
def test_tight_and_exact_points_attain_their_values_to_twelve_digits(d, m):
    """GKZ-T2.1c: 3 sigma^4 at rank d-1; GKZ-T2.1: 2(d+2)/(d+1) sigma^4, a stationary point of the
    risk.
    """
    Wstar = teacher(d, m, 8)
    sigma4 = np.linalg.svd(Wstar, compute_uv=False)[-1] ** 4
    tight, exact = barrier_theory.tight_point(Wstar), barrier_theory.exact_barrier_point(Wstar)
    assert risk.population_risk(tight, Wstar) == pytest.approx(3 * sigma4, rel=1e-12, abs=1e-12)
    assert risk.population_risk(exact, Wstar) == pytest.approx(
        barrier_theory.barrier(Wstar), rel=1e-12, abs=1e-12
    )
    assert barrier_theory.barrier(Wstar, "paper") == pytest.approx(2 * sigma4, rel=1e-12)
    assert risk.numerical_rank(tight) == risk.numerical_rank(exact) == d - 1
    np.testing.assert_allclose(
        risk.population_gradient(exact, Wstar), 0.0, atol=1e-11 * np.linalg.norm(Wstar) ** 3
    )


@pytest.mark.parametrize("d", [2, 3, 4])
def test_no_rank_deficient_network_is_below_the_exact_barrier_and_search_attains_it(d):
    """GKZ-T2.1, GKZ-T2.1b, GKZ-X1: L-BFGS over factors of rank d-1 ends at 2(d+2)/(d+1) sigma^4."""
    Wstar = teacher(d, d + 1, 9)
    A = Wstar.T @ Wstar
    height = barrier_theory.barrier(Wstar)

    def value(flat):
        factor = flat.reshape(d - 1, d)
        D = factor.T @ factor - A
        t = np.trace(D)
        return 2 * np.sum(D * D) + t**2, (4 * factor @ (2 * D + t * np.eye(d))).ravel()

    rng = np.random.default_rng(10)
    values = [
        minimize(value, rng.standard_normal((d - 1) * d), jac=True, options={"gtol": 1e-10}).fun
        for _ in range(8)
    ]
    assert min(values) >= height * (1 - 1e-9)
    assert min(values) == pytest.approx(height, rel=1e-6)
    assert height >= barrier_theory.barrier(Wstar, "paper")


def test_barrier_of_one_feature_is_three_sigma_to_the_fourth_and_zero_for_deficient_teachers():
    """GKZ-T2.1: edge cases d = 1 and rank W* < d."""
    assert barrier_theory.barrier(np.array([[2.0]])) == pytest.approx(3 * 16.0)
    deficient = np.array([[1.0, 1.0], [2.0, 2.0]])
    assert barrier_theory.barrier(deficient) == pytest.approx(0.0, abs=1e-60)
    for refuse in (
        barrier_theory.tight_point,
        barrier_theory.exact_barrier_point,
        stationary_census,
    ):
        with pytest.raises(HypothesisError, match="rank"):
            refuse(deficient)
    with pytest.raises(HypothesisError, match="at least as many neurons"):
        barrier_theory.barrier(np.ones((1, 2)))
    with pytest.raises(DataError, match="kind"):
        barrier_theory.barrier(np.eye(2), "guess")


def test_smallest_eigenvalue_is_bounded_below_the_barrier_and_the_bound_is_attained():
    """GKZ-T2.1 quantitatively: lambda_min(W^T W) >= sigma^2 - sqrt(L (d+1)/(2(d+2)))."""
    rng = np.random.default_rng(11)
    Wstar = teacher(3, 4, 12)
    for _ in range(200):
        W = Wstar + rng.uniform(0, 1) * rng.standard_normal((4, 3))
        bound = barrier_theory.estimate_smallest_eigenvalue_below(W, Wstar)
        assert np.linalg.eigvalsh(W.T @ W)[0] >= bound - 1e-12
    exact = barrier_theory.exact_barrier_point(Wstar)
    assert barrier_theory.estimate_smallest_eigenvalue_below(exact, Wstar) == pytest.approx(
        0.0, abs=1e-12
    )


# --- stationary points
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("subset", [(0, 3), (-1,)])
def test_one_index_out_of_range_refuses_the_census(subset):
    with pytest.raises(DataError, match="indices from 0 to 2"):
        stationary_census(teacher(3, 3, 1), subsets=[(0, 1), subset])


@pytest.mark.parametrize(("d", "m"), [(1, 1), (2, 2), (3, 4)])
def test_census_points_are_stationary_with_the_stated_risk_and_curvature(d, m):
    """GKZ-CENSUS: all 2^d subsets; gradient, risk and least eigenvalue of the Hessian by
    differences.
    """
    Wstar = teacher(d, m, 13)
    rows = stationary_census(Wstar)
    assert len(rows) == 2**d
    assert rows[0].is_global
    assert rows[0].risk == pytest.approx(0.0, abs=1e-20)
    scale = np.linalg.norm(Wstar) ** 3
    for row in rows:
        W = stationary_weights(row, m)
        assert risk.population_risk(W, Wstar) == pytest.approx(
            row.risk, rel=1e-10, abs=1e-12 * scale
        )
        np.testing.assert_allclose(risk.population_gradient(W, Wstar), 0.0, atol=1e-11 * scale)
        H = hessian_by_differences(W, Wstar)
        if m > 1 or not row.is_global:  # one neuron has no orbit along which the minimum is flat
            assert np.linalg.eigvalsh(H)[0] == pytest.approx(
                row.least_curvature, rel=1e-9, abs=1e-9
            )
        escape = population_escape(W, Wstar)
        if row.is_global:
            assert escape is None
            assert classify_stationary(W, Wstar) == "global minimum"
        else:
            assert escape is not None
            assert escape.curvature == pytest.approx(row.least_curvature, rel=1e-9)
            assert risk.population_hessian_form(W, Wstar, escape.U) == pytest.approx(
                row.least_curvature, rel=1e-9
            )
            assert classify_stationary(W, Wstar) == "strict saddle"
    smallest = min(row.risk for row in rows if not row.is_global)
    assert smallest == pytest.approx(barrier_theory.barrier(Wstar), rel=1e-10)


def test_census_holds_with_repeated_eigenvalues_and_offers_extremes_for_large_d():
    """GKZ-CENSUS: edge cases."""
    Q = np.linalg.qr(teacher(4, 4, 14))[0]
    Wstar = np.diag([2.0, 1.0, 1.0, 1.0]) @ Q
    for row in stationary_census(Wstar):
        np.testing.assert_allclose(
            risk.population_gradient(stationary_weights(row, 6), Wstar), 0.0, atol=1e-12
        )
    big = teacher(20, 25, 15)
    assert len(stationary_census(big, "extremes")) == 22
    assert stationary_census(big, [(0, 1), ()])[0].subset == (0, 1)
    assert len(stationary_census(teacher(1, 1), "extremes")) == 2
    with pytest.raises(DataError, match="extremes"):
        stationary_census(big)
    with pytest.raises(DataError, match="indices"):
        stationary_census(big, [(20,)])
    with pytest.raises(DataError, match="unknown"):
        stationary_census(big, "some")


def test_random_stationary_points_of_full_rank_are_global():
    """GKZ-T2.3: descend from random starts; a stationary point of rank d has zero risk. Starts are
    not stationary.
    """
    Wstar = teacher(3, 4, 16)

    def value(flat):
        W = flat.reshape(4, 3)
        return risk.population_risk(W, Wstar), risk.population_gradient(W, Wstar).ravel()

    for seed in range(5):
        start = teacher(3, 4, 20 + seed)
        assert classify_stationary(start, Wstar) == "not stationary"
        found = minimize(value, start.ravel(), jac=True, options={"gtol": 1e-12}).x.reshape(4, 3)
        assert risk.numerical_rank(found) == 3
        assert classify_stationary(found, Wstar) == "global minimum"


def test_full_rank_stationary_points_of_the_empirical_risk_fit_the_data():
    """GKZ-T2.3emp: n = 4 < 6 = N samples, planted labels, any data."""
    rng = np.random.default_rng(17)
    X, Wstar = rng.standard_normal((4, 3)), teacher(3, 3, 18)
    y = risk.quadratic_outputs(Wstar, X)

    def value(flat):
        W = flat.reshape(3, 3)
        return risk.empirical_risk(W, X, y), risk.empirical_gradient(W, X, y).ravel()

    found = minimize(value, rng.standard_normal(9), jac=True, options={"gtol": 1e-12}).x.reshape(
        3, 3
    )
    assert risk.numerical_rank(found) == 3
    assert risk.empirical_risk(found, X, y) <= 1e-18


# --- descent
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "m", "size"), [(1, 1, 0.3), (3, 4, 0.3), (5, 60, 0.3)])
def test_descent_from_below_the_barrier_keeps_the_certified_rate_to_the_end(d, m, size):
    """GKZ-RATE, GKZ-GD, GKZ-X2: L_{t+1} <= rate L_t down to 1e-20 L_0, full rank throughout, limit
    on the orbit.
    """
    Wstar = teacher(d, m, 19)
    singular = np.linalg.svd(Wstar, compute_uv=False)
    W0 = Wstar + size * singular[-1] ** 2 / singular[0] / math.sqrt(m * d) * teacher(d, m, 20)
    certified = barrier_theory.population_rate(W0, Wstar)
    assert certified is not None
    run = population_descent(W0, Wstar, max_iter=20_000, tol=1e-20)
    assert run.rate == certified.rate < 1
    ratios = run.risks[1:] / run.risks[:-1]
    assert (ratios <= run.rate + 1e-9).all()
    assert run.risks[-1] <= 1e-15 * run.risks[0]
    assert risk.orbit_distance(run.W, Wstar) <= 1e-6 * np.linalg.norm(Wstar)
    assert np.linalg.eigvalsh(run.W.T @ run.W)[0] >= certified.s2 - 1e-9


def test_gradient_domination_behind_the_rate_holds():
    """GKZ-RATE: |grad|^2 >= 32 sigma_min(W)^2 L for every W, nearly attained."""
    rng = np.random.default_rng(21)
    ratios = []
    for _ in range(300):
        Wstar, W = rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
        low = np.linalg.svd(W, compute_uv=False)[-1] ** 2
        ratios.append(
            np.sum(risk.population_gradient(W, Wstar) ** 2)
            / (32 * low * risk.population_risk(W, Wstar))
        )
    assert min(ratios) >= 1
    isotropic, traceless = np.eye(3), np.diag([1.1, 1.0, 0.9])
    gradient = risk.population_gradient(isotropic, np.sqrt(traceless))
    assert np.sum(gradient**2) == pytest.approx(
        32 * risk.population_risk(isotropic, np.sqrt(traceless)), rel=1e-9
    )


def test_steps_without_a_guarantee_are_refused_or_run_as_given():
    """GKZ-GD: above the barrier there is no certified step."""
    Wstar = teacher(3, 4, 22)
    above = barrier_theory.tight_point(Wstar) + 0.0
    assert barrier_theory.population_rate(above, Wstar) is None
    with pytest.raises(HypothesisError, match="barrier"):
        population_descent(above, Wstar)
    assert population_descent(teacher(3, 4, 23), Wstar, eta=1e-4, max_iter=5).rate == 1.0
    lost = population_descent(teacher(3, 4, 23), Wstar, eta=10.0)
    assert lost.status is Status.DIVERGED
    assert lost.loss == lost.risks.min()
    with pytest.raises(DataError, match="1/Lip"):
        barrier_theory.population_rate(Wstar, Wstar, eta=1.0)
    with pytest.raises(DataError, match="max_iter"):
        population_descent(Wstar, Wstar, max_iter=0)


@pytest.mark.parametrize("n", [4, 6, 12, 40])
def test_empirical_domination_and_barrier_hold_for_any_data(n):
    """GKZ-RATEemp: fewer or more samples than N = 6."""
    rng = np.random.default_rng(24)
    X, Wstar = rng.standard_normal((n, 3)), teacher(3, 4, 25)
    y = risk.quadratic_outputs(Wstar, X)
    for _ in range(50):
        W = rng.standard_normal((4, 3))
        gradient, value = risk.empirical_gradient(W, X, y), risk.empirical_risk(W, X, y)
        assert np.sum(gradient**2) >= barrier_theory.empirical_domination(W, X) * value * (1 - 1e-9)
        deficient = W @ np.diag([1.0, 1.0, 0.0])
        assert risk.empirical_risk(deficient, X, y) >= barrier_theory.empirical_barrier(
            Wstar, X
        ) * (1 - 1e-9)
    assert (barrier_theory.empirical_barrier(Wstar, X) > 1e-12) == (n >= 6)


def test_below_barrier_quantities_with_noise_and_unequal_heads_are_kept_by_gradient_descent():
    """GKZ-RATE, data version: E falls by the certified factor, B_t >= s2 I, limit is the
    least-squares matrix.
    """
    rng = np.random.default_rng(26)
    n, d, k = 60, 3, 5
    X, v = rng.standard_normal((n, d)), rng.uniform(0.5, 2.0, k)
    Wstar = rng.standard_normal((k, d)) + np.vstack([3 * np.eye(d), np.zeros((2, d))])
    y = risk.quadratic_outputs(Wstar, X, v) + 0.1 * rng.standard_normal(n)
    W = Wstar + 0.02 * rng.standard_normal((k, d))
    q = barrier_theory.barrier_quantities(W, v, X, y)
    assert q.is_below
    least = 0.5 * np.sum(
        (design_matrix(X) @ np.linalg.lstsq(design_matrix(X), y, rcond=None)[0] - y) ** 2
    )
    loss = 0.5 * np.sum((risk.quadratic_outputs(W, X, v) - y) ** 2)
    assert pytest.approx(loss - least, rel=1e-6) == q.E0
    previous = q.E0
    for _ in range(300):
        r = risk.quadratic_outputs(W, X, v) - y
        W = W - q.eta * 2 * v[:, None] * (W @ ((X * r[:, None]).T @ X))
        B = (W * v[:, None]).T @ W
        excess = 0.5 * np.sum((np.einsum("ij,jk,ik->i", X, B - q.A, X)) ** 2)
        assert excess <= q.rate * previous * (1 + 1e-9) + 1e-20
        assert np.linalg.eigvalsh(B)[0] >= q.s2 - 1e-9
        previous = excess
    assert previous < 1e-2 * q.E0


def test_below_barrier_golden_example_and_refusals():
    """GKZ-RATE: d = k = n = 1, x = v = y = 1: below the barrier iff 0 < w^2 < 2, and the
    rank-deficient point has E = 1/2.
    """
    one = np.ones((1, 1))
    for w, below in ((0.1, True), (1.0, True), (1.41, True), (1.42, False)):
        q = barrier_theory.barrier_quantities(np.array([[w]]), np.ones(1), one, np.ones(1))
        assert q.is_below == below
        assert q.tau == pytest.approx(abs(w * w - 1), abs=1e-12)
        assert q.barrier == pytest.approx(0.5)
    with pytest.raises(HypothesisError, match="v > 0"):
        barrier_theory.barrier_quantities(one, -np.ones(1), one, np.ones(1))
    with pytest.raises(HypothesisError, match="span"):
        barrier_theory.barrier_quantities(np.eye(2), np.ones(2), np.eye(2), np.ones(2))
    with pytest.raises(DataError, match="1/Lip"):
        barrier_theory.barrier_quantities(one, np.ones(1), one, np.ones(1), eta=5.0)


# --- initialization
# --------------------------------------------------------------------------------------------------


def test_singular_values_of_gaussian_matrices_stay_in_the_interval_as_often_as_stated():
    """GKZ-T2.4: 300 draws at t = 2, bound 1 - 2e^{-2} = 0.73; the observed frequency is far
    above.
    """
    rng = np.random.default_rng(27)
    low, high, probability = singular_value_interval(30, 5, 2.0)
    inside = 0
    for _ in range(300):
        singular = np.linalg.svd(rng.standard_normal((30, 5)), compute_uv=False)
        inside += int(low <= singular[-1] and singular[0] <= high)
    assert inside / 300 >= probability
    assert probability == pytest.approx(1 - 2 * math.exp(-2.0))
    with pytest.raises(DataError):
        singular_value_interval(3, 2, -1.0)


def test_width_constant_satisfies_the_corrected_inequality_and_the_printed_one_does_not_suffice():
    """GKZ-T2.5: 33/C + 8 C^{-3/2} + 16 C^{-2} < 1/8 at 269, not at 268."""

    def left(c):
        return 33 / c + 8 * c**-1.5 + 16 / c**2

    assert left(WIDTH_CONSTANT) < 1 / 8
    assert left(WIDTH_CONSTANT - 1) > 1 / 8
    assert sufficient_width(4) == 269 * 16
    assert start_probability(1) == 0.0
    assert start_probability(40) == pytest.approx(1 - 2 * math.exp(-20) - 2 * math.exp(-8))
    with pytest.raises(DataError):
        sufficient_width(0)


def test_starts_fall_below_the_barrier_from_the_simulated_widths():
    """GKZ-T2.5, GKZ-X4: d = 10; the paper's scale needs about 6 d^2, the scale read from the data
    about 4 d^2.
    """
    rng = np.random.default_rng(28)
    d = 10

    def share(C, scale):
        m, good = C * d * d, 0
        for _ in range(20):
            Wstar = rng.standard_normal((m, d))
            y = risk.quadratic_outputs(Wstar, rng.standard_normal((4_000, d)))
            good += start_margin(identity_start(m, d, scale=scale, y=y), Wstar) < 1
        return good / 20

    assert share(8, "paper") >= 0.95
    assert share(2, "paper") <= 0.05
    assert share(5, "width") >= 0.95
    assert share(5, "data") >= 0.95


def test_identity_start_is_a_multiple_of_the_identity_and_its_risk_obeys_the_general_rule():
    """GKZ-T2.5: W_0^T W_0 = gamma I, and L(W_0) <= (2d + d^2) eps^2."""
    W0 = identity_start(7, 3)
    np.testing.assert_allclose(W0.T @ W0, 19.0 * np.eye(3), rtol=1e-14)
    Q = np.linalg.qr(teacher(3, 3, 29))[0]
    Wstar = np.vstack([np.diag(np.sqrt([18.5, 19.2, 19.5])) @ Q, np.zeros((4, 3))])
    assert risk.population_risk(W0, Wstar) <= risk_of_start_limit(3, 0.5)
    everywhere = identity_start(3, 3, scale=18.5)
    isotropic = math.sqrt(19.0) * np.eye(3)
    assert risk.population_risk(everywhere, isotropic) == pytest.approx(
        risk_of_start_limit(3, 0.5), rel=1e-12
    )
    for bad in (
        {"scale": "guess"},
        {"scale": -1.0},
        {"scale": "data"},
        {"scale": "data", "y": -np.ones(3)},
    ):
        with pytest.raises(DataError):
            identity_start(7, 3, **bad)
    with pytest.raises(HypothesisError, match="m >= d"):
        identity_start(2, 3)
    with pytest.raises(HypothesisError, match="no barrier"):
        start_margin(np.eye(2), np.zeros((2, 2)))


# --- samples
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_critical_number_of_samples_is_sharp(d):
    """GKZ-T2.8, GKZ-SPAN, GKZ-X3: N - 1 Gaussian samples never span, N do; proved by exact
    arithmetic on the doubles.
    """
    N = critical_samples(d)
    X = np.random.default_rng(30 + d).standard_normal((N, d))
    assert span_condition(X).holds
    assert exact_span_rank(X) == (N, N)
    if N > 1:
        short = span_condition(X[:-1])
        assert (short.rank, short.needed, short.holds, short.lambda_min) == (N - 1, N, False, 0.0)
        assert exact_span_rank(X[:-1]) == (N - 1, N - 1)


@pytest.mark.parametrize(("d", "m"), [(1, 1), (3, 3), (5, 8), (12, 12)])
def test_samples_that_span_recover_the_teacher(d, m):
    """GKZ-DIRECT, GKZ-T2.6a, GKZ-T2.9a: from N samples exactly, the recovered network predicts
    everywhere.
    """
    rng = np.random.default_rng(31)
    X, Wstar = rng.standard_normal((critical_samples(d), d)), teacher(d, m, 32)
    y = risk.quadratic_outputs(Wstar, X)
    A = Wstar.T @ Wstar
    np.testing.assert_allclose(recover_gram(X, y), A, atol=1e-8 * np.abs(A).max())
    fresh = rng.standard_normal((20, d))
    recovered = recover_network(X, y, m)
    assert recovered.shape == (m, d)
    np.testing.assert_allclose(
        risk.quadratic_outputs(recovered, fresh), risk.quadratic_outputs(Wstar, fresh), rtol=1e-5
    )
    with pytest.raises(HypothesisError, match="below d"):
        recover_network(X, y, d - 1)


def test_recovery_is_refused_when_the_samples_do_not_span():
    """GKZ-DIRECT."""
    with pytest.raises(HypothesisError, match="do not determine"):
        recover_gram(np.eye(3), np.ones(3))


@pytest.mark.parametrize(("d", "m", "n"), [(4, 4, 9), (4, 6, 7), (6, 6, 20), (5, 9, 3), (2, 2, 1)])
def test_bad_interpolant_fits_the_samples_and_is_wrong_elsewhere(d, m, n):
    """GKZ-T2.6b, GKZ-T2.9b: training error is rounding, population risk is the formula and at least
    2(d+2)/(d+1) sigma^4.
    """
    rng = np.random.default_rng(33)
    X, Wstar = rng.standard_normal((n, d)), teacher(d, m, 34)
    bad = bad_interpolant(X, Wstar)
    assert bad is not None
    scale = np.abs(risk.quadratic_outputs(Wstar, X)).max()
    assert bad.training_error <= 1e-11 * scale
    assert bad.W.shape == (m, d)
    assert bad.population_risk == pytest.approx(risk.population_risk(bad.W, Wstar), rel=1e-6)
    sigma4 = np.linalg.svd(Wstar, compute_uv=False)[-1] ** 4
    assert bad.guaranteed == pytest.approx(2 * (d + 2) / (d + 1) * sigma4, rel=1e-9)
    assert bad.population_risk >= bad.guaranteed * (1 - 1e-9)
    if n >= d:
        far = bad_interpolant(X, Wstar, delta="max")
        assert far is not None
        assert far.delta >= bad.delta * (1 - 1e-9)
        assert far.training_error <= 1e-8 * max(scale, far.delta)
        assert np.linalg.eigvalsh(Wstar.T @ Wstar + far.delta * far.M)[0] == pytest.approx(
            0.0, abs=1e-8 * far.delta
        )


def test_bad_interpolants_are_unbounded_when_the_samples_do_not_span_the_inputs():
    """GKZ-T2.6b: n < d, M = vv^T; "max" is refused with the remedy, any number works."""
    X, Wstar = np.eye(3)[:2], np.eye(3)
    M = np.diag([0.0, 0.0, 1.0])
    assert math.isinf(farthest_step(Wstar.T @ Wstar, M)[0])
    assert farthest_step(np.eye(2), np.diag([1.0, -0.5])) == (2.0, 1.0)
    direction = kernel_direction(X)
    assert direction is not None
    np.testing.assert_allclose(np.einsum("ij,jk,ik->i", X, direction, X), 0.0, atol=1e-14)
    assert bad_interpolant(X[:, :1] * 0 + 1.0, np.ones((1, 1))) is None
    for wrong in (-1.0, "least", math.nan):
        with pytest.raises(DataError, match="delta"):
            bad_interpolant(np.random.default_rng(0).standard_normal((4, 3)), Wstar, delta=wrong)
    line = np.array([[1.0, 0.0]])
    found = kernel_direction(line)
    assert found is not None
    if math.isinf(farthest_step(np.eye(2), found)[0]):
        with pytest.raises(HypothesisError, match="unbounded"):
            bad_interpolant(line, np.eye(2), delta="max")


def test_one_sample_more_makes_the_interpolant_unique():
    """GKZ-T2.9a, GKZ-T2.9b: None at N samples, a counter-example at N - 1; d up to 12."""
    for d in (1, 2, 5, 12):
        X = np.random.default_rng(35 + d).standard_normal((critical_samples(d), d))
        assert bad_interpolant(X, teacher(d, d, 36)) is None
        if d > 1:
            assert bad_interpolant(X[:-1], teacher(d, d, 36)) is not None


def test_exact_kernel_matrix_vanishes_on_every_sample_in_integers():
    """GKZ-T2.6b: an integer symmetric matrix, exactly zero on rows that are many but degenerate;
    None when the rows span.
    """
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, -3.0], [1.5, 0.0]])
    M = exact_kernel_matrix(rows)
    assert M is not None
    assert M in ([[0, 1], [1, 0]], [[0, -1], [-1, 0]])
    assert exact_span_rank(rows) == (2, 2)
    assert exact_kernel_matrix(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])) is None
    X = np.random.default_rng(37).integers(-3, 4, (9, 4)).astype(float)
    M = exact_kernel_matrix(X)
    assert M is not None
    exact = [[int(entry) for entry in row] for row in X.tolist()]
    assert all(sum(x[a] * M[a][b] * x[b] for a in range(4) for b in range(4)) == 0 for x in exact)
    assert any(any(row) for row in M)
    assert all(M[a][b] == M[b][a] for a in range(4) for b in range(4))
    assert exact_kernel_matrix(X, max_exact=3) is None


def test_rank_bounds_of_degenerate_samples_are_exact_or_honest():
    """GKZ-SPAN: five rows on a circle satisfy one quadratic equation exactly, so N = 6 is out of
    reach.
    """
    circle = np.array(
        [
            [3.0, 4.0, 5.0],
            [5.0, 12.0, 13.0],
            [8.0, 15.0, 17.0],
            [7.0, 24.0, 25.0],
            [20.0, 21.0, 29.0],
            [9.0, 40.0, 41.0],
            [12.0, 35.0, 37.0],
        ]
    )
    assert exact_span_rank(circle) == (5, 5)
    assert not span_condition(circle).holds
    assert exact_span_rank(circle, max_exact=5) == (5, 6)
    with pytest.raises(DataError):
        critical_samples(0)


def test_positive_heads_are_absorbed_into_the_weights():
    """GKZ-C2.7: the same outputs."""
    rng = np.random.default_rng(38)
    a, W, X = rng.uniform(0.1, 2, 4), teacher(3, 4, 39), rng.standard_normal((6, 3))
    np.testing.assert_allclose(
        risk.quadratic_outputs(np.sqrt(a)[:, None] * W, X),
        risk.quadratic_outputs(W, X, a),
        rtol=1e-12,
    )


def test_svec_keeps_the_trace_product_and_round_trips():
    """GKZ-SPAN: <svec M, svec N> = tr(MN), and S svec(M) are the quadratic forms."""
    rng = np.random.default_rng(40)
    M, N, X = (rng.standard_normal((4, 4)) for _ in range(3))
    M, N = M + M.T, N + N.T
    assert svec(M) @ svec(N) == pytest.approx(np.trace(M @ N), rel=1e-12)
    np.testing.assert_allclose(unsvec(svec(M)), M, rtol=1e-15)
    np.testing.assert_allclose(
        design_matrix(X) @ svec(M), np.einsum("ij,jk,ik->i", X, M, X), rtol=1e-12
    )
    with pytest.raises(DataError, match="no svec"):
        unsvec(np.ones(4))
