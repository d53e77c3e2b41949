"""Pixels and patches: how a signal or an image is cut into overlapping windows with zero padding
and stride 1 (DU-M3c).

Inputs are n x channels x pixels or n x channels x height x width; inside, every array is n x pixels
x channels, with the pixels of an image row by row. A plain vector is one pixel with d channels and
a window of one, so that the three architectures share all formulas.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from globalmin._options import ARCHITECTURES, Architecture, one_of
from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.references import states


@dataclass(frozen=True)
class Geometry:
    """Shape of one input and the window that slides over it.

    Attributes
    ----------
    shape : (d,) for vectors, (channels, pixels) for signals, (channels, height, width) for images.
    patch_size : odd side of the window; an image's window is a square. 1 for vectors.
    """

    shape: tuple[int, ...]
    patch_size: int = 1

    def __post_init__(self) -> None:
        if not 1 <= len(self.shape) <= 3 or min(self.shape) < 1:
            raise DataError(
                f"one input has shape {self.shape}; give (features,), (channels, pixels) or "
                "(channels, height, width)"
            )
        size = whole_number(self.patch_size, "patch_size")
        if size % 2 == 0:
            raise DataError(
                f"patch_size={size} is even: a window needs a middle pixel; give an odd number "
                f"such as {size + 1}"
            )
        if size > min(self.extent):
            raise DataError(
                f"patch_size={size} is larger than the signal ({' x '.join(map(str, self.extent))} "
                f"pixels): give an odd number of at most {min(self.extent)}, or flatten the input "
                "and take architecture='resnet'"
            )

    @property
    def extent(self) -> tuple[int, ...]:
        """Pixels along each axis; (1,) for vectors."""
        return self.shape[1:] or (1,)

    @property
    def channels(self) -> int:
        """Numbers per pixel."""
        return self.shape[0]

    @property
    def pixels(self) -> int:
        """Number p of pixels."""
        return math.prod(self.extent)

    @property
    def window(self) -> int:
        """Number q of pixels in a window."""
        return self.patch_size ** len(self.extent)

    @cached_property
    def table(self) -> NDArray[np.intp]:
        """The p x q neighbours of every pixel, in one order of the offsets; the number p stands for
        the zero padding.
        """
        return _neighbours(self.extent, self.patch_size)

    def arrange(self, X: ArrayLike) -> Array:
        """Inputs as n x pixels x channels; X is n x shape, or n rows with the same numbers in the
        same order.
        """
        inputs = real_array(X, "X")
        if inputs.shape[1:] != self.shape and inputs.shape[1:] != (math.prod(self.shape),):
            raise DataError(
                f"X has shape {inputs.shape}; one row must have shape {self.shape}, or be "
                "that flattened"
            )
        return np.ascontiguousarray(
            inputs.reshape(len(inputs), self.channels, self.pixels).transpose(0, 2, 1)
        )

    @states("DU-M3c")
    def patches(self, x: Array) -> Array:
        """phi(x): n x p x qc from n x p x c, the q neighbours of each pixel, zero outside."""
        if self.window == 1:
            return x
        n, p, c = x.shape
        padded = np.concatenate([x, np.zeros((n, 1, c))], axis=1)
        return padded[:, self.table].reshape(n, p, self.window * c)

    def fold(self, g: Array) -> Array:
        """The transpose of `patches`: every window entry is added to the pixel it was taken
        from.
        """
        if self.window == 1:
            return g
        n, p, _ = g.shape
        windows = g.reshape(n, p, self.window, -1)
        total = np.zeros((n, p + 1, windows.shape[3]))
        for o in range(self.window):
            total[:, self.table[:, o]] += windows[
                :, :, o
            ]  # pixels differ for one offset; only the padding repeats
        return total[:, :p]

    @states("DU-D3.3")
    def patch_gram(self, S: Array) -> Array:
        """T(S), (np) x (np): sum over the offsets o of S_{i(l+o), j(r+o)}, zero outside; its own
        transpose as a linear map.
        """
        if self.window == 1:
            return S
        p = self.pixels
        n = len(S) // p
        padded = np.zeros((n, p + 1, n, p + 1))
        padded[:, :p, :, :p] = S.reshape(n, p, n, p)
        total = np.zeros((n, p, n, p))
        for shifted in self.table.T:
            total += padded[:, shifted][:, :, :, shifted]
        return total.reshape(n * p, n * p)


def _neighbours(extent: tuple[int, ...], patch_size: int) -> NDArray[np.intp]:
    reach = (patch_size - 1) // 2
    places = np.indices(extent).reshape(len(extent), -1)
    offsets = np.indices((patch_size,) * len(extent)).reshape(len(extent), -1) - reach
    moved = places[:, :, None] + offsets[:, None, :]
    limits = np.array(extent)[:, None, None]
    inside = ((moved >= 0) & (moved < limits)).all(axis=0)
    numbers = np.ravel_multi_index(tuple(np.clip(moved, 0, limits - 1)), extent)
    return np.where(inside, numbers, math.prod(extent))


def geometry_of(
    shape: tuple[int, ...], architecture: Architecture, patch_size: int = 3
) -> Geometry:
    """The geometry of one input of this shape; windows slide only in a convolutional
    architecture.
    """
    one_of("architecture", architecture, ARCHITECTURES)
    if architecture == "convolutional_resnet":
        if len(shape) not in (2, 3):
            raise DataError(
                f"one input has shape {shape}; a convolution needs (channels, pixels) or "
                "(channels, height, width)"
            )
        return Geometry(shape, patch_size)
    if len(shape) != 1:
        raise DataError(
            f"one input has shape {shape}; architecture={architecture!r} takes vectors: flatten "
            "each input"
        )
    return Geometry(shape)


def real_array(X: ArrayLike, name: str) -> Array:
    """Finite float64 numbers with at least one row."""
    try:
        if np.iscomplexobj(X):
            raise TypeError
        inputs = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} is not an array of real numbers; give floats") from None
    if inputs.ndim < 2 or 0 in inputs.shape:
        raise DataError(f"{name} has shape {inputs.shape}; give n >= 1 inputs, one per row")
    if not np.isfinite(inputs).all():
        raise DataError(f"{name} contains NaN or infinity; remove or impute these entries first")
    return inputs


def whole_number(value: int, name: str) -> int:
    """A positive integer, or the refusal."""
    try:
        number = operator.index(value)
    except TypeError:
        raise DataError(f"{name}={value!r} must be an integer") from None
    if isinstance(value, bool) or number < 1:
        raise DataError(f"{name}={value!r} must be at least 1")
    return number
