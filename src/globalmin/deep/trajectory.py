"""What training a deep network leaves behind: the quantities that the theorems of DU chapter 3
speak of, along the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray

if TYPE_CHECKING:
    from globalmin.deep.network import DeepNetwork
    from globalmin.deep.problem import DeepPoint
    from globalmin.optimize.run import Status


# up to this n the eigenvalues are recorded at every recorded step, above at steps 0, 1, 2, 4, 8,
# ...
EVERY_SPECTRUM = 128


@dataclass(frozen=True)
class DeepTrajectory:
    """The recorded steps, one entry per recorded step in every array.

    Attributes
    ----------
    iteration : number of the step; 0 is the start.
    loss : (1/2) sum of squares.
    gradient_norm : norm of the gradient in all parameters.
    lambda_last : lambda_min(G^(H)), of the last hidden weight matrix's Gram; NaN where it was not
        computed.
    lambda_total : lambda_min of the sum of all layer Grams; NaN where it was not computed.
    movement : ||W^(h) - W^(h)(0)||_F for h = 1..H and ||a - a(0)||, one column each.
    step_size : eta of gradient descent, NaN for other methods.
    width : m, to divide the movement by sqrt(m) as the theorems do.
    """

    iteration: NDArray[np.int64]
    loss: Array
    gradient_norm: Array
    lambda_last: Array
    lambda_total: Array
    movement: Array
    step_size: float
    width: int

    def __len__(self) -> int:
        return len(self.iteration)

    @property
    def relative_movement(self) -> Array:
        """The movement divided by sqrt(m): DU (3.6) asks it to stay below a constant R."""
        return self.movement / np.sqrt(self.width)


@dataclass(frozen=True)
class DeepRun:
    """The result of training a deep network.

    Attributes
    ----------
    network : the best network seen.
    status, message : how the run ended.
    trajectory : the recorded steps.
    n_iter : iterations (for Levenberg-Marquardt: linear systems solved, rejected steps included).
    loss, relative_residual : at `network`; ||f - y*||/||y|| with the best reachable labels y*.
    floor : loss that no network can go below on these data (equal inputs with different labels); a
        float, not a proof.
    """

    network: DeepNetwork
    status: Status
    message: str
    trajectory: DeepTrajectory
    n_iter: int
    method: str
    loss: float
    relative_residual: float
    floor: float = 0.0


@dataclass
class DeepRecorder:
    """Collects a trajectory: every step at first, then thinned geometrically."""

    start: DeepPoint
    dense: int = 100
    _rows: list[tuple[float, ...]] = field(default_factory=list)
    _moves: list[Array] = field(default_factory=list)

    def is_due(self, iteration: int) -> bool:
        """Whether this step is to be recorded."""
        if not self._rows:
            return True
        last = int(self._rows[-1][0])
        return iteration >= last + max(1, last // self.dense)

    def is_recorded(self, iteration: int) -> bool:
        """Whether the last entry is this step's."""
        return bool(self._rows) and int(self._rows[-1][0]) == iteration

    def record(self, point: DeepPoint, iteration: int) -> None:
        """Append one entry."""
        small = len(point.residual) <= EVERY_SPECTRUM or iteration & (iteration - 1) == 0
        last, total = (
            (_smallest(point.grams[-2]), _smallest(point.gram)) if small else (np.nan, np.nan)
        )
        self._rows.append(
            (iteration, point.loss, float(np.linalg.norm(point.gradient)), last, total)
        )
        difference = point.network.parameters - self.start.network.parameters
        self._moves.append(
            np.array([float(np.linalg.norm(block)) for block in point.network.split(difference)])
        )

    def close(self, step_size: float) -> DeepTrajectory:
        """The trajectory so far."""
        iteration, loss, gradient, last, total = np.array(self._rows, dtype=np.float64).T.copy()
        moves = np.array(self._moves)
        width = self.start.network.width
        return DeepTrajectory(
            iteration.astype(np.int64), loss, gradient, last, total, moves, step_size, width
        )


def _smallest(G: Array) -> float:
    return float(np.linalg.eigvalsh(G)[0]) if np.isfinite(G).all() else np.nan
