r"""Sums of the Hermite series sum_k alpha_k(s) alpha_k(t) rho^k by Horner's rule, with the tail of
DU-DA2 as error bar.

The series is split by parity, $\beta_0 + \beta_1\rho + \rho^2 P(\rho^2) + \rho^3 Q(\rho^2)$: for
every activation of the catalog one of P, Q vanishes, which halves the work. Sums are as long as the
tail asks for, block by block; the few pairs of a block with larger |rho| are summed again one by
one, with more terms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.activations.dual_coefficients import Coefficients

if TYPE_CHECKING:
    Indices = NDArray[np.intp]

TOLERANCE = 2.0**-48  # target of the truncation error, relative to sqrt(E phi(u)^2 E phi(v)^2)
SINGLE_COST = 8.0  # one term of one pair summed singly costs this many terms of a block


def block_sum(
    coefficients: Coefficients, rows: slice, columns: slice, R: Array
) -> tuple[Array, Indices]:
    """Normalized sums for a block of cosines R, and the flat positions of the pairs whose error is
    above `TOLERANCE`.
    """
    level, late = _choose_level(coefficients, rows, columns, R)
    table = coefficients.table[: coefficients.levels[level]]
    single = table.shape[1] == 1
    left, right = (
        (table[:, 0], table[:, 0]) if single else (table[:, rows, None], table[:, None, columns])
    )
    total = _horner(coefficients, left, right, R)
    if late.size == 0:
        return total, late
    i, j = np.divmod(late, R.shape[1])
    i, j = (0 * i, 0 * j) if single else (i + rows.start, j + columns.start)
    values, open_pairs = pair_sum(coefficients, i, j, R.ravel()[late])
    total.ravel()[late] = values
    return total, late[open_pairs]


def pair_sum(
    coefficients: Coefficients, i: Indices, j: Indices, rho: Array
) -> tuple[Array, Indices]:
    """Normalized sums for pairs (i, j) of columns of the table, and the positions whose error is
    above `TOLERANCE`.
    """
    values, left = np.zeros(rho.shape), np.arange(rho.size)
    for level in (len(coefficients.levels) // 2, len(coefficients.levels) - 1):
        if left.size == 0:
            break
        good = pair_bar(coefficients, i[left], j[left], rho[left], level) <= TOLERANCE
        done, left = left[good], left[~good]
        table = coefficients.table[: coefficients.levels[level]]
        for part in np.array_split(done, max(1, done.size // 4096)):
            values[part] = _horner(coefficients, table[:, i[part]], table[:, j[part]], rho[part])
    return values, left


def pair_bar(coefficients: Coefficients, i: Indices, j: Indices, rho: Array, level: int) -> Array:
    """|rho|^K tail_i tail_j, relative to the sizes."""
    tails = coefficients.tails[level]
    return np.abs(rho) ** coefficients.levels[level] * tails[i] * tails[j]


def _choose_level(
    coefficients: Coefficients, rows: slice, columns: slice, R: Array
) -> tuple[int, Indices]:
    """The length of sum that costs least together with the pairs it leaves over, and those
    pairs.
    """
    size = np.abs(R).ravel()
    top, best, chosen, limit = float(size.max(initial=0.0)), np.inf, 0, 0.0
    for level, terms in enumerate(coefficients.levels):
        tails = coefficients.tails[level]
        tail = tails[0] ** 2 if tails.size == 1 else tails[rows].max() * tails[columns].max()
        allowed = (TOLERANCE / tail) ** (1.0 / terms) if tail > 0 else np.inf
        if terms * size.size >= best:
            break
        late = np.count_nonzero(size > allowed) if top > allowed else 0
        cost = terms * size.size + SINGLE_COST * coefficients.terms * late
        if cost < best:
            best, chosen, limit = cost, level, allowed
        if late == 0:
            break
    return chosen, np.flatnonzero(size > limit) if top > limit else np.empty(0, dtype=np.intp)


def _horner(coefficients: Coefficients, left: Array, right: Array, R: Array) -> Array:
    """The sum for broadcast columns of the table (k first); its length is even."""
    total = left[1] * right[1] * R
    total += left[0] * right[0]
    square, product = R * R, np.empty_like(R)
    for parity in coefficients.classes:
        top = len(left) - 2 + parity
        part = np.empty_like(R)
        part[...] = left[top] * right[top]
        for k in range(top - 2, 1, -2):
            part *= square
            if left.ndim == 1:
                part += left[k] * right[k]
            else:
                np.multiply(left[k], right[k], out=product)
                part += product
        part *= square
        total += part * R if parity else part
    return total
