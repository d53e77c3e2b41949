"""The stored numbers that every claim speaks of."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.container import Tensor

ACTIVATIONS = ("softplus", "sigmoid", "tanh", "erf", "quadratic", "linear", "abs", "relu", "leaky_relu")


@dataclass(frozen=True)
class Sizes:
    """n samples, d features (the bias column included), k neurons."""

    n: int
    d: int
    k: int


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
