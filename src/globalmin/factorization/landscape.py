r"""Asymmetric matrix factorization, $f(U,V)=\frac12\lVert UV^T-M\rVert_F^2$: loss, gradients,
Hessian, what descent meets there, and the step sizes of Theorem 4.4 with the numbers that show why
the printed ones cannot work.

Everything in floats, hence estimates; proofs are the checker's (`certify_factorization`).

The printed schedule is $\eta_t = \sqrt{\varepsilon/r}/(100(t+1)\lVert M\rVert_F^{3/2})$. Its sum
grows like log t, so the number of steps is the exponential of what the flow needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError, HypothesisError
from globalmin.factorization.factors import Factors, checked_matrix
from globalmin.references import states

PENALTY = 0.125  # weight of ||U^T U - V^T V||_F^2 in the regularized objective (4.3)


@states("DU-M4")
def factorization_loss(factors: Factors, M: ArrayLike, *, penalty: float = 0.0) -> float:
    r"""$\frac12\lVert UV^T-M\rVert_F^2 + p\lVert U^TU-V^TV\rVert_F^2$; the thesis has p = 0 in
    (4.1) and p = 1/8 in (4.3).
    """
    residual = factors.product() - np.asarray(M, dtype=np.float64)
    return 0.5 * float(np.vdot(residual, residual)) + penalty * float(
        np.sum(imbalance(factors) ** 2)
    )


@states("DU-M4", "DU-A4.9")
def factorization_gradient(
    factors: Factors, M: ArrayLike, *, penalty: float = 0.0
) -> tuple[Array, Array]:
    r"""$(RV, R^TU)$ with $R = UV^T-M$ (4.2), plus $4p\,U D$ and $-4p\,V D$ with $D = U^TU-V^TV$ for
    the penalty.

    R is never formed: two products of M with r columns.
    """
    U, V, M = factors.U, factors.V, np.asarray(M, dtype=np.float64)
    by_u, by_v = U @ (V.T @ V) - M @ V, V @ (U.T @ U) - M.T @ U
    if penalty:
        D = imbalance(factors)
        by_u, by_v = by_u + 4.0 * penalty * U @ D, by_v - 4.0 * penalty * V @ D
    return by_u, by_v


@states("DU-T4.2", "DU-T4.4")
def imbalance(factors: Factors) -> Array:
    r"""$U^TU-V^TV$, which gradient flow on (4.1) does not change."""
    return factors.U.T @ factors.U - factors.V.T @ factors.V


@states("DU-T4.4")
def imbalance_change(factors: Factors, M: ArrayLike, step_size: float) -> Array:
    r"""What one step adds to `imbalance`: $\eta^2(V^TR^TRV-U^TRR^TU)$, (4.13) with its transposes
    put right (E20).

    Exact up to rounding, for every step size.
    """
    by_u, by_v = factorization_gradient(factors, M)
    return step_size**2 * (by_u.T @ by_u - by_v.T @ by_v)


@states("DU-T4.4")
def hessian_form(factors: Factors, M: ArrayLike, directions: tuple[ArrayLike, ArrayLike]) -> float:
    r"""$\nabla^2f[\Delta,\Delta] = 2\langle R,\Delta_U\Delta_V^T\rangle + \lVert
    U\Delta_V^T+\Delta_UV^T\rVert_F^2$ (4.12).
    """
    along_u, along_v = (np.asarray(part, dtype=np.float64) for part in directions)
    residual = factors.product() - np.asarray(M, dtype=np.float64)
    moved = factors.U @ along_v.T + along_u @ factors.V.T
    return 2.0 * float(np.vdot(residual, along_u @ along_v.T)) + float(np.vdot(moved, moved))


@states("DU-T4.4")
def hessian_times(
    factors: Factors, M: ArrayLike, directions: tuple[ArrayLike, ArrayLike]
) -> tuple[Array, Array]:
    """The Hessian applied to a pair of directions."""
    along_u, along_v = (np.asarray(part, dtype=np.float64) for part in directions)
    residual = factors.product() - np.asarray(M, dtype=np.float64)
    moved = factors.U @ along_v.T + along_u @ factors.V.T
    return moved @ factors.V + residual @ along_v, moved.T @ factors.U + residual.T @ along_u


@states("DU-T4.4")
def smoothness_at_most(c: float, norm: float) -> float:
    r"""$(6c+2)\lVert M\rVert_F$, on the set $\lVert U\rVert_F^2,\lVert V\rVert_F^2\le c\lVert
    M\rVert_F$ (Lemma 4.3).
    """
    return (6.0 * c + 2.0) * norm


@states("DU-T4.4")
def descent_smoothness_at_most(rank: int, norm: float) -> float:
    r"""$(66\sqrt r+2)\lVert M\rVert_F$, for steps from points with $\lVert U\rVert_F^2,\lVert
    V\rVert_F^2$ as in Lemma 4.1.

    Those are at most $5\sqrt r\lVert M\rVert_F$; the segment of a step may leave that set, and the
    proof uses $c=11\sqrt r$.
    """
    return smoothness_at_most(11.0 * math.sqrt(rank), norm)


def estimate_best_loss(M: ArrayLike, rank: int) -> float:
    r"""Half the sum of $\sigma_i^2$, i > r: the smallest loss of any factors of this rank (Eckart
    and Young), by a full SVD.
    """
    values = np.linalg.svd(checked_matrix(M), compute_uv=False)
    return 0.5 * float(np.sum(values[rank:] ** 2))


@dataclass(frozen=True)
class StartConditions:
    r"""The deterministic conditions on a start that the proof of DU-T4.4 needs in place of
    "poly(d)".

    Attributes
    ----------
    sizes : $\lVert U_0\rVert_F^2,\lVert V_0\rVert_F^2$, to be at most eps. imbalance : to be at
        most eps/2.
    accuracy : eps itself, to be between 0 and $\lVert M\rVert_F$. hold : all of it.
    """

    sizes: tuple[float, float]
    imbalance: float
    accuracy: float
    hold: bool


@states("DU-T4.4")
def start_conditions(factors: Factors, M: ArrayLike, accuracy: float) -> StartConditions:
    """Check the start of Theorem 4.4 for an accuracy eps."""
    sizes = (float(np.sum(factors.U**2)), float(np.sum(factors.V**2)))
    off = float(np.linalg.norm(imbalance(factors)))
    norm = float(np.linalg.norm(np.asarray(M, dtype=np.float64)))
    hold = max(sizes) <= accuracy and off <= accuracy / 2.0 and 0.0 < accuracy < norm
    return StartConditions(sizes, off, accuracy, hold)


@dataclass(frozen=True)
class Monitors:
    r"""Lemma 4.1 along a run: (A) imbalance at most eps, (B) loss never rises and is at most
    $2\lVert M\rVert_F^2$, (C) sizes.

    The numbers are the largest ones met; `hold` says whether all three properties held at every
    recorded step.
    """

    imbalance: float
    largest_rise: float
    largest_loss: float
    largest_size: float
    hold: bool


@states("DU-T4.4")
def lemma_monitors(
    table: tuple[ArrayLike, ArrayLike, ArrayLike], M: ArrayLike, rank: int, accuracy: float
) -> Monitors:
    r"""Read Lemma 4.1 off a run.

    Parameters
    ----------
    table : losses, $\lVert U^TU-V^TV\rVert_F$, and the larger of $\lVert U\rVert_F^2,\lVert
        V\rVert_F^2$, one entry per step.
    """
    losses, offs, sizes = (np.asarray(part, dtype=np.float64) for part in table)
    norm = float(np.linalg.norm(np.asarray(M, dtype=np.float64)))
    rise = float(np.max(np.diff(losses), initial=-math.inf))
    bounds = (
        float(offs.max()) <= accuracy,
        rise <= 1e-14 * norm**2,
        float(losses.max()) <= 2.0 * norm**2,
    )
    hold = all(bounds) and float(sizes.max()) <= 5.0 * math.sqrt(rank) * norm
    return Monitors(float(offs.max()), rise, float(losses.max()), float(sizes.max()), hold)


@states("DU-L4.4")
def descent_slack(losses: ArrayLike, gradients: ArrayLike, steps: ArrayLike) -> Array:
    r"""$f_t-f_{t+1}-\frac{\eta_t}{2}\lVert\nabla f_t\rVert^2$ for every step (4.16): not negative
    for steps up to $1/\beta$.

    With $\sum\eta_t=\infty$ it makes the limit exist and be stationary (Lemma 4.4).

    Parameters
    ----------
    losses, gradients : at every point of a run, the last included. steps : the step sizes, one
        fewer.
    """
    losses, gradients, steps = (
        np.asarray(part, dtype=np.float64) for part in (losses, gradients, steps)
    )
    return losses[:-1] - losses[1:] - 0.5 * steps * gradients[:-1] ** 2


@dataclass(frozen=True)
class SaddleTest:
    r"""The direction $\Delta = W - W^*R$ of Lemma 4.2 and what it shows.

    Attributes
    ----------
    direction : the pair $(\Delta_U, \Delta_V)$. curvature : the second derivative along it (not
        divided by its length).
    bound : $-\lVert UV^T-M\rVert_F^2+\frac12\varepsilon^2$ with eps the imbalance; the curvature is
        at most this at a stationary point of a matrix M of rank at most r.
    gradient_norm : how stationary the point is. distance : $\lVert UV^T-M\rVert_F$.
    """

    direction: tuple[Array, Array]
    curvature: float
    bound: float
    gradient_norm: float
    distance: float

    @property
    def is_escape(self) -> bool:
        """Whether the direction has negative curvature."""
        return self.curvature < 0.0


@states("DU-L4.2")
def saddle_test(factors: Factors, M: ArrayLike) -> SaddleTest:
    """The direction towards the nearest balanced optimal factors, its curvature and the bound of
    Lemma 4.2.
    """
    M = checked_matrix(M)
    best = balanced_target(M, factors.rank)
    R = nearest_rotation(factors, best)
    direction = (factors.U - best.U @ R, factors.V - best.V @ R)
    residual = float(np.linalg.norm(factors.product() - M))
    off = float(np.linalg.norm(imbalance(factors)))
    slope = float(np.sqrt(sum(np.sum(part**2) for part in factorization_gradient(factors, M))))
    return SaddleTest(
        direction, hessian_form(factors, M, direction), 0.5 * off**2 - residual**2, slope, residual
    )


def balanced_target(M: ArrayLike, rank: int) -> Factors:
    r"""$U^*=\Phi\Sigma^{1/2}$, $V^*=\Psi\Sigma^{1/2}$ of the truncated singular value
    decomposition: a global minimum.
    """
    left, values, right = np.linalg.svd(checked_matrix(M), full_matrices=False)
    roots = np.sqrt(values[:rank])
    U, V = np.zeros((left.shape[0], rank)), np.zeros((right.shape[1], rank))
    U[:, : roots.size], V[:, : roots.size] = left[:, :rank] * roots, right[:rank].T * roots
    return Factors(U, V)


def nearest_rotation(factors: Factors, target: Factors) -> Array:
    r"""The orthogonal R with the smallest $\lVert W-W^*R\rVert_F$, W the factors one above the
    other (Procrustes).
    """
    left, _, right = np.linalg.svd(target.U.T @ factors.U + target.V.T @ factors.V)
    return left @ right


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
