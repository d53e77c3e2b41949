"""Vector registers for numba: a type `Lanes` (eight float32 or four float64) with loads, stores
and arithmetic, and the matrix products of a training step as small blocks that stay in registers.

Numba leaves vectorization to chance; here it is written down, so that no `fastmath` flag is needed
and NaN stays NaN. Every operation is an LLVM instruction on a 32-byte vector, which LLVM splits or
widens on machines without AVX2. Not-a-number rules: `where_below(x, bound, b, c)` takes c when x or
the bound is NaN, so callers put the value that carries the NaN there.

Both products have the form C = A B with the rows of B and C padded to whole registers: Z = W X
(rows of samples) and the gradient G = S X^T (rows of features). A block of C is kept in up to
twelve registers, which hides the latency of the multiplier; a register of B is read once for all
rows of the block, and no sum is stored before it is complete.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import product
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


ROWS, COLUMNS = 4, 3
Matrix = tuple[Any, Any, Any]


@operation
def multiply_block(  # noqa: PLR0917
    typing_context: Any, left: Any, right: Any, target: Any, depth: Any, rows: Any, columns: Any
) -> Any:
    """A block of C = A B with 1 to `ROWS` rows and 1 to `COLUMNS` registers of columns.

    The matrices are given as (A, a, stride of A), (B, b, stride of B), (C, c, stride of C), where
    the small letters are the places of the block's first entries; `depth` is the number of products
    in a sum. Every size of block has its own instructions.
    """
    lanes = Lanes(left[0].dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        A, B, C = (_unpack(context, builder, signature.args[i], args[i]) for i in range(3))
        size = builder.add(builder.mul(args[4], ir.Constant(args[4].type, COLUMNS + 1)), args[5])
        done = builder.append_basic_block("done")
        choice = builder.switch(size, done)
        for m, q in product(range(1, ROWS + 1), range(1, COLUMNS + 1)):
            case = builder.append_basic_block(f"block_{m}_{q}")
            choice.add_case(ir.Constant(size.type, m * (COLUMNS + 1) + q), case)
            builder.position_at_end(case)
            sums = _sums(builder, A, B, args[3], (m, q), lanes)
            _write(builder, C, sums, lanes)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    return types.void(left, right, target, types.intp, types.intp, types.intp), emit


def _sums(  # noqa: PLR0917
    builder: Any, left: Matrix, right: Matrix, depth: Any, size: tuple[int, int], lanes: Lanes
) -> list[list[Any]]:
    """Instructions for the block's sums, which are returned in registers."""
    (A, a, a_stride), (B, b, b_stride) = left, right
    sums = [
        [cgutils.alloca_once(builder, lanes.llvm) for _ in range(size[1])] for _ in range(size[0])
    ]
    for kept in (kept for row in sums for kept in row):
        builder.store(lanes.constant(0.0), kept)
    with cgutils.for_range(builder, depth) as loop:
        place = builder.add(b, builder.mul(loop.index, b_stride))
        registers = [
            load_at(builder, B, _plus(builder, place, j * lanes.count), lanes)
            for j in range(size[1])
        ]
        for i, row in enumerate(sums):
            entry = builder.add(_plus_rows(builder, a, a_stride, i), loop.index)
            factor = spread_over(builder, builder.load(builder.gep(A, [entry])), lanes)
            for register, kept in zip(registers, row, strict=True):
                builder.store(fused(builder, factor, register, builder.load(kept)), kept)
    return [[builder.load(kept) for kept in row] for row in sums]


def _write(builder: Any, target: Matrix, sums: list[list[Any]], lanes: Lanes) -> None:
    C, c, stride = target
    for i, row in enumerate(sums):
        for j, value in enumerate(row):
            store_at(
                builder,
                C,
                _plus(builder, _plus_rows(builder, c, stride, i), j * lanes.count),
                value,
            )


def _unpack(context: Any, builder: Any, kind: Any, value: Any) -> Matrix:
    """The address of the array that a tuple begins with, and its two further entries."""
    array, first, stride = cgutils.unpack_tuple(builder, value, len(kind))
    return pointer(context, builder, kind[0], array), first, stride


def _plus(builder: Any, index: Any, number: int) -> Any:
    return builder.add(index, ir.Constant(index.type, number))


def _plus_rows(builder: Any, index: Any, stride: Any, number: int) -> Any:
    return builder.add(index, builder.mul(stride, ir.Constant(stride.type, number)))
