"""The losses of `spec/claims/dual-gap.md`: labels, exact domains, sums of losses and of conjugates.

Arguments are exact numbers with one denominator. Sums are rationals where the table of the page
says rational, and balls at the present precision where there is a logarithm or an exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from operator import mul

from flint import arb

from globalmin_check.balls import Number, ball, total
from globalmin_check.canonical import Fields
from globalmin_check.claims.scaled import Scaled
from globalmin_check.container import Tensor
from globalmin_check.verdict import Malformed

NAMES = ("squared", "huber", "quantile", "hinge", "squared_hinge", "logistic", "poisson", "softmax")
SIGNED = ("hinge", "squared_hinge", "logistic")  # labels 1 and -1
CURVED = ("squared", "huber", "squared_hinge")  # conjugate uy + u^2/2
SMOOTHNESS = {  # 1/mu for the weight 1: the Lipschitz constant of the derivative
    "squared": Fraction(1),
    "huber": Fraction(1),
    "squared_hinge": Fraction(1),
    "logistic": Fraction(1, 4),
}


@dataclass(frozen=True)
class Loss:
    """A loss by its name; the parameter is h of Huber, a of quantile, else 0."""

    name: str
    parameter: Fraction


@dataclass(frozen=True)
class Rows:
    """Labels and weights of the samples."""

    y: Scaled
    om: Scaled


def read_loss(fields: Fields) -> Loss:
    """The object `loss`."""
    name = fields.choice("name", NAMES)
    parameter = fields.rational("parameter") if name in ("huber", "quantile") else Fraction(0)
    if (name == "huber" and parameter <= 0) or (name == "quantile" and not 0 < parameter < 1):
        raise Malformed("loss.parameter is outside the range of the loss")
    fields.end()
    return Loss(name, parameter)


def require_labels(loss: Loss, y: Tensor, outputs: int = 1) -> None:
    """Refuse labels for which the loss is not defined."""
    if loss.name == "softmax" and any(
        value != int(value) or not 0 <= value < outputs for value in y.values
    ):
        raise Malformed("a label of the softmax loss is not the number of an output")
    if loss.name in SIGNED and any(abs(value) != 1.0 for value in y.values):
        raise Malformed(f"a label of the {loss.name} loss is neither 1 nor -1")
    if loss.name == "poisson" and min(y.values) < 0:
        raise Malformed(f"a label of the {loss.name} loss is negative")


def first_outside(loss: Loss, u: Scaled, rows: Rows) -> int | None:
    """The first sample whose u is not in the domain of (om l)*, exactly; None if all are.

    Every condition is one on the integers U and V of u and om over the product of their units.
    """
    inside = _DOMAINS[loss.name]
    a, unit = loss.parameter, rows.y.unit
    triples = zip(u.over(u.unit * rows.om.unit), rows.om.over(u.unit * rows.om.unit), strict=True)
    for i, ((U, V), Y) in enumerate(zip(triples, rows.y.values, strict=True)):
        if (U and not V) or not inside(U, V, a, Y, unit):
            return i
    return None


def _within_quantile(U: int, V: int, a: Fraction, Y: int, unit: int) -> bool:
    p, q = a.numerator, a.denominator
    return -p * V <= q * U <= (q - p) * V


_Domain = Callable[[int, int, Fraction, int, int], bool]
_DOMAINS: dict[str, _Domain] = {
    "squared": lambda U, V, a, Y, unit: True,
    "huber": lambda U, V, a, Y, unit: abs(U) * a.denominator <= V * a.numerator,
    "quantile": _within_quantile,
    "hinge": lambda U, V, a, Y, unit: 0 <= -U * Y <= V * unit,
    "squared_hinge": lambda U, V, a, Y, unit: U * Y <= 0,
    "logistic": lambda U, V, a, Y, unit: 0 <= -U * Y <= V * unit,
    "poisson": lambda U, V, a, Y, unit: U * unit + V * Y >= 0,
}


def sum_of_losses(loss: Loss, f: Scaled, rows: Rows) -> Number:
    """sum_i om_i l_i(f_i)."""
    if loss.name in ("logistic", "poisson"):
        return _transcendental_losses(loss, f, rows)
    unit = lcm(f.unit, rows.y.unit)
    if loss.name in SIGNED:  # labels are 1 and -1, so the residual is the margin y f
        margins = [F * Y // rows.y.unit for F, Y in zip(f.values, rows.y.values, strict=True)]
        R, unit = [max(f.unit - m, 0) for m in margins], f.unit
    else:
        R = [F - Y for F, Y in zip(f.over(unit), rows.y.over(unit), strict=True)]
    return _rational_losses(loss, R, unit, rows.om.values) / rows.om.unit


def _rational_losses(loss: Loss, R: list[int], unit: int, V: list[int]) -> Fraction:
    a = loss.parameter
    if loss.name in ("squared", "squared_hinge"):
        return Fraction(sum(o * r * r for o, r in zip(V, R, strict=True)), 2 * unit**2)
    if loss.name == "hinge":
        return Fraction(sum(map(mul, V, R)), unit)
    if loss.name == "quantile":
        below = sum(o * max(-r, 0) for o, r in zip(V, R, strict=True))
        above = sum(o * max(r, 0) for o, r in zip(V, R, strict=True))
        return a * Fraction(below, unit) + (1 - a) * Fraction(above, unit)
    squares = lengths = weights = 0
    for o, r in zip(V, R, strict=True):
        if abs(r) * a.denominator <= a.numerator * unit:
            squares += o * r * r
        else:
            lengths += o * abs(r)
            weights += o
    return Fraction(squares, 2 * unit**2) + a * Fraction(lengths, unit) - a * a * weights / 2


def _transcendental_losses(loss: Loss, f: Scaled, rows: Rows) -> arb:
    unit, weights = arb(f.unit), rows.om.values
    if loss.name == "logistic":
        z = [
            arb(-F * Y // rows.y.unit) / unit for F, Y in zip(f.values, rows.y.values, strict=True)
        ]
        terms = (
            o * (t.max(arb(0)) + (-abs(t)).exp().log1p()) for t, o in zip(z, weights, strict=True)
        )
        return total(terms) / rows.om.unit
    exact = sum(o * Y * F for o, Y, F in zip(weights, rows.y.values, f.values, strict=True))
    grown = total(o * (arb(F) / unit).exp() for o, F in zip(weights, f.values, strict=True))
    return (grown - ball(Fraction(exact, rows.y.unit * f.unit))) / rows.om.unit


def sum_of_conjugates(loss: Loss, u: Scaled, rows: Rows) -> Number:
    """sum_i (om_i l_i)*(u_i) for u in the domains."""
    if loss.name == "logistic":
        return total(_entropies(u, rows))
    if loss.name == "poisson":
        return total(_counts(u, rows))
    # hinge: -p = uy for p = -yu
    linear = Fraction(sum(map(mul, u.values, rows.y.values)), u.unit * rows.y.unit)
    return plus(_squares(u, rows.om), linear) if loss.name in CURVED else linear


def plus(value: Number, part: Fraction) -> Number:
    """The sum of a rational or a ball and a rational."""
    return value + ball(part) if isinstance(value, arb) else value + part


def _squares(u: Scaled, om: Scaled) -> Number:
    """sum_i u_i^2/(2 om_i): a rational if all weights are equal, else a ball."""
    sums: dict[int, int] = {}
    for U, V in zip(u.values, om.values, strict=True):
        if U:
            sums[V] = sums.get(V, 0) + U * U
    parts = [Fraction(square * om.unit, 2 * V * u.unit**2) for V, square in sums.items()]
    return sum(parts, Fraction(0)) if len(parts) < 2 else total(map(ball, parts))


def _entropies(u: Scaled, rows: Rows) -> list[arb]:
    """Om (p log p + (1 - p) log(1 - p)), p = -yu/om."""
    terms = []
    for U, Y, V in zip(u.values, rows.y.values, rows.om.values, strict=True):
        P, one = -U * Y // rows.y.unit * rows.om.unit, V * u.unit
        if 0 < P < one:  # at the ends the value is exactly zero
            p, rest = arb(P) / one, arb(one - P) / one
            terms.append((p * p.log() + rest * rest.log()) * V / rows.om.unit)
    return terms


def _counts(u: Scaled, rows: Rows) -> list[arb]:
    """Om (q log q - q), q = u/om + y; nothing for q = 0 and for om = 0."""
    terms = []
    for U, Y, V in zip(u.values, rows.y.values, rows.om.values, strict=True):
        one = V * u.unit * rows.y.unit
        Q = U * rows.om.unit * rows.y.unit + Y * V * u.unit
        if one and Q:
            q = arb(Q) / one
            terms.append((q * q.log() - q) * V / rows.om.unit)
    return terms
