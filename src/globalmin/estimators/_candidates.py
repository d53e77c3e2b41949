"""The policy of choosing a regularized network: which models take part, the folds they share, their
held-out losses, and the baselines beside them. What the command line and `choose_model` do is
decided here and nowhere else.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.losses import Loss
from globalmin.regularized.folds import Folds, shuffled_folds

MODELS = ("additive", "quadratic", "relu")
TOLERANCES = {"additive": 1e-6, "quadratic": 1e-6, "relu": 1e-2}
"""The relative gap asked for where none is given: a floor under all ReLU networks is found by
search, and rarely sharper than a hundredth."""

# Where a model is left out of an automatic choice, because of what it would cost or prove.
_QUADRATIC_PRODUCTS = 50_000_000  # n x d^2 x networks
_RELU_COLUMNS = 2  # the search over cones proves small gaps in seconds up to here
_RELU_ENTRIES = 2_000  # n x d x networks; forty trainings of the whole network


@dataclass(frozen=True)
class Candidate:
    """One row of the table of candidates.

    Attributes
    ----------
    name : str
        "additive", "quadratic", "relu", or the name of a baseline.
    is_network : bool
        Whether it may be chosen; baselines stand beside the networks only.
    losses : tuple[float, ...]
        Mean held-out loss of every fold at its best penalty, summed over the classes if there are
        more than two; empty if it took no part.
    seconds : float
        Wall time of cross-validation and training.
    relative_gap : float | None
        Proved, where it was tried.
    note : str
        "chosen", or why it is not.
    """

    name: str
    is_network: bool
    losses: tuple[float, ...] = ()
    seconds: float = 0.0
    relative_gap: float | None = None
    note: str = ""

    @property
    def took_part(self) -> bool:
        """Whether there are held-out losses."""
        return bool(self.losses)

    @property
    def loss(self) -> float:
        """Mean over the folds; infinity if it took no part."""
        return float(np.mean(self.losses)) if self.losses else math.inf

    @property
    def spread(self) -> float:
        """Standard error of that mean over the folds."""
        return standard_error(np.array(self.losses))

    def __str__(self) -> str:
        held = f"{self.loss:.6g} ± {self.spread:.2g}" if self.took_part else "took no part"
        return f"{self.name}: {held}{f' ({self.note})' if self.note else ''}"


def standard_error(values: Array) -> float:
    """Of the mean of values that are taken as independent; the folds are not wholly."""
    if not np.isfinite(values).all():
        return math.inf
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


@dataclass(frozen=True, eq=False)
class Rows:
    """What all candidates are compared on: scaled inputs, one array of labels for each network,
    the loss, the folds, and the weights of the rows.
    """

    X: Array
    labels: Sequence[Array]
    loss: Loss
    folds: Folds
    weight: Array

    @property
    def entries(self) -> int:
        """Numbers in X, once for every network."""
        return self.X.size * len(self.labels)

    def held_out(self, outputs: Callable[[Array, Array, Array, Array], Array]) -> Array:
        """Mean held-out losses by fold, in the weights of the rows; `outputs(X, y, weight, rows)`
        gives the outputs at rows of a model fitted to X and y.
        """
        found = np.zeros(len(self.folds))
        for i, (train, test) in enumerate(self.folds):
            for y in self.labels:
                f = outputs(self.X[train], y[train], self.weight[train], self.X[test])
                # the smallest double: a fold of rows without weight counts nothing
                total = max(float(self.weight[test].sum()), 5e-324)
                found[i] += float(self.weight[test] @ self.loss.value(f, y[test])) / total
        return found


def shared_folds(y: NDArray[Any], count: int, seed: int, *, classifies: bool) -> Folds:
    """The folds that all candidates share: shuffled, stratified for classes. A class with one row
    trains always, so that every training part knows every class.
    """
    if not classifies:
        if len(y) < 2:
            raise DataError(
                f"cross-validation needs at least 2 rows, X has {len(y)} sample(s); give more, or "
                "one model with a number as weight_decay"
            )
        return shuffled_folds(len(y), min(count, len(y)), seed)
    _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
    is_alone = sizes[codes] < 2
    shared, alone = np.flatnonzero(~is_alone), np.flatnonzero(is_alone)
    if not len(shared):
        raise DataError(
            f"every class has one sample only ({len(y)} rows), so that none can be held out; give "
            "more rows, or one model with a number as weight_decay"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class with fewer rows than folds is in some of them
        parts = stratified_folds(codes[shared], min(count, int(sizes.max())), seed)
    return [
        (np.sort(np.concatenate([shared[train], alone])), shared[test]) for train, test in parts
    ]


def stratified_folds(y: NDArray[Any], count: int, random_state: Any) -> Folds:
    """Shuffled folds with the same share of every class, as scikit-learn draws them."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(count, shuffle=True, random_state=random_state).split(y, y))


def left_out(name: str, rows: Rows) -> str:
    """Why an automatic choice goes without this model; empty if it takes part, as additive networks
    always do.
    """
    n, d = rows.X.shape
    networks = len(rows.labels)
    if rows.loss.labels == "classes" and name != "additive":
        return "left out: only additive networks have several outputs"
    if name == "quadratic" and rows.entries * d > _QUADRATIC_PRODUCTS:
        return f"left out: {n:,} rows x {d}² products x {networks} network(s) are too many"
    if name == "relu" and d == 1:
        return "left out: of one column it is the additive network"
    if name == "relu" and d > _RELU_COLUMNS:
        return (
            f"left out: with more than {_RELU_COLUMNS} columns the proof of its gap takes up to a "
            "minute or stays above 1 %"
        )
    if name == "relu" and rows.entries > _RELU_ENTRIES:
        return f"left out: {rows.entries:,} entries are more than {_RELU_ENTRIES:,}, too dear"
    return ""


@dataclass(eq=False)
class Trial:
    """A model that took part: the estimator, trained and not yet proved, and its row."""

    estimator: Any
    row: Candidate
    options: dict[str, Any] = field(default_factory=dict)


def try_model(
    estimator: Any, name: str, X: Any, y: Any, sample_weight: Array | None = None
) -> Trial:
    """Choose the decay on the folds of the estimator and train, without a proof."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is left to say is said of the chosen one
        estimator.certify = False
        estimator.fit(X, y, **_weighted(sample_weight))
    seconds = time.perf_counter() - started
    losses = tuple(float(x) for x in held_out_losses(estimator))
    return Trial(estimator, Candidate(name, True, losses, seconds))


def _weighted(sample_weight: Array | None) -> dict[str, Array]:
    """Without weights nothing is passed: ReLU networks take none."""
    return {} if sample_weight is None else {"sample_weight": sample_weight}


def held_out_losses(estimator: Any) -> Array:
    """The held-out loss of each fold at the decay that was chosen, summed over the networks; empty
    if the decay was given.
    """
    found = getattr(estimator, "cv_losses_", getattr(estimator, "loss_path_", None))
    tables: list[Any] = found if isinstance(found, list) else [found]
    if any(table is None for table in tables):
        return np.empty(0)
    return np.sum([table[int(table.mean(axis=1).argmin())] for table in tables], axis=0)


def proved(trial: Trial, X: Any, y: Any, sample_weight: Array | None = None) -> Any:
    """The estimator with its proof: of the networks it has, or of new ones at the same decay."""
    estimator = trial.estimator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the verdict and the gap are told by who asked
        if hasattr(estimator, "_prove"):
            return estimator._prove()
        decay = float(estimator.weight_decay_)
        kept = {name: getattr(estimator, name, None) for name in ("weight_decays_", "loss_path_")}
        estimator.certify, estimator.weight_decay = True, decay
        estimator.fit(X, y, **_weighted(sample_weight))
    for name, value in kept.items():
        if value is not None:
            setattr(estimator, name, value)
    return estimator
