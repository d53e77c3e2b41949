"""Recipes for the tests of the bridge to the sweep engine: importable by worker processes."""

from pathlib import Path

import numpy as np


def square(*, x, folder, seed):
    """The square, an array, and a file for every call."""
    with (Path(folder) / "calls.txt").open("a", encoding="utf-8") as file:
        file.write(f"{x} {seed}\n")
    return {"square": x * x, "ramp": np.arange(float(x)) + seed}


def picky(*, x, seed):
    """Fails at 2."""
    if x == 2:
        raise ValueError("two is not welcome")
    return {"value": float(x)}
