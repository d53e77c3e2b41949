"""Edits of the JSON inside a certificate: any place replaced, removed, renamed or given a
neighbor.
"""

from __future__ import annotations

import json
from typing import Any


def parts(raw: bytes) -> tuple[dict[str, Any], bytes]:
    end = 8 + int.from_bytes(raw[:8], "little")
    return json.loads(raw[8:end]), raw[end:]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path into a JSON value."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path, *(place for key, inner in items for place in places(inner, (*path, key)))]


def edited(value: Any, place: tuple[Any, ...], action: str, new: Any) -> Any:
    """The value with one place replaced, removed, renamed or given a neighbor."""
    if not place:
        return new
    parent = value
    for key in place[:-1]:
        parent = parent[key]
    key = place[-1]
    if action == "replace":
        parent[key] = new
    elif action == "remove":
        del parent[key]
    elif isinstance(parent, dict):
        parent[str(new)] = parent[key] if action == "add" else parent.pop(key)
    else:
        parent.insert(key, new)
    return value
