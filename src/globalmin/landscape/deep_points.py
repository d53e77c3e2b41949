"""What the weights of a deep network are for the loss of all layers: a global minimum, not
stationary, or not decided. Floats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from globalmin.deep.network import DeepNetwork
from globalmin.deep.problem import pose_deep
from globalmin.shallow.stationary import PointClass, PointKind


def classify_deep_point(
    network: DeepNetwork, data: Any, *, tol: float, gap_tol: float
) -> PointClass:
    """Classify by the loss above what equal inputs leave, never by a small gradient.

    A nearly stationary point above that is not decided: the Hessian of a deep network is not
    formed, and no claim speaks of its saddles.

    Parameters
    ----------
    network, data : weights, and X, y.
    tol, gap_tol : as in `classify_point`.
    """
    point = pose_deep(network, data.X, data.y).at(network)
    r, floor = point.residual, point.problem.floor
    norm = float(np.linalg.norm(point.gradient))
    scale = math.sqrt(float(np.trace(point.gram))) * point.norm
    relative = norm / scale if scale > 0 else 0.0
    excess = 0.5 * float(r @ r)
    if excess <= gap_tol * 0.5 * point.problem.scale**2:
        least = f"no network has less than {floor:.6g}" if floor > 0 else "no loss is below zero"
        kind, reason = PointKind.GLOBAL_MINIMUM, f"{least}: gap {excess:.3g}"
    elif relative > tol:
        kind, reason = PointKind.NOT_STATIONARY, f"relative gradient {relative:.3g}"
    else:
        kind = PointKind.NOT_DECIDED
        reason = (
            f"nearly stationary, {excess:.3g} above the least loss that is known to be possible; "
            "the Hessian of a deep network is not examined"
        )
    return PointClass(kind, reason, point.loss, norm, relative, excess, None, None, None)
