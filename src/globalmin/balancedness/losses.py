"""Losses of homogeneous networks: a function (F, Y) -> (sum over the rows, derivative by F); any
differentiable one will do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError

Loss = Callable[["Array", "Array"], tuple[float, "Array"]]


def squared(F: Array, Y: Array) -> tuple[float, Array]:
    """(1/2) ||F - Y||^2."""
    R = F - Y
    return 0.5 * float(np.square(R).sum()), R


def cross_entropy(F: Array, Y: Array) -> tuple[float, Array]:
    """Sum over the rows of log sum exp f - <y, f>; y is a distribution over the outputs, such as a
    one-hot row.
    """
    shifted = F - F.max(axis=1, keepdims=True)
    masses = np.exp(shifted)
    totals = masses.sum(axis=1, keepdims=True)
    return float((np.log(totals[:, 0]) - (Y * shifted).sum(axis=1)).sum()), masses / totals - Y


LOSSES: dict[str, Loss] = {"squared": squared, "cross_entropy": cross_entropy}


def get_loss(loss: str | Loss) -> Loss:
    """The loss of this name, or the function itself."""
    if not isinstance(loss, str):
        return loss
    if loss not in LOSSES:
        raise DataError(
            f"loss={loss!r} is unknown; choose one of {', '.join(map(repr, LOSSES))} or give a "
            "function of (F, Y)"
        )
    return LOSSES[loss]
