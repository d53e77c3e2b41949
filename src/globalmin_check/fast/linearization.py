"""The stored smooth network in floats with proved radii: residual, Jacobian products and tangent
Gram matrix, under the names that the checks of the claims use for balls (sections 4 and 6 of
`spec/fast-route.md`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from globalmin_check.activations import supremum
from globalmin_check.fast import pairs
from globalmin_check.fast.definite import Dense, GramMatrix
from globalmin_check.fast.elementary import KNOWN, Enclosed, slopes
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import (
    TAU,
    UPS,
    Floats,
    U,
    float_up,
    gamma,
    need,
    stored,
    up,
)
from globalmin_check.problem import Problem


class Linearization:
    """First and second order quantities of a smooth network at the stored weights, as `Tangent` has
    them in balls.
    """

    def __init__(self, problem: Problem, both: bool, products: Products) -> None:
        name = problem.activation
        need(name in KNOWN, f"the fast route does not know the activation {name}")
        need(problem.parameter == 1, "the fast route knows activations of slope 1 only")
        self.name, self.both, self.products = name, both, products
        self.X, self.W = stored(problem.X, "X"), stored(problem.W, "W")
        self.y, self.v = stored(problem.y, "y"), stored(problem.v, "v")
        self._Z, self._dZ = pairs.product(products, self.X, self.W)
        dz = up(self._dZ + U * np.abs(self._Z.h), 2)
        self._values, e = pairs.activation(name, self._Z)
        self.P, self.second = slopes(name, self._Z.h, dz, e)
        B = self.P.values * self.v
        radii = up(up(self.P.radii * np.abs(self.v)) + 2 * U * np.abs(B), 2)
        self.B = Enclosed(B, radii)

    def residual(self) -> list[arb]:
        """The residuals f - y as balls, from pairs (W6)."""
        return balls(residual_of(self._values, self._value_radii, self.v, self.y))

    @cached_property
    def Q(self) -> Enclosed:
        """phi(Z), from pairs."""
        value = self._values.h
        return Enclosed(value, up(U * np.abs(value) + self._value_radii, 2))

    @cached_property
    def _value_radii(self) -> Floats:
        """At least the distance of the pairs of `_values` from phi(Z)."""
        z, dz = np.abs(self._Z.h), self._dZ
        slope: Floats | float = 1.0
        if self.name == "quadratic":
            slope = up(2.0 * (z + dz), 2)
        elif self.name == "sigmoid":
            slope = 0.25
        size = z if self.name == "quadratic" else 1.0
        return up(2.0**-90 * np.maximum(1.0, z) * size + slope * dz, 4)

    def apply(self, z: list[float]) -> tuple[list[arb], arb]:
        """K z and z^T K z as balls (P2)."""
        weights = np.array(z)
        need(np.abs(weights).max() <= 2.0**60, "an entry of z is above 2^60 in size")
        U_, dU = self._gradient(weights)
        Kz = balls(self._product_with_rows(U_, dU))
        energy = norm_square(Enclosed(U_, dU))
        if self.both:
            q, dq = self._head_gradient(weights)
            Kz = list(map(arb.__add__, Kz, balls(self._product_with_values(q, dq))))
            energy += norm_square(Enclosed(q, dq))
        return Kz, energy

    def _gradient(self, z: Floats) -> tuple[Floats, Floats]:
        """J_W^T z, k x d, with radii."""
        n, B = len(z), self.B
        value = self.products.product(B.values.T, z[:, None] * self.X)
        spread = up(np.abs(z)[:, None] * np.abs(self.X))
        weights = up(gamma(n + 1) * B.sizes + B.radii, 2)
        return value, up(self.products.upper(weights.T, spread) + UPS)

    def _product_with_rows(self, gradient: Floats, radii: Floats) -> Enclosed:
        """sum_l B_il (x_i . U_l) with radii."""
        X, B, p = np.abs(self.X), self.B, self.products
        n_terms = gamma(len(self.v) + X.shape[1] + 2)
        value = np.einsum("il,il->i", B.values, p.product(self.X, gradient.T))
        sizes = p.upper(X, up(np.abs(gradient) + radii).T)
        inner = up(n_terms * B.sizes + B.radii, 2)
        radius = np.einsum("il,il->i", inner, sizes)
        radius = radius + np.einsum("il,il->i", np.abs(B.values), p.upper(X, radii.T))
        return Enclosed(value, up(up(radius, B.values.shape[1] + 3) + UPS))

    def _head_gradient(self, z: Floats) -> tuple[Floats, Floats]:
        """J_v^T z with radii."""
        Q = self.Q
        value = np.einsum("il,i->l", Q.values, z)
        weights = up(gamma(len(z) + 1) * Q.sizes + Q.radii, 2)
        return value, up(up(np.einsum("il,i->l", weights, np.abs(z)), len(z)) + UPS)

    def _product_with_values(self, q: Floats, dq: Floats) -> Enclosed:
        """Q q with radii."""
        Q, m = self.Q, len(q)
        value = np.einsum("il,l->i", Q.values, q)
        weights = up(gamma(m + 2) * Q.sizes + Q.radii, 2)
        radius = np.einsum("il,l->i", weights, up(np.abs(q) + dq))
        radius = radius + np.einsum("il,l->i", np.abs(Q.values), dq)
        return Enclosed(value, up(up(radius, m + 2) + UPS))

    def gram(self, *, sign: int = 1) -> GramMatrix:
        """K = J J^T or its negative, with the radii of K1."""
        head = (self.Q.values, self.Q.radii) if self.both else None
        return GramMatrix(self.X, self.B.values, self.B.radii, head, sign=sign)

    @cached_property
    def _squares(self) -> Floats:
        """At least |x_i|^2."""
        return up(np.einsum("ia,ia->i", self.X, self.X), self.X.shape[1] + 1)

    def _local_suprema(self, order: int, rho: Fraction) -> Floats:
        """At least s_{j,il}(rho), order j = 1 or 2."""
        cap, slope = (supremum(self.name, Fraction(1), j) for j in (order, order + 1))
        norms = np.nextafter(np.sqrt(self._squares), math.inf)
        margin = up(float_up(slope or Fraction(0)) * up(float_up(rho) * norms))
        found = (self.P if order == 1 else self.second).sizes
        result = up(found + margin[:, None])
        return result if cap is None else np.minimum(result, float_up(cap))

    def curvature_weights(self, rho: Fraction) -> Floats:
        """At least q_i = c_i^2 of LIP-W or LIP-VW."""
        heads = np.abs(self.v)
        if self.both:
            heads = up(heads + float_up(rho))
        c = up(heads * self._local_suprema(2, rho)).max(axis=1)
        return up(c * c)

    def slope_weights(self, rho: Fraction) -> Floats:
        """At least the squares of max_l s_{1,il}(rho)."""
        s = self._local_suprema(1, rho).max(axis=1)
        return up(s * s)

    def minus_quartic(self, rho: Fraction, t: Fraction | None) -> Dense:
        """Minus the matrix of P3: "rows" if t is None, else "svec" at t rounded, which every t
        allows.
        """
        q = self.curvature_weights(rho)
        if t is None:
            return self.minus_weighted_gram(self.X, up(q * self._squares))
        a, b = np.triu_indices(self.X.shape[1])
        scale = np.where(a == b, 1.0, math.sqrt(2.0))
        S = self.X[:, a] * self.X[:, b] * scale
        plain = self.minus_weighted_gram(S, q, more=8)
        return _with_free_part(plain, a == b, float_up(t))

    def minus_weighted_gram(self, rows: Floats, weights: Floats, *, more: int = 0) -> Dense:
        """- sum_i weights_i s_i s_i^T with row sums of its error, `more` roundings in the rows."""
        n, m = rows.shape
        value = self.products.product(rows.T, weights[:, None] * rows)
        value = np.tril(value) + np.tril(value, -1).T
        sizes = np.abs(rows)
        sums = up(weights * up(sizes.sum(axis=1), m))
        spread = up(np.einsum("ia,i->a", sizes, sums), n)
        return Dense(-value, up(gamma(n + 2 + more) * spread + m * UPS, 3))


def residual_of(F: pairs.Pair, radii: Floats, v: Floats, y: Floats) -> Enclosed:
    """W6: F v - y for outputs F of the neurons, known up to the radii."""
    head, heads = np.broadcast_to(v, F.h.shape), np.abs(v)
    p, e = pairs.two_product(F.h, head)
    outputs, depth = pairs.add_up(pairs.two_sum(p, e + F.l * head))
    r = pairs.add(outputs, pairs.single(-y))
    value = r.h + r.l
    terms = np.einsum("il,l->i", np.abs(F.h), heads) * 1.0001 + np.abs(y)
    radius = U * np.abs(value) + (9 + 5 * (depth + 2)) * U * U * terms
    own = np.einsum("il,l->i", radii, heads)
    return Enclosed(value, 1.0001 * (radius + own + 2.0**-950))


def _with_free_part(plain: Dense, is_diagonal: np.ndarray, t: float) -> Dense:
    """Add t (u u^T - I), u the indicator of the diagonal entries, with its roundings."""
    m = plain.n
    before = up(np.abs(plain.values).sum(axis=1), m)
    value = plain.values + t * np.outer(is_diagonal, is_diagonal)
    value[np.arange(m), np.arange(m)] -= t
    roundings = 4 * U * up(before + (m + 2) * abs(t), 3)
    return Dense(value, up(plain.row_errors + roundings, 2))


def norm_square(x: Enclosed) -> arb:
    """The sum of the squares of the true numbers, as one ball (B8)."""
    values, m = x.values.ravel(), x.values.size
    total = math.fsum((values * values).tolist())
    spread = up(((2.0 * np.abs(values) + x.radii.ravel()) * x.radii.ravel()).sum(), m + 3)
    radius = float(up(spread + 3 * U * total, 2)) + m * TAU
    finite = math.isfinite(total) and math.isfinite(radius)
    return arb(total, radius) if finite else arb("nan")


def balls(x: Enclosed) -> list[arb]:
    """The balls of floats with radii; NaN, which no comparison lets pass, where one is not
    finite.
    """
    values, radii = x.values.tolist(), x.radii.tolist()
    return [
        arb(value, radius) if math.isfinite(value) and math.isfinite(radius) else arb("nan")
        for value, radius in zip(values, radii, strict=True)
    ]
