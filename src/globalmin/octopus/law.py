r"""How long gradient descent stays at the saddles of the octopus: the exact factor, a prediction,
and proved lower bounds.

While coordinate k waits at its saddle, coordinate k + 1 shrinks by $1 - 2\eta L$ a step; afterwards
it grows by $1 + 2\eta\gamma$ a step. So the waiting times grow by the factor $\kappa = 1 +
\ln\frac1{1-2\eta L}/\ln(1+2\eta\gamma) \ge (L+\gamma)/\gamma$ from saddle to saddle.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.octopus.descent import checked_start, checked_step_size
from globalmin.octopus.function import Octopus
from globalmin.references import states

ROUNDED_DOWN = 1.0 - 1e-12  # the formulas below err by less than 1e-14 d relatively


@states("DU-K7")
def escape_ratio(L: float, gamma: float, step_size: float) -> float:
    r"""$\kappa = 1 + \ln\frac1{1-2\eta L}/\ln(1+2\eta\gamma)$, the factor between the escape times
    of two saddles in a row.

    Infinite for the step 1/(2L): the coordinate that should leave the second saddle becomes exactly
    zero at the first step.

    Examples
    --------
    >>> [round(escape_ratio(L, 1.0, 1 / (4 * L)), 3) for L in (1.0, 1.5, 2.0, 3.0)]
    [2.71, 3.409, 4.106, 5.497]
    """
    if not (0.0 < gamma <= L and 0.0 < step_size <= 0.5 / L):
        raise DataError(
            f"L={L}, gamma={gamma}, step_size={step_size}: need L >= gamma > 0 and 0 < step_size "
            "<= 1/(2L)"
        )
    shrink = -2.0 * step_size * L
    return (
        1.0 - math.log1p(shrink) / math.log1p(2.0 * step_size * gamma)
        if shrink > -1.0
        else math.inf
    )


@states("DU-K7")
def escape_ratio_lower(L: float, gamma: float) -> float:
    r"""$(L + \gamma)/\gamma$, at most `escape_ratio` for every step size: $\ln(1-x) \le -x$ and
    $\ln(1+x) \le x$; eq. (7.3).
    """
    if not 0.0 < gamma <= L:
        raise DataError(f"L={L} and gamma={gamma} must satisfy L >= gamma > 0")
    return (L + gamma) / gamma * ROUNDED_DOWN


@states("DU-L7.2", "DU-L7.3")
def escape_times_lower(octopus: Octopus, step_size: float) -> Array:
    r"""Lower bounds of the escape times $T_1, \dots, T_d$ of gradient descent from *every* start in
    $[-1, 1]^d$.

    $T_k \ge \frac{\ln\tau}{\ln(1+2\eta\gamma)}\,\frac{\kappa^k - 1}{\kappa - 1}$ with $\kappa$ of
    `escape_ratio`.

    Theory
    ------
    Sharper than DU-L7.2 and DU-L7.3, which follow by `escape_ratio_lower` and $\ln\tau \ge 1$. Let
    $S_k \le T_k$ be the first step with $|x_k| \ge \tau$. Up to it, $|x_{k+1}|$ is multiplied by $1
    - 2\eta L$ at every step, and after it by at most $1 + 2\eta\gamma$, since $g_2 \ge -\gamma$. To
    reach $\tau$ from at most 1 it needs $(S_{k+1} - S_k)\ln(1+2\eta\gamma) \ge \ln\tau +
    S_k\ln\frac1{1-2\eta L}$, i.e. $S_{k+1} \ge \kappa S_k + S$ with $S = \ln\tau/\ln(1+2\eta\gamma)
    \le S_1$. Rounded down by 1e-12 relatively.
    """
    eta = checked_step_size(octopus, step_size)
    first, kappa = (
        math.log(octopus.tau) / math.log1p(2.0 * eta * octopus.gamma),
        escape_ratio(octopus.L, octopus.gamma, eta),
    )
    sums = np.cumsum(np.array([kappa**k if k else 1.0 for k in range(octopus.dimension)]))
    return first * sums * ROUNDED_DOWN


@states("DU-T7.3", "DU-L7.3")
def escape_step_lower(
    dimension: int, L: float, gamma: float, step_size: float | None = None
) -> float:
    r"""The bounds as printed: $|x_d| \le 2\tau$ for all $T \le ((L+\gamma)/\gamma)^{d-1}$.

    With a step size given, what its proof shows: $T_d \ge
    \frac1{2\eta\gamma}((L+\gamma)/\gamma)^{d-1}$, for steps up to 1/(2L). Exponential in the
    dimension whatever the step: claim 1 of Theorem 7.3.
    """
    octopus = Octopus(dimension, L, gamma)
    power = (L + gamma) / gamma
    steps = power ** (dimension - 1) * ROUNDED_DOWN
    return (
        steps
        if step_size is None
        else steps / (2.0 * checked_step_size(octopus, step_size) * gamma)
    )


@states("DU-L7.2")
def buffer_steps_upper(octopus: Octopus, step_size: float) -> int:
    r"""Steps of gradient descent across a buffer: at most $\lceil1/(2\eta\gamma)\rceil$.

    Each moves by at least $2\eta\gamma\tau$: on the buffer $g_1' + 2\gamma\tau \le -2\gamma\tau u(1
    + 2u - 2u^2) \le 0$ by $L \ge \gamma$, and $g_2' \le 0$.
    """
    return math.ceil(
        1.0 / (2.0 * checked_step_size(octopus, step_size) * octopus.gamma) * (1.0 + 1e-12)
    )


@states("DU-K7", "DU-X7.a")
def estimate_escape_times(octopus: Octopus, start: ArrayLike, step_size: float) -> Array:
    r"""The law: $T_{k+1} = \kappa T_k + c_k$ with $c_k$ from the start and from one crossing of a
    buffer, without a run.

    An estimate, within a step or two at the first saddles and relatively ever better: the crossing
    of a buffer is the average over where it can begin, with a next coordinate that is infinitely
    small.
    """
    eta, x = (
        checked_step_size(octopus, step_size),
        checked_start(octopus, start, np.random.default_rng(0)),
    )
    up, kappa = math.log1p(2.0 * eta * octopus.gamma), escape_ratio(octopus.L, octopus.gamma, eta)
    steps, gain = _crossing(octopus, eta, up)
    with np.errstate(divide="ignore"):
        logs = np.log(np.abs(x))
    times, quadratic = np.empty(octopus.dimension), (math.log(octopus.tau) - logs) / up + 0.5
    times[0] = quadratic[0] + steps
    for k in range(1, octopus.dimension):
        waited = times[k - 1] - steps
        times[k] = times[k - 1] + quadratic[k] + waited * (kappa - 1.0) - gain / up + steps
    return times


def _crossing(octopus: Octopus, eta: float, up: float) -> tuple[float, float]:
    """Steps of a crossing, and by how much the logarithm of the next coordinate grows meanwhile;
    averages over 64 beginnings.
    """
    a = octopus.tau * np.exp(up * (np.arange(64) + 0.5) / 64)
    steps, gain = np.zeros(64), np.zeros(64)
    while (inside := a < 2.0 * octopus.tau).any():
        with np.errstate(divide="ignore"):
            gain += np.where(inside, np.log1p(-2.0 * eta * octopus.splines.g2(a)), 0.0)
        a = np.where(inside, a - eta * octopus.splines.g1(a, 1), a)
        steps += inside
    return float(steps.mean()), float(gain.mean())
