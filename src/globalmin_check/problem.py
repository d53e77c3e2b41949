"""The stored numbers that every claim speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from globalmin_check.container import Tensor

if TYPE_CHECKING:
    from globalmin_check.claims.deep_network import Layers

ACTIVATIONS = ("softplus", "sigmoid", "tanh", "erf", "quadratic", "linear", "abs", "relu", "leaky_relu")


@dataclass(frozen=True)
class Sizes:
    """n samples, d features (the bias column included), k neurons of the first layer, and the layers of a deep network."""

    n: int
    d: int
    k: int
    deep: Layers | None = None


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

    @property
    def phi(self) -> str:
        """The activation with its parameter, for statements."""
        has_parameter = self.activation == "leaky_relu" or self.parameter != 1
        return f"{self.activation}({self.parameter})" if has_parameter else self.activation
