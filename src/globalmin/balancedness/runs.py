"""What gradient flow conserves, measured along runs: the flow itself, gradient descent and SGD on
our own networks.

A user's torch module or JAX pytree is watched by `watch_torch` and `watch_pytree`; see
`balancedness_watch`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike, NDArray
from globalmin.balancedness.conserved import (
    Boundary,
    DriftAudit,
    boundaries_of,
    conserved,
    conserved_counts,
    drift_audit,
    step_budget,
    step_change,
)
from globalmin.balancedness.network import HomogeneousNetwork, smooth_slope
from globalmin.balancedness.watch import LayeredNetwork, layered_boundaries
from globalmin.errors import DataError
from globalmin.optimize.follow import (
    End,
    Iterate,
    Options,
    Recorder,
    Watch,
    Watching,
    evenly,
    follow,
)
from globalmin.optimize.gradient_flow import integrate_flow
from globalmin.optimize.run import Run, Status, Trajectory
from globalmin.references import states
from globalmin.shallow.methods.gradient_descent import check_step

if TYPE_CHECKING:
    Rows = NDArray[np.intp]


@dataclass(frozen=True)
class BalanceProblem:
    """A loss on a network's parameters, with what the network conserves.

    Attributes
    ----------
    boundaries : between which layers and blocks something is conserved.
    split : the parameters of each layer out of the vector of all.
    evaluate : (theta, rows) -> (loss, gradient) over these rows of the data, or all for None.
    n_samples : rows of the data.
    """

    boundaries: tuple[Boundary, ...]
    split: Callable[[Array], Sequence[Array]]
    evaluate: Callable[[Array, Rows | None], tuple[float, Array]] = field(repr=False)
    n_samples: int

    def conserved(self, theta: Array) -> Array:
        """Everything conserved, at these parameters."""
        return conserved(self.boundaries, self.split(theta))


@states("DU-M4")
def pose_balance(
    network: HomogeneousNetwork | LayeredNetwork,
    X: ArrayLike,
    Y: ArrayLike,
    *,
    loss: Any = "squared",
    kink_width: float = 0.0,
) -> BalanceProblem:
    """The loss of a network on data: (1/m) sum of l(f(x_i), y_i) (DU (4.4)).

    Parameters
    ----------
    network : a HomogeneousNetwork, or a fully connected DeepNetwork with a homogeneous activation.
    loss : as in `HomogeneousNetwork.loss_and_gradient`; a DeepNetwork has the squared loss.
    kink_width : 0 for the network as it is; a small number (1e-3) for gradient flow that slides
        along kinks, see `balancedness.kinks`. What is conserved is the same.
    """
    inputs, targets = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    if (
        len(inputs) != len(targets)
        or not np.isfinite(inputs).all()
        or not np.isfinite(targets).all()
    ):
        raise DataError(
            f"X {inputs.shape} and Y {targets.shape} must be finite, with one row of Y for each "
            "row of X"
        )
    if isinstance(network, LayeredNetwork):
        smoothed = network.with_activation(smooth_slope(network.activation, kink_width))
        return _pose_layered(smoothed, inputs, targets, loss)
    network = replace(
        network,
        activations=tuple(
            smooth_slope(activation, kink_width) for activation in network.activations
        ),
    )

    def evaluate(theta: Array, rows: Rows | None) -> tuple[float, Array]:
        x, y = (inputs, targets) if rows is None else (inputs[rows], targets[rows])
        return network.loss_and_gradient(theta, x, y, loss)

    return BalanceProblem(boundaries_of(network), network.split, evaluate, len(inputs))


def _pose_layered(network: LayeredNetwork, X: Array, y: Array, loss: Any) -> BalanceProblem:
    if loss != "squared":
        raise DataError(
            f"loss={loss!r}: a DeepNetwork is trained on the squared loss; build a "
            "HomogeneousNetwork for another"
        )
    labels = y.reshape(len(X))

    def evaluate(theta: Array, rows: Rows | None) -> tuple[float, Array]:
        at, chosen = network.with_parameters(theta), slice(None) if rows is None else rows
        return at.loss_and_gradient(X[chosen], labels[chosen])

    return BalanceProblem(layered_boundaries(network), network.split, evaluate, len(X))


@dataclass(frozen=True, eq=False, kw_only=True)
class BalanceRun(Run[Array]):
    """The conserved quantities along a run, one row per recorded step.

    Attributes
    ----------
    network : the parameters at the end; also called `theta`.
    losses : over all data (SGD: over the batch of that step).
    boundaries : the meaning of the columns: `conserved_counts` of them belong to each boundary.
    time : t of the flow; the number of steps times the step size for descent.
    values : `conserved` at each recorded step.
    predicted : for descent the sums of the exact changes eta^2 D(g); for the flow zero.
    budget : for descent the sums of eta^2 max(||G||^2, p ||G'||^2), one column per boundary; for
        the flow zero.
    slope : for the flow the integral of D(g) from 0 to each time: what the drift of descent,
        divided by its step, tends to.
    norms : ||theta^(h)||^2 of every layer.
    step_size : 0 for the flow.
    """

    boundaries: tuple[Boundary, ...]
    time: Array
    values: Array
    predicted: Array
    budget: Array
    slope: Array
    norms: Array
    step_size: float

    @property
    def theta(self) -> Array:
        """The parameters at the end."""
        return self.network

    @property
    def drift(self) -> Array:
        """D(t) - D(0), one row per recorded step."""
        return self.values - self.values[0]

    @cached_property
    def largest_drift(self) -> float:
        """Largest |D(t) - D(0)| over all times and quantities."""
        return float(np.abs(self.drift).max(initial=0.0))

    def at(self, boundary: str) -> Array:
        """The values that belong to the boundary of this name."""
        names = [b.name for b in self.boundaries]
        if boundary not in names:
            raise DataError(f"boundary={boundary!r} is not one of {', '.join(map(repr, names))}")
        ends = np.cumsum(conserved_counts(self.boundaries))
        return np.split(self.values, ends[:-1], axis=1)[names.index(boundary)]

    def audit(self) -> DriftAudit:
        """The drift against the exact identity and the budget."""
        return drift_audit(
            self.values, self.predicted, self.budget, conserved_counts(self.boundaries)
        )


@states("DU-T4.1", "DU-T4.2", "DU-T4.3")
def follow_flow(
    problem: BalanceProblem, theta: ArrayLike, *, time: float, **options: Any
) -> BalanceRun:
    """Gradient flow until `time`; `options` are those of `gradient_flow.integrate_flow` (solver,
    tolerances, limits).
    """
    start = np.array(theta, dtype=np.float64)
    n_quantities = problem.conserved(start).size

    def measure(vector: Array) -> Array:
        return np.concatenate([problem.conserved(vector), _norms(problem, vector)])

    run = integrate_flow(
        lambda vector: problem.evaluate(vector, None),
        start,
        time=time,
        measure=measure,
        integrand=lambda _, gradient: problem.conserved(gradient),
        **options,
    )
    path = run.trajectory
    values, norms = path.measured[:, :n_quantities], path.measured[:, n_quantities:]
    shared = {name.name: getattr(run, name.name) for name in fields(Run)}
    return BalanceRun(
        **shared,
        boundaries=problem.boundaries,
        time=path.time,
        values=values,
        predicted=np.zeros_like(values),
        budget=np.zeros((len(values), len(problem.boundaries))),
        slope=path.integral,
        norms=norms,
        step_size=0.0,
    )


@states("DU-T4.1", "DU-T4.2", "DU-T4.3")
@renamed(n_steps="max_iter")
def follow_descent(
    problem: BalanceProblem,
    theta: ArrayLike,
    *,
    step_size: float,
    max_iter: int,
    batch_size: int | None = None,
    decay: float = 0.0,
    seed: int | np.random.Generator | None = 0,
    max_records: int = 1_000,
    **options: Unpack[Watching],
) -> BalanceRun:
    """Gradient descent with a constant step, or SGD for a `batch_size`: batches without
    replacement, reshuffled every epoch.

    Parameters
    ----------
    decay : lambda of theta+ = (1 - eta lambda) theta - eta g; the conserved quantities then shrink
        by (1 - eta lambda)^2 a step, which `predicted` contains and `budget` does not.
    options : verbose, throw, monitor as in `train`.
    """
    eta = check_step(step_size)
    batches = _batches(problem.n_samples, batch_size, np.random.default_rng(seed))
    start = _first_state(problem, np.array(theta, dtype=np.float64), next(batches))
    due = evenly(max_iter + 1, max_records)
    watch = Watch(
        start,
        lambda state: state.theta,
        Recorder(_DescentTrajectory, _columns(problem, eta), gap=lambda step: _gap(due, step)),
        Options(**options),
        method="gradient_descent" if batch_size is None else "sgd",
        default_max_iter=max_iter + 1,
        reached=lambda state, _: None,
        keeps_last=True,
    )
    run = follow(watch, _descent(problem, start, eta, decay, islice(batches, max_iter)))
    path = run.trajectory
    if not len(path):
        raise DataError(
            "the loss is not finite at the start; give other parameters or scale the data"
        )
    columns = path.columns()
    return BalanceRun.of(
        run,
        boundaries=problem.boundaries,
        slope=np.zeros_like(columns["values"]),
        step_size=eta,
        **{name: columns[name] for name in ("time", "values", "predicted", "budget", "norms")},
    )


@dataclass(frozen=True)
class _DescentTrajectory(Trajectory):
    time: Array
    values: Array
    predicted: Array
    budget: Array
    norms: Array


@dataclass(frozen=True)
class _State:
    """Parameters, the loss and gradient over the batch of the moment, and the sums so far."""

    theta: Array
    loss: float
    gradient: Array
    predicted: Array
    budget: Array

    @property
    def error(self) -> float:
        return self.loss if np.isfinite(self.gradient).all() else np.nan

    def in_words(self) -> str:
        return f"loss {self.loss:.6g}"


def _first_state(problem: BalanceProblem, theta: Array, rows: Rows | None) -> _State:
    nothing = np.zeros_like(problem.conserved(theta)), np.zeros(len(problem.boundaries))
    with np.errstate(over="ignore", invalid="ignore"):
        return _State(theta, *problem.evaluate(theta, rows), *nothing)


def _descent(
    problem: BalanceProblem, state: _State, eta: float, decay: float, batches: Iterable[Rows | None]
) -> Generator[Iterate[_State], None, End[_State]]:
    first, steps = problem.conserved(state.theta), 0
    for rows in batches:
        pieces = problem.split(state.gradient)
        before = first + state.predicted
        change = step_change(problem.boundaries, pieces, eta, decay=decay, before=before)
        theta = (1.0 - eta * decay) * state.theta - eta * state.gradient
        spent = state.budget + step_budget(problem.boundaries, pieces, eta)
        state = _State(theta, *problem.evaluate(theta, rows), state.predicted + change, spent)
        steps += 1
        yield Iterate(state)
    return End(Status.CONVERGED, note=f"{steps:,} steps of {eta:g}")


def _columns(problem: BalanceProblem, eta: float) -> Callable[[_State, int], tuple[Any, ...]]:
    def row(state: _State, step: int) -> tuple[Any, ...]:
        values, norms = problem.conserved(state.theta), _norms(problem, state.theta)
        return step * eta, values, state.predicted, state.budget, norms

    return row


def _gap(due: Sequence[int], step: int) -> int:
    """Steps until the next one that is to be recorded."""
    place = bisect_right(due, step)
    return due[place] - step if place < len(due) else 1


def _norms(problem: BalanceProblem, theta: Array) -> Array:
    return np.array([float(piece.ravel() @ piece.ravel()) for piece in problem.split(theta)])


def _batches(n: int, size: int | None, rng: np.random.Generator) -> Iterator[Rows | None]:
    """All rows for ever, or shuffled batches epoch after epoch."""
    if size is not None and not 1 <= size <= n:
        raise DataError(f"batch_size={size!r} must be between 1 and the {n} rows of the data")
    while size is None:
        yield None
    while True:
        order = rng.permutation(n)
        yield from (order[i : i + size] for i in range(0, n, size))
