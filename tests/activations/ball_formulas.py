"""Activations by ball arithmetic (Taylor series of balls), apart from the library's formulas: the
oracle of these tests.
"""

from __future__ import annotations

import math
from contextlib import contextmanager
from itertools import pairwise

from flint import arb, arb_series, ctx

SMOOTH = ("softplus", "sigmoid", "tanh", "erf", "swish", "gelu")


@contextmanager
def precision(bits, terms):
    before = ctx.prec, ctx.cap
    ctx.prec, ctx.cap = bits, terms
    try:
        yield
    finally:
        ctx.prec, ctx.cap = before


def _series(name, z):
    t = arb_series([z, 1])
    if name == "softplus":
        return (1 + t.exp()).log() if z < 0 else t + (1 + (-t).exp()).log()
    if name in ("sigmoid", "swish"):
        s = 1 / (1 + (-t).exp())
        return s if name == "sigmoid" else t * s
    if name == "tanh":
        return 1 - 2 / (1 + (2 * t).exp())
    if name == "erf":
        return t.erf()
    return t * (1 + (t / arb(2).sqrt()).erf()) / 2


def jet(name, z, order, *, bits=160):
    """Balls containing phi(z), phi'(z), ..., phi^(order)(z) for every point of the ball z."""
    with precision(bits, order + 1):
        series = _series(name, arb(z) if not isinstance(z, arb) else z)
        return [series[j] * math.factorial(j) for j in range(order + 1)]


def hull(low, high):
    """The ball of all numbers between two floats, exactly."""
    with precision(160, 2):
        return arb(low).union(arb(high))


def largest(ball):
    """A float certainly above |ball|."""
    return math.nextafter(float(abs(ball).upper()), math.inf)


def _pieces(low, high):
    """Start with short intervals: on long ones the series themselves are undefined."""
    cuts = [low, *(low + j / 4 for j in range(1, math.ceil(4 * (high - low)))), high]
    return [(a, b, 0) for a, b in pairwise(cuts)]


def has_no_zero(function, low, high, *, depth=200):
    """Prove that a function of balls has no zero in [low, high], by bisection."""
    stack = _pieces(low, high)
    while stack:
        a, b, level = stack.pop()
        if function(hull(a, b)).contains(0):
            middle = a + (b - a) / 2
            if level == depth or not a < middle < b:
                return False
            stack += [(a, middle, level + 1), (middle, b, level + 1)]
    return True


def is_below(jets, bound, low, high, *, exact_at_zero=False, depth=200):
    """Prove |psi| <= bound on [low, high] by bisection, with psi(I) in psi(m) + psi'(I)(I - m);
    `jets` gives (psi, psi', psi'').

    `exact_at_zero` says that |psi(0)| = bound and psi'(0) = 0 are known by hand: psi psi'' < 0 then
    settles an interval around 0.
    """
    with precision(160, 2):
        stack = _pieces(low, high)
        while stack:
            a, b, level = stack.pop()
            middle, around = a + (b - a) / 2, hull(a, b)
            psi, slope, curvature = jets(around)
            if abs(psi) < bound or abs(jets(arb(middle))[0] + slope * (around - middle)) < bound:
                continue
            if exact_at_zero and a <= 0 <= b and psi * curvature < 0:
                continue
            if level == depth or not a < middle < b:
                return False
            stack += [(a, middle, level + 1), (middle, b, level + 1)]
        return True
