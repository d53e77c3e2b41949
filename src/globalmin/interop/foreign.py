"""Which framework a model is of: the one door that other rooms reach by name (`_rooms.py`), so that
a family need not know who else trains networks.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from globalmin.errors import DataError
from globalmin.interop.network import ImportedNetwork

SUFFIXES = {".onnx": "onnx", ".pt": "torch", ".pth": "torch", ".keras": "keras"}
KINDS = (
    "a torch module, an ONNX model, a Keras model, a perceptron or pipeline of scikit-learn, a "
    "flax.nnx module"
)


def read(model: Any) -> ImportedNetwork | None:
    """The network of a model of another framework; None if it is of none that is known."""
    if isinstance(model, ImportedNetwork):
        return model
    family = [kind.__module__.split(".")[0] for kind in type(model).__mro__]
    if "keras" in family:  # before torch: with that backend its models are modules of torch too
        from globalmin.interop.keras_models import from_keras

        return from_keras(model)
    if "torch" in family:
        from globalmin.interop.torch_modules import from_torch

        return from_torch(model)
    if "flax" in family:
        from globalmin.interop.flax_modules import from_flax

        return from_flax(model)
    if "onnx" in family or type(model).__name__ == "ModelProto":
        from globalmin.interop.onnx_graphs import from_onnx

        return from_onnx(model)
    if hasattr(model, "coefs_") or (hasattr(model, "steps") and "sklearn" in family):
        from globalmin.interop.sklearn_models import from_sklearn

        return from_sklearn(model)
    return None


def from_file(
    path: str | os.PathLike[str], *, activation: str | None = None, output: str = "identity"
) -> ImportedNetwork:
    """The network in a file, by its suffix: .onnx, .keras, .pt or .pth (a state dict), or
    .safetensors with the tensors of a state dict.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The file; nothing in it is executed.
    activation : str | None
        Of the hidden layers, for files that hold tensors only.
    output : str
        Function of the outputs, for files that hold tensors only.
    """
    kind = SUFFIXES.get(Path(path).suffix.lower())
    if not Path(path).is_file():
        raise DataError(f"{path}: there is no such file; check the path")
    if kind == "onnx":
        from globalmin.interop.onnx_graphs import from_onnx

        return from_onnx(path)
    if kind == "keras":
        from globalmin.interop.keras_models import from_keras

        return from_keras(path)
    if kind == "torch":
        from globalmin.interop.torch_modules import from_torch

        return from_torch(path, activation=activation, output=output)
    if Path(path).suffix.lower() == ".safetensors":
        from globalmin.interop.state_dicts import from_tensors

        return from_tensors(_tensors(Path(path)), activation, Path(path).name, output=output)
    raise DataError(
        f"{path}: the suffix {Path(path).suffix!r} is not known; give .onnx, .keras, .pt, .pth or "
        ".safetensors"
    )


def _tensors(path: Path) -> dict[str, Any]:
    """Those of a .safetensors file; a model of globalmin is told apart by its header."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as stream:
            if str((stream.metadata() or {}).get("format", "")).startswith("globalmin-"):
                raise DataError(
                    f"{path}: a model of globalmin, not of another framework; read it with "
                    "gm.load_network, or gm.load to predict"
                )
            return {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise DataError(f"{path}: not a readable safetensors file ({error})") from error
