"""Vector registers for numba: a type `Lanes` (eight float32 or four float64) with loads, stores,
arithmetic and selections.

Numba leaves vectorization to chance; here it is written down, so that no `fastmath` flag is needed
and NaN stays NaN. Every operation is an LLVM instruction on a 32-byte vector, which LLVM splits or
widens on machines without AVX2. Not-a-number rules: `where_below(x, bound, b, c)` takes c when x or
the bound is NaN, so callers put the value that carries the NaN there.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending
from numba.core import cgutils, types

BYTES = 32


def operation(function: Callable[..., Any]) -> Any:
    """Make a function of numba types that returns a signature and an emitter of LLVM instructions
    callable in compiled code.
    """
    return extending.intrinsic(function)


class Lanes(types.Type):
    """A register of numbers of one float type."""

    def __init__(self, scalar: types.Float) -> None:
        self.scalar, self.count = scalar, BYTES * 8 // scalar.bitwidth
        super().__init__(name=f"Lanes({scalar})")

    @property
    def llvm(self) -> ir.VectorType:
        """The LLVM type of the register."""
        return ir.VectorType(
            ir.FloatType() if self.scalar.bitwidth == 32 else ir.DoubleType(), self.count
        )

    @property
    def llvm_bits(self) -> ir.VectorType:
        """The LLVM type of the same register seen as integers."""
        return ir.VectorType(ir.IntType(self.scalar.bitwidth), self.count)

    def constant(self, value: float) -> ir.Constant:
        """A register filled with a constant."""
        return ir.Constant(self.llvm, [value] * self.count)


class LanesModel(extending.models.PrimitiveModel):
    """Stored as the LLVM vector itself."""

    def __init__(self, manager: Any, numba_type: Lanes) -> None:
        super().__init__(manager, numba_type, numba_type.llvm)


extending.register_model(Lanes)(LanesModel)


def pointer(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    """The address of the first number of an array."""
    return context.make_array(array_type)(context, builder, array).data


def load_at(builder: Any, base: Any, index: Any, lanes: Lanes) -> Any:
    """The register that starts at this index."""
    place = builder.bitcast(builder.gep(base, [index]), lanes.llvm.as_pointer())
    return builder.load(place, align=lanes.scalar.bitwidth // 8)


def store_at(builder: Any, base: Any, index: Any, value: Any) -> None:
    """Write a register (of any length) from this index on."""
    place = builder.bitcast(builder.gep(base, [index]), value.type.as_pointer())
    builder.store(value, place, align=4 if value.type.element == ir.FloatType() else 8)


def spread_over(builder: Any, scalar: Any, lanes: Lanes) -> Any:
    """A register filled with one number."""
    index = ir.Constant(ir.IntType(32), 0)
    first = builder.insert_element(ir.Constant(lanes.llvm, ir.Undefined), scalar, index)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), lanes.count), [0] * lanes.count)
    return builder.shuffle_vector(first, ir.Constant(lanes.llvm, ir.Undefined), zeros)


def fused(builder: Any, a: Any, b: Any, c: Any) -> Any:
    """The product a b plus c, rounded once."""
    return _call(builder, "fma", a, b, c)


def absolute(builder: Any, a: Any) -> Any:
    """Absolute values."""
    return _call(builder, "fabs", a)


def _call(builder: Any, name: str, *args: Any) -> Any:
    kind = args[0].type
    full = f"llvm.{name}.v{kind.count}f{32 if kind.element == ir.FloatType() else 64}"
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(kind, [kind] * len(args)), full
    )
    return builder.call(function, args)


@operation
def load(typing_context: Any, array: Any, index: Any) -> Any:
    """The register whose first number is array[index]; the array is one-dimensional and
    contiguous.
    """
    lanes = Lanes(array.dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return load_at(
            builder, pointer(context, builder, signature.args[0], args[0]), args[1], lanes
        )

    return lanes(array, types.intp), emit


@operation
def store(typing_context: Any, array: Any, index: Any, value: Any) -> Any:
    """Write a register to array[index], array[index + 1], ..."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        store_at(builder, pointer(context, builder, signature.args[0], args[0]), args[1], args[2])
        return context.get_dummy_value()

    return types.void(array, types.intp, value), emit


@operation
def spread(typing_context: Any, array: Any, number: Any) -> Any:
    """A register of the array's kind filled with one number."""
    lanes = Lanes(array.dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return spread_over(
            builder, context.cast(builder, args[1], signature.args[1], lanes.scalar), lanes
        )

    return lanes(array, number), emit


@operation
def alike(typing_context: Any, register: Any, number: Any) -> Any:
    """A register of the kind of the first argument filled with the second."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return spread_over(
            builder, context.cast(builder, args[1], signature.args[1], register.scalar), register
        )

    return register(register, number), emit


@operation
def total(typing_context: Any, register: Any) -> Any:
    """The sum of the numbers in a register, by halves."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, count = args[0], register.count
        while count > 1:
            count //= 2
            value = builder.fadd(*(part(builder, value, range(i, i + count)) for i in (0, count)))
        return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))

    return register.scalar(register), emit


def part(builder: Any, value: Any, chosen: range | list[int], other: Any = None) -> Any:
    """The chosen numbers of one register, or of two set side by side."""
    places = ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), list(chosen))
    return builder.shuffle_vector(
        value, ir.Constant(value.type, ir.Undefined) if other is None else other, places
    )


@operation
def multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """The register a b + c, each entry rounded once."""
    return a(a, b, c), lambda context, builder, signature, args: fused(builder, *args)


@operation
def where_below(typing_context: Any, x: Any, bound: Any, below: Any, otherwise: Any) -> Any:
    """`below` where x < bound, `otherwise` elsewhere and where x or the bound is NaN."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return x(x, bound, below, otherwise), emit


def _operation(symbol: Callable[..., Any], name: str) -> None:
    """Let numba code write a + b for registers."""

    @operation
    def apply(typing_context: Any, a: Any, b: Any) -> Any:
        return a(a, b), lambda context, builder, signature, args: getattr(builder, name)(*args)

    @extending.overload(symbol)
    def resolve(a, b):  # noqa: ANN001, ANN202 (numba compares this signature with the one below)
        if isinstance(a, Lanes) and isinstance(b, Lanes):
            return lambda a, b: apply(a, b)
        return None


for _symbol, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _operation(_symbol, _name)
