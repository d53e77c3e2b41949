"""What a curvature must exceed: the constant by closed forms, the tight example, and the verdicts
on both sides (DU-D7.5).
"""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from globalmin.activations import register_activation
from globalmin.landscape import classify as classify_module
from globalmin.landscape.classify import classify_point
from globalmin.landscape.criteria import (
    CurvatureThreshold,
    curvature_threshold,
    eigenvalue_rounding,
)
from globalmin.shallow.hessian import (
    curvature_along,
    curvature_rounding,
    gradient,
    gradient_norm,
    gradient_rounding,
    hessian,
    hessian_rounding,
)
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import PointKind, nearest_stationary

ONE = np.ones((1, 1))


def neuron(w, activation="quadratic"):
    return ShallowNetwork([[w]], [1.0], activation)


def test_bend_is_the_square_root_of_twice_rho_epsilon():
    limit = CurvatureThreshold(rounding=1e-3, gradient=2e-4, lipschitz=9.0)
    assert limit.bend == pytest.approx(0.06)
    assert limit.largest == limit.bend
    assert CurvatureThreshold(rounding=0.1, gradient=2e-4, lipschitz=9.0).largest == 0.1
    assert CurvatureThreshold(rounding=0.1, gradient=0.0, lipschitz=math.inf).largest == 0.1


@pytest.mark.parametrize(("w", "gamma"), [(1.5, 0.1), (0.3, 2.0), (-0.7, 5.0)])
def test_rho_is_that_of_the_ball_around_the_point_that_newton_would_reach(w, gamma):
    """L = (w^2 - y)^2/2 has L''' = 12 w, so rho = 12 (|w| + 2 eps/gamma)."""
    y = np.array([0.4])
    eps = abs(2 * w * (w * w - 0.4))
    limit = curvature_threshold(
        neuron(w), ONE, y, -gamma, trained="W", rounding=0.0, direction=(ONE, None)
    )
    assert limit.gradient == pytest.approx(eps, rel=1e-9)
    assert limit.lipschitz == pytest.approx(12 * (abs(w) + 2 * eps / gamma), rel=1e-9)


def test_rho_of_a_cubic_neuron_is_bounded_on_the_ball_although_it_is_not_on_the_line():
    """L = (w^3 - y)^2/2: its third derivative is at most 3 s_1 s_2 + |r| s_3, s_1 = 3 z^2, s_2 = 6
    z, s_3 = 6 at z = w + R.
    """
    w, y, gamma = 0.5, 0.3, 0.8
    network = neuron(w, "polynomial(0,0,0,1)")
    limit = curvature_threshold(
        network, ONE, np.array([y]), -gamma, trained="W", rounding=0.0, direction=(ONE, None)
    )
    eps = abs(3 * w**2 * (w**3 - y))
    R = 2 * eps / gamma
    s1, s2, r = 3 * (w + R) ** 2, 6 * (w + R), abs(w**3 - y)
    assert limit.lipschitz == pytest.approx(3 * s1 * s2 + (r + R * s1) * 6, rel=1e-6)
    grid = np.linspace(w - R, w + R, 1001)
    assert limit.lipschitz >= np.abs(60 * grid**3 - 6 * y).max()


def test_the_gradient_counts_with_its_rounding():
    """At weights that float descent cannot improve the gradient in floats may be anything up to its
    rounding.
    """
    rng = np.random.default_rng(4)
    X = rng.standard_normal((30, 3))
    network = ShallowNetwork(rng.standard_normal((4, 3)), [100.0, -100.0, 1.0, -1.0], "tanh")
    y = network.predict(X)
    limit = curvature_threshold(
        network, X, y, -1.0, trained="W", rounding=0.0, direction=(np.eye(4, 3), None)
    )
    assert gradient_norm(network, X, y) == 0.0
    assert limit.gradient == gradient_rounding(network, X, y, trained="W") > 1e-14
    assert limit.bend > 0.0


@pytest.mark.parametrize("delta", [1e-2, 1e-3, 1e-4])
def test_a_degenerate_point_is_never_a_saddle_and_the_bend_is_tight_there(delta, monkeypatch):
    """phi = z^3, y = 1: L = 1/2 - w^3 + O(w^6) has gradient -3 w^2 and curvature -6 w beside the
    inflection w = 0, rho = 6.
    """
    data = SimpleNamespace(X=ONE, y=np.ones(1))
    network = neuron(delta, "polynomial(0,0,0,1)")
    curvature = curvature_along(network, ONE, data.y, ONE)
    limit = curvature_threshold(
        network, ONE, data.y, curvature, trained="W", rounding=0.0, direction=(ONE, None)
    )
    assert (
        1.0 <= limit.bend / -curvature < 2.5
    )  # the ball of radius 2 eps/gamma reaches w = -0.5 delta .. 2 delta
    assert classify_point(network, data, tol=2.0).kind in (
        PointKind.NOT_DECIDED,
        PointKind.SECOND_ORDER,
    )
    monkeypatch.setattr(classify_module, "SETTLED_LIMIT", 0)
    found = classify_point(network, data, tol=2.0)
    assert found.kind is PointKind.NOT_DECIDED
    assert "train to a smaller gradient" in found.reason
    assert found.escape is None
    assert found.negative_eigenvalues == 1


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
def test_a_maximum_is_a_saddle_as_soon_as_the_gradient_cannot_explain_its_curvature(
    share, monkeypatch
):
    """L = (w^2 - y)^2/2 near w = 0: gamma = 2 y - 6 w^2 and eps = 2 w (y - w^2), decided where
    gamma^2 > 2 rho eps.
    """
    monkeypatch.setattr(classify_module, "SETTLED_LIMIT", 0)
    y = np.array([1.0])
    data = SimpleNamespace(X=ONE, y=y)
    kinds = {}
    for w in (share * 0.28, 0.28, 0.36):
        eps, gamma = 2 * w * (1 - w * w), 2 - 6 * w * w
        expected = gamma**2 > 2 * 12 * (w + 2 * eps / gamma) * eps
        kinds[w] = classify_point(neuron(w), data, tol=1.0).kind
        assert (kinds[w] is PointKind.STRICT_SADDLE) == expected
    assert set(kinds.values()) == {PointKind.STRICT_SADDLE, PointKind.NOT_DECIDED}


def test_points_beside_a_flat_valley_are_settled_at_its_bottom(monkeypatch):
    """Two positive neurons of a narrow quadratic network can be rotated: beside the minimum the
    valley bends by about eps/|W|.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((30, 4))
    teacher = ShallowNetwork(rng.standard_normal((2, 4)), [1.0, 1.0], "quadratic")
    data = SimpleNamespace(X=X, y=teacher.predict(X) + 0.3 * rng.standard_normal(30))
    bottom = nearest_stationary(teacher, X, data.y)
    settled, doubtful = set(), set()
    for seed in range(12):
        push = np.random.default_rng(seed).standard_normal((2, 4))
        beside = bottom.with_weights(bottom.W + 3e-7 * push)
        settled.add(classify_point(beside, data, tol=1e-4).kind)
        with monkeypatch.context() as patched:
            patched.setattr(classify_module, "SETTLED_LIMIT", 0)
            doubtful.add(classify_point(beside, data, tol=1e-4).kind)
    assert settled == {PointKind.SECOND_ORDER}
    assert doubtful == {PointKind.SECOND_ORDER, PointKind.NOT_DECIDED}


def test_a_stationary_point_far_away_decides_nothing(monkeypatch):
    data = SimpleNamespace(X=ONE, y=np.ones(1))
    network = neuron(0.36)  # gamma^2 < 2 rho eps, and the maximum w = 0 is 0.36 away
    assert classify_point(network, data, tol=1.0).kind is PointKind.NOT_DECIDED
    monkeypatch.setattr(classify_module, "NEARBY", 1.0)
    assert classify_point(network, data, tol=1.0).kind is PointKind.STRICT_SADDLE
    size = np.hypot(0.36, 1.0)  # of all weights, the head's too
    for factor, kind in ((1.001, PointKind.STRICT_SADDLE), (0.999, PointKind.NOT_DECIDED)):
        monkeypatch.setattr(classify_module, "NEARBY", factor * 0.36 / size)
        assert classify_point(network, data, tol=1.0).kind is kind


def test_a_spurious_minimum_needs_a_hessian_above_the_bend_and_a_loss_above_what_is_left():
    """One tanh neuron with the minima L(-0.071) = 0.822 and L(1.095) = 2.076; beside the second one
    nothing strict is certain.
    """
    data = SimpleNamespace(X=np.array([[1.0], [2.0], [10.0]]), y=np.array([0.9, 0.6, -1.0]))
    minimum = nearest_stationary(neuron(1.0953, "tanh"), data.X, data.y)
    found = classify_point(minimum, data, achieved=0.9)
    assert found.kind is PointKind.SPURIOUS_MINIMUM
    assert classify_point(minimum, data, achieved=found.loss).kind is PointKind.SECOND_ORDER
    beside = minimum.with_weights(minimum.W + 0.06)
    least = float(hessian(beside, data.X, data.y)[0, 0])
    eps = gradient_norm(beside, data.X, data.y)
    assert least > 0
    assert classify_point(beside, data, achieved=0.9, tol=1.0).kind is PointKind.SECOND_ORDER
    close = minimum.with_weights(minimum.W + 1e-6)
    least, eps = float(hessian(close, data.X, data.y)[0, 0]), gradient_norm(close, data.X, data.y)
    loss = classify_point(close, data).loss
    for share, kind in ((3.0, PointKind.SPURIOUS_MINIMUM), (1.0, PointKind.SECOND_ORDER)):
        assert (
            classify_point(close, data, achieved=loss - share * eps**2 / least, tol=1.0).kind
            is kind
        )


@pytest.mark.parametrize("activation", ["softplus", "tanh", "quadratic"])
@pytest.mark.parametrize("trained", ["W", "vW"])
def test_rounding_estimates_cover_what_extended_precision_shows(activation, trained):
    """The same sums in numpy's long double, from weights whose outputs cancel: errors are within
    the estimates, not far below.
    """
    rng = np.random.default_rng(1)
    W = np.repeat(rng.standard_normal((4, 3)), 2, axis=0) + 1e-3 * rng.standard_normal((8, 3))
    network = ShallowNetwork(W, np.tile([1e4, -1e4], 4), activation)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    in_W, in_v = gradient(network, X, y, trained=trained)
    Z, wide = X.astype(np.longdouble) @ W.T.astype(np.longdouble), np.longdouble
    phi, first, second = _long(activation, Z)
    r = phi @ network.v.astype(wide) - y
    exact_W = (first * network.v * r[:, None]).T @ X.astype(wide)
    error = np.linalg.norm((in_W - exact_W).astype(float))
    if in_v is not None:
        error = math.hypot(error, np.linalg.norm((in_v - phi.T @ r).astype(float)))
    assert error <= gradient_rounding(network, X, y, trained=trained) <= 5000.0 * error
    U = rng.standard_normal(W.shape)
    U /= np.linalg.norm(U)
    moved = X.astype(wide) @ U.T.astype(wide)
    r1, r2 = (first * moved) @ network.v, (second * moved**2) @ network.v
    exact = float(r1 @ r1 + r @ r2)
    assert abs(curvature_along(network, X, y, U) - exact) <= curvature_rounding(network, X, y, U)
    H = hessian(network, X, y)
    through = float(U.ravel() @ H @ U.ravel())
    assert abs(through - exact) <= eigenvalue_rounding(network, X, y, H)
    assert eigenvalue_rounding(network, X, y, H) >= hessian_rounding(network, X, y) > 0


def _long(activation, Z):
    one = np.longdouble(1)
    if activation == "quadratic":
        return Z**2, 2 * Z, 2 * np.ones_like(Z)
    if activation == "tanh":
        t = np.tanh(Z)
        return t, one - t**2, -2 * t * (one - t**2)
    s = one / (one + np.exp(-Z))
    return np.log1p(np.exp(Z)), s, s * (one - s)


@pytest.fixture(scope="module")
def bare_tanh():
    """tanh without its third derivative and without bounds."""
    derivatives = (
        np.tanh,
        lambda z: 1 - np.tanh(z) ** 2,
        lambda z: -2 * np.tanh(z) * (1 - np.tanh(z) ** 2),
    )
    return register_activation(
        "bare_tanh", *derivatives, is_odd=True, vanishes_at_zero=True, replace=True
    )


def test_activations_without_bounds_or_third_derivative_are_classified_by_an_estimate(bare_tanh):
    rng = np.random.default_rng(0)
    X, W = rng.standard_normal((20, 3)), rng.standard_normal((2, 3))
    teacher = ShallowNetwork(W, np.array([1.0, -1.0]), "tanh")
    data = SimpleNamespace(X=X, y=teacher.predict(X) + 0.1 * rng.standard_normal(20))
    minimum = nearest_stationary(teacher, X, data.y)
    found = {}
    for activation in ("tanh", bare_tanh):
        saddle = ShallowNetwork(np.zeros((1, 3)), np.zeros(1), activation)
        assert classify_point(saddle, data, trained="vW").kind is PointKind.STRICT_SADDLE
        there = ShallowNetwork(minimum.W, minimum.v, activation)
        assert classify_point(there, data).kind is PointKind.SECOND_ORDER
        beside = there.with_weights(there.W + 1e-3)
        value, vector = np.linalg.eigh(hessian(beside, X, data.y))
        direction = (vector[:, 0].reshape(2, 3), None)
        limit = curvature_threshold(
            beside, X, data.y, value[0], trained="W", rounding=0.0, direction=direction
        )
        found[str(activation)] = limit.lipschitz
    assert 0.0 < found["bare_tanh"] < 8.0 * found["tanh"]
    half_known = register_activation(
        "half_known", np.sin, np.cos, lambda z: -np.sin(z), suprema=[1, 1, 1, 1], replace=True
    )
    start = ShallowNetwork(rng.standard_normal((2, 3)), np.array([1.0, -1.0]), half_known)
    limit = curvature_threshold(
        start, data.X, data.y, -1.0, trained="W", rounding=0.0, direction=(np.eye(2, 3), None)
    )
    assert 0 < limit.lipschitz < math.inf


def test_stationary_points_of_both_layers_are_found():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    start = ShallowNetwork(0.5 * rng.standard_normal((2, 3)), np.array([0.7, -0.7]), "tanh")
    found = nearest_stationary(start, X, y, trained="vW")
    assert gradient_norm(found, X, y, trained="vW") <= 1e-9 * gradient_norm(
        start, X, y, trained="vW"
    )
    assert not np.array_equal(found.v, start.v)
