"""SJL figures 1 to 4: teachers and starts as published, the sign that no neuron can lose, the floor
of figure 4.
"""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.drawing import style
from globalmin.fused.train import train_many
from globalmin.reproductions import Setting, sjl, sjl_errors


def test_figure_one_shows_the_activations_and_agrees_with_example_2_4():
    """SJL-E.fig1."""
    found = sjl.fig1(Setting())
    assert found.agrees
    z = np.array(found.data["z"])
    np.testing.assert_allclose(found.data["sigmoid, b = 4"], 1 / (1 + np.exp(-4 * z)), atol=1e-14)
    with style():
        assert len(found.figures[""]().axes[0].lines) == 5


def test_one_teacher_far_above_and_one_far_below_the_transition():
    """SJL-E.fig2a, SJL-E.fig3a: with many weights every run is global, with few none is."""
    wide = sjl.teacher_runs(
        k=20, d=10, activation="softplus(10)", teacher=0, runs=2, steps=8_000, seed=0
    )
    assert wide["finished_runs"] == 2
    narrow = sjl.teacher_runs(
        k=6, d=10, activation="softplus(10)", teacher=0, runs=2, steps=2_000, seed=0
    )
    assert narrow["finished_runs"] == narrow["global_runs"] == 0
    quadratic = sjl.teacher_runs(
        k=14, d=20, activation="quadratic", teacher=0, runs=2, steps=8_000, seed=0
    )
    assert quadratic == {"global_runs": 2, "finished_runs": 2, "diverged": 0}


def test_no_quadratic_neuron_loses_its_sign():
    """SJL-E.fig3b: 2 v^2 - |w|^2 is kept by the flow, and nearly so by the small steps, so that v
    never comes near zero.
    """
    rng = np.random.default_rng(0)
    n, k, d = 100, 5, 16
    X = rng.standard_normal((n, d))
    y = np.square(X @ (rng.standard_normal((k, d)) / np.sqrt(d)).T).sum(axis=1)
    W, v = rng.standard_normal((6, k, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], size=(6, k))
    runs = train_many(
        X,
        y,
        W,
        v,
        activation="quadratic",
        trained="vW",
        step_size=0.005 / n,
        max_iter=10_000,
        tol=0.0,
    )
    kept = 2 * v**2 - np.square(W).sum(axis=2)
    now = 2 * runs.v**2 - np.square(runs.W).sum(axis=2)
    np.testing.assert_allclose(now, kept, atol=0.2)
    safe = kept > 0.3
    assert safe.sum() > 20
    np.testing.assert_array_equal(np.sign(runs.v)[safe], v[safe])


@pytest.fixture(scope="module")
def transition():
    """SJL-E.fig2b at a size for tests."""
    with pytest.MonkeyPatch.context() as patch:
        experiment = sjl.EXPERIMENTS["SJL-E.fig2b"]._replace(thumbnail=(6, 10, 16))
        patch.setitem(sjl.EXPERIMENTS, "SJL-E.fig2b", experiment)
        return sjl._transition("SJL-E.fig2b", Setting(), sjl.Size(2, 2, 4_000))


def test_the_transition_is_fitted_and_compared_with_the_published_crossing(transition):
    """SJL-E.fig2b: the published crossing 10.70 beside ours with its interval."""
    finished = transition.row("crossing d: teachers, runs finished")
    assert finished.published == 10.70
    assert 6 < finished.ours < 16
    assert "95 % interval" in finished.note
    data = {name: np.array(column) for name, column in transition.data.items()}
    assert (data["k"] == 10).all()
    assert (data["finished_runs"][data["d"] == 6] == 0).all()
    assert (data["finished_runs"][data["d"] == 16] == 2).all()
    assert (data["finished_runs"] >= data["global_runs"]).all()
    with style():
        assert len(transition.figures[""]().axes) == 3


def test_published_crossings_and_sizes_are_those_of_the_text():
    """SJL-E.fig2a, SJL-E.fig2b, SJL-E.fig3a, SJL-E.fig3b."""
    found = {
        item: (e.published, e.varies, e.fixed, e.activation) for item, e in sjl.EXPERIMENTS.items()
    }
    assert found == {
        "SJL-E.fig2a": (11.40, "k", 10, "softplus(10)"),
        "SJL-E.fig2b": (10.70, "d", 10, "softplus(10)"),
        "SJL-E.fig3a": (5.5, "k", 20, "quadratic"),
        "SJL-E.fig3b": (25.40, "d", 5, "quadratic"),
    }


@pytest.mark.parametrize(
    ("item", "activation"), [("SJL-E.fig4a", "softplus(10)"), ("SJL-E.fig4b", "quadratic")]
)
def test_no_positive_network_passes_the_floor_and_a_trained_head_does(item, activation):
    """SJL-E.fig4a, SJL-E.fig4b: with v = 1 the error stays above the floor (erratum S28), with both
    layers it goes to zero.
    """
    with pytest.MonkeyPatch.context() as patch:
        experiment = sjl_errors.EXPERIMENTS[item]
        widths = (3, 30) if activation == "softplus(10)" else (3, 15)
        patch.setitem(sjl_errors.EXPERIMENTS, item, experiment._replace(widths=widths))
        found = sjl_errors.errors(item, Setting())
    assert found.agrees
    floor = found.row("v = 1: floor of the RMSE over all W").ours
    data = {name: np.array(column) for name, column in found.data.items()}
    assert (data["rmse"][data["head"] == "ones"] > floor).all()
    assert data["rmse"][(data["head"] == "trained") & (data["k"] == widths[1])].min() < floor / 10
    with style():
        assert len(found.figures[""]().axes) == 2


def test_the_floor_holds_for_every_network_that_is_nowhere_negative():
    """SJL-E.fig4a: random W, against the loss formula written out."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((100, 10)), rng.standard_normal(100)
    floor = np.sum(np.minimum(y, 0.0) ** 2) / 200
    for _ in range(50):
        W = rng.standard_normal((20, 10)) * rng.uniform(0.01, 2.0)
        r = get_activation("softplus(10)")(X @ W.T).sum(axis=1) - y
        assert np.sum(r**2) / 200 >= floor
