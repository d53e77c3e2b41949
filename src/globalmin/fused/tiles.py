"""The matrix products of a training step as small blocks that stay in registers, emitted as LLVM
instructions.

Both products have the form C = A B with the rows of B and C padded to whole registers: Z = W X
(rows of samples) and the gradient G = S X^T (rows of features). A block of C is kept in up to
twelve registers, which hides the latency of the multiplier; a register of B is read once for all
rows of the block, and no sum is stored before it is complete.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from globalmin.fused.lanes import Lanes, fused, load_at, operation, pointer, spread_over, store_at

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
