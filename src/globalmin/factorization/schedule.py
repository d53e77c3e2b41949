r"""The step sizes of Theorem 4.4 for matrix factorization, and the numbers that show why the
printed ones cannot be run.

The printed schedule is $\eta_t = \sqrt{\varepsilon/r}/(100(t+1)\lVert M\rVert_F^{3/2})$. Its sum
grows like log t, so the number of steps is the exponential of what the flow needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from globalmin._types import ArrayLike
from globalmin.errors import DataError, HypothesisError
from globalmin.factorization.factors import Factors
from globalmin.factorization.landscape import descent_smoothness_at_most, factorization_loss
from globalmin.references import states

LN10 = math.log(10.0)
LOG10_ZERO = -1075 * math.log10(
    2.0
)  # half of the smallest positive double: what is not larger is rounded to zero
YEAR = 365.25 * 86400.0


@states("DU-T4.4", "DU-A4.9")
def printed_schedule(accuracy: float, rank: int, norm: float) -> Callable[[int], float]:
    r"""$\eta_t$ of Theorem 4.4 as printed, for the accuracy eps, the rank r and $\lVert
    M\rVert_F$.
    """
    first = _first_step(accuracy, rank, norm)
    return lambda t: first / (t + 1.0)


@states("DU-T4.4")
def footnote_schedule(
    accuracy: float, rank: int, norm: float, delta: float = 0.1
) -> Callable[[int], float]:
    r"""The footnote's family with an explicit constant: $\eta_t = c(t+1)^{-(1/2+\delta)}$,
    $0<\delta\le\frac12$.

    $c=\min\{(\varepsilon/(80\sqrt r\lVert M\rVert_F^3\zeta(1+2\delta)))^{1/2}, 1/\beta\}$ keeps the
    budget of the proof, $40\sqrt r\lVert M\rVert_F^3\sum\eta_t^2\le\varepsilon/2$, and $\beta$ is
    `descent_smoothness_at_most`.
    """
    if not 0.0 < delta <= 0.5:
        raise HypothesisError(
            f"delta={delta!r} is not in (0, 1/2]", hypothesis="delta", value=delta
        )
    from scipy.special import zeta

    _first_step(accuracy, rank, norm)
    room = math.sqrt(accuracy / (80.0 * math.sqrt(rank) * norm**3 * float(zeta(1.0 + 2.0 * delta))))
    c = min(room, 1.0 / descent_smoothness_at_most(rank, norm))
    return lambda t: c * (t + 1.0) ** -(0.5 + delta)


@states("DU-T4.4")
def imbalance_budget(squares: float, rank: int, norm: float) -> float:
    r"""$40\sqrt r\lVert M\rVert_F^3\sum_t\eta_t^2$, the bound of the growth of the imbalance; the
    proof needs at most eps/2.
    """
    return 40.0 * math.sqrt(rank) * norm**3 * squares


@dataclass(frozen=True)
class ScheduleReport:
    """What the printed schedule would need on one instance; logarithms to base ten, since the
    numbers have no other form.

    Attributes
    ----------
    first_step : eta_0. budget_used, budget : growth of the imbalance allowed by the proof, of it
        used by the schedule.
    time_lower : the sum of step sizes is at least this when the accuracy is reached (over the
        reals, loss never rising).
    log10_steps_lower : so the number of steps is at least ten to this power.
    log10_years : the same in years, at a billion steps a second.
    log10_underflow : the step size is zero in float64 from ten to this power on.
    log10_frozen : steps no longer change factors of the size they have in float64 from about ten to
        this power on (estimate).
    """

    first_step: float
    budget_used: float
    budget: float
    time_lower: float
    log10_steps_lower: float
    log10_years: float
    log10_underflow: float
    log10_frozen: float

    @property
    def can_be_run(self) -> bool:
        """Whether the accuracy could be reached before the steps stop changing anything."""
        return self.log10_steps_lower < self.log10_frozen


@states("DU-T4.4")
def schedule_report(factors: Factors, M: ArrayLike, accuracy: float) -> ScheduleReport:
    r"""The numbers for one start.

    Theory
    ------
    With $s_t=\max(\lVert U_t\rVert,\lVert V_t\rVert)$ (spectral), $U_{t+1}=U_t-\eta_tR_tV_t$ gives
    $s_{t+1}\le(1+\eta_t\rho)s_t$ as long as $\lVert R_t\rVert\le\rho=\lVert R_0\rVert_F$, which (B)
    of Lemma 4.1 grants. $\lVert UV^T-M\rVert_F\le\varepsilon$ needs $s^2\ge\sigma_1-\varepsilon$.
    Hence $\sum\eta_t\ge\log(\sqrt{\sigma_1-\varepsilon}/s_0)/\rho$, and $\sum_{t<T}1/(t+1)\le1+\log
    T$.
    """
    M = np.asarray(M, dtype=np.float64)
    norm, top = float(np.linalg.norm(M)), float(np.linalg.norm(M, 2))
    first = _first_step(accuracy, factors.rank, norm)
    start = max(float(np.linalg.norm(factors.U, 2)), float(np.linalg.norm(factors.V, 2)))
    rho = math.sqrt(2.0 * factorization_loss(factors, M))
    target = math.sqrt(max(top - accuracy, 0.0))
    time = max(math.log(target / start), 0.0) / rho if target > 0.0 and start > 0.0 else 0.0
    log10_steps = max(time / first - 1.0, 0.0) / LN10
    frozen = math.log10(first * rho) - math.log10(np.finfo(np.float64).eps / 2.0)
    return ScheduleReport(
        first_step=first,
        budget_used=imbalance_budget(first**2 * math.pi**2 / 6.0, factors.rank, norm),
        budget=accuracy / 2.0,
        time_lower=time,
        log10_steps_lower=log10_steps,
        log10_years=log10_steps - math.log10(1e9 * YEAR),
        log10_underflow=math.log10(first) - LOG10_ZERO,
        log10_frozen=frozen,
    )


def _first_step(accuracy: float, rank: int, norm: float) -> float:
    if rank < 1:
        raise DataError(f"rank={rank!r} is not a positive integer")
    if not 0.0 < accuracy < norm:
        raise HypothesisError(
            f"accuracy={accuracy!r} is not between 0 and |M|_F = {norm:.6g}, as Theorem 4.4 asks",
            hypothesis="accuracy",
            value=accuracy,
        )
    return math.sqrt(accuracy / rank) / (100.0 * norm**1.5)
