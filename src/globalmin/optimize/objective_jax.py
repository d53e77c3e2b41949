"""JAX losses as functions of one flat float64 vector, in double precision without touching the
caller's configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.optimize.objective import Objective

_REMEDY = (
    "write the loss with jax.numpy and without branches on values, or, for a function of an array, "
    "give gradient=... (and hessian=...), or ask for derivatives='central_differences'"
)


@dataclass(frozen=True)
class Derivatives:
    """What JAX gives for a function of one vector; every call runs in double precision."""

    value_and_gradient: Callable[[Array], tuple[float, Array]]
    hessian_times: Callable[[Array, Array], Array]
    hessian: Callable[[Array], Array]


@contextmanager
def double_precision() -> Iterator[None]:
    """JAX with 64-bit types inside the block, on this thread only; the caller's setting comes back
    afterwards.
    """
    import jax

    if hasattr(jax, "enable_x64"):
        with jax.enable_x64(True):
            yield
    else:
        from jax.experimental import enable_x64  # pyright: ignore[reportAttributeAccessIssue]

        with enable_x64():
            yield


def array_derivatives(loss: Callable[..., Any], shape: tuple[int, ...]) -> Derivatives:
    """Derivatives of a loss of an array of this shape."""
    _require_jax()
    return _derivatives(lambda x: loss(x.reshape(shape)))


def pytree_objective(loss: Callable[..., Any], start: Any) -> Objective:
    """A loss of a pytree whose leaves are arrays of real numbers."""
    _require_jax()
    import jax
    from jax.flatten_util import ravel_pytree

    leaves = jax.tree_util.tree_leaves(start)
    if not leaves:
        raise DataError(f"start={start!r} has no leaves; give a pytree with at least one array")
    for leaf in leaves:
        kind = (
            np.asarray(leaf).dtype.kind
            if hasattr(leaf, "dtype") or isinstance(leaf, int | float)
            else "O"
        )
        if kind not in "fiu" and "float" not in str(getattr(leaf, "dtype", "")):
            raise DataError(
                f"the pytree has a leaf of type {type(leaf).__name__}; all leaves must be arrays "
                "of real numbers"
            )
    with double_precision():
        doubled = jax.tree_util.tree_map(
            lambda leaf: jax.numpy.asarray(np.asarray(leaf, dtype=np.float64)), start
        )
        flat, unravel = ravel_pytree(doubled)
        vector = np.array(flat, dtype=np.float64)
    if not np.isfinite(vector).all():
        raise DataError("start contains NaN or infinity; give finite parameters")

    def restore(x: Array) -> Any:
        with double_precision():
            tree = unravel(jax.numpy.asarray(x))
        return jax.tree_util.tree_map(lambda leaf: np.array(leaf, dtype=np.float64), tree)

    traced = _derivatives(lambda x: loss(unravel(x)))
    return Objective(
        vector, traced.value_and_gradient, traced.hessian_times, traced.hessian, restore, "pytree"
    )


def _derivatives(function: Callable[[Any], Any]) -> Derivatives:
    import jax

    def scalar(x: Any) -> Any:
        return jax.numpy.asarray(function(x), dtype=jax.numpy.float64).reshape(())

    pair = jax.jit(jax.value_and_grad(scalar))
    times = jax.jit(lambda x, u: jax.jvp(jax.grad(scalar), (x,), (u,))[1])
    dense = jax.jit(jax.hessian(scalar))

    def value_and_gradient(x: Array) -> tuple[float, Array]:
        value, slope = _run(pair, x)
        return float(value), np.array(slope, dtype=np.float64)

    return Derivatives(
        value_and_gradient,
        lambda x, u: np.array(_run(times, x, u), dtype=np.float64),
        lambda x: np.array(_run(dense, x), dtype=np.float64),
    )


def _run(function: Callable[..., Any], *arguments: Array) -> Any:
    """Call a traced function in double precision; a loss that JAX cannot trace is the caller's to
    repair.
    """
    import jax

    with double_precision():
        try:
            return function(*(jax.numpy.asarray(argument) for argument in arguments))
        except DataError:
            raise
        except Exception as error:
            raise DataError(
                f"JAX cannot differentiate this loss ({type(error).__name__}: "
                f"{_first_line(error)}); {_REMEDY}"
            ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", maxsplit=1)[0][:200]


def _require_jax() -> None:
    try:
        import jax  # noqa: F401
    except ImportError as error:
        raise DataError(
            "derivatives of this loss need JAX, which is not installed; install globalmin[deep], "
            "or, for a function of an array, "
            "give gradient=... (and hessian=...), or ask for derivatives='central_differences'"
        ) from error
