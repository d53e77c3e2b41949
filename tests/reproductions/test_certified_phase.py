"""The certified phase diagram: what counts is a file that the independent checker accepts."""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import generators
from globalmin.drawing import style
from globalmin.reproductions import Setting, certified_phase
from globalmin.reproductions.certified_phase import (
    Plane,
    certified_cell,
    is_accepted,
    required_widths,
)
from globalmin.shallow.network import ShallowNetwork


def test_a_wide_cell_is_fitted_and_proved_by_both_methods():
    found = certified_cell(n=40, k=20, d=15, trials=1, seed=0)
    assert found == {
        "gd_fitted": 1,
        "gd_proved": 1,
        "lm_fitted": 1,
        "lm_proved": 1,
        "only_limit": 0,
    }


def test_levenberg_marquardt_fits_where_the_limit_of_steps_stops_gradient_descent():
    found = certified_cell(n=100, k=25, d=5, trials=1, seed=0)
    assert found["gd_fitted"] == 0
    assert found["lm_fitted"] == found["lm_proved"] == found["only_limit"] == 1


def test_a_network_that_does_not_fit_is_not_accepted():
    data = generators.sphere_with_random_labels(20, 6, seed=0)
    assert not is_accepted(
        ShallowNetwork(np.ones((8, 6)), np.ones(8), get_activation("softplus")), data
    )


def test_the_theorems_ask_for_millions_of_neurons():
    widths = required_widths(n=100, d=20, seed=0)
    assert widths["OS-C6"] > 1e6
    assert widths["OS-T6.2"] > widths["OS-C6"]


def test_the_diagram_counts_cells_below_the_line_as_zero():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(certified_phase, "THUMBNAIL", (Plane(30, (3, 12), 1),))
        patch.setattr(certified_phase, "DIMENSIONS", {"thumbnail": (10, 12)})
        found = certified_phase.certified_phase(Setting())
    assert found.data["k"] == [3, 12, 12]
    assert found.data["lm_proved"][2] == 1
    assert found.agrees
    with style():
        planes, widths = (found.figures[name]() for name in ("n30", "widths"))
    share = np.asarray(planes.axes[2].collections[0].get_array()).reshape(2, 2)
    assert share[0, 0] == 0.0
    assert share[1, 1] == 1.0
    assert widths.axes[0].get_yscale() == "log"
