"""One network brought from each of five frameworks and taken back, in one table: predictions to
1e-12 of the framework's own float64 outputs, an accepted certificate, and every command on every
kind of file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.interop.frameworks_cases import module, outputs, trained

import globalmin as gm
from globalmin.cli import main

# keras converts its variables as numpy 1 did
pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
torch = pytest.importorskip("torch")
pytest.importorskip("onnxruntime")
X, Y, SMOOTH = trained("softplus")  # a torch module of zero loss
RELU = module("relu", (5, 6, 1))


@pytest.fixture(scope="module", autouse=True)
def doubles():
    """jax computes in doubles here, as it is told to."""
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@dataclass(frozen=True)
class Brought:
    """A model of another framework, how it is read, and its own outputs in float64."""

    read: Callable[[], gm.interop.ImportedNetwork]
    own: Callable[[np.ndarray], np.ndarray]


def weights(of: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """W and bias of each layer of a torch module, in float64."""
    layers = [part for part in of if isinstance(part, torch.nn.Linear)]
    return [
        (layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy())
        for layer in layers
    ]


def from_torch(tmp: Any) -> Brought:
    return Brought(lambda: gm.interop.from_torch(SMOOTH), lambda Z: outputs(SMOOTH, Z)[:, 0])


def from_state_dict(tmp: Any) -> Brought:
    torch.save(SMOOTH.state_dict(), tmp / "smooth.pt")
    read = lambda: gm.interop.from_torch(tmp / "smooth.pt", activation="softplus")  # noqa: E731
    return Brought(read, lambda Z: outputs(SMOOTH, Z)[:, 0])


def run_onnx(path: Any, Z: np.ndarray) -> np.ndarray:
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    given = session.get_inputs()[0]
    return np.ravel(session.run(None, {given.name: Z})[0])


def from_onnx(tmp: Any) -> Brought:
    """A graph that skl2onnx wrote, in doubles."""
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import DoubleTensorType

    model = perceptron()
    graph = skl2onnx.to_onnx(model, initial_types=[("X", DoubleTensorType([None, 5]))])
    (tmp / "theirs.onnx").write_bytes(graph.SerializeToString())
    read = lambda: gm.interop.from_onnx(tmp / "theirs.onnx")  # noqa: E731
    return Brought(read, lambda Z: run_onnx(tmp / "theirs.onnx", Z))


def keras_of(of: Any, activation: str, dtype: str = "float64") -> Any:
    os.environ.setdefault("KERAS_BACKEND", "jax")
    keras = pytest.importorskip("keras")
    parts = weights(of)
    kinds = [*[activation] * (len(parts) - 1), None]
    dense = [
        keras.layers.Dense(len(b), activation=kind, dtype=dtype)
        for (_, b), kind in zip(parts, kinds, strict=True)
    ]
    model = keras.Sequential([keras.layers.Input((5,), dtype=dtype), *dense])
    for layer, (W, b) in zip(dense, parts, strict=True):
        layer.set_weights([W.T, b])
    return model


def from_keras(tmp: Any) -> Brought:
    model = keras_of(SMOOTH, "softplus")
    model.save(tmp / "smooth.keras")
    read = lambda: gm.interop.from_keras(tmp / "smooth.keras")  # noqa: E731
    return Brought(read, lambda Z: np.asarray(model(Z))[:, 0])


def perceptron() -> Any:
    from sklearn.neural_network import MLPRegressor

    options: dict[str, Any] = {"solver": "lbfgs", "tol": 0.0, "max_iter": 20000, "max_fun": 40000}
    found = MLPRegressor(
        hidden_layer_sizes=(25,), activation="tanh", alpha=0.0, random_state=0, **options
    )
    return found.fit(X, Y)


def from_sklearn(tmp: Any) -> Brought:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), perceptron())
    model.fit(X, Y)
    return Brought(lambda: gm.interop.from_sklearn(model), model.predict)


def from_flax(tmp: Any) -> Brought:
    nnx = pytest.importorskip("flax.nnx")
    import jax.numpy as jnp

    parts = weights(SMOOTH)
    made = []
    for i, (W, b) in enumerate(parts):
        layer = nnx.Linear(W.shape[1], W.shape[0], rngs=nnx.Rngs(i), param_dtype=jnp.float64)
        layer.kernel[...], layer.bias[...] = jnp.asarray(W.T), jnp.asarray(b)
        made += [layer, nnx.softplus]
    model = nnx.Sequential(*made[:-1])
    return Brought(
        lambda: gm.interop.from_flax(model), lambda Z: np.asarray(model(jnp.asarray(Z)))[:, 0]
    )


FRAMEWORKS = {
    "torch module": from_torch,
    "torch state dict": from_state_dict,
    "onnx of skl2onnx": from_onnx,
    "keras file": from_keras,
    "scikit-learn pipeline": from_sklearn,
    "flax nnx": from_flax,
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_brought_agreed_certified_and_taken_back(name, tmp_path):
    brought = FRAMEWORKS[name](tmp_path)
    network = brought.read()
    own = brought.own(X)
    assert relative(network.predict(X), own) < 1e-12
    # the certificate about the network as it was brought
    posed = network.with_data(X, Y)
    proof = gm.prove(posed.network, posed.data)
    assert proof.verdict == "ACCEPTED", proof
    # and back
    taken = gm.interop.to_torch(network)
    with torch.no_grad():
        assert relative(taken(torch.tensor(X)).numpy()[:, 0], own) < 1e-12
    gm.interop.to_onnx(network, tmp_path / "back.onnx")
    assert relative(run_onnx(tmp_path / "back.onnx", X), own) < 1e-12
    if network.activations[0] in ("tanh", "relu", "sigmoid"):
        assert relative(gm.interop.to_sklearn(network).predict(X), own) < 1e-12
    else:
        with pytest.raises(gm.DataError, match="softplus"):
            gm.interop.to_sklearn(network)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


@pytest.fixture(scope="module")
def folder(tmp_path_factory, doubles):
    """The table, and a smooth and a relu network as a file of each kind."""
    from safetensors.torch import save_file

    path = tmp_path_factory.mktemp("files")
    header = {"delimiter": ",", "header": "a,b,c,d,e,y", "comments": "", "fmt": "%.17g"}
    np.savetxt(path / "data.csv", np.column_stack([X, Y]), **header)
    for name, net, activation in (("smooth", SMOOTH, "softplus"), ("relu", RELU, "relu")):
        torch.save(net.state_dict(), path / f"{name}.pt")
        save_file(net.state_dict(), path / f"{name}.safetensors")
        gm.interop.to_onnx(gm.interop.from_torch(net), path / f"{name}.onnx")
        keras_of(net, activation).save(path / f"{name}.keras")
    return path


@pytest.mark.parametrize("suffix", ["pt", "safetensors", "onnx", "keras"])
@pytest.mark.parametrize("command", ["certify", "classify", "inspect", "examine", "gap"])
def test_every_command_takes_every_file(capsys, folder, command, suffix):
    name, activation = ("relu", "relu") if command == "gap" else ("smooth", "softplus")
    given = [command, str(folder / f"{name}.{suffix}"), str(folder / "data.csv"), "--target", "y"]
    if suffix in ("pt", "safetensors"):
        given += ["--activation", activation]
    if command == "gap":
        given += ["--weight-decay", "30"]
    if command == "examine":
        given += ["--out", str(folder / f"examined-{suffix}")]
    code = main([*given, "--json"])
    said = capsys.readouterr()
    assert code == 0, said.err
    if command != "inspect":
        assert "ACCEPTED" in said.out
    if command == "examine":
        assert gm.check(folder / f"examined-{suffix}" / "given.gmc").verdict == "ACCEPTED"
    assert "outputs agree" in said.err or suffix in ("pt", "safetensors")
