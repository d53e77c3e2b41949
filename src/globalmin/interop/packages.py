"""The packages of other frameworks, imported on use; what is not installed is said with the extra
that brings it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from globalmin.errors import DataError

EXTRAS = {"torch": "torch", "onnx": "onnx", "keras": "keras", "flax": "flax", "jax": "flax"}


def package(name: str) -> Any:
    """The package or one of its modules, or a DataError that says what to install."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        root = name.split(".")[0]
        if error.name is None or error.name.split(".")[0] != root:
            raise  # something that the package itself lacks
        raise DataError(
            f"{root} is not installed; pip install 'globalmin[{EXTRAS[root]}]'"
        ) from error


@contextmanager
def double_precision(wanted: bool = True) -> Iterator[None]:
    """JAX with 64-bit numbers inside, as it was outside."""
    if not wanted:
        yield
        return
    jax = package("jax")
    home = jax if hasattr(jax, "enable_x64") else package("jax.experimental")
    enable = home.enable_x64
    with enable(True):
        yield
