"""Numbers of some hundred bits as unevaluated sums of two doubles, whole arrays at a time: products
of matrices and the smooth activations of the certificate format, each to about 2^-95.

The checker has its own arithmetic of this kind, with proofs; these numbers only choose what is
claimed.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.linalg.positive_definite import working_precision

_SLICES = 4
_ENTRIES = 8192  # of a piece that stays in the cache
_PLACES = 512  # of the table of powers of two


class Double(NamedTuple):
    """The numbers high + low, |low| below half a unit in the last place of high."""

    high: Any  # arrays, or doubles for a constant
    low: Any


def _sum(a: Array, b: Array) -> Double:
    """Exact sum."""
    s = a + b
    t = s - a
    return Double(s, (a - (s - t)) + (b - t))


def _halves(a: Array) -> tuple[Array, Array]:
    """Two numbers of 26 bits whose sum it is."""
    c = a * 134217729.0
    top = c - (c - a)
    return top, a - top


def _product(a: Array, b: Array, halves: tuple[Array, Array] | None = None) -> Double:
    """Exact product; `halves` are those of b."""
    p = a * b
    (a1, a2), (b1, b2) = _halves(a), halves or _halves(b)
    return Double(p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)


def plus(a: Double, b: Double) -> Double:
    """Sum."""
    s, e = _sum(a.high, b.high)
    return _sum(s, e + (a.low + b.low))


def _plus_less(a: Double, b: Double) -> Double:
    """Sum, where |a| >= |b|."""
    s = a.high + b.high
    rest = b.high - (s - a.high) + (a.low + b.low)
    high = s + rest
    return Double(high, rest - (high - s))


def times(a: Double, b: Double, halves: tuple[Array, Array] | None = None) -> Double:
    """Product; `halves` are those of b.high."""
    p, e = _product(a.high, b.high, halves)
    rest = e + (a.high * b.low + a.low * b.high)  # far below p
    s = p + rest
    return Double(s, rest - (s - p))


def _horner(first: Array, constants: tuple[Double, ...], x: Double) -> Double:
    """c_0 + x(c_1 + x(... (c_m + first))) for constants that decide each sum, from the last one
    on.
    """
    halves = _halves(x.high)
    p = _plus_less(constants[-1], Double(first, 0.0))
    for constant in reversed(constants[:-1]):
        p = _plus_less(constant, times(p, x, halves))
    return p


def exactly(x: Array) -> Double:
    """A double as it is."""
    return Double(x, np.zeros_like(x))


def matrix_product(A: Array, B: Array) -> Double:
    """A B^T: rows are cut into slices whose products are exact in doubles."""
    bits = (53 - max(1, math.ceil(math.log2(A.shape[1])))) // 2
    left, right = _slices(A, bits), _slices(B, bits)
    parts = [
        np.split(left[a] @ np.concatenate(right[: _SLICES - a]).T, _SLICES - a, axis=1)
        for a in range(_SLICES)
    ]
    small = np.add.reduce([parts[a][b - a] for b in (3, 2) for a in range(b + 1)])
    return plus(plus(_sum(parts[0][0], parts[0][1]), exactly(parts[1][0])), exactly(small))


def _slices(A: Array, bits: int) -> list[Array]:
    exponent = np.frexp(np.abs(A).max(axis=1, initial=0.0))[1][:, None]
    found, rest = [], A
    for place in range(1, _SLICES + 1):
        large = np.ldexp(1.5, exponent + (52 - place * bits))  # its last place is that of the slice
        found.append((rest + large) - large)
        rest = rest - found[-1]
    return found


def row_sums(A: Double) -> Double:
    """Sums of the rows, by halves."""
    while (m := A.high.shape[1]) > 1:
        first, second, last = (
            Double(A.high[:, i:j], A.low[:, i:j])
            for i, j in ((0, m // 2), (m // 2, m - m % 2), (m - m % 2, m))
        )
        parts = zip(plus(first, second), last, strict=True)
        A = Double(*(np.hstack(part) for part in parts))
    return Double(A.high[:, 0], A.low[:, 0])


def exp_of_negative(a: Double) -> Double:
    """e^a for a <= 0, and e^-600 below."""
    high, middle, rest = _ln2()
    cut = a.high < -600.0
    h, low = np.where(cut, -600.0, a.high), np.where(cut, 0.0, a.low)
    q = np.rint(h * (_PLACES / math.log(2.0)))
    r = plus(_sum(h - q * high, -q * middle), Double(low, -q * rest))
    x = r.high
    tail = x * (1 / 24 + x * (1 / 120 + x * (1 / 720 + x / 5040)))
    p = _horner(tail, (_part(1), _part(1), _part(2), _part(6)), r)
    place = q.astype(np.int64)
    p = times(p, Double(*(column.take(place % _PLACES) for column in _powers())))
    power = ((place // _PLACES + 1023) << 52).view(np.float64)
    return Double(p.high * power, p.low * power)


def log_above_one(e: Double) -> Double:
    """log(1 + e) for 0 <= e <= 1, as log((1 + e) r) - log r with r of 13 bits near 1/(1 + e), so
    that (1 + e) r - 1 is had without rounding.
    """
    a = _plus_less(_part(1), e)
    inverses, *logarithms = _inverses()
    place = ((a.high - 1.0) * _PLACES).astype(np.int64)
    r = inverses.take(place)
    top, rest = _halves(a.high)
    w = plus(_sum(top * r - 1.0, rest * r), exactly(a.low * r))
    x = w.high
    tail = x * (-1 / 4 + x * (1 / 5 + x * (-1 / 6 + x * (1 / 7 + x * (-1 / 8 + x / 9)))))
    series = times(_horner(tail, (_part(1), _part(-2), _part(3)), w), w)
    return plus(Double(*(column.take(place) for column in logarithms)), series)


@cache
def _inverses() -> tuple[Array, Array, Array]:
    """Numbers r of 13 bits near 1/(1 + (j + 1/2)/512), and -log r as pairs."""
    from flint import arb

    r = np.rint(2.0**13 / (1.0 + (np.arange(_PLACES + 1) + 0.5) / _PLACES)) * 2.0**-13
    with working_precision():
        balls = [-arb(x).log() for x in r.tolist()]
        high = [float(ball) for ball in balls]
        low = [float(ball - arb(h)) for ball, h in zip(balls, high, strict=True)]
    return r, np.array(high), np.array(low)


@cache
def _part(divisor: int) -> Double:
    """1/divisor."""
    exact = Fraction(1, divisor)
    return Double(float(exact), float(exact - Fraction(float(exact))))


@cache
def _ln2() -> tuple[float, float, float]:
    """The logarithm of 2 over 512 as a sum of two numbers of 33 bits and a double."""
    from flint import arb

    with working_precision():
        digits = int((arb.const_log2() * arb(2) ** 160).mid().floor().fmpz())
    scale = 2.0**-160 / _PLACES
    high, middle = (digits >> 127) << 127, ((digits & (2**127 - 1)) >> 94) << 94
    return high * scale, middle * scale, (digits - high - middle) * scale


@cache
def _powers() -> Double:
    """2^(j/512)."""
    from flint import arb

    with working_precision():
        balls = [arb(2) ** (arb(j) / _PLACES) for j in range(_PLACES)]
        high = [float(ball) for ball in balls]
        low = [float(ball - arb(h)) for ball, h in zip(balls, high, strict=True)]
    return Double(np.array(high), np.array(low))


def activation(name: str, z: Double) -> Double:
    """phi(z) for softplus, sigmoid, tanh and quadratic, piece by piece."""
    shape, flat = z.high.shape, Double(*(x.reshape(-1) for x in z))
    found = [
        _FUNCTIONS[name](Double(*(x[i : i + _ENTRIES] for x in flat)))
        for i in range(0, flat.high.size, _ENTRIES)
    ]
    return Double(*(np.concatenate(parts).reshape(shape) for parts in zip(*found, strict=True)))


def _scaled(a: Double, factor: Array | float) -> Double:
    """A times a power of two or its negative."""
    return Double(a.high * factor, a.low * factor)


def _softplus(z: Double) -> Double:
    """max(z, 0) + log(1 + e^-|z|)."""
    sign = np.where(z.high >= 0, 1.0, -1.0)
    log = log_above_one(exp_of_negative(_scaled(z, -sign)))
    return plus(_scaled(z, np.maximum(sign, 0.0)), log)


def _sigmoid(z: Double) -> Double:
    """1/(1 + e^-z), by a division in doubles and one correction."""
    sign = np.where(z.high >= 0, 1.0, -1.0)
    one = _part(1)
    below = plus(one, exp_of_negative(_scaled(z, -sign)))
    guess = exactly(1.0 / below.high)
    share = plus(guess, times(guess, plus(one, _scaled(times(below, guess), -1.0))))
    other = plus(one, _scaled(share, -1.0))
    return Double(*(np.where(sign > 0, a, b) for a, b in zip(share, other, strict=True)))


def _tanh(z: Double) -> Double:
    """2 sigmoid(2z) - 1."""
    share = _sigmoid(_scaled(z, 2.0))
    return plus(_part(-1), _scaled(share, 2.0))


_FUNCTIONS = {
    "softplus": _softplus,
    "sigmoid": _sigmoid,
    "tanh": _tanh,
    "quadratic": lambda z: times(z, z),
}
