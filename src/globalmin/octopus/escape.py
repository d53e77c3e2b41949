r"""How long gradient descent stays at the saddles of the octopus: counted, as an exact factor, as a
prediction, and as proved lower bounds.

While coordinate k waits at its saddle, coordinate k + 1 shrinks by $1 - 2\eta L$ a step; afterwards
it grows by $1 + 2\eta\gamma$ a step. So the waiting times grow by the factor $\kappa = 1 +
\ln\frac1{1-2\eta L}/\ln(1+2\eta\gamma) \ge (L+\gamma)/\gamma$ from saddle to saddle.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.octopus import descent
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
    eta = descent.checked_step_size(octopus, step_size)
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
        else steps / (2.0 * descent.checked_step_size(octopus, step_size) * gamma)
    )


@states("DU-L7.2")
def buffer_steps_upper(octopus: Octopus, step_size: float) -> int:
    r"""Steps of gradient descent across a buffer: at most $\lceil1/(2\eta\gamma)\rceil$.

    Each moves by at least $2\eta\gamma\tau$: on the buffer $g_1' + 2\gamma\tau \le -2\gamma\tau u(1
    + 2u - 2u^2) \le 0$ by $L \ge \gamma$, and $g_2' \le 0$.
    """
    return math.ceil(
        1.0 / (2.0 * descent.checked_step_size(octopus, step_size) * octopus.gamma) * (1.0 + 1e-12)
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
        descent.checked_step_size(octopus, step_size),
        descent.checked_start(octopus, start, np.random.default_rng(0)),
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


EXACT = 2**53  # whole numbers up to here are float64 numbers
Method = Literal["gradient_descent", "perturbed_gradient_descent"]
METHODS: tuple[Method, ...] = get_args(Method)


@states("DU-F7.3", "DU-F7.4")
def octopus_escape_times(
    dimension: int = 5,
    L: float = 2.0,
    gamma: float = 1.0,
    step_size: float = 1 / 8,
    method: Method = "gradient_descent",
    *,
    seed: int = 0,
    tau: float = math.e,
    start: ArrayLike | None = None,
    radius: float | None = None,
    noise_gap: int = 1,
    gradient_threshold: float | None = None,
    max_iter: int | None = None,
) -> NDArray[np.int64] | Array:
    r"""Cumulative steps after which a descent has passed the saddles 1 to d of the octopus: first t
    with $|x_k| \ge 2\tau$.

    Parameters
    ----------
    dimension : int
        The function, see `Octopus`.
    L, gamma, tau : float
        The function, see `Octopus`.
    step_size : float
        At most 1/(2L), where gradient descent stays at the second saddle for ever; the thesis takes
        1/(4L).
    method : str
        "gradient_descent", in logarithms, so that neither rounding nor the number of steps is a
        limit; or "perturbed_gradient_descent", Algorithm 2 with the options `radius`, `noise_gap`,
        `gradient_threshold`, `max_iter`, whose defaults are those of the thesis.
    seed : int
        Of the start, uniform on $[-1, 1]^d$, and of the noise.
    start : ArrayLike | None
        Instead of a random one, in $[-1, 1]^d$.

    Returns
    -------
    NDArray[np.int64] | Array
        One number a saddle: int64 if all are below $2^{53}$, else float64; infinite where a saddle
        is never passed.

    Theory
    ------
    Gradient descent: each time is about `escape_ratio` times the one before (DU-K7) and at least
    `escape_times_lower` (DU-L7.3). Perturbed gradient descent: a constant number of steps a saddle,
    up to a logarithm of the dimension (DU-T7.3).

    Examples
    --------
    >>> octopus_escape_times(5, 2.0, start=[0.5] * 5)
    array([  11,   50,  211,  875, 3598])
    """
    octopus = Octopus(dimension, L, gamma, tau)
    one_of("method", method, METHODS)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DataError(f"seed={seed!r} must be a whole number, at least 0")
    rng = np.random.default_rng(seed)
    x = descent.checked_start(octopus, start, rng)
    if method == "gradient_descent":
        times = descent.descent_escape_times(octopus, x, step_size)
    else:
        options = {
            "radius": radius,
            "noise_gap": noise_gap,
            "gradient_threshold": gradient_threshold,
            "max_iter": max_iter,
        }
        times = descent.perturbed_descent(octopus, x, step_size, rng, **options).escape_times  # pyright: ignore[reportArgumentType]
    return (
        np.array(times, dtype=np.int64) if times[-1] < EXACT else np.array(times, dtype=np.float64)
    )
