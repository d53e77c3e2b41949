"""Derivatives of the loss 1/(2n) (FCL-D1, FCL-D2, FCL-D3) against automatic differentiation, and
its symmetries (FCL-SYM).
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.errors import DataError, HypothesisError
from globalmin.recovery.geometry import (
    directional_derivatives,
    empirical_hessian,
    empirical_loss,
    empirical_loss_and_gradient,
    hessian_parts,
    hessian_times,
    third_tensor,
)
from globalmin.shallow.hessian import hessian as landscape_hessian
from globalmin.shallow.network import ShallowNetwork

PHI = {"sigmoid": jax.nn.sigmoid, "tanh": jnp.tanh, "softplus": jax.nn.softplus}


def instance(seed=0, n=40, d=3, K=2):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((K, d)), rng.standard_normal((n, d)), rng.random(n), rng


def loss_in_jax(name, X, y):
    return lambda w: (
        jnp.mean((PHI[name](X @ w.reshape(-1, X.shape[1]).T).mean(axis=1) - y) ** 2) / 2
    )


@pytest.mark.parametrize("name", PHI)
def test_gradient_hessian_and_third_tensor_agree_with_automatic_differentiation(name):
    W, X, y, _ = instance()
    with jax.enable_x64(True):
        f, w = loss_in_jax(name, jnp.asarray(X), jnp.asarray(y)), jnp.asarray(W).reshape(-1)
        value, G, H, T = (
            np.asarray(g(w)) for g in (f, jax.grad(f), jax.hessian(f), jax.jacfwd(jax.hessian(f)))
        )
    loss, gradient = empirical_loss_and_gradient(W, X, y, name)
    assert loss == pytest.approx(float(value), rel=1e-13)
    np.testing.assert_allclose(gradient.reshape(-1), G, atol=1e-14)
    np.testing.assert_allclose(empirical_hessian(W, X, y, name), H, atol=1e-14)
    np.testing.assert_allclose(third_tensor(W, X, y, name), T, atol=1e-13)


def test_directional_derivatives_are_contractions_of_the_tensors():
    W, X, y, rng = instance(1)
    A = rng.standard_normal(W.shape)
    second, third = directional_derivatives(W, A, X, y, "sigmoid")
    a = A.reshape(-1)
    assert second == pytest.approx(a @ empirical_hessian(W, X, y, "sigmoid") @ a, rel=1e-12)
    assert third == pytest.approx(
        np.einsum("ijk,i,j,k", third_tensor(W, X, y, "sigmoid"), a, a, a), rel=1e-12
    )


@pytest.mark.parametrize("name", PHI)
def test_products_with_the_hessian_need_no_hessian(name):
    """FCL-D2 applied to a direction: the matrix by automatic differentiation, and the one formed
    here.
    """
    W, X, y, rng = instance(3, K=3)
    A = rng.standard_normal(W.shape)
    with jax.enable_x64(True):
        H = np.asarray(
            jax.hessian(loss_in_jax(name, jnp.asarray(X), jnp.asarray(y)))(
                jnp.asarray(W).reshape(-1)
            )
        )
    np.testing.assert_allclose(
        hessian_times(W, A, X, y, name).reshape(-1), H @ A.reshape(-1), atol=1e-14
    )


def test_the_parts_of_the_hessian_are_what_they_say():
    W, X, y, _ = instance(2, K=3)
    parts = hessian_parts(W, X, y, "sigmoid")
    assert np.linalg.eigvalsh(parts.gauss_newton)[0] > -1e-16
    blocks = parts.residual.reshape(3, 3, 3, 3)
    assert not np.any(blocks[0, :, 1, :])
    exact = empirical_loss_and_gradient(W, X, np.zeros(40), "sigmoid")  # residuals change N_0 only
    assert exact[0] != empirical_loss(W, X, y, "sigmoid")
    np.testing.assert_array_equal(
        hessian_parts(W, X, 0 * y, "sigmoid").gauss_newton, parts.gauss_newton
    )


def test_n_times_the_loss_is_the_loss_of_our_networks_with_head_one_over_k():
    W, X, y, _ = instance(3, K=3)
    network = ShallowNetwork(W, np.full(3, 1 / 3), "tanh")
    np.testing.assert_allclose(
        landscape_hessian(network, X, y), len(y) * empirical_hessian(W, X, y, "tanh"), atol=1e-12
    )


def test_blocks_of_samples_add_up():
    W, X, y, _ = instance(4, n=200_000, d=3)
    G = ((1 / (1 + np.exp(-X @ W.T))).mean(axis=1) - y)[:, None] * (lambda s: s * (1 - s))(
        1 / (1 + np.exp(-X @ W.T))
    )
    np.testing.assert_allclose(
        empirical_loss_and_gradient(W, X, y, "sigmoid")[1], G.T @ X / (2 * len(y)), atol=1e-13
    )


def test_permutations_rotations_and_the_reflection_of_the_sigmoid_leave_the_loss_alone():
    """FCL-SYM."""
    W, X, y, rng = instance(5, K=3)
    f, G = empirical_loss_and_gradient(W, X, y, "sigmoid")
    order, Q = [2, 0, 1], np.linalg.qr(rng.standard_normal((3, 3)))[0]
    permuted, rotated = (
        empirical_loss_and_gradient(A, B, y, "sigmoid") for A, B in ((W[order], X), (W @ Q, X @ Q))
    )
    assert permuted[0] == pytest.approx(f)
    assert rotated[0] == pytest.approx(f)
    np.testing.assert_allclose(permuted[1], G[order], atol=1e-15)
    np.testing.assert_allclose(rotated[1], G @ Q, atol=1e-15)
    assert empirical_loss(-W, X, 1 - y, "sigmoid") == pytest.approx(f)


def test_kinks_and_wrong_shapes_are_refused():
    W, X, y, _ = instance()
    with pytest.raises(HypothesisError, match="kinks"):
        empirical_hessian(W, X, y, "relu")
    with pytest.raises(HypothesisError, match="unbounded"):
        third_tensor(W, X, y, "quadratic")
    with pytest.raises(DataError, match="shape"):
        empirical_loss(W, X, y[:-1], "sigmoid")
