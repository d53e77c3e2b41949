"""The stored numbers that every claim speaks of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from globalmin_check.container import Tensor

if TYPE_CHECKING:
    from globalmin_check.claims.deep_network import Layers

ACTIVATIONS = (
    "softplus",
    "sigmoid",
    "tanh",
    "erf",
    "quadratic",
    "linear",
    "abs",
    "relu",
    "leaky_relu",
)


@dataclass(frozen=True)
class Sizes:
    """n samples, d features (the bias column included), k neurons of the first layer or filters,
    the layers of a deep network, and the table of a patch network: places in a sample, -1 for zero.
    """

    n: int
    d: int
    k: int
    deep: Layers | None = None
    table: tuple[tuple[int, ...], ...] = ()


def digits(network: str, data: str) -> str:
    """The words by which a statement names its network and its data."""
    return f"Network {network[:12]}, data {data[:12]}"


@dataclass(frozen=True)
class Problem:
    """The stored numbers that every claim speaks of."""

    activation: str
    parameter: Fraction
    bias: bool
    sizes: Sizes
    X: Tensor
    y: Tensor
    W: Tensor
    v: Tensor
    about: str = ""  # which network and data, by the first digits of their digests

    @property
    def phi(self) -> str:
        """The activation with its parameter, for statements."""
        has_parameter = self.activation == "leaky_relu" or self.parameter != 1
        return f"{self.activation}({self.parameter})" if has_parameter else self.activation

    @property
    def work_of_rows(self) -> int:
        """Products of numbers that are not in the file, beside the work of a claim."""
        return 0

    def follows_from_zero(self, gap: float, objective: float) -> bool:
        """Whether a gap says no more than that losses are not negative, at a loss that is far from
        zero.

        Far is a thousandth of the loss of the zero function; only a note depends on it.
        """
        return gap >= objective and gap > math.fsum(y * y for y in self.y.values) / 2000
