r"""Held-out errors of quadratic networks along paths of weight decays, for the choice of the decay.

With the squared loss a fold is known by its moments $G = S^TS$, $g = S^Ty$ and $y^Ty$ (S has the
rows svec(x_i x_i^T)), computed once; a bias scale only multiplies the columns of S. The paths of
all folds and bias scales go down side by side, in one batch of alternating directions (ADMM) for
$\min_m \tfrac12m^TGm - g^Tm + c\|M\|_*$, and a bias scale is left where its error has turned.
Everything here is in floats and steers a choice; the chosen network is solved and proved elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from globalmin._options import Signs
from globalmin._types import Array, Indices, Mask
from globalmin.linalg.symmetric import (
    design_gram,
    design_matrix,
    order_of,
    quadratic_forms,
    row_blocks,
)
from globalmin.quadratic.solve import solve_quadratic

MOST_MOMENTS = 700  # order of G up to which moments are cheaper than the rows
WORSE = 3  # decays in a row without a smaller mean error end a path
_RELAXATION = 1.6  # of the alternating directions
ROUNDS, _BETWEEN = 30, 4  # rounds of so many steps each: the gap and the weight are looked at
_TINY = float(np.finfo(np.float64).tiny)
_UNBALANCED = 3.0  # ratio of the residuals from which on the weight of the splitting is changed


@dataclass(frozen=True, eq=False)
class Moments:
    """S^T S, S^T y, y^T y and the number of rows, of preprocessed rows and labels."""

    gram: Array
    cross: Array
    square: float
    n: int

    @classmethod
    def of(cls, X: Array, y: Array) -> Moments:
        """The moments, summed over blocks of rows."""
        cross = np.zeros(X.shape[1] * (X.shape[1] + 1) // 2)
        for part in row_blocks(X.shape[0], len(cross)):
            cross += design_matrix(X[part]).T @ y[part]
        return cls(design_gram(X), cross, float(y @ y), len(y))

    def weighed(self, columns: Array) -> Moments:
        """Those of the rows with each column multiplied by its number."""
        first, second = np.triu_indices(len(columns))
        factor = columns[first] * columns[second]
        gram = self.gram * factor * factor[:, None]
        return Moments(gram, self.cross * factor, self.square, self.n)

    def mean_error(self, m: Array) -> float:
        """The mean squared error of the network with svec(M) = m."""
        total = m @ (self.gram @ m) - 2.0 * (m @ self.cross) + self.square
        return max(float(total), 0.0) / self.n


class Rows(NamedTuple):
    """Preprocessed rows, the constant feature last, and labels."""

    X: Array
    y: Array


@dataclass(frozen=True, eq=False)
class FoldPart:
    """One fold of one target: rows to train on and rows held out, the unit of a squared error, and
    the number of the fold.
    """

    train: Rows
    test: Rows
    unit: float
    fold: int


@dataclass(frozen=True)
class PathOptions:
    """Signs of the heads, neurons (None for as many as the minimum needs), and the relative gap."""

    signs: Signs
    width: int | None
    tol: float


def moment_errors(
    parts: Sequence[FoldPart], decays: Array, weights: Array, options: PathOptions
) -> Array:
    """Held-out mean squared errors from moments, scales x decays x folds, targets summed; NaN
    beyond the place where a scale was left.

    Parameters
    ----------
    parts : folds and targets.
    decays : scales x decays, each row decreasing.
    weights : scales x columns, what each bias scale multiplies the columns by.
    options : the class of networks and the accuracy; any width.
    """
    train = [Moments.of(*part.train) for part in parts]
    test = [Moments.of(*part.test) for part in parts]
    scales = len(weights)
    batch = Batch.of(
        [own.weighed(factor) for factor in weights for own in train],
        two_sided=options.signs == "mixed",
    )
    held_out = [own.weighed(factor) for factor in weights for own in test]
    count = len(parts)

    def errors_at(going: Sequence[int], k: int) -> list[list[float]]:
        active = np.concatenate([np.arange(s * count, (s + 1) * count) for s in going])
        # c = w/(2 v_max), with heads of 1
        batch.solve(active, np.repeat(0.5 * decays[:, k], count), options.tol)
        return [
            [held_out[i].mean_error(batch.m[i]) for i in range(s * count, (s + 1) * count)]
            for s in going
        ]

    return _followed(parts, (scales, decays.shape[1]), errors_at)


def row_errors(
    parts: Sequence[FoldPart], decays: Array, weights: Array, options: PathOptions
) -> Array:
    """The same by the solver of one network, started from the one before: for many columns, where
    moments are large, and for a given width.
    """
    matrices: dict[tuple[int, int], Array] = {}

    def error(s: int, i: int, k: int) -> float:
        part, factor = parts[i], weights[s]
        solution = solve_quadratic(
            part.train.X * factor,
            part.train.y,
            signs=options.signs,
            width=options.width,
            weight_decay=float(decays[s, k]),
            tol=options.tol,
            start=matrices.get((s, i)),
        )
        matrices[s, i] = solution.M
        outputs = quadratic_forms(part.test.X * factor, solution.M)
        return float(np.mean(np.square(outputs - part.test.y)))

    return _followed(
        parts,
        decays.shape,
        lambda going, k: [[error(s, i, k) for i in range(len(parts))] for s in going],
    )


def _followed(
    parts: Sequence[FoldPart],
    shape: tuple[int, int],
    errors_at: Callable[[Sequence[int], int], list[list[float]]],
) -> Array:
    """Errors of all folds at one decay after the other, of the scales whose mean has not turned."""
    folds = 1 + max(part.fold for part in parts)
    errors = np.full((*shape, folds), np.nan)
    going = list(range(shape[0]))
    for k in range(shape[1]):
        for s, row in zip(going, errors_at(going, k), strict=True):
            errors[s, k] = 0.0
            for part, error in zip(parts, row, strict=True):
                errors[s, k, part.fold] += part.unit * error
        going = [s for s in going if not has_turned(errors[s, : k + 1])]
        if not going:
            break
    return errors


def has_turned(errors: Array) -> bool:
    """Whether the mean over the folds had its least value `WORSE` decays ago or earlier; the errors
    are decays x folds.
    """
    means = errors.mean(axis=1)
    return len(means) - 1 - int(np.argmin(means)) >= WORSE


def _products(matrices: Array, which: Indices, vectors: Array) -> Array:
    """Matrix times vector, problem by problem, without a copy of the matrices."""
    return np.stack([matrices[i] @ vector for i, vector in zip(which, vectors, strict=True)])


class Batch:
    """Several problems with matrices of one order, and where each of them is: m, its multiplier
    and the weight rho of the splitting.
    """

    def __init__(self, gram: Array, cross: Array, square: Array, *, two_sided: bool) -> None:
        self.gram, self.cross, self.square, self.two_sided = gram, cross, square, two_sided
        self.m, self.multiplier = np.zeros_like(cross), np.zeros_like(cross)
        self.sizes = np.zeros(len(cross))  # nuclear norms
        N = cross.shape[1]
        d = order_of(N)
        self.first, self.second = np.triu_indices(d)
        self.root = np.where(self.first == self.second, 1.0, np.sqrt(0.5))
        self.place = np.zeros((d, d), dtype=np.intp)
        self.place[self.first, self.second] = np.arange(N)
        self.place[self.second, self.first] = np.arange(N)
        diagonal = np.trace(gram, axis1=1, axis2=2) / N
        self.rho = np.maximum(diagonal, np.finfo(np.float64).tiny)
        self.inverse = np.empty_like(gram)
        self._invert(np.arange(len(cross)))

    @classmethod
    def of(cls, moments: Sequence[Moments], *, two_sided: bool) -> Batch:
        """One problem per fold and scale."""
        return cls(
            np.stack([part.gram for part in moments]),
            np.stack([part.cross for part in moments]),
            np.array([part.square for part in moments]),
            two_sided=two_sided,
        )

    def _invert(self, which: Indices) -> None:
        if which.size:
            N = self.gram.shape[1]
            shifted = self.gram[which] + self.rho[which, None, None] * np.eye(N)
            self.inverse[which] = np.linalg.inv(shifted)

    def solve(self, active: Indices, c: Array, tol: float, rounds: int = ROUNDS) -> None:
        """Steps until the relative duality gap of every active problem is below the tolerance."""
        left = active
        for round_number in range(rounds):
            primal, dual = self._steps(left, c[left])
            left_open = self._gaps(left, c[left]) > tol
            if round_number % 2 == 1:
                self._rebalance(left, primal, dual, left_open)
            left = left[left_open]
            if not left.size:
                return

    def _matrices(self, m: Array) -> Array:
        return (m * self.root)[:, self.place]

    def _steps(self, which: Indices, c: Array) -> tuple[Array, Array]:
        """A few steps, and the residuals of the last one relative to the sizes."""
        cross, rho = self.cross[which], self.rho[which, None]
        m, multiplier = self.m[which], self.multiplier[which]
        smooth = before = m
        for _ in range(_BETWEEN):
            before = m
            pulled = cross + rho * m - multiplier
            smooth = _products(self.inverse, which, pulled)
            mixed = _RELAXATION * smooth + (1.0 - _RELAXATION) * m + multiplier / rho
            m, self.sizes[which] = self._shrink(mixed, c[:, None] / rho)
            multiplier = rho * (mixed - m)
        self.m[which], self.multiplier[which] = m, multiplier
        size = np.linalg.norm(m, axis=1) + np.linalg.norm(smooth, axis=1)
        pull = np.linalg.norm(multiplier, axis=1)
        primal = np.linalg.norm(smooth - m, axis=1) / np.maximum(size, _TINY)
        dual = rho[:, 0] * np.linalg.norm(m - before, axis=1) / np.maximum(pull, _TINY)
        return primal, dual

    def _shrink(self, m: Array, threshold: Array) -> tuple[Array, Array]:
        """The proximal map of the nuclear norm, on positive matrices if the problem is one-sided,
        and the nuclear norms after it.
        """
        values, vectors = np.linalg.eigh(self._matrices(m))
        kept = np.maximum(values - threshold, 0.0)
        if self.two_sided:
            kept -= np.maximum(-values - threshold, 0.0)
        matrices = (vectors * kept[:, None, :]) @ vectors.transpose(0, 2, 1)
        norms = np.abs(kept).sum(axis=1)
        return matrices[:, self.first, self.second] / self.root, norms

    def _gaps(self, which: Indices, c: Array) -> Array:
        """Duality gaps relative to the objectives, or to a thousandth of those of M = 0."""
        m, cross, square = self.m[which], self.cross[which], self.square[which]
        image = _products(self.gram, which, m)
        along = np.einsum("ij,ij->i", m, cross)
        residual = np.maximum(np.einsum("ij,ij->i", m, image) - 2.0 * along + square, 0.0)
        spectrum = np.linalg.eigvalsh(self._matrices(image - cross))
        reach = np.maximum(-spectrum[:, 0], spectrum[:, -1] if self.two_sided else 0.0)
        objective = 0.5 * residual + c * self.sizes[which]
        toward = square - along  # minus the product of residual and labels
        with np.errstate(over="ignore"):  # where nothing is in the way
            largest = c / np.maximum(reach, _TINY)
            best = toward / np.maximum(residual, _TINY)
        share = np.clip(best, 0.0, largest)
        floor = share * toward - 0.5 * share**2 * residual
        return (objective - floor) / np.maximum(np.maximum(objective, 5e-4 * square), _TINY)

    def _rebalance(self, which: Indices, primal: Array, dual: Array, is_open: Mask) -> None:
        """Another weight of the splitting where one residual is far larger than the other."""
        ratio = np.sqrt((primal + _TINY) / (dual + _TINY))
        changed = is_open & ((ratio > _UNBALANCED) | (ratio < 1.0 / _UNBALANCED))
        self.rho[which[changed]] *= np.clip(ratio[changed], 0.1, 10.0)
        self._invert(which[changed])
