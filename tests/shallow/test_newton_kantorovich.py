"""Newton-Kantorovich (OS-C2) and descent (OS-C1, OS-C5) quantities against a dense SVD, the scalar
golden example, real runs.
"""

import math

import numpy as np
import pytest

from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import (
    ShallowNetwork,
    jacobian_gram,
    jacobian_transpose_times,
    residual,
)
from globalmin.shallow.provability import (
    Linearization,
    descent_quantities,
    descent_ratio,
    linearize,
    newton_radius,
    newton_radius_below,
    newton_ratio,
)


def dense_jacobian(network, X):
    """Rows d f_i / dW by the definition, neuron by neuron."""
    slopes = network.activation.derivative(X @ network.W.T) * network.v
    return np.stack([np.outer(slopes[i], X[i]).ravel() for i in range(len(X))])


def near_interpolation(seed, size=1e-4, n=8, d=4, k=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / 2
    network = ShallowNetwork(rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k), "softplus")
    y = network.predict(X) + size * rng.standard_normal(n)
    return network, X, y


@pytest.mark.parametrize("seed", range(3))
def test_linearization_agrees_with_a_dense_singular_value_decomposition(seed):
    network, X, y = near_interpolation(seed)
    J, r = dense_jacobian(network, X), residual(network, X, y)
    singular = np.linalg.svd(J, compute_uv=False)
    point = linearize(jacobian_gram(network, X), r)
    assert point is not None
    assert point.a == pytest.approx(singular[-1], rel=1e-8)
    assert point.b == pytest.approx(singular[0], rel=1e-12)
    assert point.e == pytest.approx(np.linalg.norm(np.linalg.pinv(J) @ r), rel=1e-8)
    assert point.g == pytest.approx(np.linalg.norm(r), rel=1e-14)


def test_a_singular_matrix_has_no_linearization():
    assert linearize(np.ones((3, 3)), np.ones(3)) is None
    assert linearize(np.zeros((2, 2)), np.ones(2)) is None


@pytest.mark.parametrize(("w", "y"), [(1.5, 1.0), (2.0, 0.01), (1.0, 0.999)])
def test_scalar_quadratic_attains_radius_and_path(w, y):
    """r = w^2 - y, J = 2w, Lip = 2: the nearest zero is sqrt(y), and gradient descent walks
    straight to it.
    """
    r, a = w * w - y, 2 * w
    point = Linearization(a=a, b=a, e=r / a, g=r)
    assert newton_radius(a, point.e, 2.0) == pytest.approx(w - math.sqrt(y), rel=1e-12)
    descent = descent_quantities(point, 2.0)
    assert descent is not None
    assert pytest.approx(w - math.sqrt(y), rel=1e-12) == descent.S
    assert newton_radius_below(a, point.e, 2.0) <= w - math.sqrt(y)


def test_the_tie_has_a_radius_but_no_rate_and_beyond_it_nothing_is_claimed():
    assert newton_ratio(2.0, 0.5, 2.0) == 1.0
    assert newton_radius(2.0, 0.5, 2.0) == 1.0  # w = 1, y = 0: the zero lies at distance w
    assert descent_quantities(Linearization(2.0, 2.0, 0.5, 1.0), 2.0) is None
    assert newton_radius(2.0, 0.6, 2.0) == math.inf
    assert newton_ratio(0.0, 1.0, 1.0) == math.inf
    assert descent_ratio(0.0, 1.0, 1.0) == math.inf
    assert newton_radius_below(0.0, 1.0, 1.0) == 0.0


@pytest.mark.parametrize("seed", range(3))
def test_the_zero_found_by_newton_steps_lies_between_the_two_radii(seed):
    """The minimum-norm Newton path ends at a zero; the nearest zero is no farther, and none is
    closer than R_lo.
    """
    network, X, y = near_interpolation(seed, size=3e-3)
    point = linearize(jacobian_gram(network, X), residual(network, X, y))
    assert point is not None
    Lip = estimate_lipschitz(network, X, 2 * point.e)
    assert newton_ratio(point.a, point.e, Lip) < 1
    moved = network
    for _ in range(8):
        u = np.linalg.solve(jacobian_gram(moved, X), residual(moved, X, y))
        moved = moved.with_weights(moved.W - jacobian_transpose_times(moved, X, u))
    distance = np.linalg.norm(moved.W - network.W)
    assert np.linalg.norm(residual(moved, X, y)) < 1e-12
    assert (
        newton_radius_below(point.a, point.e, Lip)
        <= distance
        <= newton_radius(point.a, point.e, Lip)
    )


@pytest.mark.parametrize("seed", range(3))
def test_gradient_descent_keeps_the_promised_rate_and_path(seed):
    network, X, y = near_interpolation(seed)
    Lip = estimate_lipschitz(network, X, math.inf)  # the global constant
    first = linearize(jacobian_gram(network, X), residual(network, X, y))
    assert first is not None
    scale = 0.6 / descent_ratio(
        first.a, first.g, Lip
    )  # put the run at 2 Lip g / a^2 = 0.6, where the theorem has little slack
    y = network.predict(X) + scale * (y - network.predict(X))
    point = linearize(jacobian_gram(network, X), residual(network, X, y))
    assert point is not None
    promised = descent_quantities(point, Lip)
    assert promised is not None
    assert promised.alpha == pytest.approx(point.a * math.sqrt(0.4), rel=1e-6)
    path, norm = 0.0, point.g
    for _ in range(300):
        step = promised.eta * jacobian_transpose_times(network, X, residual(network, X, y))
        network = network.with_weights(network.W - step)
        path += float(np.linalg.norm(step))
        following = float(np.linalg.norm(residual(network, X, y)))
        assert following <= promised.rate * norm * (1 + 1e-10)
        norm = following
    assert path <= promised.S


def test_a_step_beyond_the_largest_is_refused():
    point = Linearization(a=2.0, b=2.0, e=0.1, g=0.2)
    largest = descent_quantities(point, 1.0)
    assert largest is not None
    assert descent_quantities(point, 1.0, eta=largest.eta_max) is not None
    assert descent_quantities(point, 1.0, eta=1.001 * largest.eta_max) is None
    assert descent_quantities(point, 1.0, eta=0.0) is None
    assert descent_quantities(point, 1.0, eta=-0.1) is None
