"""Pairs of floats (h, l), |l| <= u |h|, standing for h + l: sums, products, exp, activations, and
matrix products by exact slices (W1 to W5 of `spec/fast-route.md`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from globalmin_check.fast.elementary import INVERSE_LN2, LN2_HIGH, log1p_unit
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import Floats, U, up

SLICES = 4
_SPLIT = 2.0**27 + 1.0
_LN2_MIDDLE = float.fromhex("0x1.a39ef35800000p-33")  # a multiple of 2^-65
_LN2_REST = float.fromhex("-0x1.b0e2633fe0685p-67")
_DEGREE = 11


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


def two_product(a: Floats, b: Floats) -> Pair:
    """W1: a b exactly, up to 2^-1060 below 2^-960; both at most 2^900."""
    p = a * b
    (a1, a2), (b1, b2) = _split(a), _split(b)
    return Pair(p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)


def _split(a: Floats) -> tuple[Floats, Floats]:
    c = _SPLIT * a
    high = c - (c - a)
    return high, a - high


def add(a: Pair, b: Pair) -> Pair:
    """W2: within 4 u^2 (|a| + |b|) of a + b."""
    s, e = two_sum(a.h, b.h)
    return two_sum(s, e + (a.l + b.l))


def multiply(a: Pair, b: Pair) -> Pair:
    """W2: within 9 u^2 |a b| + 2^-1050 of a b."""
    p, e = two_product(a.h, b.h)
    return two_sum(p, e + (a.h * b.l + a.l * b.h))


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
    Z = single(np.zeros((len(X), len(W))))
    for both in range(SLICES):
        for place in range(both + 1):
            part = products.product(left[place], right[both - place].T)
            Z = add(Z, single(part))
    relative = (SLICES + 1) * 2.0 ** (-SLICES * bits - 1) + 88 * U * U
    return Z, up(d * relative * np.outer(tops, others), 4) + 2.0**-900


def _slices(A: Floats, bits: int) -> tuple[list[Floats], Floats]:
    """Integers below 2^bits in size times powers of two common to a row, whose sum is A up to the
    last; and a power of two above each row.
    """
    tops = np.abs(A).max(axis=1)
    e = np.frexp(tops)[1]
    found, rest = [], A
    for place in range(1, SLICES + 1):
        shift = (place * bits - e)[:, None]
        part = np.ldexp(np.rint(np.ldexp(rest, shift)), -shift)
        found.append(part)
        rest = rest - part
    return found, np.where(tops > 0, np.ldexp(1.0, e), 0.0)


def exp_below_zero_pair(a: Pair) -> Pair:
    """W4, a <= 0: relative error below 2^-96, plus 2^-865."""
    cut = a.h < -600.0
    h, low = np.where(cut, -600.0, a.h), np.where(cut, 0.0, a.l)
    q = np.rint(h * INVERSE_LN2)
    r = add(two_sum(h - q * LN2_HIGH, -q * _LN2_MIDDLE), Pair(low, -q * _LN2_REST))
    r = Pair(r.h / 64.0, r.l / 64.0)
    p = _constant(_COEFFICIENTS[-1], h)
    for coefficient in reversed(_COEFFICIENTS[:-1]):
        p = add(multiply(p, r), _constant(coefficient, h))
    for _ in range(6):
        p = multiply(p, p)
    power = q.astype(np.int32)
    return Pair(np.ldexp(p.h, power), np.ldexp(p.l, power))


def _constant(value: tuple[float, float], like: Floats) -> Pair:
    return Pair(np.full_like(like, value[0]), np.full_like(like, value[1]))


def _inverse_factorial(j: int) -> tuple[float, float]:
    exact = Fraction(1, math.factorial(j))
    return float(exact), float(exact - Fraction(float(exact)))


_COEFFICIENTS = [_inverse_factorial(j) for j in range(_DEGREE + 1)]


def activation(name: str, z: Pair) -> Pair:
    """W5: within 2^-90 max(1, |z|) of phi(z), for z^2 within that times |z|."""
    if name == "quadratic":
        return multiply(z, z)
    sign = np.where(z.h >= 0, 1.0, -1.0)
    scale = -2.0 * sign if name == "tanh" else -sign
    one = _constant((1.0, 0.0), z.h)
    e = exp_below_zero_pair(Pair(scale * z.h, scale * z.l))
    A = add(one, e)
    if name == "softplus":
        return _softplus(z, e, A)
    t = 1.0 / A.h
    rest = add(one, multiply(A, single(-t)))
    share = two_sum(t, (rest.h + rest.l) * t)
    if name == "tanh":
        value = add(Pair(2.0 * share.h, 2.0 * share.l), _constant((-1.0, 0.0), z.h))
        return Pair(sign * value.h, sign * value.l)
    other = add(one, Pair(-share.h, -share.l))
    return Pair(np.where(z.h >= 0, share.h, other.h), np.where(z.h >= 0, share.l, other.l))


def _softplus(z: Pair, e: Pair, A: Pair) -> Pair:
    p = log1p_unit(e.h)
    eps = add(multiply(A, exp_below_zero_pair(single(-p))), _constant((-1.0, 0.0), p))
    log = two_sum(p, eps.h + eps.l)
    above = Pair(np.maximum(z.h, 0.0), np.where(z.h >= 0, z.l, 0.0))
    return add(log, above)
