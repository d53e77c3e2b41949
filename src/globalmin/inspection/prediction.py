r"""Predictions before training, and a real run of gradient descent set against them. Estimates in
floats.

The run here is plain gradient descent on the first layer, step by step, because the theorems speak
of nothing else; training methods live in another room.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from globalmin._renamed import renamed
from globalmin._types import Array, ArrayLike, NDArray
from globalmin.data.validation import gram_bytes, matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.kernels.linearized import LinearizedRun, linearize_run
from globalmin.kernels.movement import (
    changed_signs,
    flips_allowed,
    kink_descent,
    movement_from_rate,
    neuron_movement,
)
from globalmin.kernels.rates import Guarantee
from globalmin.linalg.spectrum import ALL_LIMIT
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import (
    jacobian_gram,
    jacobian_transpose_times,
    outputs,
    preactivations,
    residual,
)
from globalmin.shallow.provability import Linearization, descent_quantities, linearize

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork

    Counts = NDArray[np.int64]


class HasTrajectory(Protocol):
    """What is needed of a recorded run: step numbers, losses, distance from the start, signs
    changed.
    """

    iteration: Counts
    loss: Array
    distance: Array
    pattern_changes: Counts


@dataclass(frozen=True, eq=False)
class Prediction:
    r"""The linearized run from a start: $\|u(t)-y\|$ at `steps`, and the factor per step in the
    long run.
    """

    steps: Counts
    residual_norms: Array
    step_size: float
    rate: float


@dataclass(frozen=True, eq=False)
class RunComparison:
    r"""A real run of gradient descent, what was predicted of it and what was proved; one entry per
    step in every array.

    Attributes
    ----------
    measured, predicted : $\|u(t)-y\|$ of the run and of the linearization at the start.
    deviation : $\|u(t)-u_{lin}(t)\|$.
    proved : envelope of $\|u(t)-y\|$ by OS-C1 (smooth) or OS-C3 (ReLU) at the start; None where
        neither applies at this step size.
    neuron_movement, distance, path : largest movement of one weight vector, Frobenius distance from
        the start, path length.
    signs_changed, signs_allowed : largest number over the samples, and the largest bound OS-LC.2
        gives from the measured distance.
    sigma_min : smallest singular value of J at the first and the last step.
    guarantee : the theorem's step, rate, path, or None.
    movement_bound : bound of `neuron_movement` from the proved rate, or infinite.
    """

    step_size: float
    measured: Array
    predicted: Array
    deviation: Array
    proved: Array | None
    neuron_movement: Array
    distance: Array
    path: Array
    signs_changed: Counts
    signs_allowed: Counts
    sigma_min: tuple[float, float]
    rate_predicted: float
    guarantee: Guarantee | None
    movement_bound: float
    network: ShallowNetwork = field(repr=False)

    @property
    def rate_measured(self) -> float:
        """Geometric mean factor per step over the last half of the steps above rounding."""
        seen = self.measured[self.measured > 1e-12 * self.measured[0]]
        half = len(seen) // 2
        return (
            float((seen[-1] / seen[half]) ** (1.0 / max(1, len(seen) - 1 - half)))
            if len(seen) > 1
            else math.nan
        )

    def summary(self) -> dict[str, float]:
        """The figures of the comparison, last step where there are many."""
        return {
            "step_size": self.step_size,
            "rate_measured": self.rate_measured,
            "rate_predicted": self.rate_predicted,
            "rate_proved": self.guarantee.rate if self.guarantee else math.nan,
            "largest_deviation": float(self.deviation.max() / self.measured[0]),
            "path": float(self.path[-1]),
            "path_proved": self.guarantee.path if self.guarantee else math.inf,
            "neuron_movement": float(self.neuron_movement[-1]),
            "neuron_movement_bound": self.movement_bound,
            "signs_changed": float(self.signs_changed[-1]),
            "signs_allowed": float(self.signs_allowed[-1]),
        }


def predict(K: Array, r: Array, step_size: float, *, n_steps: int = 1000) -> Prediction:
    r"""$\|(I-\eta K)^tr\|$ at about fifty step numbers up to n_steps, from $K = JJ^T$ and the first
    residual.
    """
    steps = np.unique(np.round(np.geomspace(1, n_steps + 1, 60)).astype(np.int64)) - 1
    if K.shape[0] <= ALL_LIMIT:
        run = linearize_run(K, r, np.zeros_like(r))
        return Prediction(
            steps, run.residual_norms(steps, step_size), step_size, run.rate(step_size)
        )
    steps = steps[steps <= 200]
    norms, u = [], r.copy()
    for _ in range(int(steps[-1]) + 1):
        norms.append(float(np.linalg.norm(u)))
        u = u - step_size * (K @ u)
    return Prediction(
        steps,
        np.array(norms)[steps],
        step_size,
        norms[-1] / norms[-2] if len(norms) > 1 and norms[-2] > 0 else math.nan,
    )


def predict_losses(
    network: ShallowNetwork, data: Dataset, step_size: float, iterations: ArrayLike
) -> Array:
    r"""Linearized losses $\frac12\|u(t)-y\|^2$ at the given step numbers of gradient descent from
    `network`.
    """
    return 0.5 * np.square(_linearized(network, data).residual_norms(iterations, step_size))


def compare_trajectory(
    trajectory: HasTrajectory, network: ShallowNetwork, data: Dataset, step_size: float
) -> dict[str, NDArray]:
    r"""Columns for a recorded run of `gm.train(network, data, method="gradient_descent",
    step_size=...)`.

    Parameters
    ----------
    trajectory : `run.trajectory`.
    network : the start of the run.

    Returns
    -------
    iteration, loss, predicted_loss; pattern_changes and pattern_bound, the sum over the samples of
    what OS-LC.2 allows at the recorded distance.
    """
    X = np.asarray(data.X, dtype=np.float64)
    Z, norms = preactivations(network, X), np.linalg.norm(X, axis=1)
    bound = np.array(
        [flips_allowed(Z, norms, float(distance)).sum() for distance in trajectory.distance]
    )
    return {
        "iteration": trajectory.iteration,
        "loss": trajectory.loss,
        "predicted_loss": predict_losses(network, data, step_size, trajectory.iteration),
        "pattern_changes": trajectory.pattern_changes,
        "pattern_bound": bound,
    }


def _linearized(network: ShallowNetwork, data: Dataset) -> LinearizedRun:
    n = data.n_samples
    require_memory(gram_bytes(n, copies=3), f"the linearized prediction for n={n:,} samples")
    return linearize_run(
        jacobian_gram(network, data.X), outputs(network, data.X), np.asarray(data.y)
    )


@renamed(n_steps="max_iter")
def predict_run(
    network: ShallowNetwork, data: Dataset, step_size: float | None = None, max_iter: int = 200
) -> RunComparison:
    """Run gradient descent on W for max_iter and set it against prediction and theorems.

    Parameters
    ----------
    network, data : the start and the data.
    step_size : on the loss (1/2) sum of squares; by default the largest step that OS-C1 or OS-C3
        allows at the start, else 1/(2 ||J||^2).
    max_iter : number of steps, at least 1.
    """
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    if max_iter < 1 or (step_size is not None and not 0.0 < step_size < math.inf):
        raise DataError(
            f"step_size={step_size!r}, max_iter={max_iter!r}: give a positive step (or None) and "
            "at least one step"
        )
    require_memory(
        gram_bytes(len(X), copies=4) + matrix_bytes(len(X), network.width, copies=6),
        f"a run with n={len(X):,} samples",
    )
    run = _linearized(network, data)
    guarantee = _guarantee(network, X, y)
    eta = step_size or (guarantee.step_size if guarantee else 0.5 / float(run.eigenvalues[-1]))
    if guarantee is not None:
        guarantee = _at_step(guarantee, eta)
    rows, last = _descend(network, X, y, eta, max_iter)
    t = np.arange(max_iter + 1)
    predicted = run.residual_norms(t, eta)
    deviation = np.linalg.norm(rows["outputs"] - run.outputs(t, eta), axis=1)
    slope = (
        float(np.abs(network.v).max())
        * float(network.activation.supremum(1))
        * float(np.linalg.norm(X, 2))
    )
    first = float(rows["norm"][0])
    return RunComparison(
        eta, rows["norm"], predicted, deviation,
        None if guarantee is None else np.asarray(first * guarantee.rate**t, dtype=np.float64),
        rows["neuron"], rows["distance"], rows["path"], rows["changed"].astype(np.int64),
        rows["allowed"].astype(np.int64),
        (math.sqrt(max(float(run.eigenvalues[0]), 0.0)), _smallest(last, X)), run.rate(eta),
        guarantee,
        math.inf if guarantee is None else movement_from_rate(guarantee.rate, eta, slope, first),
        last,
    )  # fmt: skip


def _descend(
    network: ShallowNetwork, X: Array, y: Array, eta: float, n_steps: int
) -> tuple[dict[str, Array], ShallowNetwork]:
    Z0, norms, path, current = preactivations(network, X), np.linalg.norm(X, axis=1), 0.0, network
    rows: dict[str, list] = {
        name: [] for name in ("outputs", "norm", "neuron", "distance", "path", "changed", "allowed")
    }
    for t in range(n_steps + 1):
        r = residual(current, X, y)
        moved = current.W - network.W
        values = (
            r + y, float(np.linalg.norm(r)), neuron_movement(current.W, network.W),
            float(np.linalg.norm(moved)), path,
            int(changed_signs(preactivations(current, X), Z0).max()),
            int(flips_allowed(Z0, norms, float(np.linalg.norm(moved, 2))).max()),
        )  # fmt: skip
        for name, value in zip(rows, values, strict=True):
            rows[name].append(value)
        if t < n_steps:
            step = eta * jacobian_transpose_times(current, X, r)
            path += float(np.linalg.norm(step))
            current = current.with_weights(W=current.W - step)
    return {name: np.array(values) for name, values in rows.items()}, current


def _guarantee(network: ShallowNetwork, X: Array, y: Array) -> Guarantee | None:
    """What OS-C1 (smooth) or OS-C3 (ReLU) promises at this start, at the largest step."""
    r = residual(network, X, y)
    point = linearize(jacobian_gram(network, X), r)
    if point is None:
        return None
    if network.activation.name == "relu":
        Z, norms = preactivations(network, X), np.linalg.norm(X, axis=1)
        found = kink_descent(
            Z,
            network.v,
            norms,
            float(np.linalg.norm(X, 2)),
            a=point.a,
            b=point.b,
            residual_norm=point.g,
        )
        return None if found is None else found.guarantee
    return _smooth_guarantee(network, X, point)


def _smooth_guarantee(network: ShallowNetwork, X: Array, point: Linearization) -> Guarantee | None:
    if not network.activation.is_smooth:
        return None
    Lip = estimate_lipschitz(network, X, 2.0 * point.g / point.a)
    found = descent_quantities(point, Lip) if math.isfinite(Lip) else None
    return None if found is None else Guarantee(found.eta_max, found.rate, found.S, found.S)


def guarantee_at(network: ShallowNetwork, data: Dataset, step_size: float) -> Guarantee | None:
    """What OS-C1 (smooth) or OS-C3 (ReLU) promises of gradient descent from this network with this
    step; None if neither speaks.
    """
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    found = _guarantee(network, X, y)
    return None if found is None else _at_step(found, step_size)


def _at_step(guarantee: Guarantee, eta: float) -> Guarantee | None:
    """The same promise at a smaller step; None at a larger one."""
    if eta > guarantee.step_size * (1.0 + 1e-12):
        return None
    rate = 1.0 - (1.0 - guarantee.rate) * eta / guarantee.step_size
    return Guarantee(eta, rate, guarantee.path, guarantee.distance)


def _smallest(network: ShallowNetwork, X: Array) -> float:
    return math.sqrt(max(float(np.linalg.eigvalsh(jacobian_gram(network, X))[0]), 0.0))
