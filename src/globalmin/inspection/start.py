r"""What the theorems without unknown constants see at one random start: the drawn network's own
Jacobian. Estimates in floats.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.facts.instance import Start
from globalmin.kernels.movement_patterns import kink_descent
from globalmin.linalg.extremes import extremes, spectral_norm
from globalmin.shallow.guarantee import KinkDescent
from globalmin.shallow.initialization import draw
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import jacobian_gram, preactivations, residual
from globalmin.shallow.provability import Linearization, descent_quantities, newton_ratio

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.facts.instance import Measurements
    from globalmin.shallow.network import ShallowNetwork


KINK_LIMIT = 20_000_000  # pre-activations up to which the scan of OS-C3 takes seconds


def measure_start(
    data: Dataset, m: Measurements, width: int, *, head: str, seed: int, limit: Array
) -> Start:
    """Draw a network by the scheme `head` and measure it; `limit` is the limiting Gram matrix
    Sigma, which is used up.
    """
    network = draw(data, width, m.activation, scheme=head, seed=seed)
    K = jacobian_gram(network, m.X)
    r = residual(network, m.X, m.y)
    limit -= K / float(network.v @ network.v)
    deviation = spectral_norm(limit)
    gram = extremes(
        K, is_singular=(m.slope.low == 0.0 and m.slope.is_resolved) or width * m.d < m.n
    )
    a, g = math.sqrt(gram.low), float(np.linalg.norm(r))
    e = _newton_step(K, r) if a > 0.0 else math.inf
    Lip = (
        estimate_lipschitz(network, m.X, 2.0 * g / a)
        if a > 0.0 and m.activation.is_smooth
        else math.inf
    )
    ratio = 2.0 * Lip * g / a**2 if math.isfinite(Lip) else math.inf
    point = Linearization(a, math.sqrt(gram.high), e, g)
    descent = descent_quantities(point, Lip) if math.isfinite(Lip) else None
    newton = newton_ratio(a, e, Lip) if math.isfinite(Lip) else math.inf
    return Start(network, gram, g, ratio, newton, descent, _kink(network, m, point), Lip, deviation)


def _newton_step(K: Array, r: Array) -> float:
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    try:
        return math.sqrt(max(float(r @ cho_solve(cho_factor(K, check_finite=False), r)), 0.0))
    except LinAlgError:
        return math.inf


def _kink(network: ShallowNetwork, m: Measurements, point: Linearization) -> KinkDescent | None:
    if not m.is_relu or point.a == 0.0 or m.n * network.width > KINK_LIMIT:
        return None
    norms = np.linalg.norm(m.X, axis=1)
    Z = preactivations(network, m.X)
    return kink_descent(Z, network.v, norms, m.X_norm, a=point.a, b=point.b, residual_norm=point.g)
