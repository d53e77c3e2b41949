"""The picture of `globalmin classify`: the loss along the escape from a saddle, or the distance to
the global minimum.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.cli.console import say
from globalmin.drawing import style
from globalmin.proving.record import Proves
from globalmin.report.figures import bracket, escape_curve
from globalmin.report.measures import estimate_quadratic
from globalmin.shallow.network import ShallowNetwork, residual

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.cli.classifying import Classified
    from globalmin.data import Dataset
    from globalmin.shallow.stationary import Escape


POINTS = 161
DOTS_PER_INCH = 150


def write_picture(path: Path, network: ShallowNetwork, data: Dataset, found: Classified) -> None:
    """Draw and write; kinds of points that have no picture are named on stderr."""
    with style():
        figure = _figure(network, data, found)
        if figure is None:
            say(
                f"globalmin: a point of the kind '{found.point.kind}' has no picture here; "
                f"{path.name} is not written"
            )
            return
        figure.savefig(
            path,
            dpi=DOTS_PER_INCH,
            facecolor="white",
            metadata={"Date": None} if path.suffix == ".svg" else None,
        )


def _figure(network: ShallowNetwork, data: Dataset, found: Classified) -> Figure | None:
    proof = None if found.attempt is None else found.attempt.proof
    if found.point.escape is not None:
        claim = None if proof is None else proof.that(Proves.POINT)
        gamma = None if claim is None else claim.numbers.gamma
        curvature = found.point.escape.curvature if gamma is None else -gamma
        steps, losses = losses_along(network, data, found.point.escape)
        return escape_curve(steps, losses, curvature=curvature, proved=gamma is not None)
    claim = None if proof is None else proof.that(Proves.GAP)
    gap, floor = (claim.numbers.gap, claim.numbers.floor) if claim is not None else (None, None)
    if gap is not None and floor is not None:
        facts = estimate_quadratic(network, data.X, data.y)
        return bracket(
            gap,
            [
                ("all weights zero", facts["zero"] - floor),
                ("least-squares line", facts["linear"] - floor),
            ],
        )
    return None


def losses_along(network: ShallowNetwork, data: Dataset, escape: Escape) -> tuple[Array, Array]:
    """Steps and losses along the unit direction, as far as the loss stays near or below its value
    at the point.
    """
    start = _loss(network, data, escape, 0.0)
    reach = 1e-3
    while reach < 1e3 and min(_loss(network, data, escape, t) for t in (reach, -reach)) <= start:
        reach *= 1.25
    steps = np.linspace(-reach, reach, POINTS)
    return steps, np.array([_loss(network, data, escape, float(t)) for t in steps])


def _loss(network: ShallowNetwork, data: Dataset, escape: Escape, step: float) -> float:
    v = network.v if escape.u is None else network.v + step * escape.u
    r = residual(ShallowNetwork(network.W + step * escape.U, v, network.activation), data.X, data.y)
    return 0.5 * float(r @ r)
