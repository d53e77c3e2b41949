"""The comparison picture draws medians and says who never arrived."""

import numpy as np

from globalmin.octopus.figures import iterations_by_dimension


def test_medians_are_drawn_and_unfinished_dimensions_left_out():
    dimensions = np.array([2.0, 4.0, 8.0])
    counts = {
        "descent": np.array([[10.0, 20.0, 30.0], [100.0, 90.0, 80.0], [1.0, np.nan, 2.0]]),
        "noise": np.full((3, 3), np.nan),
    }
    axes = iterations_by_dimension(dimensions, counts, x_label="dimension", title="a family").axes[
        0
    ]
    assert axes.lines[0].get_xdata().tolist() == [2.0, 4.0]
    assert axes.lines[0].get_ydata().tolist() == [20.0, 90.0]
    assert axes.get_yscale() == "log"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "descent",
        "noise: never",
    ]
