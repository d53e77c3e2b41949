"""The value `Activation`: one function phi of a real variable with its derivatives, suprema and
structural facts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.suprema import Suprema, Supremum, float_above
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.activations.functions import Derivatives


@dataclass(frozen=True)
class Activation:
    """One activation function; get one from `get_activation`, two are equal when name and
    parameters are.

    Attributes
    ----------
    name : str
        The name without parameters, such as "softplus".
    parameter : float | None
        Steepness of softplus and sigmoid, slope of leaky_relu, None for the others.
    coefficients : tuple[float, ...] | None
        Those of a polynomial, lowest degree first, None for the others.
    is_smooth : bool
        Three times continuously differentiable everywhere.
    is_odd, is_nonnegative, vanishes_at_zero : bool
        phi(-z) = -phi(z), phi >= 0, phi(0) = 0 for certain; False may mean "not known" for
        polynomials and for a user's function.
    homogeneity : int | None
        Degree p with phi(cz) = c^p phi(z) for all c > 0, or None.
    certificate_name : str | None
        The name fixed by the certificate format, or None when certificates do not know this
        function.
    """

    name: str
    parameter: float | None = None
    coefficients: tuple[float, ...] | None = None
    derivatives: Derivatives = field(repr=False, compare=False, kw_only=True)
    suprema: Suprema = field(repr=False, compare=False, kw_only=True)
    is_smooth: bool = field(default=True, repr=False, compare=False, kw_only=True)
    is_odd: bool = field(default=False, repr=False, compare=False, kw_only=True)
    is_nonnegative: bool = field(default=False, repr=False, compare=False, kw_only=True)
    vanishes_at_zero: bool = field(default=False, repr=False, compare=False, kw_only=True)
    homogeneity: int | None = field(default=None, repr=False, compare=False, kw_only=True)
    certificate_name: str | None = field(default=None, repr=False, compare=False, kw_only=True)

    def __call__(self, z: ArrayLike) -> Array:
        """phi(z), elementwise."""
        return self.derivatives[0](np.asarray(z, dtype=np.float64))

    def derivative(self, z: ArrayLike, order: int = 1) -> Array:
        """phi^(order)(z), elementwise, order 0..3; at a kink the right-hand value (DU (2.3))."""
        return self.derivatives[_checked_order(order, 0, 3)](np.asarray(z, dtype=np.float64))

    def supremum(self, order: int) -> Supremum:
        """An upper bound of |phi^(order)| over the line, order 1..4: a fraction rounded up, or
        `math.inf`.

        A function with a kink has infinite suprema from order 2 on: its first derivative has no
        Lipschitz constant.
        """
        return self.suprema.line[_checked_order(order, 1, 4) - 1]

    def supremum_on(self, order: int, low: ArrayLike, high: ArrayLike) -> Array:
        """Upper bounds of |phi^(order)| over the closed intervals [low, high], elementwise, rounded
        up; order 1..3.

        Infinite ends are allowed. See `globalmin.activations.suprema` for the proof.
        """
        _checked_order(order, 1, 3)
        low, high = np.broadcast_arrays(
            np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        )
        if not np.all(low <= high):
            raise DataError("low must be <= high in every interval, without NaN")
        finite = np.isfinite(low) & np.isfinite(high)
        bound = self.suprema.local(order, np.where(finite, low, 0.0), np.where(finite, high, 0.0))
        return np.where(finite, bound, float_above(self.supremum(order)))

    @property
    def spelling(self) -> str:
        """Name with parameters, as `get_activation` reads it: `get_activation(phi.spelling) ==
        phi`.
        """
        values = self.coefficients or (() if self._has_default_parameter else (self.parameter,))
        return (
            f"{self.name}({','.join(_digits(value) for value in values if value is not None)})"
            if values
            else self.name
        )

    @property
    def _has_default_parameter(self) -> bool:
        return self.parameter is None or (
            self.parameter == 1.0 and self.name in ("softplus", "sigmoid")
        )

    @property
    def certificate_parameter(self) -> Fraction | None:
        """The parameter as certificates write it: exact, and None where 1 is the default or there
        is none.
        """
        if self.certificate_name is None or self.parameter is None or self._has_default_parameter:
            return None
        return Fraction(self.parameter)

    def __str__(self) -> str:
        return self.spelling

    def __reduce__(self) -> tuple[Callable[[str], Activation], tuple[str]]:
        # lets estimators be cloned, copied and sent to worker processes although the formulas are
        # lambdas
        from globalmin.activations.registry import get_activation

        return get_activation, (self.spelling,)


def _digits(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(value)


def _checked_order(order: int, least: int, most: int) -> int:
    if order not in range(least, most + 1):
        raise DataError(f"order={order!r} is not available; give an integer from {least} to {most}")
    return int(order)
