"""OS figures 2a and 2b: one cell against plain gradient descent, the whole figure at a size for
tests.
"""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.drawing import style
from globalmin.reproductions import Setting, os
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.train import train


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_a_cell_is_what_plain_gradient_descent_finds(activation):
    """OS-E.fig2a: the same data and starts through the method of the library, in float64."""
    cell = {"n": 20, "k": 6, "d": 8, "trials": 3, "max_iter": 2_000, "seed": 0}
    X, y, W, v = os.realizations(20, 6, 8, 3, 0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=2), 1.0)
    np.testing.assert_allclose(v.sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), np.linalg.norm(y, axis=1) / np.sqrt(20))
    runs = []
    for t in range(3):
        data = os_dataset(X[t], y[t])
        network = ShallowNetwork(W[t], v[t], get_activation(activation))
        runs.append(
            train(
                network,
                data,
                "gradient_descent",
                step_size=os.STEPS[activation],
                tol=os.TOL,
                max_iter=2_000,
            )
        )
    found = os.phase_cell(**cell, activation=activation)
    assert found["share"] == np.mean([run.status.is_success for run in runs])
    assert found["steps"] == pytest.approx(sum(run.n_iter for run in runs), rel=0.01)
    assert found["diverged"] == 0


def os_dataset(X, y):
    from globalmin.data import Dataset

    return Dataset(X, y, bias=False, scaling="none")


@pytest.fixture(scope="module")
def figure():
    """OS-E.fig2a on three by three cells, one run each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "THUMBNAIL", os.Size((5, 14, 25), 1))
        patch.setattr(os, "MAX_ITER", 4_000)
        return os._phase_diagram(
            "OS-E.fig2a", 100, Setting(), {"softplus": {(25, 25): 1.0, (5, 5): 0.0}}
        )


def test_the_figure_has_a_row_a_cell_and_fits_only_above_the_line(figure):
    """OS-E.fig2a, OS-E.fig2b: no cell with kd < n fits, the widest does."""
    data = {name: np.array(column) for name, column in figure.data.items()}
    assert len(data["k"]) == 2 * 9
    assert not data["share"][data["k"] * data["d"] < 90].any()
    assert data["share"][(data["k"] == 25) & (data["d"] == 25)].all()
    assert figure.agrees
    assert figure.row("softplus: largest share where kd < 0.9 n").agrees
    assert 1.0 < figure.row("softplus: kd/n where half of the runs fit").ours < 6.25


def test_the_picture_draws_the_line_of_parameters(figure):
    with style():
        drawn = figure.figures[""]()
    planes = drawn.axes[:2]
    assert [axes.get_title() for axes in planes] == ["softplus, n = 100", "ReLU, n = 100"]
    for axes in planes:
        d, k = axes.lines[0].get_data()
        np.testing.assert_allclose(np.asarray(d) * np.asarray(k), 100.0)


def test_both_sizes_of_sample_are_registered():
    """OS-E.fig2b: n = 200."""
    from globalmin.reproductions import entry

    assert entry("OS-E.fig2a").run is os.fig2a
    assert entry("OS-E.fig2b").run is os.fig2b
    assert os.PAPER.axis == tuple(range(1, 26))
    assert os.PAPER.trials == 10
