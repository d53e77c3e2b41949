"""Networks on disk: one safetensors file with one network, or several (one per target or class)
that share an activation.

Tensors `0.W`, `0.v`, and with preprocessing `0.x_shift`, `0.x_scale`; the next network has `1.`,
and so on. The metadata are the strings `format` ("globalmin-network/1"), `activation`, `parameter`
(if any), `networks` (their number), `preprocessing` and `extra` (JSON). The same networks give the
same bytes. A file appears whole or not at all.

The functions here are the one door to all network files: other networks than shallow ones are
written and read by the module `storage` of their room, found by its `NETWORK` and `FORMATS`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalmin._rooms import rooms_with
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
    """What `load_network` returns: a ShallowNetwork or a DeepNetwork; preprocessing is None if none
    was saved.
    """

    network: Any
    preprocessing: Preprocessing | None
    metadata: dict[str, str]


class StoredSeveral(NamedTuple):
    """What `load_networks` returns; preprocessing is None or has one entry per network."""

    networks: tuple[Any, ...]
    preprocessing: tuple[Preprocessing, ...] | None
    metadata: dict[str, str]


def save_network(
    path: str | os.PathLike[str],
    network: Any,
    preprocessing: Preprocessing | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write one network, shallow or deep, with the preprocessing its inputs need and free strings
    of yours.

    An existing file is replaced atomically; on any error it stays as it was, and no half-written
    file is left.
    """
    save_networks(path, [network], None if preprocessing is None else [preprocessing], metadata)


def save_networks(
    path: str | os.PathLike[str],
    networks: Sequence[Any],
    preprocessing: Sequence[Preprocessing] | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write several networks of one kind and activation, `preprocessing` with one entry per
    network; otherwise as `save_network`.
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
    if not all(isinstance(text, str) for pair in (metadata or {}).items() for text in pair):
        raise DataError("metadata must map strings to strings")
    header = describe(networks[0].activation) | {
        "networks": str(len(networks)),
        "extra": canonical_json(dict(metadata or {})),
    }
    own, sizes = _written(networks)
    tensors, described = own
    if preprocessing is not None:
        for j, (size, scaling) in enumerate(zip(sizes, preprocessing, strict=True)):
            _check_inputs(size, scaling, j)
        fields = [p.as_dict() for p in preprocessing]
        tensors |= {
            f"{j}.{name}": np.array(field.pop(name), dtype=np.float64)
            for j, field in enumerate(fields)
            for name in _SCALES
        }
        header["preprocessing"] = canonical_json(fields)
    write_network_file(Path(path), tensors, header | described)


def _written(networks: Sequence[Any]) -> tuple[tuple[Tensors, dict[str, str]], list[int]]:
    """Tensors and header fields of networks of one kind, and how many inputs each has."""
    if all(isinstance(network, ShallowNetwork) for network in networks):
        tensors: Tensors = {}
        for j, network in enumerate(networks):
            tensors |= {f"{j}.W": network.W, f"{j}.v": network.v}
        return (tensors, {}), [network.n_features for network in networks]
    for room in rooms_with("storage"):
        kind = getattr(room, "NETWORK", None)
        if kind is not None and all(isinstance(network, kind) for network in networks):
            return room.written(networks), [room.n_inputs(network) for network in networks]
    kinds = ", ".join(sorted({type(network).__name__ for network in networks}))
    raise DataError(f"networks must all be of one kind that files can hold, but are {kinds}")


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
    """Read a file of `save_network` or `save_networks`, of shallow or of deep networks: (networks,
    preprocessing, metadata).
    """
    tensors, header = _read(Path(path))
    try:
        return _assemble(tensors, header)
    except (DataError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: {error}") from error


def _read(path: Path) -> tuple[Tensors, dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    path = path / "model.safetensors" if path.is_dir() else path
    if not path.is_file():
        raise DataError(
            f"{path}: there is no such file; give a network file, or the output folder of a fit"
        )
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
    if found != FORMAT and _room_of(found) is None:
        raise DataError(
            f"{path}: holds {found!r} where {FORMAT!r} is needed; give a file written by "
            "save_network"
        )


def _room_of(name: str) -> Any:
    """The module `storage` of the room that knows this format, or None."""
    rooms = (room for room in rooms_with("storage") if name in getattr(room, "FORMATS", ()))
    return next(rooms, None)


def _assemble(tensors: Tensors, header: dict[str, str]) -> StoredSeveral:
    room = None if header["format"] == FORMAT else _room_of(header["format"])
    networks = _shallow_networks(tensors, header) if room is None else room.read(tensors, header)
    preprocessing = None
    if "preprocessing" in header:
        fields = _parsed(header, "preprocessing", list)
        if len(fields) != len(networks):
            raise DataError(f"preprocessing has {len(fields)} entries for {len(networks)} networks")
        size = (lambda network: network.n_features) if room is None else room.n_inputs
        preprocessing = tuple(
            _preprocessing(fields[j], tensors, j, size(network))
            for j, network in enumerate(networks)
        )
    return StoredSeveral(networks, preprocessing, _parsed(header, "extra", dict))


def _shallow_networks(tensors: Tensors, header: dict[str, str]) -> tuple[ShallowNetwork, ...]:
    count = network_count(header)
    require_tensors(tensors, header, {f"{j}.{role}" for j in range(count) for role in ("W", "v")})
    activation = stored_activation(header)
    return tuple(
        ShallowNetwork(tensors[f"{j}.W"], tensors[f"{j}.v"], activation) for j in range(count)
    )


def require_tensors(tensors: Tensors, header: dict[str, str], own: set[str]) -> None:
    """Refuse a file that has other tensors than its networks and their preprocessing."""
    roles = _SCALES if "preprocessing" in header else ()
    expected = own | {f"{j}.{role}" for j in range(network_count(header)) for role in roles}
    if set(tensors) != expected or any(tensor.dtype != np.float64 for tensor in tensors.values()):
        raise DataError(
            f"the tensors must be {', '.join(sorted(expected))}, all F64, but are "
            f"{', '.join(sorted(tensors))}"
        )


def network_count(header: dict[str, str]) -> int:
    """How many networks the file holds."""
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


def stored_activation(header: dict[str, str]) -> Activation:
    """The activation that the header names."""
    name, parameter = header.get("activation", ""), header.get("parameter")
    try:
        return get_activation(name if parameter is None else f"{name}({parameter})")
    except DataError as error:
        raise DataError(f"{error}; one of your own must be registered before loading") from error


def _preprocessing(fields: Any, tensors: Tensors, j: int, size: int) -> Preprocessing:
    from globalmin.data.preprocessing import Preprocessing

    try:
        loaded = Preprocessing.from_dict(
            dict(fields) | {name: tensors[f"{j}.{name}"] for name in _SCALES}
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"the preprocessing of network {j} is damaged: {error}") from error
    _check_inputs(size, loaded, j)
    return loaded


def _check_inputs(d: int, preprocessing: Preprocessing, j: int) -> None:
    given = preprocessing.x_shift.shape[0] + preprocessing.bias
    if given != d:
        raise DataError(
            f"network {j} has {d} inputs, but its preprocessing gives {given}; they do not belong "
            "together"
        )
