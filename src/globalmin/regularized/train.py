"""Training of networks with weight decay for a whole problem: the oracle that fits the class of
networks, one decay or a path of them with warm starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.regularized.binning import binned
from globalmin.regularized.column_generation import Oracle, Training, network_of, train_columns
from globalmin.regularized.columns import ColumnOracle
from globalmin.regularized.curve_network import with_shapes
from globalmin.regularized.curve_training import train_curves
from globalmin.regularized.curves import CurveOracle
from globalmin.regularized.dual import centered
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem, require_relu
from globalmin.regularized.pairs import PairOracle, QuickPairs, tolerance_for
from globalmin.regularized.shared_columns import SharedColumnOracle
from globalmin.regularized.shared_training import shared_network, train_shared

if TYPE_CHECKING:
    from globalmin.losses import Loss
    from globalmin.regularized.column_generation import Pool

# of the objective, and of each column, where pairs of columns are trained to choose a decay or to
# start from: the noise of held-out losses is far above what these cost
_ROUGH_GAP = 1e-3
_ROUGH_BINS = 16


@dataclass(frozen=True, eq=False)
class RegularizedRun:
    """What training found; `prove(run.network, run.problem, run=run)` proves the gap.

    Attributes
    ----------
    problem : RegularizedProblem
        What was minimized.
    training : Training
        Neurons, dual vector, objective and floor, in floats.
    """

    problem: RegularizedProblem
    training: Training

    @cached_property
    def network(self) -> RegularizedNetwork:
        """The network, each neuron balanced."""
        if self.problem.outputs > 1:
            return shared_network(self.training.pool, self.problem)
        network = network_of(self.training.pool, self.problem)
        return network if self.problem.shapes is None else with_shapes(network, self.problem)

    @property
    def u(self) -> Array:
        """The dual vector."""
        return self.training.u

    @property
    def relative_gap(self) -> float:
        """The distance to the floor as a share of the objective, in floats."""
        return self.training.relative_gap

    @property
    def n_iter(self) -> int:
        """Rounds of column generation."""
        return self.training.n_iter


def oracle_for(problem: RegularizedProblem, gap: float = 1e-6) -> Oracle:
    """The oracle for the class of networks of a problem, exact enough for this relative gap;
    DataError for a class without one.
    """
    require_relu(problem)
    if problem.penalty.linear != "none":
        raise DataError(
            f"linear={problem.penalty.linear!r}: networks of columns contain linear functions; "
            "take 'none'"
        )
    groups = problem.group_list()
    penalty, most = problem.penalty, max(map(len, groups))
    if most > 2 or (
        penalty.hidden_bias != "penalized" and (most > 1 or penalty.hidden_bias == "none")
    ):
        raise DataError(
            f"groups={problem.groups!r} with hidden_bias={penalty.hidden_bias!r} has no oracle; "
            "neurons that see one column each and have a bias, or two and a penalized bias, have "
            "one"
        )
    if most == 2:
        return PairOracle.of(problem.X, groups, tau=penalty.tau, tolerance=tolerance_for(gap))
    columns = [group[0] for group in groups]
    X = problem.X if columns == [*range(problem.X.shape[1])] else problem.X[:, columns]
    if problem.shapes is not None:
        if not penalty.needs_centering:
            raise DataError(
                f"shapes={problem.shapes!r} with intercept={penalty.intercept!r}: curves with a "
                "shape are trained with a free intercept or free hidden biases; take "
                "intercept='free'"
            )
        return CurveOracle.of(X, [problem.shapes[column] for column in columns], problem)
    if problem.outputs > 1:
        return SharedColumnOracle.of(X, tau=penalty.tau, hidden_bias=penalty.hidden_bias)
    rule = problem.monotone
    slopes = None if rule is None else [rule[column] for column in columns]
    return ColumnOracle.of(X, tau=penalty.tau, hidden_bias=penalty.hidden_bias, slopes=slopes)


def train_regularized(
    problem: RegularizedProblem,
    *,
    gap: float = 1e-6,
    max_iter: int = 300,
    start: Pool | None = None,
    oracle: Oracle | None = None,
) -> RegularizedRun:
    """Train a network to the global minimum over every width, up to a relative gap.

    Parameters
    ----------
    problem : RegularizedProblem
        Rows, labels, loss, penalty, and the class of networks.
    gap : float
        The share of the objective at which training ends, in floats; `prove` proves it.
    max_iter : int
        Rounds of column generation at most.
    start : Pool | None
        Neurons to start from, such as those of a neighboring decay.
    oracle : Oracle | None
        If the columns are sorted already.

    Examples
    --------
    >>> problem = RegularizedProblem([[-1.0], [1.0]], [-1.0, 1.0], Penalty(0.5))
    >>> run = train_regularized(problem)
    >>> round(run.training.objective, 6)  # 2t - t^2 at t = b/sqrt 2
    0.582107
    """
    used = oracle_for(problem, gap) if oracle is None else oracle
    if start is None and isinstance(used, PairOracle):
        start = _coarse_pool(problem, max_iter)
    if isinstance(used, CurveOracle):
        found = train_curves(problem, used, gap=gap, max_iter=max_iter, start=start)
        return RegularizedRun(problem, found)
    train = train_shared if problem.outputs > 1 else train_columns
    return RegularizedRun(problem, train(problem, used, gap=gap, max_iter=max_iter, start=start))


def largest_decay(problem: RegularizedProblem, oracle: Oracle | None = None) -> float:
    """The least weight decay, in floats, from which on the best network has no neurons; that of
    `problem` does not matter.
    """
    used = oracle_for(problem) if oracle is None else oracle
    without = train_regularized(
        replace(problem, penalty=replace(problem.penalty, weight_decay=1e300)),
        gap=1e-9,
        oracle=used,
    )
    smooth, constant = problem.loss.smoothed(1e-6), without.training.pool.intercept
    u = _slopes(problem, smooth, constant)
    if u is None and problem.outputs == 1:
        # at a kink, as that of the hinge, the slopes of one class alone: aim between
        u = _slopes(problem, smooth, _balanced(problem, smooth, constant))
    if u is None:
        raise DataError("the labels have no best constant; give at least two different ones")
    return float(used.search(u, np.inf)[0].max())


def _slopes(problem: RegularizedProblem, loss: Loss, constant: float | Array) -> Array | None:
    shape = (len(problem.y), problem.outputs) if problem.outputs > 1 else problem.y.shape
    values = loss.derivative(np.broadcast_to(constant, shape), problem.y)
    return centered(problem, (problem.weights * values.T).T)


def _balanced(problem: RegularizedProblem, loss: Loss, near: float) -> float:
    """The constant near this one at which the slopes of a smooth loss cancel, by bisection."""
    low, high = near - 1.0, near + 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        slope = loss.derivative(np.full_like(problem.y, middle), problem.y)
        low, high = (middle, high) if float(problem.weights @ slope) < 0 else (low, middle)
    return 0.5 * (low + high)


def decay_path(
    problem: RegularizedProblem,
    decays: Sequence[float],
    *,
    gap: float = 1e-4,
    oracle: Oracle | None = None,
) -> Iterator[RegularizedRun]:
    """The networks at decreasing weight decays, each started from the one before."""
    used = oracle_for(problem, gap) if oracle is None else oracle
    start: Pool | None = None
    for decay in decays:
        penalty: Penalty = replace(problem.penalty, weight_decay=float(decay))
        run = train_regularized(
            replace(problem, penalty=penalty), gap=gap, start=start, oracle=used
        )
        start = run.training.pool
        yield run


def rough_path(
    problem: RegularizedProblem, decays: Sequence[float], *, gap: float = 1e-4
) -> Iterator[RegularizedRun]:
    """The same for the choice of a decay, where nothing is proved: pairs of columns are searched by
    ascents alone, to a gap of 1e-3 at best, and many rows are binned.
    """
    if max(map(len, problem.group_list())) == 1:
        yield from decay_path(problem, decays, gap=gap)
        return
    rough, gap = _coarse(problem), max(gap, _ROUGH_GAP)
    yield from decay_path(rough, decays, gap=gap, oracle=_quick(rough, gap))


def _coarse(problem: RegularizedProblem) -> RegularizedProblem:
    """The problem with binned columns, if that makes the pairs fewer."""
    if len(problem.y) <= 2 * _ROUGH_BINS**2:
        return problem
    return replace(problem, X=binned(problem.X, _ROUGH_BINS, problem.sample_weight))


def _coarse_pool(problem: RegularizedProblem, max_iter: int) -> Pool | None:
    """The neurons for binned columns, from which training on many rows starts."""
    rough = _coarse(problem)
    if rough is problem:
        return None
    used = _quick(rough, _ROUGH_GAP)
    return train_columns(rough, used, gap=_ROUGH_GAP, max_iter=max_iter).pool


def _quick(problem: RegularizedProblem, gap: float) -> Oracle:
    """The oracle without the search that takes longer, where it has one."""
    used = oracle_for(problem, gap)
    return QuickPairs(used) if isinstance(used, PairOracle) else used
