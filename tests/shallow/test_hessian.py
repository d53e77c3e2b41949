"""Refusals of the derivatives, and the bound of the least eigenvalue by blocks; the formulas
themselves are in tests/theory.
"""

import numpy as np
import pytest

from globalmin.errors import DataError, HypothesisError, MemoryRefused
from globalmin.shallow.hessian import (
    curvature_blocks,
    estimate_least_eigenvalue_below,
    gradient,
    gradient_norm,
    hessian,
)
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, residual


def instance(activation="tanh", n=8, d=3, k=4, seed=0):
    rng = np.random.default_rng(seed)
    network = ShallowNetwork(rng.standard_normal((k, d)), rng.standard_normal(k), activation)
    return network, rng.standard_normal((n, d)), rng.standard_normal(n)


@pytest.mark.parametrize("activation", ["tanh", "softplus", "quadratic"])
def test_least_eigenvalue_is_bounded_by_the_blocks(activation):
    for seed in range(10):
        network, X, y = instance(activation, seed=seed)
        assert (
            estimate_least_eigenvalue_below(network, X, y)
            <= np.linalg.eigvalsh(hessian(network, X, y))[0] + 1e-12
        )


def test_bound_by_blocks_is_attained_at_the_zero_network():
    network, X, y = instance("quadratic")
    zero = network.with_weights(np.zeros_like(network.W))
    assert estimate_least_eigenvalue_below(zero, X, y) == pytest.approx(
        np.linalg.eigvalsh(hessian(zero, X, y))[0], rel=1e-12
    )


def test_hessian_is_the_gram_matrix_plus_the_blocks():
    network, X, y = instance("softplus")
    blocks = curvature_blocks(network, X, residual(network, X, y))
    H = hessian(network, X, y)
    for q in range(4):
        H[3 * q : 3 * q + 3, 3 * q : 3 * q + 3] -= blocks[q]
    spectrum = np.linalg.eigvalsh(H)[-8:]
    np.testing.assert_allclose(spectrum, np.linalg.eigvalsh(jacobian_gram(network, X)), atol=1e-10)


def test_gradient_norm_covers_both_layers():
    network, X, y = instance()
    in_W, in_v = gradient(network, X, y, trained="vW")
    assert gradient_norm(network, X, y, trained="vW") == pytest.approx(
        np.sqrt(np.sum(in_W**2) + np.sum(in_v**2))
    )
    assert gradient_norm(network, X, y) == pytest.approx(np.linalg.norm(in_W))


def test_kinks_unknown_parameters_and_wrong_shapes_are_refused():
    network, X, y = instance("relu")
    with pytest.raises(HypothesisError, match="kinks"):
        hessian(network, X, y)
    network, X, y = instance()
    with pytest.raises(DataError, match="trained"):
        gradient(network, X, y, trained="v")
    with pytest.raises(DataError, match="features"):
        hessian(network, X[:, :2], y)
    with pytest.raises(DataError, match="one label"):
        hessian(network, X, y[:-1])
    with pytest.raises(DataError, match="one label"):
        hessian(network, X[:0], y[:0])


def test_hessian_that_does_not_fit_is_refused_before_it_is_allocated():
    network = ShallowNetwork(np.ones((4_000, 1_000)), np.ones(4_000), "tanh")
    with pytest.raises(MemoryRefused, match="4000000 parameters"):
        hessian(network, np.ones((1, 1_000)), np.ones(1))
