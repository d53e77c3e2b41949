"""SJL, derivatives and quadratic networks: every item against automatic differentiation, brute
force or a planted case.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import minimize

from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import (
    design_gram,
    design_matrix,
    factor_by_head,
    factored_forms,
    generic_rank,
    moment_matrix,
    place_on_head,
    quadratic_forms,
    sample_gram,
    svec,
)
from globalmin.quadratic import duality
from globalmin.quadratic.approximate import (
    estimate_mixed_excess,
    estimate_planted_excess,
    largest_cubic_root,
)
from globalmin.shallow.hessian import (
    curvature_along,
    estimate_hessian_norm,
    gradient,
    hessian,
    hessian_times,
    quadratic_gradient,
    quadratic_hessian_form,
)
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import quadratic_escape

PHI = {
    "softplus": jax.nn.softplus,
    "tanh": jnp.tanh,
    "quadratic": jnp.square,
    "polynomial(0.3,-1,0.5,0.2)": lambda z: 0.3 - z + 0.5 * z**2 + 0.2 * z**3,
}


def problem(n, d, k, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((n, d)),
        rng.standard_normal(n),
        rng.standard_normal((k, d)),
        rng.standard_normal(k),
    )


def flat_loss(theta, X, y, phi, k):
    v, W = theta[:k], theta[k:].reshape(k, -1)
    return 0.5 * jnp.sum((phi(X @ W.T) @ v - y) ** 2)


# --- derivatives
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PHI)
def test_gradient_hessian_and_products_agree_with_automatic_differentiation(name):
    """SJL-D1, SJL-D2 with the cross block the paper leaves out: both layers and W only."""
    X, y, W, v = problem(6, 3, 2)
    network = ShallowNetwork(W, v, name)
    theta = np.concatenate([v, W.ravel()])
    with jax.enable_x64(True):
        loss = lambda t: flat_loss(t, jnp.asarray(X), jnp.asarray(y), PHI[name], 2)  # noqa: E731
        g, H = (
            np.asarray(jax.grad(loss)(jnp.asarray(theta))),
            np.asarray(jax.hessian(loss)(jnp.asarray(theta))),
        )
    in_W, in_v = gradient(network, X, y, trained="vW")
    assert in_v is not None
    np.testing.assert_allclose(np.concatenate([in_v, in_W.ravel()]), g, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(hessian(network, X, y, trained="vW"), H, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(hessian(network, X, y), H[2:, 2:], rtol=1e-10, atol=1e-11)
    direction = np.random.default_rng(1).standard_normal(theta.size)
    u, U = direction[:2], direction[2:].reshape(2, 3)
    image_W, image_v = hessian_times(network, X, y, U, u)
    assert image_v is not None
    np.testing.assert_allclose(
        np.concatenate([image_v, image_W.ravel()]), H @ direction, rtol=1e-10, atol=1e-11
    )
    np.testing.assert_allclose(
        hessian_times(network, X, y, U)[0].ravel(), H[2:, 2:] @ U.ravel(), rtol=1e-10, atol=1e-11
    )
    assert curvature_along(network, X, y, U, u) == pytest.approx(
        direction @ H @ direction, rel=1e-10
    )
    assert curvature_along(network, X, y, U) == pytest.approx(
        U.ravel() @ H[2:, 2:] @ U.ravel(), rel=1e-10
    )


def test_quadratic_forms_of_gradient_and_hessian_equal_the_general_ones():
    """SJL-D3: grad = 2 D_v W Z, Euler's identity, H = J^T J + kron(2 D_v, Z); the second term has
    the factor 4, not 2.
    """
    X, y, W, v = problem(9, 3, 4, seed=2)
    network = ShallowNetwork(W, v, "quadratic")
    r = network.predict(X) - y
    Z = moment_matrix(X, r)
    np.testing.assert_allclose(
        quadratic_gradient(W, v, X, y), gradient(network, X, y)[0], rtol=1e-11
    )
    M = (W * v[:, None]).T @ W
    assert np.sum(W * quadratic_gradient(W, v, X, y)) == pytest.approx(2 * np.sum(M * Z), rel=1e-11)
    J = (2 * (X @ W.T) * v)[:, :, None] * X[:, None, :]
    J = J.reshape(9, -1)
    np.testing.assert_allclose(
        hessian(network, X, y), J.T @ J + np.kron(2 * np.diag(v), Z), rtol=1e-10, atol=1e-10
    )
    U = np.random.default_rng(3).standard_normal(W.shape)
    assert quadratic_hessian_form(W, v, X, y, U) == pytest.approx(
        U.ravel() @ hessian(network, X, y) @ U.ravel(), rel=1e-11
    )


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("name", ["softplus", "tanh", "quadratic"])
def test_hessian_norm_is_bounded_by_the_jacobian_and_its_lipschitz_constant(name, trained):
    """SJL-D4, corrected: holds on random draws, and within a factor of two somewhere."""
    ratios = []
    for seed in range(30):
        X, y, W, v = problem(5, 2, 3, seed=seed)
        network = ShallowNetwork(W, v, name)
        norm = np.abs(np.linalg.eigvalsh(hessian(network, X, y, trained=trained))).max()
        ratios.append(norm / estimate_hessian_norm(network, X, y, trained=trained))
    assert max(ratios) <= 1
    assert max(ratios) >= 0.5


# --- linear algebra of the samples
# ----------------------------------------------------------------------------------------


def test_operators_agree_with_their_definitions_and_are_adjoint():
    """SJL-L5.4 for the Gram matrix of the samples; A, A* and the Gram matrices by loops and dense
    algebra, in several blocks.
    """
    rng = np.random.default_rng(4)
    X, u = rng.standard_normal((7, 3)), rng.standard_normal(7)
    M = rng.standard_normal((3, 3))
    M = M + M.T
    np.testing.assert_allclose(quadratic_forms(X, M), [x @ M @ x for x in X], rtol=1e-12)
    np.testing.assert_allclose(
        moment_matrix(X, u), sum(c * np.outer(x, x) for c, x in zip(u, X, strict=True)), atol=1e-12
    )
    assert u @ quadratic_forms(X, M) == pytest.approx(np.sum(moment_matrix(X, u) * M), rel=1e-12)
    S = design_matrix(X)
    np.testing.assert_allclose(design_gram(X), S.T @ S, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sample_gram(X), S @ S.T, rtol=1e-12, atol=1e-12)
    W, v = rng.standard_normal((2, 3)), rng.standard_normal(2)
    np.testing.assert_allclose(
        factored_forms(X, W, v), quadratic_forms(X, (W * v[:, None]).T @ W), rtol=1e-12
    )
    tall = rng.standard_normal((300_000, 2))
    np.testing.assert_allclose(quadratic_forms(tall, np.eye(2)), (tall**2).sum(axis=1), rtol=1e-12)
    np.testing.assert_allclose(moment_matrix(tall, np.ones(300_000)), tall.T @ tall, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 4, 6])
def test_samples_in_general_position_are_independent_up_to_the_critical_number(d):
    """SJL-L5.6: the witness e_i, e_i + e_j has rank N; random samples have rank min(n, N);
    sigma_min = .477 for d = 4.
    """
    N = d * (d + 1) // 2
    identity = np.eye(d)
    pairs = [identity[i] + identity[j] for i in range(d) for j in range(i + 1, d)]
    samples = np.vstack([identity, *pairs])
    witness = design_matrix(samples)
    assert witness.shape == (N, N)
    assert np.linalg.matrix_rank(witness) == N
    X = np.random.default_rng(5).standard_normal((N + 1, d))
    for n in (1, N, N + 1):
        assert np.linalg.matrix_rank(design_matrix(X[:n])) == generic_rank(n, d)
    if d == 4:
        columns = np.stack([np.kron(x, x) for x in samples], axis=1)
        assert np.linalg.svd(columns, compute_uv=False)[-1] == pytest.approx(0.477, abs=1e-3)
    with pytest.raises(DataError):
        generic_rank(0, 1)


# --- global minimum, mixed heads
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [30, 9])
def test_least_squares_value_is_reached_by_descent_from_random_starts(n):
    """SJL-T2.1: d = 4, k = 8 mixed signs, arbitrary labels, more and fewer samples than N = 10."""
    X, y, _, _ = problem(n, 4, 1, seed=6)
    v = np.repeat([1.0, -1.0], 4)
    S = design_matrix(X)
    least = 0.5 * np.sum((S @ np.linalg.lstsq(S, y, rcond=None)[0] - y) ** 2)

    def value(flat):
        W = flat.reshape(8, 4)
        r = factored_forms(X, W, v) - y
        return 0.5 * r @ r, quadratic_gradient(W, v, X, y).ravel()

    for seed in range(3):
        start = np.random.default_rng(seed).standard_normal(32)
        found = minimize(
            value,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 5_000, "ftol": 1e-16, "gtol": 1e-12},
        )
        assert found.fun == pytest.approx(least, rel=1e-9, abs=1e-12)


def test_matrix_factors_on_any_head_with_enough_signs():
    """SJL-T2.1, constructive: eigenvalues go to neurons of their sign; too few neurons give
    None.
    """
    rng = np.random.default_rng(7)
    M = rng.standard_normal((4, 4))
    M = M + M.T
    v = np.array([0.5, -2.0, 0.0, 3.0, -1.0, 1.0, 1.0, -1.0, -0.1])
    W = factor_by_head(M, v)
    assert W is not None
    np.testing.assert_allclose((W * v[:, None]).T @ W, M, atol=1e-13)
    assert not W[2].any()
    assert factor_by_head(np.eye(2), np.array([1.0, -1.0, -1.0])) is None
    assert factor_by_head(np.diag([1.0, 1e-9]), np.array([1.0]), drop=1e-6) is not None
    one = place_on_head(np.array([[3.0, 0.0]]), np.array([-1.0]), np.array([1.0, -9.0]))
    np.testing.assert_allclose(one, [[0.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(("n", "d"), [(30, 4), (9, 4), (10, 4), (3, 2)])
def test_excess_loss_is_exactly_the_projected_residual(n, d):
    """SJL-T2.1: L(W) - L_min = (1/2)|P r|^2 = (1/2) (S^T r)^T (S^T S)^+ (S^T r) at random W."""
    for seed in range(10):
        X, y, W, v = problem(n, d, 5, seed=seed)
        S = design_matrix(X)
        r = factored_forms(X, W, v) - y
        least = 0.5 * np.sum((S @ np.linalg.lstsq(S, y, rcond=None)[0] - y) ** 2)
        assert duality.estimate_span_gap(X, r) == pytest.approx(
            0.5 * r @ r - least, rel=1e-8, abs=1e-10
        )
        g = S.T @ r
        assert duality.estimate_span_gap(X, r) == pytest.approx(
            0.5 * g @ np.linalg.pinv(S.T @ S) @ g, rel=1e-6
        )


def test_a_vanishing_matrix_gradient_means_global():
    """SJL-L6.1: Z(r) = 0 at the least-squares residual and not at a random one."""
    X, y, W, v = problem(30, 4, 5, seed=8)
    S = design_matrix(X)
    best = S @ np.linalg.lstsq(S, y, rcond=None)[0] - y
    assert duality.is_stationary_in_matrix(X, best)
    assert not duality.is_stationary_in_matrix(X, factored_forms(X, W, v) - y)


def test_escape_direction_has_the_closed_form_curvature():
    """SJL-T2.1, case II: at W = 0 and at stationary points of low rank; curvature 2 (a^T D_v a)(b^T
    Z b) < 0.
    """
    X, y, _, _ = problem(20, 3, 1, seed=9)
    v = np.repeat([1.0, -1.0], 3)
    zero = ShallowNetwork(np.zeros((6, 3)), v, "quadratic")
    Z = moment_matrix(X, -y)
    escape = quadratic_escape(zero, X, y)
    assert escape is not None
    spectrum = np.linalg.eigvalsh(Z)
    assert escape.curvature == pytest.approx(2 * min(spectrum[0], -spectrum[-1]), rel=1e-9)
    H = hessian(zero, X, y)
    assert escape.curvature == pytest.approx(escape.U.ravel() @ H @ escape.U.ravel(), rel=1e-9)
    assert escape.curvature == pytest.approx(np.linalg.eigvalsh(H)[0], rel=1e-9)


def test_every_planted_saddle_of_a_mixed_network_has_an_escape_direction():
    """SJL-T2.1: stationary points of fewer neurons, padded with zeros, are saddles of the wide
    network.
    """
    v = np.repeat([1.0, -1.0], 4)
    for seed in range(8):
        X, y, _, _ = problem(25, 3, 1, seed=seed)

        def value(flat, X=X, y=y):
            return 0.5 * np.sum(((X @ flat) ** 2 - y) ** 2), 2 * (
                X.T @ (((X @ flat) ** 2 - y) * (X @ flat))
            )

        w = minimize(
            value,
            np.random.default_rng(seed).standard_normal(3),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-11},
        ).x
        W = np.zeros((8, 3))
        W[0] = w
        network = ShallowNetwork(W, v, "quadratic")
        assert np.linalg.norm(gradient(network, X, y)[0]) <= 1e-8 * np.linalg.norm(y)
        escape = quadratic_escape(network, X, y)
        assert escape is not None
        assert curvature_along(network, X, y, escape.U) == pytest.approx(escape.curvature, rel=1e-9)
        assert escape.curvature < 0


# --- positive heads
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "d", "k"), [(1, 1, 1), (12, 3, 3), (12, 3, 1), (40, 4, 6), (3, 5, 5)]
)
def test_dual_bound_holds_at_random_networks_and_is_feasible(n, d, k):
    """SJL-DUAL, SJL-T2.2k: D(lambda) <= L of every network with head >= 0, also found by search;
    Z(lambda) >= 0.
    """
    rng = np.random.default_rng(10)
    X, y, W, v = problem(n, d, k, seed=10)
    bound = duality.positive_dual(X, y, factored_forms(X, W, np.abs(v)) - y)
    spectrum = np.linalg.eigvalsh(moment_matrix(X, bound.vector))
    assert spectrum[0] >= -1e-12 * abs(spectrum).max()
    assert bound.value == pytest.approx(
        -bound.vector @ y - bound.vector @ bound.vector / 2, rel=1e-12
    )
    assert bound.value >= 0.0

    def value(flat):
        factor = flat.reshape(d, d)
        r = factored_forms(X, factor, np.ones(d)) - y
        return 0.5 * r @ r, quadratic_gradient(factor, np.ones(d), X, y).ravel()

    least = min(minimize(value, rng.standard_normal(d * d), jac=True).fun for _ in range(3))
    assert bound.value <= least * (1 + 1e-9)
    for _ in range(20):
        r = factored_forms(X, rng.standard_normal((k, d)), rng.uniform(0, 2, k)) - y
        assert bound.value <= 0.5 * r @ r


def test_dual_bound_is_tight_at_second_order_points():
    """SJL-T2.2k: L-BFGS with k = d positive heads, arbitrary labels; Z >= 0, <Z, M> = 0 and the gap
    closes.
    """
    X, y, _, _ = problem(40, 4, 1, seed=11)
    v = np.array([0.5, 1.0, 2.0, 1.5])

    def value(flat):
        W = flat.reshape(4, 4)
        r = factored_forms(X, W, v) - y
        return 0.5 * r @ r, quadratic_gradient(W, v, X, y).ravel()

    options = {"maxiter": 10_000, "maxfun": 50_000, "ftol": 0.0, "gtol": 1e-11}
    found = minimize(
        value,
        np.random.default_rng(12).standard_normal(16),
        jac=True,
        method="L-BFGS-B",
        options=options,
    )
    W = found.x.reshape(4, 4)
    kkt = duality.positive_kkt(W, v, X, y)
    scale = np.abs(np.linalg.eigvalsh(moment_matrix(X, y))).max()
    assert kkt.least_eigenvalue >= -1e-6 * scale
    assert abs(kkt.complementarity) <= 1e-6 * found.fun
    bound = duality.positive_dual(X, y, factored_forms(X, W, v) - y)
    assert 0.0 <= found.fun - bound.value <= 1e-6 * found.fun


def test_planted_positive_networks_are_fitted_exactly():
    """SJL-T2.2: planted labels, n below N, k = d: every run of L-BFGS ends at zero loss."""
    rng = np.random.default_rng(13)
    X = rng.standard_normal((8, 4))
    y = factored_forms(X, rng.standard_normal((2, 4)), np.ones(2))

    def value(flat):
        W = flat.reshape(4, 4)
        r = factored_forms(X, W, np.ones(4)) - y
        return 0.5 * r @ r, quadratic_gradient(W, np.ones(4), X, y).ravel()

    for _ in range(5):
        options = {"maxiter": 5_000, "ftol": 1e-30, "gtol": 1e-12}
        found = minimize(
            value, rng.standard_normal(16), jac=True, method="L-BFGS-B", options=options
        )
        assert found.fun <= 1e-10 * y @ y


def test_golden_examples_of_the_dual_bound():
    """SJL-DUAL: x = 1, y = -1: D = 1/2 = inf L; rank-deficient X works on its row space; zero
    samples are handled.
    """
    bound = duality.positive_dual(np.ones((1, 1)), np.array([-1.0]), np.array([1.01]))
    assert bound.value == pytest.approx(0.5, rel=1e-12)
    flat = np.array([[1.0, 1.0], [2.0, 2.0], [-1.0, -1.0]])
    y = np.array([-1.0, 1.0, 2.0])
    r = np.array([0.2, -0.3, 0.1])
    line = duality.positive_dual(flat[:, :1] * math.sqrt(2.0), y, r)
    assert duality.positive_dual(flat, y, r).value == pytest.approx(line.value, rel=1e-9)
    nothing = duality.positive_dual(np.zeros((2, 2)), np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    assert nothing.value == pytest.approx(2.5)
    space = duality.row_space(flat)
    assert space.rank == 1
    np.testing.assert_allclose(space.white.T @ space.white, [[3.0]], rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_dual_vector_is_the_best_feasible_combination_of_the_residual_and_the_constant(seed):
    """SJL-DUAL: against a grid of all s >= 0 and tau >= -s lambda_min(Z(r), X^T X); the edge makes
    Z singular.
    """
    X, y, W, _ = problem(15, 3, 3, seed=seed)
    r = factored_forms(X, 0.4 * (seed % 3) * W, np.ones(3)) - y
    t = -eigh(moment_matrix(X, r), X.T @ X, eigvals_only=True)[0]
    assert np.linalg.eigvalsh(moment_matrix(X, r + t))[0] == pytest.approx(0.0, abs=1e-9)
    bound = duality.positive_dual(X, y, r, margin=0.0)
    s, extra = np.meshgrid(np.linspace(0, 2, 201), np.linspace(0, 2, 201))
    vectors = s[..., None] * r + (s * t + extra)[..., None]
    values = -(vectors @ y) - 0.5 * np.sum(vectors**2, axis=-1)
    assert bound.value >= values.max() - 1e-9
    assert bound.value <= values.max() + 0.02 * (y @ y)
    spectrum = np.linalg.eigvalsh(moment_matrix(X, bound.vector))
    assert spectrum[0] >= -1e-12 * abs(spectrum).max()


# --- weight decay
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("two_sided", [True, False])
def test_weight_decay_bound_holds_at_random_networks_and_is_feasible(two_sided):
    """SJL-DUAL with weight decay (theorem D): L + (w/2)|W|^2 >= D(u) for every width and head of
    the class.
    """
    rng = np.random.default_rng(15)
    X, y, _, _ = problem(12, 3, 1, seed=15)
    w, v_max = 1.7, 0.8
    c = duality.decay_threshold(w, v_max)
    for _ in range(40):
        k = int(rng.integers(1, 7))
        W = rng.uniform(0, 1.5) * rng.standard_normal((k, 3))
        v = rng.uniform(-v_max if two_sided else 0.0, v_max, k)
        r = factored_forms(X, W, v) - y
        bound = duality.decay_dual(moment_matrix(X, r), r, y, c, two_sided=two_sided)
        spectrum = np.linalg.eigvalsh(moment_matrix(X, bound.vector))
        assert spectrum[0] > -c
        assert not two_sided or spectrum[-1] < c
        other_W, other_v = (
            rng.standard_normal((4, 3)) * rng.uniform(0, 1),
            rng.uniform(-v_max if two_sided else 0.0, v_max, 4),
        )
        assert bound.value <= duality.network_objective(other_W, other_v, X, y, weight_decay=w)
        assert bound.value <= duality.network_objective(W, v, X, y, weight_decay=w)


def test_zero_network_is_optimal_exactly_above_the_critical_decay():
    """SJL-T2.2k with weight decay: at w_max the dual bound of r = -y equals the loss of W = 0;
    below it W = 0 is no minimum.
    """
    X, y, _, _ = problem(12, 3, 1, seed=16)
    for two_sided in (True, False):
        critical = duality.critical_decay(X, y, two_sided=two_sided, v_max=0.5)
        Z = moment_matrix(X, -y)
        above = duality.decay_dual(Z, -y, y, 1.001 * critical, two_sided=two_sided)
        assert above.value == pytest.approx(0.5 * y @ y, rel=1e-12)
        spectrum, vectors = np.linalg.eigh(Z)
        is_upper = two_sided and spectrum[-1] > -spectrum[0]
        q, v = (vectors[:, -1], -0.5) if is_upper else (vectors[:, 0], 0.5)
        small = 1e-3 * q[None, :]
        value = duality.network_objective(small, np.array([v]), X, y, weight_decay=0.99 * critical)
        assert value < 0.5 * y @ y
    assert duality.critical_decay(X, -np.abs(y), two_sided=False) == 0.0
    for bad in ((0.0, 1.0), (1.0, 0.0), (math.nan, 1.0)):
        with pytest.raises(DataError):
            duality.decay_threshold(*bad)


# --- approximate second-order points
# --------------------------------------------------------------------------------------


def test_mixed_excess_bound_holds_at_random_points():
    """SJL-T2.1q: from the gradient norm and the least eigenvalue; heads with zeros and unequal
    sizes.
    """
    checked = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d = 2
        X, y = rng.standard_normal((8, d)), rng.standard_normal(8)
        v = np.concatenate([rng.uniform(0.2, 1, 3), -rng.uniform(0.2, 1, 4), [0.0]])
        W = rng.uniform(0.01, 1.5) * rng.standard_normal((8, d))
        network = ShallowNetwork(W, v, "quadratic")
        S = design_matrix(X)
        s = np.linalg.lstsq(S, y, rcond=None)[0]
        M = np.array([[s[0], s[1] / math.sqrt(2)], [s[1] / math.sqrt(2), s[2]]])
        np.testing.assert_allclose(svec(M), s)
        excess = duality.estimate_span_gap(X, network.predict(X) - y)
        bound = estimate_mixed_excess(
            W,
            v,
            gradient_norm=float(np.linalg.norm(gradient(network, X, y)[0])),
            negative_curvature=max(0.0, -float(np.linalg.eigvalsh(hessian(network, X, y))[0])),
            nuclear_norm=float(np.abs(np.linalg.eigvalsh(M)).sum()),
        )
        assert excess <= bound * (1 + 1e-9)
        checked += 1
    assert checked == 60
    with pytest.raises(HypothesisError, match="d \\+ 1"):
        estimate_mixed_excess(
            np.eye(2),
            np.array([1.0, -1.0]),
            gradient_norm=0.0,
            negative_curvature=0.0,
            nuclear_norm=1.0,
        )


def test_mixed_excess_bound_is_attained_with_one_feature():
    """SJL-T2.1q: at W = 0 by the curvature alone, at y = 0 by the gradient alone; the head that
    counts is the second largest of each sign.
    """
    X = np.array([[1.0], [2.0], [-0.5]])
    fourth = float((X**4).sum())
    v = np.array([3.0, 2.0, 0.1, -3.0, -2.5])
    y = 1.5 * X[:, 0] ** 2  # the minimizer is M = 1.5
    zero = ShallowNetwork(np.zeros((5, 1)), v, "quadratic")
    least = np.linalg.eigvalsh(hessian(zero, X, y))[0]
    assert least == pytest.approx(-2 * 3.0 * 1.5 * fourth)
    numbers = {"gradient_norm": 0.0, "nuclear_norm": 1.5}
    # the curvature along the heads of size 2 is all that the theorem needs
    bound = estimate_mixed_excess(zero.W, v, negative_curvature=2 * 2.0 * 1.5 * fourth, **numbers)
    excess = duality.estimate_span_gap(X, zero.predict(X) - y)
    assert excess == pytest.approx(0.5 * 1.5**2 * fourth)
    assert bound == pytest.approx(excess, rel=1e-12)
    one = ShallowNetwork([[0.7], [0.0], [0.0], [0.0], [0.0]], v, "quadratic")
    norm = float(np.linalg.norm(gradient(one, X, 0 * y)[0]))
    bound = estimate_mixed_excess(
        one.W, v, gradient_norm=norm, negative_curvature=0.0, nuclear_norm=0.0
    )
    assert bound == pytest.approx(duality.estimate_span_gap(X, one.predict(X)), rel=1e-12)


def test_planted_excess_bound_holds_at_random_points_and_is_a_function_of_the_data():
    """SJL-T2.2a sharpened: loss, weight norm and trace of the teacher; within a factor of ten at a
    good point.
    """
    tightest = math.inf
    for seed in range(80):
        rng = np.random.default_rng(seed)
        d, k, n, nu = 2, 3, 12, float(rng.uniform(0.3, 2))
        X, teacher = rng.standard_normal((n, d)), rng.standard_normal((2, d))
        y = factored_forms(X, teacher, np.ones(2))
        W = rng.uniform(0.05, 2) * rng.standard_normal((k, d))
        network = ShallowNetwork(W, np.full(k, nu), "quadratic")
        loss = 0.5 * np.sum((network.predict(X) - y) ** 2)
        numbers = {
            "head": nu,
            "gradient_norm": float(np.linalg.norm(gradient(network, X, y)[0])),
            "negative_curvature": max(0.0, -float(np.linalg.eigvalsh(hessian(network, X, y))[0])),
        }
        bound = estimate_planted_excess(X, y, **numbers)
        assert loss <= bound.loss * (1 + 1e-9)
        assert np.linalg.norm(W) <= bound.weight_norm * (1 + 1e-9)
        assert np.sum(teacher**2) <= bound.teacher_trace * (1 + 1e-9)
        sharper = estimate_planted_excess(X, y, **numbers, weight_norm=float(np.linalg.norm(W)))
        assert loss <= sharper.loss * (1 + 1e-9) <= bound.loss * (1 + 1e-6)
        tightest = min(tightest, sharper.loss / loss)
    assert tightest < 10
    with pytest.raises(HypothesisError, match="column rank"):
        estimate_planted_excess(
            np.ones((3, 2)), np.ones(3), head=1.0, gradient_norm=0.0, negative_curvature=0.0
        )
    with pytest.raises(DataError, match="head"):
        estimate_planted_excess(
            np.eye(2), np.ones(2), head=-1.0, gradient_norm=0.0, negative_curvature=0.0
        )


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [(1.0, 1.0, 0.0), (2.0, 3.0, 1.0), (1.0, -1.0, 2.0), (1.0, 0.0, 8.0), (3.0, 5.0, 1e-9)],
)
def test_cubic_root_is_the_largest_real_one(a, b, c):
    """SJL-T2.2a: a w^3 - b w = c, checked by substitution and monotonicity beyond."""
    w = largest_cubic_root(a, b, c)
    assert a * w**3 - b * w == pytest.approx(c, abs=1e-8)
    further = np.linspace(w + 1e-6, w + 10, 200)
    assert (a * further**3 - b * further > c).all()
