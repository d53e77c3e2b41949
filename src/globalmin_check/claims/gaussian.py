"""Gaussian expectations by the trapezoid rule with a proved error: Hermite coefficients of phi',
means of phi, phi^2, phi'^2.

Only real values are computed; the poles of the activation enter through the width of a strip around
the real line (`spec/claims/gram-positive.md`, lemma TR).
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from flint import arb, arb_mat, ctx

from globalmin_check.activations import jet
from globalmin_check.balls import ball, lower_float, precision, total

ANALYTIC = ("softplus", "sigmoid", "tanh", "erf")
Jets = list[tuple[arb, ...]]  # of one size at all nodes


def _strip(name: str) -> arb:
    """Half width of the strip, in the argument of phi (for softplus and sigmoid times b), on which
    the bounds below hold.
    """
    return {"tanh": arb.pi() / 4, "erf": arb(1)}.get(name, arb.pi() / 2)


def _slope_bound(name: str, b: arb) -> arb:
    """A bound of |phi'| on the strip."""
    return {"softplus": arb(1), "sigmoid": b, "tanh": arb(4)}.get(
        name, 2 * arb(1).exp() / arb.pi().sqrt()
    )


def _value_bound(name: str, b: arb) -> arb:
    """P with |phi(u)| <= p on the strip; for softplus |phi(u)| <= p + |Re u|."""
    bounds = {"softplus": (arb(2).log() + arb.pi() / 2) / b, "sigmoid": arb(1), "tanh": arb(1)}
    return bounds.get(name, 1 + 2 * arb(1).exp() / arb.pi().sqrt())


class Trapezoid:
    """The rule h sum over |j| <= J of F(jh), for one activation."""

    def __init__(self, name: str, parameter: Fraction, step: Fraction, nodes: int) -> None:
        self.name, self.parameter, self.b = name, parameter, ball(parameter)
        self.h, self.step, self.J = ball(step), step, nodes
        self.end = ball(step * nodes)
        self.points = [ball(step * j) for j in range(-nodes, nodes + 1)]
        self.weights = [self.h * (-z * z / 2).exp() / (2 * arb.pi()).sqrt() for z in self.points]
        self._tables: dict[int, list[list[arb]]] = {}  # of one pass, hence of one precision

    def _analytic(self, s: arb) -> tuple[arb, arb]:
        """The half width a of a strip in z on which phi(sz) is analytic and bounded, and 2/(e^(2 pi
        a/h) - 1).
        """
        scale = self.b if self.name in ("softplus", "sigmoid") else arb(1)
        a = arb(lower_float((_strip(self.name) / (scale * s)).min(arb.pi() / self.h)))
        return a, 2 / (2 * arb.pi() * a / self.h).expm1()

    def jets(self, s: arb) -> Jets:
        """(phi, phi', ...) at s z for the nodes z."""
        return [jet(self.name, self.parameter, s * z) for z in self.points]

    def coefficients(
        self, sizes: list[arb], orders: list[int], jets: list[Jets] | None = None
    ) -> list[list[arb]]:
        """c_r(s) = E[phi'(s g) h_r(g)] for every s and every order r."""
        top = max(orders)
        if top not in self._tables:
            self._tables[top] = self._hermite(top)
        table = self._tables[top]
        values = jets or [self.jets(s) for s in sizes]
        rows = (
            arb_mat([[entry[1] for entry in row] for row in values])
            * arb_mat([table[r] for r in orders]).transpose()
        )
        return [
            [c + self._error(s, r) for c, r in zip(row, orders, strict=True)]
            for s, row in zip(sizes, rows.tolist(), strict=True)
        ]

    def _error(self, s: arb, r: int) -> arb:
        """A ball around zero that holds the error of c_r(s)."""
        a, factor = self._analytic(s)
        bound = _slope_bound(self.name, self.b)
        cut = arb(2).sqrt() * (arb(1) / 4).exp()
        rule = factor * (a * a / 2 + a * arb(r).sqrt()).exp()
        rest = cut * arb(r + 1).root(4) * (self.end / 2).erfc()
        return arb(0, 1) * (bound * (rule + rest))

    def _hermite(self, top: int) -> list[list[arb]]:
        """Weights times h_r at the nodes, r = 0..top; h_r(-z) = (-1)^r h_r(z).

        The recurrence widens the balls by about e^(z sqrt r), the weights narrow them by
        e^(-z^2/2), so it runs with more bits.
        """
        with precision(
            ctx.prec + min(2 * (int(self.step * self.J) + 1) * (isqrt(top) + 1), top) + 64
        ):
            points = [ball(self.step * j) for j in range(self.J + 1)]
            rows = [[arb(1)] * len(points), points]
            for r in range(1, top):
                up, down = 1 / arb(r + 1).sqrt(), (arb(r) / (r + 1)).sqrt()
                rows.append(
                    [
                        z * p * up - down * q
                        for z, p, q in zip(points, rows[r], rows[r - 1], strict=True)
                    ]
                )
        right = [list(map(arb.__mul__, row, self.weights[self.J :])) for row in rows[: top + 1]]
        return [
            [entry if r % 2 == 0 else -entry for entry in row[:0:-1]] + row
            for r, row in enumerate(right)
        ]

    def mean(self, s: arb, what: str, jets: Jets | None = None) -> arb:
        """E[f(s g)] for f = "phi", "phi^2" or "phi'^2"."""
        values = [entry[1] if "'" in what else entry[0] for entry in jets or self.jets(s)]
        if "^2" in what:
            values = list(map(arb.__mul__, values, values))
        p, q = self._growth(s, what)
        a, factor = self._analytic(s)
        tail = (self.end / arb(2).sqrt()).erfc()
        rest = p * tail + q * (
            tail + 2 * self.end * (-self.end * self.end / 2).exp() / (2 * arb.pi()).sqrt()
        )
        return total(map(arb.__mul__, self.weights, values)) + arb(0, 1) * (
            factor * (a * a / 2).exp() * (p + q) + rest
        )

    def _growth(self, s: arb, what: str) -> tuple[arb, arb]:
        """P, q with |f(s z)| <= p + q (Re z)^2 on the strip."""
        if "'" in what:
            return _slope_bound(self.name, self.b) ** 2, arb(0)
        p, q = _value_bound(self.name, self.b), s if self.name == "softplus" else arb(0)
        return (2 * p * p, 2 * q * q) if "^2" in what else (p + q / 2, q / 2)
