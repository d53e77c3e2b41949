"""The phase diagram of proved starts: a start counts when the checker accepts the file about it."""

import numpy as np
import pytest

from globalmin.drawing import style
from globalmin.reproductions import Setting, start_phase
from globalmin.reproductions.start_phase import Plane, started_cell


@pytest.fixture(scope="module")
def found():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(start_phase, "THUMBNAIL", (Plane(6, (2, 6), (2, 6, 8), 1),))
        return start_phase.start_phase(Setting())


def test_a_wide_cell_is_fitted_and_proved_from_its_start():
    """OS-E.fig2a, OS-T2.1 at a width of 12 instead of millions."""
    counts = started_cell(n=6, k=12, d=8, trials=2, seed=0)
    assert counts["fitted"] == counts["proved_at_end"] == counts["proved_from_start"] == 2
    assert 0 < counts["steps"] < 15_000


def test_a_cell_near_the_line_is_proved_by_neither():
    """One neuron, kd = n: descent stalls far from zero, and nothing is proved of it."""
    counts = started_cell(n=6, k=1, d=6, trials=1, seed=0)
    assert counts["proved_at_end"] == counts["proved_from_start"] == counts["steps"] == 0


def test_every_cell_has_its_counts_and_cells_below_the_line_are_empty(found):
    assert found.data["k"] == [2, 2, 6, 6, 6]
    assert found.data["d"] == [6, 8, 2, 6, 8]
    assert found.data["proved_from_start"][3:] == [1, 1]
    assert found.data["fitted_and_proved"][3:] == [1, 1]
    assert found.agrees
    with style():
        planes = found.figures["n6"]()
    titles = [axes.get_title() for axes in planes.axes[:3]]
    assert titles == ["fitted", "proved at the end", "proved from the start"]
    share = np.asarray(planes.axes[2].collections[0].get_array()).reshape(2, 3)
    assert share[0, 0] == 0.0
    assert share[1, 1] == 1.0


def test_the_table_says_how_many_starts_are_proved(found):
    rows = {row.quantity: row.ours for row in found.table}
    proved = sum(found.data["proved_from_start"])
    assert rows["n = 6: starts proved, of 5 with kd >= n"] == proved
    assert rows["n = 6: least kd/n with half of the starts: descent from its start"] <= 6.0
