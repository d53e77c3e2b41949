"""Required widths: each is the solution of the inequalities of its proof, found again here by other
roads.
"""

import math

import numpy as np
import pytest
from scipy import stats

from globalmin.activations import get_activation
from globalmin.activations.moments import variance
from globalmin.kernels import movement, probability, rates, widths
from globalmin.linalg.quartic import estimate_quartic_svec
from globalmin.shallow.initialization import os_head
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, residual
from globalmin.shallow.provability import descent_quantities, linearize

NUMBERS = [(4, 0.2, 1.1), (50, 0.02, 1.9), (200, 0.003, 3.0)]


@pytest.mark.parametrize(("n", "lam", "X_norm"), NUMBERS)
@pytest.mark.parametrize("slopes", [(1.0, 1.0, 1.0), (1.0, 0.25, 0.5), (0.3, 0.1, 2.0)])
def test_smooth_width_makes_the_meta_theorem_apply(n, lam, X_norm, slopes):
    """OS-T6.2, OS-C6.11: at this width 16 Lip ||r0|| <= a^2 with a, Lip and ||r0|| as in the proof,
    and one neuron less may fail.
    """
    B, M, delta = slopes
    k = widths.smooth_width(n, lam, X_norm=X_norm, B=B, M=M, delta=delta)
    y_norm = 1.7
    a = y_norm / math.sqrt(n) * math.sqrt(lam / 2)

    def ratio(width):
        Lip = M * y_norm / math.sqrt(width * n) * X_norm
        return rates.start_ratio(a, Lip, probability.misfit_limit(y_norm, B, delta))

    assert ratio(k) <= 1.0 + 1e-12
    assert (
        probability.jacobian_failure(n, lam, head_ratio=math.sqrt(k), B=B, X_norm=X_norm) <= 1.0 / n
    )
    assert ratio(k / 1.01) > 1.0 or k == pytest.approx(20 * math.log(n) * (B * X_norm) ** 2 / lam)


def test_printed_constant_is_enough_only_for_slopes_of_at_least_one():
    """OS-T6.2, erratum O3: c = 64 in sqrt(kd) >= c B^2 (1+delta) kappa n works iff B >= 1."""
    for B, enough in ((1.0, True), (3.0, True), (0.5, False), (0.01, False)):
        needed = math.sqrt(widths.smooth_width(30, 0.05, X_norm=1.5, B=B, M=B, delta=0.1))
        printed = 64 * B**2 * 1.1 * math.sqrt(30) * 1.5 / 0.05
        assert (printed >= needed) is enough


def test_width_by_khatri_rao_products_is_never_smaller():
    """OS-T2.1 and OS-T2.3 replace lambda by a lower bound."""
    X = np.random.default_rng(0).standard_normal((12, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    K = np.clip(X @ X.T, -1, 1)
    lam = np.linalg.eigvalsh(K * (np.pi - np.arccos(K)) / (2 * np.pi))[0]
    sigma, X_norm = math.sqrt(np.linalg.eigvalsh(K**2)[0]), np.linalg.norm(X, 2)
    below = sigma**2 / (2 * math.pi)
    assert widths.relu_width(12, below, X_norm=X_norm) >= widths.relu_width(12, lam, X_norm=X_norm)
    options = {"X_norm": X_norm, "B": 1.0, "M": 1.0}
    assert widths.smooth_width(12, below, **options) >= widths.smooth_width(12, lam, **options)


@pytest.mark.parametrize(("n", "lam", "X_norm"), NUMBERS)
def test_relu_width_makes_the_stable_radius_reach_the_distance(n, lam, X_norm):
    """OS-T6.3: at this width m0^3/(2k) >= R = 3||r0||/alpha, and the constant is 9.216e9."""
    delta, y_norm = 0.7, 2.0
    k = widths.relu_width(n, lam, X_norm=X_norm, delta=delta)
    alpha = y_norm / math.sqrt(n) * math.sqrt(lam / 8)
    R = rates.nonsmooth_meta(alpha, 1.0, probability.misfit_limit(y_norm, 1.0, delta)).distance
    assert probability.relu_stability_radius(lam, math.sqrt(k), X_norm, k) >= R * (1 - 1e-12)
    assert probability.relu_stability_failure(n, lam, math.sqrt(k), X_norm) <= 1.0 / n
    assert pytest.approx(9.216e9, rel=1e-12) == widths.RELU_CONSTANT


def test_separated_width_is_the_printed_power_law():
    """OS-T2.5: C = 9.216e17, n^9, delta^-4."""
    k = widths.separated_width(10, 0.5, X_norm=1.3, nu=1.0)
    assert k == pytest.approx(9.216e17 * 4 * 10**9 * 1.3**6 / 0.5**4, rel=1e-12)


def softplus_instance(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, rng.standard_normal(n), rng


def monte_carlo_sigma(X, rng, draws=200_000):
    slopes = get_activation("softplus").derivative(X @ rng.standard_normal((X.shape[1], draws)))
    return (slopes @ slopes.T / draws) * (X @ X.T)


@pytest.mark.parametrize(("n", "d", "scale"), [(2, 8, 1.0), (3, 12, 1.0), (3, 12, 1.6)])
def test_explicit_width_lets_the_descent_theorem_apply_at_random_starts(n, d, scale):
    """OS-C6, also for rows of another norm: OS-C1 fires at the drawn weights, and does not at a
    hundredth of the width.
    """
    X, y, rng = softplus_instance(n, d, n + d)
    X = scale * X
    lam = np.linalg.eigvalsh(monte_carlo_sigma(X, rng))[0]
    spread = float(variance("softplus", scale))
    k = widths.explicit_width(
        n, lam, kappa4=estimate_quartic_svec(X, np.ones(n)).kappa, B=1.0, M=0.25, variance=spread
    )

    def fires(width):
        network = ShallowNetwork(
            rng.standard_normal((int(width), d)), os_head(y, int(width)), "softplus"
        )
        point = linearize(jacobian_gram(network, X), residual(network, X, y))
        Lip = estimate_lipschitz(network, X, 2 * point.g / point.a, method="svec")
        return descent_quantities(point, Lip) is not None

    assert k % 2 == 0
    assert all(fires(k) for _ in range(20))
    assert not any(fires(max(2, 2 * (k // 200))) for _ in range(5))


def test_explicit_width_solves_its_inequality_and_beats_the_printed_one():
    """OS-C6: the least even k, infinite without a spectral gap, and its failure probability sums
    two events.
    """
    options = {"kappa4": 1.4, "B": 1.0, "M": 0.25, "variance": 0.2715}
    k = widths.explicit_width(6, 0.1, **options)
    bound = 2 * 0.25 * math.sqrt(1.4 * 6) * (math.sqrt(1.2715) + 1) / (0.5 * 0.1)
    assert math.sqrt(k) > bound >= math.sqrt(k - 2)
    assert k < widths.smooth_width(6, 0.1, X_norm=math.sqrt(1.4), B=1.0, M=1.0)
    assert widths.explicit_width(6, 0.0, **options) == math.inf
    failure = widths.explicit_width_failure(6, k, 0.1, B=1.0, X_norm=1.3)
    parts = probability.jacobian_failure(
        6, 0.1, head_ratio=math.sqrt(k), B=1.0, X_norm=1.3
    ) + probability.misfit_failure(6, 1.3, 1)
    assert failure == pytest.approx(parts)


def test_first_gram_matrix_is_close_at_the_stated_widths():
    """DU-L2.1: frequencies at a fifth of the Chernoff width stay below the bound there; both widths
    hold their promise.
    """
    rng, n, d, delta = np.random.default_rng(3), 3, 5, 0.2
    X = softplus_instance(n, d, 3)[0]
    K = np.clip(X @ X.T, -1, 1)
    H = K * (np.pi - np.arccos(K)) / (2 * np.pi)
    lam, X_norm = np.linalg.eigvalsh(H)[0], np.linalg.norm(X, 2)
    m = math.ceil(widths.gram_width(n, lam, X_norm=X_norm, delta=delta))
    wide = math.ceil(
        widths.gram_width_entrywise(n, lam, K_frobenius=np.linalg.norm(K), delta=delta)
    )
    low = far = 0
    for _ in range(1000):
        D = (X @ rng.standard_normal((d, m)) >= 0).astype(float)
        low += np.linalg.eigvalsh(K * (D @ D.T) / m)[0] < 0.75 * lam
    for _ in range(100):
        D = (X @ rng.standard_normal((d, wide)) >= 0).astype(float)
        far += np.linalg.norm(K * (D @ D.T) / wide - H, 2) > lam / 4
    assert stats.binom.sf(low - 1, 1000, delta) > 1e-6
    assert stats.binom.sf(far - 1, 100, delta) > 1e-6
    assert 32 * probability.chernoff_exponent(0.25) >= 1, (
        "the constant 32 covers the exponent at theta = 1/4"
    )


@pytest.mark.parametrize(("n", "lam"), [(5, 0.25), (40, 0.1)])
def test_flow_and_descent_widths_make_movement_and_radius_meet(n, lam):
    """DU-T2.2, DU-T2.3, DU-L2.4: at the width R' = R exactly, with ||X||^2 = n, the worst case of
    unit rows.
    """
    delta, misfit = 0.1, 3.0
    m = widths.flow_width(n, lam, misfit_square=misfit**2, delta=delta)
    moved = movement.flow_movement(math.sqrt(n), misfit, m, lam)
    assert moved == pytest.approx(probability.stable_radius(lam, n, delta), rel=1e-12)
    assert movement.stays_in_place(math.sqrt(n), misfit, 1.001 * m, lam, n=n, delta=delta)
    assert not movement.stays_in_place(math.sqrt(n), misfit, 0.999 * m, lam, n=n, delta=delta)
    m = widths.descent_width(n, lam, misfit_square=misfit**2, delta=delta)
    R = math.sqrt(2 * math.pi) * delta * lam / (32 * n**2)
    assert movement.descent_movement(math.sqrt(n), misfit, m, lam) == pytest.approx(R, rel=1e-12)
    eta = rates.relu_step_limit(lam, n)
    C = 2 / math.sqrt(2 * math.pi)  # the factor of ||r||^2 in one step, as the proof writes it
    factor = 1 - eta * lam + 2 * C * eta * (n**2 + n**1.5) * R / delta + (eta * n) ** 2
    assert factor <= 1 - eta * lam / 2 + 1e-15


ROWS = {
    "one row": [3.0],
    "equal rows": [0.25] * 7,
    "rows of very different norms": [0.01, 0.5, 2.0, 30.0],
}


@pytest.mark.parametrize("name", list(ROWS))
def test_flow_and_descent_widths_for_rows_of_any_norm(name):
    """DU-T2.2, DU-T2.3: at the width R' = R with ||X|| = ||X||_F, and one step has the factor of
    the proof; for a single row that factor is exactly 1 - eta lambda/2.
    """
    norms, delta, misfit, lam = ROWS[name], 0.1, 3.0, 0.004
    n, P, F = len(norms), sum(norms), math.sqrt(sum(s * s for s in norms))
    m = widths.flow_width(n, lam, misfit_square=misfit**2, delta=delta, row_norms=norms)
    R = probability.stable_radius(lam, P, delta)
    assert movement.flow_movement(F, misfit, m, lam) == pytest.approx(R, rel=1e-12)
    assert 4 * P**2 * R / (math.sqrt(2 * math.pi) * delta) == pytest.approx(lam / 4, rel=1e-12)
    m = widths.descent_width(n, lam, misfit_square=misfit**2, delta=delta, row_norms=norms)
    R = math.sqrt(2 * math.pi) * delta * lam / (32 * P**2)
    assert movement.descent_movement(F, misfit, m, lam) == pytest.approx(R, rel=1e-12)
    eta, C = rates.relu_step_limit(lam, F**2), 2 / math.sqrt(2 * math.pi)
    factor = 1 - eta * lam + 2 * C * eta * (P**2 + F * P) * R / delta + (eta * F**2) ** 2
    assert factor <= 1 - eta * lam / 2 + 1e-15
    decay = (1 - factor) / (eta * lam / 2)
    assert decay == pytest.approx(1.0, rel=1e-6) if n == 1 else 1.0 < decay < 2.0


def test_widths_of_unit_rows_are_those_without_norms_and_scaling_changes_nothing():
    """DU-T2.2, DU-T2.3: X and y scaled by c scale lambda_0 and the squared misfit by c^2."""
    rng = np.random.default_rng(0)
    norms = rng.uniform(0.1, 5.0, 6)
    for width in (widths.flow_width, widths.descent_width):
        unit = width(6, 0.2, misfit_square=4.0, row_norms=[1.0] * 6)
        assert unit == pytest.approx(width(6, 0.2, misfit_square=4.0), rel=1e-14)
        here = width(6, 0.2, misfit_square=4.0, row_norms=norms.tolist())
        for c in (1e-3, 7.0):
            scaled = width(6, 0.2 * c**2, misfit_square=4.0 * c**2, row_norms=(c * norms).tolist())
            assert scaled == pytest.approx(here, rel=1e-12)


def test_the_lemmas_behind_the_widths_hold_for_rows_of_any_norm():
    """DU-L2.2, DU-L2.5 for rows of norms .01 to 30, by Monte Carlo over patterns: the mean of
    sum_ij |K_ij| P(pattern of i or j within R) is below 4 R P^2/sqrt(2 pi), above a quarter of it
    for parallel rows, where |K_ij| = s_i s_j and the union of the two events is one of them.
    """
    rng, R = np.random.default_rng(1), 0.05
    norms = np.array([0.01, 0.5, 2.0, 30.0])
    bound = 4 * R * norms.sum() ** 2 / math.sqrt(2 * math.pi)
    spread = rng.standard_normal((4, 6))
    for directions, least in ((spread, 0.0), (np.ones((4, 6)), 0.25)):
        X = directions / np.linalg.norm(directions, axis=1, keepdims=True) * norms[:, None]
        near = np.abs(rng.standard_normal((40_000, 6)) @ X.T) < R * norms
        either = (near[:, :, None] | near[:, None, :]).mean(axis=0)
        # 40,000 draws of an event of probability .04 have a relative error of 2.5 %
        assert least * bound < float((np.abs(X @ X.T) * either).sum()) * (1 + 3 * 0.025)
        assert float((np.abs(X @ X.T) * either).sum()) < bound


def test_one_step_of_descent_moves_the_outputs_by_at_most_the_frobenius_norm():
    """DU-T2.3: ||u(1) - u(0)|| <= eta ||X||_F^2 ||r|| for any rows, with equality for parallel rows
    on which every neuron is active and r proportional to the norms.
    """
    rng, eta, m = np.random.default_rng(2), 1e-3, 50
    for trial in range(20):
        norms = rng.uniform(0.1, 5.0, 4)
        e = np.abs(rng.standard_normal(3))
        X = (
            np.outer(norms, e / np.linalg.norm(e))
            if trial == 0
            else rng.standard_normal((4, 3)) * norms[:, None]
        )
        W = np.abs(rng.standard_normal((m, 3))) if trial == 0 else rng.standard_normal((m, 3))
        a = rng.choice([-1.0, 1.0], m) / math.sqrt(m)
        r = norms if trial == 0 else rng.standard_normal(4)
        on = X @ W.T > 0
        after = W - eta * a[:, None] * ((on * r[:, None]).T @ X)
        moved = (np.maximum(X @ after.T, 0) - np.maximum(X @ W.T, 0)) @ a
        F2 = float((X * X).sum())
        share = np.linalg.norm(moved) / (eta * F2 * np.linalg.norm(r))
        assert share <= 1 + 1e-9
        assert trial > 0 or share == pytest.approx(1.0, rel=1e-9)
