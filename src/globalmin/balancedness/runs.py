"""What gradient flow conserves, measured along runs: the flow itself, gradient descent and SGD on
our own networks.

A user's torch module or JAX pytree is watched by `watch_torch` and `watch_pytree`; see
`balancedness_watch`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.balancedness.conserved import Boundary, boundaries_of, conserved, conserved_counts
from globalmin.balancedness.drift import DriftAudit, drift_audit, step_budget, step_change
from globalmin.balancedness.kinks import smooth_slope
from globalmin.balancedness.network import HomogeneousNetwork
from globalmin.balancedness.watch import BalanceWatch as BalanceWatch
from globalmin.balancedness.watch import LayeredNetwork, layered_boundaries
from globalmin.balancedness.watch import balancedness_of as balancedness_of
from globalmin.balancedness.watch import watch_network as watch_network
from globalmin.balancedness.watch import watch_pytree as watch_pytree
from globalmin.balancedness.watch import watch_torch as watch_torch
from globalmin.errors import DataError
from globalmin.optimize.gradient_flow import integrate_flow
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


@dataclass(frozen=True)
class BalanceRun:
    """The conserved quantities along a run, one row per recorded step.

    Attributes
    ----------
    boundaries : the meaning of the columns: `conserved_counts` of them belong to each boundary.
    time : t of the flow; the number of steps times the step size for descent.
    loss : over all data (SGD: over the batch of that step).
    values : `conserved` at each recorded step.
    predicted : for descent the sums of the exact changes eta^2 D(g); for the flow zero.
    budget : for descent the sums of eta^2 max(||G||^2, p ||G'||^2), one column per boundary; for
        the flow zero.
    slope : for the flow the integral of D(g) from 0 to each time: what the drift of descent,
        divided by its step, tends to.
    norms : ||theta^(h)||^2 of every layer.
    theta : parameters at the end.
    step_size : 0 for the flow.
    message : how the run ended.
    """

    boundaries: tuple[Boundary, ...]
    time: Array
    loss: Array
    values: Array
    predicted: Array
    budget: Array
    slope: Array
    norms: Array
    theta: Array
    step_size: float
    message: str

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
    values, norms = run.measured[:, :n_quantities], run.measured[:, n_quantities:]
    return BalanceRun(
        boundaries=problem.boundaries,
        time=run.time,
        loss=run.losses,
        values=values,
        predicted=np.zeros_like(values),
        budget=np.zeros((len(values), len(problem.boundaries))),
        slope=run.integral,
        norms=norms,
        theta=run.theta,
        step_size=0.0,
        message=run.message,
    )


@states("DU-T4.1", "DU-T4.2", "DU-T4.3")
def follow_descent(
    problem: BalanceProblem,
    theta: ArrayLike,
    *,
    step_size: float,
    n_steps: int,
    batch_size: int | None = None,
    decay: float = 0.0,
    seed: int | np.random.Generator | None = 0,
    max_records: int = 1_000,
) -> BalanceRun:
    """Gradient descent with a constant step, or SGD for a `batch_size`: batches without
    replacement, reshuffled every epoch.

    Parameters
    ----------
    decay : lambda of theta+ = (1 - eta lambda) theta - eta g; the conserved quantities then shrink
        by (1 - eta lambda)^2 a step, which `predicted` contains and `budget` does not.
    """
    eta, vector = check_step(step_size), np.array(theta, dtype=np.float64)
    due = set(
        np.unique(
            np.linspace(0, n_steps, min(n_steps + 1, max(2, max_records))).round().astype(int)
        ).tolist()
    )
    batches = _batches(problem.n_samples, batch_size, np.random.default_rng(seed))
    before = problem.conserved(vector)
    predicted, budget = np.zeros_like(before), np.zeros(len(problem.boundaries))
    records: list[tuple[Any, ...]] = []
    step = 0
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(n_steps + 1):
            loss, gradient = problem.evaluate(vector, next(batches))
            if not np.isfinite(loss) or not np.isfinite(gradient).all():
                break
            if step in due:
                value = problem.conserved(vector)
                records.append(
                    (
                        step * eta,
                        loss,
                        value,
                        predicted.copy(),
                        budget.copy(),
                        _norms(problem, vector),
                    )
                )
            if step < n_steps:
                pieces = problem.split(gradient)
                change = step_change(
                    problem.boundaries, pieces, eta, decay=decay, before=before + predicted
                )
                predicted = predicted + change
                budget = budget + step_budget(problem.boundaries, pieces, eta)
                vector = (1.0 - eta * decay) * vector - eta * gradient
    if not records:
        raise DataError(
            "the loss is not finite at the start; give other parameters or scale the data"
        )
    return _descent_run(
        problem,
        vector,
        eta,
        records,
        f"{step:,} steps of {eta:g}" + ("" if step == n_steps else ": diverged"),
    )


def _descent_run(
    problem: BalanceProblem, theta: Array, eta: float, records: list[tuple[Any, ...]], message: str
) -> BalanceRun:
    time, loss, values, predicted, budget, norms = (
        np.array(column) for column in zip(*records, strict=True)
    )
    return BalanceRun(
        boundaries=problem.boundaries,
        time=time,
        loss=loss,
        values=values,
        predicted=predicted,
        budget=budget,
        slope=np.zeros_like(values),
        norms=norms,
        theta=theta,
        step_size=eta,
        message=message,
    )


def _norms(problem: BalanceProblem, theta: Array) -> Array:
    return np.array([float(piece.ravel() @ piece.ravel()) for piece in problem.split(theta)])


def _batches(n: int, size: int | None, rng: np.random.Generator) -> Any:
    """All rows for ever, or shuffled batches epoch after epoch."""
    if size is not None and not 1 <= size <= n:
        raise DataError(f"batch_size={size!r} must be between 1 and the {n} rows of the data")
    while size is None:
        yield None
    while True:
        order = rng.permutation(n)
        yield from (order[i : i + size] for i in range(0, n, size))
