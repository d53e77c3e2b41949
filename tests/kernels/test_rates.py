"""Steps, rates and radii: the printed constants follow from each other, and real gradient descent
obeys them.
"""

import math

import numpy as np
import pytest

from globalmin.kernels import rates
from globalmin.shallow.provability import Linearization, descent_quantities


def scalar_descent(a, Lip, r0, eta, steps=4000):
    """Gradient descent on (1/2) r^2 with r = r0 - a t + Lip t^2/2, the extremal curve: residuals
    and path.
    """
    t, norms = 0.0, []
    for _ in range(steps):
        r = r0 - a * t + Lip * t * t / 2
        norms.append(abs(r))
        t -= eta * r * (-a + Lip * t)
    return np.array(norms), abs(t)


@pytest.mark.parametrize("ratio", [1.0, 0.3, 0.0])
def test_meta_theorem_holds_on_the_extremal_curve(ratio):
    """OS-T6.10, OS-C6.11 and the sharp form OS-C1': rate and path of a scalar problem at the edge
    of the hypothesis.
    """
    a, r0 = 2.0, 1.0
    Lip = ratio * a**2 / (16 * r0)
    assert rates.start_ratio(a, Lip, r0) == pytest.approx(ratio)
    radius = 4 * r0 / (a / 2)
    found = rates.smooth_meta(a / 2, a + Lip * radius, Lip, r0)
    sharp = rates.smooth_meta_sharp(a / 2, a + Lip * radius, Lip, r0)
    norms, path = scalar_descent(a, Lip, r0, found.step_size)
    assert found.distance == pytest.approx(radius)
    steps = np.arange(norms.size)
    assert (norms <= sharp.rate**steps * r0 + 1e-14).all()
    assert (norms <= found.rate**steps * r0 + 1e-14).all()
    assert path <= sharp.path <= found.path
    assert sharp.rate <= found.rate


def test_linear_least_squares_are_the_limit_without_curvature():
    """OS-T6.10 with Lip = 0: gradient descent on a linear problem is known exactly."""
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((4, 9)), rng.standard_normal(4)
    singular = np.linalg.svd(A, compute_uv=False)
    found = rates.smooth_meta(singular[-1], singular[0], 0.0, np.linalg.norm(y))
    theta, path, norms = np.zeros(9), 0.0, []
    for _ in range(500):
        r = A @ theta - y
        norms.append(np.linalg.norm(r))
        step = found.step_size * A.T @ r
        theta, path = theta - step, path + np.linalg.norm(step)
    assert (np.array(norms) <= found.rate ** np.arange(500) * norms[0]).all()
    assert path <= found.path
    assert found.step_size == pytest.approx(1 / (2 * singular[0] ** 2))


def test_our_theorem_is_never_weaker_than_the_printed_one():
    """OS-C6.11 against OS-C1: wherever the printed hypothesis holds ours does, with a longer step
    and a shorter path.
    """
    a, b, r0 = 1.0, 3.0, 0.5
    for ratio in (0.01, 0.5, 1.0):
        Lip = ratio * a**2 / (16 * r0)
        printed = rates.smooth_meta(a / 2, b + Lip * 8 * r0 / a, Lip, r0)
        ours = descent_quantities(Linearization(a, b, r0 / a, r0), Lip)
        assert ours is not None
        assert ours.eta_max > printed.step_size
        assert printed.path > ours.S
        assert ours.rate < printed.rate


def test_printed_relu_meta_theorem_is_a_special_case_of_ours():
    """OS-T6.13 is OS-C3 with eps = a/6: longer path and slower rate in print."""
    a, b, r0 = 1.0, 2.5, 0.7
    printed = rates.nonsmooth_meta(a / 2, b + a / 6, r0)
    ours = rates.kink_guarantee(a, b, a / 6, r0)
    assert ours is not None
    assert ours.path == pytest.approx(2 * r0 / a)
    assert printed.distance == pytest.approx(6 * r0 / a)
    assert (1 - ours.rate) / ours.step_size == pytest.approx(5 / 12 * a**2)
    assert (1 - printed.rate) / printed.step_size == pytest.approx(a**2 / 4)
    assert ours.step_size == pytest.approx(3 * printed.step_size)
    assert rates.kink_guarantee(a, b, a / 3, r0) is None


@pytest.mark.parametrize(
    ("n", "lam", "X_norm", "y_norm", "B"), [(5, 0.2, 1.4, 1.0, 1.0), (80, 0.01, 2.5, 7.0, 0.6)]
)
def test_printed_rates_of_the_two_theorems_follow_from_their_meta_theorems(
    n, lam, X_norm, y_norm, B
):
    """OS-T6.2, OS-T2.1, OS-T6.3, OS-T2.3: alpha and beta of the proofs put into OS-C1' and OS-T6.13
    give the printed numbers.
    """
    r0, head = 1.3 * y_norm, y_norm / math.sqrt(n)
    alpha = head * math.sqrt(lam / 8)
    smooth = rates.smooth_guarantee(n, lam, X_norm=X_norm, y_norm=y_norm, residual_norm=r0, B=B)
    beta = B * head * X_norm
    assert smooth.step_size == pytest.approx(1 / (2 * beta**2))
    assert 1 - smooth.rate == pytest.approx(smooth.step_size * alpha**2 / 2)
    assert smooth.path == pytest.approx(2 * r0 / alpha)
    meta = rates.smooth_meta_sharp(alpha, beta, 0.0, r0)
    assert meta.rate <= smooth.rate
    assert meta.path <= smooth.path
    relu = rates.relu_guarantee(n, lam, X_norm=X_norm, y_norm=y_norm, residual_norm=r0)
    kink = rates.nonsmooth_meta(alpha, head * X_norm, r0)
    assert (relu.step_size, relu.rate, relu.distance) == pytest.approx(
        (kink.step_size, kink.rate, kink.distance)
    )


def test_rate_of_separated_data_is_the_relu_rate_at_the_separation_bound():
    """OS-T2.5: c = 1/2400 = 1/24 times 1/100."""
    n, delta, X_norm = 7, 0.4, 1.2
    relu = rates.relu_guarantee(
        n, delta / (100 * n**2), X_norm=X_norm, y_norm=1.0, residual_norm=1.0
    )
    assert rates.separated_rate(n, delta, X_norm) == pytest.approx(relu.rate, rel=1e-15)


def test_path_and_rate_of_a_smooth_loss_with_a_gradient_bound():
    """SJL-PL on random quadratic losses L = (1/2) t.H t, where m_L = 2 lambda_min and m_U = 2
    lambda_max.
    """
    rng = np.random.default_rng(1)
    for _ in range(20):
        Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
        H = Q @ np.diag(rng.uniform(0.2, 3.0, 4)) @ Q.T
        low, high = np.linalg.eigvalsh(H)[[0, -1]]
        theta = rng.standard_normal(4)
        first = 0.5 * theta @ H @ theta
        path, factor = 0.0, rates.polyak_factor(2 * low, high, 1 / high)
        for _ in range(300):
            before = 0.5 * theta @ H @ theta
            step = H @ theta / high
            theta, path = theta - step, path + np.linalg.norm(step)
            assert 0.5 * theta @ H @ theta <= factor * before + 1e-16
        assert path <= rates.polyak_path_limit(2 * low, 2 * high, first)


@pytest.mark.parametrize("step", [0.1, 0.3, 1 / 2.5])
def test_gradient_domination_is_an_equality_on_a_parabola_and_its_path_twice_the_true_one(step):
    """SJL-PL at L = h theta^2/2: |L'|^2 = 2h L, factor (1 - step h)^2, path |theta|."""
    h, theta = 2.5, -1.4
    assert rates.polyak_factor(2 * h, h, step) == pytest.approx((1 - step * h) ** 2)
    path = rates.polyak_path_limit(2 * h, 2 * h, 0.5 * h * theta**2)
    assert path == pytest.approx(2 * abs(theta))
    assert rates.polyak_path_limit(h, 4 * h, 1.0) == pytest.approx(8 / math.sqrt(h))
