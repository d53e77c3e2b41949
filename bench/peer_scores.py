"""Held-out scores of our networks and of the peers on the same folds: R^2 or D^2, or accuracy and
log loss, with CPU seconds of each fit.

Everybody chooses its own strength of regularization inside the training fold, by its own default
way; inputs are standardized for those who do not do it themselves. Ours are fitted without proof.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from bench.peer_cells import Cell, Store, within
from bench.peer_models import COMPILED, METHODS, build
from sklearn import datasets
from sklearn.metrics import accuracy_score, d2_tweedie_score, log_loss, r2_score
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

N_SPLITS, N_REPEATS = 5, 5
LARGE = 2_000  # more rows than this: one round of five folds
LIMIT = 150.0  # CPU seconds of one fit


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and labels, and what kind of labels: "real", "classes" or "counts"; slopes that are
    known (1: nondecreasing) are told to everybody who can use them.
    """

    X: Any
    y: Any
    kind: str
    monotone: tuple[int, ...] | None = None


def _loaded(loader: Any, kind: str) -> Table:
    X, y = loader(return_X_y=True)
    return Table(X, y, kind)


def _linnerud() -> Table:
    """Twenty rows: weight by three exercises."""
    X, y = datasets.load_linnerud(return_X_y=True)
    return Table(X, y[:, 0], "real")


def _friedman() -> Table:
    return Table(*datasets.make_friedman1(2_000, noise=1.0, random_state=0), "real")


def _digits() -> Table:
    X, y = datasets.load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    X = X[chosen]
    return Table(X[:, X.std(axis=0) > 0], (y[chosen] == 8).astype(int), "classes")


def _counts() -> Table:
    """Poisson counts, log rate with a kink, a wave, a line and one product."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (1_000, 6))
    rate = 0.5 + np.abs(X[:, 0]) + 0.8 * np.sin(np.pi * X[:, 1]) + 0.5 * X[:, 2]
    return Table(X, rng.poisson(np.exp(rate + 0.7 * X[:, 3] * X[:, 4])).astype(float), "counts")


def _monotone() -> Table:
    """A sum of nondecreasing curves of the first four of six columns, with as much noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (600, 6))
    curves = [
        np.maximum(X[:, 0], 0.0),
        np.exp(X[:, 1]) / 2.0,
        np.tanh(2.0 * X[:, 2]),
        X[:, 3] / 2.0,
    ]
    signal = np.sum(curves, axis=0)
    y = signal + signal.std() * rng.standard_normal(600)
    return Table(X, y, "real", (1, 1, 1, 1, 0, 0))


TABLES: dict[str, Callable[[], Table]] = {
    "diabetes": lambda: _loaded(datasets.load_diabetes, "real"),
    "breast cancer": lambda: _loaded(datasets.load_breast_cancer, "classes"),
    "wine": lambda: _loaded(datasets.load_wine, "classes"),
    "iris": lambda: _loaded(datasets.load_iris, "classes"),
    "linnerud": _linnerud,
    "digits 3 or 8": _digits,
    "Friedman1 2000": _friedman,
    "counts": _counts,
    "monotone": _monotone,
}


@cache
def table_of(name: str) -> Table:
    """One of the tables, made once."""
    return TABLES[name]()


def folds_of(table: Table) -> list[tuple[Any, Any]]:
    """5 x 5 folds (stratified for classes), one round of five for more than 2,000 rows."""
    repeats = 1 if len(table.y) > LARGE else N_REPEATS
    kind = RepeatedStratifiedKFold if table.kind == "classes" else RepeatedKFold
    splitter = kind(n_splits=N_SPLITS, n_repeats=repeats, random_state=0)
    return list(splitter.split(table.X, table.y))


def fold_scores(model: Any, table: Table, train: Any, test: Any) -> dict[str, Any]:
    """Fit on the rows `train`, judge on `test`."""
    began = time.process_time()
    model.fit(table.X[train], table.y[train])
    seconds = time.process_time() - began
    y = table.y[test]
    if table.kind == "classes":
        chances = np.asarray(model.predict_proba(table.X[test]), dtype=np.float64)
        classes = np.unique(table.y[train])
        return {
            "score": float(accuracy_score(y, model.predict(table.X[test]))),
            "log_loss": float(log_loss(y, chances, labels=classes)),
            "seconds": seconds,
        }
    outputs = np.ravel(model.predict(table.X[test]))
    if table.kind == "counts":
        score = d2_tweedie_score(y, np.maximum(outputs, 1e-9), power=1)
    else:
        score = r2_score(y, outputs)
    return {"score": float(score), "seconds": seconds}


def cells(
    tables: list[str], methods: list[str], limit: float = LIMIT, most: int = N_SPLITS * N_REPEATS
) -> Iterator[Cell]:
    """Fold by fold, so that an interrupted run has the same folds of everybody."""
    for fold in range(most):
        for name in tables:
            table = table_of(name)
            folds = folds_of(table)
            if fold >= len(folds):
                continue
            for method in methods:
                if METHODS[method].takes(table):
                    work = _work(method, table, folds[fold], limit)
                    yield Cell((name, method, f"{fold:02d}"), work)


def _work(method: str, table: Table, fold: tuple[Any, Any], limit: float) -> Any:
    def run() -> dict[str, Any]:
        if method in COMPILED:
            warm(method, table.kind)
        model = build(method, table)  # imports happen before the fork and the clock
        return within(limit, lambda: fold_scores(model, table, *fold))

    return run


@cache
def warm(method: str, kind: str) -> None:
    """Compiled code is loaded once, before any clock."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    y = {"real": X[:, 0], "classes": (X[:, 0] > 0).astype(int), "counts": np.round(X[:, 0] ** 2)}
    build(method, Table(X, y[kind], kind)).fit(X, y[kind])


def over_budget(store: Store, budget: float) -> Callable[[Cell], bool]:
    """Whether a method has had its CPU seconds on a table already, or failed there."""

    def skip(cell: Cell) -> bool:
        table, method, fold = cell.parts
        names = (Cell((table, method, f"{k:02d}"), dict).name for k in range(int(fold)))
        found = [numbers for numbers in map(store.read, names) if numbers is not None]
        is_late = any("CPU s" in numbers.get("error", "") for numbers in found)
        return is_late or sum(numbers["seconds"] for numbers in found) > budget

    return skip
