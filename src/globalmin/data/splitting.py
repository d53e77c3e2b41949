"""Which rows train and which are held out: the one rule of `Dataset.split` and of the command line.

A fraction is rounded up to whole rows, as scikit-learn's `train_test_split` does: a user who asks
for a test set gets one, also of a small table.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Indices
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.data.dataset import Dataset


def drawn_rows(
    n: int, held: int, *, seed: int, always_train: Collection[int] = ()
) -> tuple[Indices, Indices]:
    """Indices of the training rows and of the held-out rows of n, each increasing; `held` of them
    are held out, fewer where too many are in `always_train`.
    """
    order = np.random.default_rng(seed).permutation(n).tolist()
    free = [i for i in order if i not in always_train] if always_train else order
    test = np.array(sorted(free[:held]), dtype=np.intp)
    return np.setdiff1d(np.arange(n), test), test


def split_rows(table: Dataset, test_size: float, seed: int) -> tuple[Indices, Indices]:
    """Training and held-out rows of a table; at least one row trains, and none is held out for
    `test_size` 0.

    Equal rows with different labels always train: that they contradict each other is a fact about
    the table, and the outcome must not depend on the luck of the split.
    """
    held = min(math.ceil(test_size * table.n_samples), table.n_samples - 1)
    return drawn_rows(table.n_samples, held, seed=seed, always_train=contradicting_rows(table))


def contradicting_rows(table: Dataset) -> set[int]:
    """Rows that equal another row but have another label, in any target."""
    if not table.degeneracy.equal_rows:
        return set()
    parts = [table.for_target(j).degeneracy for j in range(table.n_targets)]
    return {i for part in parts for group in part.conflicting_rows for i in group}


def held_out_count(test_size: float | int, n: int) -> int:
    """How many of n rows a fraction, rounded up, or a number of rows means; DataError unless both
    parts get a row.
    """
    if isinstance(test_size, int | np.integer) and not isinstance(test_size, bool):
        held = int(test_size)
    elif isinstance(test_size, float | np.floating) and 0 < test_size < 1:
        held = math.ceil(test_size * n)
    else:
        raise DataError(
            f"test_size={test_size!r} must be a fraction strictly between 0 and 1, or a whole "
            "number of samples"
        )
    if not 1 <= held < n:
        raise DataError(
            f"test_size={test_size} of {n} sample(s) leaves {n - held} to train on and {held} to "
            "test; both parts need at least one"
        )
    return held
