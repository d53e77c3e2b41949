"""Edits of a sealed certificate at every level (header, inner object, claim, tensors), each
followed by a new and correct seal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
from tests.corpus.drafts import (
    Draft,
    assemble,
    canonical,
    certificate_object,
    container,
    resealed,
    seal,
    tensors_of,
)

Header = dict[str, Any]


def with_header(draft: Draft, change: Callable[[Header], Any]) -> bytes:
    """Edit the parsed header (seal zero), serialize canonically, seal."""
    raw = seal(draft)
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    change(header)
    return resealed(container(canonical(header), raw[end:]))


def with_text(draft: Draft, change: Callable[[str], str]) -> bytes:
    """Edit the header's text, seal."""
    raw = seal(draft)
    end = 8 + int.from_bytes(raw[:8], "little")
    return resealed(container(change(raw[8:end].decode().rstrip(" ")), raw[end:]))


def with_certificate_text(draft: Draft, change: Callable[[str], str]) -> bytes:
    """Edit the text of the inner object, seal."""
    return assemble(change(canonical(certificate_object(draft))), tensors_of(draft))


def with_certificate(draft: Draft, change: Callable[[Header], Any]) -> bytes:
    """Edit the inner object, seal."""

    def edit(text: str) -> str:
        value = json.loads(text)
        change(value)
        return canonical(value)

    return with_certificate_text(draft, edit)


def with_claim(draft: Draft, **fields: Any) -> bytes:
    """Set fields of the first claim to any JSON value; None removes the field."""

    def change(top: Header) -> None:
        for name, value in fields.items():
            if value is None:
                del top["claims"][0][name]
            else:
                top["claims"][0][name] = value

    return with_certificate(draft, change)


def with_tensors(draft: Draft, **arrays: Any) -> bytes:
    """Replace tensors of the first claim (or X, y, W, v); None removes one. Dots in names are
    written as two underscores.
    """
    tensors = tensors_of(draft)
    for name, array in arrays.items():
        full = name.replace("__", ".")
        if array is None:
            del tensors[full]
        else:
            tensors[full] = np.asarray(array)
    return assemble(canonical(certificate_object(draft)), tensors)
