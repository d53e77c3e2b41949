r"""How far the weights move by the theorems of DU chapter 2 (two-layer ReLU, head $\pm1/\sqrt m$,
only W trained).
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.kernels.probability import stable_radius
from globalmin.references import states


@states("DU-L2.3")
def flow_movement(X_norm: float, residual_norm: float, m: int, lambda0: float) -> float:
    r"""$R' = 2\|X\|\|y-u(0)\|/(\sqrt m\lambda_0)$: no weight vector moves further while
    $\lambda_{\min}(H) \ge \lambda_0/2$.

    Theory
    ------
    DU-L2.3, corrected (factor 2, erratum E2) and sharpened: $\|X\|$ in place of $\sqrt n$, which it
    never exceeds for unit rows.
    """
    return 2.0 * X_norm * residual_norm / (math.sqrt(m) * lambda0)


@states("DU-C2.1")
def descent_movement(X_norm: float, residual_norm: float, m: int, lambda0: float) -> float:
    r"""$R' = 4\|X\|\|y-u(0)\|/(\sqrt m\lambda_0)$, the same for gradient descent while
    $\|r(k)\|^2 \le (1-\eta\lambda_0/2)^k\|r(0)\|^2$.
    """
    return 2.0 * flow_movement(X_norm, residual_norm, m, lambda0)


@states("DU-L2.4")
def stays_in_place(
    X_norm: float, residual_norm: float, m: int, lambda0: float, *, n: int, delta: float
) -> bool:
    r"""Whether $R' < R$: the movement bound of DU-L2.3 is below the radius on which DU-L2.2 keeps
    the Gram matrix positive.
    """
    return flow_movement(X_norm, residual_norm, m, lambda0) < stable_radius(lambda0, n, delta)


def neuron_movement(W: Array, W0: Array) -> float:
    r"""$\max_l\|w_l - w_l(0)\|$, measured."""
    return float(np.linalg.norm(W - W0, axis=1).max())


def movement_from_rate(rate: float, step_size: float, slope: float, residual_norm: float) -> float:
    r"""$\eta\,s\|r\|/(1-\mathrm{rate})$: bound of the movement of one weight vector when $\|r\|$
    shrinks by `rate` per step and its gradient is at most $s\|r\|$ (for a ReLU neuron $s =
    |v_l|\|X\|$).
    """
    return step_size * slope * residual_norm / (1.0 - rate) if rate < 1.0 else math.inf
