r"""Fully connected ReLU networks with weight decay from a problem to a run: the network, the best
floor, and how far one is from the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.regularized.design import Design
from globalmin.regularized.directions import estimate_height
from globalmin.regularized.dual import saturated
from globalmin.regularized.full_columns import refined
from globalmin.regularized.full_dual import MAX_CONES, FullBound, best_floor
from globalmin.regularized.full_training import ROUGH, train_full, without_neurons
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RegularizedProblem, objective, require_relu


@dataclass(frozen=True, eq=False)
class FullRun:
    """What training found; `prove(run.network, run.problem, run=run)` proves the gap.

    Attributes
    ----------
    network : RegularizedNetwork
        The network, of the width that training needed.
    problem : RegularizedProblem
        What was minimized.
    bound : FullBound | None
        The highest floor and how it is proved; None where no constraint applies.
    """

    network: RegularizedNetwork
    problem: RegularizedProblem
    bound: FullBound | None

    @property
    def objective(self) -> float:
        """The value P of the network, in floats."""
        return objective(self.network, self.problem)

    @property
    def gap(self) -> float:
        """The distance to the floor, in floats; infinity without one."""
        return math.inf if self.bound is None else self.objective - self.bound.floor

    def share_of(self, gap: float) -> float:
        """A gap as a share of the objective above what no model undercuts; that is 0 for all losses
        but Poisson's.
        """
        scale = self.objective - saturated(self.problem)
        return gap / scale if scale > 0 else math.inf

    @property
    def u(self) -> Array | None:
        """The dual vector of the floor."""
        return None if self.bound is None else self.bound.u


def train_relu(
    problem: RegularizedProblem,
    *,
    gap: float = 1e-6,
    starts: int = 2,
    start: RegularizedNetwork | None = None,
    max_seconds: float = 30.0,
    max_cones: int = MAX_CONES,
    seed: int = 0,
) -> FullRun:
    r"""Train a network whose neurons see all columns, and find the best floor under its objective.

    Training is by descent from several starts and may end in a local minimum. What is known is the
    gap: no network of any width is better by more.

    Parameters
    ----------
    problem : RegularizedProblem
        Rows, labels, loss and penalty, with groups="all".
    gap : float
        Share of the objective; a floor this near ends the search for a better one.
    starts : int
        Of training: one without neurons, the others with random ones.
    start : RegularizedNetwork | None
        A network to start from, besides.
    max_seconds : float
        Of training and, again, of the search for a floor; what has begun is ended.
    max_cones : int
        Of the search over cones, up to six dimensions with the bias.
    seed : int
        Of everything random.

    Examples
    --------
    >>> from globalmin.regularized.objective import Penalty
    >>> problem = RegularizedProblem([[-1.0], [1.0]], [-1.0, 1.0], Penalty(0.5), groups="all")
    >>> run = train_relu(problem)
    >>> round(run.objective, 6)  # 2t - t^2 at t = b/sqrt 2
    0.582107
    >>> bool(run.gap < 1e-5)
    True
    """
    require_relu(problem)
    if problem.groups != "all":
        raise DataError(f"groups={problem.groups!r}: neurons that see all columns need 'all'")
    design = Design.of(problem)
    network = trained_to_the_end(
        problem, starts=starts, start=start, max_seconds=max_seconds, max_cones=max_cones, seed=seed
    )
    value = objective(network, problem)
    networks = [network] if start is None else [network, start]
    bound = best_floor(
        design,
        networks,
        value,
        gap=gap,
        max_cones=max_cones,
        max_seconds=max_seconds,
        seed=seed,
    )
    return FullRun(network, problem, bound)


def trained_to_the_end(
    problem: RegularizedProblem,
    *,
    starts: int,
    start: RegularizedNetwork | None = None,
    max_seconds: float,
    max_cones: int,
    seed: int,
) -> RegularizedNetwork:
    """The network that `train_relu` finds a floor for: descent, then convex rounds."""
    network = train_full(problem, starts=starts, seed=seed, start=start, max_seconds=max_seconds)
    return refined(
        Design.of(problem), network, max_seconds=max_seconds, max_cones=max_cones, seed=seed
    )


def without_cones(
    run: FullRun, other: RegularizedNetwork, *, max_seconds: float = 30.0, seed: int = 0
) -> FullRun:
    """The run with the best floor by a matrix: for a file whose cones the checker left open, as it
    does where rays need too many bits (columns of very different sizes).
    """
    design = Design.of(run.problem)
    networks = [run.network, other]
    bound = best_floor(
        design, networks, run.objective, max_cones=0, max_seconds=max_seconds, seed=seed
    )
    return FullRun(run.network, run.problem, bound)


def estimate_largest_decay(problem: RegularizedProblem, *, seed: int = 0) -> float:
    """About the least weight decay from which on the best network has no neurons; that of
    `problem` does not matter.

    For neurons that see all columns this is the largest value that a local search finds, an
    estimate from below.
    """
    design = Design.of(problem)
    f = design.F @ without_neurons(design).c
    u = design.smoothed(1e-6).loss_terms(f)[1]
    found = estimate_height(design, u, np.random.default_rng(seed))
    if not found > 0:
        raise DataError("every weight decay gives a network without neurons for these labels")
    return found


def full_decay_path(
    problem: RegularizedProblem,
    decays: Sequence[float],
    *,
    max_seconds: float = 3.0,
    seed: int = 0,
) -> Iterator[RegularizedNetwork]:
    """Networks at decreasing weight decays, each started from the one before too; no floors.
    Rough ones, for held-out losses: descent ends early.
    """
    start: RegularizedNetwork | None = None
    for decay in decays:
        part = replace(problem, penalty=replace(problem.penalty, weight_decay=float(decay)))
        start = train_full(
            part,
            starts=1 if start is None else 0,
            start=start,
            seed=seed,
            max_rounds=6,
            max_seconds=max_seconds,
            polish=ROUGH,
        )
        yield start
