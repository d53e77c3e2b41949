"""Gaussian moments in one variable that the deep recursions need, at variances that may be zero (an
empty patch, a zero row).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.activations.moments import mean_square, mean_square_slope, mean_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from globalmin.activations import Activation


def mean_at(activation: Activation, variances: Array) -> Array:
    """E sigma(sqrt(a) z) for every variance a >= 0."""
    return _at(variances, lambda scale: mean_value(activation, scale), float(activation(0.0)))


def mean_square_at(activation: Activation, variances: Array) -> Array:
    """E sigma(sqrt(a) z)^2 for every variance a >= 0."""
    return _at(variances, lambda scale: mean_square(activation, scale), float(activation(0.0)) ** 2)


def square_slope_at(activation: Activation, variances: Array) -> Array:
    """E sigma'(sqrt(a) z)^2 for every variance a >= 0."""
    return _at(
        variances,
        lambda scale: mean_square_slope(activation, scale),
        float(activation.derivative(0.0)) ** 2,
    )


def _at(variances: Array, moment: Callable[[Array], Array], at_zero: float) -> Array:
    distinct, places = np.unique(variances, return_inverse=True)
    values = np.full(distinct.shape, at_zero)
    positive = distinct > 0
    if positive.any():
        values[positive] = moment(np.sqrt(distinct[positive]))
    return values[places].reshape(variances.shape)
