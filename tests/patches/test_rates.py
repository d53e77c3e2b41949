"""Chapter 6's rates pinned: the constants against moments computed here from the definitions, every
number of the theorems against its formula written out again, and edges where a wrong one shows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.patches.closeness import closeness
from globalmin.patches.constants import (
    EstimatedConstants,
    Interval,
    RotationInvariantConstants,
    angle_grid,
    estimate_constants,
)
from globalmin.patches.facts import filter_report
from globalmin.patches.inputs import close_patches, gaussian_patches, random_filter
from globalmin.patches.model import filter_gradient, filter_outputs, good_start_at_least
from globalmin.patches.rates import (
    angle_limit,
    contraction,
    cross_margin,
    good_angles,
    good_start_chance,
    iterations_at_most,
    max_step,
    plan_sgd,
    sgd_limits,
    stay_failure_at_most,
)

CIRCLE = RotationInvariantConstants(0.5)  # unit inputs in the plane


@dataclass(frozen=True)
class Made:
    """Constants with a cross term, so that no factor of it can hide: c(phi) = .005 phi^.5."""

    beta: float = 0.05
    smallest_angle: float = 0.0

    def gamma(self, phi: float) -> float:
        """Falls to 0 at pi/2."""
        return 0.4 * math.cos(phi)

    def largest(self, phi: float) -> float:
        """Falls, slower."""
        return 0.6 - 0.1 * phi

    def cross(self, phi: float) -> float:
        """Grows towards 0."""
        return 0.005 / math.sqrt(phi) if phi > 0.0 else math.inf


def own_margin(Z: np.ndarray, w_star: np.ndarray, phi: float, directions: np.ndarray) -> float:
    """gamma - 6 c/phi at one angle, from the definitions: every moment a mean of outer products."""
    gamma, cross = math.inf, 0.0
    wanted = Z @ w_star >= 0
    for u in directions:
        on = Z @ (math.cos(phi) * w_star + math.sin(phi) * u) >= 0
        parts = [
            np.einsum("nkp,nk->np", Z, mask) / Z.shape[1]
            for mask in (on & wanted, on & ~wanted, ~on & wanted)
        ]
        pp, pq, pr, qr = (
            np.einsum("ni,nj->ij", parts[a], parts[b]) / len(Z)
            for a, b in ((0, 0), (0, 1), (0, 2), (1, 2))
        )
        gamma = min(gamma, float(np.linalg.eigvalsh(pp)[0]))
        cross = max(cross, sum(float(np.linalg.svd(c)[1][0]) for c in (pq, pr, qr)))
    return gamma - 6.0 * cross / phi


def own_directions(w_star: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Unit vectors across a unit w*."""
    draws = np.random.default_rng(seed).standard_normal((count, w_star.size))
    draws -= np.outer(draws @ w_star, w_star)
    return draws / np.linalg.norm(draws, axis=1, keepdims=True)


def thesis_law(n: int, sigma: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Samples of section 6.4, sigma_2 = .03, as rows of signals, and the filter."""
    w_star = random_filter(3, 0)
    return close_patches(n, 4, w_star, 0.03, 1, sigma=sigma), w_star


def test_report_on_the_thesis_law_fails_below_the_right_angle() -> None:
    """DU-T6.3, DU-T6.4: sigma = 1, sigma_2 = .03 through the estimator; own moments on the same
    samples and other directions change sign where the report says that the theorem stops.
    """
    Z, w_star = thesis_law(10_000)
    X, y = Z.reshape(len(Z), -1), filter_outputs(Z, w_star)
    model = gm.ConvolutionalFilterRegressor(3, 3, init=w_star).fit(X, y)
    report = model.theorem_report(X, w_star + 0.05 * random_filter(3, 5))
    assert not report.holds("DU-T6.3")
    assert not report.holds("DU-T6.4")
    across = own_directions(w_star, 12, 7)
    scan = 0.1 * 1.1 ** -np.arange(16)
    bad = next(phi for phi in scan if own_margin(Z, w_star, float(phi), across) < 0)
    assert own_margin(Z, w_star, 0.005, across) < 0 < own_margin(Z, w_star, 0.1, across)
    # the grid's angles are a factor 1.2 apart, the scan's 1.1, and the directions are others
    assert bad / 1.1 <= report.good[0] <= 1.4 * bad
    assert "fails below angle" in str(report)
    assert report.step_size > 0.0
    assert report.accuracy == pytest.approx(np.linalg.norm(model.coef_) * math.sin(report.good[0]))
    inside = filter_report(Z, w_star, w_star + 0.01 * random_filter(3, 5), report.constants)
    assert (inside.step_size, inside.rate, inside.accuracy) == (0.0, 1.0, 0.0)
    assert "at the start already" in str(inside)


def test_report_says_down_to_which_angle_a_law_is_covered() -> None:
    """DU-T6.3: sigma = .5 (the law of the specification): holds at all measured angles, and the
    promise ends below them, except for equal patches.
    """
    Z, w_star = thesis_law(3000, sigma=0.5)
    report = filter_report(Z, w_star, w_star + 0.4 * random_filter(3, 5))
    assert report.holds("DU-T6.3")
    assert report.holds("DU-T6.4")
    assert report.good[0] == pytest.approx(report.constants.smallest_angle, rel=0.01)
    assert f"covered down to angle {report.good[0]:.3g}" in str(report)
    assert f"until |w - w*| = {report.accuracy:.4g}" in str(report)
    same = filter_report(Z[:, :1].repeat(4, axis=1), w_star, 0.8 * w_star)
    assert same.good[0] == same.accuracy == 0.0
    assert "at every angle" in str(same)


@pytest.mark.parametrize(("distance", "near"), [(0.99, True), (1.01, False), (1.5, False)])
def test_report_asks_for_a_start_nearer_than_the_filter_is_long(
    distance: float, near: bool
) -> None:
    """DU-T6.2: |w0 - w*| < |w*|, for a filter of length 2, with its ratio."""
    Z, w_star = gaussian_patches(200, 1, 3, 0), 2.0 * random_filter(3, 0)
    w0 = w_star + 2.0 * distance * np.eye(3)[0]
    report = filter_report(Z, w_star, w0, RotationInvariantConstants(1.0))
    first = next(f for f in report.findings if f.hypothesis == "|w0 - w*| < |w*|")
    assert first.value == pytest.approx(distance)
    assert first.holds is near
    assert (report.step_size > 0.0) is near
    assert report.holds("DU-T6.2") is near


def test_measured_constants_are_the_moments_of_the_definitions() -> None:
    """DU-D6.1, DU-D6.2: gamma, L, the (+-) norm and the cross norms at the grid angles, dimension 2
    (both directions), by sums over the samples.
    """
    w_star = np.array([0.6, 0.8])
    Z = close_patches(600, 3, w_star, 0.4, 3)
    found = estimate_constants(Z, w_star, angles=[0.0, 0.2, 0.9], n_bootstrap=0)
    across = np.array([[-0.8, 0.6], [0.8, -0.6]])
    for i, phi in ((1, 0.2), (2, 0.9)):
        margin = own_margin(Z, w_star, phi, across)
        assert found.gammas[i, 0] - 6 * found.crosses[i, 0] == pytest.approx(margin, abs=1e-12)
        tops, owns = [], []
        for u in across:
            on, wanted = Z @ (math.cos(phi) * w_star + math.sin(phi) * u) >= 0, Z @ w_star >= 0
            both = (Z * (on & wanted)[..., None]).mean(axis=1)
            own = (Z * (on & ~wanted)[..., None]).mean(axis=1)
            tops.append(np.linalg.norm(both.T @ both, 2) / len(Z))
            owns.append(np.linalg.norm(own.T @ own, 2) / len(Z))
        assert found.largests[i, 0] == pytest.approx(max(tops))
        assert found.owns[i, 0] == pytest.approx(max(owns))
    assert found.beta == pytest.approx(max(found.owns[1, 0] / 0.2, found.owns[2, 0] / 0.9))
    assert found.owns[0, 0] == 0.0


def test_between_the_angles_the_worse_neighbor_is_taken() -> None:
    """DU-D6.2: gamma from above, L from below, c the largest so far; below the smallest angle
    and beyond the grid nothing is known, unless the patches are equal.
    """
    table = np.array([[4.0, 0, 0], [3.0, 0, 0], [2.0, 0, 0]])
    crosses = np.array([[np.nan, 0, 0], [0.5, 0, 0], [0.1, 0, 0]])
    known = EstimatedConstants(
        np.array([0.0, 0.2, 0.8]), table, 2 * table, table, crosses, Interval(1.0, 1.0, 1.0), 2, 0
    )  # fmt: skip
    assert (known.gamma(0.2), known.gamma(0.3), known.gamma(0.9)) == (3.0, 2.0, 0.0)
    assert (known.largest(0.2), known.largest(0.3), known.largest(0.1)) == (6.0, 6.0, 8.0)
    assert known.cross(0.2) == pytest.approx(0.5)
    assert known.cross_norm(0.5) == pytest.approx(0.1)  # the sum is .1 at .2 and .08 at .8
    assert known.cross(0.5) == pytest.approx(0.2)
    assert known.cross(0.19) == known.cross(0.0) == known.cross(0.9) == math.inf
    part = replace(known, crosses=crosses * [[1.0], [0.0], [1.0]])
    assert (part.cross(0.2), part.cross(0.1)) == (0.0, math.inf)
    same = replace(known, crosses=0.0 * crosses)
    assert (same.cross(0.1), same.cross(0.0), same.cross(0.9)) == (0.0, 0.0, math.inf)
    assert max_step(known, 0.0) == -math.inf


def test_grid_goes_down_as_far_as_fifty_patches_lie_between() -> None:
    """DU-D6.1: geometric from 100 pi / patches to pi/2; a start along a drawn direction is no
    accident (the direction drawn with the seed of the filter lies along it).
    """
    grid = angle_grid(80_000)
    assert grid[0] == 0.0
    assert grid[1] == pytest.approx(100 * math.pi / 80_000)
    np.testing.assert_allclose(np.diff(np.log(grid[1:])), math.log(grid[-1] / grid[1]) / 32)
    assert angle_grid(100)[1] == pytest.approx(math.pi / 16)
    assert grid[-1] == pytest.approx(math.pi / 2)
    Z = gaussian_patches(4000, 1, 3, 1)
    found = estimate_constants(Z, random_filter(3, 0), angles=[0, 1.0], n_bootstrap=0, seed=0)
    assert found.gamma(1.0) == pytest.approx(RotationInvariantConstants(1.0).gamma(1.0), rel=0.15)
    assert found.n_directions == 20
    few = estimate_constants(Z[:50], random_filter(3, 0), angles=[0, 1.0], n_directions=1)
    assert few.n_bootstrap == 50


@pytest.mark.parametrize("phi", [0.3, 0.9, 1.2])
def test_step_and_factor_are_the_formulas_of_the_theorem(phi: float) -> None:
    """DU-T6.2, DU-T6.3: the minimum over a fine grid, 6 and 10 L_cross, 4 beta, halves."""
    made, cross = Made(), 0.005 / math.sqrt(phi)
    psi = np.linspace(0.0, phi, 20_001)
    true = np.min((0.4 * np.cos(psi) - 6 * cross) / (2 * (0.6 - 0.1 * psi + 10 * cross + 0.2) ** 2))
    assert max_step(made, phi) <= true
    assert max_step(made, phi) == pytest.approx(true, abs=0.02 * abs(true) + 1e-3)
    assert cross_margin(made, phi) == pytest.approx(0.4 * math.cos(phi) - 6 * cross)
    assert contraction(made, phi, 0.7) == pytest.approx(
        1 - 0.35 * (0.4 * math.cos(phi) - 6 * cross)
    )
    assert iterations_at_most(made, phi, 0.1, 0.01) == math.ceil(
        2 * math.log(1e4) / (0.04 * math.cos(phi))
    )


def test_step_uses_both_factors_of_the_cross_term() -> None:
    """DU-T6.3: with constant gamma and L there is one cell to be right about."""

    class Flat(Made):
        def gamma(self, phi: float) -> float:
            return 0.5

        def largest(self, phi: float) -> float:
            return 0.7

        def cross(self, phi: float) -> float:
            return 0.03

    assert max_step(Flat(), 0.4) == pytest.approx((0.5 - 0.18) / (2 * (0.7 + 0.3 + 0.2) ** 2))


def test_good_angles_are_an_interval_that_the_scan_finds() -> None:
    """DU-T6.4: phi_* is the largest angle with gamma >= 6 L_cross, and low is where it stops to
    hold, for c = .005 sqrt(phi): roots of .4 cos(phi) = .03/sqrt(phi).
    """
    low, high = good_angles(Made())
    for phi, outside in ((low, low / 1.011), (high, high * 1.011)):
        assert cross_margin(Made(), phi) >= 0.0 > cross_margin(Made(), outside)
    assert low < 0.2 < 1.0 < high
    assert good_angles(Made(), 0.5) == (low, high)
    assert good_angles(Made(), 0.9 * low) == (0.0, 0.0)
    assert good_angles(CIRCLE) == (0.0, pytest.approx(math.pi / 2))

    class Gap(Made):
        def cross(self, phi: float) -> float:
            return 1.0 if 0.3 < phi < 0.4 else 0.0

    assert good_angles(Gap()) == (pytest.approx(0.4, rel=0.011), pytest.approx(math.pi / 2))
    assert good_angles(Gap(), 0.2) == (0.0, pytest.approx(0.3, rel=0.011))

    class Hopeless(Made):
        def gamma(self, phi: float) -> float:
            return 0.0

        def cross(self, phi: float) -> float:
            return 0.0

    assert good_angles(Hopeless()) == (0.0, 0.0)


def test_filter_descends_as_promised_down_to_where_the_promise_ends() -> None:
    """DU-T6.3: the law of the thesis (sigma = 1), largest step at every distance, until the theorem
    stops; every step contracts at least as promised, and the run gets there.
    """
    Z, w_star = thesis_law(2000)
    known = estimate_constants(Z, w_star, n_bootstrap=0)
    low, _ = good_angles(known)
    y, w = filter_outputs(Z, w_star), w_star + 0.3 * random_filter(3, 5)
    for step in itertools.count():
        phi = angle_limit(w, w_star)
        if phi <= 1.02 * low:
            break
        eta = max_step(known, phi)
        assert eta > 0.0
        after = w - eta * filter_gradient(Z, y, w)
        assert np.sum((after - w_star) ** 2) <= contraction(known, phi, eta) * np.sum(
            (w - w_star) ** 2
        )
        w = after
        assert step < 4000
    assert max_step(known, 0.8 * low) <= 0.0


def test_sgd_bounds_are_the_repaired_lemmas_written_out() -> None:
    """DU-L6.2, DU-L6.3, DU-T6.4: alpha, floor, Azuma's term and Markov's term by hand, W = 2, once
    with good angles down to 0 and once with a cross term that stops.
    """
    eta, T, B, eps, W, r0 = 1e-6, 400_000, 0.5, 0.3, 2.0, 1.0
    found = sgd_limits(CIRCLE, r0, eta, T, gradient_bound=B, eps=eps, W=W)
    phi1 = (math.pi / 2 + math.asin(0.5)) / 2
    gamma = (math.pi - phi1 - math.sin(phi1)) / (4 * math.pi)
    M = 0.25 + 4 * 0.5 / math.pi
    alpha = gamma - eta * M**2
    r1 = W * math.sin(phi1)
    c = 4 * eta * B * r1 + 4 * eta**2 * B**2
    leave = T * math.exp(-eta * alpha * (r1**2 - r0**2) ** 2 / (2 * c**2))
    end = ((1 - eta * alpha) ** T * r0**2 + eta * B**2 / alpha) / (4 * eps**2 * W**2)
    assert leave < 1e-3
    assert found.alpha == pytest.approx(alpha, rel=1e-9)
    assert (found.inner, found.outer) == (r0, pytest.approx(r1))
    assert found.floor == pytest.approx(eta * B**2 / alpha, rel=1e-6)
    assert found.leave_upper == pytest.approx(leave, rel=1e-6)
    assert found.miss_upper == pytest.approx(leave + end, rel=1e-6)
    assert 0.1 < found.miss_upper < 1.0  # neither term is lost in a bound of 1
    assert stay_failure_at_most(1.0, 1.0, 1.0, (0.1, 0.2), 10) == 1.0

    made, psi = Made(), 0.3
    low, high = good_angles(made)
    part = sgd_limits(made, 1.2, 1e-7, 10, gradient_bound=B, eps=eps, W=W, down_to=psi)
    phi1, cross = (high + math.asin(0.6)) / 2, 0.005 / math.sqrt(psi)
    alpha = 0.4 * math.cos(phi1) - 6 * cross
    assert part.alpha == pytest.approx(alpha, rel=0.2)  # cells are a little worse than the truth
    assert part.alpha <= alpha
    kappa = 6 * 0.005 * math.sqrt(psi) * W**2 * math.sin(psi)
    assert part.floor * part.alpha == pytest.approx(1e-7 * B**2 + kappa, rel=1e-6)
    assert low < psi


def test_the_chance_to_leave_by_hand() -> None:
    """DU-L6.2: eta = 1/10, B = 1/2, r_1 = 3, r_0 = 1: c = 4 eta B r_1 + 4 eta^2 B^2 = .61, and
    eta alpha 8^2/(2 c^2) = 3.2 alpha/.3721 for 5 steps.
    """
    for alpha in (1.0, 0.5):
        found = stay_failure_at_most(0.1, alpha, 0.5, (1.0, 3.0), 5)
        assert found == pytest.approx(5 * math.exp(-3.2 * alpha / 0.3721), rel=1e-12)


def test_mean_distance_stays_below_the_recursion_of_the_floor() -> None:
    r"""DU-L6.3 with $\kappa$ (ours): on close patches, also where $\gamma > 6L_{cross}$ fails,
    the mean next distance is below $(1-\eta\alpha)r^2+\eta^2B^2+\eta\kappa$ for every direction.
    """
    Z, w_star = thesis_law(4000)
    known = estimate_constants(Z, w_star, n_bootstrap=0)
    low, _ = good_angles(known, 0.5)
    y, eta, psi = filter_outputs(Z, w_star), 0.02, 0.3
    found = sgd_limits(known, 0.5, eta, 1, gradient_bound=0.2, eps=0.5, W=1.0, down_to=psi)
    kappa = 6 * known.cross(psi) * psi * math.sin(psi)
    rng, tight = np.random.default_rng(0), []
    for r in (0.2 * low, 0.5 * low, low, 2 * low, 0.3):
        for _ in range(10):
            u = rng.standard_normal(3)
            w = w_star + r * u / np.linalg.norm(u)
            gradient = filter_gradient(Z, y, w)
            step = r**2 - 2 * eta * float(gradient @ (w - w_star)) + eta**2 * gradient @ gradient
            noise = eta**2 * (0.2**2 - gradient @ gradient)
            assert step + noise <= (1 - eta * found.alpha) * r**2 + eta**2 * 0.04 + eta * kappa
            tight.append((r**2 - step) / r**2 / (eta * found.alpha))
    assert min(tight) < 40.0  # the promise is not hundreds of times too small


@pytest.mark.parametrize(("eps", "delta"), [(0.3, 0.1), (0.1, 0.01)])
def test_plan_reaches_what_it_is_asked_for_with_the_largest_step(eps: float, delta: float) -> None:
    """DU-T6.4, the inverse: the bounds at the plan keep eps and delta, and a step 5 % longer breaks
    one of the three shares, whatever the number of steps.
    """
    plan = plan_sgd(CIRCLE, 0.5, gradient_bound=1.0, eps=eps, delta=delta, W=1.0)
    again = sgd_limits(
        CIRCLE, 0.5, plan.step_size, plan.n_steps, gradient_bound=1.0, eps=eps / 2, W=1.0
    )
    assert plan.bounds == again
    assert again.miss_upper <= delta
    share = eps**2 * delta / 4
    assert plan.bounds.floor <= share
    assert plan.bounds.leave_upper <= delta / 2
    left = (1 - plan.step_size * plan.bounds.alpha) ** plan.n_steps * 0.25
    assert left <= share <= left / (1 - plan.step_size * plan.bounds.alpha) ** 2
    longer = 1.05 * plan.step_size
    broken = sgd_limits(
        CIRCLE, 0.5, longer, int(plan.n_steps / 1.06), gradient_bound=1.0, eps=eps / 2, W=1.0
    )
    assert broken.floor > share or broken.leave_upper > delta / 2


def test_planned_sgd_arrives() -> None:
    """DU-T6.4: 100 runs on the circle, one sample a step; |g| <= |w - w*| <= r1 in the ball. The
    promise is one half: fewer than 35 of 100 would have probability below .002 at its edge.
    """
    r1 = math.sin((math.pi / 2 + math.asin(0.3)) / 2)
    plan = plan_sgd(CIRCLE, 0.3, gradient_bound=r1, eps=0.27, delta=0.5, W=1.0)
    assert 10_000 < plan.n_steps < 300_000
    rng, w = np.random.default_rng(0), np.tile([1.0, 0.3], (100, 1)).T.copy()
    for first in range(0, plan.n_steps, 1000):
        angle = rng.uniform(0, 2 * math.pi, (min(1000, plan.n_steps - first), 100))
        for z in np.stack([np.cos(angle), np.sin(angle)], axis=1):
            hidden = z[0] * w[0] + z[1] * w[1]
            miss = (hidden - np.maximum(z[0], 0)) * (hidden >= 0)
            w -= plan.step_size * miss * z
    assert np.sum(np.hypot(w[0] - 1, w[1]) < 0.27) >= 35


def test_contraction_of_more_than_everything_is_refused() -> None:
    """DU-L6.2: eta alpha <= 1; constants with L below gamma, which no law has, would break it."""

    class Inconsistent(Made):
        def gamma(self, phi: float) -> float:
            return 3.0

        def largest(self, phi: float) -> float:
            return 0.1

        def cross(self, phi: float) -> float:
            return 0.0

    for step, refused in ((0.3, False), (0.5, True)):
        arguments = (Inconsistent(), 0.5, step, 10)
        options = {"gradient_bound": 0.1, "eps": 0.1, "W": 1.0}
        if refused:
            with pytest.raises(HypothesisError, match="eta alpha <= 1"):
                sgd_limits(*arguments, **options)
        else:
            assert sgd_limits(*arguments, **options).alpha == pytest.approx(3 - 0.3 * 0.3**2)


def test_plan_says_what_stands_in_its_way() -> None:
    """DU-T6.4: a start too far, an accuracy below the ball that the constants cover, nonsense."""
    with pytest.raises(HypothesisError, match="r0 < W"):
        plan_sgd(CIRCLE, 1.5, gradient_bound=1.0, eps=0.1, delta=0.1, W=1.0)
    with pytest.raises(HypothesisError, match="0 < eps, delta < 1"):
        plan_sgd(CIRCLE, 0.5, gradient_bound=1.0, eps=0.1, delta=1.0, W=1.0)
    with pytest.raises(HypothesisError, match="for any step"):
        plan_sgd(Made(), 0.8, gradient_bound=1.0, eps=0.01, delta=0.1, W=1.0, down_to=0.3)
    with pytest.raises(HypothesisError, match="reach below phi0"):
        plan_sgd(Made(), 0.3, gradient_bound=1.0, eps=0.5, delta=0.1, W=1.0, down_to=0.6)


def circle_pairs(n: int, rho: float) -> np.ndarray:
    """Two patches rho to each side of centers all around the circle."""
    angles = 2 * math.pi * (np.arange(n) + 0.5)[:, None] / n + np.array([-rho, rho])
    return np.stack([np.cos(angles), np.sin(angles)], axis=2)


@pytest.mark.parametrize(("rho", "phi"), [(0.02, 0.8), (0.05, 0.5)])
def test_numbers_of_close_patches_in_closed_form(rho: float, phi: float) -> None:
    """DU-T6.5: on the circle the masses are 2 rho/pi around each hyperplane, the mean patch has
    length cos(rho), and the density is 2/pi: both corrected bounds to four digits.
    """
    found = closeness(circle_pairs(40_000, rho), [math.cos(phi), math.sin(phi)], [1.0, 0.0])
    average = math.cos(rho) ** 2 * (math.pi - phi - math.sin(phi)) / (4 * math.pi)
    assert found.gamma_average == pytest.approx(average, abs=2e-5)
    assert found.gamma_lower == pytest.approx(average - 2 * 4 * rho / math.pi, abs=3e-4)
    near = np.sort(np.abs(np.arcsin(circle_pairs(40_000, rho)[:, 0, 0])))
    near = near[near <= 2 * rho]
    densest = max((i + 1) / 40_000 / angle for i, angle in enumerate(near))
    assert found.mu_star == pytest.approx(densest, rel=1e-3)
    assert found.cross_upper == 3 * max(found.mu, found.mu_star)
    assert 2 / math.pi < found.mu_star < 2.5  # one sample at a tiny angle makes the largest ratio


def test_angles_of_close_patches_do_not_depend_on_lengths() -> None:
    """DU-T6.5: scaled patches and filters have the same rho and densities; gamma scales."""
    Z, w, w_star = circle_pairs(400, 0.1), np.array([0.6, 0.8]), np.array([1.0, 0.0])
    one, two = closeness(Z, w, w_star), closeness(0.5 * Z, 3 * w, 2 * w_star)
    assert (two.rho, two.mu, two.mu_star) == (
        pytest.approx(one.rho), pytest.approx(one.mu), pytest.approx(one.mu_star),
    )  # fmt: skip
    assert two.gamma_average == pytest.approx(0.25 * one.gamma_average)
    assert one.unit_norm
    assert not two.unit_norm


def test_chance_of_a_good_start_depends_on_the_patches() -> None:
    """DU-T6.6, DU-C6.1: the integral against draws within 4 standard errors, above the lower bound
    of the corollary, and the report's line on three laws.
    """
    rng = np.random.default_rng(0)
    for p, phi in ((2, 1.0), (3, 1.4), (6, 1.5), (25, 1.45), (800, 1.55), (1, 1.1)):
        w = uniform_in_ball(p, math.cos(phi), rng, 40_000)
        seen = np.mean(np.linalg.norm(w - np.eye(p)[0], axis=1) <= math.sin(phi))
        chance = good_start_chance(phi, p)
        assert abs(seen - chance) <= 4 * math.sqrt(0.25 / 40_000)
        assert chance >= good_start_at_least(math.cos(phi), p) - 1e-9
    assert good_start_chance(math.pi / 2, 3) == good_start_chance(math.pi / 2, 1) == 0.5
    assert good_start_chance(0.0, 3) == good_start_chance(0.0, 1) == 0.0
    assert good_start_chance(0.2, 3) < 0.01
    w_star = random_filter(3, 0)
    laws = {
        "equal": close_patches(800, 2, w_star, 0.0, 1),
        "thesis": close_patches(800, 4, w_star, 0.03, 1),
        "independent": gaussian_patches(800, 4, 3, 1),
    }
    lines = {
        name: next(f for f in filter_report(Z, w_star, 0.8 * w_star).findings if "6.6" in f.item)
        for name, Z in laws.items()
    }
    assert lines["equal"].holds
    assert not lines["independent"].holds
    assert lines["independent"].value > lines["thesis"].value - 1e-12


def test_figure_of_the_constants_shows_what_was_measured() -> None:
    """DU-D6.1, DU-D6.2: the curves of Figure 6.2b for given patches, intervals included."""
    Z, w_star = thesis_law(1500)
    report = filter_report(
        Z, w_star, 0.8 * w_star, estimate_constants(Z, w_star, n_directions=4, n_bootstrap=5)
    )
    axes = report.plot().axes[0]
    lines = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
    known = report.constants
    np.testing.assert_allclose(lines["γ(φ)"][:, 1], known.gammas[1:, 0])
    np.testing.assert_allclose(lines["L(φ)"][:, 1], known.largests[1:, 0])
    assert np.all(np.diff(lines["L₋w*(φ)"][:, 1]) >= 0.0)
    assert lines["L₋w*(φ)"][-1, 1] == known.owns[1:, 0].max()
    assert lines["6 L_cross(φ)"][3, 1] == pytest.approx(6 * known.cross(known.angles[4]))
    with pytest.raises(DataError, match="only measured"):
        filter_report(Z, w_star, 0.8 * w_star, RotationInvariantConstants(1.0)).plot()


@pytest.mark.parametrize(
    "wrong",
    [{"level": 1.0}, {"level": 1.5}, {"level": 0.0}, {"n_bootstrap": -1}, {"n_directions": 0}],
)
def test_wrong_options_of_the_estimate_are_refused(wrong: dict) -> None:
    """DU-D6.1: a level in (0, 1), counts that can be counts."""
    with pytest.raises(DataError, match=next(iter(wrong))):
        estimate_constants(gaussian_patches(30, 1, 2, 0), [1.0, 0.0], **wrong)


def test_bootstrap_intervals_have_their_level_and_width() -> None:
    """DU-D6.1: on the line gamma(0) is the mean of z^2 over z >= 0, one half, with nothing chosen
    among directions: 95 % intervals cover it in 80 repetitions as a binomial of that level does
    (4 standard deviations), and are as wide as the normal ones (Var = 5/4).
    """
    found = [
        estimate_constants(
            gaussian_patches(400, 1, 1, 300 + seed),
            [1.0],
            angles=[0.0, 0.5],
            n_bootstrap=200,
            seed=seed,
        ).gammas[0]
        for seed in range(80)
    ]
    hits = sum(low <= 0.5 <= high for _, low, high in found)
    assert abs(hits - 0.95 * 80) <= 4 * math.sqrt(80 * 0.95 * 0.05)
    width = np.mean([high - low for _, low, high in found])
    assert width == pytest.approx(2 * 1.96 * math.sqrt(1.25 / 400), rel=0.08)
