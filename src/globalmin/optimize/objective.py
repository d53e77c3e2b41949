r"""A loss in the caller's own form, seen as a smooth function on $R^p$: a Python function, a JAX
pytree loss, or a torch module.

The optimizers for general functions (`perturbed`, `trust_region`, `cubic_regularization`) work on
one flat float64 vector. Derivatives are the caller's, JAX's or torch's; central differences only
where the caller asks for them. JAX runs in double precision whatever the caller's configuration,
which is not changed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.optimize.objective_frameworks import Derivatives


DerivativesFrom = Literal["auto", "jax", "central_differences"]
DERIVATIVES: tuple[DerivativesFrom, ...] = get_args(DerivativesFrom)


@dataclass(frozen=True)
class Objective:
    """A smooth function on flat float64 vectors.

    Attributes
    ----------
    start : the caller's start as a vector.
    value_and_gradient : x -> (f(x), gradient at x).
    hessian_times : (x, u) -> Hessian at x times u.
    hessian : x -> the dense p x p Hessian.
    restore : a vector in the caller's own form: an array of the shape of the start, a pytree, or a
        copy of the module.
    kind : "function", "pytree" or "torch".
    """

    start: Array
    value_and_gradient: Callable[[Array], tuple[float, Array]]
    hessian_times: Callable[[Array, Array], Array]
    hessian: Callable[[Array], Array]
    restore: Callable[[Array], Any]
    kind: str

    @property
    def size(self) -> int:
        """Number p of parameters."""
        return self.start.size


def as_objective(
    loss: Callable[..., Any],
    start: Any,
    *,
    gradient: Callable[..., Any] | None = None,
    hessian: Callable[..., Any] | None = None,
    derivatives: DerivativesFrom = "auto",
) -> Objective:
    """The loss as a function of one vector.

    Parameters
    ----------
    loss : a function of an array (plain Python, numpy or jax.numpy); a function of a pytree; or, if
        `start` is a torch module, a function of the module, or a closure without argument that
        calls it. It returns one number.
    start : an array (or number, or list of numbers) of any shape; a pytree of arrays; or a torch
        module, which is not changed.
    gradient, hessian : for arrays only: functions of an array of the shape of `start`. The gradient
        has that shape; the Hessian is p x p for the p entries in C order.
    derivatives : for arrays only. "auto" and "jax": what is not given comes from JAX, so the loss
        must be one that JAX can trace. "central_differences": what is not given comes from
        differences of what is, with half to two thirds of the digits.
    """
    if not callable(loss):
        raise DataError(
            f"loss={loss!r} is not callable; give a function of the parameters that returns one "
            "number"
        )
    one_of("derivatives", derivatives, DERIVATIVES)
    given = gradient is not None or hessian is not None or derivatives == "central_differences"
    if _is_module(start):
        _refuse(given, "a torch module")
        from globalmin.optimize.objective_frameworks import module_objective

        return module_objective(loss, start)
    if _is_array(start):
        return _array_objective(
            loss, start, gradient=gradient, hessian=hessian, derivatives=derivatives
        )
    _refuse(given, "a pytree")
    from globalmin.optimize.objective_frameworks import pytree_objective

    return pytree_objective(loss, start)


def _refuse(given: bool, what: str) -> None:
    if given:
        raise DataError(
            "gradient, hessian and derivatives are for a function of an array; the start is "
            f"{what}: drop them"
        )


def _is_module(start: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(start, torch.nn.Module)


def _is_array(start: object) -> bool:
    """An array, a number, or a (nested) list or tuple of numbers; anything else is taken for a
    pytree.
    """
    if isinstance(start, np.ndarray | np.generic | int | float):
        return True
    if isinstance(start, list | tuple) and not hasattr(start, "_fields"):
        return len(start) > 0 and all(
            isinstance(entry, int | float | np.generic | list) and _is_array(entry)
            for entry in start
        )
    return False


def _array_objective(
    loss: Callable[..., Any],
    start: Any,
    *,
    gradient: Callable[..., Any] | None,
    hessian: Callable[..., Any] | None,
    derivatives: DerivativesFrom,
) -> Objective:
    point = _checked_start(start)
    shape = point.shape

    def restore(x: Array) -> Array:
        return x.reshape(shape).copy()

    def value(x: Array) -> float:
        return one_number(loss(restore(x)))

    @cache
    def traced() -> Derivatives:
        from globalmin.optimize.objective_frameworks import array_derivatives

        return array_derivatives(loss, shape)

    differences = derivatives == "central_differences"
    if gradient is not None:
        pair = _given_pair(value, restore, gradient)
    else:
        pair = (
            partial(_difference_pair, value)
            if differences
            else (lambda x: traced().value_and_gradient(x))
        )

    def slope(x: Array) -> Array:
        return pair(x)[1]

    if hessian is not None:
        bend = partial(_given_hessian, restore, hessian)
        return Objective(point.ravel(), pair, lambda x, u: bend(x) @ u, bend, restore, "function")
    if differences:
        return Objective(
            point.ravel(),
            pair,
            partial(difference_times, slope),
            partial(difference_hessian, slope),
            restore,
            "function",
        )
    return Objective(
        point.ravel(),
        pair,
        lambda x, u: traced().hessian_times(x, u),
        lambda x: traced().hessian(x),
        restore,
        "function",
    )


def _given_pair(
    value: Callable[[Array], float], restore: Any, gradient: Any
) -> Callable[[Array], tuple[float, Array]]:
    return lambda x: (value(x), flat_vector(gradient(restore(x)), x.size, "gradient"))


def _given_hessian(restore: Any, hessian: Any, x: Array) -> Array:
    return symmetric_matrix(hessian(restore(x)), x.size)


def _difference_pair(value: Callable[[Array], float], x: Array) -> tuple[float, Array]:
    return value(x), difference_gradient(value, x)


def difference_gradient(value: Callable[[Array], float], x: Array) -> Array:
    """Central differences of the value, 2p evaluations; about ten digits at best."""
    steps = np.cbrt(np.finfo(np.float64).eps) * np.maximum(1.0, np.abs(x))
    moved = [_at(x, i, step) for i, step in enumerate(steps)]
    return np.array(
        [(value(up) - value(down)) / (up[i] - down[i]) for i, (up, down) in enumerate(moved)]
    )


def _at(x: Array, i: int, step: float) -> tuple[Array, Array]:
    up, down = x.copy(), x.copy()
    up[i] += step
    down[i] -= step
    return up, down


def difference_times(slope: Callable[[Array], Array], x: Array, u: Array) -> Array:
    """Central difference of the gradient along u, two evaluations."""
    size = float(np.linalg.norm(u))
    if size == 0.0:
        return np.zeros_like(u)
    step = float(np.cbrt(np.finfo(np.float64).eps)) * max(1.0, float(np.linalg.norm(x))) / size
    return (slope(x + step * u) - slope(x - step * u)) / (2.0 * step)


def difference_hessian(slope: Callable[[Array], Array], x: Array) -> Array:
    """Central differences of the gradient, column by column, made symmetric; 2p gradients."""
    H = np.stack([difference_times(slope, x, e) for e in np.eye(x.size)])
    return (H + H.T) / 2.0


def one_number(value: Any) -> float:
    """The value of a loss as a float."""
    array = np.asarray(value, dtype=np.float64)
    if array.size != 1:
        raise DataError(f"loss returned an array of shape {array.shape}; it must return one number")
    return float(array.reshape(()))


def flat_vector(vector: Any, size: int, name: str) -> Array:
    """A gradient in the caller's shape as a vector of p floats."""
    array = np.asarray(vector, dtype=np.float64)
    if array.size != size:
        raise DataError(
            f"{name} returned shape {array.shape}; it must have the {size} entries of the start"
        )
    return array.ravel().copy()


def symmetric_matrix(matrix: Any, size: int) -> Array:
    """The caller's Hessian as a p x p array."""
    array = np.asarray(matrix, dtype=np.float64)
    if array.size != size * size:
        raise DataError(f"hessian returned shape {array.shape}; it must be {size} x {size}")
    return array.reshape(size, size)


def _checked_start(start: Any) -> Array:
    try:
        point = np.array(start, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"start={start!r} is not an array of numbers") from error
    if point.size == 0:
        raise DataError("start is empty; give at least one number")
    if not np.isfinite(point).all():
        place = int(np.argmin(np.isfinite(point.reshape(-1))))
        raise DataError(
            f"start has {point.reshape(-1)[place]} as entry {place}; every entry must be finite"
        )
    return point
