"""What gradient descent will do to a deep network, before it is trained: the spectrum of the full
kernel and the loss curve that follows from it, and the picture with the measured curve over it.
Estimates in floats.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, ArrayLike
from globalmin.data.validation import gram_bytes, require_memory
from globalmin.deep.problem import DeepRun, pose_deep
from globalmin.deep.train import data_arrays
from globalmin.drawing import BLUE, DASHED, MUTED, ORANGE
from globalmin.errors import DataError
from globalmin.linalg.linearized_run import LinearizedRun, linearize_run
from globalmin.references import states
from globalmin.shallow.methods.gradient_descent import check_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from globalmin.deep.network import DeepNetwork

Kernel = Literal["start", "limit"]  # J J^T at the start, or what it tends to as the layers widen
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
POINTS = 200  # of a predicted curve
ROUNDING = 1e-30  # of the first loss: a curve is drawn down to here


@dataclass(frozen=True, eq=False)
class DeepPrediction:
    """The linearized run of gradient descent from a start.

    Attributes
    ----------
    eigenvalues : of the kernel, increasing.
    step_size : eta, on the loss (1/2) sum of squares.
    kernel : "start" or "limit".
    floor : loss that equal inputs with different labels leave.
    """

    eigenvalues: Array
    step_size: float
    kernel: Kernel
    floor: float
    _run: LinearizedRun = field(repr=False)

    @property
    def rate(self) -> float:
        """Factor per step of the residual in the long run."""
        return self._run.rate(self.step_size)

    def losses(self, iterations: ArrayLike) -> Array:
        """Predicted loss after these numbers of steps."""
        return self.floor + 0.5 * np.square(self._run.residual_norms(iterations, self.step_size))


@states("DU-Q2.6")
def predict_deep(
    network: DeepNetwork,
    data: Any,
    *,
    kernel: Kernel = "start",
    step_size: float | None = None,
) -> DeepPrediction:
    """How fast gradient descent on all layers will learn these data, before it runs.

    The outputs u of a network whose kernel G did not change would obey u(t+1) - y = (I - eta G)
    (u(t) - y); wide networks nearly do. An estimate: no bound, and no word on networks that are
    not wide.

    Parameters
    ----------
    network : DeepNetwork
        The start.
    data : Any
        A pair (X, y), or anything with X and y such as a Dataset.
    kernel : str
        "start": J J^T of the network as it is; "limit": `network.limit_gram(X).total`.
    step_size : float | None
        Eta; default 1/||J||^2, as `train_deep` takes it.
    """
    one_of("kernel", kernel, KERNELS)
    X, y = data_arrays(data)
    problem = pose_deep(network, X, y)
    n = len(problem.y)
    require_memory(gram_bytes(n, copies=network.depth + 4), f"the kernel of n={n} inputs")
    start = problem.at(network)
    G = start.gram if kernel == "start" else network.limit_gram(X).total
    run = linearize_run(G, start.residual + problem.y, problem.y)
    largest = float(run.eigenvalues[-1])
    if not 0 < largest < np.inf:
        raise DataError("the kernel is zero or not finite at these weights; draw another network")
    eta = 1.0 / largest if step_size is None else check_step(step_size)
    return DeepPrediction(run.eigenvalues, eta, kernel, problem.floor, run)


def plot_deep(run: DeepRun, data: Any, *, kernel: Kernel = "start") -> Figure:
    """Draw the spectrum of the full kernel at the start of a run, and the loss it predicts with the
    measured one over it.

    Parameters
    ----------
    run : DeepRun
        Of `train_deep`; a run of Levenberg-Marquardt is drawn beside what gradient descent is
        predicted to do.
    data : Any
        Those it was trained on.
    kernel : str
        As in `predict_deep`.

    Returns
    -------
    matplotlib.figure.Figure
        Save it with its `savefig`.
    """
    from matplotlib.figure import Figure

    if run.start is None:
        raise DataError("run has no start; give what train_deep returned")
    eta = run.trajectory.step_size
    found = predict_deep(
        run.start, data, kernel=kernel, step_size=None if np.isnan(eta) else float(eta)
    )
    figure = Figure(figsize=(9.4, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_spectrum(left, found)
    _draw_losses(right, found, run)
    return figure


def _draw_spectrum(axes: Axes, found: DeepPrediction) -> None:
    values = found.eigenvalues[::-1]
    axes.plot(np.arange(1, len(values) + 1), np.where(values > 0, values, np.nan), color=BLUE)
    axes.set_yscale("log")
    axes.set_xlabel("index")
    name = "kernel at the start" if found.kernel == "start" else "limiting kernel"
    axes.set_ylabel(f"eigenvalues of the {name}")


def _draw_losses(axes: Axes, found: DeepPrediction, run: DeepRun) -> None:
    steps, losses = run.trajectory.iteration, run.trajectory.loss
    is_descent = run.method == "gradient_descent"
    end = max(int(steps[-1]), 1) if is_descent else _steps_to_rounding(found)
    grid = np.unique(np.geomspace(1, end + 1, POINTS).astype(np.int64)) - 1
    label = f"predicted, gradient descent with step {found.step_size:.3g}"
    axes.plot(grid, _above_zero(found.losses(grid)), color=ORANGE, linestyle=DASHED, label=label)
    words = "gradient descent" if is_descent else run.method.replace("_", "-")
    axes.plot(steps, _above_zero(losses), color=BLUE, label=f"measured, {words}")
    if run.floor > 0:
        axes.axhline(run.floor, color=MUTED, linewidth=0.8, label="floor")
    axes.set_yscale("log")
    axes.set_xscale("symlog", linthresh=1)
    axes.set_ylim(bottom=max(ROUNDING * float(losses[0]), 1e-300))
    axes.set_xlabel("step")
    axes.set_ylabel("loss")
    axes.legend()


def _steps_to_rounding(found: DeepPrediction) -> int:
    """Steps until the slowest direction is at the rounding level, a million at most."""
    rate = found.rate
    return int(min(1e6, -70.0 / np.log(rate))) if 0 < rate < 1 else 1_000_000


def _above_zero(losses: Array) -> Array:
    return np.where(losses > 0, losses, np.nan)
