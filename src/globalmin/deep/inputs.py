"""From tables and images to what deep networks are trained on: images channel by channel, inputs
scaled to a mean square norm of 1 as the theorems of DU chapter 3 want them, a width that suffices,
and a proof about the rows that do not repeat another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from globalmin._options import Architecture, Scaling
from globalmin._types import Array
from globalmin.activations import Activation
from globalmin.data import Dataset
from globalmin.data.distinct_rows import distinct_rows
from globalmin.data.preprocessing import column_statistics, fit_preprocessing
from globalmin.data.validation import as_matrix, as_targets
from globalmin.deep.network import DeepNetwork
from globalmin.deep.problem import DeepRun
from globalmin.deep.train import train_deep
from globalmin.errors import DataError
from globalmin.optimize.run import Status
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof

ENOUGH = 8  # weights per sample of an automatic width
LEAST_WIDTH = {"fully_connected": 64, "resnet": 64, "convolutional_resnet": 16}
RECORDED = 500  # samples up to which least eigenvalues are recorded
NEAR = 1e-6  # relative residual at which rounding stands in the way, and width does not
TRIES = 3  # widths tried before an automatic width is given up, each twice the one before
STEP = 8  # an automatic width is a multiple of it

Shape = tuple[int, ...]


def image_rows(images: Any, shape: Shape) -> Array:
    """Images n x h x w [x c] (or rows with these numbers in this order) as a table, one row per
    image, channel by channel: the order in which networks keep them.
    """
    flat = np.asarray(images).reshape(len(images), *shape)
    if len(shape) == 3:
        flat = flat.transpose(0, 3, 1, 2)
    return flat.reshape(len(flat), -1)


def network_shape(
    n_features: int, architecture: Architecture, image_shape: Shape | None, *, bias: bool
) -> Shape:
    """Shape of one input of the network: the features (and the bias) unless it is convolutional,
    where it is (channels, height, width), or one channel of a signal if there is no image.
    """
    if architecture != "convolutional_resnet":
        return (n_features + int(bias),)
    if image_shape is None:
        return (1, n_features)
    return (image_shape[2] if len(image_shape) == 3 else 1, *image_shape[:2])


def check_image_shape(image_shape: Any, n_features: int) -> Shape:
    """The shape (height, width[, channels]) if an input has that many numbers."""
    shape = tuple(image_shape)
    if len(shape) not in (2, 3) or math.prod(shape) != n_features:
        raise DataError(
            f"image_shape={image_shape!r} must be (height, width) or (height, width, channels) "
            f"with {n_features} numbers in all, as many as a row has"
        )
    return tuple(int(size) for size in shape)


def deep_dataset(
    X: object,
    y: object,
    *,
    bias: bool,
    scaling: Scaling,
    image_shape: Shape | None = None,
    keeps_labels: bool = False,
    feature_names: Sequence[str] | None = None,
    target_names: Sequence[str] | None = None,
) -> Dataset:
    """The data set of a deep network; its preprocessing is undone at prediction.

    Parameters
    ----------
    X, y : n rows (images as `image_rows` makes them) and n labels, or n x q.
    scaling : "standardize": every column, or every channel of an image, to mean 0 and variance 1,
        then all divided by one number so that the mean of |x|^2 is 1; labels to mean 0 and
        variance 1. "rows": each row to norm 1, "none": nothing; labels untouched.
    keeps_labels : leave the labels as they are.
    """
    rows = as_matrix(X, "X")
    labels = as_targets(y, len(rows))
    names = {"feature_names": feature_names, "target_names": target_names}
    fitted = fit_preprocessing(rows, labels, bias=bias, scaling=scaling, **names)
    if scaling == "standardize":
        shift, scale = _unit_statistics(rows, image_shape)
        fitted = tuple(replace(step, x_shift=shift, x_scale=scale) for step in fitted)
    if keeps_labels:
        fitted = tuple(replace(step, y_shift=0.0, y_scale=1.0) for step in fitted)
    return Dataset.from_raw(rows, labels, fitted)


def _unit_statistics(rows: Array, image_shape: Shape | None) -> tuple[Array, Array]:
    """Shift and scale of every column: mean 0, equal variances, and a mean square norm of 1."""
    n, d = rows.shape
    channels = d if image_shape is None else (image_shape[2] if len(image_shape) == 3 else 1)
    by_channel = rows.reshape(n, channels, -1).transpose(0, 2, 1).reshape(-1, channels)
    shift, scale = (np.repeat(v, d // channels) for v in column_statistics(by_channel))
    with np.errstate(over="ignore", under="ignore"):
        norm = math.sqrt(float(np.square((rows - shift) / scale).sum(axis=1).mean()))
        return shift, scale * norm if norm > 0 else scale


def enough_width(n: int, shape: Shape, depth: int, architecture: Architecture, patch: int) -> int:
    """The automatic width: at least 64 (16 channels of a convolution), and wide enough that there
    are eight weights per sample.
    """
    is_image = architecture == "convolutional_resnet"
    window = patch ** len(shape[1:]) if is_image else 1
    pixels = math.prod(shape[1:]) if is_image else 1
    m = LEAST_WIDTH[architecture]
    while m * (window * shape[0] + pixels + (depth - 1) * window * m) < ENOUGH * n:
        m += STEP
    return m


def train_enough(
    data: Dataset,
    shape: Shape,
    *,
    width: int | str,
    depth: int,
    architecture: Architecture,
    activation: str | Activation,
    seed: int,
    c_res: float = 0.5,
    patch_size: int = 3,
    **options: Any,
) -> DeepRun:
    """Draw and train one network; `width="auto"` begins with `enough_width` and is doubled, twice
    at most, as long as training misses its target. The run with the least loss.

    Parameters
    ----------
    shape : of one input, see `network_shape`.
    seed : of the first weights, and of minibatches.
    options : as in `train_deep`; beyond 500 samples no eigenvalues are recorded, which would cost
        more than the training.
    """
    options = {"spectra": "sparse" if data.n_samples <= RECORDED else "none"} | options
    first = enough_width(data.n_samples, shape, depth, architecture, patch_size)
    widths = [first * 2**k for k in range(TRIES)] if width == "auto" else [int(width)]
    form = {"c_res": c_res, "patch_size": patch_size, "seed": seed}
    runs: list[DeepRun] = []
    for m in widths:
        start = DeepNetwork.initialize(shape, m, depth, architecture, activation, **form)
        runs.append(train_deep(start, data, seed=seed, **options))
        is_near = runs[-1].relative_residual <= NEAR
        if is_near or runs[-1].status.is_success or runs[-1].status is Status.INTERRUPTED:
            break
    return min(runs, key=lambda run: run.loss)


def prove_deep(network: DeepNetwork, data: Dataset, **options: Any) -> Proof:
    """`prove` for a deep network, about the distinct rows: repeated ones make J J^T singular and
    change nothing about zero loss.
    """
    found = distinct_rows(data)
    if found is None:
        return prove(network, data, **options)
    proof = prove(network, found.data, **options)
    notes = (found.note,)
    return replace(proof, notes_on_data=notes, notes=(*notes, *proof.notes), copies=found.copies)
