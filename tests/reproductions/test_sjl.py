"""SJL figures 1 to 4: teachers and starts as published, the sign that no neuron can lose, the floor
of figure 4, and planted mistakes that the thumbnails catch.
"""

import numpy as np
import pytest
from scipy.stats import fisher_exact
from tests.reproductions import recorded_sjl

from globalmin.activations import get_activation
from globalmin.drawing import style
from globalmin.fused.train import train_many
from globalmin.reproductions import Setting, entry, sjl, sjl_errors, sjl_settings, sjl_transitions
from globalmin.reproductions.crossing import most_failures

TRANSITIONS = ["SJL-E.fig2a", "SJL-E.fig2b", "SJL-E.fig3a", "SJL-E.fig3b"]


KNOWN = {  # what differs from the paper in truth, and so in the thumbnail
    "SJL-E.fig2b": ["runs with d ≥ 12 that are not global"],
    "SJL-E.fig3a": ["crossing k: all ten runs, v = ±1, both layers (the text)"],
}


def differing(found):
    return [row.quantity for row in found.table if row.agrees is False]


def test_figure_one_shows_the_activations_of_example_2_4():
    """SJL-E.fig1: its erf is (2/sqrt pi) times an integral of exp(-t^2/2), not erf itself."""
    found = sjl.fig1(Setting())
    assert found.headline == "4 agree; 4 against our reference"
    z = np.array(found.data["z"])
    np.testing.assert_allclose(found.data["sigmoid, b = 4"], 1 / (1 + np.exp(-4 * z)), atol=1e-14)
    slope = np.gradient(np.array(found.data[sjl.ERF]), z)
    np.testing.assert_allclose(
        slope[1:-1], 2 / np.sqrt(np.pi) * np.exp(-(z[1:-1] ** 2) / 2), atol=1e-3
    )
    with style():
        assert len(found.figures[""]().axes[0].lines) == 6


def test_a_wrong_activation_in_figure_one_is_caught(monkeypatch):
    """SJL-E.fig1: erf for the function of example 2.4; b = 1 for b = 4."""
    monkeypatch.setattr(sjl, "example_erf", get_activation("erf"))
    assert differing(sjl.fig1(Setting())) == ["erf of example 2.4 at 1"]
    monkeypatch.undo()
    monkeypatch.setattr(
        "globalmin.activations.get_activation",
        lambda name: get_activation("softplus(1)" if name == "softplus(4)" else name),
    )
    assert differing(sjl.fig1(Setting())) == ["softplus, b = 4, at 0"]


def test_one_teacher_far_above_and_one_far_below_the_transition():
    """SJL-E.fig2a, SJL-E.fig3a: with many weights every run is global, with few none is."""
    shared = {"teacher": 0, "start": "signs", "seed": 0}
    wide = sjl_transitions.teacher_runs(
        k=20, d=10, activation="softplus(10)", steps=8_000, **shared
    )
    assert wide["finished_runs"] == 10
    narrow = sjl_transitions.teacher_runs(
        k=8, d=10, activation="softplus(10)", steps=2_000, **shared
    )
    assert narrow["finished_runs"] == narrow["global_runs"] == 0
    quadratic = sjl_transitions.teacher_runs(
        k=14, d=20, activation="quadratic", steps=8_000, **shared
    )
    assert quadratic["finished_runs"] == 10


@pytest.mark.parametrize(
    ("start", "trained", "law"),
    [
        ("signs", "vW", lambda v, k: np.abs(v) == 1),
        ("small", "vW", lambda v, k: np.isclose(np.abs(v), k**-0.5)),
        ("normal", "vW", lambda v, k: np.abs(v) < 5),
        ("ones", "W", lambda v, k: v == 1),
    ],
)
def test_heads_are_drawn_as_named(start, trained, law):
    """SJL-E.fig3a, SJL-E.fig3b: the four starts of the table."""
    v, layers = sjl_transitions.first_head(start, 400, np.random.default_rng(0))
    assert layers == trained
    assert v.shape == (10, 400)
    assert law(v, 400).all()
    if start != "ones":  # mean 0 within five standard errors
        assert abs(v.mean()) < 5 * v.std() / np.sqrt(v.size)
    if start == "normal":
        assert v.std() == pytest.approx(1.0, abs=0.06)


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


def thumbnail(item):
    """The thumbnail with its controls ("wide", "few") run, and the grid as recorded."""

    def trials(recipe, points):
        grid = iter(recorded_sjl.grid(item))
        return [
            recipe(**p) if p["teacher"] >= sjl_transitions.CONTROL else next(grid) for p in points
        ]

    return entry(item).run(Setting(trials=trials))


@pytest.fixture(scope="module", params=TRANSITIONS)
def panel(request):
    return thumbnail(request.param)


def test_a_panel_compares_the_published_crossing_with_the_errors_of_both_sides(panel):
    """SJL-E.fig2a, SJL-E.fig2b, SJL-E.fig3a, SJL-E.fig3b: published only what the text prints;
    every judged row says where its tolerance is from and what it catches.
    """
    experiment = sjl_settings.EXPERIMENTS[panel.item]
    printed = [row.published for row in panel.table if row.published is not None]
    assert set(printed) == {experiment.published} | ({0} if experiment.always else set())
    for row in panel.table:
        assert row.tolerance is None or (row.error and row.catches)
    starts = 1 if experiment.always else 4
    assert sum("all ten runs, v" in row.quantity for row in panel.table) == 2 * starts
    assert (np.array(panel.data["runs"]) == 10).all()
    assert differing(panel) == KNOWN.get(panel.item, [])
    with style():
        drawn = [axes for axes in panel.figures[""]().axes if axes.get_visible()]
    assert len(drawn) == starts + 2


@pytest.mark.parametrize("item", ["SJL-E.fig2b", "SJL-E.fig3a", "SJL-E.fig3b"])
def test_a_head_of_ones_is_caught(item, monkeypatch):
    """SJL-E.fig2b, SJL-E.fig3a, SJL-E.fig3b: v = 1 in place of v = +-1."""
    monkeypatch.setattr(
        sjl_transitions, "first_head", lambda start, k, rng: (np.ones((10, k)), "vW")
    )
    assert any(quantity.startswith("few weights") for quantity in differing(thumbnail(item)))


@pytest.mark.parametrize("item", TRANSITIONS)
@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_wrong_step_is_caught(item, factor, monkeypatch):
    """SJL-E.fig2a, SJL-E.fig2b, SJL-E.fig3a, SJL-E.fig3b: a tenth of the step, ten times it."""
    for name, step in sjl_settings.STEP.items():
        monkeypatch.setitem(sjl_settings.STEP, name, factor * step)
    assert any(quantity.startswith("many weights") for quantity in differing(thumbnail(item)))


@pytest.mark.parametrize("item", TRANSITIONS)
def test_a_wrong_rule_is_caught(item, monkeypatch):
    """SJL-E.fig2a, SJL-E.fig2b, SJL-E.fig3a, SJL-E.fig3b: one global run of ten in place of all."""
    monkeypatch.setattr(sjl_transitions, "counts", lambda finished: finished > 0)
    found = thumbnail(item)
    caught = set(differing(found)) - set(KNOWN.get(item, []))
    assert any("all ten runs" in quantity for quantity in caught), caught


def test_the_recorded_grid_is_what_the_recipe_gives():
    """SJL-E.fig3a: the first teacher of three starts, so that the record is that of this code."""
    points = []

    def first(recipe, asked):
        points.extend(asked)
        raise StopIteration

    with pytest.raises(StopIteration):
        sjl.fig3a(Setting(trials=first))
    known = recorded_sjl.grid("SJL-E.fig3a")
    for place in (0, 24, 48):
        found = sjl_transitions.teacher_runs(**points[place])
        # a run beside the threshold may be decided by the rounding of another machine
        assert abs(found["finished_runs"] - known[place]["finished_runs"]) <= 1


def test_published_crossings_and_sizes_are_those_of_the_text():
    """SJL-E.fig2a, SJL-E.fig2b, SJL-E.fig3a, SJL-E.fig3b."""
    found = {
        item: (e.published, e.varies, e.fixed, e.activation, e.always)
        for item, e in sjl_settings.EXPERIMENTS.items()
    }
    assert found == {
        "SJL-E.fig2a": (11.40, "k", 10, "softplus(10)", 13),
        "SJL-E.fig2b": (10.70, "d", 10, "softplus(10)", 12),
        "SJL-E.fig3a": (5.5, "k", 20, "quadratic", None),
        "SJL-E.fig3b": (25.40, "d", 5, "quadratic", None),
    }
    assert sjl_settings.RUNS == 10
    assert {size[0] for size in sjl_settings.TEACHERS["paper"].values()} == {10}


@pytest.mark.parametrize("ours", [20, 70, 120, 500])
def test_the_most_failures_are_those_of_fishers_exact_test(ours):
    """SJL-E.fig2a: none of 100 against so many of ours."""
    most = most_failures(ours, 100)

    def p(failures):
        table = [[failures, ours - failures], [0, 100]]
        return fisher_exact(table, alternative="greater").pvalue

    assert p(most) >= 0.05 > p(most + 1)


@pytest.fixture(scope="module", params=["SJL-E.fig4a", "SJL-E.fig4b"])
def errors(request):
    """Two widths, below kd = n and above kd = 1.5 n."""
    with pytest.MonkeyPatch.context() as patch:
        small(patch, request.param)
        yield sjl_errors.errors(request.param, Setting())


def small(patch, item):
    experiment = sjl_errors.EXPERIMENTS[item]
    widths = (3, 30) if item.endswith("a") else (3, 15)
    patch.setitem(sjl_errors.EXPERIMENTS, item, experiment._replace(widths=widths))


def test_no_positive_network_passes_the_floor_and_a_trained_head_does(errors):
    """SJL-E.fig4a, SJL-E.fig4b: with v = 1 the error stays above the floor (erratum S28), with both
    layers it goes to zero.
    """
    assert errors.headline == (
        "4 agree, 1 not judged; 1 against the paper, 3 against our reference"
    )
    floor = errors.row("v = 1 fixed: floor of the RMSE over all W").ours
    data = {name: np.array(column) for name, column in errors.data.items()}
    assert (data["rmse"][data["head"] == "ones"] > floor).all()
    trained = (data["head"] == "trained") & (data["k"] > 3)
    assert data["rmse"][trained].min() < floor / 10
    with style():
        assert len(errors.figures[""]().axes) == 2


def test_figure_four_is_recorded_at_equal_ratios_of_the_step(errors):
    """SJL-E.fig4a: the first ten steps all, and no two neighbors further apart than a tenth."""
    steps = np.unique(errors.data["step"])
    assert steps[:11].tolist() == list(range(11))
    assert steps[-1] == 40_000
    assert (steps[11:] / steps[10:-1]).max() < 1.12


def test_the_head_of_figure_4b_is_said_not_to_be_stated(errors):
    """SJL-E.fig4b: what the text says, it says of softplus."""
    words = " ".join(errors.choices)
    assert ("The head of this panel is not stated" in words) == (errors.item == "SJL-E.fig4b")
    assert ("S28" in words) == (errors.item == "SJL-E.fig4a")


@pytest.mark.parametrize("item", ["SJL-E.fig4a", "SJL-E.fig4b"])
@pytest.mark.parametrize("wrong", ["a head of ones", "a tenth of the step", "ten times the step"])
def test_a_wrong_experiment_in_figure_four_is_caught(item, wrong, monkeypatch):
    """SJL-E.fig4a, SJL-E.fig4b: the panel that trains both layers reaches zero never, late, or
    early.
    """
    small(monkeypatch, item)
    real = sjl_errors.error_curve
    factor = {"a tenth of the step": 0.1, "ten times the step": 10.0}.get(wrong, 1.0)

    def mistaken(*, head, step, **point):
        return real(head="ones" if wrong == "a head of ones" else head, step=factor * step, **point)

    monkeypatch.setattr(sjl_errors, "error_curve", mistaken)
    caught = differing(sjl_errors.errors(item, Setting()))
    assert any(quantity.startswith("both layers") for quantity in caught)


def test_the_floor_holds_for_every_network_that_is_nowhere_negative():
    """SJL-E.fig4a: random W, against the loss formula written out."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((100, 10)), rng.standard_normal(100)
    floor = np.sum(np.minimum(y, 0.0) ** 2) / 200
    for _ in range(50):
        W = rng.standard_normal((20, 10)) * rng.uniform(0.01, 2.0)
        r = get_activation("softplus(10)")(X @ W.T).sum(axis=1) - y
        assert np.sum(r**2) / 200 >= floor
