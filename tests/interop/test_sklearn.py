"""Perceptrons of scikit-learn in and out, with scalers in front: kept exactly, or folded with a
word about rounding.
"""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from tests.interop.frameworks_cases import ROWS

import globalmin as gm
from globalmin.interop import UnsupportedModel, from_sklearn, to_sklearn

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
Y = np.sin(ROWS[:, 0]) + ROWS[:, 1]


def perceptron(kind=MLPRegressor, **options):
    given = {"hidden_layer_sizes": (6,), "max_iter": 30, "random_state": 0, "solver": "lbfgs"}
    return kind(**(given | options))


@pytest.mark.parametrize("activation", ["identity", "logistic", "tanh", "relu"])
@pytest.mark.parametrize("targets", [1, 2])
def test_a_regressor_is_read_with_its_outputs(activation, targets):
    labels = Y if targets == 1 else np.column_stack([Y, ROWS[:, 2]])
    model = perceptron(activation=activation, hidden_layer_sizes=(6, 4)).fit(ROWS, labels)
    net = from_sklearn(model)
    assert net.agreement.relative <= 1e-12
    np.testing.assert_allclose(net.predict(ROWS), model.predict(ROWS), rtol=1e-12, atol=1e-12)


def test_classifiers_give_their_probabilities():
    two, three = Y > 0, np.digitize(Y, [-3.0, 3.0])
    binary = perceptron(MLPClassifier).fit(ROWS, np.where(two, "yes", "no"))
    net = from_sklearn(binary)
    assert (net.output, net.trained_for.loss) == ("sigmoid", "logistic")
    assert net.trained_for.classes == ("no", "yes")
    np.testing.assert_allclose(net.predict(ROWS), binary.predict_proba(ROWS)[:, 1], atol=1e-12)
    several = perceptron(MLPClassifier).fit(ROWS, three)
    net = from_sklearn(several)
    assert net.output == "softmax"
    np.testing.assert_allclose(net.predict(ROWS), several.predict_proba(ROWS), atol=1e-12)
    with pytest.raises(gm.DataError, match="softmax"):
        net.only(0)
    logits = net.without_output().only(1)
    np.testing.assert_allclose(logits.predict(ROWS), net.logits(ROWS)[:, 1], atol=1e-12)


SCALERS = [
    StandardScaler(),
    MinMaxScaler(),
    MaxAbsScaler(),
    RobustScaler(),
    StandardScaler(with_mean=False),
]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_a_scaler_in_front_is_kept_to_the_bit(scaler):
    model = make_pipeline(scaler, perceptron()).fit(ROWS, Y)
    net = from_sklearn(model)
    assert np.array_equal(net.scaled(ROWS), model[0].transform(ROWS))
    np.testing.assert_allclose(net.predict(ROWS), model.predict(ROWS), rtol=0, atol=1e-12)
    posed = net.with_data(ROWS, Y)
    assert np.array_equal(posed.data.X[:, :-1], model[0].transform(ROWS))
    replayed = posed.data.preprocessing.restore(posed.network.predict(posed.data.X))
    np.testing.assert_allclose(replayed, model.predict(ROWS), rtol=0, atol=1e-12)
    assert net.notes == ()


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_folding_is_the_nearest_double_and_says_that_it_rounds(scaler):
    model = make_pipeline(scaler, perceptron()).fit(ROWS, Y)
    net = from_sklearn(model)
    folded = net.folded()
    assert folded.scaling is None
    # cancellation of the shift: sums of terms up to |W| |mean| / scale, a few units each
    np.testing.assert_allclose(folded.predict(ROWS), model.predict(ROWS), rtol=0, atol=1e-11)
    assert "weights are rounded" in folded.notes[0]
    exact = Fraction(0)
    row = [Fraction(x) for x in net.layers[0].W[0].tolist()]
    for j, w in enumerate(row):  # W_0 s(x) at x = e_j + 2 e_0, minus the same at 0
        x = Fraction(1 if j else 3)
        for kind, numbers in net.scaling.steps:
            c = Fraction(float(numbers[j]))
            x = {"subtract": x - c, "add": x + c, "multiply": x * c, "divide": x / c}[kind]
        exact += w * x
    point = np.array([3.0, 1.0, 1.0, 1.0, 1.0])
    got = sum(
        Fraction(float(w)) * Fraction(float(p))
        for w, p in zip(folded.layers[0].W[0], point, strict=True)
    )
    got += Fraction(float(folded.layers[0].b[0]) - float(net.layers[0].b[0]))
    size = float(sum(abs(w) for w in folded.layers[0].W[0]) * 3 + abs(folded.layers[0].b[0]))
    assert abs(float(got - exact)) <= 16 * 2.0**-53 * (size + 1)


def test_powers_of_two_fold_without_rounding():
    model = make_pipeline(StandardScaler(), perceptron()).fit(ROWS, Y)
    model[0].scale_, model[0].mean_ = np.array([1.0, 2.0, 0.5, 8.0, 4.0]), np.zeros(5)
    folded = from_sklearn(model).folded()
    assert folded.notes == ()
    np.testing.assert_allclose(folded.predict(ROWS), model.predict(ROWS), rtol=0, atol=1e-13)


def test_everything_unsupported_in_a_pipeline_is_told_at_once():
    steps = PowerTransformer(), MinMaxScaler(clip=True), perceptron()
    model = make_pipeline(*steps).fit(ROWS, Y)
    with pytest.raises(UnsupportedModel) as error:
        from_sklearn(model)
    assert len(error.value.findings) == 2
    with pytest.raises(UnsupportedModel, match="Ridge"):
        from_sklearn(Ridge().fit(ROWS, Y))


@pytest.mark.parametrize("activation", ["tanh", "relu", "sigmoid", "linear"])
def test_our_networks_go_to_scikit_learn_and_come_back(activation):
    data = gm.Dataset(ROWS, Y)
    own = gm.ShallowNetwork.initialize(data, width=6, activation=activation, seed=0)
    expected = data.preprocessing.restore(own.predict(data.X))
    made = to_sklearn(own, data.preprocessing)
    np.testing.assert_allclose(made.predict(ROWS), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(from_sklearn(made).predict(ROWS), expected, rtol=1e-12, atol=1e-12)
    with pytest.raises(UnsupportedModel, match="softplus"):
        to_sklearn(gm.ShallowNetwork(own.W, own.v, "softplus"))


def test_a_perceptron_trained_by_scikit_learn_is_certified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4)) * 5 + 3
    y = np.sin(X[:, 0]) + X[:, 1]
    options = {"activation": "tanh", "hidden_layer_sizes": (25,), "alpha": 0.0, "tol": 0.0}
    model = make_pipeline(StandardScaler(), perceptron(**options, max_iter=20_000))
    with np.errstate(all="ignore"):
        model.fit(X, y)
    posed = from_sklearn(model).with_data(X, y)
    replayed = posed.data.preprocessing.restore(posed.network.predict(posed.data.X))
    np.testing.assert_allclose(replayed, model.predict(X), rtol=0, atol=1e-12)
    assert gm.prove(posed.network, posed.data).verdict == "ACCEPTED"
