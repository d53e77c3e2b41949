"""Points of the one-filter landscape, by the list of stationary points, with the escape direction
confirmed by differences.
"""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.one_filter.landscape import best_head, filter_landscape, saddle_escape
from globalmin.one_filter.network import population_loss
from globalmin.shallow.stationary import PointKind

TRAPPING = gm.FilterTeacher(np.array([0.0, 2.0, 0.0]), np.array([1.0, -0.5, 0.3]))
FREE = gm.FilterTeacher(np.array([0.0, 2.0]), np.array([1.0, 3.0]))


def test_every_stationary_point_gets_its_name():
    """DU-L5.1, DU-X5.b: teacher, trap, saddle sphere, and the degenerate opposite point above the
    threshold.
    """
    scene = filter_landscape(TRAPPING)
    truth = gm.OneFilterNetwork(3.0 * TRAPPING.w, 2.0 * TRAPPING.a)
    assert gm.classify_point(truth, TRAPPING).kind is PointKind.GLOBAL_MINIMUM
    trap = gm.classify_point(gm.OneFilterNetwork(-TRAPPING.w, scene.spurious), TRAPPING)
    assert trap.kind is PointKind.SPURIOUS_MINIMUM
    assert trap.loss == pytest.approx(scene.spurious_loss, rel=1e-12)
    opposite = gm.OneFilterNetwork(-FREE.w, filter_landscape(FREE).spurious)
    assert gm.classify_point(opposite, FREE).kind is PointKind.SECOND_ORDER
    moved = gm.OneFilterNetwork(np.array([1.0, 0.2, 0.0]), np.ones(3))
    assert gm.classify_point(moved, TRAPPING).kind is PointKind.NOT_STATIONARY


def test_saddles_have_a_direction_down_whose_curvature_is_that_of_the_loss():
    """DU-X5.b: second differences of the closed-form loss along the escape direction."""
    scene = filter_landscape(TRAPPING)
    assert scene.saddle_angle is not None
    assert scene.saddle_g is not None
    v = 1.7 * np.array([math.sin(scene.saddle_angle), math.cos(scene.saddle_angle), 0.0])
    a = best_head(scene.saddle_g, TRAPPING)
    point = gm.classify_point(gm.OneFilterNetwork(v, a), TRAPPING)
    assert point.kind is PointKind.STRICT_SADDLE
    assert point.escape is not None
    assert point.escape.u is not None
    h = 1e-4
    losses = [
        population_loss(v + t * point.escape.U, a + t * point.escape.u, TRAPPING)
        for t in (-h, 0.0, h)
    ]
    assert (losses[0] - 2 * losses[1] + losses[2]) / h**2 == pytest.approx(
        point.escape.curvature, rel=1e-5
    )
    assert point.escape.curvature < 0


@pytest.mark.parametrize("length", [0.4, 1.7])
def test_the_closed_escape_is_a_unit_direction_with_the_curvature_it_says(length):
    """DU-X5.b: towards w* and along M^{-1} a*, second differences of the loss."""
    teacher = gm.FilterTeacher(np.array([0.0, 3.0, 0.0]), np.array([1.0, -0.5, 0.3]))
    scene = filter_landscape(teacher)
    assert scene.saddle_angle is not None
    assert scene.saddle_g is not None
    v = length * np.array([math.sin(scene.saddle_angle), math.cos(scene.saddle_angle), 0.0])
    a = best_head(scene.saddle_g, teacher)
    escape = saddle_escape(gm.OneFilterNetwork(v, a), teacher)
    assert np.sum(escape.U**2) + np.sum(escape.u**2) == pytest.approx(1.0, rel=1e-12)
    assert escape.U @ v == pytest.approx(0.0, abs=1e-12)
    assert escape.U @ teacher.w > 0.0
    h = 1e-4 * length
    low, middle, high = (
        population_loss(v + t * escape.U, a + t * escape.u, teacher) for t in (-h, 0.0, h)
    )
    assert (low - 2 * middle + high) / h**2 == pytest.approx(escape.curvature, rel=1e-4)


def test_the_spectrum_at_a_saddle_is_that_of_second_differences_of_the_loss():
    """The least eigenvalue and the direction of least curvature, by differences of the loss and not
    of its gradient.
    """
    scene = filter_landscape(TRAPPING)
    v = 1.7 * np.array([math.sin(scene.saddle_angle), math.cos(scene.saddle_angle), 0.0])
    a = best_head(scene.saddle_g, TRAPPING)
    point = gm.classify_point(gm.OneFilterNetwork(v, a), TRAPPING)

    def loss(theta):
        return population_loss(theta[:3], theta[3:], TRAPPING)

    theta, h, E = np.concatenate([v, a]), 1e-3, np.eye(6)
    H = np.array([[sum(s * t * loss(theta + h * (s * E[i] + t * E[j])) for s in (1, -1) for t in (1,
    -1)) for j in range(6)]
                  for i in range(6)]) / (4 * h * h)  # fmt: skip
    spectrum = np.linalg.eigvalsh(H)
    assert point.least_eigenvalue == pytest.approx(spectrum[0], rel=1e-4)
    assert point.escape.curvature == pytest.approx(point.least_eigenvalue, rel=1e-9)
    assert point.negative_eigenvalues == (spectrum < -1e-3).sum() >= 1


def test_a_filter_network_is_not_classified_on_a_table():
    network = gm.OneFilterNetwork(np.ones(3), np.ones(3))
    with pytest.raises(DataError, match="FilterTeacher"):
        gm.classify_point(network, gm.Dataset(np.eye(3), np.arange(3.0)))
