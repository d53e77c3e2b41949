"""Samples that a ReLU network fits as soon as it fits the others, found exactly: they leave the
proof of existence.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import CannotCertify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from globalmin.data import Dataset


@dataclass(frozen=True)
class Reduction:
    """`kept`: indices of the samples that stay; `dropped`: rows (j, i), j follows from kept i, or
    from nothing (-1).
    """

    kept: NDArray[np.int64] = field(repr=False)
    dropped: NDArray[np.int64]


def reduce_samples(data: Dataset) -> Reduction:
    """Drop zero rows with label zero, and positive multiples of an earlier row whose label is the
    same multiple.

    Raises CannotCertify, naming the samples, where such a relation is violated: then the loss has a
    positive floor.

    Theory
    ------
    Sample reduction of certificates-relu, section 0: phi(0) = 0 and phi(cz) = c phi(z) for c > 0.
    """
    y = [Fraction(value) for value in data.y.tolist()]
    pairs: list[tuple[int, int]] = []
    for j in data.degeneracy.zero_rows:
        if y[j] != 0:
            raise CannotCertify(
                f"row {j} is zero but its label is not, so no relu network fits it; ask for the "
                "claim loss-floor"
            )
        pairs.append((j, -1))
    for first, *others in data.degeneracy.rays:
        column = int(np.flatnonzero(data.X[first])[0])
        unit = Fraction(float(data.X[first, column]))
        for j in others:
            if y[j] * unit != y[first] * Fraction(float(data.X[j, column])):
                raise CannotCertify(
                    f"rows {first} and {j} lie on one ray but their labels do not; ask for the "
                    "claim loss-floor"
                )
            pairs.append((j, first))
    dropped = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    kept = np.setdiff1d(np.arange(data.n_samples, dtype=np.int64), dropped[:, 0])
    if kept.size == 0:
        raise CannotCertify("every row is zero with label zero: nothing is left to prove")
    return Reduction(kept, dropped)
