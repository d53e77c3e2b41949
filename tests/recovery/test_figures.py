"""Pictures of the recovery show the numbers they were given (FCL-F2, FCL-E2)."""

import numpy as np

from globalmin.drawing import style
from globalmin.recovery import figures as recovery_figures

N = np.array([1e3, 1e4, 1e5])


def _axes(draw):
    with style():
        (axes,) = draw().axes
    return axes


def test_rho_is_drawn_with_its_largest_value_marked():
    sigma, values = np.array([0.5, 1.0, 2.0]), np.array([1.0, 3.0, 2.0])
    axes = _axes(lambda: recovery_figures.rho_figure(sigma, {"sigmoid": values}))
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), np.column_stack([sigma, values]))
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), [[1.0, 3.0]])


def test_recovered_neurons_are_drawn_against_the_true_ones():
    W = np.arange(6.0).reshape(2, 3)
    axes = _axes(lambda: recovery_figures.neurons_figure(W + 0.1, W, initialization=W - 1))
    start, end = (collection.get_offsets() for collection in axes.collections)
    np.testing.assert_allclose(end, np.column_stack([W.ravel(), W.ravel() + 0.1]))
    np.testing.assert_allclose(start[:, 1], W.ravel() - 1)


def test_variants_show_medians_and_the_error_picture_a_line_of_slope_one_half():
    errors = np.array([[0.4, 0.6, 0.5], [0.2, 0.1, 0.3], [0.05, 0.06, 0.04]])
    axes = _axes(
        lambda: recovery_figures.variants_figure(N, {"literal": 2 * errors, "tuned": errors})
    )
    np.testing.assert_allclose(axes.lines[1].get_ydata(), [0.5, 0.2, 0.05])
    axes = _axes(lambda: recovery_figures.error_figure(N, {"after descent": errors}))
    x, y = axes.lines[-1].get_data()
    np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), -0.5)
