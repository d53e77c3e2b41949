"""From a table in the user's units to a problem, and the weight decay that predicts held-out rows
best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from globalmin._options import Scaling
from globalmin._types import Array, Indices
from globalmin.data.preprocessing import Preprocessing
from globalmin.data.sparse import divided_columns, is_sparse, largest_entries
from globalmin.losses import Loss
from globalmin.regularized.binning import binned
from globalmin.regularized.objective import Groups, HiddenBias, Penalty, RegularizedProblem
from globalmin.regularized.train import decay_path, largest_decay

_PATH_GAP = 1e-4  # relative, on the paths: far below the noise of held-out losses
WORSE = 4  # decays in a row without a better held-out loss end the search
_BITS = 12  # of a weight decay: a short number in the statement of a certificate


@dataclass(frozen=True)
class Settings:
    """What of a problem does not depend on the rows."""

    loss: Loss
    groups: Groups | tuple[tuple[int, ...], ...] = "columns"
    hidden_bias: HiddenBias = "penalized"
    scaling: Scaling = "standardize"
    monotone: tuple[int, ...] | None = None
    bins: int | None = None
    shapes: tuple[str, ...] | None = None

    def rows(self, X: Array, weight: Array | None) -> Array:
        """Preprocessed rows as they are trained on: binned, if that is asked for."""
        return X if self.bins is None else binned(X, self.bins, weight)

    def preprocessing(self, X: Array, y: Array, weight: Array | None) -> Preprocessing:
        """Columns, and real labels, to mean 0 and variance 1 in the weights of the rows; columns of
        sparse rows to the largest absolute value 1, which keeps zeros.
        """
        n, d = X.shape
        if self.scaling != "standardize":
            return Preprocessing(self.scaling, False, np.zeros(d), np.ones(d))
        used = np.ones(n) if weight is None else weight
        if is_sparse(X):
            shift, scale = np.zeros(d), largest_entries(X[used > 0])
        else:
            shift, scale = weighted_statistics(X, used)
        y_shift, y_scale = np.zeros(1), np.ones(1)
        if self.loss.labels == "real":
            y_shift, y_scale = weighted_statistics(y[:, None], used)
        return Preprocessing(
            "standardize", False, shift, scale, float(y_shift[0]), float(y_scale[0])
        )

    def problem(
        self, X: Array, y: Array, weight: Array | None, weight_decay: float
    ) -> RegularizedProblem:
        """The problem of rows and labels that were preprocessed."""
        penalty = Penalty(weight_decay, hidden_bias=self.hidden_bias)
        return RegularizedProblem(
            X,
            y,
            penalty,
            self.loss,
            groups=self.groups,
            sample_weight=weight,
            monotone=self.monotone,
            shapes=self.shapes,
        )


def stored_rows(X: Any, steps: Preprocessing) -> Any:
    """The rows after preprocessing; sparse ones, which are not shifted, stay sparse."""
    return divided_columns(X, steps.x_scale) if is_sparse(X) else steps.transform(X)


def weighted_statistics(X: Array, weight: Array) -> tuple[Array, Array]:
    """Weighted mean and standard deviation of each column; a column that is constant where the
    weight is positive gives (c, 1).
    """
    rows = X[weight > 0]
    share = (weight[weight > 0] / weight.sum())[:, None]
    largest = np.abs(rows).max(axis=0)
    unit = np.where(largest > 0, np.ldexp(1.0, np.frexp(largest)[1]), 1.0)
    mean = (share * (rows / unit)).sum(axis=0) * unit
    spread = np.sqrt((share * np.square((rows - mean) / unit)).sum(axis=0)) * unit
    constant = rows.max(axis=0) == rows.min(axis=0)
    safe = np.where(constant | ~(spread > 0), 1.0, spread)
    return np.where(constant, rows[0], mean), safe


@dataclass(frozen=True, eq=False)
class Choice:
    """The decays that were tried, their held-out losses (decays x folds, means over the weights of
    the rows), and the best.
    """

    decays: Array
    losses: Array
    weight_decay: float


def short(value: float) -> float:
    """The nearest number of a few bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, _BITS)), exponent - _BITS)


def default_decays(
    problem: RegularizedProblem,
    n_decays: int,
    ratio: float,
    largest: Callable[[RegularizedProblem], float] = largest_decay,
) -> Array:
    """Evenly spaced in the logarithm from the least decay without neurons down to `ratio` times
    it; a single 1 where no decay has neurons.
    """
    top = largest(problem)
    if not top > 1e-12 * float(problem.weights.sum()):
        return np.ones(1)
    return np.array([short(b) for b in top * np.geomspace(1.0, ratio, n_decays)])


def choose_decay(
    whole: RegularizedProblem,
    folds: Sequence[tuple[Indices, Indices]],
    decays: Array,
    path: Callable[..., Iterator[Any]] = decay_path,
) -> Choice:
    """Follow the paths of all folds from the largest decay down, side by side, until the held-out
    loss gets worse; decays are those of all rows and are scaled to the rows of a fold.
    """
    total = float(whole.weights.sum())
    paths = [_fold_path(whole, train, decays, total, path) for train, _ in folds]
    held_out = (
        [_held_out(run, whole, test) for run, (_, test) in zip(runs, folds, strict=True)]
        for runs in zip(*paths, strict=True)
    )
    return followed(decays, held_out)


def followed(decays: Array, held_out: Iterable[list[float]], worse: int = WORSE) -> Choice:
    """The choice among decays whose held-out losses (one per fold) come one after the other, the
    largest decay first; ended after `worse` of them in a row without a better loss.
    """
    losses: list[list[float]] = []
    best = 0
    for i, row in enumerate(held_out):
        losses.append(row)
        if sum(losses[i]) < sum(losses[best]):
            best = i
        if i - best >= worse:
            break
    tried = decays[: len(losses)]
    return Choice(tried, np.array(losses), float(tried[best]))


def _fold_path(
    whole: RegularizedProblem,
    train: Indices,
    decays: Array,
    total: float,
    path: Callable[..., Iterator[Any]],
) -> Iterator[Any]:
    part = subset(whole, train)
    share = float(part.weights.sum()) / total
    return path(part, (share * decays).tolist(), gap=_PATH_GAP)


def subset(problem: RegularizedProblem, rows: Indices) -> RegularizedProblem:
    """The problem of some of the rows."""
    weight = None if problem.sample_weight is None else problem.sample_weight[rows]
    return replace(problem, X=problem.X[rows], y=problem.y[rows], sample_weight=weight)


def _held_out(run: Any, whole: RegularizedProblem, test: Indices) -> float:
    """The mean loss of held-out rows, in their weights."""
    weight = whole.weights[test]
    outputs = run.network.predict(whole.X[test])
    used = weight > 0
    if not used.any():
        return 0.0
    losses = whole.loss.value(outputs[used], whole.y[test][used])
    return float(weight[used] @ losses / weight.sum())
