"""Gram matrices of finite width against Jacobians by automatic differentiation, loops, and their
limits.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.data import validation
from globalmin.errors import DataError, MemoryRefused
from globalmin.kernels.limit_gram import limit_gram
from globalmin.shallow import finite_gram as finite_gram_matrices
from globalmin.shallow.finite_gram import finite_gram, measure_deviation, normalized_finite_gram


@pytest.fixture
def instance():
    rng = np.random.default_rng(0)
    return rng.standard_normal((7, 3)), rng.standard_normal(7), rng.standard_normal((5, 3))


def test_the_gram_is_that_of_the_jacobian_by_automatic_differentiation(instance):
    """OS-J, SJL-L5.4."""
    W, v, X = instance
    with jax.enable_x64(True):
        J = jax.jacobian(lambda W: jax.nn.softplus(jnp.asarray(X) @ W.T) @ v)(jnp.asarray(W))
        expected = np.einsum("ikd,jkd->ij", np.asarray(J), np.asarray(J))
    np.testing.assert_allclose(finite_gram(W, v, X, "softplus"), expected, rtol=1e-12)


def test_chunks_of_neurons_add_up(instance, monkeypatch):
    W, v, X = instance
    whole = finite_gram(W, v, X, "tanh")
    monkeypatch.setattr(finite_gram_matrices, "CHUNK", 10)
    np.testing.assert_allclose(finite_gram(W, v, X, "tanh"), whole, rtol=1e-14)


def test_relu_counts_active_neurons_exactly(instance):
    """DU-Q2.6: H_ij = x_i.x_j (number of neurons active on both)/m."""
    W, _, X = instance
    active = W @ X.T >= 0
    counts = [
        [
            sum(bool(a and b) for a, b in zip(active[:, i], active[:, j], strict=True))
            for j in range(5)
        ]
        for i in range(5)
    ]
    np.testing.assert_array_equal(normalized_finite_gram(W, X), np.array(counts) / 7 * (X @ X.T))


@pytest.mark.parametrize("name", ["relu", "softplus"])
def test_wide_networks_approach_the_limit_like_one_over_the_root_of_the_width(name):
    """DU-L2.1, OS-DEF6.1: the deviation times sqrt(m) stays bounded, at 20 seeds a width."""
    X = np.random.default_rng(1).standard_normal((6, 4))
    limit = limit_gram(X, name)
    scaled = []
    for m in (100, 1600, 25600):
        norms = [
            measure_deviation(
                normalized_finite_gram(np.random.default_rng(s).standard_normal((m, 4)), X, name),
                limit,
            ).norm
            for s in range(20)
        ]
        scaled.append(np.sqrt(m) * float(np.mean(norms)))
    assert max(scaled) / min(scaled) < 1.4
    exact = measure_deviation(limit, limit)
    assert exact.norm == 0.0
    assert exact.lambda_min == pytest.approx(np.linalg.eigvalsh(limit)[0], rel=1e-10)


def test_the_deviation_is_the_spectral_norm(instance):
    W, v, X = instance
    A, B = finite_gram(W, v, X), limit_gram(X)
    assert measure_deviation(A, B).norm == pytest.approx(np.linalg.norm(A - B, 2), rel=1e-12)


def test_wrong_shapes_and_sizes_are_refused(instance, monkeypatch):
    W, v, X = instance
    with pytest.raises(DataError, match="do not fit"):
        finite_gram(W, v[:3], X)
    with pytest.raises(DataError, match="do not fit"):
        normalized_finite_gram(W[:, :2], X)
    with pytest.raises(DataError, match="differ"):
        measure_deviation(np.eye(2), np.eye(3))
    monkeypatch.setattr(validation, "available_bytes", lambda: 100)
    with pytest.raises(MemoryRefused, match="5 samples"):
        finite_gram(W, v, X)
