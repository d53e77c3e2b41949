"""Bounds of the Hessian in W on a ball around the stored weights, in four forms
(`spec/claims/unique-minimum.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check.activations import supremum
from globalmin_check.balls import ball, largest, root, sum_of_squares
from globalmin_check.canonical import Fields
from globalmin_check.claims import smooth
from globalmin_check.claims.hessian import Curve, third_derivatives, third_suprema
from globalmin_check.container import Tensor, Tensors
from globalmin_check.primitives import Rows, lower_product


@dataclass(frozen=True)
class Quartic:
    """kappa with the t of the method "svec" (None: "rows") and its factor."""

    kappa: Fraction
    t: Fraction | None
    C: Tensor


def read_quartic(fields: Fields, name: str, tensors: Tensors, role: str, d: int) -> Quartic:
    """An object {"kappa", "method"[, "t"]} and the tensor that proves it."""
    kappa, t, size = smooth.read_quartic(fields, d, name)
    return Quartic(kappa, t, tensors.take(role, "F64", size, size))


@dataclass(frozen=True)
class Local:
    """Per sample, on the ball of radius r: n1 = |(v_l s_1l)_l|, the largest |v_l| s_jl for j = 2,
    3, 4, and e >= |r_i|.
    """

    n1: list[arb]
    top2: list[arb]
    top3: list[arb]
    top4: arb
    e: list[arb]


def local_sizes(curve: Curve, r: Fraction) -> Local:
    """The sizes from which every form takes its weights."""
    tangent, radius = curve.tangent, ball(r)
    heads = [abs(v) for v in tangent.v]
    name, b = tangent.problem.activation, tangent.problem.parameter
    n1, top2, top3, e = [], [], [], []
    for i, (norm, thirds) in enumerate(
        zip(tangent.norms, third_suprema(tangent, radius), strict=True)
    ):
        n1.append(
            root(
                sum_of_squares(list(map(arb.__mul__, heads, tangent.local_supremum(1, i, radius))))
            )
        )
        top2.append(largest(map(arb.__mul__, heads, tangent.local_supremum(2, i, radius))))
        top3.append(largest(map(arb.__mul__, heads, thirds)))
        e.append(abs(curve.r[i]) + radius * norm * n1[i])
    return Local(n1, top2, top3, largest(heads) * ball(supremum(name, b, 4) or 0), e)


def cubic_weights(local: Local, share: int) -> list[arb]:
    """The numbers share n1 top2 + e top3: 3 for the whole Hessian, 1 for its residual part."""
    rows = zip(local.n1, local.top2, local.top3, local.e, strict=True)
    return [share * n1 * top2 + e * top3 for n1, top2, top3, e in rows]


def quartic_weights(local: Local, squares: Fraction, share: int) -> list[arb]:
    """The numbers squares top2^2 + (share n1 top3 + e top4)/2, the weights of what is of second
    order in the distance.
    """
    factor = ball(squares)
    rows = zip(local.n1, local.top2, local.top3, local.e, strict=True)
    return [
        factor * top2 * top2 + (share * n1 * top3 + e * local.top4) / 2
        for n1, top2, top3, e in rows
    ]


def third_blocks(curve: Curve, diagonal: int) -> list[list[list[Rows]]]:
    """T[m][l][j] = sum_i w_i x_ij x_i x_i^T, w = v_m phi'_m v_l phi''_l; for m = l that times
    `diagonal`, plus r v_l phi'''_l.
    """
    tangent, d = curve.tangent, len(curve.columns)
    pairs = [(a, b) for a in range(d) for b in range(a + 1)]
    monomials = arb_mat(
        [list(map(arb.__mul__, curve.columns[a], curve.columns[b])) for a, b in pairs]
    ).transpose()
    B, D, thirds = (
        list(zip(*rows, strict=True)) for rows in (tangent.B, tangent.D, third_derivatives(tangent))
    )
    blocks = []
    for m, slopes in enumerate(B):
        blocks.append([])
        for j, (v, bends) in enumerate(zip(tangent.v, D, strict=True)):
            weights = [p * c * v for p, c in zip(slopes, bends, strict=True)]
            if m == j:
                weights = [
                    diagonal * w + r * v * t
                    for w, r, t in zip(weights, curve.r, thirds[j], strict=True)
                ]
            left = arb_mat([list(map(arb.__mul__, weights, column)) for column in curve.columns])
            blocks[m].append([_symmetric(row, d) for row in (left * monomials).tolist()])
    return blocks


def _symmetric(lower: list[arb], d: int) -> Rows:
    return [
        [lower[max(a, b) * (max(a, b) + 1) // 2 + min(a, b)] for b in range(d)] for a in range(d)
    ]


def flattened_gram(T: list[list[list[Rows]]]) -> Rows:
    """Lower triangle of F F^T, F the p x p^2 flattening of the third derivative with the blocks T
    (those with `diagonal` 3).
    """
    k, d = len(T), len(T[0][0])
    places = [(m, j) for m in range(k) for j in range(d)]
    rows = [[_entry(T, a, b, c) for b in places for c in places] for a in places]
    return lower_product(rows, rows)


def _entry(T: list[list[list[Rows]]], *places: tuple[int, int]) -> arb:
    """One entry of the symmetric third derivative: zero unless two of the three neurons agree."""
    (m, i), (q, j), (s, x) = places
    if q == s:
        return T[m][q][i][j][x]
    if m == s:
        return T[q][m][j][i][x]
    return T[s][m][x][i][j] if m == q else arb(0)


def tilt(T: list[list[list[Rows]]], V: Tensor) -> list[Rows]:
    """S_l = (Y + sum_a T_al Y^-1 T_al)/2 for every neuron l, Y = V_l V_l^T; NaN where V_l is not
    certainly invertible.
    """
    d = V.shape[1]
    result = []
    for neuron in range(len(T)):
        factor = arb_mat(V.rows()[neuron * d : (neuron + 1) * d])
        try:
            inverse = factor.inv()
        except ZeroDivisionError:
            result.append([[arb("nan")] * d for _ in range(d)])
            continue
        parts = [inverse * arb_mat(part) for slices in T for part in slices[neuron]]
        total = sum((part.transpose() * part for part in parts), factor * factor.transpose())
        result.append((total / 2).tolist())
    return result
