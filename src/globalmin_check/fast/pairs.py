"""Pairs of floats (h, l), |l| <= u |h|, standing for h + l: sums, products, exp, activations, and
matrix products by exact slices (W1 to W5 of `spec/fast-route.md`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
from flint import arb

from globalmin_check.balls import precision
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import Floats, U, up

SLICES = 4
LEAST = -900  # of the exponents of rows that are cut into slices
CHUNK = 8192  # entries that are worked on together, so that they stay in the cache
_SPLIT = 2.0**27 + 1.0
_PARTS = 1024  # of the interval from 1 to 2 in the table of powers
_INVERSE = _PARTS * 1.4426950408889634
_HIGH = float.fromhex("0x1.62e42fee00000p-1") / _PARTS  # 33 bits of ln 2
_MIDDLE = float.fromhex("0x1.a39ef35800000p-33") / _PARTS  # 33 bits, a multiple of 2^-75
_REST = float.fromhex("-0x1.b0e2633fe0685p-67") / _PARTS
_SIXTH = (1 / 6, float(Fraction(1, 6) - Fraction(1 / 6)))
_TAIL = tuple(1 / math.factorial(j) for j in (7, 6, 5, 4))
_THIRD = (1 / 3, float(Fraction(1, 3) - Fraction(1 / 3)))
_LOG = (-1 / 8, 1 / 7, -1 / 6, 1 / 5, -1 / 4)


class Pair(NamedTuple):
    """The number h + l, entry by entry."""

    h: Floats
    l: Floats  # noqa: E741 the letter of the page


def single(x: Floats) -> Pair:
    """A float as a pair."""
    return Pair(x, np.zeros_like(x))


def two_sum(a: Floats, b: Floats) -> Pair:
    """W1: a + b exactly."""
    s = a + b
    t = s - a
    return Pair(s, (a - (s - t)) + (b - t))


def _ordered_sum(a: Floats | float, b: Floats) -> Pair:
    """W1: a + b exactly, where |a| >= |b|."""
    s = a + b
    return Pair(s, b - (s - a))


def two_product(a: Floats, b: Floats, halves: tuple[Floats, Floats] | None = None) -> Pair:
    """W1: a b exactly, up to 2^-1060 below 2^-960; both at most 2^900. `halves` are those of b, if
    they are at hand.
    """
    p = a * b
    (a1, a2), (b1, b2) = _split(a), halves or _split(b)
    return Pair(p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)


def _split(a: Floats) -> tuple[Floats, Floats]:
    c = _SPLIT * a
    high = c - (c - a)
    return high, a - high


def add(a: Pair, b: Pair) -> Pair:
    """W2: within 4 u^2 (|a| + |b|) of a + b."""
    s, e = two_sum(a.h, b.h)
    return two_sum(s, e + (a.l + b.l))


def add_small(a: float, b: Pair) -> Pair:
    """W2 for |b| at most half of |a|: within 4 u^2 |a| of a + b."""
    s, e = _ordered_sum(a, b.h)
    return _ordered_sum(s, e + b.l)


def multiply(a: Pair, b: Pair, halves: tuple[Floats, Floats] | None = None) -> Pair:
    """W2: within 9 u^2 |a b| + 2^-1050 of a b; `halves` as in `two_product`."""
    p, e = two_product(a.h, b.h, halves)
    return _ordered_sum(p, e + (a.h * b.l + a.l * b.h))


def add_up(terms: Pair) -> tuple[Pair, int]:
    """The sums of the rows by a binary tree, and its depth."""
    depth = 0
    while terms.h.shape[1] > 1:
        half = terms.h.shape[1] // 2
        left, right = (
            Pair(terms.h[:, part], terms.l[:, part])
            for part in (slice(0, half), slice(half, 2 * half))
        )
        last = slice(2 * half, None)
        joined = add(left, right)
        terms = Pair(
            np.concatenate([joined.h, terms.h[:, last]], axis=1),
            np.concatenate([joined.l, terms.l[:, last]], axis=1),
        )
        depth += 1
    return Pair(terms.h[:, 0], terms.l[:, 0]), depth


def product(products: Products, X: Floats, W: Floats) -> tuple[Pair, Floats]:
    """W3: X W^T as pairs with radii. Every product of slices is exact in every order, and is
    confirmed.
    """
    d = X.shape[1]
    bits = (53 - max(1, math.ceil(math.log2(d)))) // 2
    left, tops = _slices(X, bits)
    right, others = _slices(W, bits)
    parts = [
        np.split(products.product(left[a], np.concatenate(right[: SLICES - a]).T), SLICES - a, 1)
        for a in range(SLICES)
    ]
    low = sum((parts[a][b - a] for b in (3, 2) for a in range(b + 1)), np.zeros(parts[0][0].shape))
    Z = add(two_sum(parts[0][0], parts[0][1]), single(parts[1][0]))
    relative = (SLICES + 1) * 2.0 ** (-SLICES * bits - 1) + 20 * U * 4.0**-bits + 88 * U * U
    return add(Z, single(low)), up(d * relative * np.outer(tops, others), 4) + 2.0**-900


def _slices(A: Floats, bits: int) -> tuple[list[Floats], Floats]:
    """Integers below 2^bits in size times powers of two common to a row, whose sum is A up to the
    last; and a power of two above each row. A number is rounded to a power of two by adding one
    whose last place it is, and taking it away.
    """
    tops = np.abs(A).max(axis=1)
    e = np.maximum(np.frexp(tops)[1], LEAST)
    found, rest = [], A
    for place in range(1, SLICES + 1):
        large = np.ldexp(1.5, 52 + e - place * bits)[:, None]
        part = (rest + large) - large
        found.append(part)
        rest = rest - part
    return found, np.where(tops > 0, np.ldexp(1.0, e), 0.0)


def exp_below_zero_pair(a: Pair) -> Pair:
    """W4, a <= 0: relative error below 2^-96, plus 2^-865."""
    cut = a.h < -600.0
    h, low = np.where(cut, -600.0, a.h), np.where(cut, 0.0, a.l)
    q = np.rint(h * _INVERSE)
    r = add(two_sum(h - q * _HIGH, -q * _MIDDLE), Pair(low, -q * _REST))
    tail = r.h * _TAIL[0]
    for coefficient in _TAIL[1:-1]:
        tail = (tail + coefficient) * r.h
    tail = (tail + _TAIL[-1]) * r.h
    p, halves = _ordered_sum(_SIXTH[0], _SIXTH[1] + tail), _split(r.h)
    for constant in (0.5, 1.0, 1.0):
        p = add_small(constant, multiply(p, r, halves))
    number = q.astype(np.int64)
    high, rest = _powers()
    place, power = number & (_PARTS - 1), number >> int(math.log2(_PARTS))
    p = multiply(p, Pair(high.take(place), rest.take(place)))
    scale = ((power + 1023) << 52).view(np.float64)  # 2^power, -867 at the least
    return Pair(p.h * scale, p.l * scale)


@cache
def _powers() -> tuple[Floats, Floats]:
    """2^(j/1024) as pairs, j = 0 to 1023."""
    with precision(200):
        return _as_pairs([arb(2) ** (arb(j) / _PARTS) for j in range(_PARTS)])


def activation(name: str, z: Pair) -> tuple[Pair, Floats]:
    """W5: within 2^-90 max(1, |z|) of phi(z), for z^2 within that times |z|; and e = exp(-|z|), of
    tanh exp(-2|z|), to 2 u e + 2^-865 (of z^2: z).
    """
    shape, size = z.h.shape, z.h.size
    h, low = (np.ascontiguousarray(part).reshape(-1) for part in z)
    value, e = Pair(np.empty(size), np.empty(size)), np.empty(size)
    for start in range(0, size, CHUNK):
        here = slice(start, start + CHUNK)
        found, e[here] = _activation(name, Pair(h[here], low[here]))
        value.h[here], value.l[here] = found
    return Pair(*(part.reshape(shape) for part in value)), e.reshape(shape)


def _activation(name: str, z: Pair) -> tuple[Pair, Floats]:
    if name == "quadratic":
        return multiply(z, z), z.h
    sign = np.where(z.h >= 0, 1.0, -1.0)
    scale = -2.0 * sign if name == "tanh" else -sign
    e = exp_below_zero_pair(Pair(scale * z.h, scale * z.l))
    one = single(np.ones_like(e.h))
    A = add(one, e)
    if name == "softplus":
        return _softplus(z, A), e.h
    t = 1.0 / A.h
    rest = add(one, multiply(A, single(-t)))
    share = two_sum(t, (rest.h + rest.l) * t)
    if name == "tanh":
        value = add(single(-one.h), Pair(2.0 * share.h, 2.0 * share.l))
        return Pair(sign * value.h, sign * value.l), e.h
    other = add(one, Pair(-share.h, -share.l))
    value = Pair(np.where(z.h >= 0, share.h, other.h), np.where(z.h >= 0, share.l, other.l))
    return value, e.h


def _softplus(z: Pair, A: Pair) -> Pair:
    above = Pair(np.maximum(z.h, 0.0), np.where(z.h >= 0, z.l, 0.0))
    return add(log_pair(A), above)


def log_pair(A: Pair) -> Pair:
    """E2, 1 <= A <= 2: within 2^-95 of log A, as log(A r) - log r with r near 1/A from a table: of
    15 bits, so that A.h r - 1 is had without rounding.
    """
    place = ((A.h - 1.0) * _PARTS).astype(np.int64)
    inverses, high, rest = _inverses()
    r = inverses.take(place)
    top, low = _split(A.h)
    w = add(two_sum(top * r - 1.0, low * r), single(A.l * r))
    tail = w.h * _LOG[0]
    for coefficient in _LOG[1:-1]:
        tail = (tail + coefficient) * w.h
    tail = (tail + _LOG[-1]) * w.h
    p, halves = _ordered_sum(_THIRD[0], _THIRD[1] + tail), _split(w.h)
    for constant in (-0.5, 1.0):
        p = add_small(constant, multiply(p, w, halves))
    return add(Pair(high.take(place), rest.take(place)), multiply(p, w, halves))


@cache
def _inverses() -> tuple[Floats, Floats, Floats]:
    """r_j, the multiple of 2^-15 next to 1/(1 + (j + 1/2)/1024), j = 0 to 1024, and - log r_j as
    pairs.
    """
    r = np.rint(2.0**15 / (1.0 + (np.arange(_PARTS + 1) + 0.5) / _PARTS)) * 2.0**-15
    with precision(200):
        return r, *_as_pairs([-arb(number).log() for number in r.tolist()])


def _as_pairs(balls: list[arb]) -> tuple[Floats, Floats]:
    """The balls as pairs; call it at their precision."""
    high = [float(ball.mid()) for ball in balls]
    rest = [float((ball - arb(h)).mid()) for ball, h in zip(balls, high, strict=True)]
    return np.array(high), np.array(rest)
