"""Which pairs of columns a network lacks: by their largest sums, and only what is worth it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from tests.oracles.circle_walk import highest

from globalmin.regularized.objective import Penalty, RegularizedProblem
from globalmin.regularized.screening import lacking_pairs

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
U = X[:, 0] * X[:, 2] + 0.3 * X[:, 0] * X[:, 1] + 0.1 * RNG.standard_normal(40)
PAIRS = [(0, 1), (0, 2), (1, 2)]
HEIGHTS = [highest(np.c_[X[:, pair], np.ones(40)], U) for pair in PAIRS]  # by another road


def _lacking(decay: float, columns: int = 3, **options: int) -> list[tuple[int, int]]:
    problem = RegularizedProblem(X[:, :columns], U, Penalty(decay))
    run: Any = SimpleNamespace(problem=problem, u=U)
    return lacking_pairs(run, **options)


def test_the_pair_that_is_lacking_most_comes_first():
    order = [PAIRS[g] for g in np.argsort(HEIGHTS)[::-1]]
    assert order[0] == (0, 2)
    assert _lacking(0.9 * min(HEIGHTS)) == order
    assert _lacking(0.9 * min(HEIGHTS), most=2) == order[:2]


def test_a_pair_is_worth_it_from_a_hundredth_above_the_decay_on():
    """The ascents are within 1e-4 of the maximum."""
    assert _lacking(max(HEIGHTS) / 1.011) == [(0, 2)]
    assert _lacking(max(HEIGHTS) / 1.009) == []


def test_one_column_has_no_pairs():
    assert _lacking(1e-3, columns=1) == []
