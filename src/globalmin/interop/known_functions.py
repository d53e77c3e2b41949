"""The activation that a function of one number is, found by its values; for models that hold
functions instead of names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.errors import DataError

CANDIDATES = (
    "linear",
    "relu",
    "tanh",
    "sigmoid",
    "softplus",
    "gelu",
    "swish",
    "erf",
    "abs",
    "quadratic",
)
GRID = np.concatenate(
    [np.linspace(-8.0, 8.0, 129), [-17.3, -11.1, 11.1, 17.3, 19.99, 20.01, 25.0, 40.0]]
)
GRID.sort()
WIDEST = 1e-7  # constants in float32 make so much of a function, relative to 1 + |phi|
NOT_KNOWN = (
    f"one of {', '.join(CANDIDATES[1:])} or leaky_relu (gelu with erf: the tanh approximation, "
    "jax's default, is another function)"
)


class Recognized(NamedTuple):
    """An activation found by its values: its spelling, and how far a function is from it at most on
    the grid (0 if by rounding only), from which z on.
    """

    name: str
    off: float = 0.0
    begins: float = -np.inf

    def note(self, where: str) -> str | None:
        """What is said about a function that is not quite the activation."""
        if not self.off:
            return None
        return (
            f"{where}: read as {self.name}, from which it is up to {self.off:.2g} off (constants "
            "of the file in float32, or a threshold)"
        )


def recognized(function: Callable[[Array], Array], *, unit: float = 2.0**-52) -> Recognized | None:
    """The activation with these values on a grid, None if there is none.

    Parameters
    ----------
    function : Callable[[Array], Array]
        Elementwise.
    unit : float
        Roundoff of its arithmetic; values may be off by 64 units without a word.
    """
    try:
        values = np.asarray(function(GRID), dtype=np.float64)
        below, middle, above = np.asarray(function(np.array([-1.0, 0.0, 1.0])), dtype=np.float64)
    except Exception:  # a function of somebody else may raise anything: then it is none of ours
        return None
    if values.shape != GRID.shape or not np.isfinite(values).all():
        return None
    for name in (*CANDIDATES, *_with_parameter(float(below), float(middle), float(above))):
        expected = get_activation(name)(GRID)
        off, size = np.abs(values - expected), 1.0 + np.abs(expected)
        if (off <= max(WIDEST, 64.0 * unit) * size).all():
            beyond = np.flatnonzero(off > 64.0 * unit * size)
            if not beyond.size:
                return Recognized(name)
            first = -np.inf if beyond[0] == 0 else float(GRID[beyond[0] - 1])
            return Recognized(name, float(off.max()), first)
    return None


def _with_parameter(below: float, middle: float, above: float) -> list[str]:
    """The slope or steepness that the values at -1, 0 and 1 would have, to twelve digits."""
    found = [f"leaky_relu({-below!r})"] if 0.0 < -below < 1.0 else []
    if 0.0 < middle < 1e3:
        found.append(f"softplus({math.log(2.0) / middle:.12g})")
    if 0.5 < above < 1.0:
        found.append(f"sigmoid({math.log(above / (1.0 - above)):.12g})")
    return found


def check_activation(activation: str | None) -> str | None:
    """A name given by the user, in our spelling."""
    if activation is None:
        return None
    try:
        return get_activation(activation).spelling
    except DataError as error:
        raise DataError(f"activation={activation!r}: {error}") from error
