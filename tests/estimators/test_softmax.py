"""The classifier with three or more classes: one network for all of them, one proof, probabilities
that are the softmax of the outputs, and curves per class.
"""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import globalmin as gm
from globalmin_check import check_file

X, Y = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[Y]


@pytest.fixture(scope="module")
def model() -> gm.AdditiveNetworkClassifier:
    return gm.AdditiveNetworkClassifier(weight_decay=0.5).fit(X, NAMES)


def test_three_classes_are_one_network_with_one_proof(model, tmp_path):
    assert model.verdict_ == "ACCEPTED"
    assert model.optimal_
    assert model.relative_gap_ <= 1e-6
    assert len(model.networks_) == 1
    assert model.score(X, NAMES) > 0.98
    path = model.save_certificate(tmp_path / "model.gmc")
    result = check_file(path)
    assert result.verdict.value == "ACCEPTED"
    assert "3 outputs that share the neurons" in result.claims[0].statement
    assert "1e-06 was asked for" in model.gap_statement(2)


def test_probabilities_are_the_softmax_of_the_outputs(model):
    outputs = model.decision_function(X)
    assert outputs.shape == (178, 3)
    grown = np.exp(outputs)
    np.testing.assert_allclose(
        model.predict_proba(X), grown / grown.sum(axis=1, keepdims=True), rtol=1e-9
    )
    assert (model.predict(X) == model.classes_[outputs.argmax(axis=1)]).all()


def test_the_terms_of_a_class_add_up_to_its_output(model):
    outputs = model.decision_function(X)
    assert len(model.terms_) == 3
    for o, terms in enumerate(model.terms_):
        assert [term.size for term in terms] == sorted((t.size for t in terms), reverse=True)
        total = sum(term(X) for term in terms)
        rest = outputs[:, o] - total
        np.testing.assert_allclose(rest, rest[0], atol=1e-9)


def test_all_classes_of_a_term_are_in_one_panel_with_a_legend(model):
    figure = model.plot_terms(most=4)
    assert len(figure.axes) == 4
    assert [text.get_text() for text in figure.legends[0].get_texts()] == model.classes_.tolist()
    for axes in figure.axes:
        assert len(axes.lines) == 4  # three classes and the rows
    empty = gm.AdditiveNetworkClassifier(weight_decay=1e6).fit(X, Y).plot_terms()
    assert "constant" in empty.axes[0].texts[0].get_text()


def test_a_model_is_read_again(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    stored = gm.load_network(tmp_path / "model.safetensors")
    assert stored.metadata["loss"] == "softmax"
    outputs = stored.network.predict(stored.preprocessing.transform(X))
    np.testing.assert_allclose(outputs, model.decision_function(X), rtol=1e-12)


def test_the_default_is_chosen_by_the_number_of_classes():
    two = gm.AdditiveNetworkClassifier(weight_decay=5.0).fit(X[Y < 2], Y[Y < 2])
    assert two.runs_[0].problem.loss.name == "logistic"
    joint = gm.AdditiveNetworkClassifier(weight_decay=5.0, loss="softmax").fit(X[Y < 2], Y[Y < 2])
    assert joint.runs_[0].problem.outputs == 2
    assert joint.verdict_ == "ACCEPTED"
    outputs = joint.decision_function(X)
    assert outputs.shape == (178,)
    share = joint.predict_proba(X)[:, 1]
    np.testing.assert_allclose(share, 1 / (1 + np.exp(-outputs)), rtol=1e-9)
    # a softmax of two heads h, -h is logistic in 2h, at half the price: |(h, -h)| = sqrt 2 |h|
    assert ((outputs > 0) == (share > 0.5)).all()
    rows, labels = load_iris(return_X_y=True)
    pairs = gm.AdditiveNetworkClassifier(
        weight_decay=20.0, interactions=[(0, 1)], certify=False, gap=1e-2
    ).fit(rows, labels)
    assert len(pairs.networks_) == 3


def test_weights_are_repetitions_and_classes_can_be_balanced():
    count = 1 + Y % 2
    weighted = gm.AdditiveNetworkClassifier(weight_decay=2.0, scaling="none")
    rows = (X - X.mean(axis=0)) / X.std(axis=0)
    weighted.fit(rows, Y, sample_weight=count)
    repeated = gm.AdditiveNetworkClassifier(weight_decay=2.0, scaling="none")
    repeated.fit(np.repeat(rows, count, axis=0), np.repeat(Y, count))
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=2e-6)
    # strictly convex in the outputs up to a shift: differences of outputs agree as the gaps allow
    np.testing.assert_allclose(
        weighted.predict_proba(rows), repeated.predict_proba(rows), atol=5e-3
    )
    balanced = gm.AdditiveNetworkClassifier(weight_decay=2.0, class_weight="balanced").fit(X, Y)
    assert balanced.verdict_ == "ACCEPTED"


def test_a_decay_is_chosen_by_cross_validation():
    rows, labels = load_iris(return_X_y=True)
    chosen = gm.AdditiveNetworkClassifier(n_decays=6, cv=3).fit(rows, labels)
    assert chosen.verdict_ == "ACCEPTED"
    assert chosen.score(rows, labels) > 0.95
    assert chosen.cv_losses_.shape[1] == 3
    rare = np.where(np.arange(150) < 2, 3, labels)  # fewer rows than folds: some folds lack a class
    few = gm.AdditiveNetworkClassifier(n_decays=3, cv=3, gap=1e-4).fit(rows, rare)
    assert few.predict_proba(rows).shape == (150, 4)


def test_a_softmax_with_interactions_is_refused():
    for interactions in ("pairs", "auto"):
        with pytest.raises(gm.DataError, match="take interactions='none' or loss='logistic'"):
            gm.AdditiveNetworkClassifier(loss="softmax", interactions=interactions).fit(X, Y)
    assert not hasattr(gm.AdditiveNetworkClassifier(loss="hinge"), "predict_proba")


def test_pairs_of_three_classes_chosen_by_themselves_are_one_network_for_each_class():
    model = gm.AdditiveNetworkClassifier(interactions="auto", weight_decay=2.0, bins=8).fit(X, Y)
    assert len(model.networks_) == len(np.unique(Y))
    assert set(model.verdict_) == {"ACCEPTED"}
