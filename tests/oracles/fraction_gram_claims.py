"""Section 5.12 of spec/certificate-v1.md on rational intervals: limiting Gram matrices.

Other roads than the checker's where there are any: the arc tangent by a series of its own, the
coefficients of erf in closed form, another strip, and another bound of the Hermite polynomials
behind the last node.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import factorial, isqrt
from typing import Any

from tests.oracles.claim_grammar import (
    Fields,
    Grammar,
    Role,
    Sizes,
    demand,
    one_of,
    rational,
    rationals,
    require,
    squares,
)
from tests.oracles.definiteness import eliminated, shifted, witnessed
from tests.oracles.fraction_activations import derivatives
from tests.oracles.fraction_claims import Check, Truth, Witnessed, loss_checks
from tests.oracles.fraction_deep_limit import DeepLimit, has_zero_window, read_layers, read_windows
from tests.oracles.fraction_elementary import (
    decay,
    exp_minus_one,
    log_one_plus,
    pi,
    two_over_root_pi,
)
from tests.oracles.fraction_intervals import Interval, UndefinedError, at_most, smaller, total
from tests.oracles.fraction_network import Network, dot
from tests.oracles.strict_container import Certificate, Claim

ANALYTIC = ("softplus", "sigmoid", "tanh", "erf")
_RESNET, _SERIES = {"depth", "c_res", "c_sigma", "kappa"}, {"step", "nodes"}
_LAYERS = {"layers", "blocks", "terms"}


def _natural(least: int) -> Any:
    def reader(value: Any) -> int:
        require(type(value) is int and value >= least, f"not an integer of at least {least}")
        return value

    return reader


def _terms(value: Any) -> int:
    require(type(value) is int and 1 <= value <= 4096, "terms is not an integer in 1..4096")
    return value


def _roles(fields: Fields, sizes: Sizes) -> list[Role]:
    resnet, series = fields["kernel"] == "resnet", fields["method"] == "series"
    layered = fields["kernel"] == "layers"
    require(series or not (resnet or layered), "a deep network has no closed form")
    needed = (_SERIES if series else set()) | (_RESNET if resnet else set())
    needed |= _LAYERS | ({"pixels"} & set(fields)) if layered else set()
    demand(fields, needed, _SERIES | _RESNET | _LAYERS | {"pixels"})
    p = fields.get("pixels", 1)
    require(sizes[1] % p == 0, "d is not a multiple of pixels")
    patches = [Role("patches", "I64", (p, None))] if "pixels" in fields else []
    orders = [Role("Q", "I64", (None,))] if series and not layered else []
    return [*squares("C", sizes[0]), *orders, *patches]


GRAMMAR = Grammar(
    "limit-gram/1",
    {
        "kernel": one_of("weights", "features", "resnet", "layers"),
        "method": one_of("closed", "series"),
        "lam": rational,
    },
    rationals("step", "c_res", "c_sigma", "kappa")
    | {"nodes": _natural(1), "depth": _natural(2), "pixels": _natural(1)}
    | {"layers": read_layers, "blocks": one_of("last", "all"), "terms": _terms},
    _roles,
)


def read_orders(certificate: Certificate, claim: Claim) -> list[int]:
    """Q, strictly increasing within its range; anything else is malformed."""
    if claim.fields["method"] == "closed":
        return []
    if claim.fields["kernel"] == "layers":
        _windows(claim)
        return []
    orders, first = claim.tensors["Q"].integers(), int(claim.fields["kernel"] == "resnet")
    require(
        bool(orders) and orders[0] >= first and orders[-1] <= 4096,
        "Q is empty or has an order out of range",
    )
    require(all(a < b for a, b in pairwise(orders)), "Q is not increasing")
    return orders


def arctan(x: Interval) -> Interval:
    """Arc tangent of a nonnegative interval: atan x = 2 atan(x/(1 + sqrt(1 + x^2))) four times,
    then the alternating series.
    """
    bits = x.bits
    one = Interval.of(1, bits)
    for _ in range(4):
        x = x / (one + (one + x.square()).sqrt())
    step, power, result, j = x.square(), x, Interval.of(0, bits), 0
    while j < 4 * bits and power.high.bit_length() + power.exponent > -bits:
        term = power * Interval.of(Fraction(1, 2 * j + 1), bits)
        result = result + term if j % 2 == 0 else result - term
        power, j = power * step, j + 1
    rest = Interval(-power.high, power.high, power.exponent, bits)
    return (result + rest) * Interval.of(16, bits)


def _relu_entry(x: list[Fraction], u: list[Fraction], features: bool, bits: int) -> Interval:
    inner = dot(x, u)
    D = dot(x, x) * dot(u, u) - inner * inner
    sine, half_turn = Interval.of(D, bits).sqrt(), pi(bits)
    if inner == 0:
        angle = half_turn * Interval.of(Fraction(1, 2), bits)
    else:
        sharp = arctan(sine / Interval.of(abs(inner), bits)) if D else Interval.of(0, bits)
        angle = sharp if inner > 0 else half_turn - sharp
    entry = (half_turn - angle) * Interval.of(inner, bits)
    return (entry + sine if features else entry) / (half_turn * Interval.of(2, bits))


def _exp(x: Interval) -> Interval:
    """E^x of an interval with end points of at most a few hundred in absolute value."""

    def at(t: Fraction) -> Interval:
        return Interval.of(1, x.bits) + exp_minus_one(t, x.bits) if t >= 0 else decay(-t, x.bits)[0]

    return Interval.between(at(x.lower), at(x.upper))


class Rule:
    """The trapezoid rule of lemma TR for one activation, on intervals."""

    def __init__(self, net: Network, step: Fraction, nodes: int) -> None:
        self.name, self.b, self.bits = (
            net.certificate.activation,
            net.certificate.parameter or Fraction(1),
            net.bits,
        )
        self.step, self.nodes = step, nodes
        root = (pi(self.bits) * Interval.of(2, self.bits)).sqrt()
        self.h = Interval.of(step, self.bits)
        self.density = [decay((step * j) ** 2 / 2, self.bits)[0] / root for j in range(nodes + 1)]

    def of(self, value: Fraction | int) -> Interval:
        """The interval of a rational."""
        return Interval.of(value, self.bits)

    def _jet(self, u: Interval) -> tuple[Interval, Interval]:
        """phi and phi' on an interval on one side of zero, where both are monotone."""
        low, high = (derivatives(self.name, t, self.bits, self.b) for t in (u.lower, u.upper))
        hulls = [
            Interval.between(smaller(p, q), -smaller(-p, -q))
            for p, q in zip(low[:2], high[:2], strict=True)
        ]
        return hulls[0], hulls[1]

    @cache  # noqa: B019
    def jets(
        self, s: Interval
    ) -> tuple[list[tuple[Interval, Interval]], list[tuple[Interval, Interval]]]:
        """(phi, phi') at s z_j and at -s z_j for j = 0..nodes."""
        arguments = [s * self.of(self.step * j) for j in range(self.nodes + 1)]
        return [self._jet(u) for u in arguments], [self._jet(-u) for u in arguments]

    @cache  # noqa: B019 (lives as long as one check)
    def hermite(self, r: int) -> list[Interval]:
        """h_r at the nodes z_j >= 0 from exact integer polynomials He_r, divided by sqrt(r!)."""
        before, now = [0], [1]
        for k in range(r):
            lifted = [0, *now]
            before, now = (
                now,
                [a - k * (before[i] if i < len(before) else 0) for i, a in enumerate(lifted)],
            )
        scale = self.of(factorial(r)).sqrt()
        points = [self.step * j for j in range(self.nodes + 1)]
        values = [sum((c * z**i for i, c in enumerate(now)), Fraction(0)) for z in points]
        return [self.of(value) / scale for value in values]

    def _both_sides(self, right: list[Interval], left: list[Interval]) -> Interval:
        """H times the weighted sum over all nodes; j = 0 counts once."""
        terms = [w * (p + q) for w, p, q in zip(self.density[1:], right[1:], left[1:], strict=True)]
        return self.h * (self.density[0] * right[0] + total(terms, self.bits))

    def _strip(self, s: Interval) -> Fraction:
        """A rational half width, at most 3/4 of the one allowed and at most 3/h."""
        width = {"tanh": Fraction(3, 4), "erf": Fraction(1)}.get(
            self.name, Fraction(3, 2) / self.b
        ) * Fraction(3, 4)
        return min(width / s.upper, 3 / self.step).limit_denominator(10**9) * Fraction(999, 1000)

    def _ratio(self, a: Fraction) -> Interval:
        """2/(e^(2 pi a/h) - 1)."""
        exponent = self.of(2 * a / self.step) * pi(self.bits)
        return self.of(2) / exp_minus_one(exponent.lower, self.bits)

    def _slope_bound(self) -> Interval:
        bound = {"softplus": Fraction(1), "sigmoid": self.b, "tanh": Fraction(4)}.get(self.name)
        return (
            self.of(bound) if bound is not None else two_over_root_pi(self.bits) * _exp(self.of(1))
        )

    def coefficient(self, s: Interval, r: int) -> Interval:
        """E[phi'(s g) h_r(g)]."""
        if self.name == "erf":
            return self._erf_coefficient(s, r)
        right, left = self.jets(s)
        values, sign = self.hermite(r), (-1) ** r
        ahead = [p[1] * h for p, h in zip(right, values, strict=True)]
        behind = [p[1] * h * self.of(sign) for p, h in zip(left, values, strict=True)]
        a, T = self._strip(s), self.step * self.nodes
        growth = _exp(self.of(a * a / 2) + self.of(a) * self.of(r).sqrt())
        # |h_r(x)| <= sqrt(r!) q^-r e^(|x| q + q^2/2) for every q > 0 (Cauchy on the generating
        # function), and for T > q
        # int_T^inf e^(qx - x^2/2) dx <= e^(qT - T^2/2)/(T - q)
        q = Fraction(isqrt(r) + 1)
        if not q < T:
            raise UndefinedError("the last node is too near for this order")
        front = (
            self.of(factorial(r)).sqrt() * self.of(Fraction(1) / q**r) * _exp(self.of(q * q / 2))
        )
        behind_last = front * _exp(self.of(q * T - T * T / 2)) * self.of(Fraction(2) / (T - q))
        error = self._slope_bound() * (self._ratio(a) * growth + behind_last)
        return self._both_sides(ahead, behind) + Interval.between(-error, error)

    def _erf_coefficient(self, s: Interval, r: int) -> Interval:
        """(2/sqrt pi)(1 + 2s^2)^(-1/2) (-2s^2/(1 + 2s^2))^m sqrt((2m)!)/(2^m m!) for r = 2m, zero
        for odd r.
        """
        if r % 2:
            return self.of(0)
        m = r // 2
        double = s.square() * self.of(2)
        whole = self.of(1) + double
        result = two_over_root_pi(self.bits) / whole.sqrt() * self.of(factorial(r)).sqrt()
        result = result * self.of(Fraction((-1) ** m, 2**m * factorial(m)))
        for _ in range(m):
            result = result * (double / whole)
        return result

    def mean(self, s: Interval, what: str) -> Interval:
        """E[f(s g)] for f = phi, phi^2, phi'^2."""
        place = 1 if "'" in what else 0
        sides = [
            [pair[place].square() if "^2" in what else pair[place] for pair in side]
            for side in self.jets(s)
        ]
        p, q = self._growth(s, what)
        a, T = self._strip(s), self.step * self.nodes
        gauss = _exp(self.of(-T * T / 2))
        tail = (
            self.of(Fraction(2) / T) * gauss
        )  # 2 int_T^inf e^(-x^2/2)/sqrt(2 pi) <= 2 e^(-T^2/2)/T
        error = (
            self._ratio(a) * _exp(self.of(a * a / 2)) * (p + q)
            + p * tail
            + q * (tail + self.of(2 * T) * gauss)
        )
        return self._both_sides(*sides) + Interval.between(-error, error)

    def _growth(self, s: Interval, what: str) -> tuple[Interval, Interval]:
        zero = self.of(0)
        if "'" in what:
            return self._slope_bound().square(), zero
        if self.name == "softplus":
            start = (log_one_plus(self.of(1)) + pi(self.bits) * self.of(Fraction(1, 2))) / self.of(
                self.b
            )
            double = self.of(2)
            return (
                (double * start.square(), double * s.square()) if "^2" in what else (start + s, s)
            )
        bound = self.of(1) + self._slope_bound() if self.name == "erf" else self.of(1)
        return (bound.square() if "^2" in what else bound), zero


def _series(net: Network, rule: Rule, orders: list[int], features: bool) -> list[list[Interval]]:
    X, bits = net.certificate.X, net.bits
    sizes = {dot(x, x): Interval.of(dot(x, x), bits).sqrt() for x in X}

    def coefficient(square: Fraction, r: int) -> Interval:
        s = sizes[square]
        if not features:
            return rule.coefficient(s, r)
        return (
            rule.mean(s, "phi")
            if r == 0
            else s * rule.coefficient(s, r - 1) / Interval.of(r, bits).sqrt()
        )

    table = {square: [coefficient(square, r) for r in orders] for square in sizes}
    rows = []
    for x in X:
        row = []
        for u in X:
            inner = Interval.of(dot(x, u), bits)
            a, b = dot(x, x), dot(u, u)
            rho = Interval.of(1, bits) if x is u else inner / (sizes[a] * sizes[b])
            value, power, last = Interval.of(0, bits), Interval.of(1, bits), 0
            for c, e, r in zip(table[a], table[b], orders, strict=True):
                for _ in range(r - last):
                    power = power * rho
                last = r
                value = value + c * e * power
            row.append(value if features else value * inner)
        rows.append(row)
    return rows


def _last_slope(net: Network, rule: Rule, f: Fields) -> Interval:
    """The least E[phi'(sqrt(K_ii) g)^2] at the last layer."""
    t, c = rule.of(f["c_res"] / f["depth"]), rule.of(f["c_sigma"])
    least: Interval | None = None
    for square in {dot(x, x) for x in net.certificate.X}:
        s = rule.of(square).sqrt()
        K, bias = c * rule.mean(s, "phi^2"), c.sqrt() * rule.mean(s, "phi")
        for _ in range(2, f["depth"]):
            s = K.sqrt()
            mu = rule.mean(s, "phi")
            K, bias = (
                K + rule.of(2) * t * bias * mu + t.square() * rule.mean(s, "phi^2"),
                bias + t * mu,
            )
        slope = rule.mean(K.sqrt(), "phi'^2")
        least = slope if least is None else smaller(least, slope)
    return least if least is not None else rule.of(0)


def _windows(claim: Claim) -> list[list[int]]:
    """The rows of `patches`; without pixels one window of one pixel."""
    if "patches" not in claim.tensors:
        return [[0]]
    flat, p = claim.tensors["patches"].integers(), claim.fields["pixels"]
    q = len(flat) // p
    return read_windows([flat[k * q : (k + 1) * q] for k in range(p)], p)


def gram_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """GP-ReLU, GP-smooth, GP-ResNet. Truth asks whether the partial sum (not the whole kernel) has
    the eigenvalue.
    """
    c, f, bits = net.certificate, claim.fields, net.bits
    series, resnet, features = (
        f["method"] == "series",
        f["kernel"] == "resnet",
        f["kernel"] != "weights",
    )
    yield "activation", c.activation in ANALYTIC if series else c.activation == "relu"
    for name in ("lam", "kappa", "c_res", "c_sigma", "step"):
        yield f"{name} > 0", name not in f or f[name] > 0
    yield "rows not zero", all(any(x) for x in c.X)
    yield from loss_checks(net, claim)
    bound = f["kappa"] if resnet else f["lam"]
    if f["kernel"] == "layers":
        windows = _windows(claim)
        yield "nodes * step >= 2", f["nodes"] * f["step"] >= 2
        yield "scale2 > 0", all(square > 0 for square, _ in f["layers"])
        yield "windows not zero", not has_zero_window(c.X, windows)
        A = DeepLimit(c.X, Rule(net, f["step"], f["nodes"]), f, windows).matrix()
    elif not series:
        A = [[_relu_entry(x, u, features, bits) for u in c.X] for x in c.X]
    else:
        yield "nodes * step >= 2", f["nodes"] * f["step"] >= 2
        rule = Rule(net, f["step"], f["nodes"])
        if resnet:
            factor = rule.of((f["c_res"] / f["depth"]) ** 2 * bound)
            yield "last slope", at_most(rule.of(f["lam"]), factor * _last_slope(net, rule, f))
        A = _series(net, rule, read_orders(c, claim), features)
        A = [[rule.of(f["c_sigma"]) * entry for entry in row] for row in A] if resnet else A
    B = shifted(A, -bound)
    yield (
        "lam",
        eliminated(B)[0] if isinstance(judge, Truth) else witnessed(B, claim.tensors["C"].rows()),
    )
