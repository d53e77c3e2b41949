r"""Which pairs of columns an additive network lacks most: those whose neurons would lower the
objective fastest, $H_{jk}(u) > b$ at the dual vector of the network without interactions.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from globalmin.regularized.pairs import PairOracle

if TYPE_CHECKING:
    from globalmin.regularized.train import RegularizedRun

MOST = 10
# of b: a pair that exceeds it by less would hardly be used
_WORTH = 0.01


def lacking_pairs(run: RegularizedRun, most: int = MOST) -> list[tuple[int, int]]:
    """Up to `most` pairs, the one that is lacking most first; in floats, by ascents.

    Parameters
    ----------
    run : training of a network of single columns with penalized biases.
    most : how many at most.
    """
    problem = run.problem
    groups = list(combinations(range(problem.X.shape[1]), 2))
    if not groups:
        return []
    oracle = PairOracle.of(problem.X, [*groups], tau=problem.penalty.tau)
    heights = oracle.search(run.u, np.inf)[0]
    least = problem.penalty.weight_decay * (1.0 + _WORTH)
    return [groups[g] for g in np.argsort(-heights, kind="stable")[:most] if heights[g] > least]
