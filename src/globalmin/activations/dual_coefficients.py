r"""Tables of Hermite coefficients alpha_k(s) = E[psi(s g) h_k(g)] for many scales s, made for
series of up to 1,024 terms.

Functions of the catalog are analytic in a strip around the real line, so a plain trapezoid sum in g
is exact to rounding once its step h resolves the highest frequency present: sqrt(K) of the
polynomial, 6 of the weight, and that of psi(s g), which grows with s. For scales so large that this
would take too many nodes, and for a user's function, of which nothing is known, the rule of
`quadrature` is taken, which needs no strip and resolves any steepness at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.activations.quadrature import hermite_weights

if TYPE_CHECKING:
    from globalmin.activations.activation import Activation

LADDER = (4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)  # lengths of series
STEEP_TERMS = 256  # length where the rule of `quadrature` is taken
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
