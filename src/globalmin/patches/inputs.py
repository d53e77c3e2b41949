"""Inputs of a convolutional filter, n x k x p (samples, patches, entries): cut from signals and
images, or drawn from the laws of the filter experiments; and the filters of the image experiments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.data.generators import Seed
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


@states("DU-M6")
def gaussian_patches(n: int, k: int, p: int, seed: Seed = 0) -> Array:
    """Independent patches from N(0, I_p)."""
    _check_counts(n=n, k=k, p=p)
    return np.random.default_rng(seed).standard_normal((n, k, p))


@states("DU-F6.3a")
def angular_inputs(n: int, w_star: ArrayLike, sigma: float, seed: Seed = 0) -> Array:
    r"""Unit inputs n x 1 x p whose angle to w* is concentrated at 0 and $\pi$; $\sigma = \infty$ is
    a uniform angle.

    Half of the mass has an angle from $N(0,\sigma)$ conditioned on $[-\pi/2, \pi/2]$, half is its
    mirror image around $-w^*$ (the print has the wrong interval); $\sigma$ is a standard deviation.
    The rest of the direction is uniform across w*.
    """
    rng = np.random.default_rng(seed)
    w_star = _unit(w_star)
    _check_counts(n=n, p=w_star.size)
    near = _truncated_normal(sigma, math.pi / 2.0, n, rng)
    angles = np.where(rng.random(n) < 0.5, near, near - math.pi)
    return _turned(np.broadcast_to(w_star, (n, w_star.size)), angles, rng)[:, None, :]


@states("DU-F6.3b")
def close_patches(
    n: int, k: int, w_star: ArrayLike, spread: float, seed: Seed = 0, *, sigma: float = 1.0
) -> Array:
    r"""Draw k unit patches around a common center of `angular_inputs`: angles from $N(0,
    \text{spread})$ on $[-\pi,\pi]$.

    The smaller the spread $\sigma_2$, the closer the patches; 0 makes them identical.
    """
    rng = np.random.default_rng(seed)
    _check_counts(n=n, k=k)
    centers = np.repeat(angular_inputs(n, w_star, sigma, rng)[:, 0, :], k, axis=0)
    return _turned(centers, _truncated_normal(spread, math.pi, n * k, rng), rng).reshape(n, k, -1)


@states("DU-F6.3cd")
def random_filter(p: int, seed: Seed = 0) -> Array:
    """A filter in a uniform direction, of length 1."""
    _check_counts(p=p)
    w = np.random.default_rng(seed).standard_normal(p)
    return w / np.linalg.norm(w)


@states("DU-F6.3cd")
def gabor_filter(
    size: int = 5,
    *,
    angle: float = math.pi / 4.0,
    wavelength: float = 3.0,
    width: float = 1.5,
    aspect: float = 0.8,
) -> Array:
    r"""A Gabor filter of size x size pixels, flattened, length 1.

    $e^{-(x'^2 + \text{aspect}^2 y'^2)/(2\,\text{width}^2)}\cos(2\pi x'/\lambda)$ in coordinates
    turned by `angle`.
    """
    _check_counts(size=size)
    if not (wavelength > 0.0 and width > 0.0):
        raise DataError(f"wavelength={wavelength} and width={width} must be positive")
    grid = np.arange(size) - (size - 1) / 2.0
    y, x = np.meshgrid(grid, grid, indexing="ij")
    along, across = (
        x * math.cos(angle) + y * math.sin(angle),
        -x * math.sin(angle) + y * math.cos(angle),
    )
    values = np.exp(-(along**2 + (aspect * across) ** 2) / (2.0 * width**2)) * np.cos(
        2.0 * math.pi * along / wavelength
    )
    return (values / np.linalg.norm(values)).ravel()


def filter_at_distance(w_star: ArrayLike, distance: float, seed: Seed = 0) -> Array:
    r"""A start $w_0$ with $\lVert w_0 - w^*\rVert$ = distance, in a uniform direction from w*."""
    w_star = np.asarray(w_star, dtype=np.float64)
    return w_star + distance * random_filter(w_star.size, seed)


def _truncated_normal(sigma: float, limit: float, count: int, rng: np.random.Generator) -> Array:
    if not sigma >= 0.0:
        raise DataError(f"the standard deviation {sigma} of the angle must be at least 0")
    if sigma == 0.0:
        return np.zeros(count)
    if math.isinf(sigma):
        return rng.uniform(-limit, limit, count)
    from scipy.stats import truncnorm

    return np.asarray(
        truncnorm.rvs(-limit / sigma, limit / sigma, scale=sigma, size=count, random_state=rng)
    )


def _turned(centers: Array, angles: Array, rng: np.random.Generator) -> Array:
    """Unit rows turned by their angles towards uniform directions across them; in one dimension
    only the sign can turn.
    """
    if centers.shape[1] == 1:
        return centers * np.where(np.cos(angles) >= 0.0, 1.0, -1.0)[:, None]
    across = rng.standard_normal(centers.shape)
    across -= centers * np.einsum("ij,ij->i", across, centers)[:, None]
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return centers * np.cos(angles)[:, None] + across * np.sin(angles)[:, None]


def _unit(w: ArrayLike) -> Array:
    w = np.asarray(w, dtype=np.float64)
    length = float(np.linalg.norm(w)) if w.ndim == 1 else 0.0
    if length == 0.0 or not math.isfinite(length):
        raise DataError(
            f"w_star has shape {w.shape}; give a vector of finite numbers that is not zero"
        )
    return w / length


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        if not isinstance(value, int | np.integer) or value < 1:
            raise DataError(f"{name}={value!r}: give an integer of at least 1")
