"""The least-squares problem of a deep network with all layers trained, and a point of it; each
quantity is computed once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.data.degeneracy import Degeneracy
from globalmin.deep import passes as deep_passes
from globalmin.deep.network import DeepNetwork
from globalmin.errors import DataError
from globalmin.optimize.follow import Recorder
from globalmin.optimize.run import Run, Trajectory

if TYPE_CHECKING:
    from globalmin.deep.passes import Forward

Spectra = Literal["sparse", "every", "none"]  # how often eigenvalues are recorded
SPECTRA: tuple[Spectra, ...] = get_args(Spectra)


@dataclass(frozen=True, eq=False)
class DeepProblem:
    """Fit y at the inputs by a network of one form.

    Attributes
    ----------
    inputs : n x pixels x channels.
    y : the best reachable labels: the user's, but equal inputs get the mean of theirs, and a zero
        input gets 0 if sigma(0) = 0.
    scale : norm of the user's labels (1 if they are all zero).
    floor : loss that no network of this kind can go below because of such inputs (a float, not a
        proof).
    """

    inputs: Array
    y: Array
    scale: float
    floor: float

    def at(self, network: DeepNetwork) -> DeepPoint:
        """The point with this network's weights."""
        return DeepPoint(self, network)

    def part(self, rows: NDArray[np.intp]) -> DeepProblem:
        """The problem of some of the samples, for a minibatch."""
        return DeepProblem(self.inputs[rows], self.y[rows], self.scale, self.floor)


def pose_deep(network: DeepNetwork, X: ArrayLike, y: ArrayLike) -> DeepProblem:
    """Check that data and network belong together and find the labels that can be reached."""
    inputs = network.geometry.arrange(X)
    labels = np.asarray(y, dtype=np.float64)
    if labels.shape != (len(inputs),) or not np.isfinite(labels).all():
        raise DataError(
            f"y has shape {labels.shape}; give {len(inputs)} finite numbers, one label per input"
        )
    reachable = labels.copy()
    facts = Degeneracy(inputs.reshape(len(inputs), -1))
    for group in facts.equal_rows:
        reachable[list(group)] = labels[list(group)].mean()
    if network.activation.vanishes_at_zero:
        reachable[list(facts.zero_rows)] = 0.0
    scale = float(np.linalg.norm(labels))
    return DeepProblem(
        inputs,
        reachable,
        scale if scale > 0 else 1.0,
        0.5 * float(np.square(labels - reachable).sum()),
    )


class DeepPoint:
    """A network with everything that follows from its weights on the data of a problem."""

    def __init__(self, problem: DeepProblem, network: DeepNetwork) -> None:
        self.problem, self.network = problem, network

    @cached_property
    def passed(self) -> Forward:
        """The forward pass."""
        return deep_passes.forward(self.network, self.problem.inputs)

    @cached_property
    def residual(self) -> Array:
        """Residual r = f(X) - y."""
        return deep_passes.outputs(self.network, self.passed) - self.problem.y

    @cached_property
    def norm(self) -> float:
        """||r||."""
        return math.sqrt(float(self.residual @ self.residual))

    @property
    def error(self) -> float:
        """What training lowers: ||r||."""
        return self.norm

    @property
    def relative_residual(self) -> float:
        """||r||/||y||."""
        return self.norm / self.problem.scale

    def in_words(self) -> str:
        """How well the network fits."""
        return f"relative residual {self.relative_residual:.2e}"

    @property
    def loss(self) -> float:
        """The floor plus (1/2)||r||^2, the loss on the user's labels."""
        return self.problem.floor + 0.5 * self.norm**2

    @cached_property
    def gradient(self) -> Array:
        """J^T r, flat; by one and the same pass whatever else is known at the point, so that a run
        does not depend on what is recorded of it.
        """
        return deep_passes.pull_back(self.network, self.passed, self.residual)

    @cached_property
    def slopes(self) -> tuple[Array, ...]:
        """Q^(1), ..., Q^(H) of the backward pass, for the Gram matrices."""
        return deep_passes.backward(self.network, self.passed)

    @cached_property
    def grams(self) -> tuple[Array, ...]:
        """G^(1), ..., G^(H+1)."""
        return deep_passes.layer_grams(self.network, self.passed, self.slopes)

    @cached_property
    def gram(self) -> Array:
        """J J^T."""
        return np.sum(self.grams, axis=0)

    def pull_back(self, u: Array) -> Array:
        """J^T u, flat."""
        return deep_passes.pull_back(self.network, self.passed, u, vars(self).get("slopes"))

    def moved(self, direction: Array, step: float) -> DeepPoint | None:
        """The point at theta + step * direction; None if that is not finite."""
        theta = step * direction
        theta += self.network.flat
        # one product for the usual case: a sum of squares is finite only if all of them are
        if not math.isfinite(float(theta @ theta)) and not np.isfinite(theta).all():
            return None
        return DeepPoint(self.problem, self.network.at(theta))


# of the work of the steps so far, what the eigenvalues recorded on the way may cost; the start and
# the last point always have theirs
SHARE = 0.03
CHEAP = 0.1  # of a step: eigenvalues that cost no more are computed at every recorded step


@dataclass(frozen=True)
class DeepTrajectory(Trajectory):
    """The recorded steps, one entry per recorded step in every array.

    Attributes
    ----------
    iteration : number of the step; 0 is the start.
    loss : (1/2) sum of squares.
    gradient_norm : norm of the gradient in all parameters.
    lambda_last : lambda_min(G^(H)), of the last hidden weight matrix's Gram; NaN where it was not
        computed: every recorded step has it with `spectra="every"`, none with "none", otherwise
        as many as cost some 3 % of the training, and the first and the last.
    lambda_total : lambda_min of the sum of all layer Grams; NaN where it was not computed.
    movement : ||W^(h) - W^(h)(0)||_F for h = 1..H and ||a - a(0)||, one column each.
    step_size : eta of gradient descent, NaN for other methods.
    width : m, to divide the movement by sqrt(m) as the theorems do.
    """

    gradient_norm: Array
    lambda_last: Array
    lambda_total: Array
    movement: Array
    step_size: float = math.nan
    width: int = 1

    def columns(self) -> dict[str, NDArray]:
        """The arrays by name, the movement of every block in a column of its own."""
        names = ("iteration", "loss", "gradient_norm", "lambda_last", "lambda_total")
        moves = {f"movement_{h}": column for h, column in enumerate(self.movement.T, start=1)}
        return {name: getattr(self, name) for name in names} | moves

    @property
    def relative_movement(self) -> Array:
        """The movement divided by sqrt(m): DU (3.6) asks it to stay below a constant R."""
        return self.movement / np.sqrt(self.width)


@dataclass(frozen=True, eq=False, kw_only=True)
class DeepRun(Run[DeepNetwork]):
    """The result of training a deep network.

    Attributes
    ----------
    network : the best network seen.
    n_iter : iterations (for Levenberg-Marquardt: linear systems solved, rejected steps included).
    relative_residual : at `network`; ||f - y*||/||y|| with the best reachable labels y*.
    floor : loss that no network can go below on these data (equal inputs with different labels); a
        float, not a proof.
    start : the network the run began with.
    """

    trajectory: DeepTrajectory
    relative_residual: float
    floor: float = 0.0
    start: DeepNetwork | None = field(default=None, repr=False)


class DeepRecorder(Recorder[DeepPoint]):
    """Every step at first, then thinned geometrically; eigenvalues as often as `spectra` says, and
    at the start and the end.
    """

    def __init__(self, start: DeepPoint, spectra: Spectra = "sparse") -> None:
        super().__init__(DeepTrajectory, self._row, gap=lambda iteration: max(1, iteration // 100))
        self._price, self._paid = relative_price(start.problem, start.network), 0.0
        self._is_every = spectra == "every" or (spectra == "sparse" and self._price <= CHEAP)
        self._is_asked = spectra != "none"
        self._first = start.network.flat
        self._last: tuple[DeepPoint, int] | None = None

    def _row(self, point: DeepPoint, iteration: int) -> tuple[float | Array, ...]:
        last, total = np.nan, np.nan
        if self._is_every or (self._is_asked and self._paid <= SHARE * iteration):
            self._paid += self._price
            last, total = _smallest(point.grams[-2]), _smallest(point.gram)
        self._last = (point, iteration)
        blocks = point.network.split(point.network.flat - self._first)
        moves = np.array([math.sqrt(float(block.ravel() @ block.ravel())) for block in blocks])
        return math.sqrt(float(point.gradient @ point.gradient)), last, total, moves

    def close(self) -> Trajectory:
        """The trajectory, with the eigenvalues of its last point."""
        if self._is_asked and self._last is not None and self.is_recorded(self._last[1]):
            point, row = self._last[0], list(self.rows[-1])
            row[3:5] = _smallest(point.grams[-2]), _smallest(point.gram)
            self.rows[-1] = tuple(row)
        return super().close()


def relative_price(problem: DeepProblem, network: DeepNetwork) -> float:
    """Time of two spectra over that of a gradient step, from operations counted and eigenvalues
    timed (18 n^3 + 1500 n^2 multiplications for two): when to compute them must not depend on the
    clock.
    """
    n, pixels, _ = problem.inputs.shape
    rows = n * pixels
    step = 6 * rows * sum(W.size for W in network.weights)
    grams = 2 * rows**2 * sum(W.shape[0] + W.shape[1] for W in network.weights)
    return (18 * n**3 + 1500 * n**2 + grams) / step


def _smallest(G: Array) -> float:
    return float(np.linalg.eigvalsh(G)[0]) if np.isfinite(G).all() else np.nan
