"""The picture of a run proved from its start: what is drawn is what was given, the line stands at
the last step, and a file without the rate of a landing draws nothing of the kind.
"""

import numpy as np
import pytest
from tests.report.records import accepted, target

from globalmin import drawing
from globalmin.report.panels import panels
from globalmin.report.run_figures import proved_run
from globalmin.report.words import headline

STEPS, NORMS = np.arange(5.0), 2.0 ** -np.arange(5.0)
ERRORS = np.array([0.0, 1e-36, 3e-36, 5e-36, 7e-36])
REPLAY = {"rate": 0.5, "delta": 7e-36, "replay_bits": 128.0, "steps": 9.0}


def test_residual_error_and_the_moment_from_which_the_rest_is_proved():
    with drawing.style():
        above, below = proved_run(STEPS, NORMS, ERRORS, rate=0.25, bits=128).axes
    np.testing.assert_array_equal(above.lines[0].get_xydata(), np.column_stack([STEPS, NORMS]))
    x, y = above.lines[1].get_data()
    assert (x[0], y[0]) == (4.0, NORMS[-1])
    np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(x), np.log(0.25))
    np.testing.assert_array_equal(below.lines[0].get_ydata(), ERRORS[1:])  # 0 has no logarithm
    np.testing.assert_array_equal(below.lines[1].get_xydata(), [[4.0, 7e-36]])
    for axes in (above, below):
        (line,) = [one for one in axes.lines if list(one.get_xdata()) == [4.0, 4.0]]
        assert line.get_color() == drawing.GREEN
    assert "128 bits" in below.get_ylabel()


def replayed_target(**changes):
    seen = {
        "iteration": list(range(10)),
        "loss": [2.0 * 4.0**-i for i in range(10)],
        "replay_log_error": [None, *np.log(np.arange(1.0, 10.0)).tolist()],
    }
    return target(trajectory=seen | changes)


def test_the_panel_ends_at_the_proved_error_and_says_what_is_estimated():
    made = panels(replayed_target(), accepted("trajectory", **REPLAY), prefix="t")
    panel = made[1]
    assert panel.title == "From the random start"
    caption = panel.caption.replace("\N{NO-BREAK SPACE}", " ")
    assert "proved is its end, 7 × 10⁻³⁶ after 9 steps, the way there is estimated" in caption
    assert "at most 0.5" in panel.caption
    steps, residuals, errors = zip(*panel.table.rows, strict=True)
    assert steps[-1] == "9"
    assert residuals[0] == "2"
    assert errors[0] == "0"
    assert errors[-1].split() == ["7", "×", "10⁻³⁶"]
    assert errors[3].split() == ["2.3", "×", "10⁻³⁶"]  # 3/9 of the proved end


@pytest.mark.parametrize(
    ("seen", "proof"),
    [
        (target(), accepted("trajectory", **REPLAY)),  # a record without the estimate
        (replayed_target(), accepted()),  # nothing said of the start
        (replayed_target(), accepted("trajectory", **REPLAY | {"rate": None})),  # no landing
    ],
)
def test_nothing_is_drawn_that_is_not_proved(seen, proof):
    assert "From the random start" not in [p.title for p in panels(seen, proof, prefix="t")]


def test_the_headline_speaks_of_the_start_only_if_the_rest_is_proved_too():
    assert "from its own start" in headline(accepted("trajectory", **REPLAY))
    assert "from its own start" not in headline(accepted("trajectory", **REPLAY | {"rate": None}))
    assert "from its own start" not in headline(accepted())
