"""Activations by name, and the registration of a user's own."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from globalmin._types import Array
from globalmin.activations.activation import Activation
from globalmin.activations.catalog import CATALOG
from globalmin.activations.custom import custom_activation
from globalmin.errors import DataError

if TYPE_CHECKING:
    RealFunction = Callable[[Array], Array]

_REGISTERED: dict[str, Activation] = {}
_NAME = r"[A-Za-z][A-Za-z0-9_]*"
_SPELLING = re.compile(rf"\s*({_NAME})\s*(?:\(([^()]*)\))?\s*")
_FACTS = {"is_smooth", "is_odd", "is_nonnegative", "vanishes_at_zero", "homogeneity"}


def activation_names() -> tuple[str, ...]:
    """All names that `get_activation` knows now, the registered ones last."""
    return (*CATALOG, *_REGISTERED)


def get_activation(activation: str | Activation) -> Activation:
    """The activation of that name; an `Activation` is returned as it is.

    Parameters
    ----------
    activation : "softplus", "softplus(4)", "sigmoid", "sigmoid(4)", "tanh", "erf", "swish", "gelu",
        "quadratic", "linear", "relu", "leaky_relu(0.1)" (0.01 if no slope is given), "abs",
        "polynomial(c0,c1,...)" with the lowest degree first, or a name given to
        `register_activation`.

    Examples
    --------
    >>> get_activation("softplus(4)").supremum(2)
    Fraction(1, 1)
    """
    if isinstance(activation, Activation):
        return activation
    known = ", ".join(activation_names())
    match = _SPELLING.fullmatch(activation) if isinstance(activation, str) else None
    if match is None:
        raise DataError(
            f"activation={activation!r} is not a name such as 'softplus' or 'leaky_relu(0.1)'; "
            f"known: {known}"
        )
    name, values = match[1], _numbers(activation, match[2])
    if name in _REGISTERED and not values:
        return _REGISTERED[name]
    if name not in CATALOG:
        raise DataError(f"activation={activation!r} is unknown; known: {known}")
    return _build(name, values)


def _numbers(activation: str, arguments: str | None) -> tuple[float, ...]:
    if arguments is None or not arguments.strip():
        return ()
    try:
        values = tuple(float(text) for text in arguments.split(","))
    except ValueError:
        raise DataError(
            f"activation={activation!r}: the parameters must be numbers separated by commas"
        ) from None
    if not all(math.isfinite(value) for value in values):
        raise DataError(f"activation={activation!r}: the parameters must be finite")
    return values


def _build(name: str, values: tuple[float, ...]) -> Activation:
    try:
        inspect.signature(CATALOG[name]).bind(*values)
    except TypeError:
        raise DataError(
            f"activation {name!r} does not take {len(values)} parameter(s), got {values}"
        ) from None
    return CATALOG[name](*values)


def register_activation(
    name: str,
    phi: RealFunction,
    derivative: RealFunction,
    second: RealFunction | None = None,
    third: RealFunction | None = None,
    *,
    suprema: Sequence[Fraction | float | None] | None = None,
    replace: bool = False,
    **facts: Any,
) -> Activation:
    """Make an activation of your own available by name, for training; it cannot be certified.

    Parameters
    ----------
    name : str
        Letters, digits and underscores; not the name of a built-in activation.
    phi, derivative : RealFunction
        Functions of float arrays, elementwise: phi and its derivatives. Curvature needs `second`.
    second, third : RealFunction | None
        Functions of float arrays, elementwise: phi and its derivatives. Curvature needs `second`.
    suprema : Sequence[Fraction | float | None] | None
        Upper bounds of the absolute values of the first to fourth derivative over the line;
        `math.inf` or None where unknown, and the list may be shorter.
    replace : bool
        Allow a name registered before.
    facts : Any
        `is_smooth` (default True), `is_odd`, `is_nonnegative`, `vanishes_at_zero` (default False),
        `homogeneity` (None).

    Notes
    -----
    Everything stated is tested on a grid of [-10, 10] (derivatives against differences) and refused
    with the point where it fails. The registration lasts as long as the process: a saved network
    with this activation needs it again before loading.

    Examples
    --------
    >>> import numpy as np
    >>> functions = np.sin, np.cos, lambda z: -np.sin(z)
    >>> wave = register_activation("wave", *functions, suprema=[1, 1, 1, 1], is_odd=True)
    >>> get_activation("wave").supremum(2)
    Fraction(1, 1)
    """
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        raise DataError(
            f"name={name!r} must begin with a letter and contain only letters, digits and "
            "underscores"
        )
    if name in CATALOG or (name in _REGISTERED and not replace):
        remedy = (
            "choose another name" if name in CATALOG else "choose another name or pass replace=True"
        )
        raise DataError(f"name={name!r} is taken; {remedy}")
    if set(facts) - _FACTS:
        raise DataError(
            f"unknown: {', '.join(sorted(set(facts) - _FACTS))}; the facts are "
            f"{', '.join(sorted(_FACTS))}"
        )
    _REGISTERED[name] = custom_activation(name, (phi, derivative, second, third), suprema, **facts)
    return _REGISTERED[name]
