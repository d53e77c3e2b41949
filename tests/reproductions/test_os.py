"""OS figures 2a and 2b: one cell against plain gradient descent, the printed rule and the stop, the
picture in the colors of the paper, and planted mistakes that the thumbnail catches.
"""

import numpy as np
import pytest
from tests.reproductions import recorded_os

from globalmin.activations import get_activation
from globalmin.data import Dataset
from globalmin.drawing import style
from globalmin.reproductions import Setting, entry, os
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.train import train


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_a_cell_is_what_plain_gradient_descent_finds(activation):
    """OS-E.fig2a: the same data and starts through the method of the library, in float64."""
    cell = {"n": 20, "k": 8, "d": 8, "trials": 4, "max_iter": 600, "seed": 0}
    X, y, W, v = os.realizations(20, 8, 8, 4, 0)
    np.testing.assert_allclose(np.linalg.norm(X, axis=2), 1.0)
    np.testing.assert_allclose(v.sum(axis=1), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), np.linalg.norm(y, axis=1) / np.sqrt(20))
    losses, stops, steps = [], [], 0
    for t in range(4):
        run = train(
            ShallowNetwork(W[t], v[t], get_activation(activation)),
            Dataset(X[t], y[t], bias=False, scaling="none"),
            "gradient_descent",
            step_size=os.STEPS[activation],
            tol=os.TOL,
            max_iter=600,
        )
        r = run.network.predict(X[t]) - y[t]
        losses.append(np.sum(r**2) / np.sum(y[t] ** 2))
        stops.append(np.linalg.norm(r) < 2.5e-3 * np.linalg.norm(y[t]))
        steps += run.n_iter
    found = os.phase_cell(**cell, activation=activation)
    assert np.mean(np.array(losses) < 2.5e-3) > 0.0, "no run of the cell succeeds"
    assert found["fits"] == np.mean(np.array(losses) < 2.5e-3)
    assert found["stops"] == np.mean(stops) < found["fits"]  # the two rules differ here
    assert found["steps"] == pytest.approx(steps, rel=0.01)
    assert found["diverged"] == 0


def test_success_is_a_relative_loss_below_the_threshold():
    """OS section 4: ||r||^2/||y||^2 < 2.5e-3, so ||r||/||y|| < .05; an overflow is no success."""
    errors = np.array([0.0, 0.0499, 0.05, 0.0501, np.inf, np.nan])
    assert os.succeeds(errors).tolist() == [True, True, False, False, False, False]


def thumbnail(item, activation="softplus"):
    """The thumbnail with the cells of one activation near kd = n run, the others as recorded."""
    n = 100 if item.endswith("a") else 200

    def trials(recipe, points):
        return [
            recipe(**p)
            if p["activation"] == activation and n <= p["k"] * p["d"] <= 1.5 * n
            else recorded_os.cell(p)
            for p in points
        ]

    return entry(item).run(Setting(trials=trials))


@pytest.fixture(scope="module", params=["OS-E.fig2a", "OS-E.fig2b"])
def figure(request):
    return thumbnail(request.param)


def differing(found):
    return [row.quantity for row in found.table if row.agrees is False]


def test_the_crossings_of_both_rules_are_those_measured_before(figure):
    """OS-E.fig2a, OS-E.fig2b: every row is judged, has power, and agrees."""
    assert differing(figure) == []
    assert [row.verdict for row in figure.table] == ["agrees"] * 8
    assert figure.headline == "8 agree; 8 against our reference"
    crossings = [row for row in figure.table if "half of the runs" in row.quantity]
    assert len(crossings) == 4
    assert all(row.tolerance < 0.25 and row.error and row.catches for row in crossings)
    assert crossings[0].ours < crossings[1].ours - 0.2  # success comes before the stop
    assert crossings[0].published == "tightly surrounded by n = kd"


def test_the_recorded_cells_are_what_the_recipe_gives():
    """OS-E.fig2a: two cells of each activation, so that the record is that of this code."""
    for activation in os.STEPS:
        for k, d in ((8, 14), (12, 12)):
            point = {
                **{"n": 100, "k": k, "d": d, "activation": activation},
                **{"trials": os.THUMBNAIL.trials, "max_iter": os.MAX_ITER, "seed": 0},
            }
            found = os.phase_cell(**point)
            known = recorded_os.cell(point)
            assert {name: found[name] for name in ("fits", "stops")} == {
                name: pytest.approx(known[name]) for name in ("fits", "stops")
            }


@pytest.mark.parametrize("item", ["OS-E.fig2a", "OS-E.fig2b"])
@pytest.mark.parametrize(
    ("place", "wrong", "row"),
    [
        ("LOSS", 2.5e-3**2, "relative loss"),  # the stop taken for the success
        ("STEPS", {"softplus": 1.5, "relu": 0.1}, ""),
        ("STEPS", {"softplus": 0.015, "relu": 0.1}, "relative loss"),
    ],
)
def test_a_wrong_rule_and_a_wrong_step_are_caught(item, place, wrong, row, monkeypatch):
    """OS-E.fig2a, OS-E.fig2b: the planted mistake makes a row differ."""
    monkeypatch.setattr(os, place, wrong)
    caught = differing(thumbnail(item))
    assert any(quantity.startswith("softplus") for quantity in caught)
    assert any(row in quantity for quantity in caught), caught


def test_the_picture_has_the_line_of_parameters_and_red_for_success(figure):
    with style():
        drawn = figure.figures[""]()
    planes = drawn.axes[:4]
    n = 100 if figure.item.endswith("a") else 200
    assert [axes.get_title() for axes in planes] == [
        f"{name}, n = {n}: relative {what} < 2.5e-3"
        for what in ("loss", "error")
        for name in ("softplus", "ReLU")
    ]
    for axes in planes:
        assert axes.lines[0].get_color() == "white"
        d, k = axes.lines[0].get_data()
        np.testing.assert_allclose(np.asarray(d) * np.asarray(k), n)
        fail, success = axes.collections[0].get_cmap()([0.0, 1.0])
        assert fail[2] > fail[0]  # blue
        assert success[0] > success[2]  # red


def test_both_sizes_of_sample_are_registered_with_the_printed_numbers():
    """OS-E.fig2b: n = 200; 15,000 steps, learning rates .15 and .1, ten realizations."""
    assert entry("OS-E.fig2a").run is os.fig2a
    assert entry("OS-E.fig2b").run is os.fig2b
    assert tuple(os.PAPER) == (tuple(range(1, 26)), 10)
    assert (os.MAX_ITER, os.TOL, os.LOSS) == (15_000, 2.5e-3, 2.5e-3)
    assert os.STEPS == {"softplus": 0.15, "relu": 0.1}
