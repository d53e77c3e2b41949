"""Counting weights, condition numbers, and the Jacobian of over-parameterized networks at Gaussian
inputs.
"""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.activations import get_activation
from globalmin.data.degeneracy import Degeneracy
from globalmin.errors import DataError
from globalmin.kernels import overparameterization_jacobian as oj
from globalmin.shallow import widths as o
from globalmin.shallow.network import ShallowNetwork, jacobian_gram
from globalmin.shallow.widths import first_width


def network(seed, k=7, d=4, activation="softplus"):
    rng = np.random.default_rng(seed)
    return ShallowNetwork(
        rng.standard_normal((k, d)),
        rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k),
        activation,
    )


def dense_centered(net, X):
    """J-tilde by its definition: rows x_i kron v(phi' - mu), with mu by the trapezoid rule."""
    nodes = np.linspace(-10, 10, 2001)
    weights = np.exp(-(nodes**2) / 2)
    norms = np.linalg.norm(net.W, axis=1)
    mu = np.array([weights @ net.activation.derivative(s * nodes) for s in norms]) / weights.sum()
    D = (net.activation.derivative(X @ net.W.T) - mu) * net.v
    return np.stack([np.kron(X[i], D[i]) for i in range(len(X))])


@pytest.mark.parametrize("activation", ["softplus", "relu", "tanh", "quadratic", "sigmoid"])
def test_recommended_width_is_the_one_that_training_tries_first(activation):
    """Ties between rows, rank and polynomial capacity are counted as in training."""
    rng, phi = np.random.default_rng(0), get_activation(activation)
    plain = rng.standard_normal((30, 4))
    tied = np.vstack([plain, plain[:3], -plain[3:5], 2 * plain[5:8], np.zeros((2, 4))])
    for X in (plain, tied, plain[:, :1], np.column_stack([plain, plain[:, 0]])):
        data = gm.Dataset(X, rng.standard_normal(len(X)), bias=False, scaling="none")
        rank = max(1, int(np.linalg.matrix_rank(X)))
        outputs = min(o.free_outputs(Degeneracy(X), phi), o.function_space_dimension(phi, rank))
        assert o.recommended_width(outputs, rank) == first_width(data, phi)


def test_ratios_of_the_moderate_theorems_and_the_least_quadratic_width():
    """OS-C2.2, OS-C2.4, SJL-T2.1, SJL-T2.2: definitions at round numbers; SJL-C7.5 on Gaussian
    data.
    """
    assert o.moderate_ratio(10, 4, 25) == 1.0
    assert o.moderate_relu_ratio(10, 4, 25) == pytest.approx(0.4)
    assert (o.quadratic_width(5), o.quadratic_width(5, signs="positive")) == (10, 5)
    with pytest.raises(DataError, match="signs"):
        o.quadratic_width(5, signs="none")
    X = np.random.default_rng(1).standard_normal((50, 20))
    low, high = np.sqrt(np.linalg.eigvalsh((X @ X.T) ** 2)[[0, -1]])
    ratios = o.khatri_rao_ratios(50, 20, low, high)
    assert 0.25 < ratios[0] < 0.5
    assert 1.1 < ratios[1] * math.sqrt(20 / 22) < 1.3


def test_sample_condition_forbids_ever_wider_networks():
    """SJL-P7.4: with rows of norm w the ratio n sigma_max^8/(sigma_min^4 d^2) exceeds c0 as soon as
    k passes the hidden limit.
    """
    rng, d, n, c0 = np.random.default_rng(2), 3, 3, 50.0
    k = math.ceil(math.sqrt(c0) * d**1.5) + 1
    for _ in range(20):
        W = rng.standard_normal((k, d))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        assert o.sample_condition_ratio(W, n) > c0
    assert o.sample_condition_ratio(np.ones((2, 3)), 5) == math.inf
    assert o.sample_condition_ratio(2 * np.eye(3), 9) == pytest.approx(9 * 2**4 / 9)


@pytest.mark.parametrize("activation", ["softplus", "tanh", "softplus(3)"])
def test_centered_jacobian_its_mean_and_the_bounds_from_it(activation):
    """SJL-DEF7, SJL-P7.1 against dense matrices by their definitions, on random networks; lower
    and upper bound by their formulas.
    """
    for seed in range(40):
        net = network(seed, activation=activation)
        X = np.random.default_rng(100 + seed).standard_normal((6, 4))
        dense = dense_centered(net, X)
        assert oj.centered_gram(net, X) == pytest.approx(dense @ dense.T, abs=1e-8)
        J = np.linalg.eigvalsh(jacobian_gram(net, X))[[0, -1]]
        bounds = oj.uncentering_limits(net, X)
        assert bounds.lower <= J[0] + 1e-10
        assert math.sqrt(J[1]) <= bounds.upper
        s = np.linalg.svd(dense, compute_uv=False)
        plain = np.stack([np.kron(x, net.activation.derivative(net.W @ x) * net.v) for x in X])
        m = (plain - dense)[0].reshape(4, 7)[0] / X[0, 0]  # the rows differ by x_i kron m
        shift = dense.reshape(6, 4, 7)[:, 0] / X[:, :1] @ m / np.linalg.norm(m)
        removed = np.linalg.norm(shift[:, None] * X, 2) ** 2
        assert bounds.lower == pytest.approx(s[-1] ** 2 - removed, abs=1e-6)
        assert bounds.upper == pytest.approx(
            s[0] + np.linalg.norm(m) * np.linalg.norm(X, 2), abs=1e-6
        )


def test_uncentering_is_an_equality_where_the_slopes_have_no_mean():
    """SJL-P7.1 at z^2: mu = 0, so that both bounds are the singular values themselves."""
    net = network(1, activation="quadratic")
    X = np.random.default_rng(2).standard_normal((6, 4))
    J = np.linalg.eigvalsh(jacobian_gram(net, X))[[0, -1]]
    assert oj.uncentering_limits(net, X) == pytest.approx((J[0], math.sqrt(J[1])), rel=1e-9)


def test_mean_of_the_centered_jacobian_by_monte_carlo():
    """SJL-L7.6: E of one row is diag(v) Gamma W; and SJL-L7.10: E|z|^2 lies between d and rho^2
    d.
    """
    net = network(3)
    X = np.random.default_rng(4).standard_normal((400_000, 4))
    D = oj.centered_slopes(net, X)
    A = oj.mean_centered_jacobian(net)
    errors = np.abs(D.T @ X / len(X) - A)
    deviation = np.sqrt((D**2).T @ (X**2) / len(X) / len(X))
    assert (errors <= 5 * deviation).all()
    z = D @ np.linalg.pinv(A).T
    low, high = oj.whitened_moment_limits(net)
    assert low * 0.98 <= (z**2).sum(axis=1).mean() <= high


def test_moments_after_whitening_are_equal_for_orthogonal_weights_and_scale_as_stated():
    """SJL-L7.10: z = x for z^2 with orthonormal W and equal heads, so both sides are d; rho is
    max|v|/min|v| sup|phi''| sigma_max(W)/sigma_min(Gamma W).
    """
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    equal = ShallowNetwork(3.0 * Q, np.full(4, -0.5), "quadratic")
    assert oj.whitened_moment_limits(equal) == pytest.approx((4.0, 4.0), rel=1e-12)
    heads = ShallowNetwork(3.0 * Q, [1.0, -2.0, 4.0, 1.0], "quadratic")
    assert oj.whitened_moment_limits(heads) == pytest.approx((4.0, 64.0), rel=1e-12)
    soft = ShallowNetwork(2.0 * Q, np.ones(4), "softplus")  # gamma(2) is the same for all neurons
    nodes = np.linspace(-10, 10, 4001)
    weights = np.exp(-(nodes**2) / 2)
    slope = 1 / (1 + np.exp(-2 * nodes))
    gamma = weights @ (slope * (1 - slope)) / weights.sum()
    assert oj.whitened_moment_limits(soft)[1] == pytest.approx(4 * (0.25 / gamma) ** 2, rel=1e-9)


def test_nearly_orthogonal_rows_enclose_the_singular_values():
    """SJL-P7.9, deterministic part, tight for orthogonal rows; SJL-L5.3 replaced; SJL-P7.4 ratios
    from a dense Jacobian.
    """
    rng = np.random.default_rng(7)
    for _ in range(200):
        U = rng.standard_normal((4, 9))
        s = np.linalg.svd(U, compute_uv=False) ** 2
        low, high = oj.nearly_orthogonal_limits(U @ U.T)
        assert low <= s[-1] + 1e-12
        assert s[0] <= high + 1e-12
        assert oj.correlated_rows_limit(U @ U.T) <= s[-1] + 1e-12
        A, v = rng.standard_normal((7, 3)), rng.standard_normal(7)
        assert (
            oj.scaled_rows_limit(A, v)
            <= np.linalg.svd(v[:, None] * A, compute_uv=False)[-1] + 1e-12
        )
        signs = -2.5 * rng.choice([-1.0, 1.0], 7)
        assert oj.scaled_rows_limit(A, signs) == pytest.approx(
            np.linalg.svd(signs[:, None] * A, compute_uv=False)[-1], rel=1e-9
        )
    assert oj.nearly_orthogonal_limits(np.diag([1.0, 4.0])) == pytest.approx((1.0, 4.0))
    equal = np.array([[2.0, 1.5], [1.5, 2.0]])  # rows of one length: both bounds are attained
    assert oj.nearly_orthogonal_limits(equal) == pytest.approx((0.5, 3.5))
    assert oj.correlated_rows_limit(equal) == pytest.approx(0.5)
    assert oj.correlated_rows_limit(np.diag([1.0, 100.0])) == pytest.approx(1.0)
    assert oj.correlated_rows_limit(np.diag([0.0, 1.0])) == 0.0


def test_spectrum_ratios_at_round_numbers():
    """SJL-P7.4: singular values 3 and 2 of a 4 x 3 matrix, n = 25; SJL-R7.3 leaves sigma_min(W)
    out; narrow networks have none.
    """
    W = np.zeros((4, 3))
    W[:3] = np.diag([3.0, 2.5, 2.0])
    assert oj.jacobian_spectrum_ratios(W, 12.0, 60.0, 25) == pytest.approx((2.0, 2.0))
    assert oj.jacobian_spectrum_ratios(W, 12.0, 60.0, 25, is_class_b=True) == pytest.approx(
        (4.0, 2.0)
    )
    assert oj.jacobian_spectrum_ratios(W[:2], 12.0, 60.0, 25)[0] == math.inf


def test_gaussian_moment_of_a_quadratic_form_by_monte_carlo():
    """SJL-L5.7: E[(x.Ax) x x^T] = 2A + tr(A) I."""
    rng = np.random.default_rng(9)
    A = rng.standard_normal((3, 3))
    A = A + A.T
    x = rng.standard_normal((600_000, 3))
    weights = np.einsum("ij,jk,ik->i", x, A, x)
    sampled = (x * weights[:, None]).T @ x / len(x)
    deviation = np.sqrt(((x**2) * (weights**2)[:, None]).T @ (x**2)) / len(x)
    assert (np.abs(sampled - oj.gaussian_quadratic_moment(A)) <= 5 * deviation).all()
