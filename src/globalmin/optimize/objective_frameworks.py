"""A loss of JAX, or a torch module with a loss closure, as a function of one flat float64 vector;
neither the caller's configuration of JAX nor the caller's module is changed.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.optimize.objective import Objective

if TYPE_CHECKING:
    import torch

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


@cache
def _in_double() -> Callable[[], Any]:
    """A mode in which every torch function sees its single-precision tensors in double precision.

    A closure over float32 data then works with float64 parameters. A tensor written in place keeps
    its own type.
    """
    from torch.overrides import TorchFunctionMode

    class InDouble(TorchFunctionMode):
        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            name = getattr(func, "__name__", "")
            kept = (
                1
                if name == "__setitem__" or (name.endswith("_") and not name.endswith("__"))
                else 0
            )
            doubled = (*args[:kept], *(_double(argument) for argument in args[kept:]))
            return func(*doubled, **{key: _double(value) for key, value in (kwargs or {}).items()})

    return InDouble


def _double(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return (
            value.to(torch.float64)
            if value.is_floating_point() and value.dtype != torch.float64
            else value
        )
    if type(value) in (list, tuple):
        return type(value)(_double(entry) for entry in value)
    return value


def _evaluated(module: torch.nn.Module, loss: Callable[..., Any]) -> torch.nn.Module:
    """The caller's loss as the forward pass of a module that owns the caller's module."""
    import torch

    class Evaluated(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.module, self.takes_module = module, _takes_argument(loss)

        def forward(self) -> Any:
            return loss(self.module) if self.takes_module else loss()

    return Evaluated()


def _takes_argument(loss: Callable[..., Any]) -> bool:
    required = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [
        entry for entry in inspect.signature(loss).parameters.values() if entry.kind in required
    ]
    missing = [entry for entry in found if entry.default is inspect.Parameter.empty]
    if len(missing) > 1:
        raise DataError(
            f"loss takes {len(missing)} arguments; with a torch module it takes the module, or "
            "nothing"
        )
    return len(missing) == 1


def module_objective(loss: Callable[..., Any], module: torch.nn.Module) -> Objective:
    """The loss as a function of the module's trainable parameters (those with requires_grad), in
    `named_parameters` order.
    """
    trained = {name: value for name, value in module.named_parameters() if value.requires_grad}
    if not trained:
        raise DataError(
            "start is a torch module without trainable parameters; set requires_grad on at least "
            "one"
        )
    start = np.concatenate([_array(value) for value in trained.values()])
    if not np.isfinite(start).all():
        raise DataError("the module's parameters contain NaN or infinity; initialize it first")
    calculus = _Calculus(loss, module, trained)

    def restore(x: Array) -> torch.nn.Module:
        return _with_parameters(module, list(trained), np.split(x, np.cumsum(calculus.sizes)[:-1]))

    def hessian(x: Array) -> Array:
        H = calculus.products(x, np.eye(x.size))
        return (H + H.T) / 2.0

    return Objective(
        start,
        calculus.value_and_gradient,
        lambda x, u: calculus.products(x, u[None])[0],
        hessian,
        restore,
        "torch",
    )


class _Calculus:
    """Value, gradient and Hessian products of the loss by torch's automatic differentiation, in
    double precision.
    """

    def __init__(
        self, loss: Callable[..., Any], module: torch.nn.Module, trained: dict[str, Any]
    ) -> None:
        self.sizes = [value.numel() for value in trained.values()]
        self._shapes, self._names = (
            [value.shape for value in trained.values()],
            [f"module.{name}" for name in trained],
        )
        self._device, self._evaluated = (
            next(iter(trained.values())).device,
            _evaluated(module, loss),
        )

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """f(x) and its gradient."""
        import torch

        with torch.enable_grad():
            result, slope = self._differentiate(self._leaf(x), graph=False)
        return float(result.detach()), _array(slope)

    def products(self, x: Array, directions: Array) -> Array:
        """Products of the Hessian at x with the rows of `directions`, by a second backward pass
        each.
        """
        import torch

        with torch.enable_grad():
            theta = self._leaf(x)
            _, slope = self._differentiate(theta, graph=True)
            if not slope.requires_grad:
                return np.zeros_like(directions)
            rows = [
                torch.autograd.grad(
                    slope,
                    theta,
                    torch.tensor(u, device=self._device),
                    True,
                    allow_unused=True,
                    materialize_grads=True,
                )
                for u in directions
            ]
        return np.stack([_array(row) for (row,) in rows])

    def _leaf(self, x: Array) -> torch.Tensor:
        import torch

        return torch.tensor(x, dtype=torch.float64, device=self._device, requires_grad=True)

    def _differentiate(
        self, theta: torch.Tensor, *, graph: bool
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        parts = [
            part.reshape(shape)
            for part, shape in zip(theta.split(self.sizes), self._shapes, strict=True)
        ]
        with _in_double()():
            result = torch.func.functional_call(
                self._evaluated, dict(zip(self._names, parts, strict=True)), ()
            )
        if not isinstance(result, torch.Tensor) or result.numel() != 1:
            raise DataError(
                f"loss returned {type(result).__name__}; it must return a tensor with one number"
            )
        value = result.reshape(()).to(torch.float64)
        if not value.requires_grad:
            raise DataError(
                "the loss does not depend on the module's parameters through torch; call the "
                "module inside the loss"
            )
        (slope,) = torch.autograd.grad(
            value, theta, create_graph=graph, allow_unused=True, materialize_grads=True
        )
        return value, slope


def _array(tensor: torch.Tensor) -> Array:
    import torch

    return tensor.detach().to("cpu", torch.float64).numpy().ravel().copy()


def _with_parameters(
    module: torch.nn.Module, names: list[str], parts: list[Array]
) -> torch.nn.Module:
    """A copy of the module, in its own types, with these parameters."""
    import torch

    copied = copy.deepcopy(module)
    places = dict(copied.named_parameters())
    with torch.no_grad():
        for name, part in zip(names, parts, strict=True):
            place = places[name]
            place.copy_(torch.tensor(part, dtype=torch.float64).reshape(place.shape).to(place))
    return copied
