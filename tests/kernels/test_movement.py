"""Movement of weights, signs and Jacobians: bounds against random and adversarial changes, and
against real runs.
"""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

from globalmin.kernels import movement
from globalmin.shallow.network import (
    ShallowNetwork,
    jacobian_gram,
    jacobian_transpose_times,
    residual,
)


def draw(seed, n=6, d=4, k=30, activation="relu"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, (n, 1))
    v = rng.choice([-1.0, 1.0], k) * rng.uniform(0.3, 1.0, k)
    return ShallowNetwork(rng.standard_normal((k, d)), v, activation), X, rng


def dense_jacobian(network, X):
    slopes = network.activation.derivative(X @ network.W.T) * network.v
    return np.stack([np.outer(slopes[i], X[i]).ravel() for i in range(len(X))])


def test_signs_change_no_more_often_than_the_sort_bound_and_a_planted_change_attains_it():
    """OS-LC.2: 300 random moves, and the cheapest move for one sample, which changes exactly the
    allowed number of signs.
    """
    for seed in range(300):
        network, X, rng = draw(seed)
        Z, norms = X @ network.W.T, np.linalg.norm(X, axis=1)
        step = rng.standard_normal(network.W.shape) * rng.uniform(0, 0.5)
        flips = movement.changed_signs(X @ (network.W + step).T, Z)
        allowed = movement.flips_allowed(Z, norms, np.linalg.norm(step, 2))
        assert (flips <= allowed).all()
    i, target = 2, 5
    cheapest = np.argsort(np.abs(Z[i]))[:target]
    step = np.zeros_like(network.W)
    step[cheapest] = -np.outer(Z[i, cheapest] * (1 + 1e-9), X[i]) / norms[i] ** 2
    assert movement.changed_signs(X @ (network.W + step).T, Z)[i] == target
    assert movement.flips_allowed(Z, norms, np.linalg.norm(step, 2))[i] == target


def test_sort_bound_is_never_above_the_printed_one():
    """OS-LC.2 as printed, unit rows: fewer than 2m signs."""
    for seed in range(50):
        network, X, rng = draw(seed, k=60)
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        Z, distance = X @ network.W.T, rng.uniform(0.0, 3.0)
        ours = movement.flips_allowed(Z, np.ones(len(X)), distance)
        assert (ours <= movement.flips_allowed_by_order(Z, distance)).all()


def test_gram_matrix_changes_by_no_more_than_the_counts_allow():
    """DU-L2.2, deterministic form: every neuron moves at most R, H changes at most by the norm of
    the counted matrix.
    """
    for seed in range(100):
        network, X, rng = draw(seed)
        R = rng.uniform(0.0, 0.3)
        step = rng.standard_normal(network.W.shape)
        step *= R * rng.uniform(0, 1, (len(step), 1)) / np.linalg.norm(step, axis=1, keepdims=True)
        Z, m = X @ network.W.T, network.width
        counts = movement.flippable_counts(Z, np.linalg.norm(X, axis=1), R)
        assert (movement.changed_signs(X @ (network.W + step).T, Z) <= counts).all()
        before, after = (Z >= 0).astype(float), (X @ (network.W + step).T >= 0).astype(float)
        K = X @ X.T
        change = np.linalg.norm(K * (after @ after.T - before @ before.T) / m, 2)
        assert change <= movement.gram_change_limit(K, counts, 1 / m) + 1e-12


def test_relu_jacobian_changes_by_no_more_than_the_knapsack_allows():
    """OS-C3: eps(R) bounds random changes, equals the linear program per sample, and is the sort
    bound for a constant head.
    """
    for seed in range(60):
        network, X, rng = draw(seed)
        norms, X_norm = np.linalg.norm(X, axis=1), np.linalg.norm(X, 2)
        step = rng.standard_normal(network.W.shape) * rng.uniform(0, 0.2)
        R, Z = np.linalg.norm(step, 2), X @ network.W.T
        eps = movement.kink_jacobian_change(Z, network.v, norms, X_norm, R)
        moved = network.with_weights(W=network.W + step)
        assert (
            np.linalg.norm(dense_jacobian(moved, X) - dense_jacobian(network, X), 2) <= eps + 1e-12
        )
    best = [
        -linprog(-(network.v**2), A_ub=[Z[i] ** 2], b_ub=[(R * norms[i]) ** 2], bounds=(0, 1)).fun
        for i in range(len(X))
    ]
    assert eps == pytest.approx(X_norm * math.sqrt(max(best)), rel=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_descent_from_kinks_keeps_its_promise(seed):
    """OS-C3: wherever a radius is found, gradient descent stays in it and decays at the stated
    rate.
    """
    rng = np.random.default_rng(seed)
    n, d, k = 5, 12, 6000
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    network = ShallowNetwork(
        rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k) / math.sqrt(k), "relu"
    )
    y = network.predict(X) + 0.0004 * rng.standard_normal(n)
    Z, spectrum = X @ network.W.T, np.sqrt(np.linalg.eigvalsh(jacobian_gram(network, X)))
    g = np.linalg.norm(residual(network, X, y))
    found = movement.kink_descent(
        Z,
        network.v,
        np.ones(n),
        np.linalg.norm(X, 2),
        a=spectrum[0],
        b=spectrum[-1],
        residual_norm=g,
    )
    assert found is not None
    guarantee, current, path = found.guarantee, network, 0.0
    for _ in range(200):
        r = residual(current, X, y)
        if np.linalg.norm(r) < 1e-13:
            break
        step = guarantee.step_size * jacobian_transpose_times(current, X, r)
        current, path = current.with_weights(W=current.W - step), path + np.linalg.norm(step)
        assert np.linalg.norm(residual(current, X, y)) <= guarantee.rate * np.linalg.norm(r) + 1e-14
    assert path <= guarantee.path <= found.radius
    assert np.linalg.norm(residual(current, X, y)) < 1e-6


def test_no_radius_is_found_far_from_a_fit_or_without_a_spectral_gap():
    """OS-C3 fails where it must."""
    network, X, _ = draw(0)
    arguments = (X @ network.W.T, network.v, np.linalg.norm(X, axis=1), float(np.linalg.norm(X, 2)))
    assert movement.kink_descent(*arguments, a=0.1, b=3.0, residual_norm=50.0) is None
    assert movement.kink_descent(*arguments, a=0.0, b=3.0, residual_norm=0.1) is None


def test_products_of_positive_matrices_and_jacobian_norms():
    """OS-L6.5 and OS-L6.6 on random matrices and networks; the printed form of the second is never
    sharper.
    """
    for seed in range(200):
        rng = np.random.default_rng(seed)
        A, B = (M @ M.T for M in rng.standard_normal((2, 5, 4)))
        low, high = movement.schur_eigenvalue_limits(A, B)
        s = np.linalg.eigvalsh(A * B)
        assert low <= s[0] + 1e-10
        assert s[-1] <= high + 1e-10
    for seed in range(30):
        network, X, _ = draw(seed, activation="tanh")
        bound = movement.jacobian_norm_limit(network.v, 1.0, np.linalg.norm(X, 2))
        assert np.linalg.norm(dense_jacobian(network, X), 2) <= bound
        assert (
            bound
            <= math.sqrt(network.width) * np.abs(network.v).max() * np.linalg.norm(X, 2) + 1e-12
        )


@pytest.mark.parametrize("activation", ["softplus", "tanh"])
def test_smooth_jacobian_changes_by_no_more_than_both_bounds(activation):
    """OS-L6.8 with the spectral norm, OS-LC.1, SJL-L7.11 for both layers."""
    for seed in range(60):
        network, X, rng = draw(seed, activation=activation)
        B, M = float(network.activation.supremum(1)), float(network.activation.supremum(2))
        X_norm, row = np.linalg.norm(X, 2), np.linalg.norm(X, axis=1).max()
        dW, dv = (
            rng.standard_normal(network.W.shape) * 0.3,
            rng.standard_normal(network.width) * 0.3,
        )
        moved = network.with_weights(W=network.W + dW)
        change = np.linalg.norm(dense_jacobian(moved, X) - dense_jacobian(network, X), 2)
        lipschitz = movement.jacobian_lipschitz_limit(network.v, M, X_norm, row)
        slopes = [network.activation.derivative(X @ w.T) for w in (network.W, moved.W)]
        sharper = movement.jacobian_change_limit(slopes[0], slopes[1], network.v, X_norm)
        assert change <= sharper + 1e-12
        assert change <= lipschitz * np.linalg.norm(dW, 2)
        both = network.with_weights(W=network.W + dW, v=network.v + dv)
        joint = movement.joint_jacobian_change_limit(
            dW, dv, network.v, B=B, M=M, X_norm=X_norm, row_norm=row
        )
        assert np.linalg.norm(dense_jacobian(both, X) - dense_jacobian(network, X), 2) <= joint


def test_the_change_of_both_layers_is_attained_term_by_term():
    """SJL-L7.11: one sample at the largest slope (dv alone), and z^2 with one neuron (dW alone),
    where the Jacobian changes by 2 v x x^T dW.
    """
    x = np.array([[0.6, 0.8]])
    common = {"B": 1.0, "M": 2.0, "X_norm": 1.0, "row_norm": 1.0}
    dv = np.array([0.3, -0.4])
    flat = ShallowNetwork(np.zeros((2, 2)), [1.0, 2.0], "tanh")  # tanh' = 1 at 0, its supremum
    change = dense_jacobian(flat.with_weights(v=flat.v + dv), x) - dense_jacobian(flat, x)
    bound = movement.joint_jacobian_change_limit(0 * flat.W, dv, flat.v, **common)
    assert np.linalg.norm(change, 2) == pytest.approx(bound, rel=1e-12)
    square = ShallowNetwork([[0.2, 0.1]], [-3.0], "quadratic")
    dW = 0.7 * x
    moved = square.with_weights(W=square.W + dW)
    change = dense_jacobian(moved, x) - dense_jacobian(square, x)
    bound = movement.joint_jacobian_change_limit(dW, np.zeros(1), square.v, **common)
    assert np.linalg.norm(change, 2) == pytest.approx(bound, rel=1e-12)
    doubled = movement.joint_jacobian_change_limit(
        dW, dv[:1], square.v, **(common | {"X_norm": 2.0, "row_norm": 1.5})
    )
    assert doubled == pytest.approx(2 * 3 * 2 * 1.5 * 0.7 + 2 * 0.3)


def test_the_gradient_of_a_planted_loss_is_enclosed():
    """SJL-L7.12 at random students of random teachers; steep tanh included."""
    for seed in range(60):
        teacher, X, rng = draw(seed, k=8, activation="tanh")
        n, phi = len(X), teacher.activation
        dW, dv = rng.standard_normal(teacher.W.shape), rng.standard_normal(8)
        student = teacher.with_weights(W=teacher.W + dW, v=teacher.v + dv)
        r = residual(student, X, teacher.predict(X))
        loss = r @ r / (2 * n)
        singular = np.linalg.svd(dense_jacobian(student, X), compute_uv=False)
        low, high = movement.gradient_to_loss_limits(singular[-1], singular[0], n)
        square = np.linalg.norm(jacobian_transpose_times(student, X, r) / n) ** 2
        assert low * loss <= square + 1e-12
        assert square <= high * loss + 1e-12
        hidden = phi(X @ student.W.T)
        assert np.abs(hidden.T @ r / n).max() <= movement.head_gradient_limit(hidden, loss)


def test_the_gradient_bounds_are_attained_by_residuals_along_singular_vectors():
    """SJL-L7.12: r along the first and last left singular vector, and along the longest feature."""
    teacher, X, _ = draw(3, k=8, activation="tanh")
    n = len(X)
    left, singular, _ = np.linalg.svd(dense_jacobian(teacher, X))
    low, high = movement.gradient_to_loss_limits(singular[-1], singular[0], n)
    for index, factor in ((n - 1, low), (0, high)):
        r = 1.7 * left[:, index]
        square = np.linalg.norm(jacobian_transpose_times(teacher, X, r) / n) ** 2
        assert square == pytest.approx(factor * (r @ r) / (2 * n), rel=1e-9)
    hidden = teacher.activation(X @ teacher.W.T)
    longest = hidden[:, np.argmax((hidden**2).sum(axis=0))]
    loss = longest @ longest / (2 * n)
    assert np.abs(hidden.T @ longest / n).max() == pytest.approx(
        movement.head_gradient_limit(hidden, loss), rel=1e-12
    )


def test_smoothness_bound_covers_the_whole_hessian():
    """SJL-L7.14 against automatic differentiation, both layers."""
    import jax
    import jax.numpy as jnp

    from globalmin.shallow.lipschitz import estimate_lipschitz

    with jax.enable_x64():
        for seed in range(4):
            network, X, _ = draw(seed, n=5, d=3, k=4, activation="tanh")
            y = np.zeros(5)

            def loss(flat, X=X):
                W, v = flat[:12].reshape(4, 3), flat[12:]
                return jnp.sum((jnp.tanh(X @ W.T) @ v) ** 2) / 10

            flat = jnp.concatenate([network.W.ravel(), network.v])
            H = np.asarray(jax.hessian(loss)(flat))
            K = jacobian_gram(network, X, trained="vW")
            Lip = estimate_lipschitz(network, X, 1e-6, trained="vW")
            g = np.linalg.norm(residual(network, X, y))
            bound = movement.smoothness_limit(math.sqrt(np.linalg.norm(K, 2)), Lip, g, 5)
            assert np.linalg.norm(H, 2) <= bound
            assert bound <= 2.5 * np.linalg.norm(H, 2)  # 1.21 to 2.15 here
    assert movement.smoothness_limit(3.0, 2.0, 5.0, 10) == pytest.approx(1.9)


def test_movement_of_a_run_is_within_the_bounds_of_its_own_rate():
    """DU-L2.3, DU-C2.1, DU-L2.4: a wide ReLU network moves less than R' wherever lambda_min(H)
    stays above lambda_0/2.
    """
    rng, n, d, m = np.random.default_rng(5), 4, 20, 4000
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    network = ShallowNetwork(
        rng.standard_normal((m, d)), rng.choice([-1.0, 1.0], m) / math.sqrt(m), "relu"
    )
    y = rng.standard_normal(n)
    K, W, eta = np.clip(X @ X.T, -1, 1), network.W.copy(), 0.3
    lambda0 = np.linalg.eigvalsh(K * (np.pi - np.arccos(K)) / (2 * np.pi))[0]
    g, X_norm, worst = np.linalg.norm(residual(network, X, y)), np.linalg.norm(X, 2), math.inf
    for _ in range(400):
        current = network.with_weights(W=W)
        worst = min(worst, np.linalg.eigvalsh(jacobian_gram(current, X))[0])
        W = W - eta * jacobian_transpose_times(current, X, residual(current, X, y))
    assert worst >= lambda0 / 2
    moved = movement.neuron_movement(W, network.W)
    flow, descent = (
        f(X_norm, g, m, lambda0) for f in (movement.flow_movement, movement.descent_movement)
    )
    assert 0 < moved <= flow < descent
    assert descent == pytest.approx(2 * flow)
    assert moved <= movement.movement_from_rate(1 - eta * worst, eta, X_norm / math.sqrt(m), g)
    assert movement.movement_from_rate(1.0, eta, 1.0, g) == math.inf


def test_movement_bound_is_attained_by_one_sample_and_constant_slope():
    """DU-L2.3, erratum E2: with H constant at lambda_0/2 the weights move by exactly the corrected
    R'; the printed half fails.
    """
    lambda0, m, r0 = 1.0, 1, 0.1
    # one active neuron and half of lambda_0: u = w x with x = sqrt(1/2), so |w - w(0)| = r0/x
    x = math.sqrt(lambda0 / 2)
    exact = r0 / x
    assert movement.flow_movement(x, r0, m, lambda0) == pytest.approx(exact, rel=1e-12)
