"""The built-in activations, one small constructor each; `CATALOG` maps names to them."""

from __future__ import annotations

from collections.abc import Callable

from globalmin.activations import functions, suprema
from globalmin.activations.activation import Activation
from globalmin.activations.suprema import MAX_DEGREE, polynomial_suprema
from globalmin.errors import DataError


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
