"""Smoothed kinks for gradient flow: ReLU with its slope turned on over a small width.

Gradient flow of a ReLU network often slides along a kink: the gradients on both sides point at it,
and an adaptive solver stops. The flow then follows a slope between the two (Filippov). Replacing
the slope by s(z) = (l + r)/2 + (r - l)/2 tanh(z / width) and the activation by s(z) z keeps the one
property the conservation laws use, sigma(z) = s(z) z with the same s in the backward pass:
everything conserved for the kink is conserved for the smoothed flow, exactly. That flow is not the
gradient of a loss (s is not the derivative of s(z) z); it tends to the sliding one as the width
shrinks.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.activations import Activation


def smooth_slope(activation: Activation, width: float) -> Activation:
    """The activation s(z) z with derivative s(z), for relu, leaky_relu and abs; smooth activations
    come back as they are.
    """
    if not 0 <= width < np.inf:
        raise DataError(
            f"kink_width={width!r} must be a small positive number, or 0 for the kink itself"
        )
    if width == 0 or activation.is_smooth or activation.homogeneity != 1:
        return activation
    left, right = (float(activation.derivative(z)) for z in (-1.0, 1.0))

    def slope(z: Array) -> Array:
        return 0.5 * (left + right) + 0.5 * (right - left) * np.tanh(z / width)

    def value(z: Array) -> Array:
        return slope(z) * z

    return replace(activation, derivatives=(value, slope, *activation.derivatives[2:]))
