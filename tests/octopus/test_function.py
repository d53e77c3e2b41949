"""The octopus itself: golden values, a second implementation in seventy digits, exact joints of the
pieces, saddles, minima.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from tests.octopus.octopus_cases import points_everywhere
from tests.oracles.decimal_differences import derivatives

from globalmin.errors import DataError
from globalmin.octopus.constants import (
    MovedOctopus,
    gaussian_miss_probability,
    gaussian_radius,
    octopus_smoothness_upper,
)
from globalmin.octopus.descent import descent_escape_times
from globalmin.octopus.escape import escape_ratio
from globalmin.octopus.function import Octopus, Splines

E = math.e


def by_cases(x, L, gamma, tau):
    """The function at one point by the cases of the thesis (7.14) to (7.18), in Decimal
    arithmetic.
    """
    L, gamma, tau = Decimal(L), Decimal(gamma), Decimal(tau)
    d, y = len(x), [abs(entry) for entry in x]
    i = next((j for j in range(d) if y[j] < 2 * tau), d)
    nu = (37 * L + 13 * gamma) * tau**2 / 6
    total = sum((L * (y[j] - 4 * tau) ** 2 for j in range(i)), -i * nu)
    if i == d:
        return total
    if y[i] <= tau:
        return total - gamma * y[i] ** 2 + sum(L * y[j] ** 2 for j in range(i + 1, d))
    u = (y[i] - tau) / tau
    falling, rising = u + u**2 / 2 - 5 * u**3 / 3 + 3 * u**4 / 4, 5 * u**4 / 4 - 7 * u**3 / 3
    total += -gamma * tau**2 + 2 * tau**2 * (L * rising - gamma * falling)
    if i + 1 < d:
        z = u - 1
        total += (-gamma - (L + gamma) * (10 * z**3 + 15 * z**4 + 6 * z**5)) * y[i + 1] ** 2
    return total + sum(L * y[j] ** 2 for j in range(i + 2, d))


@pytest.mark.parametrize(
    ("x", "value"),
    [
        ((0.5, 0.3, -0.2), 0.10337663769967587),
        ((1.5 * E, 0.5, -0.25), -22.432847075422938),
        ((10.0, -1.4 * E, 0.75), -154.83641348463908),
        ((-9.0, 12.0, 1.6 * E), -295.5224998061976),
        ((11.0, -10.0, 12.0), -414.0434681391531),
    ],
)
def test_golden_values(x, value):
    """DU-O7: L = e, gamma = 1, tau = e, d = 3."""
    assert Octopus(3, L=E).value(x) == pytest.approx(value, rel=1e-14)


def test_golden_gradient_and_drop():
    """DU-O7: the gradient in the first buffer, and nu."""
    octopus = Octopus(3, L=E)
    expected = [-20.664421996216884, 0.859140914229522, -1.359140914229523]
    np.testing.assert_allclose(octopus.gradient((1.5 * E, 0.5, -0.25)), expected, rtol=1e-13)
    assert octopus.drop == pytest.approx(139.870432574007, rel=1e-14)


@pytest.mark.parametrize(
    ("L", "gamma", "tau", "mirrored"),
    [(E, 1.0, E, True), (1.0, 1.0, 3.0, False), (5.0, 2.0, 4.0, True)],
)
def test_value_gradient_and_hessian_are_those_of_a_second_implementation(L, gamma, tau, mirrored):
    """DU-O7: the cases written out and differenced in seventy digits, at points of every stage and
    sign.
    """
    octopus = Octopus(4, L, gamma, tau, mirrored)
    x = points_everywhere(octopus, 40, 0)
    assert octopus.in_domain(x).all()
    values, gradients, hessians = zip(
        *(derivatives(lambda z: by_cases(z, L, gamma, tau), row) for row in x), strict=True
    )
    np.testing.assert_allclose(octopus.value(x), values, rtol=1e-12)
    np.testing.assert_allclose(octopus.gradient(x), gradients, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(octopus.hessian(x), hessians, rtol=1e-12, atol=1e-11)


def test_shapes_are_those_of_the_points():
    """DU-O7: a point, a row of points, a table of points."""
    octopus, x = Octopus(3), points_everywhere(Octopus(3), 12, 1)
    table = x.reshape(3, 4, 3)
    assert octopus.value(x[0]).shape == octopus.in_domain(x[0]).shape == ()
    assert octopus.value(table).shape == (3, 4)
    assert octopus.hessian(table).shape == (3, 4, 3, 3)
    np.testing.assert_array_equal(octopus.gradient(table).reshape(12, 3), octopus.gradient(x))
    assert octopus.stage(x).tolist() == [0, 1, 2, 3] * 3


@pytest.mark.parametrize(("L", "gamma"), [(1, 1), (3, 2), (7, 1)])
def test_splines_meet_their_neighbours_exactly(L, gamma):
    """DU-L7.4: in rational arithmetic, tau = 1: value and two derivatives at both ends, and nu."""
    L, gamma = Fraction(L), Fraction(gamma)
    g1 = [-gamma, -2 * gamma, -gamma, (10 * gamma - 14 * L) / 3, (5 * L - 3 * gamma) / 2]
    smoothstep = [L, 0, 0, -10 * (L + gamma), 15 * (L + gamma), -6 * (L + gamma)]
    nu = (37 * L + 13 * gamma) / 6

    def at(coefficients, u, order):
        for _ in range(order):
            coefficients = [k * c for k, c in enumerate(coefficients)][1:]
        return sum(c * u**k for k, c in enumerate(coefficients))

    # -gamma y^2 at y = 1 and L (y - 4)^2 - nu at y = 2; the next coordinate has L before and -gamma
    # after
    assert [at(g1, 0, order) for order in range(3)] == [-gamma, -2 * gamma, -2 * gamma]
    assert [at(g1, 1, order) for order in range(3)] == [4 * L - nu, -4 * L, 2 * L]
    assert [at(smoothstep, 0, order) for order in range(3)] == [L, 0, 0]
    assert [at(smoothstep, 1, order) for order in range(3)] == [-gamma, 0, 0]
    splines = Splines(float(L), float(gamma), 1.0)
    np.testing.assert_allclose(splines.g1_coefficients[0], [float(c) for c in g1], rtol=1e-15)
    np.testing.assert_allclose(
        splines.g2_coefficients[0], [float(c) for c in smoothstep], rtol=1e-15
    )


@pytest.mark.parametrize("edge", [E, 2 * E])
def test_value_gradient_and_hessian_do_not_jump(edge):
    """DU-L7.4, DU-O7: probes on both sides of every interface, d = 4, L = 1, 1.5, e, 5."""
    for L in (1.0, 1.5, E, 5.0):
        octopus = Octopus(4, L)
        for i in range(4):
            x = np.full(4, 0.7 * E)
            x[:i] = 4.3 * E
            left, right = (np.where(np.arange(4) == i, edge * (1 + s * 1e-13), x) for s in (-1, 1))
            assert octopus.value(left) == pytest.approx(float(octopus.value(right)), abs=2e-10)
            np.testing.assert_allclose(octopus.gradient(left), octopus.gradient(right), atol=5e-11)
            np.testing.assert_allclose(octopus.hessian(left), octopus.hessian(right), atol=2e-10)


@pytest.mark.parametrize(
    ("L", "lowest", "lowest_g1"),
    [(1.0, -7.320, -4.134), (1.5, -9.555, -6.149), (E, -15.168, -11.092), (5.0, -25.883, -20.364)],
)
def test_slope_of_the_buffer_is_steeper_than_printed(L, lowest, lowest_g1):
    """DU-L7.4: the slope lies in [lowest, -2] tau and passes the printed bound -4 L tau."""
    splines, y = Splines(L, 1.0, E), np.linspace(E, 2 * E, 4001)
    b = np.linspace(0.0, E, 401)
    slope = splines.g1(y, 1)[:, None] + splines.g2(y, 1)[:, None] * b**2
    assert slope.min() / E == pytest.approx(lowest, abs=1e-3)
    assert splines.g1(y, 1).min() / E == pytest.approx(lowest_g1, abs=1e-3)
    assert slope.max() <= -2 * E * (1 - 1e-12)
    assert slope.min() < -4 * L * E


def test_saddles_are_strict_and_minima_are_minima():
    """DU-L7.1: one eigenvalue -2 gamma and the rest 2 L at every saddle; all 2L at the minima;
    values fall by nu.
    """
    octopus = Octopus(4, 3.0, 0.5)
    for passed in range(5):
        x = octopus.saddle(passed, signs=[-1, 1, -1, 1])
        assert octopus.value(x) == pytest.approx(-passed * octopus.drop, rel=1e-14, abs=1e-12)
        np.testing.assert_allclose(octopus.gradient(x), 0.0, atol=1e-13)
        eigenvalues = np.linalg.eigvalsh(octopus.hessian(x))
        expected = [6.0] * 4 if passed == 4 else [-1.0, 6.0, 6.0, 6.0]
        np.testing.assert_allclose(eigenvalues, expected, rtol=1e-13)
    assert octopus.value(octopus.saddle(4)) == pytest.approx(octopus.least, rel=1e-14)
    assert octopus.critical_counts() == (15, 16)
    assert Octopus(4, mirrored=False).critical_counts() == (4, 1)


def test_the_counts_are_those_of_a_search_over_sign_patterns():
    """DU-L7.1: every saddle and minimum of the octopus in d = 3, as distinct points of zero
    gradient.
    """
    octopus, found = Octopus(3), set()
    for passed in range(4):
        for bits in range(2**passed):
            x = octopus.saddle(passed, signs=[1 if bits >> j & 1 else -1 for j in range(passed)])
            found.add((passed == 3, tuple(np.round(x, 9))))
    assert sum(not minimum for minimum, _ in found) == octopus.critical_counts()[0]
    assert sum(minimum for minimum, _ in found) == octopus.critical_counts()[1]


def test_outside_of_the_domain_there_is_no_value():
    """DU-O7: the thesis extends without a formula, so NaN."""
    octopus, tube = Octopus(2), Octopus(2, mirrored=False)
    outside = np.array([[7 * E, 0.0], [0.5, 1.5 * E], [3 * E, 6.5 * E]])
    assert not octopus.in_domain(outside).any()
    assert np.isnan(octopus.value(outside)).all()
    assert np.isnan(octopus.gradient(outside)).all()
    assert np.isnan(octopus.hessian(outside)).all()
    assert octopus.in_domain([-0.5, -0.5])
    assert not tube.in_domain([-0.5, 0.5])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"dimension": 0}, "dimension"),
        ({"L": 0.5}, "gamma"),
        ({"gamma": -1.0}, "gamma"),
        ({"tau": 2.0}, "tau"),
    ],
)
def test_constants_without_meaning_are_refused(options, word):
    with pytest.raises(DataError, match=word):
        Octopus(**options)


def test_points_and_saddles_of_the_wrong_size_are_refused():
    with pytest.raises(DataError, match="dimension 3"):
        Octopus(3).value([1.0, 2.0])
    with pytest.raises(DataError, match="passed=4"):
        Octopus(3).saddle(4)
    with pytest.raises(DataError, match="tube"):
        Octopus(3, mirrored=False).saddle(2, signs=[-1, 1])


@pytest.mark.parametrize(
    ("L", "ell", "rho", "epsilon"),
    [
        (1.0, 15.54, 47.1, 0.0849),
        (1.5, 21.06, 63.3, 0.0632),
        (E, 34.66, 102.7, 0.0389),
        (5.0, 60.30, 176.6, 0.0227),
    ],
)
def test_smoothness_constants_are_those_of_the_specification(L, ell, rho, epsilon):
    """DU-O7, DU-C7.1: grid maxima of the specification, against proved bounds within 1e-3."""
    bounds = octopus_smoothness_upper(Octopus(5, L))
    assert ell * (1 - 4e-4) <= bounds.gradient <= ell * 1.0015
    assert rho * (1 - 1e-3) <= bounds.hessian <= rho * 1.0015
    assert bounds.epsilon == pytest.approx(epsilon, abs=1e-4)
    assert bounds.value == pytest.approx(-Octopus(5, L).least, rel=1e-6)


@pytest.mark.parametrize(("L", "gamma", "tau"), [(1.0, 1.0, E), (2.5, 0.3, 4.0)])
def test_smoothness_bounds_hold_and_are_tight(L, gamma, tau):
    """DU-O7: spectral norms of Hessians and divided differences of Hessians on a fine grid of the
    buffer reach within 1 %.
    """
    octopus = Octopus(2, L, gamma, tau)
    bounds = octopus_smoothness_upper(octopus)
    a, b = np.meshgrid(np.linspace(tau, 2 * tau, 161), np.linspace(0.0, tau, 81))
    x = np.stack([a.ravel(), b.ravel()], axis=1)
    x = x[x[:, 0] < 2 * tau]
    norms = np.abs(np.linalg.eigvalsh(octopus.hessian(x))).max(axis=1)
    assert 0.99 * bounds.gradient <= norms.max() <= bounds.gradient
    largest = 0.0
    for angle in np.linspace(0.0, np.pi, 24, endpoint=False):
        moved = x + 1e-5 * tau * np.array([np.cos(angle), np.sin(angle)])
        inside = (
            octopus.in_domain(moved)
            & (moved[:, 0] < 2 * tau)
            & (moved[:, 0] > tau)
            & (moved[:, 1] > 0)
        )
        change = np.linalg.norm(
            octopus.hessian(moved[inside]) - octopus.hessian(x[inside]), 2, axis=(1, 2)
        )
        largest = max(largest, float(change.max()) / (1e-5 * tau))
    assert 0.99 * bounds.hessian <= largest <= bounds.hessian * (1 + 1e-8)


def test_values_are_bounded_by_d_nu():
    """DU-O7: |f| <= B on the domain, attained at the minima."""
    octopus = Octopus(6, 2.0)
    values = octopus.value(points_everywhere(octopus, 3000, 2))
    assert np.abs(values).max() <= octopus_smoothness_upper(octopus).value
    assert values.min() >= octopus.least


def test_no_point_before_the_last_saddle_is_second_order_stationary():
    """DU-C7.1: with epsilon just below the bound, gradient or curvature gives every point away."""
    octopus = Octopus(4, 1.5)
    bounds = octopus_smoothness_upper(octopus)
    x = points_everywhere(octopus, 4000, 3)
    x = x[octopus.stage(x) < 4]
    x = np.vstack([x, *(octopus.saddle(k) for k in range(4))])
    epsilon = 0.999 * bounds.epsilon
    gradients = np.linalg.norm(octopus.gradient(x), axis=1)
    least = np.linalg.eigvalsh(octopus.hessian(x))[:, 0]
    assert not ((gradients <= epsilon) & (least >= -math.sqrt(bounds.hessian * epsilon))).any()


def test_one_dimension_has_constants_of_its_own():
    """DU-O7: without a next coordinate the largest second derivative is that of the spline of one
    variable.
    """
    y = np.linspace(E, 2 * E, 10_001)
    splines = Splines(E, 1.0, E)
    bounds = octopus_smoothness_upper(Octopus(1, E))
    assert 0.998 * bounds.gradient <= np.abs(splines.g1(y, 2)).max() <= bounds.gradient
    assert 0.998 * bounds.hessian <= np.abs(splines.g1(y, 3)).max() <= bounds.hessian


def test_moved_octopus_is_the_octopus_with_another_step():
    """DU-C7.2: gradient descent with eta on f((x - z)/R) visits z + R times the points of descent
    on f with eta/R^2.
    """
    octopus, rng = Octopus(3, 1.5), np.random.default_rng(4)
    moved = MovedOctopus(octopus, rng.standard_normal(3), 2.5)
    inner = rng.uniform(-1, 1, 3)
    outer, step = moved.center + 2.5 * inner, 2.5**2 / 6
    assert moved.inner_step_size(step) == pytest.approx(1 / 6)
    for _ in range(60):
        inner = inner - octopus.gradient(inner) / 6
        outer = outer - step * moved.gradient(outer)
    np.testing.assert_allclose(moved.inside(outer), inner, rtol=1e-9, atol=1e-9)
    assert moved.value(outer) == pytest.approx(float(octopus.value(inner)), rel=1e-9)
    h = 1e-6
    differences = [
        (moved.gradient(outer + h * e) - moved.gradient(outer - h * e)) / (2 * h) for e in np.eye(3)
    ]
    np.testing.assert_allclose(moved.hessian(outer), differences, rtol=1e-6, atol=1e-6)
    bounds, before = moved.smoothness_at_most(), octopus_smoothness_upper(octopus)
    assert bounds.hessian == pytest.approx(before.hessian / 2.5**3)
    assert bounds.epsilon == pytest.approx(min(2 * E / 2.5, 4 / (before.hessian * 2.5)))


@pytest.mark.parametrize(("d", "delta"), [(5, 0.434), (10, 0.194), (100, 4.1e-4), (1000, 4.9e-9)])
def test_gaussian_starts_miss_the_cube_as_often_as_stated(d, delta):
    """DU-C7.2: R = log d; and the union bound's radius keeps its promise."""
    assert gaussian_miss_probability(d, math.log(d)) == pytest.approx(delta, rel=0.01)
    assert gaussian_miss_probability(d, gaussian_radius(d, 0.01)) <= 0.01


def test_moved_octopus_and_radii_refuse_what_has_no_meaning():
    octopus = Octopus(3)
    with pytest.raises(DataError, match="center"):
        MovedOctopus(octopus, np.zeros(2))
    with pytest.raises(DataError, match="radius"):
        MovedOctopus(octopus, np.zeros(3), 0.0)
    with pytest.raises(DataError, match="probability"):
        gaussian_radius(5, 1.5)
    with pytest.raises(DataError, match="radius"):
        gaussian_miss_probability(5, -1.0)


def test_every_mirror_image_takes_as_long():
    """DU-O7: signs of the start do not matter."""
    octopus, x = Octopus(4, 1.5), np.array([0.3, -0.8, 0.5, -0.1])
    assert descent_escape_times(octopus, x, 0.1) == descent_escape_times(octopus, -x, 0.1)
    assert escape_ratio(1.5, 1.0, 0.1) > 2.5
