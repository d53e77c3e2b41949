"""Gaussian vectors in half-spaces: the angle between two of them and the second moment over
both.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.references import states


def angle(u: ArrayLike, v: ArrayLike) -> float:
    r"""$\angle(u, v) \in [0, \pi]$ without cancellation (never arccos); u and v are not zero."""
    u, v = np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64)
    lengths = float(np.linalg.norm(u)), float(np.linalg.norm(v))
    if min(lengths) == 0.0 or not all(map(math.isfinite, lengths)):
        raise DataError(
            "the angle of a zero vector is not defined; give two finite vectors that are not zero"
        )
    u, v = u / lengths[0], v / lengths[1]
    return 2.0 * math.atan2(float(np.linalg.norm(u - v)), float(np.linalg.norm(u + v)))


@states("DU-L5.6", "DU-D6.0")
def both_half_spaces_times(w: ArrayLike, w_star: ArrayLike) -> Array:
    r"""$E[zz^T 1\{z^Tw \ge 0, z^Tw^* \ge 0\}]\,w^* = ((\pi-\varphi)w^* + \sin\varphi\,(W/\lVert
    w\rVert)\,w)/(2\pi)$.
    """
    w, w_star = np.asarray(w, dtype=np.float64), np.asarray(w_star, dtype=np.float64)
    phi = angle(w, w_star)
    scale = float(np.linalg.norm(w_star)) / float(np.linalg.norm(w))
    return ((math.pi - phi) * w_star + math.sin(phi) * scale * w) / (2.0 * math.pi)
