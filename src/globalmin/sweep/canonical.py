"""The identity of a trial and the encoding of results: the same values give the same text
everywhere.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from globalmin.errors import PlanError
from globalmin.files import canonical_json

# columns of the table that are neither parameter nor result
RESERVED = "trial", "seed", "status", "error", "seconds", "tries"
FLOAT = "$float"
ARRAY = "$array"
_WORDS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def trial_id(recipe: str, parameters: Mapping[str, Any], seed: int, code: str) -> str:
    """SHA-256 of the canonical JSON of what determines a trial."""
    content = {"code": code, "parameters": dict(parameters), "recipe": recipe, "seed": seed}
    return hashlib.sha256(canonical_json(content).encode("ascii")).hexdigest()


def plain(value: object, name: str) -> Any:
    """`value` as JSON would give it back: numpy scalars, tuples and ranges become plain; anything
    else is refused by name.
    """
    value = _unwrapped(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise PlanError(
            f"{name} = {value}: a parameter must be finite; write it as a string and convert it in "
            "the recipe"
        )
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple | range):
        return [plain(item, name) for item in value]
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise PlanError(f"{name} has a key that is no string; JSON knows only strings")
        return {key: plain(item, f"{name}.{key}") for key, item in value.items()}
    raise PlanError(
        f"{name} is of type {type(value).__name__}; give numbers, strings, booleans, lists or "
        "tables of them"
    )


def encode_result(result: object, parameters: Iterable[str]) -> tuple[str, dict[str, bytes]]:
    """Text of the ledger's row and the arrays by digest; raises TypeError or ValueError that says
    what the recipe must change.
    """
    if not isinstance(result, Mapping):
        raise TypeError(
            f"the recipe returned a {type(result).__name__}; it must return a dict of scalars and "
            "numpy arrays"
        )
    taken = {*parameters, *RESERVED}
    encoded: dict[str, Any] = {}
    blobs: dict[str, bytes] = {}
    for name, value in result.items():
        if not isinstance(name, str):
            raise TypeError(f"the recipe's result has the key {name!r}; keys must be strings")
        if name in taken:
            raise ValueError(
                f"the recipe's result repeats {name!r}, a parameter or reserved column; return it "
                "under another name"
            )
        encoded[name] = _encode(name, value, blobs)
    return canonical_json(encoded), blobs


def decode_result(text: str) -> dict[str, Any]:
    """Scalars as they were; an array is the text 'sha256:...'."""
    return {name: _decode(value) for name, value in json.loads(text).items()}


def _encode(name: str, value: object, blobs: dict[str, bytes]) -> Any:
    value = _unwrapped(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {FLOAT: str(value)}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].ndarray):
        content = _array_bytes(name, value)
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {ARRAY: digest}
    raise TypeError(
        f"the recipe's result {name!r} is of type {type(value).__name__}; "
        "return scalars (bool, int, float, str, None) or numpy arrays"
    )


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        return _WORDS[value[FLOAT]] if FLOAT in value else f"sha256:{value[ARRAY]}"
    return value


def _array_bytes(name: str, array: Any) -> bytes:
    import io

    import numpy as np

    if array.dtype.hasobject:
        raise TypeError(
            f"the recipe's result {name!r} is an array of Python objects; give it a numeric dtype"
        )
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _unwrapped(value: Any) -> Any:
    """A numpy scalar as the Python scalar it stands for."""
    if "numpy" in sys.modules and isinstance(value, sys.modules["numpy"].generic):
        return value.item()
    return value
