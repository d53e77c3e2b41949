"""Networks on disk: one safetensors file with one network, or several (one per target or class)
that share an activation.

Tensors `0.W`, `0.v`, and with preprocessing `0.x_shift`, `0.x_scale`; the next network has `1.`,
and so on. The metadata are the strings `format` ("globalmin-network/1"), `activation`, `parameter`
(if any), `networks` (their number), `preprocessing` and `extra` (JSON). The same networks give the
same bytes. A file appears whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalmin._types import NDArray
from globalmin.activations import Activation, get_activation
from globalmin.errors import DataError
from globalmin.files import canonical_json, packed, save_atomically
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data.preprocessing import Preprocessing

    Tensors = dict[str, NDArray[np.float64]]

FORMAT = "globalmin-network/1"
_SCALES = ("x_shift", "x_scale")


class Stored(NamedTuple):
    """What `load_network` returns; preprocessing is None if none was saved."""

    network: ShallowNetwork
    preprocessing: Preprocessing | None
    metadata: dict[str, str]


class StoredSeveral(NamedTuple):
    """What `load_networks` returns; preprocessing is None or has one entry per network."""

    networks: tuple[ShallowNetwork, ...]
    preprocessing: tuple[Preprocessing, ...] | None
    metadata: dict[str, str]


def save_network(
    path: str | os.PathLike[str],
    network: ShallowNetwork,
    preprocessing: Preprocessing | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write one network, with the preprocessing its inputs need and free strings of yours.

    An existing file is replaced atomically; on any error it stays as it was, and no half-written
    file is left.
    """
    save_networks(path, [network], None if preprocessing is None else [preprocessing], metadata)


def save_networks(
    path: str | os.PathLike[str],
    networks: Sequence[ShallowNetwork],
    preprocessing: Sequence[Preprocessing] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write several networks of one activation, `preprocessing` with one entry per network;
    otherwise as `save_network`.
    """
    if not networks or len({network.activation for network in networks}) != 1:
        raise DataError(
            "networks must be a non-empty list with one common activation; save others in files of "
            "their own"
        )
    if preprocessing is not None and len(preprocessing) != len(networks):
        raise DataError(
            f"preprocessing has {len(preprocessing)} entries for {len(networks)} networks; give "
            "one for each"
        )
    for j, (network, scaling) in enumerate(zip(networks, preprocessing or (), strict=False)):
        _check_inputs(network.n_features, scaling, j)
    if not all(isinstance(text, str) for pair in (metadata or {}).items() for text in pair):
        raise DataError("metadata must map strings to strings")
    tensors: Tensors = {}
    header = describe(networks[0].activation) | {
        "networks": str(len(networks)),
        "extra": canonical_json(dict(metadata or {})),
    }
    for j, network in enumerate(networks):
        tensors |= {f"{j}.W": network.W, f"{j}.v": network.v}
    if preprocessing is not None:
        fields = [p.as_dict() for p in preprocessing]
        tensors |= {
            f"{j}.{name}": np.array(field.pop(name), dtype=np.float64)
            for j, field in enumerate(fields)
            for name in _SCALES
        }
        header["preprocessing"] = canonical_json(fields)
    write_network_file(Path(path), tensors, header)


def describe(activation: Activation) -> dict[str, str]:
    """Format and activation as header fields."""
    described = {"format": FORMAT, "activation": activation.name}
    values = activation.coefficients or (activation.parameter,)
    if values != (None,):
        described["parameter"] = ",".join(repr(value) for value in values)
    return described


def write_network_file(path: Path, tensors: Tensors, header: Mapping[str, str]) -> None:
    """Write the file of a network, whole or not at all."""
    if not path.parent.is_dir():
        raise DataError(f"{path}: the folder {path.parent} does not exist; create it first")
    save_atomically(path, packed(tensors, header))


def load_network(path: str | os.PathLike[str]) -> Stored:
    """Read a file of `save_network`: (network, preprocessing, metadata)."""
    stored = load_networks(path)
    if len(stored.networks) != 1:
        raise DataError(
            f"{path}: holds {len(stored.networks)} networks; read it with load_networks"
        )
    return Stored(
        stored.networks[0],
        stored.preprocessing[0] if stored.preprocessing else None,
        stored.metadata,
    )


def load_networks(path: str | os.PathLike[str]) -> StoredSeveral:
    """Read a file of `save_network` or `save_networks`: (networks, preprocessing, metadata)."""
    tensors, header = _read(Path(path))
    try:
        return _assemble(tensors, header)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error


def _read(path: Path) -> tuple[Tensors, dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        with safe_open(path, framework="numpy") as stream:
            header = dict(stream.metadata() or {})
            _check_format(path, header)
            return {name: stream.get_tensor(name) for name in stream.keys()}, header  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        raise DataError(
            f"{path}: not a readable safetensors file ({error}); give a file written by "
            "save_network"
        ) from error


def _check_format(path: Path, header: dict[str, str]) -> None:
    found = header.get("format", "no format")
    if found != FORMAT:
        raise DataError(
            f"{path}: holds {found!r} where {FORMAT!r} is needed; give a file written by "
            "save_network"
        )


def _assemble(tensors: Tensors, header: dict[str, str]) -> StoredSeveral:
    count = _count(header)
    fields = _parsed(header, "preprocessing", list) if "preprocessing" in header else None
    roles = ("W", "v") if fields is None else ("W", "v", *_SCALES)
    expected = {f"{j}.{role}" for j in range(count) for role in roles}
    if set(tensors) != expected or any(tensor.dtype != np.float64 for tensor in tensors.values()):
        raise DataError(
            f"the tensors must be {', '.join(sorted(expected))}, all F64, but are "
            f"{', '.join(sorted(tensors))}"
        )
    activation = _activation(header)
    networks = tuple(
        ShallowNetwork(tensors[f"{j}.W"], tensors[f"{j}.v"], activation) for j in range(count)
    )
    preprocessing = None
    if fields is not None:
        if len(fields) != count:
            raise DataError(f"preprocessing has {len(fields)} entries for {count} networks")
        preprocessing = tuple(_preprocessing(fields[j], tensors, j) for j in range(count))
    return StoredSeveral(networks, preprocessing, _parsed(header, "extra", dict))


def _count(header: dict[str, str]) -> int:
    text = header.get("networks", "")
    if not (text.isascii() and text.isdigit() and 1 <= len(text) <= 6 and int(text) >= 1):
        raise DataError(f"networks={text!r} must be the number of networks")
    return int(text)


def _parsed(header: dict[str, str], key: str, kind: type) -> Any:
    try:
        value = json.loads(header.get(key, ""))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, kind):
        raise DataError(f"the metadata field {key!r} is missing or damaged")
    return value


def _activation(header: dict[str, str]) -> Activation:
    name, parameter = header.get("activation", ""), header.get("parameter")
    try:
        return get_activation(name if parameter is None else f"{name}({parameter})")
    except DataError as error:
        raise DataError(f"{error}; one of your own must be registered before loading") from error


def _preprocessing(fields: Any, tensors: Tensors, j: int) -> Preprocessing:
    from globalmin.data.preprocessing import Preprocessing

    try:
        loaded = Preprocessing.from_dict(
            dict(fields) | {name: tensors[f"{j}.{name}"] for name in _SCALES}
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the preprocessing of network {j} is damaged: {error}") from error
    _check_inputs(tensors[f"{j}.W"].shape[1], loaded, j)
    return loaded


def _check_inputs(d: int, preprocessing: Preprocessing, j: int) -> None:
    given = preprocessing.x_shift.shape[0] + preprocessing.bias
    if given != d:
        raise DataError(
            f"network {j} has {d} inputs, but its preprocessing gives {given}; they do not belong "
            "together"
        )
