"""What the claims need of a stored network, enclosed from the exact stored numbers: residual, loss,
Gram matrix, local suprema, quartic form."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from tests.oracles.fraction_activations import SMOOTH, derivatives, exact_value, suprema, value
from tests.oracles.fraction_intervals import Interval, larger, largest, smaller, total
from tests.oracles.strict_container import Certificate


def dot(a: list[Fraction], b: list[Fraction]) -> Fraction:
    """Exact inner product."""
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


@dataclass(frozen=True)
class Network:
    """A stored network on its stored data at a working precision.

    With `lenient` the suprema are intervals from the true value to the spec's rational, so that
    nothing is called false for a rounded constant.
    """

    certificate: Certificate
    bits: int
    lenient: bool = False

    @cached_property
    def preactivations(self) -> list[list[Fraction]]:
        """z_il = w_l . x_i, exact, one row per sample."""
        return [[dot(w, x) for w in self.certificate.W] for x in self.certificate.X]

    @cached_property
    def derivatives(self) -> list[list[tuple[Interval, Interval, Interval]]]:
        """(phi, phi', phi'') at every z_il."""
        c = self.certificate
        return [
            [derivatives(c.activation, z, self.bits, c.parameter) for z in row]
            for row in self.preactivations
        ]

    @cached_property
    def residual(self) -> list[Interval]:
        """r_i = f(x_i) - y_i."""
        c, bits = self.certificate, self.bits
        result = []
        for row, y in zip(self._values, c.y, strict=True):
            result.append(
                total((Interval.of(v, bits) * x for v, x in zip(c.v, row, strict=True)), bits)
                - Interval.of(y, bits)
            )
        return result

    @cached_property
    def _values(self) -> list[list[Interval]]:
        c = self.certificate
        if c.activation in SMOOTH:
            return [[entry[0] for entry in row] for row in self.derivatives]
        return [
            [value(c.activation, z, self.bits, c.parameter) for z in row]
            for row in self.preactivations
        ]

    @cached_property
    def loss(self) -> Interval:
        """L = (1/2) sum r_i^2, exact before rounding where phi is rational."""
        exact = self.exact_residual(self.certificate.W)
        if exact is not None:
            return Interval.of(dot(exact, exact) / 2, self.bits)
        return total((r.square() for r in self.residual), self.bits) * Interval.of(
            Fraction(1, 2), self.bits
        )

    def exact_residual(self, W: list[list[Fraction]]) -> list[Fraction] | None:
        """The residual at weights W where phi is rational, else None."""
        c = self.certificate
        if exact_value(c.activation, Fraction(0), c.parameter) is None:
            return None
        outputs = [
            [exact_value(c.activation, dot(w, x), c.parameter) or Fraction(0) for w in W]
            for x in c.X
        ]
        return [dot(c.v, row) - y for row, y in zip(outputs, c.y, strict=True)]

    def gram(self, trained: str) -> list[list[Interval]]:
        """K = (P diag(v)^2 P^T) o (X X^T), plus Q Q^T if both layers are trained."""
        c, bits, n = self.certificate, self.bits, len(self.certificate.y)
        heads = [Interval.of(v * v, bits) for v in c.v]
        slopes = [[entry[1] for entry in row] for row in self.derivatives]
        values = [[entry[0] for entry in row] for row in self.derivatives]
        K = [[Interval.of(0, bits)] * n for _ in range(n)]
        for i in range(n):
            for j in range(i + 1):
                inner = total(
                    (h * p * q for h, p, q in zip(heads, slopes[i], slopes[j], strict=True)), bits
                )
                entry = inner * Interval.of(dot(c.X[i], c.X[j]), bits)
                if trained == "vW":
                    entry = entry + total(
                        (p * q for p, q in zip(values[i], values[j], strict=True)), bits
                    )
                K[i][j] = K[j][i] = entry
        return K

    def _supremum(self, order: int) -> Interval | None:
        c = self.certificate
        rounded = suprema(c.activation, c.parameter)[order - 1]
        if rounded is None:
            return None
        exact = (
            suprema(c.activation, c.parameter, exact=True)[order - 1] if self.lenient else rounded
        )
        return Interval.between(Interval.of(exact or 0, self.bits), Interval.of(rounded, self.bits))

    def local_suprema(self, order: int, rho: Fraction) -> list[list[Interval]]:
        """s_{j,il}(rho) = min(b_j, |phi^(j)(z_il)| + b_{j+1} rho |x_i|)."""
        cap, slope = self._supremum(order), self._supremum(order + 1)
        if slope is None:
            raise ValueError("the next supremum must be finite")
        result = []
        for x, row in zip(self.certificate.X, self.derivatives, strict=True):
            reach = slope * Interval.of(rho, self.bits) * Interval.of(dot(x, x), self.bits).sqrt()
            local = [abs(entry[order]) + reach for entry in row]
            result.append(local if cap is None else [smaller(cap, s) for s in local])
        return result

    def quartic_weights(self, trained: str, rho: Fraction) -> list[Interval]:
        """q_i = c_i^2, c_i = max_l |v_l| s_{2,il} (both layers: |v_l| + rho)."""
        extra = rho if trained == "vW" else Fraction(0)
        sizes = [Interval.of(abs(v) + extra, self.bits) for v in self.certificate.v]
        return [
            largest(h * s for h, s in zip(sizes, row, strict=True)).square()
            for row in self.local_suprema(2, rho)
        ]

    def slope_gram(self, rho: Fraction) -> list[list[Interval]]:
        """X^T diag(max_l s_{1,il}^2) X, whose largest eigenvalue is the square of the norm that
        beta bounds.
        """
        weights = [largest(row).square() for row in self.local_suprema(1, rho)]
        return weighted_gram(self.certificate.X, weights)


def weighted_gram(X: list[list[Fraction]], weights: list[Interval]) -> list[list[Interval]]:
    """sum_i weights_i x_i x_i^T."""
    bits, d = weights[0].bits, len(X[0])
    return [
        [
            total(
                (q * Interval.of(x[a] * x[b], bits) for q, x in zip(weights, X, strict=True)), bits
            )
            for b in range(d)
        ]
        for a in range(d)
    ]


def rows_matrix(X: list[list[Fraction]], q: list[Interval]) -> list[list[Interval]]:
    """sum_i q_i |x_i|^2 x_i x_i^T, whose largest eigenvalue bounds the quartic form."""
    bits = q[0].bits
    return weighted_gram(X, [w * Interval.of(dot(x, x), bits) for w, x in zip(q, X, strict=True)])


def svec_matrix(
    X: list[list[Fraction]], q: list[Interval], kappa: Fraction, t: Fraction
) -> list[list[Interval]]:
    """kappa I - S^T diag(q) S + t (u u^T - I), rows of S the svec of x_i x_i^T, u the svec of I."""
    bits, d = q[0].bits, len(X[0])
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    root_two = Interval.of(2, bits).sqrt()
    result = []
    for a, b in pairs:
        row = []
        for e, f in pairs:
            inner = total(
                (
                    w * Interval.of(x[a] * x[b] * x[e] * x[f], bits)
                    for w, x in zip(q, X, strict=True)
                ),
                bits,
            )
            off_diagonals = (a != b) + (e != f)
            scale = {0: Interval.of(1, bits), 1: root_two, 2: Interval.of(2, bits)}[off_diagonals]
            constant = (kappa - t if (a, b) == (e, f) else Fraction(0)) + (
                t if off_diagonals == 0 else 0
            )
            row.append(Interval.of(constant, bits) - inner * scale)
        result.append(row)
    return result


def quartic_exceeds(X: list[list[Fraction]], q: list[Interval], kappa: Fraction) -> bool:
    """True if some unit vector a certainly has sum_i q_i (x_i.a)^4 > kappa.

    The directions are found in floats by the monotone iteration a <- gradient (the form is convex);
    the verdict is exact.
    """
    lower = [w.lower for w in q]
    heaviest, longest = max(lower), max(abs(c) for x in X for c in x)
    if heaviest <= 0 or longest == 0:
        return False
    # the direction of steepest ascent does not change when all weights or all points are scaled,
    # and floats cannot overflow then
    weights, points = (
        [float(w / heaviest) for w in lower],
        [[float(c / longest) for c in x] for x in X],
    )
    for start in points:
        a = start
        for _ in range(60):
            inner = [sum(p * s for p, s in zip(x, a, strict=True)) for x in points]
            gradient = [
                sum(w * z**3 * x[c] for w, z, x in zip(weights, inner, points, strict=True))
                for c in range(len(a))
            ]
            size = max(map(abs, gradient), default=0.0)
            if not 1e-250 < size < 1e250:
                break
            a = [g / size for g in gradient]
        exact = [Fraction(c) for c in a]
        form = sum((w * dot(x, exact) ** 4 for w, x in zip(lower, X, strict=True)), Fraction(0))
        if form > kappa * dot(exact, exact) ** 2:
            return True
    return False


def row_sum_bound(K: list[list[Interval]]) -> Interval:
    """Largest absolute row sum."""
    sums = [total(map(abs, row), row[0].bits) for row in K]
    result = sums[0]
    for entry in sums[1:]:
        result = larger(result, entry)
    return result
