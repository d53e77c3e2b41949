"""Networks with weight decay on disk: round trip, same bytes, damage refused."""

import json

import numpy as np
import pytest

import globalmin as gm
from globalmin.files import packed


def _network(seed, *, width=3, linear=True):
    rng = np.random.default_rng(seed)
    weights = (rng.standard_normal(shape) for shape in ((width, 2), width, width))
    return gm.RegularizedNetwork(
        *weights, float(rng.standard_normal()), rng.standard_normal(2) if linear else None
    )


def _equal(one, other):
    assert one.intercept == other.intercept
    for name in ("W", "bias", "v", "linear"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("width", [0, 3])
def test_a_network_survives_the_disk_bit_for_bit(tmp_path, width, linear):
    path = tmp_path / "model.safetensors"
    network = _network(0, width=width, linear=linear)
    gm.save_network(path, network, metadata={"from": "a test"})
    stored = gm.load_network(path)
    _equal(stored.network, network)
    assert stored.metadata == {"from": "a test"}
    content = path.read_bytes()
    gm.save_network(path, network, metadata={"from": "a test"})
    assert path.read_bytes() == content


def test_an_estimator_survives_with_its_scaling_and_classes(tmp_path):
    X = np.random.default_rng(1).standard_normal((60, 2)) * [1.0, 50.0]
    labels = np.array(["low", "middle", "high"])[np.digitize(X[:, 1], [-20.0, 20.0])]
    model = gm.AdditiveNetworkClassifier(loss="logistic", weight_decay=2.0, certify=False).fit(
        X, labels
    )
    model.save(tmp_path / "model.safetensors")
    stored = gm.load_networks(tmp_path / "model.safetensors")
    assert json.loads(stored.metadata["classes"]) == ["high", "low", "middle"]
    assert stored.metadata["loss"] == "logistic"
    for j, (network, step) in enumerate(zip(stored.networks, stored.preprocessing, strict=True)):
        outputs = step.restore(network.predict(step.transform(X)))
        np.testing.assert_array_equal(outputs, model.decision_function(X)[:, j])


def test_squares_stay_squares_on_disk(tmp_path):
    X = np.random.default_rng(1).standard_normal((60, 2))
    model = gm.SquaresNetworkRegressor(loss="squared", weight_decay=2.0, certify=False)
    model.fit(X, X[:, 0] * X[:, 1]).save(tmp_path / "model.safetensors")
    stored = gm.load_network(tmp_path / "model.safetensors")
    assert isinstance(stored.network, gm.SquaresNetwork)
    step = stored.preprocessing
    outputs = step.restore(stored.network.predict(step.transform(X)))
    np.testing.assert_array_equal(outputs, model.predict(X))


def _damaged(path, change):
    network = _network(2)
    tensors = {"0.W": network.W, "0.bias": network.bias, "0.v": network.v,
               "0.intercept": np.array([network.intercept])}  # fmt: skip
    header = {"format": "globalmin-regularized-network/1", "activation": "relu", "networks": "1",
              "extra": "{}"}  # fmt: skip
    change(tensors, header)
    path.write_bytes(packed(tensors, header))
    return gm.load_network(path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda t, _: t.pop("0.v"), "the tensors must be"),
        (lambda t, _: t.update({"1.linear": np.zeros(2)}), "the tensors must be"),
        (lambda t, _: t.update({"0.intercept": np.zeros(2)}), "one number"),
        (lambda t, _: t.update({"0.v": np.zeros(4)}), "one of each per neuron"),
        (lambda t, _: t.update({"0.W": np.full((3, 2), np.nan)}), "finite"),
        (lambda _, h: h.update(activation="tanh"), "must be one of relu, quadratic"),
        (
            lambda t, h: (t.update({"0.linear": np.ones(2)}), h.update(activation="quadratic")),
            "has a linear part",
        ),
        (lambda _, h: h.update(networks="2"), "the tensors must be"),
        (lambda _, h: h.update(extra="["), "damaged"),
    ],
)
def test_damage_is_refused(tmp_path, change, said):
    path = tmp_path / "model.safetensors"
    assert _damaged(path, lambda *_: None).network.width == 3
    with pytest.raises(gm.DataError, match=said):
        _damaged(path, change)
