"""What training a deep network leaves behind: the quantities that the theorems of DU chapter 3
speak of, along the run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.deep.network import DeepNetwork
from globalmin.deep.problem import DeepPoint
from globalmin.optimize.follow import Recorder
from globalmin.optimize.run import Run, Trajectory

# up to this n the eigenvalues are recorded at every recorded step, above at steps 0, 1, 2, 4, 8,
# ...
EVERY_SPECTRUM = 128


@dataclass(frozen=True)
class DeepTrajectory(Trajectory):
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

    gradient_norm: Array
    lambda_last: Array
    lambda_total: Array
    movement: Array
    step_size: float = math.nan
    width: int = 1

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
    """

    trajectory: DeepTrajectory
    relative_residual: float
    floor: float = 0.0


def deep_recorder(start: DeepPoint) -> Recorder[DeepPoint]:
    """Every step at first, then thinned geometrically."""
    first = start.network.parameters

    def row(point: DeepPoint, iteration: int) -> tuple[float | Array, ...]:
        small = len(point.residual) <= EVERY_SPECTRUM or iteration & (iteration - 1) == 0
        last, total = (
            (_smallest(point.grams[-2]), _smallest(point.gram)) if small else (np.nan, np.nan)
        )
        blocks = point.network.split(point.network.parameters - first)
        moves = np.array([float(np.linalg.norm(block)) for block in blocks])
        return float(np.linalg.norm(point.gradient)), last, total, moves

    return Recorder(DeepTrajectory, row, gap=lambda iteration: max(1, iteration // 100))


def _smallest(G: Array) -> float:
    return float(np.linalg.eigvalsh(G)[0]) if np.isfinite(G).all() else np.nan
