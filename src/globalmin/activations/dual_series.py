r"""Hermite series of dual activations: tables of coefficients alpha_k(s) = E[psi(s g) h_k(g)] for
many scales s, up to 1,024 of them, and the sums sum_k alpha_k(s) alpha_k(t) rho^k with the tail of
DU-DA2 as error bar.

Coefficients. Functions of the catalog are analytic in a strip around the real line, so a plain
trapezoid sum in g is exact to rounding once its step h resolves the highest frequency present:
sqrt(K) of the polynomial, 6 of the weight, and that of psi(s g), which grows with s. For scales so
large that this would take too many nodes, and for a user's function, of which nothing is known, the
rule of `moments` is taken, which needs no strip and resolves any steepness at 0.

Sums, by Horner's rule. The series is split by parity, $\beta_0 + \beta_1\rho + \rho^2 P(\rho^2) +
\rho^3 Q(\rho^2)$: for every activation of the catalog one of P, Q vanishes, which halves the work.
Sums are as long as the tail asks for, block by block; the few pairs of a block with larger |rho|
are summed again one by one, with more terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, Indices, NDArray
from globalmin.activations.moments import hermite_weights

if TYPE_CHECKING:
    from globalmin.activations.activation import Activation


LADDER = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # lengths of series
STEEP_TERMS = 256  # length where the rule of `moments` is taken
REACH = 13.0  # the weight times a Hermite function is below e^{-42} there
DIGITS = 37.0  # e^{-37} is a twentieth of the rounding unit
MAX_NODES = 8192
CHUNK = 2**21  # entries of the largest temporary array
FLOOR = 2.0**-50  # what rounding leaves unknown of a sum of squares that is 1


@dataclass(frozen=True)
class Coefficients:
    """Normalized coefficients of psi at the scales: `table[k, i]` = alpha_k(s_i)/size_i, so that
    columns have norm 1 or less.

    Attributes
    ----------
    scales, sizes : s_i and sqrt(E psi(s_i g)^2).
    table : (terms, number of scales).
    tails : `tails[l, i]` bounds the norm of column i from LADDER[l] on, estimated as a sum of
        squares plus `FLOOR`.
    classes : which of the parities 0, 1 occur among the k >= 2.
    """

    scales: Array
    sizes: Array
    table: Array
    tails: Array
    classes: tuple[int, ...]

    @property
    def terms(self) -> int:
        """Length of the series."""
        return self.table.shape[0]

    @property
    def levels(self) -> tuple[int, ...]:
        """The lengths of series to choose from."""
        return LADDER[: LADDER.index(self.terms) + 1]

    def take(self, places: NDArray[np.intp]) -> Coefficients:
        """The columns at the given places."""
        return Coefficients(
            self.scales[places],
            self.sizes[places],
            np.ascontiguousarray(self.table[:, places]),
            self.tails[:, places],
            self.classes,
        )


def bandwidth(phi: Activation) -> float | None:
    """Frequency above which the spectra of phi and its derivatives are below e^{-37}; None if
    unknown.
    """
    b = phi.parameter or 1.0
    poles = {"softplus": math.pi / b, "sigmoid": math.pi / b, "swish": math.pi, "tanh": math.pi / 2}
    if phi.name in poles:
        return DIGITS / poles[phi.name]
    return {"erf": 12.5, "gelu": 9.5}.get(phi.name)  # e^{-w^2/4} and e^{-w^2/2} times powers


def series_coefficients(
    phi: Activation, scales: Array, *, order: int, least: int = 0
) -> Coefficients:
    """The shortest table of the ladder that suffices for every correlation, or the longest there
    is; `least` terms or more.
    """
    psi, band = phi.derivatives[order], bandwidth(phi)
    trial = _integrals(psi, scales.max(keepdims=True), LADDER[-1], band)
    enough = (np.square(_tails(trial[0], trial[1])[:, 0]) <= 4.0 * FLOOR) & (
        np.array(LADDER) >= least
    )[: _rungs(trial[0])]
    terms = LADDER[int(np.argmax(enough))] if enough.any() else LADDER[len(enough) - 1]
    order_of_size = np.argsort(scales)
    octaves = np.floor(np.log2(scales[order_of_size]))
    groups = np.split(
        order_of_size, np.flatnonzero(np.diff(octaves)) + 1
    )  # one rule per octave: small scales need few nodes
    table, squares = np.empty((terms, scales.size)), np.empty(scales.size)
    for group in groups:
        columns, squares[group] = _integrals(psi, scales[group], terms, band)
        table[: len(columns), group], table[len(columns) :, group] = columns, 0.0
    sizes = np.sqrt(squares)
    live = np.where(sizes > 0, sizes, 1.0)
    table /= live
    tails = _tails(table, np.where(sizes > 0, 1.0, 0.0))
    classes = tuple(
        p for p in (0, 1) if np.square(table[2 + p :: 2]).sum(axis=0).max(initial=0.0) > 1e-20
    )
    return Coefficients(scales, sizes, np.ascontiguousarray(table), tails, classes)


def tail_norms(coefficients: Coefficients, terms: int) -> Array:
    """Norms of the columns from any place on; see `Coefficients.tails`."""
    beyond = np.square(coefficients.table[terms:]).sum(axis=0)
    return np.sqrt(beyond + np.square(coefficients.tails[-1]))


def _rungs(table: Array) -> int:
    return sum(k <= len(table) for k in LADDER)


def _tails(table: Array, squares: Array) -> Array:
    """Norms beyond each rung: later terms of the table, then what all terms leave of the whole, at
    least its rounding.
    """
    total = np.square(table)
    rest = np.maximum(squares - total.sum(axis=0), 0.0) + FLOOR * squares
    rungs = LADDER[: _rungs(table)]
    return np.sqrt(
        np.stack([total[k:].sum(axis=0) + rest for k in rungs])
        / np.where(squares > 0, squares, 1.0)
    )


def _integrals(
    psi: Callable[[Array], Array], scales: Array, terms: int, band: float | None
) -> tuple[Array, Array]:
    """Coefficients (terms x scales, or fewer terms for the steep rule) and E psi^2."""
    width = None if band is None else math.sqrt(terms) + 12.0 + band * float(scales.max())
    if width is None or 2.0 * REACH / short_step(width) > MAX_NODES:
        terms = min(terms, STEEP_TERMS)
        g, weights = hermite_weights(terms)
    else:
        g, weights = _trapezoid_weights(short_step(width), terms)
    columns, squares = np.empty((terms, scales.size)), np.empty(scales.size)
    rows = max(1, CHUNK // g.size)
    for i in range(0, scales.size, rows):
        values = psi(scales[i : i + rows, None] * g)
        columns[:, i : i + rows] = (values @ weights).T
        squares[i : i + rows] = np.square(values) @ weights[:, 0]
    return columns, squares


def short_step(width: float) -> float:
    """A step that resolves a spectrum of this width, of two bits only: so the nodes are exact and
    few rules are ever made.
    """
    mantissa, exponent = math.frexp(2.0 * math.pi / (1.1 * width))
    return math.ldexp(math.floor(4.0 * mantissa), exponent - 2)


@lru_cache(maxsize=8)
def _trapezoid_weights(step: float, terms: int) -> tuple[Array, Array]:
    """Nodes g and the matrix (nodes x terms) of weights times h_k(g)."""
    half = math.ceil(REACH / step)
    g = step * np.arange(-half, half + 1, dtype=np.float64)
    functions = np.empty((terms, g.size))
    functions[0] = np.exp(-0.25 * g * g)  # carried along so that the polynomials do not overflow
    functions[1] = g * functions[0]
    for k in range(1, terms - 1):
        functions[k + 1] = (g * functions[k] - math.sqrt(k) * functions[k - 1]) / math.sqrt(k + 1)
    weight = functions[0] * (step / math.sqrt(2.0 * math.pi))
    return g, np.ascontiguousarray((functions * weight).T)


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
