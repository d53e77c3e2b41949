"""Additive networks as estimators: proofs, terms, weights, decays, what is refused."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning

import globalmin as gm
from globalmin.regularized.objective import objective
from globalmin_check import check_file

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4))
SIGNAL = np.abs(X[:, 0]) + 0.5 * X[:, 2]
Y = 3.0 * SIGNAL + 7.0 + 0.2 * RNG.standard_normal(120)


def test_real_tables_are_proved_to_the_gap_asked_for(tmp_path):
    for table, kind in (
        (load_diabetes, gm.AdditiveNetworkRegressor),
        (load_breast_cancer, gm.AdditiveNetworkClassifier),
    ):
        rows, labels = table(return_X_y=True)
        model = kind(n_decays=6).fit(rows, labels)
        assert model.verdict_ == "ACCEPTED"
        assert model.optimal_
        assert 0 < model.relative_gap_ <= 1e-6
        assert model.lower_bound_ <= model.objective_ * (1 + 1e-12)
        assert model.objective_ <= model.loss_upper_ * (1 + 1e-12)
        assert model.gap_ == pytest.approx(model.relative_gap_ * model.objective_, rel=1e-9)
        path = model.save_certificate(tmp_path / "model.gmc")
        assert check_file(path).verdict.value == "ACCEPTED"
        assert "1e-06 was asked for" in model.gap_statement()


def test_three_classes_are_three_networks_with_three_proofs():
    rows, labels = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "barbera"])[labels]
    model = gm.AdditiveNetworkClassifier(loss="logistic", weight_decay=0.3).fit(rows, names)
    assert model.verdict_ == ["ACCEPTED"] * 3
    assert model.optimal_ == [True] * 3
    assert model.score(rows, names) > 0.98
    assert model.predict_proba(rows).shape == (178, 3)
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1.0, rtol=1e-12)
    assert [len(terms) > 0 for terms in model.terms_] == [True] * 3


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "poisson"])
def test_regression_losses(loss: str):
    labels = np.random.default_rng(1).poisson(np.exp(SIGNAL)) if loss == "poisson" else Y
    model = gm.AdditiveNetworkRegressor(loss=loss, weight_decay=1.0, gap=1e-5).fit(X, labels)
    assert model.verdict_ == "ACCEPTED"
    assert model.optimal_
    assert model.score(X, labels) > (0.5 if loss == "poisson" else 0.9)
    if loss == "poisson":
        assert (model.predict(X) > 0).all()


def test_a_quantile_is_one():
    model = gm.AdditiveNetworkRegressor(
        loss="quantile", loss_parameter=0.875, weight_decay=2.0, gap=1e-4
    ).fit(X, Y)
    # at the optimum sum u = 0: rows below the curve are a share of 7/8, but for those on it
    on_curve = model.width_ + 1
    below = int((model.predict(X) > Y).sum())
    assert abs(below - 0.875 * 120) <= on_curve


def test_terms_add_up_to_the_model_and_are_linear_between_their_knots():
    model = gm.AdditiveNetworkRegressor(weight_decay=1.0).fit(X, Y)
    terms = model.terms_
    assert [term.name for term in terms[:2]] == ["column 0", "column 2"]
    assert [term.size for term in terms] == sorted((t.size for t in terms), reverse=True)
    parts = sum(term(X) for term in terms)
    rest = model.predict(X) - parts
    np.testing.assert_allclose(rest, rest[0], rtol=1e-10)  # the constant
    for term in terms:
        assert term.size == pytest.approx(np.sqrt(np.mean(np.square(term(X)))), rel=1e-12)
        assert term(X).mean() == pytest.approx(0.0, abs=1e-10)
        (knots,), column = term.knots, X[:, term.columns[0]]
        assert knots[0] == column.min()
        assert knots[-1] == column.max()
        # sums of up to ten neurons, each rounded
        np.testing.assert_allclose(
            np.interp(column, knots, term.values), term(X), rtol=1e-9, atol=1e-10
        )


def test_pictures_show_the_data():
    model = gm.AdditiveNetworkRegressor(weight_decay=1.0).fit(X, Y)
    figure = model.plot_terms(X, Y)
    assert len(figure.axes) == len(model.terms_)
    points, curve = figure.axes[0].lines[:2]
    assert len(points.get_xdata()) == 120
    term = model.terms_[0]
    np.testing.assert_array_equal(curve.get_xdata(), term.knots[0])
    rest = Y - model.predict(X)
    np.testing.assert_allclose(points.get_ydata(), term(X) + rest, rtol=1e-12)
    flat = gm.AdditiveNetworkRegressor(weight_decay=1e6).fit(X, Y)
    assert flat.terms_ == []
    assert len(flat.plot_terms().axes) == 1


def test_weights_of_rows_and_of_classes_are_repetitions():
    labels = SIGNAL > 0.8
    twice = gm.AdditiveNetworkClassifier(weight_decay=1.0, gap=1e-9).fit(
        np.vstack([X, X[labels]]), np.r_[labels, labels[labels]]
    )
    weight = np.where(labels, 2.0, 1.0)
    weighted = gm.AdditiveNetworkClassifier(weight_decay=1.0, gap=1e-9)
    weighted.fit(X, labels, sample_weight=weight)
    # the two gaps of 1e-9 allow outputs to differ by the root of that
    np.testing.assert_allclose(weighted.decision_function(X), twice.decision_function(X), atol=1e-3)
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-8)
    named = gm.AdditiveNetworkClassifier(weight_decay=1.0, class_weight={True: 2, False: 1})
    # class weights come after scaling has no part in them: the same rows, the same scaling
    assert named.fit(X, labels).verdict_ == "ACCEPTED"


def test_the_decay_of_least_held_out_loss_is_taken():
    model = gm.AdditiveNetworkRegressor(n_decays=8).fit(X, Y)
    means = model.cv_losses_.mean(axis=1)
    assert model.weight_decay_ == model.weight_decays_[means.argmin()]
    assert model.cv_losses_.shape == (len(model.weight_decays_), 5)
    constant = float(np.var(Y / model.preprocessing_.y_scale)) / 2
    assert means[0] == pytest.approx(constant, rel=0.1)  # no neurons: half the variance
    assert means.min() < 0.1 * constant
    problem = model.runs_[0].problem
    assert objective(model.network_, problem) == pytest.approx(model.objective_)


def test_a_gap_that_is_not_reached_is_said():
    with pytest.warns(ConvergenceWarning, match="was asked for; raise max_iter"):
        model = gm.AdditiveNetworkRegressor(weight_decay=0.1, max_iter=2).fit(X, Y)
    assert model.verdict_ == "ACCEPTED"  # of a wide gap
    assert not model.optimal_
    assert model.relative_gap_ > 1e-6


def test_without_a_proof_nothing_is_claimed():
    model = gm.AdditiveNetworkRegressor(weight_decay=1.0, certify=False).fit(X, Y)
    assert model.certificate_ is None
    assert model.verdict_ is None
    assert model.gap_ == np.inf
    assert model.lower_bound_ == -np.inf
    assert not model.optimal_
    assert "not proved" in model.gap_statement()


def test_constant_labels_and_a_single_row():
    model = gm.AdditiveNetworkRegressor(weight_decay=1.0).fit(X, np.full(120, 2.5))
    assert model.verdict_ == "ACCEPTED"
    assert model.width_ == 0
    np.testing.assert_allclose(model.predict(X), 2.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gm.AdditiveNetworkRegressor(weight_decay=1.0).fit(X[:1], Y[:1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"X": np.where(X > 1, np.nan, X)}, "NaN"),
        ({"y": np.full(120, "a")}, "dtype|numeric|convert"),
        ({"options": {"loss": "poisson"}, "y": -np.abs(Y)}, "at least 0"),
        ({"options": {"interactions": [(0, 4)]}}, "from 0 to 3"),
        ({"options": {"interactions": [(1, 1)]}}, "different columns"),
        ({"options": {"loss": "quantile", "loss_parameter": 2.0}}, "between 0 and 1"),
    ],
)
def test_bad_input_is_refused(change: dict, said: str):
    model = gm.AdditiveNetworkRegressor(weight_decay=1.0, **change.get("options", {}))
    with pytest.raises(ValueError, match=said):
        model.fit(change.get("X", X), change.get("y", Y))


def test_one_class_is_refused():
    with pytest.raises(gm.DataError, match="one class only"):
        gm.AdditiveNetworkClassifier(weight_decay=1.0).fit(X, np.zeros(120))
    with pytest.raises(AttributeError, match="predict_proba"):
        gm.AdditiveNetworkClassifier(loss="hinge").predict_proba  # noqa: B018


def test_monotone_terms_by_name_and_by_number():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 3))
    y = np.abs(X[:, 0]) + X[:, 1] - X[:, 2]
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    named = gm.AdditiveNetworkRegressor(weight_decay=2.0, monotone={"a": 1, "c": -1}).fit(frame, y)
    listed = gm.AdditiveNetworkRegressor(weight_decay=2.0, monotone=np.array([1, 0, -1])).fit(X, y)
    numbered = gm.AdditiveNetworkRegressor(weight_decay=2.0, monotone={0: 1, 2: -1}).fit(X, y)
    assert named.objective_ == listed.objective_ == numbered.objective_
    assert named.verdict_ == "ACCEPTED"
    assert named.optimal_
    assert "nondecreasing in 'a' and nonincreasing in 'c'" in named.gap_statement()
    assert "nondecreasing in column 0 and nonincreasing in column 2" in listed.gap_statement()
    slopes = {term.name: np.diff(term.values) for term in named.terms_}
    assert (slopes["c"] <= 0).all()
    assert slopes["c"].min() < 0
    assert all((slopes[name] >= 0).all() for name in slopes if name == "a")


def test_monotone_refusals():
    X, y = np.random.default_rng(6).standard_normal((30, 2)), np.arange(30) % 3
    for monotone, kind, message in (
        ({"a": 1}, gm.AdditiveNetworkRegressor, "no column 'a'"),
        ({2: 1}, gm.AdditiveNetworkRegressor, "no column 2"),
        ([1, 0], gm.AdditiveNetworkClassifier, "take two classes"),
    ):
        with pytest.raises(gm.DataError, match=message):
            kind(weight_decay=1.0, monotone=monotone).fit(X, y)
    with pytest.raises(gm.DataError, match="take groups='columns'"):
        gm.AdditiveNetworkRegressor(weight_decay=1.0, monotone=[1, 0], interactions="pairs").fit(
            X, y
        )


def test_a_monotone_classifier_speaks_of_the_second_class():
    X = np.random.default_rng(7).standard_normal((60, 1))
    labels = np.where(X[:, 0] > 0, "yes", "no")
    rising = gm.AdditiveNetworkClassifier(weight_decay=1.0, monotone=[1]).fit(X, labels)
    falling = gm.AdditiveNetworkClassifier(weight_decay=1.0, monotone=[-1]).fit(X, labels)
    assert rising.score(X, labels) > 0.9 > falling.score(X, labels)


def test_shapes_of_curves_by_name_number_and_as_monotonic_cst(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 3))
    y = np.tanh(2 * X[:, 0]) + X[:, 1] ** 2 - X[:, 2] + 0.3 * rng.standard_normal(80)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    rules = {"a": "increasing", "b": "convex", "c": -1}
    named = gm.AdditiveNetworkRegressor(weight_decay=0.5, shapes=rules).fit(frame, y)
    words = ["increasing", "convex", "decreasing"]
    listed = gm.AdditiveNetworkRegressor(weight_decay=0.5, shapes=words).fit(X, y)
    numbered = gm.AdditiveNetworkRegressor(
        weight_decay=0.5, shapes={0: np.int64(1), 1: "convex", 2: -1}
    ).fit(X, y)
    assert named.objective_ == listed.objective_ == numbered.objective_
    assert named.verdict_ == "ACCEPTED"
    assert named.optimal_
    assert "curves increasing in 'a' and convex in 'b'" in named.gap_statement()
    assert "curves increasing in column 0 and convex in column 1" in listed.gap_statement()
    slopes = {t.name: np.diff(t.values) / np.diff(t.knots[0]) for t in named.terms_}
    room = 1e-12  # the exact comparison is the checker's
    assert slopes["a"].min() >= -room
    assert slopes["c"].max() <= room
    assert np.diff(slopes["b"]).min() >= -room
    neurons = gm.AdditiveNetworkRegressor(weight_decay=0.5, monotone=[1, 0, -1]).fit(X, y)
    free = gm.AdditiveNetworkRegressor(weight_decay=0.5, shapes=[1, 0, -1]).fit(X, y)
    assert free.objective_ < 0.99 * neurons.objective_  # curves may be flat at both ends
    named.save(tmp_path / "model.safetensors")
    stored = gm.load_network(tmp_path / "model.safetensors")
    assert stored.network.width == named.width_
    figure = named.plot_terms()
    assert len(figure.axes) == len(named.terms_)


def test_shapes_refusals():
    X, y = np.random.default_rng(6).standard_normal((30, 2)), np.arange(30) % 3
    for shapes, kind, message in (
        ({"a": 1}, gm.AdditiveNetworkRegressor, "shapes: X has no column 'a'"),
        (["up", "none"], gm.AdditiveNetworkRegressor, "words of none, increasing"),
        ([2, 0], gm.AdditiveNetworkRegressor, "one per column"),
        ([1, 0], gm.AdditiveNetworkClassifier, "take two classes"),
    ):
        with pytest.raises(gm.DataError, match=message):
            kind(weight_decay=1.0, shapes=shapes).fit(X, y)
    with pytest.raises(gm.DataError, match="give one of them"):
        gm.AdditiveNetworkRegressor(weight_decay=1.0, shapes=[1, 0], monotone=[1, 0]).fit(X, y)
    with pytest.raises(gm.DataError, match="take models='additive'"):
        gm.ProvedNetworkRegressor(shapes=[1, 0]).fit(X, y)


def test_a_classifier_with_shapes_speaks_of_the_second_class():
    X = np.random.default_rng(7).standard_normal((60, 1))
    labels = np.where(X[:, 0] > 0, "yes", "no")
    for hidden_bias in ("penalized", "free"):
        models = [
            gm.AdditiveNetworkClassifier(
                weight_decay=1.0, shapes=[slope], hidden_bias=hidden_bias
            ).fit(X, labels)
            for slope in (1, -1)
        ]
        assert all(model.verdict_ == "ACCEPTED" for model in models)
        assert models[0].score(X, labels) > 0.9 > models[1].score(X, labels)
        assert models[1].width_ == 0


def test_a_column_of_zeros_and_ones_has_no_numbers_between_them_on_its_axis():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(0, 2, 50), rng.standard_normal(50)])
    y = X[:, 0] + np.abs(X[:, 1])
    figure = gm.AdditiveNetworkRegressor(weight_decay=0.5, certify=False).fit(X, y).plot_terms(X, y)
    ticks = {
        axes.get_xlabel(): [label.get_text() for label in axes.get_xticklabels()]
        for axes in figure.axes
    }
    assert ticks["column 0"] == ["0", "1"]
    assert len(ticks["column 1"]) > 2
