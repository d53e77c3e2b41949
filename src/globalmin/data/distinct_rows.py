"""Rows that do not repeat another, and what that changes: zero loss on them is zero loss on all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The rows that are kept, what is said of it, and how often the most frequent row occurs."""

    data: Dataset
    note: str
    copies: int


def distinct_rows(data: Dataset) -> DistinctRows | None:
    """The data without rows that repeat another, inputs and label; None if no row does, or if equal
    rows contradict each other, so that all have to stay.
    """
    repeated = data.degeneracy.equal_rows
    if not repeated or data.degeneracy.conflicting_rows:
        return None
    dropped = [i for group in repeated for i in group[1:]]
    kept = np.setdiff1d(np.arange(data.n_samples), dropped)
    copies = max(len(group) for group in repeated)
    note = (
        f"{len(dropped)} of {data.n_samples} rows repeat another row, inputs and target; they are "
        "left out of the proof, because the loss is zero with them if and only if it is zero "
        f"without them. The bounds are about the {len(kept)} distinct rows; over all rows the loss "
        f"is at most {copies} times as large"
    )
    part = Dataset.from_preprocessed(data.X[kept], data.y[kept], data.preprocessing)
    return DistinctRows(part, note, copies)
