r"""Starts below the energy barrier for random teachers: GKZ-T2.4, GKZ-T2.5 with explicit constants,
and a better scale read from the labels.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.quadratic.barrier import barrier
from globalmin.quadratic.risk import population_risk
from globalmin.references import states

WIDTH_CONSTANT = 269  # m >= 269 d^2 suffices in GKZ-T2.5: 33/C + 8 C^(-3/2) + 16 C^(-2) < 1/8


@states("GKZ-T2.4")
def singular_value_interval(m: int, d: int, t: float) -> tuple[float, float, float]:
    r"""Interval $\sqrt m \mp (\sqrt d + t)$ for all singular values of an m x d Gaussian matrix,
    and its probability, at least $1-2e^{-t^2/2}$.
    """
    if m < 1 or d < 1 or not t >= 0:
        raise DataError(f"m={m}, d={d}, t={t} must satisfy m >= 1, d >= 1, t >= 0")
    spread = math.sqrt(d) + t
    return math.sqrt(m) - spread, math.sqrt(m) + spread, 1.0 - 2.0 * math.exp(-(t**2) / 2.0)


@states("GKZ-T2.5")
def identity_start(
    m: int, d: int, *, scale: float | str = "paper", y: Array | None = None
) -> Array:
    r"""$W_0 = \sqrt\gamma\,[I_d; 0]$, m x d, so $W_0^TW_0 = \gamma I$.

    Parameters
    ----------
    scale : $\gamma$: "paper" is m + 4d (GKZ-T2.5), "width" is m, "data" is mean(y)/d (ours, the
        best multiple of I for Gaussian inputs, since $E y = \|W^*\|_F^2$), or a positive number.
    y : labels, for "data" only.
    """
    if m < d or d < 1:
        raise HypothesisError(
            f"m={m} neurons for d={d} features; the start needs m >= d >= 1",
            hypothesis="m >= d",
            value=m,
        )
    gamma = _scale(m, d, scale, y)
    W = np.zeros((m, d))
    W[:d] = math.sqrt(gamma) * np.eye(d)
    return W


def _scale(m: int, d: int, scale: float | str, y: Array | None) -> float:
    if scale == "paper":
        return float(m + 4 * d)
    if scale == "width":
        return float(m)
    if scale == "data":
        if y is None or not float(np.mean(y)) > 0:
            raise DataError("scale='data' needs labels y with a positive mean")
        return float(np.mean(y)) / d
    if isinstance(scale, str) or not (math.isfinite(scale) and scale > 0):
        raise DataError(
            f"scale={scale!r} is unknown; choose 'paper', 'width', 'data' or a positive number"
        )
    return float(scale)


@states("GKZ-T2.5")
def start_margin(W0: Array, Wstar: Array, *, kind: str = "exact") -> float:
    r"""$L(W_0)$ divided by the barrier; below 1 gradient descent from $W_0$ stays at full rank and
    converges (GKZ-RATE).
    """
    height = barrier(Wstar, kind)
    if not height > 0:
        raise HypothesisError(
            "Wstar does not have full column rank, so there is no barrier",
            hypothesis="rank(Wstar) = d",
            value=height,
        )
    return population_risk(W0, Wstar) / height


@states("GKZ-T2.5")
def sufficient_width(d: int) -> int:
    r"""$269 d^2$: from this width the paper's start is below the barrier, with the probability of
    `start_probability`.
    """
    if d < 1:
        raise DataError(f"d={d} must be at least 1")
    return WIDTH_CONSTANT * d * d


@states("GKZ-T2.5")
def start_probability(d: int) -> float:
    r"""$1 - 2e^{-d/2} - 2e^{-d/5}$, at least 0: over the draw of a Gaussian teacher with $m \ge
    269d^2$ neurons.
    """
    return max(0.0, 1.0 - 2.0 * math.exp(-d / 2.0) - 2.0 * math.exp(-d / 5.0))


@states("GKZ-T2.5")
def risk_of_start_bound(d: int, epsilon: float) -> float:
    r"""$(2d + d^2)\epsilon^2 \ge L(W_0)$ if $W_0^TW_0 = \kappa I$ and the spectrum of $W^{*T}W^*$
    lies in $[\kappa - \epsilon, \kappa + \epsilon]$.
    """
    return (2.0 * d + d * d) * epsilon**2
