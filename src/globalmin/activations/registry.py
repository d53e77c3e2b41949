"""Activations by name, and the registration of a user's own: what such a function states is tested
on a grid before it is believed.

A user's activation can be trained and its bounds used in estimates. It cannot be certified: the
independent checker knows only the functions that the certificate format defines, and a test on a
grid is not a proof.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.activations.activation import CATALOG, Activation
from globalmin.activations.suprema import Supremum, given_suprema
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.activations.functions import Derivatives

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


GRID = np.linspace(-9.7, 9.3, 381) + math.sqrt(2) / 1000  # irrational shift: hits no likely kink
STEPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)  # of the differences, from gentle functions to steep ones
TOLERANCE = 1e-5
KINKS_ALLOWED = 8  # grid points that may disagree when the function is declared not smooth


def custom_activation(
    name: str,
    given: Sequence[RealFunction | None],
    suprema: Sequence[Fraction | float | None] | None,
    *,
    is_smooth: bool = True,
    is_odd: bool = False,
    is_nonnegative: bool = False,
    vanishes_at_zero: bool = False,
    homogeneity: int | None = None,
) -> Activation:
    """Build an activation from (phi, phi', phi'' or None, phi''' or None) and its suprema, after
    testing all that was said.
    """
    derivatives = _derivatives(name, given)
    line = _line(name, suprema)
    _test_shapes(name, given)
    for order in (1, 2, 3):
        if given[order] is not None and given[order - 1] is not None and (order == 1 or is_smooth):
            _test_derivative(name, derivatives, order, kinks=0 if is_smooth else KINKS_ALLOWED)
        _test_supremum(name, given, line, order)
    activation = Activation(
        name,
        derivatives=derivatives,
        suprema=given_suprema(
            derivatives, line, known=tuple(function is not None for function in given)
        ),
        is_smooth=is_smooth,
        is_odd=is_odd,
        is_nonnegative=is_nonnegative,
        vanishes_at_zero=vanishes_at_zero,
        homogeneity=homogeneity,
    )
    _test_facts(activation)
    return activation


def _derivatives(name: str, given: Sequence[RealFunction | None]) -> Derivatives:
    def absent(order: int) -> RealFunction:
        def refuse(z: Array) -> Array:
            raise DataError(
                f"activation {name!r} was registered without its derivative of order {order}; "
                "register it with that derivative"
            )

        return refuse

    zero, first, second, third = (
        absent(order) if function is None else function for order, function in enumerate(given)
    )
    return zero, first, second, third


def _line(
    name: str, suprema: Sequence[Fraction | float | None] | None
) -> tuple[Supremum, Supremum, Supremum, Supremum]:
    bounds = [math.inf if bound is None else bound for bound in suprema or ()]
    if len(bounds) > 4 or any(not bound >= 0 for bound in bounds):
        raise DataError(
            f"suprema={suprema!r} of activation {name!r}: give up to four numbers >= 0, math.inf "
            "or None where unknown"
        )
    first, second, third, fourth = (
        _exact(bound) for bound in [*bounds, *[math.inf] * (4 - len(bounds))]
    )
    return first, second, third, fourth


def _exact(bound: Fraction | float) -> Supremum:
    return Fraction(bound) if math.isfinite(bound) else math.inf


def _test_shapes(name: str, given: Sequence[RealFunction | None]) -> None:
    for order, function in enumerate(given):
        if function is None:
            continue
        z = GRID[:6].reshape(2, 3)
        value = np.asarray(function(z))
        if (
            value.shape != z.shape
            or value.dtype != np.float64
            or not np.isfinite(np.asarray(function(GRID))).all()
        ):
            raise DataError(
                f"activation {name!r}, derivative of order {order}: a float array of shape (2, 3) "
                "must give a float array of "
                f"that shape, finite on [-9.7, 9.3]; got shape {value.shape}, type {value.dtype}"
            )


def _test_derivative(name: str, derivatives: Derivatives, order: int, *, kinks: int) -> None:
    f, slope = derivatives[order - 1], derivatives[order](GRID)
    # the best of several steps: large ones fail on steep functions, small ones by rounding
    error = np.min([np.abs(_difference(f, h) - slope) for h in STEPS], axis=0)
    wrong = error > TOLERANCE * (1.0 + np.abs(slope) + np.abs(f(GRID)))
    if int(wrong.sum()) > kinks:
        worst = int(np.argmax(np.where(wrong, error, 0.0)))
        raise DataError(
            f"activation {name!r}: the derivative of order {order} is {slope[worst]:.6g} at z = "
            f"{GRID[worst]:.6g}, but differences of the function below it give "
            f"{_difference(f, 1e-4)[worst]:.6g}; correct the derivative"
        )


def _difference(f: RealFunction, h: float) -> Array:
    return (8.0 * (f(GRID + h) - f(GRID - h)) - (f(GRID + 2 * h) - f(GRID - 2 * h))) / (12.0 * h)


def _test_supremum(
    name: str, given: Sequence[RealFunction | None], line: Sequence[Supremum], order: int
) -> None:
    function, below = given[order], given[order - 1]
    if function is not None:
        sizes = np.abs(function(GRID))
    elif below is not None:
        sizes = np.abs(
            np.diff(below(GRID)) / np.diff(GRID)
        )  # mean value theorem: a quotient never exceeds the supremum
    else:
        return
    worst = int(np.argmax(sizes))
    if sizes[worst] > float(line[order - 1]) * (1 + 1e-9) + 1e-12:
        raise DataError(
            f"activation {name!r}: suprema[{order - 1}] = {float(line[order - 1]):.6g} is below "
            f"{sizes[worst]:.6g}, the size of the derivative of order {order} near z = "
            f"{GRID[worst]:.6g}; give a larger bound"
        )


def _test_facts(activation: Activation) -> None:
    phi, scale = activation, 1.0 + np.abs(activation(GRID))
    p = activation.homogeneity
    facts = {
        "is_odd": not activation.is_odd
        or bool((np.abs(phi(-GRID) + phi(GRID)) <= 1e-9 * scale).all()),
        "is_nonnegative": not activation.is_nonnegative or bool((phi(GRID) >= 0).all()),
        "vanishes_at_zero": not activation.vanishes_at_zero or float(phi(0.0)) == 0.0,
        "homogeneity": p is None
        or bool((np.abs(phi(2.5 * GRID) - 2.5**p * phi(GRID)) <= 1e-9 * 2.5**p * scale).all()),
    }
    for fact, holds in facts.items():
        if not holds:
            raise DataError(
                f"activation {activation.name!r}: {fact}={getattr(activation, fact)!r} is not true "
                "of phi; leave it out"
            )
