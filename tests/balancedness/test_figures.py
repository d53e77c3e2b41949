"""Pictures of conserved quantities show the numbers they were given (DU-T4.1, DU-T4.2, DU-T4.3)."""

import numpy as np

from globalmin.balancedness import figures as figures
from globalmin.drawing import save, style

TIME = np.array([0.0, 1.0, 2.0])
VALUES = np.array([[1.0, -2.0], [1.5, -2.0], [1.0, -2.25]])


def _axes(draw):
    with style():
        (axes,) = draw().axes
    return axes


def test_conservation_draws_the_largest_drift_and_the_tolerance():
    axes = _axes(lambda: figures.conservation({"dense": (TIME, 1e-10 * VALUES)}, tolerance=1e-8))
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[1.0, 0.5e-10], [2.0, 0.25e-10]])
    np.testing.assert_allclose(axes.lines[1].get_ydata(), 1e-8)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["dense"]


def test_invariants_draw_every_quantity_once_and_name_every_run_once():
    axes = _axes(lambda: figures.invariants((TIME, VALUES), {"η = 0.1": (TIME, 2 * VALUES)}))
    assert len(axes.lines) == 4
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), VALUES[:, 1])
    np.testing.assert_array_equal(axes.lines[2].get_ydata(), 2 * VALUES[:, 0])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "gradient flow",
        "η = 0.1",
    ]


def test_the_drift_is_divided_by_the_step_and_the_limit_drawn_over_it():
    axes = _axes(lambda: figures.drift_by_step(TIME, VALUES, {"η = 0.5": (TIME, VALUES, 0.5)}))
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), 2 * VALUES[:, 0])
    np.testing.assert_array_equal(axes.lines[-1].get_ydata(), VALUES[:, 1])


def test_proportionality_has_a_line_of_slope_one():
    steps = np.array([0.1, 0.01])
    axes = _axes(lambda: figures.proportionality(steps, {"dense": np.array([1e-2, 1.1e-3])}))
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [1e-2, 1.1e-3])
    x, y = axes.lines[-1].get_data()
    np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), 1.0)


def test_pictures_are_written_as_svg_and_png(tmp_path):
    steps = np.array([0.1, 0.01])
    for path in save(
        lambda: figures.proportionality(steps, {"dense": steps}), tmp_path / "picture"
    ):
        assert path.stat().st_size > 1000
