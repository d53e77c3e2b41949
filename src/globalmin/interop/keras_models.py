"""Networks of Keras 3, with any of its backends: models, and .keras files, of which no code is
executed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.interop.agreement import agreed
from globalmin.interop.findings import Findings
from globalmin.interop.known_functions import NOT_KNOWN, recognized
from globalmin.interop.network import ImportedNetwork
from globalmin.interop.packages import double_precision, package
from globalmin.interop.steps import Step, assembled

NAMES = {
    "linear": None,
    "relu": "relu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "softplus": "softplus",
    "silu": "swish",
    "leaky_relu": "leaky_relu(0.2)",  # the default slope of keras
    "softmax": "softmax",
    "exponential": "exp",
}
PASSED = ("InputLayer", "Dropout", "GaussianNoise", "GaussianDropout", "Flatten", "Identity")
NEEDED = (
    "Dense layers with relu, leaky_relu, tanh, sigmoid, softplus, silu or gelu; Activation, ReLU, "
    "LeakyReLU, Softmax, Dropout, Flatten, and Normalization or Rescaling in front"
)
_SINGLE = 2.0**-23


def from_keras(model: Any, *, probe: ArrayLike | None = None) -> ImportedNetwork:
    """A network of Keras, by its layers, its weights as doubles without change of value.

    Parameters
    ----------
    model : Any
        A model whose layers follow each other, or the path of a .keras file.
    probe : ArrayLike | None
        Rows at which the outputs are compared with the model's own; by default 64 random ones.

    Returns
    -------
    ImportedNetwork
        Its `agreement` says how far the outputs are from those of the model: in float64 with the
        backends tensorflow and jax (a copy of the model is asked), in float32 with torch and, for
        tanh, with jax, where Keras casts to it whatever is given.
    """
    keras = _keras()
    if isinstance(model, str | os.PathLike):
        origin, model = os.path.basename(os.fspath(model)), _loaded(model, keras)
    else:
        origin = f"the Keras model {getattr(model, 'name', type(model).__name__)}"
    if not hasattr(model, "layers") or not hasattr(model, "get_weights"):
        raise DataError(
            f"model={type(model).__name__} is no Keras model; give one, or the path of a .keras "
            "file"
        )
    findings = Findings(origin)
    steps = [step for layer in model.layers for step in _layer(layer, findings, keras)]
    network = assembled(steps, findings, origin=origin)
    rows = None if probe is None else np.asarray(probe, dtype=np.float64)
    theirs, precision, reason = _own_outputs(model, network, keras)
    slack = _slack(network, keras)
    return agreed(network, theirs, precision=precision, reason=reason, probe=rows, slack=slack)


def _keras() -> Any:
    """Keras; if nobody chose a backend, one that is installed."""
    if "keras" not in sys.modules and "KERAS_BACKEND" not in os.environ:
        for name in ("tensorflow", "jax", "torch"):
            if find_spec(name) is not None:
                os.environ["KERAS_BACKEND"] = name
                break
    return package("keras")


def _slack(network: ImportedNetwork, keras: Any) -> dict[int, tuple[float, float]]:
    """The backend torch takes softplus(z) = z beyond 20."""
    if keras.backend.backend() != "torch":
        return {}
    jump = (20.0, float(np.log1p(np.exp(-20.0))))
    return {h: jump for h, layer in enumerate(network.layers) if layer.activation == "softplus"}


def _loaded(path: Any, keras: Any) -> Any:
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # zip, json, h5 and keras raise their own errors
        raise DataError(
            f"{path}: not a .keras file that can be read without executing code "
            f"({type(error).__name__}: {str(error).splitlines()[0]:.200}); save it with "
            "model.save('model.keras')"
        ) from error


def _layer(layer: Any, findings: Findings, keras: Any) -> list[Step]:
    kind, where = type(layer).__name__, f"layer {layer.name}"
    if kind in ("Sequential", "Functional"):
        return [step for part in layer.layers for step in _layer(part, findings, keras)]
    if kind == "Dense":
        kernel = _array(layer.kernel, keras)
        b = _array(layer.bias, keras) if layer.use_bias else None
        return [Step("affine", where, (kernel.T, b)), *_function(layer, where, findings, keras)]
    if kind == "Activation":
        return _function(layer, where, findings, keras)
    if kind == "LeakyReLU":
        return [Step("activation", where, f"leaky_relu({float(layer.negative_slope)!r})")]
    if kind == "ReLU" and layer.max_value is None and not layer.threshold:
        slope = float(layer.negative_slope)
        return [Step("activation", where, f"leaky_relu({slope!r})" if slope else "relu")]
    if kind == "Softmax":
        return [Step("output", where, "softmax")]
    if kind == "Rescaling":
        steps = [Step("multiply", where, layer.scale), Step("add", where, layer.offset)]
        return steps if np.any(layer.offset) else steps[:1]
    if kind == "Normalization":
        mean, variance = (_array(x, keras).ravel() for x in (layer.mean, layer.variance))
        spread = np.maximum(np.sqrt(variance), keras.backend.epsilon())
        return [Step("subtract", where, mean), Step("divide", where, spread)]
    if kind not in PASSED:
        findings.add(f"the layer {kind}", where, NEEDED)
    return []


def _function(layer: Any, where: str, findings: Findings, keras: Any) -> list[Step]:
    function = layer.activation
    name = getattr(function, "__name__", type(function).__name__)
    if name in NAMES:
        known = NAMES[name]
        if known is None:
            return []
        return [Step("output" if known in ("softmax", "exp") else "activation", where, known)]

    def single(z: Array) -> Array:
        return _array(function(keras.ops.convert_to_tensor(z.astype(np.float32))), keras)

    seen = recognized(single, unit=_SINGLE)
    if seen is None:
        findings.add(f"the activation {name}", where, NOT_KNOWN)
        return []
    return [Step("activation", where, seen.name)]


def _array(value: Any, keras: Any) -> Array:
    return np.asarray(keras.ops.convert_to_numpy(value), dtype=np.float64)


def _own_outputs(
    model: Any, network: ImportedNetwork, keras: Any
) -> tuple[Callable[[Array], Array], str, str]:
    """The model's own outputs: by a copy in float64, if its configuration makes one."""
    backend = keras.backend.backend()
    with_tanh = "tanh" in (*network.activations, network.output)
    if backend == "torch" or (backend == "jax" and with_tanh):
        what = "computes tanh" if backend == "jax" else "computes"
        reason = f"with the backend {backend} Keras {what} in float32, whatever its numbers are"
        return _outputs(model, np.float32, keras), "float32", reason
    try:
        with double_precision(backend == "jax"):
            copy = type(model).from_config(_in_doubles(model.get_config()))
            copy.build((None, network.n_features))
            copy.set_weights([_array(weight, keras) for weight in model.weights])
        double = _outputs(copy, np.float64, keras)
        double(np.zeros((2, network.n_features)))
    except Exception as error:  # models of one's own may raise anything
        reason = f"no copy of it runs in float64: {str(error).splitlines()[0]:.100}"
        return _outputs(model, np.float32, keras), "float32", reason
    return double, "float64", ""


def _outputs(of: Any, kind: Any, keras: Any) -> Callable[[Array], Array]:
    name = np.dtype(kind).name  # else float64 becomes keras's default
    is_wide = name == "float64" and keras.backend.backend() == "jax"

    def run(X: Array) -> Array:
        with double_precision(is_wide):
            made = of(keras.ops.convert_to_tensor(X, dtype=name), training=False)
            if keras.backend.standardize_dtype(made.dtype) != name:
                raise TypeError(f"its outputs are {made.dtype}")
            return _array(made, keras)

    return run


def _in_doubles(config: Any) -> Any:
    """The configuration with float64 in place of every type."""
    if isinstance(config, dict):
        return {
            key: "float64" if key == "dtype" and value is not None else _in_doubles(value)
            for key, value in config.items()
        }
    if isinstance(config, list | tuple):
        return type(config)(_in_doubles(part) for part in config)
    return config
