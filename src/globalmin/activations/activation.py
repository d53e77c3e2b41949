"""The value `Activation`: one function phi of a real variable with its derivatives, suprema and
structural facts; and the built-in ones, one small constructor each, by name in `CATALOG`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import functions, suprema
from globalmin.activations.suprema import (
    MAX_DEGREE,
    Suprema,
    Supremum,
    float_above,
    polynomial_suprema,
)
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


def _softplus(b: float = 1.0) -> Activation:
    phi = functions.softplus(_steepness(b, "softplus"))
    bounds = suprema.softplus_suprema(phi, b)
    return Activation(
        "softplus",
        b,
        derivatives=phi,
        suprema=bounds,
        is_nonnegative=True,
        certificate_name="softplus",
    )


def _sigmoid(b: float = 1.0) -> Activation:
    phi = functions.sigmoid(_steepness(b, "sigmoid"))
    bounds = suprema.bounded(phi, suprema.LOGISTIC_LINE, suprema.LOGISTIC_PEAKS, rate=b)
    return Activation(
        "sigmoid",
        b,
        derivatives=phi,
        suprema=bounds,
        is_nonnegative=True,
        certificate_name="sigmoid",
    )


def _tanh() -> Activation:
    bounds = suprema.bounded(functions.TANH, suprema.TANH_LINE, suprema.TANH_PEAKS)
    return _odd("tanh", functions.TANH, bounds)


def _erf() -> Activation:
    bounds = suprema.bounded(functions.ERF, suprema.ERF_LINE, suprema.ERF_PEAKS)
    return _odd("erf", functions.ERF, bounds)


def _swish() -> Activation:
    bounds = suprema.bounded(functions.SWISH, suprema.SWISH_LINE, suprema.SWISH_PEAKS)
    return Activation("swish", derivatives=functions.SWISH, suprema=bounds, vanishes_at_zero=True)


def _gelu() -> Activation:
    bounds = suprema.bounded(functions.GELU, suprema.GELU_LINE, suprema.GELU_PEAKS)
    return Activation("gelu", derivatives=functions.GELU, suprema=bounds, vanishes_at_zero=True)


def _quadratic() -> Activation:
    return Activation(
        "quadratic",
        derivatives=functions.QUADRATIC,
        suprema=polynomial_suprema((0.0, 0.0, 1.0)),
        is_nonnegative=True,
        vanishes_at_zero=True,
        homogeneity=2,
        certificate_name="quadratic",
    )


def _linear() -> Activation:
    return Activation(
        "linear",
        derivatives=functions.LINEAR,
        suprema=suprema.piecewise_linear_suprema(1.0, 1.0),
        is_odd=True,
        vanishes_at_zero=True,
        homogeneity=1,
        certificate_name="linear",
    )


def _relu() -> Activation:
    return _kinked("relu", None, functions.RELU, left=0.0)


def _leaky_relu(slope: float = 0.01) -> Activation:
    if not 0.0 <= slope < 1.0:
        raise DataError(f"leaky_relu({slope!r}): the slope must satisfy 0 <= slope < 1")
    return _kinked("leaky_relu", slope, functions.leaky_relu(slope), left=slope)


def _abs() -> Activation:
    return _kinked("abs", None, functions.ABS, left=-1.0)


def _odd(name: str, phi: functions.Derivatives, bounds: suprema.Suprema) -> Activation:
    return Activation(
        name,
        derivatives=phi,
        suprema=bounds,
        is_odd=True,
        vanishes_at_zero=True,
        certificate_name=name,
    )


def _kinked(
    name: str, parameter: float | None, phi: functions.Derivatives, *, left: float
) -> Activation:
    return Activation(
        name,
        parameter,
        derivatives=phi,
        suprema=suprema.piecewise_linear_suprema(left, 1.0),
        is_smooth=False,
        is_nonnegative=left <= 0.0,
        vanishes_at_zero=True,
        homogeneity=1,
        certificate_name=name,
    )


def _polynomial(*coefficients: float) -> Activation:
    if not 1 <= len(coefficients) <= MAX_DEGREE + 1:
        raise DataError(
            f"polynomial needs 1 to {MAX_DEGREE + 1} coefficients c0,c1,..., got "
            f"{len(coefficients)}"
        )
    if max(abs(c) for c in coefficients) > 1e290:  # third derivatives must not overflow
        raise DataError(
            f"polynomial coefficients {coefficients}: none may exceed 1e290 in absolute value"
        )
    odd, even = coefficients[1::2], coefficients[0::2]
    powers = [j for j, c in enumerate(coefficients) if c != 0]
    return Activation(
        "polynomial",
        None,
        coefficients,
        derivatives=functions.polynomial(coefficients),
        suprema=polynomial_suprema(coefficients),
        is_odd=not any(even),
        is_nonnegative=not any(odd) and min(even) >= 0,
        vanishes_at_zero=coefficients[0] == 0,
        homogeneity=powers[0] if len(powers) == 1 and powers[0] > 0 else None,
    )


def _steepness(b: float, name: str) -> float:
    if not 1e-60 <= b <= 1e60:  # b^4 and 1/b stay far from overflow and underflow
        raise DataError(f"{name}({b!r}): the steepness must lie between 1e-60 and 1e60")
    return b


CATALOG: dict[str, Callable[..., Activation]] = {
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "erf": _erf,
    "swish": _swish,
    "gelu": _gelu,
    "quadratic": _quadratic,
    "polynomial": _polynomial,
    "linear": _linear,
    "relu": _relu,
    "leaky_relu": _leaky_relu,
    "abs": _abs,
}
