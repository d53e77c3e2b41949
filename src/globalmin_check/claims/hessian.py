"""First and second derivatives of the loss of a smooth network, and the Lipschitz constant of its
Hessian in W.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check.activations import supremum
from globalmin_check.balls import ball, column, largest, root, sum_of_squares, total
from globalmin_check.network import Tangent, preactivations
from globalmin_check.primitives import Rows, lower_product, weighted_gram
from globalmin_check.problem import Problem

MIXED = Fraction(385, 1000)  # at least 2/(3 sqrt 3), the largest value of a^2 b on a^2 + b^2 = 1


class Curve:
    """Gradient and Hessian of L at the stored weights, from the tangent quantities Q, P, D, B and
    the residual r.
    """

    def __init__(self, problem: Problem, both: bool) -> None:
        self.tangent = Tangent(problem, both)
        self.r = self.tangent.residual()
        self.columns = [list(map(arb, entries)) for entries in zip(*self.tangent.X, strict=True)]

    def gradient_square(self) -> arb:
        """|grad L|^2: (r o B)^T X for W, Q^T r for v."""
        tangent = self.tangent
        weighted = [
            [entry * factor for entry in row] for row, factor in zip(tangent.B, self.r, strict=True)
        ]
        square = sum_of_squares((arb_mat(weighted).transpose() * arb_mat(tangent.X)).entries())
        if tangent.both:
            square += sum_of_squares((arb_mat(tangent.Q).transpose() * column(self.r)).entries())
        return square

    def gradient_scale(self) -> arb:
        """|J|_F (|r| + |y|), a size that gradients at these weights and labels do not exceed unless
        the outputs are far off.
        """
        labels = list(map(arb, self.tangent.problem.y.values))
        return root(self.tangent.trace()) * (
            root(sum_of_squares(self.r)) + root(sum_of_squares(labels))
        )

    def along(self, U: list[list[float]], u: list[float]) -> arb:
        """The second derivative of L in the direction (u, U): |r'|^2 + r . r''."""
        tangent = self.tangent
        S = (arb_mat(tangent.X) * arb_mat(U).transpose()).tolist()
        value = arb(0)
        for i, s in enumerate(S):
            first = total(map(arb.__mul__, tangent.B[i], s)) + total(
                map(arb.__mul__, tangent.Q[i], u)
            )
            cross = total(2 * p * step * a for p, step, a in zip(tangent.P[i], s, u, strict=True))
            second = total(
                v * c * step * step for v, c, step in zip(tangent.v, tangent.D[i], s, strict=True)
            )
            value += first * first + self.r[i] * (cross + second)
        return value

    def block(self, neuron: int) -> Rows:
        """Lower triangle of v_l sum_i r_i phi''(z_il) x_i x_i^T."""
        weights = [
            r * row[neuron] * self.tangent.v[neuron]
            for r, row in zip(self.r, self.tangent.D, strict=True)
        ]
        return weighted_gram(self.columns, weights)

    def matrix(self) -> Rows:
        """Lower triangle of the Hessian J^T J + sum_i r_i hess f_i, parameters v (if trained), then
        W row by row.
        """
        tangent, d = self.tangent, len(self.columns)
        slopes = list(zip(*tangent.B, strict=True))
        rows = [
            list(map(arb.__mul__, slope, entries)) for slope in slopes for entries in self.columns
        ]
        offset = len(slopes) if tangent.both else 0
        if tangent.both:
            rows = [*map(list, zip(*tangent.Q, strict=True)), *rows]
        H = [row[: i + 1] for i, row in enumerate(lower_product(rows, rows))]
        for neuron in range(len(slopes)):
            start = offset + neuron * d
            for a, row in enumerate(self.block(neuron)):
                for b in range(a + 1):
                    H[start + a][start + b] += row[b]
            if tangent.both:
                weights = [r * row[neuron] for r, row in zip(self.r, tangent.P, strict=True)]
                for a in range(d):
                    H[start + a][neuron] += total(map(arb.__mul__, weights, self.columns[a]))
        return H

    def lipschitz_weights(self, R: Fraction) -> list[arb]:
        """c_i = 3 n1_i max_l |v_l| s_2 + (|r_i| + R |x_i| n1_i) max_l |v_l| s_3 on the ball of
        radius R around W.
        """
        tangent, radius = self.tangent, ball(R)
        heads = [abs(v) for v in tangent.v]
        thirds = third_suprema(tangent, radius)
        weights: list[arb] = []
        for i, norm in enumerate(tangent.norms):
            n1 = root(
                sum_of_squares(list(map(arb.__mul__, heads, tangent.local_supremum(1, i, radius))))
            )
            top2 = largest(map(arb.__mul__, heads, tangent.local_supremum(2, i, radius)))
            top3 = largest(map(arb.__mul__, heads, thirds[i]))
            weights.append(3 * n1 * top2 + (abs(self.r[i]) + radius * norm * n1) * top3)
        return weights

    def lipschitz_of_both(self, R: Fraction) -> arb:
        """A Lipschitz constant of the Hessian in (v, W) on the ball of radius R, sample by sample
        (lemma of strict-saddle).
        """
        tangent, radius, constant = self.tangent, ball(R), arb(0)
        heads, thirds = [abs(v) + radius for v in tangent.v], third_suprema(tangent, radius)
        for i, norm in enumerate(tangent.norms):
            s1, s2 = tangent.local_supremum(1, i, radius), tangent.local_supremum(2, i, radius)
            n0 = root(
                sum_of_squares(
                    [abs(q) + s * radius * norm for q, s in zip(tangent.Q[i], s1, strict=True)]
                )
            )
            n1 = root(sum_of_squares(list(map(arb.__mul__, heads, s1))))
            top2, top3 = (
                largest(map(arb.__mul__, heads, s2)),
                largest(map(arb.__mul__, heads, thirds[i])),
            )
            e = abs(self.r[i]) + radius * root(n0 * n0 + n1 * n1 * norm * norm)
            mixed = (
                6 * n0 * largest(s1)
                + (3 * n0 * top2 + 6 * n1 * largest(s1) + 3 * e * largest(s2)) * norm
            )
            constant += ball(MIXED) * mixed * norm + (3 * n1 * top2 + e * top3) * norm**3
        return constant


def third_suprema(tangent: Tangent, radius: arb) -> Rows:
    """s_{3,il} = min(b_3, |phi'''(z_il)| + b_4 radius |x_i|)."""
    name, b = tangent.problem.activation, tangent.problem.parameter
    cap, slope = ball(supremum(name, b, 3) or 0), ball(supremum(name, b, 4) or 0)
    rows = zip(third_derivatives(tangent), tangent.norms, strict=True)
    return [[(abs(entry) + slope * radius * norm).min(cap) for entry in row] for row, norm in rows]


def third_derivatives(tangent: Tangent) -> Rows:
    """phi'''(z_il), from phi' = p and phi'' = c by the differential equation of each activation."""
    name, b = tangent.problem.activation, ball(tangent.problem.parameter)
    rows = zip(preactivations(tangent.problem), tangent.P, tangent.D, strict=True)
    return [[_third(name, b, *entry) for entry in zip(*row, strict=True)] for row in rows]


def _third(name: str, b: arb, z: arb, p: arb, c: arb) -> arb:
    if name == "softplus":
        return b * c * (1 - 2 * p)
    if name == "sigmoid":
        return b * p * (b - 6 * p)
    if name == "tanh":
        return p * (4 - 6 * p)
    return (4 * z * z - 2) * p if name == "erf" else arb(0)
