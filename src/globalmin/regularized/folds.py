"""Shuffled folds of cross-validation, the same as scikit-learn's `KFold` and drawn from the same
numbers, without importing it: that takes longer than the fit of a small table.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Indices

Folds = list[tuple[Indices, Indices]]


def random_state_of(given: int | np.random.RandomState | None) -> np.random.RandomState:
    """The generator that an estimator's `random_state` means: of this seed, the given one, or
    numpy's own.

    Parameters
    ----------
    given : int | np.random.RandomState | None
        As estimators take it.

    Returns
    -------
    np.random.RandomState
        Draws what scikit-learn's estimators draw.
    """
    if given is None:
        return np.random.mtrand._rand  # pyright: ignore[reportAttributeAccessIssue]
    return given if isinstance(given, np.random.RandomState) else np.random.RandomState(given)


def shuffled_folds(n: int, count: int, random_state: int | np.random.RandomState | None) -> Folds:
    """Training and held-out rows of each fold, in increasing order.

    Parameters
    ----------
    n : int
        Rows.
    count : int
        Folds, from 2 to n; the first ones have a row more if the rows cannot be shared equally.
    random_state : int | np.random.RandomState | None
        What the shuffle is drawn from.

    Returns
    -------
    Folds
        Every row is held out once.
    """
    order = np.arange(n)
    random_state_of(random_state).shuffle(order)
    folds: Folds = []
    for held_out in np.array_split(order, count):
        is_held_out = np.zeros(n, dtype=bool)
        is_held_out[held_out] = True
        folds.append((np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)))
    return folds
