"""The search behind the smoothness constants: its entries against the Hessian, its enclosures and
norms against brute force, its bounds on the safe side.
"""

import itertools
import math

import numpy as np
import pytest

from globalmin.octopus.constants import (
    MovedOctopus,
    buffer_entries,
    enclosures,
    form_norm,
    largest,
    matrix_norm,
    octopus_smoothness_upper,
)
from globalmin.octopus.function import Octopus


def test_the_entries_are_those_of_the_hessian_and_of_its_derivatives():
    """DU-O7, DU-L7.4: at 200 points of a buffer; third derivatives by differences of the Hessian
    (of polynomials: error 1e-8).
    """
    octopus = Octopus(2, 2.5, 0.7, 3.0)
    u, w = np.random.default_rng(0).uniform(0.05, 0.95, (2, 200))
    x = octopus.tau * np.column_stack([1 + u, w])
    H = octopus.hessian(x)
    block, third = buffer_entries(octopus)
    middle, spread = enclosures(block, np.column_stack([u, w]), 0.0)
    np.testing.assert_allclose(middle, H[:, [0, 0, 1], [0, 1, 1]], rtol=1e-12, atol=1e-12)
    assert not spread.any()
    by_first, by_second = (
        (octopus.hessian(x + 1e-4 * e) - octopus.hessian(x - 1e-4 * e)) / 2e-4 for e in np.eye(2)
    )
    expected = octopus.tau * np.stack(
        [by_first[:, 0, 0], by_second[:, 0, 0], by_second[:, 0, 1]], axis=1
    )
    middle, _ = enclosures(third, np.column_stack([u, w]), 0.0)
    np.testing.assert_allclose(middle, expected, atol=1e-5)
    assert np.abs(by_second[:, 1, 1]).max() < 1e-9


def test_an_enclosure_holds_the_cell_and_not_much_more():
    """DU-O7: 2,000 points of a cell stay within the spread, and come near it in every entry."""
    octopus, rng = Octopus(2, 2.0), np.random.default_rng(1)
    center, half = np.array([[0.6, 0.4]]), 1 / 64
    inside = center + rng.uniform(-half, half, (2000, 2))
    inside = np.vstack([inside, center + half * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])])
    for entries in buffer_entries(octopus):
        middle, spread = enclosures(entries, center, half)
        values, _ = enclosures(entries, inside, 0.0)
        change = np.abs(values - middle).max(axis=0)
        assert (change <= spread[0] * (1 + 1e-12)).all()
        assert (change >= 0.6 * spread[0]).all()


def test_the_norms_are_those_of_brute_force():
    """DU-O7: matrices by eigenvalues; third-order forms by 10,000 angles, bounded from above by
    less than 1e-4 relatively.
    """
    entries = np.random.default_rng(2).standard_normal((50, 3))
    a, b, c = entries.T
    matrices = np.stack([np.stack([a, b], -1), np.stack([b, c], -1)], -2)
    np.testing.assert_allclose(matrix_norm(entries), np.linalg.norm(matrices, 2, axis=(1, 2)))
    angle = np.linspace(0, math.pi, 10_000)
    x, y = np.cos(angle), np.sin(angle)
    forms = a[:, None] * x**3 + 3 * b[:, None] * x**2 * y + 3 * c[:, None] * x * y**2
    exact = np.abs(forms).max(axis=1)
    assert (exact <= form_norm(entries)).all()
    assert (form_norm(entries) <= exact * (1 + 2e-4)).all()


def test_a_constant_is_found_at_once_with_half_of_the_slack_for_cells_given_up():
    flat = (((np.array([2.0]), 0),), ((np.array([0.0]), 0),), ((np.array([0.0]), 0),))
    assert largest(flat, matrix_norm, np.array([1.0, 2.0, 1.0]), 1.0, 0.01) == pytest.approx(
        2.0 * 1.005, rel=1e-15
    )


@pytest.mark.parametrize("tol", [1e-2, 1e-3])
def test_the_tolerance_is_how_far_the_bound_is_from_a_grid(tol):
    """DU-O7: against 101 x 101 points, which miss the largest by less than 1e-4."""
    octopus = Octopus(3, 1.5, 1.0, 4.0)
    bounds = octopus_smoothness_upper(octopus, tol=tol)
    u, w = (axis.ravel() for axis in np.meshgrid(*2 * [np.linspace(0, 1, 101)]))
    block, third = buffer_entries(octopus)
    grid = np.column_stack([u, w])
    ell = matrix_norm(enclosures(block, grid, 0.0)[0]).max()
    rho = form_norm(enclosures(third, grid, 0.0)[0]).max() / octopus.tau
    assert ell <= bounds.gradient <= ell * (1 + tol + 2e-4)
    assert rho * (1 - 2e-4) <= bounds.hessian <= rho * (1 + tol + 2e-4)


def test_a_peak_is_found_wherever_it_lies():
    """3 - 20 (u - u_0)^2 - 20 (w - w_0)^2 is at most 3, also at edges and corners of cells."""
    tol, places = 1e-2, (0.0, 0.1, 0.3, 0.45, 0.6, 0.8, 1.0)
    for u, w in itertools.product(places, places):
        in_u = np.array([3.0 - 20.0 * u**2 - 20.0 * w**2, 40.0 * u, -20.0])
        entry = ((in_u, 0), (np.array([40.0 * w]), 1), (np.array([-20.0]), 2))
        found = largest((entry,), lambda values: values[:, 0], np.ones(1), 1.0, tol)
        assert 3.0 <= found <= 3.0 * (1.0 + 2.0 * tol)


def test_bounds_are_rounded_to_the_safe_side_and_no_further():
    """DU-O7, DU-C7.1: B from above, epsilon from below, 1e-8 at most."""
    for gamma, tau in ((1.0, 3.0), (1e-3, 3.0)):
        octopus = Octopus(4, 2.0, gamma, tau)
        bounds = octopus_smoothness_upper(octopus)
        exact = 4 * (37 * 2.0 + 13 * gamma) * tau**2 / 6
        assert exact < bounds.value <= exact * (1 + 1e-8)
        limit = min(2 * gamma * tau, 4 * gamma**2 / bounds.hessian)
        assert limit * (1 - 1e-8) <= bounds.epsilon < limit
    steep = Octopus(1, 300.0, 300.0, math.e)  # 4 gamma^2/rho and 2 gamma tau, whichever is less
    bounds = octopus_smoothness_upper(steep)
    assert bounds.epsilon == pytest.approx(min(600 * math.e, 4 * 9e4 / bounds.hessian), rel=1e-8)


def test_a_moved_octopus_keeps_to_the_safe_side():
    """DU-C7.2: each constant divided by its power of R, outward."""
    octopus = Octopus(3, 2.0)
    s, moved = octopus_smoothness_upper(octopus), MovedOctopus(octopus, np.zeros(3), 0.7)
    m = moved.smoothness_at_most()
    assert s.gradient / 0.7**2 < m.gradient <= s.gradient / 0.7**2 * (1 + 1e-11)
    assert s.hessian / 0.7**3 < m.hessian <= s.hessian / 0.7**3 * (1 + 1e-11)
    assert s.epsilon / 0.7 * (1 - 1e-11) <= m.epsilon < s.epsilon / 0.7
    assert m.value == s.value
    assert moved.inner_step_size(0.1) == pytest.approx(0.1 / 0.49)
