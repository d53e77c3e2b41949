"""Pictures that only the thesis has (DU-F6.2b, DU-F7.2): what is drawn is what was given."""

import numpy as np
import pytest

from globalmin.octopus.function import Octopus
from globalmin.report.thesis_figures import moments_by_angle, tube_in_space
from globalmin.reproductions.du_convolution import _moments
from globalmin.reproductions.du_saddles import tube_boxes


def test_a_panel_for_each_law_with_its_three_curves_and_the_closed_forms_over_them():
    angles = np.linspace(0.0, np.pi, 5)
    one = {name: i + angles for i, name in enumerate(("least", "largest", "opposite"))}
    figure = moments_by_angle(angles, {"Gaussian": one, "other": one}, {"Gaussian": one})
    left, right = figure.axes
    assert [len(left.lines), len(right.lines)] == [6, 3]
    labels = {line.get_label(): line.get_ydata() for line in right.lines}
    np.testing.assert_array_equal(labels["γ(φ)"], one["least"])
    np.testing.assert_array_equal(labels["L(φ)"], one["largest"])


def test_the_tube_has_twelve_edges_a_box_and_the_path_ends_at_the_minimum():
    boxes = tube_boxes(np.e)
    path = np.linspace([0.5, 0.5, 0.5], [4 * np.e] * 3, 7)
    figure = tube_in_space(boxes, np.zeros((3, 3)), np.full(3, 4 * np.e), path)
    (axes,) = figure.axes
    assert len(axes.lines) == 12 * len(boxes) + 1
    np.testing.assert_allclose(np.array(axes.lines[-1].get_data_3d()).T, path)


def test_the_boxes_are_the_domain_of_the_tube():
    """(7.5) by brute force: a point is in some box exactly if the tube has a value there."""
    tube = Octopus(3, np.e, 1.0, np.e, mirrored=False)
    points = np.random.default_rng(0).uniform(0.0, 6.5 * np.e, (4_000, 3))
    points[::2, 2] /= 6.5  # enough of them inside
    points[::4, 1] /= 6.5
    inside = np.any(
        [((low <= points) & (points <= high)).all(axis=1) for low, high in tube_boxes(np.e)], axis=0
    )
    assert 0.05 < inside.mean() < 0.95
    np.testing.assert_array_equal(inside, tube.in_domain(points))


@pytest.mark.parametrize("phi", [0.0, 0.4, -1.3, 2.2, np.pi])
def test_moments_of_a_circle_are_their_integrals(phi):
    """DU-F6.2b: equal weights on a fine circle against the closed forms, halved for unit inputs."""
    t = (np.arange(20_000) + 0.5) * 2 * np.pi / 20_000
    least, largest, opposite = _moments(np.column_stack([np.cos(t), np.sin(t)]), phi)
    a = abs(phi)
    assert least == pytest.approx((np.pi - a - np.sin(a)) / (4 * np.pi), abs=2e-4)
    assert largest == pytest.approx((np.pi - a + np.sin(a)) / (4 * np.pi), abs=2e-4)
    assert opposite == pytest.approx((a + np.sin(a)) / (4 * np.pi), abs=2e-4)
