"""How a signal, an image or an image with channels is cut into patches: size, stride, padding,
constant entry and scaling of one patch.

One table says for every entry of every patch which number of the sample it is, so that networks,
files and certificates mean the same patches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from globalmin._options import PATCH_SCALINGS, PatchScaling, one_of
from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.references import states

Size = int | Sequence[int]
Padding = int | str | Sequence[int]


@dataclass(frozen=True)
class PatchLayout:
    """The patches of one sample; get one from `patch_layout`.

    Attributes
    ----------
    shape : tuple[int, ...]
        Of a sample: (length,), (height, width) or (height, width, channels).
    patch_size, stride : tuple[int, ...]
        One number per axis; channels are never cut.
    padding : tuple[tuple[int, int], ...]
        Zeros before and after, per axis.
    bias : bool
        Whether a constant entry 1 is appended to every patch.
    normalize : str
        "none", "unit" (every patch divided by its length, zero patches stay) or "contrast" (its
        mean subtracted first).
    """

    shape: tuple[int, ...]
    patch_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    bias: bool = False
    normalize: PatchScaling = "none"

    @property
    def axes(self) -> int:
        """1 for signals, 2 for images."""
        return len(self.patch_size)

    @property
    def channels(self) -> int:
        """Numbers per pixel."""
        return math.prod(self.shape[self.axes :])

    @property
    def n_features(self) -> int:
        """Numbers of a sample."""
        return math.prod(self.shape)

    @property
    def counts(self) -> tuple[int, ...]:
        """Patches along each axis."""
        sides = zip(self.shape, self.patch_size, self.stride, self.padding, strict=False)
        return tuple((length + sum(pad) - size) // step + 1 for length, size, step, pad in sides)

    @property
    def n_patches(self) -> int:
        """Patches k of a sample."""
        return math.prod(self.counts)

    @property
    def entries(self) -> int:
        """Entries p of a patch, the constant one included."""
        return math.prod(self.patch_size) * self.channels + int(self.bias)

    @property
    def filter_shape(self) -> tuple[int, ...]:
        """Shape of a filter as a picture, without its constant entry."""
        return (*self.patch_size, *self.shape[self.axes :])

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """For every patch (rows) and entry the place of the number in the flat sample;
        `n_features` stands for the zero of the padding. Without the constant entry.
        """
        numbers = np.arange(self.n_features).reshape(*self.shape[: self.axes], self.channels)
        frame = np.pad(numbers, (*self.padding, (0, 0)), constant_values=self.n_features)
        axes = tuple(range(self.axes))
        windows = np.lib.stride_tricks.sliding_window_view(frame, self.patch_size, axis=axes)
        chosen = windows[tuple(slice(None, None, step) for step in self.stride)]
        # the window axes come last, behind the channels: channels belong innermost
        ordered = np.moveaxis(chosen, self.axes, -1)
        return np.ascontiguousarray(ordered, dtype=np.int64).reshape(self.n_patches, -1)

    @states("DU-M5", "DU-M6")
    def patches(self, X: ArrayLike) -> Array:
        """Patches n x k x p of samples n x shape, or of the same samples as rows."""
        flat = self.rows(X)
        padded = np.concatenate([flat, np.zeros((len(flat), 1))], axis=1)
        Z = padded[:, self.table]
        if self.normalize == "contrast":
            Z = Z - Z.mean(axis=2, keepdims=True)
        if self.normalize != "none":
            length = np.linalg.norm(Z, axis=2, keepdims=True)
            Z = np.divide(Z, length, out=np.zeros_like(Z), where=length > 0.0)
        if not self.bias:
            return Z
        return np.concatenate([Z, np.ones((*Z.shape[:2], 1))], axis=2)

    def rows(self, X: ArrayLike) -> Array:
        """The samples as rows, checked against the shape."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim < 2 or X.shape[1:] not in (self.shape, (self.n_features,)) or len(X) == 0:
            raise DataError(
                f"X has shape {X.shape}; one sample must have shape {self.shape}, or be that "
                "flattened"
            )
        if not np.isfinite(X).all():
            raise DataError("X contains NaN or infinity; remove or impute these entries first")
        return X.reshape(len(X), -1)

    def as_dict(self) -> dict[str, Any]:
        """All that `from_dict` needs, for files."""
        return {
            "shape": list(self.shape),
            "patch_size": list(self.patch_size),
            "stride": list(self.stride),
            "padding": [list(pair) for pair in self.padding],
            "bias": self.bias,
            "normalize": self.normalize,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> PatchLayout:
        """The layout of `as_dict`; DataError for what cannot be one."""
        shape = _sizes(fields["shape"], "shape", (1, 2, 3))
        axes = min(len(shape), 2)
        pairs = tuple(_sizes(pair, "padding", (2,), least=0) for pair in fields["padding"])
        size, stride = (_sizes(fields[name], name, (axes,)) for name in ("patch_size", "stride"))
        if len(pairs) != axes or not isinstance(fields["bias"], bool):
            raise DataError("the padding or the bias of the patches is damaged")
        normalize = one_of("normalize", fields["normalize"], PATCH_SCALINGS)
        padding = tuple((first, last) for first, last in pairs)
        return _fitting(cls(shape, size, stride, padding, fields["bias"], normalize))


def patch_layout(
    shape: Sequence[int],
    patch_size: Size | None = None,
    stride: Size = 1,
    *,
    padding: Padding = 0,
    bias: bool = False,
    normalize: PatchScaling = "none",
) -> PatchLayout:
    """Say how samples of a shape are cut.

    Parameters
    ----------
    shape : Sequence[int]
        Of one sample: (length,), (height, width) or (height, width, channels). A signal of several
        channels is an image (length, 1, channels) with patches (size, 1).
    patch_size : int | Sequence[int] | None
        One number (a square for images) or one per axis; None for the whole sample.
    stride : int | Sequence[int]
        Steps between patches; they overlap where it is below the size.
    padding : int | str | Sequence[int]
        Zeros on both sides of each axis, or "same": as many as give a patch around every pixel.
    bias : bool
        Append a constant entry 1 to every patch.
    normalize : str
        "none", "unit" or "contrast", see `PatchLayout`.
    """
    shape = _sizes(shape, "shape", (1, 2, 3))
    axes = min(len(shape), 2)
    size = shape[:axes] if patch_size is None else _per_axis(patch_size, axes, "patch_size")
    if isinstance(padding, str):
        if padding != "same":
            raise DataError(f"padding={padding!r}: give a number of zeros, or 'same'")
        pads = tuple(((side - 1) // 2, side // 2) for side in size)
    else:
        pads = tuple((pad, pad) for pad in _per_axis(padding, axes, "padding", least=0))
    one_of("normalize", normalize, PATCH_SCALINGS)
    steps = _per_axis(stride, axes, "stride")
    return _fitting(PatchLayout(shape, size, steps, pads, bool(bias), normalize))


def _fitting(layout: PatchLayout) -> PatchLayout:
    if min(layout.counts) < 1:
        kind = "signal" if layout.axes == 1 else "image"
        raise DataError(
            f"patch_size={layout.patch_size} is larger than the {kind} of shape {layout.shape} "
            f"(n_features={layout.n_features}) with its padding; give a smaller patch"
        )
    return layout


def _per_axis(value: Size, axes: int, name: str, *, least: int = 1) -> tuple[int, ...]:
    parts = value if isinstance(value, Sequence | np.ndarray) else (value,) * axes
    return _sizes(parts, name, (axes,), least=least)


def _sizes(value: Any, name: str, lengths: tuple[int, ...], *, least: int = 1) -> tuple[int, ...]:
    parts = tuple(value) if isinstance(value, Sequence | np.ndarray) else ()
    whole = all(isinstance(x, int | np.integer) and not isinstance(x, bool) for x in parts)
    if len(parts) not in lengths or not whole or any(x < least for x in parts):
        count = " or ".join(map(str, lengths))
        raise DataError(
            f"{name}={value!r}: give whole numbers of at least {least}, {count} of them"
        )
    return tuple(int(x) for x in parts)
