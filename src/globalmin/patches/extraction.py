"""Patches of signals and images: the inputs of a convolutional filter, n x k x p (samples, patches,
entries).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.references import states

Size = int | Sequence[int]


@states("DU-M6")
def extract_patches(
    X: ArrayLike,
    patch_size: Size | None = None,
    stride: Size = 1,
    *,
    image_shape: Size | None = None,
) -> Array:
    """Patches of every row of X, in reading order, each flattened; they overlap where the stride is
    below the size.

    Parameters
    ----------
    X : n x d signals, or n x (height * width) images with `image_shape`, or n x height x width
        images.
    patch_size : one number (a square for images) or one per axis; None for the whole signal or
        image, which is a single patch.
    stride : steps between neighboring patches, one number or one per axis.
    image_shape : (height, width) of images given as rows; None for signals.

    Returns
    -------
    Array n x k x p. What does not fill a whole patch at the end of an axis is left out.
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim not in (2, 3) or 0 in X.shape:
        raise DataError(
            f"X has shape {X.shape}; give samples by rows (n, d), or images (n, height, width)"
        )
    shape = patch_grid_shape(X.shape[1:], image_shape)
    size, steps = patch_shape(shape, patch_size), _per_axis(stride, len(shape), "stride")
    blocks = X.reshape(len(X), *shape)
    windows = np.lib.stride_tricks.sliding_window_view(
        blocks, size, axis=tuple(range(1, blocks.ndim))
    )
    chosen = windows[(slice(None), *(slice(None, None, step) for step in steps))]
    return np.ascontiguousarray(chosen).reshape(len(X), -1, int(np.prod(size)))


def patch_grid_shape(features: tuple[int, ...], image_shape: Size | None) -> tuple[int, ...]:
    """Shape of one sample as a signal (length,) or an image (height, width)."""
    if len(features) == 2 and image_shape is None:
        return features
    if image_shape is None:
        return features
    shape = _per_axis(image_shape, 2, "image_shape")
    if int(np.prod(shape)) != int(np.prod(features)):
        raise DataError(
            f"image_shape={image_shape!r} has {np.prod(shape)} pixels, but X has "
            f"n_features={np.prod(features)}"
        )
    return shape


def patch_shape(shape: tuple[int, ...], patch_size: Size | None) -> tuple[int, ...]:
    """Shape of one patch; a patch larger than the signal or image is refused."""
    if patch_size is None:
        return shape
    size = _per_axis(patch_size, len(shape), "patch_size")
    if any(small > large for small, large in zip(size, shape, strict=True)):
        raise DataError(
            f"patch_size={patch_size!r} is larger than the "
            f"{'image' if len(shape) == 2 else 'signal'} of shape {shape} "
            f"(n_features={int(np.prod(shape))}); give a smaller patch"
        )
    return size


def _per_axis(value: Size, axes: int, name: str) -> tuple[int, ...]:
    parts = tuple(value) if isinstance(value, Sequence | np.ndarray) else (value,) * axes
    if len(parts) != axes or any(
        not isinstance(part, int | np.integer) or part < 1 for part in parts
    ):
        raise DataError(f"{name}={value!r}: give a positive integer or {axes} of them")
    return tuple(int(part) for part in parts)
