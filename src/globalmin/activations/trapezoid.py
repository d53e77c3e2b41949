"""The trapezoid rule for Gaussian expectations of analytic activations, with the step and the
number of nodes that a claim about limiting Gram matrices names.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array

if TYPE_CHECKING:
    from globalmin.activations import Activation

_STRIPS = {"tanh": math.pi / 4, "erf": 1.0}


def quadrature(phi: Activation, largest: float, top: int, nats: float) -> tuple[float, int]:
    """Step and nodes of the trapezoid rule (lemma TR of the claim's page), row norms up to
    `largest`, orders up to `top`.
    """
    b = 1.0 if phi.parameter is None else phi.parameter
    scale = b if phi.certificate_name in ("softplus", "sigmoid") else 1.0
    a = _STRIPS.get(phi.certificate_name or "", math.pi / 2) / (scale * largest)
    narrow = 2.0 * math.pi * a / (nats + a * a / 2.0 + a * math.sqrt(top))
    wide = (
        3.0 * math.pi / (math.sqrt(top) + math.sqrt(top + 6.0 * nats))
    )  # for rows so short that the strip is cut at pi/step
    step = min(narrow, wide)
    return step, math.ceil(2.0 * math.sqrt(nats) / step) + 1


def hermite(z: Array, top: int) -> Array:
    """Orthonormal Hermite polynomials h_0..h_top at z, one row per order."""
    rows = [np.ones_like(z), z]
    for r in range(1, top):
        rows.append((z * rows[-1] - math.sqrt(r) * rows[-2]) / math.sqrt(r + 1))
    return np.array(rows[: top + 1])
