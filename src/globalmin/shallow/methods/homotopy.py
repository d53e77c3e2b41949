r"""Activations with a kink (ReLU, leaky ReLU, absolute value): follow a smooth problem into the
kinked one.

$\max(z,0)$ is the limit of $\mathrm{softplus}_b$ for $b \to \infty$, and $\phi(z) = s z +
(1-s)\max(z,0)$ covers leaky ReLU (slope s) and |z| (s = -1). Levenberg-Marquardt runs at b = 2, 4,
..., 1024, each stage from the result of the last, then on phi itself. On the kinked function alone
it stalls at kinks and with dead neurons in about a third of the runs near the interpolation
threshold.

Inside one activation cell f is linear in W, so the last steps are exact up to rounding and end
where theorem RI applies: a residual of 1e-15 ||y|| against pre-activations that are not small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Unpack

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.optimize.follow import Iterate
from globalmin.shallow.degenerate import pose, representatives
from globalmin.shallow.methods.levenberg_marquardt import GramSolver, damped_steps
from globalmin.shallow.methods.levenberg_marquardt import steps as kinked_steps
from globalmin.shallow.problem import check_memory
from globalmin.shallow.trajectory import Options, follow, shallow_watch

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point
    from globalmin.shallow.trajectory import ShallowRun


SHARPNESS = tuple(2.0**j for j in range(1, 11))
STAGE_TOL = 1e-8
STAGE_ITER = 200
MAX_ITER = 2_000


@dataclass(frozen=True)
class SmoothedKink:
    """s z + (1 - s) softplus_b(z): slope s far to the left, 1 far to the right; within (1 - s)
    log(2)/b of its limit.
    """

    left: float
    b: float

    def __call__(self, z: Array) -> Array:
        """The value."""
        from globalmin.activations.functions import softplus

        return self.left * z + (1.0 - self.left) * softplus(self.b)[0](z)

    def derivative(self, z: Array) -> Array:
        """The derivative."""
        from globalmin.activations.functions import logistic

        return self.left + (1.0 - self.left) * logistic(self.b * z)


def left_slope(activation: Activation) -> float | None:
    """Slope on the left of the kink if phi is s z for z < 0 and z for z >= 0; None for every other
    activation.
    """
    slopes = {"relu": 0.0, "abs": -1.0, "leaky_relu": activation.parameter}
    return slopes.get(activation.name)


def homotopy(
    network: ShallowNetwork,
    data: HasData,
    *,
    polish: bool | None = None,
    **options: Unpack[Options],
) -> ShallowRun:
    """Train an activation with a kink by Levenberg-Marquardt on ever sharper smooth versions of it,
    then on itself.

    Parameters
    ----------
    network, data : the start and the data; the activation must be relu, leaky_relu or abs.
    polish : as in `levenberg_marquardt`.
    options : as in `globalmin.train`. The recorded losses are those of the kinked network
        throughout.

    Theory
    ------
    The end is meant for theorem RI of the certificates (relu-cell/1).
    """
    left = left_slope(network.activation)
    if left is None:
        raise DataError(
            f"method='homotopy' is for relu, leaky_relu and abs, not {network.activation}; use "
            "'levenberg_marquardt'"
        )
    start = pose(network, data, options.get("trained", "W"))
    check_memory(start, method="homotopy")
    tol = options.get("tol", 1e-13)
    polish = tol <= 1e-10 if polish is None else polish
    watch = shallow_watch(
        network,
        start,
        options,
        method="homotopy",
        default_max_iter=MAX_ITER,
        stops_at_tol=not polish,
    )
    return follow(watch, steps(representatives(start), left, tol=tol, polish=polish))


def steps(start: Point, left: float, *, tol: float, polish: bool) -> Iterator[Iterate[Point]]:
    """The stages one after the other, then the kinked function."""
    solver, point = GramSolver(start.problem.X), start
    for b in SHARPNESS:
        smooth = replace(start.problem, activation=SmoothedKink(left, b))
        stage = damped_steps(smooth.at(point.W, point.v), solver, tol=max(STAGE_TOL, tol))
        for iterate in islice(stage, STAGE_ITER):
            point = iterate.point
            yield iterate
    yield from kinked_steps(
        start.problem.at(point.W, point.v), tol=tol, polish=polish, solver=solver
    )
