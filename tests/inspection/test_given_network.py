"""`inspect(data, network=...)`: the weights that are given are the ones measured."""

import inspect as signatures

import numpy as np
import pytest

import globalmin as gm
from globalmin.cli.inspect import inspect as command
from globalmin.errors import DataError
from globalmin.inspection import Finding, inspect


@pytest.fixture(scope="module")
def data():
    return gm.generators.sphere_with_random_labels(4, 12, seed=0)


def network(data, width=6, activation="tanh", seed=5):
    return gm.ShallowNetwork.initialize(data, width, activation, scheme="du", seed=seed)


def test_measured_start_is_the_network_that_is_given(data):
    """Misfit, spectrum of J and activation recomputed from the weights by numpy."""
    net = network(data)
    found = inspect(data, network=net)
    assert found.instance.start.network is net
    assert (found.width, found.activation, found.head) == (6, "tanh", "given")
    r = np.tanh(data.X @ net.W.T) @ net.v - data.y
    S = (1.0 - np.tanh(data.X @ net.W.T) ** 2) * net.v
    J = np.stack([np.outer(s, x).ravel() for s, x in zip(S, data.X, strict=True)])
    assert found.quantity("‖r₀‖") == pytest.approx(np.linalg.norm(r), rel=1e-12)
    singular = np.linalg.svd(J, compute_uv=False)
    assert found.instance.start.a == pytest.approx(singular[-1], rel=1e-9)
    assert found.instance.start.b == pytest.approx(singular[0], rel=1e-9)
    assert "the given network" in str(found).splitlines()[0]
    assert "drawn" not in " ".join(h.statement for h in found.theorem("OS-C1").hypotheses)


def test_a_drawn_start_given_back_is_the_same_instance(data):
    """The drawn start and the same weights given have the same numbers, row by row."""
    drawn = inspect(data, 20, "softplus", seed=3)
    given = inspect(data, network=drawn.instance.start.network)
    assert [q.value for q in given.quantities] == [q.value for q in drawn.quantities]
    for one, other in zip(drawn.theorems, given.theorems, strict=True):
        assert (one.item, one.finding, one.width, one.step_size, one.rate, one.failure) == (
            other.item, other.finding, other.width, other.step_size, other.rate, other.failure,
        )  # fmt: skip


def test_theorems_about_weights_fire_after_training_and_not_before(data):
    """OS-C1 at a trained network holds, at its start it does not; the theorem door agrees."""
    start = gm.ShallowNetwork.initialize(data, 8, "softplus", seed=0)
    assert inspect(data, network=start).theorem("OS-C1").finding is Finding.FAILS
    run = gm.train(start, data, method="levenberg_marquardt")
    found = inspect(data, network=run.network).theorem("OS-C1")
    assert found.finding is Finding.HOLDS
    asked = gm.theorem("OS-C1", data, network=run.network).report
    assert (asked.step_size, asked.rate) == (found.step_size, found.rate)


def test_contradictions_are_refused_with_both_values(data):
    net = network(data)
    assert inspect(data, 6, "tanh", network=net).width == 6
    for options, words in (
        ({"width": 7}, "width=7, but the network has 6 neurons"),
        ({"activation": "relu"}, "activation=relu, but the network has tanh"),
        ({"scheme": "os"}, "scheme='os' is the law of a start"),
    ):
        with pytest.raises(DataError, match=words):
            inspect(data, network=net, **options)
    other = gm.generators.sphere_with_random_labels(4, 11, seed=0)
    with pytest.raises(DataError, match="12 inputs, the data 11 features"):
        inspect(other, network=net)
    with pytest.raises(DataError, match="head of the network is zero"):
        inspect(data, network=net.with_weights(v=np.zeros(6)))
    with pytest.raises(DataError, match="ShallowNetwork"):
        inspect(data, network="model.safetensors")


def test_command_line_and_library_have_the_same_defaults():
    """A default changed in one place only would make `globalmin inspect` and `gm.inspect`
    differ.
    """
    library = signatures.signature(signatures.unwrap(inspect)).parameters
    line = signatures.signature(command).parameters
    names = ("seed", "delta", "theta", "failure", "depth", "activation", "network")
    assert {n: library[n].default for n in names} == {n: line[n].default for n in names}
    assert (line["scheme"].default, library["scheme"].default) == (None, None)
    assert library["seed"].default == 0
    door = signatures.signature(gm.theorem).parameters
    assert {n: door[n].default for n in ("seed", "width", "activation", "network", "scheme")} == {
        n: library[n].default for n in ("seed", "width", "activation", "network", "scheme")
    }
