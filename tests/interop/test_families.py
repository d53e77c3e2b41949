"""What came in as one of our families: which can represent what, exactly, and what is said of the
rest; the arithmetic that says whether something was rounded, against fractions.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.interop.frameworks_cases import ROWS, by_loops

import globalmin as gm
from globalmin.interop import ImportedNetwork, InputScaling, Layer, UnsupportedModel
from globalmin.interop.agreement import agreed, rounding_room
from globalmin.interop.families import imported
from globalmin.interop.rounding import added, divided, multiplied

EXACT = ["relu", "leaky_relu(0.01)", "sigmoid", "linear", "quadratic", "abs"]
numbers = st.floats(-1e6, 1e6, allow_subnormal=False) | st.integers(-64, 64).map(float)


def network(activation="tanh", widths=(5, 6, 1), seed=0, bias=True):
    rng = np.random.default_rng(seed)
    layers = [
        Layer(rng.standard_normal((k, d)), rng.standard_normal(k) if bias else None, activation)
        for d, k in pairwise(widths)
    ]
    layers[-1] = Layer(layers[-1].W, layers[-1].b)
    return ImportedNetwork(tuple(layers))


def test_one_hidden_layer_is_a_shallow_network_with_a_constant_feature():
    net = network()
    posed = net.with_data(ROWS, ROWS[:, 0])
    assert np.array_equal(posed.network.W, np.column_stack([net.layers[0].W, net.layers[0].b]))
    assert np.array_equal(posed.data.X[:, -1], np.ones(40))
    restored = posed.data.preprocessing.restore(posed.network.predict(posed.data.X))
    np.testing.assert_allclose(restored, net.predict(ROWS), rtol=0, atol=1e-13)
    residual = posed.network.predict(posed.data.X) - posed.data.y
    np.testing.assert_allclose(residual, net.predict(ROWS) - ROWS[:, 0], rtol=0, atol=1e-12)
    assert any("a proof does not move it" in note for note in posed.notes)
    plain = network(bias=False).with_data(ROWS, ROWS[:, 0])
    assert plain.data.X.shape == (40, 5)
    assert plain.notes == ()


def test_labels_that_are_rounded_are_counted():
    net = ImportedNetwork((Layer([[1.0]], [0.0], "relu"), Layer([[1.0]], [0.1])))
    posed = net.with_data([[1.0], [2.0], [3.0]], [0.1, 0.2, 1e9])
    rounded = sum(Fraction(y) - Fraction(0.1) != Fraction(y - 0.1) for y in (0.1, 0.2, 1e9))
    assert rounded == 1
    assert "1 of 3 numbers are rounded" in posed.notes[0]


def test_a_relu_network_keeps_its_intercept():
    net = network("relu")
    made = net.regularized()
    np.testing.assert_allclose(made.predict(ROWS), net.predict(ROWS), rtol=0, atol=1e-13)
    assert made.intercept == float(net.layers[-1].b[0])
    assert made.predict(ROWS[:1])[0] == pytest.approx(by_loops(net, ROWS[0])[0], abs=1e-13)


@pytest.mark.parametrize("activation", [*EXACT, "tanh", "softplus", "gelu"])
def test_deeper_networks_have_their_biases_as_a_constant_neuron(activation):
    net = network(activation, (5, 4, 3, 1))
    posed = net.with_data(ROWS / 10, ROWS[:, 0])
    assert isinstance(posed.network, gm.DeepNetwork)
    restored = posed.data.preprocessing.restore(posed.network.predict(posed.data.X))
    expected = net.predict(ROWS / 10)
    np.testing.assert_allclose(restored, expected, rtol=1e-12, atol=1e-12)
    said = " ".join(posed.notes)
    assert ("no double" in said) == (activation not in EXACT)
    assert ("biases of layer" in said) == (activation not in EXACT)
    without = network(activation, (5, 4, 3, 1), bias=False).with_data(ROWS / 10, ROWS[:, 0])
    assert without.notes == ()
    assert [W.shape for W in without.network.weights] == [(4, 5), (3, 4)]


def test_everything_in_the_way_of_a_family_is_told_at_once():
    rng = np.random.default_rng(0)
    hidden = Layer(rng.standard_normal((4, 5)), None, "tanh")
    more = Layer(rng.standard_normal((4, 4)), None, "relu")
    last = Layer(rng.standard_normal((2, 4)))
    net = ImportedNetwork((hidden, more, last), output="sigmoid")
    for family, count in (("shallow", 3), ("regularized", 4), ("deep", 3)):
        with pytest.raises(UnsupportedModel) as error:
            getattr(net, family)()
        assert len(error.value.findings) == count
    with pytest.raises(gm.DataError, match="5 features and X has 4 columns"):
        net.predict(ROWS[:, :4])
    with pytest.raises(gm.DataError, match="output=2"):
        net.only(2)
    with pytest.raises(gm.DataError, match="reads 4 numbers and the one below has 2"):
        ImportedNetwork((Layer(np.ones((2, 5))), Layer(np.ones((1, 4)))))


def test_one_of_several_outputs_is_a_network_of_its_own():
    net = network("tanh", (5, 6, 3))
    for j in range(3):
        posed = net.with_data(ROWS, ROWS[:, 0], output=j)
        restored = posed.data.preprocessing.restore(posed.network.predict(posed.data.X))
        np.testing.assert_allclose(restored, net.predict(ROWS)[:, j], rtol=0, atol=1e-13)


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6))
@settings(deadline=None, max_examples=200, derandomize=True)
def test_rounding_is_counted_as_fractions_count_it(pairs):
    a, b = (np.array(column) for column in zip(*pairs, strict=True))
    exact = [(Fraction(x), Fraction(y)) for x, y in pairs]
    total = added(a, b)
    assert total.inexact == sum(
        Fraction(float(t)) != x + y for t, (x, y) in zip(total.value, exact, strict=True)
    )
    product = multiplied(a, b)
    # exact products are never called rounded unless they are tiny
    truly = sum(Fraction(float(t)) != x * y for t, (x, y) in zip(product.value, exact, strict=True))
    tiny = sum(0 < abs(x * y) < Fraction(1, 2**470) for x, y in exact)
    assert truly <= product.inexact <= truly + tiny
    if (b != 0).all():
        quotient = divided(a, b)
        wrong = sum(
            not np.isfinite(t) or Fraction(float(t)) * y != x
            for t, (x, y) in zip(quotient.value, exact, strict=True)
        )
        assert wrong <= quotient.inexact <= wrong + tiny + int((np.abs(b) < 2.0**-470).sum())


def test_labels_of_several_outputs_at_once_are_refused_with_how_to_give_one():
    net = network("tanh", (5, 6, 2))
    with pytest.raises(gm.DataError, match=r"one label per row: .* output=j with y\[:, j\]"):
        net.with_data(ROWS, np.ones((len(ROWS), 2)), output=0)


def test_the_error_of_a_product_that_underflows_is_not_taken_for_zero():
    """At 2^-980 the error, 2^-1084, is below all doubles; the product is rounded all the same."""
    tiny = np.array([2.0**-490 * (1 + 2.0**-52)])
    assert Fraction(float((tiny * tiny)[0])) != Fraction(float(tiny[0])) ** 2
    assert multiplied(tiny, tiny).inexact == 1
    assert divided(tiny * tiny, tiny).inexact == 1


def test_products_of_27_bits_are_seen_to_round():
    """(2^27 - 1)^2 is odd and has 54 bits; (2^26 - 1)(2^27 - 1) has 53 and is exact."""
    a = np.array([2.0**27 - 1])
    assert multiplied(a, a).inexact == 1
    assert multiplied(a, np.array([2.0**26 - 1])).inexact == 0
    assert divided(a * (2.0**26 - 1), a).inexact == 0


@pytest.mark.parametrize("activation", ["tanh", "softplus", "relu", "quadratic", "gelu"])
def test_the_room_for_rounding_holds_and_is_tight_enough_to_see_a_wrong_weight(activation):
    """In float32 by numpy, where the errors are large enough to be seen, against float64."""
    net = network(activation, (5, 20, 20, 2))
    X = (ROWS / 10).astype(np.float32)

    def single(rows):
        x = rows.astype(np.float32)
        for layer in net.layers:
            z = x @ layer.W.T.astype(np.float32) + layer.b.astype(np.float32)
            x = gm.get_activation(layer.activation)(z).astype(np.float32)
        return x

    exact = ImportedNetwork(
        tuple(
            Layer(a.W.astype(np.float32), a.b.astype(np.float32), a.activation) for a in net.layers
        )
    )
    room = rounding_room(exact, X.astype(float), 2.0**-23)
    off = np.abs(single(X) - exact.predict(X.astype(float)))
    assert (off <= room).all()
    assert (room <= 2e4 * np.maximum(off.max(), 2.0**-23)).all()
    wrong = exact.layers[0].W.copy()
    wrong[0, 0] += 1e-3
    changed = ImportedNetwork((Layer(wrong, exact.layers[0].b, activation), *exact.layers[1:]))
    # in float64 a thousandth in one weight is seen
    with pytest.raises(gm.DataError, match="outputs differ"):
        agreed(changed, exact.predict)


def test_a_weight_that_is_wrong_in_its_tenth_digit_is_seen():
    net = network("tanh")
    wrong = net.layers[0].W.copy()
    wrong[0, 0] += 1e-9
    changed = ImportedNetwork((Layer(wrong, net.layers[0].b, "tanh"), net.layers[1]))
    with pytest.raises(gm.DataError, match="outputs differ"):
        agreed(changed, net.predict)
    assert agreed(net, net.predict).agreement.tol < 1e-12


def test_our_networks_as_layers_read_raw_rows():
    data = gm.Dataset(ROWS, ROWS[:, 0] * 3 + 100)
    deep = gm.DeepNetwork.initialize(data, width=6, depth=2, architecture="fully_connected")
    net = imported(deep, data.preprocessing)
    expected = data.preprocessing.restore(deep.predict(data.X))
    np.testing.assert_allclose(net.predict(ROWS), expected, rtol=1e-12)
    with pytest.raises(gm.DataError, match="no chain of layers"):
        imported(gm.DeepNetwork.initialize(data, width=6, depth=2, architecture="resnet"))
    rows = gm.Dataset(ROWS, ROWS[:, 0], scaling="rows")
    with pytest.raises(gm.DataError, match="by its norm"):
        imported(gm.ShallowNetwork.initialize(rows, width=3), rows.preprocessing)


def test_other_scalings_are_done_before_the_data_set():
    steps = ("multiply", np.full(5, 3.0)), ("add", np.arange(5.0))
    net = network()
    scaled = ImportedNetwork(net.layers, scaling=InputScaling(steps))
    posed = scaled.with_data(ROWS, ROWS[:, 0])
    assert np.array_equal(posed.data.X[:, :-1], ROWS * 3.0 + np.arange(5.0))
    assert "inputs first: multiply, add" in str(scaled)


@pytest.mark.parametrize("suffix", [".onnx", ".keras", ".pt", ".pth", ".safetensors"])
def test_a_file_that_is_not_there_is_called_so(tmp_path, suffix):
    path = tmp_path / f"nothere{suffix}"
    with pytest.raises(gm.DataError, match="there is no such file"):
        gm.interop.from_file(path)
    with pytest.raises(gm.DataError, match="there is no such file"):
        gm.examine(path, (ROWS, ROWS[:, 0]))


def test_our_own_and_damaged_safetensors_are_no_state_dicts(tmp_path):
    path = tmp_path / "model.safetensors"
    gm.save_network(path, gm.ShallowNetwork([[1.0, 2.0]], [1.0]))
    with pytest.raises(gm.DataError, match=r"a model of globalmin.*load_network"):
        gm.interop.from_file(path)
    assert gm.load_network(tmp_path).network.width == 1  # its folder will do
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(gm.DataError, match="not a readable safetensors file"):
        gm.interop.from_file(path)
    path.unlink()
    with pytest.raises(gm.DataError, match=r"model\.safetensors: there is no such file"):
        gm.load_network(tmp_path)
