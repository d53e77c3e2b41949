r"""Activations on registers: phi and phi' together, without branches and without a library call.

Softplus with steepness b: with $u = e^{-b|z|}$, $\phi = \max(z, 0) + \log(1 + u)/b$ and $\phi' =
1/(1 + u)$ or $u/(1 + u)$. The exponential is $2^{-m} 2^{f}$, m the integer nearest to $b|z| \log_2
e$, found by adding and subtracting 1.5 times a power of two: the low bits of that sum are m, and
shifted into the exponent they give $2^{-m}$ (no conversion between floats and integers). The
logarithm is $2\,\mathrm{artanh}(u/(2+u))$, whose series in the square converges fast; one division
serves it and $\phi'$. The polynomials are economized power series; the errors are about 2e-7
(float32) and 5e-16 (float64) in absolute value.

Softplus works on several registers at once, instruction by instruction: each constant is loaded
once for all of them, and their chains of dependent operations overlap.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import types

from globalmin.fused.lanes import (
    Lanes,
    absolute,
    alike,
    fused,
    load_at,
    operation,
    pointer,
    spread_over,
    store_at,
    where_below,
)

RELU, SOFTPLUS, QUADRATIC = 0, 1, 2
CODES = {"relu": RELU, "softplus": SOFTPLUS, "quadratic": QUADRATIC}
TOGETHER = 3  # registers that softplus takes at once; measured best of 1 to 6

LOG2_E = 1.0 / math.log(2.0)
Registers = list[Any]


def economized(series: list[float], low: float, high: float, degree: int) -> tuple[float, ...]:
    """A power series cut to a polynomial of this degree, lowest first, that is near it on all of
    [low, high].

    Its last term is replaced, again and again, by the multiple of a Chebyshev polynomial that
    differs least from zero; the corrections are tiny against the coefficients that they change, so
    that these keep all their digits.
    """
    p = np.array(series)
    for m in range(len(series) - 1, degree, -1):
        chebyshev = (
            np.polynomial.Chebyshev.basis(m, domain=[low, high])
            .convert(kind=np.polynomial.Polynomial)
            .coef
        )
        p = (p - p[-1] / chebyshev[-1] * chebyshev)[:-1]
    return tuple(float(c) for c in p)


_EXP2 = [math.log(2.0) ** j / math.factorial(j) for j in range(20)]
_ARTANH = [1.0 / (2 * j + 1) for j in range(22)]  # artanh(t)/t as a series in t^2 <= 1/9

POWER = {32: economized(_EXP2, -0.5, 0.5, 5), 64: economized(_EXP2, -0.5, 0.5, 10)}
ARTANH = {32: economized(_ARTANH, 0.0, 1 / 9, 3), 64: economized(_ARTANH, 0.0, 1 / 9, 9)}
SHIFTER = {32: 1.5 * 2.0**23, 64: 1.5 * 2.0**52}
LARGEST = {32: 126.0, 64: 1022.0}  # 2^{-m} stays a normal number
MANTISSA, EXPONENT_OF_ONE = {32: 23, 64: 52}, {32: 127, 64: 1023}


@operation
def softplus_block(typing_context: Any, Z: Any, P: Any, place: Any, b: Any) -> Any:
    """P = phi(Z) and Z = phi'(Z) for `TOGETHER` neighboring registers from this place on; NaN gives
    NaN.
    """
    lanes = Lanes(Z.dtype)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values, slopes = (pointer(context, builder, signature.args[i], args[i]) for i in (1, 0))
        places = [
            builder.add(args[2], ir.Constant(args[2].type, i * lanes.count))
            for i in range(TOGETHER)
        ]
        z = [load_at(builder, slopes, at, lanes) for at in places]
        phi, slope = _softplus(builder, z, args[3], lanes)
        for at, value, derivative in zip(places, phi, slope, strict=True):
            store_at(builder, values, at, value)
            store_at(builder, slopes, at, derivative)
        return context.get_dummy_value()

    return types.void(Z, P, types.intp, lanes.scalar), emit


def _softplus(builder: Any, z: Registers, b: Any, lanes: Lanes) -> tuple[Registers, Registers]:
    """Instructions for the pair (phi, phi')."""
    zero, one, two = (lanes.constant(c) for c in (0.0, 1.0, 2.0))
    kind = lanes.llvm.element
    rate = spread_over(builder, builder.fmul(b, ir.Constant(kind, LOG2_E)), lanes)
    double_length = spread_over(builder, builder.fdiv(ir.Constant(kind, 2.0), b), lanes)
    u = _negative_power(builder, [builder.fmul(absolute(builder, x), rate) for x in z], lanes)
    above, further = [builder.fadd(one, x) for x in u], [builder.fadd(two, x) for x in u]
    inverse = [builder.fdiv(one, builder.fmul(a, f)) for a, f in zip(above, further, strict=True)]
    t = [builder.fmul(builder.fmul(x, a), i) for x, a, i in zip(u, above, inverse, strict=True)]
    artanh = _polynomial(builder, [builder.fmul(x, x) for x in t], ARTANH, lanes)
    positive = [builder.select(builder.fcmp_ordered(">", x, zero), x, zero) for x in z]
    lengths = [builder.fmul(double_length, x) for x in t]
    phi = [fused(builder, a, x, p) for a, x, p in zip(lengths, artanh, positive, strict=True)]
    upper = [
        builder.select(builder.fcmp_ordered("<", x, zero), y, one)
        for x, y in zip(z, u, strict=True)
    ]
    slope = [
        builder.fmul(builder.fmul(a, f), i) for a, f, i in zip(upper, further, inverse, strict=True)
    ]
    return phi, slope


def _negative_power(builder: Any, y: Registers, lanes: Lanes) -> Registers:
    """Instructions for 2^{-y}, y >= 0; y beyond the largest exponent counts as that one, NaN stays
    NaN.
    """
    bits = lanes.scalar.bitwidth
    largest, shifter = lanes.constant(LARGEST[bits]), lanes.constant(SHIFTER[bits])
    one = ir.Constant(lanes.llvm_bits, [EXPONENT_OF_ONE[bits] << MANTISSA[bits]] * lanes.count)
    places = ir.Constant(lanes.llvm_bits, [MANTISSA[bits]] * lanes.count)
    y = [builder.select(builder.fcmp_ordered(">", x, largest), largest, x) for x in y]
    shifted = [builder.fadd(x, shifter) for x in y]
    fraction = [builder.fsub(builder.fsub(s, shifter), x) for s, x in zip(shifted, y, strict=True)]
    exponent = [
        builder.sub(one, builder.shl(builder.bitcast(s, lanes.llvm_bits), places)) for s in shifted
    ]
    scale = [builder.bitcast(e, lanes.llvm) for e in exponent]
    return [
        builder.fmul(p, s)
        for p, s in zip(_polynomial(builder, fraction, POWER, lanes), scale, strict=True)
    ]


def _polynomial(
    builder: Any, x: Registers, coefficients: dict[int, tuple[float, ...]], lanes: Lanes
) -> Registers:
    """Horner's rule, all registers side by side."""
    highest, *others = reversed(coefficients[lanes.scalar.bitwidth])
    value = [lanes.constant(highest)] * len(x)
    for c in others:
        value = [fused(builder, p, a, lanes.constant(c)) for p, a in zip(value, x, strict=True)]
    return value


@njit(inline="always", error_model="numpy")
def relu(z):  # noqa: ANN001, ANN201
    """The pair (max(z, 0), 1 where z >= 0 and 0 elsewhere); NaN gives NaN in the first."""
    zero, one = alike(z, 0.0), alike(z, 1.0)
    return where_below(z, zero, zero, z), where_below(z, zero, zero, one)


@njit(inline="always", error_model="numpy")
def quadratic(z):  # noqa: ANN001, ANN201
    """The pair (z^2, 2z)."""
    return z * z, z + z
