"""The choice of a regularized network: same folds, honest table, the winner proved."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge

import globalmin as gm
from globalmin.estimators import _candidates
from globalmin.estimators._baselines import PENALTIES, Linear, linear_for
from globalmin.estimators._candidates import Candidate, Rows, left_out, shared_folds
from globalmin.estimators._proved import why_chosen
from globalmin.losses import get_loss
from globalmin_check import check_file

rng = np.random.default_rng(0)
X = rng.standard_normal((80, 4))
CURVED = np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.standard_normal(80)
PRODUCT = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(80)


def _row(model, name):
    return next(row for row in model.candidates_ if row.name == name)


@pytest.mark.parametrize(("y", "name"), [(CURVED, "additive"), (PRODUCT, "quadratic")])
def test_the_model_with_the_least_held_out_loss_is_kept_and_proved(y, name, tmp_path):
    model = gm.ProvedNetworkRegressor(models=("additive", "quadratic")).fit(X, y)
    assert model.model_ == name
    assert model.verdict_ == "ACCEPTED"
    assert model.relative_gap_ <= 1e-6
    networks = [row for row in model.candidates_ if row.is_network]
    assert min(networks, key=lambda row: row.loss).name == name
    assert [row.note for row in networks if row.name == name] == ["chosen"]
    assert _row(model, name).relative_gap == model.relative_gap_
    assert f"the {name} network has the least held-out loss" in model.choice_statement()
    assert "Ridge regression has" in model.choice_statement()
    assert check_file(model.save_certificate(tmp_path / "c.gmc")).verdict.value == "ACCEPTED"
    np.testing.assert_array_equal(model.predict(X), model.best_estimator_.predict(X))


def test_held_out_losses_are_those_of_the_estimators_on_the_same_folds():
    model = gm.ProvedNetworkRegressor(models=("additive", "quadratic"), random_state=3)
    model.fit(X, CURVED)
    seed = int(np.random.RandomState(3).randint(np.iinfo(np.int32).max))
    folds = shared_folds(CURVED, 5, seed, classifies=False)
    alone = gm.AdditiveNetworkRegressor(cv=folds, certify=False).fit(X, CURVED)
    best = alone.cv_losses_.mean(axis=1).argmin()
    np.testing.assert_allclose(_row(model, "additive").losses, alone.cv_losses_[best], rtol=1e-12)
    # the baseline by the normal equations, in scaled units
    scaled, y = (a / a.std(axis=0) for a in (X - X.mean(axis=0), CURVED - CURVED.mean()))
    found = []
    for penalty in PENALTIES:
        losses = []
        for train, test in folds:
            A = np.column_stack([np.ones(len(train)), scaled[train]])
            ridge = penalty * len(train) * np.diag([0.0, 1, 1, 1, 1])
            w = np.linalg.solve(A.T @ A + ridge, A.T @ y[train])
            losses.append(0.5 * np.mean((w[0] + scaled[test] @ w[1:] - y[test]) ** 2))
        found.append(losses)
    best = np.mean(found, axis=1).argmin()
    np.testing.assert_allclose(_row(model, "ridge regression").losses, found[best], rtol=1e-8)
    assert model.baseline_.predict(X).shape == (80,)
    constant = [0.5 * np.mean((y[train].mean() - y[test]) ** 2) for train, test in folds]
    np.testing.assert_allclose(_row(model, "best constant").losses, constant, rtol=1e-12)


def test_a_better_model_that_is_not_proved_gives_way_and_it_is_said():
    y = PRODUCT
    with pytest.MonkeyPatch.context() as patch:
        real = _candidates.proved

        def unproved(trial, *rest):
            real(trial, *rest)
            if trial.row.name == "quadratic":
                trial.estimator.optimal_ = False

        patch.setattr("globalmin.estimators._proved.proved", unproved)
        model = gm.ProvedNetworkRegressor(models=("additive", "quadratic")).fit(X, y)
    assert model.model_ == "additive"
    assert _row(model, "quadratic").note == "not proved within the tolerance"
    assert _row(model, "quadratic").loss < _row(model, "additive").loss
    said = model.choice_statement()
    assert "least provable held-out loss" in said
    assert "The quadratic network had a lower held-out loss" in said


def test_a_gap_that_is_out_of_reach_is_told_and_the_best_is_kept():
    model = gm.ProvedNetworkRegressor(models=("relu",), weight_decay=0.5, gap=1e-9)
    model.set_params(random_state=0)
    with pytest.warns(ConvergenceWarning, match="where 1e-09 was asked for|is not proved"):
        model.fit(X[:30], CURVED[:30])
    assert not model.optimal_
    assert _row(model, "relu").note == "chosen, not proved within the tolerance"
    assert "nothing was compared" in model.choice_statement()


def test_relu_takes_part_where_its_gap_can_be_proved():
    model = gm.ProvedNetworkRegressor(cv=2).fit(X[:40, :2], CURVED[:40])
    assert _row(model, "relu").took_part
    assert model.optimal_
    wide = Rows(np.zeros((50, 6)), [np.zeros(50)], get_loss("squared"), [], np.ones(1))
    assert "more than 2 columns" in left_out("relu", wide)
    thin = Rows(np.zeros((50, 1)), [np.zeros(50)], get_loss("squared"), [], np.ones(1))
    assert "it is the additive network" in left_out("relu", thin)
    long = Rows(np.zeros((2000, 2)), [np.zeros(2000)], get_loss("squared"), [], np.ones(1))
    assert "too dear" in left_out("relu", long)
    many = Rows(np.zeros((1000, 300)), [np.zeros(1000)], get_loss("squared"), [], np.ones(1))
    assert "300² products" in left_out("quadratic", many)
    assert not any(left_out("additive", rows) for rows in (wide, long, many))


@pytest.mark.parametrize(
    ("name", "n", "d", "takes_part"),
    [
        ("relu", 1000, 2, True),
        ("relu", 1001, 2, False),
        ("relu", 20, 3, False),
        ("quadratic", 5000, 100, True),
        ("quadratic", 5001, 100, False),
    ],
)
def test_a_model_takes_part_up_to_the_edge_of_its_limits(name, n, d, takes_part):
    rows = Rows(np.zeros((n, d)), [np.zeros(n)], get_loss("squared"), [], np.ones(n))
    assert (left_out(name, rows) == "") is takes_part


@pytest.mark.parametrize("loss", ["squared", "poisson", "logistic"])
def test_linear_models_are_minima_of_the_mean_loss_and_the_penalty(loss):
    """The slope of (1/n) sum l(f_i) + (penalty/2) |coefficients|^2 is zero: our losses, their
    solvers, which stop at slopes of 1e-4.
    """
    y = {"squared": CURVED, "poisson": np.round(np.abs(CURVED)), "logistic": np.sign(CURVED)}[loss]
    penalty, ones = 0.3, np.ones(len(X))
    linear = linear_for(loss)
    model = linear.model(penalty, len(X)).fit(X, y)
    f = linear.outputs(penalty, X, y, ones, X)
    u = get_loss(loss).derivative(f, y) / len(X)
    coefficients = np.ravel(model.coef_)
    assert np.abs(coefficients).max() > 0.1
    assert np.abs(X.T @ u + penalty * coefficients).max() <= 1e-3
    assert abs(u.sum()) <= 1e-3


def test_held_out_losses_are_means_in_the_weights_of_the_rows():
    """By hand: 1/2 (1 * 4 + 3 * 0)/4 and 1/2 (2 * 16 + 0)/2, summed over two networks."""
    folds = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    y, weight = np.array([2.0, 0.0, 4.0, 9.0]), np.array([1.0, 3.0, 2.0, 0.0])
    rows = Rows(np.zeros((4, 1)), [y, y], get_loss("squared"), folds, weight)
    seen = []

    def zero(X, y, weight, at):
        seen.append((y.tolist(), weight.tolist()))
        return np.zeros(len(at))

    assert rows.held_out(zero).tolist() == [2 * 0.5, 2 * 8.0]
    assert seen[0] == ([4.0, 9.0], [2.0, 0.0])


def test_a_class_that_a_fold_never_saw_costs_much_and_not_everything():
    linear = Linear("logistic regression", "softmax", 3)
    labels = np.array([0.0] * 40 + [2.0] * 40)
    found = linear.outputs(0.1, X, labels, np.ones(80), X)
    assert (found[:, 1] == np.log(1e-12)).all()
    np.testing.assert_allclose(np.exp(found[:, [0, 2]]).sum(axis=1), 1.0, rtol=1e-12)


def test_classes_are_chosen_for_by_the_same_rule():
    names = np.array(["low", "middle", "high"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = gm.ProvedNetworkClassifier(models=("additive", "quadratic"), cv=3).fit(X, names)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert model.verdict_ == ["ACCEPTED"] * 3
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert model.score(X, names) > 0.8
    constant = _row(model, "best constant")
    folds = _folds_of(model, names)
    expected = []
    for train, test in folds:
        loss = 0.0
        for y in _one_against_rest(names):
            p = (y[train] > 0).mean()
            loss += np.mean(np.where(y[test] > 0, -np.log(p), -np.log1p(-p)))
        expected.append(loss)
    np.testing.assert_allclose(constant.losses, expected, rtol=1e-12)


def _one_against_rest(names):
    return [np.where(names == name, 1.0, -1.0) for name in np.unique(names)]


def _folds_of(model, names):
    seed = int(np.random.RandomState(0).randint(np.iinfo(np.int32).max))
    return shared_folds(names, model.cv, seed, classifies=True)


def test_every_training_part_knows_every_class():
    labels = np.array(["a"] * 20 + ["b"] * 2 + ["c"])
    folds = shared_folds(labels, 5, 0, classifies=True)
    assert len(folds) == 5
    held = np.concatenate([test for _, test in folds])
    assert sorted(held.tolist()) == list(range(22))  # the single row of c is never held out
    for train, test in folds:
        assert set(labels[train]) == {"a", "b", "c"}
        assert not set(train.tolist()) & set(test.tolist())
        assert len(train) + len(test) == 23
    with pytest.raises(gm.DataError, match="every class has one sample only"):
        shared_folds(np.array(["a", "b"]), 5, 0, classifies=True)
    with pytest.raises(gm.DataError, match="1 sample"):
        shared_folds(np.zeros(1), 5, 0, classifies=False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"models": ("additive", "linear")}, "must be 'auto' or some of"),
        ({"models": ()}, "must be 'auto' or some of"),
        ({"models": ("additive", "additive")}, "each once"),
        ({"weight_decay": 3.0}, "another penalty in every model"),
    ],
)
def test_what_has_no_meaning_is_refused(options, said):
    with pytest.raises(gm.DataError, match=said):
        gm.ProvedNetworkRegressor(**options).fit(X, CURVED)


def test_the_task_is_guessed_and_can_be_given():
    options = {"models": "additive", "weight_decay": 2.0, "certify": False}
    two = (X[:, 0] > 0).astype(float)
    for y, task, kind in (
        (CURVED, "auto", gm.ProvedNetworkRegressor),
        (two, "auto", gm.ProvedNetworkClassifier),
        (two, "regression", gm.ProvedNetworkRegressor),
        (np.where(two > 0, "yes", "no"), "auto", gm.ProvedNetworkClassifier),
        (two.astype(bool), "auto", gm.ProvedNetworkClassifier),
        (np.digitize(X[:, 0], [-1, 1]), "classification", gm.ProvedNetworkClassifier),
        (np.digitize(X[:, 0], [-1, 1]), "auto", gm.ProvedNetworkRegressor),
    ):
        assert isinstance(gm.choose_model(X, y, task=task, **options), kind)
    with pytest.raises(gm.DataError, match="task"):
        gm.choose_model(X, CURVED, task="ranking")


@pytest.mark.parametrize("loss", ["huber", "quantile", "poisson"])
def test_every_loss_of_regression_is_compared(loss):
    y = np.round(np.exp(0.5 * CURVED)) if loss == "poisson" else CURVED
    model = gm.ProvedNetworkRegressor(models=("additive", "quadratic"), loss=loss, cv=2, gap=1e-4)
    model.fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert _row(model, linear_for(loss).name).took_part


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_margins_are_compared_with_a_linear_machine(loss):
    model = gm.ProvedNetworkClassifier(models="additive", loss=loss, cv=2, gap=0.05)
    model.fit(X, CURVED > 1)
    assert _row(model, "linear support vector machine").took_part
    assert not hasattr(model, "predict_proba")


def test_a_constant_target_and_a_tiny_table_end_well():
    model = gm.ProvedNetworkRegressor().fit(X[:, :2], np.full(80, 3.0))
    assert model.predict(X[:, :2]) == pytest.approx(3.0)
    assert model.optimal_
    assert "without neurons" in _row(model, "relu").note
    few = gm.ProvedNetworkRegressor(models=("additive", "quadratic")).fit(X[:3], CURVED[:3])
    assert len(_row(few, "additive").losses) == 3
    assert few.verdict_ == "ACCEPTED"


def test_the_spread_is_the_standard_error_of_the_mean():
    row = Candidate("additive", True, (1.0, 2.0, 4.0, 5.0))
    assert row.spread == pytest.approx(np.sqrt((4 + 1 + 1 + 4) / 3 / 4))  # mean 3
    assert Candidate("additive", True, (1.0,)).spread == 0.0
    assert str(row) == "additive: 3 ± 0.91"
    assert str(Candidate("relu", True, note="dear")) == "relu: took no part (dear)"


def test_the_sentence_about_the_baseline_is_honest():
    ours = Candidate("additive", True, (1.0, 1.1, 0.9))
    for losses, said in (
        ((0.5, 0.6, 0.4), "the network's loss is 0.5 higher (standard error 1.1e-17"),
        ((2.0, 2.1, 1.9), "the network's loss is 1 lower"),
        ((1.0, 1.0, 0.7), "too close to tell"),  # 1.7 standard errors
        ((0.9, 0.9, 0.6), "the network's loss is 0.2 higher"),  # 3.5 of them
        ((np.inf, 1.0, 1.0), "no finite held-out loss"),
    ):
        text = why_chosen("additive", [ours, Candidate("ridge regression", False, losses)])
        assert said.split(" (")[0] in text
        assert ("too close" in text) == ("too close" in said)


def test_diabetes_is_chosen_for_as_the_docs_say_and_matches_ridge_by_scikit_learn():
    data, y = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = gm.choose_model(data, y)
    assert model.model_ == "quadratic"
    assert model.optimal_
    assert isinstance(model.baseline_[-1], Ridge)
    assert _row(model, "best constant").loss == pytest.approx(0.5, abs=0.02)


def test_a_softmax_is_one_network_with_one_proof_beside_the_same_folds():
    """The loss of the best constant is known by hand; the others lie below it."""
    from sklearn.datasets import load_iris
    from sklearn.metrics import log_loss

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = gm.ProvedNetworkClassifier(loss="softmax", cv=3).fit(X, names)
    assert (model.model_, model.verdict_, model.optimal_) == ("additive", "ACCEPTED", True)
    assert len(model.networks_) == 1
    rows = {row.name: row for row in model.candidates_}
    assert "several outputs" in rows["quadratic"].note
    shares = np.bincount(y) / len(y)
    # stratified folds of 50 a class: the constant is the same on all, and its loss log 3
    assert rows["best constant"].loss == pytest.approx(-np.log(shares[0]), rel=1e-3)
    assert 0 < rows["additive"].loss < rows["best constant"].loss
    assert rows["logistic regression"].loss < rows["best constant"].loss
    proba = model.predict_proba(X)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert log_loss(y, proba) < rows["best constant"].loss
    assert set(model.predict(X)) == set(names)
    with pytest.raises(gm.DataError, match="only additive networks have several outputs"):
        gm.ProvedNetworkClassifier(models="quadratic", loss="softmax").fit(X, names)


def test_one_class_is_refused_by_its_name():
    with pytest.raises(gm.DataError, match="one class only, 'a'; a classifier needs"):
        gm.choose_model(np.arange(8.0)[:, None], ["a"] * 8)
