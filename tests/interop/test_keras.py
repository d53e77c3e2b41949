"""Networks of Keras 3 in, with the backend jax."""

import os

import numpy as np
import pytest
from tests.interop.frameworks_cases import PLAIN, ROWS, by_loops, trained

import globalmin as gm
from globalmin.interop import UnsupportedModel, from_keras, from_torch

os.environ.setdefault("KERAS_BACKEND", "jax")
keras = pytest.importorskip("keras")
layers = keras.layers
# keras's own arrays, not ours
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "softplus": "softplus"}
ACTIVATIONS |= {"silu": "swish", "gelu": "gelu", "leaky_relu": "leaky_relu(0.2)"}
SINGLE = {"rtol": 1e-4, "atol": 1e-4}  # keras predicts in float32, sums of a few terms up to 30


def model(activation="tanh", *, front=(), last=None, width=6, outputs=2):
    keras.utils.set_random_seed(0)
    parts = [layers.Input((5,)), *front, layers.Dense(width, activation=activation)]
    made = keras.Sequential([*parts, layers.Dropout(0.2), layers.Dense(outputs, activation=last)])
    made.layers[-1].bias.assign(np.arange(outputs) + 0.5)
    return made


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_model_is_read_with_its_outputs(activation):
    own = model(activation)
    net = from_keras(own)
    assert net.activations == (ACTIVATIONS[activation],)
    if activation == "tanh":  # keras casts to float32 there: the bound of rounding
        assert net.agreement.arithmetic == "float32"
        assert "computes tanh in float32" in str(net.agreement)
        assert net.agreement.largest <= net.agreement.tol < 1e-3
    else:  # keras itself, a copy of the model with jax's 64 bits
        assert net.agreement.arithmetic == "float64"
        assert net.agreement.relative <= 1e-12
    np.testing.assert_allclose(net.predict(ROWS), own.predict(ROWS, verbose=0), **SINGLE)
    kernel = np.asarray(keras.ops.convert_to_numpy(own.layers[0].kernel))
    assert np.array_equal(net.layers[0].W.astype(np.float32), kernel.T)
    np.testing.assert_allclose(net.predict(ROWS[:1])[0], by_loops(net, ROWS[0]), atol=1e-13)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_weights_of_keras_say_the_same_in_plain_numpy(activation):
    own = model(activation, outputs=3, last="softmax")
    kernel, bias, head, shift = (
        np.asarray(keras.ops.convert_to_numpy(weight), dtype=np.float64) for weight in own.weights
    )
    z = ROWS @ kernel + bias
    hidden = np.vectorize(PLAIN.get(ACTIVATIONS[activation], lambda u: u if u > 0 else 0.2 * u))(z)
    logits = hidden @ head + shift
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(from_keras(own).predict(ROWS), shares, rtol=0, atol=1e-12)


def test_a_file_is_read_without_executing_it(tmp_path):
    own = model("tanh", last="softmax", outputs=3)
    own.save(tmp_path / "m.keras")
    net = from_keras(tmp_path / "m.keras")
    assert net.output == "softmax"
    np.testing.assert_allclose(net.predict(ROWS), own.predict(ROWS, verbose=0), **SINGLE)
    code = keras.Sequential([layers.Input((5,)), layers.Lambda(lambda x: 2 * x), layers.Dense(1)])
    code.save(tmp_path / "code.keras")
    (tmp_path / "no.keras").write_bytes(b"no file of keras")
    for name in ("code.keras", "no.keras"):
        with pytest.raises(gm.DataError, match="without executing code"):
            from_keras(tmp_path / name)


def test_scalings_in_front_and_functional_models_are_read():
    front = layers.Normalization(mean=[1.0, 2, 3, 4, 5], variance=[1.0, 4, 2, 9, 0.5])
    net = from_keras(model("relu", front=[front, layers.Rescaling(0.5, offset=1.0)]))
    assert [kind for kind, _ in net.scaling.steps] == ["subtract", "divide", "multiply", "add"]
    given = keras.Input((5,))
    hidden = layers.LeakyReLU(negative_slope=0.3)(layers.Dense(4)(given))
    own = keras.Model(given, layers.ReLU()(layers.Dense(2, use_bias=False)(hidden)))
    net = from_keras(own)
    assert net.layers[1].b is None
    assert net.output == "relu"
    np.testing.assert_allclose(net.predict(ROWS), own.predict(ROWS, verbose=0), **SINGLE)


def test_everything_unsupported_is_told_at_once_and_branches_are_seen_by_the_outputs():
    strange = [layers.BatchNormalization(), layers.Reshape((5,))]
    with pytest.raises(UnsupportedModel) as error:
        from_keras(model("elu", front=strange))
    assert len(error.value.findings) == 3
    given = keras.Input((5,))
    hidden = layers.Dense(5, activation="tanh")(given)
    first = layers.Dense(5, activation="tanh")(given)
    with pytest.raises(gm.DataError):
        from_keras(keras.Model(given, layers.Dense(1)(layers.Add()([hidden, first]))))
    with pytest.raises(gm.DataError, match=r"its outputs differ|cannot be represented"):
        from_keras(keras.Model(given, layers.Dense(5)(layers.Activation("tanh")(first))))
    with pytest.raises(gm.DataError, match="no Keras model"):
        from_keras(3)


def test_a_network_of_keras_is_certified():
    X, y, own = trained("tanh")
    net = from_torch(own)
    theirs = model("tanh", width=14, outputs=1)
    theirs.set_weights([a for layer in net.layers for a in (layer.W.T, layer.b)])
    posed = from_keras(theirs).with_data(X, y)  # rounded to float32: not trained far enough
    run = gm.train(posed.network, posed.data, method="levenberg_marquardt")
    assert gm.prove(run.network, posed.data).verdict == "ACCEPTED"
