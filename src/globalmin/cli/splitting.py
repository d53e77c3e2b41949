"""Which rows of the table train and which are held out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from globalmin.data import Dataset

    Rows = NDArray[np.intp]


def split_rows(table: Dataset, test_size: float, seed: int) -> tuple[Rows, Rows]:
    """Indices of the training rows and of the held-out rows, each increasing.

    The held-out share is rounded down. Equal rows with different labels always train: that they
    contradict each other is a fact about the table, and the outcome must not depend on the luck of
    the split.
    """
    n = table.n_samples
    pinned = contradicting_rows(table)
    order = [i for i in np.random.default_rng(seed).permutation(n).tolist() if i not in pinned]
    held = min(int(test_size * n), len(order), n - 1)
    test = np.array(sorted(order[:held]), dtype=np.intp)
    return np.setdiff1d(np.arange(n), test), test


def contradicting_rows(table: Dataset) -> set[int]:
    """Rows that equal another row but have another label, in any target."""
    if not table.degeneracy.equal_rows:
        return set()
    parts = [table.for_target(j).degeneracy for j in range(table.n_targets)]
    return {i for part in parts for group in part.conflicting_rows for i in group}
