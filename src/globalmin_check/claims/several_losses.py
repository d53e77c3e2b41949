"""Losses of several outputs of `spec/claims/dual-gap.md`: softmax, whose labels are class numbers,
and the squared loss with one label per output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.balls import Number, ball, total
from globalmin_check.claims.convex_losses import (
    Loss,
    Rows,
    plus,
    sum_of_conjugates,
    sum_of_losses,
)
from globalmin_check.claims.scaled import Scaled


@dataclass(frozen=True)
class SeveralRows:
    """Labels and weights of the samples: class numbers for softmax, else one list per output."""

    classes: list[int]
    labels: list[Scaled]
    om: Scaled


def first_row_outside(loss: Loss, U: Sequence[Scaled], rows: SeveralRows) -> int | None:
    """The first sample whose row of U is not in the domain of (om l)*, exactly; None if all are."""
    unit = U[0].unit * rows.om.unit
    columns = [part.over(unit) for part in U]
    weights = rows.om.over(unit)
    for i, (V, *row) in enumerate(zip(weights, *columns, strict=True)):
        if V == 0 and any(row):
            return i
        if loss.name == "softmax":
            if sum(row):
                return i
            row[rows.classes[i]] += V  # om q, which has to be at least 0
            if min(row) < 0:
                return i
    return None


def several_losses(loss: Loss, f: Sequence[Scaled], rows: SeveralRows) -> Number:
    """sum_i om_i l_i(f_i)."""
    if loss.name == "softmax":
        return _entropic_losses(f, rows)
    pairs = zip(f, rows.labels, strict=True)
    return _sum([sum_of_losses(loss, part, Rows(labels, rows.om)) for part, labels in pairs])


def several_conjugates(loss: Loss, U: Sequence[Scaled], rows: SeveralRows) -> Number:
    """sum_i (om_i l_i)*(U_i) for rows in the domain."""
    if loss.name == "softmax":
        return total(_entropies(U, rows))
    pairs = zip(U, rows.labels, strict=True)
    return _sum([sum_of_conjugates(loss, part, Rows(labels, rows.om)) for part, labels in pairs])


def _sum(parts: list[Number]) -> Number:
    """The sum of rationals and balls."""
    balls = [part for part in parts if isinstance(part, arb)]
    exact = sum((part for part in parts if isinstance(part, Fraction)), Fraction(0))
    return plus(total(balls), exact) if balls else exact


def _entropic_losses(f: Sequence[Scaled], rows: SeveralRows) -> arb:
    """Om (f_max - f_y + log(1 + sum of exp(f_k - f_max) over the others))."""
    unit, exact = arb(f[0].unit), 0
    terms = []
    outputs = zip(*(part.values for part in f), strict=True)
    for F, y, V in zip(outputs, rows.classes, rows.om.values, strict=True):
        if not V:
            continue
        place = max(range(len(F)), key=F.__getitem__)
        top = F[place]
        others = total((arb(x - top) / unit).exp() for k, x in enumerate(F) if k != place)
        exact += V * (top - F[y])
        terms.append(V * others.log1p())
    return (total(terms) + ball(Fraction(exact, f[0].unit))) / rows.om.unit


def _entropies(U: Sequence[Scaled], rows: SeveralRows) -> Iterator[arb]:
    """Om sum_k q_k log q_k, q = U/om + e_y; nothing for q_k = 0 and for om = 0."""
    unit, weight = U[0].unit, rows.om.unit
    entries = zip(*(part.values for part in U), strict=True)
    for row, y, V in zip(entries, rows.classes, rows.om.values, strict=True):
        one = V * unit
        for k, x in enumerate(row):
            Q = x * weight + (one if k == y else 0)
            if one and Q:
                q = arb(Q) / one
                yield q * q.log() * V / weight
