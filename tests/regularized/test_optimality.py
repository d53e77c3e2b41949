"""The gap of one's own network: translations of other programs' objectives, numbers, refusals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier, MLPRegressor

import globalmin as gm
from globalmin.errors import DataError
from globalmin.losses import get_loss
from globalmin.proving.rounded_text import above
from globalmin.regularized.objective import objective
from globalmin.regularized.own_network import read_model

QUICK: dict[str, Any] = {"starts": 1, "max_cones": 1500}


def _table(n: int = 25, d: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.maximum(X[:, 0], 0.0) + 0.1 * rng.standard_normal(n)


def test_golden_example() -> None:
    """Two rows, b = 1/2, w = v = 1/2 and no bias: P by hand; the floor is p* = 2t - t^2."""
    X, y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
    found = gm.optimality_gap(([[0.5]], [0.0], [0.5]), (X, y), weight_decay=0.5)
    t = 0.5 / np.sqrt(2.0)
    # residuals 1 and .25 - 1, penalty .25 (.25 + .25)
    assert found.objective == pytest.approx(0.5 + 0.5 * 0.75**2 + 0.125)
    assert found.verdict == "ACCEPTED"
    assert found.constraint == "columns"
    assert found.lower_bound == pytest.approx(2 * t - t * t, rel=1e-5)
    assert found.lower_bound <= 2 * t - t * t
    assert found.best_objective == pytest.approx(2 * t - t * t, rel=1e-6)
    said = str(found)
    assert said.startswith("No ReLU network of any width has an objective more than ")
    assert f"{above(found.gap)} below the 0.90625 of this one: " in said
    assert f"{above(found.relative_gap)} of it (floor " in said
    assert "proved by columns, file ACCEPTED)" in said
    printed = float(said.partition("(floor ")[2].split()[0])
    assert found.lower_bound * (1.0 - 1e-5) < printed <= found.lower_bound


def test_the_share_of_a_poisson_gap_is_not_said_to_be_one_of_the_objective() -> None:
    X, y = _table(20, 1)
    counts = np.round(np.exp(1.0 + y))
    found = gm.optimality_gap(([[0.5]], [0.0], [0.5]), (X, counts), "poisson", weight_decay=1.0)
    assert found.verdict == "ACCEPTED"
    assert f"{above(found.relative_gap)} of what it is above the least that any" in str(found)
    model = gm.ReluNetworkRegressor(loss="poisson", weight_decay=1.0, random_state=0)
    assert "of what it is above the least" in model.fit(X, counts).gap_statement()


def test_gap_of_a_bad_network_is_wide_and_that_of_the_best_one_is_not() -> None:
    X, y = _table()
    bad = ([[1.0, 0.0]], [0.0], [-1.0], 0.3)
    found = gm.optimality_gap(bad, (X, y), weight_decay=2.0, **QUICK)
    assert found.verdict == "ACCEPTED"
    assert found.gap >= found.objective - found.best_objective
    again = gm.optimality_gap(found.best_network, (X, y), weight_decay=2.0, **QUICK)
    assert again.relative_gap < 0.02
    assert again.lower_bound == pytest.approx(found.lower_bound, rel=1e-2)


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_objective_of_scikit_learn_is_translated_exactly(kind: str) -> None:
    """n times its own loss at the fitted weights, penalty included."""
    X, y = _table(40)
    options: dict[str, Any] = {"hidden_layer_sizes": (4,), "alpha": 0.7, "solver": "lbfgs"}
    options |= {"max_iter": 60, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "regressor":
            model: Any = MLPRegressor(**options).fit(X, y)
            losses = 0.5 * np.square(model.predict(X) - y)
        else:
            labels = np.where(y > np.median(y), "yes", "no")
            model = MLPClassifier(**options).fit(X, labels)
            p = model.predict_proba(X)[:, 1]
            losses = -np.log(np.where(labels == "yes", p, 1.0 - p))
            y = labels
    expected = losses.sum() + 0.5 * 0.7 * sum(float((W**2).sum()) for W in model.coefs_)
    given = read_model(model, (X, y))
    assert given.hidden_bias == "free"
    penalty = gm.Penalty(given.weight_decay or 0.0, hidden_bias="free")
    problem = gm.RegularizedProblem(
        given.X, given.y, penalty, given.loss or "squared", groups="all"
    )
    assert objective(given.network, problem) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["theirs", "ours"])
def test_labels_that_are_no_classes_of_a_classifier_are_refused_and_signs_stay(kind: str) -> None:
    """A classifier of "no" and "yes" once took the numbers 0 and 1 all for "no"."""
    X, y = _table(20)
    names = np.where(y > np.median(y), "yes", "no")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "theirs":
            model: Any = MLPClassifier((3,), alpha=0.7, max_iter=5, random_state=0).fit(X, names)
        else:
            model = gm.ReluNetworkClassifier(weight_decay=2.0, certify=False, random_state=0)
            model.fit(X, names)
    signs = np.where(names == "yes", 1, -1)
    for labels in (names, signs, signs.astype(float), list(names)):
        np.testing.assert_array_equal(read_model(model, (X, labels)).y, signs)
    for bad, value in ((np.where(names == "yes", 1, 0), "0"), (np.full(20, "maybe"), "'maybe'")):
        with pytest.raises(DataError, match=rf"= {value} is none of .* 'no' and 'yes'"):
            read_model(model, (X, bad))
    with pytest.raises(DataError, match="none of the two classes"):
        gm.examine(model, (X, np.where(names == "yes", 1, 0)), weight_decay=1.0, loss="logistic")


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_zeros_and_ones_are_the_signs_of_a_network_that_names_no_classes(loss: str) -> None:
    """1 is the class of positive outputs; other losses, and other pairs of numbers, stay."""
    X, y = _table(20)
    signs = np.where(y > np.median(y), 1.0, -1.0)
    weights = ([[1.0, 0.5], [-0.3, 1.0]], [0.1, 0.0], [1.0, -0.5], 0.2)
    options: dict[str, Any] = {"weight_decay": 2.0, **QUICK}
    found = gm.optimality_gap(weights, (X, signs), loss, **options)
    for labels in ((signs > 0).astype(int), signs > 0):
        same = gm.optimality_gap(weights, (X, labels), loss, **options)
        assert (same.objective, same.gap) == (found.objective, found.gap)
    turned = gm.optimality_gap(weights, (X, (signs < 0).astype(float)), loss, **options)
    assert turned.objective > found.objective
    with pytest.raises(DataError, match="needs"):
        gm.optimality_gap(weights, (X, signs + 1.0), loss, **options)
    zeros = read_model(weights, (X, (signs > 0).astype(float)))
    assert zeros.labels_for(get_loss("squared")) is zeros.y


def test_text_labels_are_refused_where_the_model_names_no_classes() -> None:
    X, _ = _table(6)
    names = np.array(["no", "yes", "no", "no", "yes", "yes"])
    weights = ([[1.0, 0.0]], [0.0], [1.0])
    for given in (names, names.astype(object)):
        with pytest.raises(DataError, match=r"y holds text .*the two classes as -1 and 1, or 0"):
            gm.optimality_gap(weights, (X, given), "logistic", weight_decay=1.0)


def test_an_estimator_of_another_class_is_refused_with_where_its_own_gap_is() -> None:
    X, y = _table(20)
    model = gm.AdditiveNetworkRegressor(weight_decay=2.0, certify=False).fit(X, y)
    named = "AdditiveNetworkRegressor is no relu network .* model.gap_statement"
    with pytest.raises(DataError, match=named):
        gm.optimality_gap(model, (X, y), weight_decay=2.0)


def test_perceptron_of_few_columns_has_a_proved_gap() -> None:
    X, y = _table(12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPRegressor(hidden_layer_sizes=(3,), alpha=2.0, solver="lbfgs", random_state=0)
        model.fit(X, y)
    found = gm.optimality_gap(model, (X, y), starts=1, max_cones=20_000)
    assert found.verdict == "ACCEPTED"
    assert found.problem.penalty.hidden_bias == "free"
    assert found.problem.penalty.weight_decay == 2.0
    assert 0 <= found.lower_bound <= found.best_objective <= found.objective


def test_a_perceptron_that_classifies_has_a_proved_gap() -> None:
    """Free biases in five columns, logistic loss, by slabs: above the floor, below the best
    constant, and within a fifth of the minimum.
    """
    X, y = _table(30, 5)
    labels = np.where(y > np.median(y), "b", "a")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((4,), alpha=6.0, solver="lbfgs", max_iter=2000, random_state=0)
        model.fit(X, labels)
    found = gm.optimality_gap(model, (X, labels), starts=1, max_cones=0)
    assert found.verdict == "ACCEPTED"
    assert (found.constraint, found.problem.loss.name) == ("slabs", "logistic")
    assert found.lower_bound <= found.best_objective <= found.objective < 30 * np.log(2.0)
    assert found.relative_gap <= 0.2


def test_a_torch_module_and_our_classifier_have_proved_gaps() -> None:
    """Of one problem with penalized biases: the module with the weights of our network has its
    objective, and the same floor up to the search for it.
    """
    torch = pytest.importorskip("torch")
    X, y = _table(30, 3)
    y = np.where(y > np.median(y), 1.0, -1.0)
    model = gm.ReluNetworkClassifier(weight_decay=3.0, certify=False, random_state=0).fit(X, y)
    ours = gm.optimality_gap(model, (X, y), starts=1)
    network, rows = ours.network, ours.problem.X
    layers = torch.nn.Linear(3, len(network.v)), torch.nn.Linear(len(network.v), 1)
    module = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1]).double()
    with torch.no_grad():
        layers[0].weight[:] = torch.tensor(network.W)
        layers[0].bias[:] = torch.tensor(network.bias)
        layers[1].weight[0] = torch.tensor(network.v)
        layers[1].bias[:] = float(network.intercept)
    theirs = gm.optimality_gap(module, (rows, y), "logistic", weight_decay=3.0, starts=1)
    assert ours.verdict == theirs.verdict == "ACCEPTED"
    assert theirs.objective == pytest.approx(ours.objective, rel=1e-9)
    assert ours.relative_gap <= 1e-3
    assert theirs.relative_gap <= 1e-3


def test_shallow_network_and_our_estimator_are_read() -> None:
    X, y = _table()
    data = gm.Dataset(X, y, bias=True, scaling="none")
    network = gm.ShallowNetwork(np.array([[1.0, 0.0, 0.1]]), np.array([1.0]), "relu")
    given = read_model(network, data)
    assert given.intercept == "none"
    assert given.network.predict(given.X) == pytest.approx(network.predict(data.X))
    model = gm.ReluNetworkRegressor(weight_decay=5.0, certify=False, random_state=0).fit(X, y)
    found = gm.optimality_gap(model, (X, y), **QUICK)
    assert found.objective == pytest.approx(model.objective_, rel=1e-9)
    assert found.verdict == "ACCEPTED"


def test_what_is_no_such_network_is_refused() -> None:
    X, y = _table()
    with pytest.raises(DataError, match="weight_decay=None"):
        gm.optimality_gap(([[1.0, 0.0]], [0.0], [1.0]), (X, y))
    with pytest.raises(DataError, match="no network"):
        gm.optimality_gap(3.0, (X, y), weight_decay=1.0)
    tanh = gm.ShallowNetwork(np.ones((1, 2)), np.ones(1), "tanh")
    with pytest.raises(DataError, match="relu"):
        gm.optimality_gap(tanh, (X, y), weight_decay=1.0)
    many = np.random.default_rng(0).standard_normal((9, 8))
    free = gm.optimality_gap(
        (np.ones((1, 8)), [0.0], [1.0]),
        (many, many[:, 0]),
        weight_decay=1.0,
        hidden_bias="free",
        **QUICK,
    )
    assert (free.verdict, free.constraint) == ("ACCEPTED", "slabs")
    assert 0 < free.lower_bound <= free.best_objective


def _module(activation: str, dtype: str):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    between = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "leaky": torch.nn.LeakyReLU}
    layers = torch.nn.Linear(3, 4), between[activation](), torch.nn.Linear(4, 1)
    return torch.nn.Sequential(*layers).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_torch_module_is_read_with_the_outputs_it_has(dtype):
    X = np.random.default_rng(0).standard_normal((12, 3)) * 100
    module = _module("relu", dtype)
    given = read_model(module, (X, X[:, 0]))
    torch = pytest.importorskip("torch")
    theirs = module(torch.as_tensor(X, dtype=getattr(torch, dtype))).detach().numpy().ravel()
    # rounding in the module's own precision, relative to outputs of size 100
    np.testing.assert_allclose(given.network.predict(X), theirs, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("activation", ["tanh", "leaky"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_torch_module_of_other_neurons_is_refused_by_name(activation, dtype):
    """Its tensors look the same: read as relu neurons, the gap would be that of another network."""
    X = np.random.default_rng(0).standard_normal((12, 3))
    with pytest.raises(gm.DataError, match="neurons; this family has relu"):
        gm.optimality_gap(_module(activation, dtype), (X, X[:, 0]), weight_decay=1.0)


def test_a_loss_that_does_not_contain_the_output_function_is_refused():
    """The gap is that of the logits: with another loss it would be that of another model."""
    torch = pytest.importorskip("torch")
    X = np.random.default_rng(0).standard_normal((12, 3))
    layers = *_module("relu", "float64"), torch.nn.Sigmoid()
    classes = torch.nn.Sequential(*layers)
    with pytest.raises(gm.DataError, match=r"loss='squared'.*sigmoid"):
        gm.optimality_gap(classes, (X, np.sign(X[:, 0])), "squared", weight_decay=1.0)
    given = read_model(classes, (X, np.sign(X[:, 0])))
    assert given.loss_or(None) == given.loss_or("logistic") == "logistic"
    tanh = torch.nn.Sequential(*_module("relu", "float64"), torch.nn.Tanh())
    with pytest.raises(gm.DataError, match="go through tanh"):
        read_model(tanh, (X, X[:, 0]))


def test_weights_for_other_columns_and_words_are_refused_by_name():
    X = np.zeros((4, 3))
    with pytest.raises(gm.DataError, match="reads 2 features and X has 3 columns"):
        gm.optimality_gap(([[1.0, 2.0]], [0.0], [1.0]), (X, X[:, 0]), weight_decay=1.0)
    with pytest.raises(gm.DataError, match="model=str is no network"):
        gm.optimality_gap("model", (X, X[:, 0]), weight_decay=1.0)
