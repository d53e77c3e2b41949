r"""The weaker claim where theorem S has no proof: heads of both signs, samples whose squares do not
span.

Without weight decay the minimum over all symmetric matrices is proved through $S^TS > 0$. If the
matrices $x_ix_i^T$ are dependent (n >= d(d+1)/2 samples on a common quadric: signs, one-hot
columns, repeated features) that is impossible, and no claim of the format says "global minimum over
all networks". But theorem D holds with any weight decay w > 0, however small: at a minimum $Z(r) =
0$ up to rounding, and w a little above $2v_{\max}\|Z(r)\|$ proves the network to be within
$(w/2)\|W\|_F^2$ of the minimum of $L + (w/2)\|W\|_F^2$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.errors import HypothesisError
from globalmin.linalg.symmetric import factored_forms, moment_matrix
from globalmin.references import states

ROUNDING = 64.0  # room in units of the rounding error of Z, so that the checker can prove |Z| < c


@dataclass(frozen=True)
class SmallDecay:
    r"""A weight decay so small that it hardly matters, at which the network is provably a minimum;
    in floats.

    Attributes
    ----------
    weight_decay : w; pass it to `certify(network, data, claims=["optimality-gap"],
        weight_decay=w)`.
    objective : $L + (w/2)\|W\|_F^2$ of the network.
    gap : estimate of its distance to the minimum.
    """

    weight_decay: float
    objective: float
    gap: float

    def estimate_floor(self, norm: float) -> float:
        r"""No network with heads of at most this size and $\|W\|_F \le$ `norm` has a smaller loss
        (true once proved).
        """
        return max(self.objective - self.gap - 0.5 * self.weight_decay * norm**2, 0.0)


@states("SJL-T2.1", "SJL-DUAL")
def smallest_provable_decay(W: Array, v: Array, X: Array, y: Array) -> SmallDecay:
    r"""The least weight decay at which theorem D proves a least-squares network, and what it then
    says.

    Theory
    ------
    SJL-T2.1: at a second-order point with at least d heads of each sign Z(r) = 0, so the residual
    itself is a dual vector of theorem D for every w > 0. The bound holds for every width and every
    head with $|v_l| \le v_{\max}$.
    """
    v_max = float(np.abs(v).max(initial=0.0))
    if not v_max > 0:
        raise HypothesisError(
            "all head weights are zero; give at least one that is not",
            hypothesis="v != 0",
            value=v_max,
        )
    r = factored_forms(X, W, v) - y
    Z = moment_matrix(X, r)
    squares = np.einsum("ij,ij->i", X, X)
    outputs = np.square(np.abs(X) @ np.abs(W).T) @ np.abs(v) + np.abs(y)
    noise = float(np.finfo(np.float64).eps) * float((np.abs(r) + sum(W.shape) * outputs) @ squares)
    c = float(np.linalg.norm(Z, 2)) + ROUNDING * noise
    w = max(2.0 * v_max * c, math.sqrt(np.finfo(np.float64).tiny))
    penalty = 0.5 * w * float(np.sum(W * W))
    loss = 0.5 * float(r @ r)
    return SmallDecay(w, loss + penalty, penalty + abs(float(np.sum(Z * ((W * v[:, None]).T @ W)))))
