"""E[psi(u) psi(v)] in 100-bit arithmetic by trapezoid sums, with formulas apart from the library's:
the oracle of these tests.

The sums converge exponentially: the step is chosen so that the first aliased frequency of the
integrand is below 1e-22, and a test of the oracle halves it. No rounding of doubles enters, so
differences of 1e-16 are seen.
"""

from __future__ import annotations

import math

from flint import arb
from tests.activations.ball_formulas import precision

BITS = 100
POLES = {"softplus": math.pi, "sigmoid": math.pi, "swish": math.pi, "tanh": math.pi / 2}
ENTIRE = {"erf": 15.0, "gelu": 12.0}


def _logistic(z):
    return 1 / (1 + (-z).exp())


def _softplus(z):
    return (1 + z.exp()).log() if z < 0 else z + (1 + (-z).exp()).log()


def _cdf(z):
    return (1 + (z / arb(2).sqrt()).erf()) / 2


def _density(z):
    return (-z * z / 2).exp() / (2 * arb.pi()).sqrt()


def _square(z):
    return z * z


FORMULAS = {
    "softplus": (_softplus, _logistic),
    "sigmoid": (_logistic, lambda z: _logistic(z) * _logistic(-z)),
    "tanh": (lambda z: z.tanh(), lambda z: 1 - _square(z.tanh())),
    "swish": (lambda z: z * _logistic(z), lambda z: _logistic(z) * (1 + z * _logistic(-z))),
    "erf": (lambda z: z.erf(), lambda z: 2 / arb.pi().sqrt() * (-z * z).exp()),
    "gelu": (lambda z: z * _cdf(z), lambda z: _cdf(z) + z * _density(z)),
}


def _rule(band, fineness):
    """Nodes and weights of N(0,1) that resolve frequencies up to `band` beside those of the
    density.
    """
    count = math.ceil(fineness * 20 / (2 * math.pi) * (band + 12.0))
    step = arb(20) / count
    nodes = [step * (i - count / 2) for i in range(count + 1)]
    return nodes, [step * _density(z) for z in nodes]


def dual(name, s, t, rho, order, *, steepness=1, fineness=1.0):
    """The expectation for standard deviations s, t and correlation rho (floats, taken as exact),
    psi = phi^(order)(steepness z).

    Rows whose weight cannot matter are left out.
    """
    with precision(BITS, 2):
        psi = FORMULAS[name][order]
        band = steepness * (51.0 / POLES[name] if name in POLES else ENTIRE[name])
        a, b, r = arb(s) * steepness, arb(t) * steepness, arb(rho)
        sine = (1 - r * r).sqrt() if abs(rho) < 1 else arb(0)
        outer, p = _rule(band * (s + abs(rho) * t), fineness)
        inner, q = _rule(band * t * float(sine), fineness) if abs(rho) < 1 else ([arb(0)], [arb(1)])
        moved = [b * sine * y for y in inner]
        total = arb(0)
        for x, weight in zip(outer, p, strict=True):
            base = b * r * x
            total += (
                weight
                * psi(a * x)
                * sum((w * psi(base + y) for y, w in zip(moved, q, strict=True)), arb(0))
            )
        return total
