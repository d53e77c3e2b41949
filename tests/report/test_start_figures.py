"""The picture of proved starts: the curve is what was given, in the order of the widths, and every
width that is asked for has its mark.
"""

import numpy as np
import pytest

from globalmin import drawing
from globalmin.report.start_figures import success_by_width


def axes_of(asked):
    with drawing.style():
        options = {"n_seeds": 20, "confidence": 0.99, "asked": asked}
        return success_by_width([40, 10, 20], [1.0, 0.2, 0.7], [0.8, 0.05, 0.4], **options).axes


def test_share_and_bound_are_drawn_by_increasing_width():
    curve, _ = axes_of({"OS-T6.2": 3e8})
    share, bound = curve.lines
    np.testing.assert_array_equal(share.get_xydata(), [[10, 0.2], [20, 0.7], [40, 1.0]])
    np.testing.assert_array_equal(bound.get_xydata(), [[10, 0.05], [20, 0.4], [40, 0.8]])
    assert [tick.get_text() for tick in curve.get_xticklabels()] == ["10", "20", "40"]
    assert "99 %" in curve.get_legend().get_texts()[1].get_text()


def test_every_width_that_is_asked_for_has_its_mark_and_the_axis_holds_it():
    _, asked = axes_of({"OS-T6.2": 3e8, "OS-C6": 8e5, "inspect recommends": 4.0})
    marks = [line.get_xdata()[0] for line in asked.lines if line.get_marker() == "o"]
    assert marks == [4.0, 8e5, 3e8]
    names = [tick.get_text() for tick in asked.get_yticklabels()]
    assert names == ["inspect recommends", "OS-C6", "OS-T6.2"]
    assert asked.get_xlim()[1] > 3e8


@pytest.mark.parametrize(("asked", "panes"), [({}, 1), ({"OS-C6": 1e6}, 2)])
def test_without_a_theorem_the_curve_stands_alone(asked, panes):
    assert len(axes_of(asked)) == panes
