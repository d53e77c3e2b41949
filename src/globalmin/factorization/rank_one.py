r"""Theorem 4.5: gradient descent with a constant step on a matrix $\sigma_1u^*v^{*T}$ is a map of
four numbers.

$\alpha=u^Tu^*$, $\beta=v^Tv^*$ are the signals, $\alpha_\perp$, $\beta_\perp$ the norms of the
rest; $h=\alpha\beta-\sigma_1$, $\xi=\alpha_\perp^2+\beta_\perp^2$. Any dimension costs the same.
The constants of the theorem are readable from its proof and far too small to use: the map is run,
and the conditions of both lemmas are measured.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError, HypothesisError
from globalmin.references import states

RATIO = 99.0 / 101.0  # |alpha - beta| <= RATIO (alpha + beta) in stage 1


@dataclass(frozen=True)
class RankOneState:
    """The four numbers of a point."""

    alpha: float
    beta: float
    alpha_rest: float
    beta_rest: float

    @property
    def xi(self) -> float:
        r"""$\xi=\alpha_\perp^2+\beta_\perp^2$."""
        return self.alpha_rest**2 + self.beta_rest**2

    def h(self, sigma: float) -> float:
        r"""$h=\alpha\beta-\sigma_1$."""
        return self.alpha * self.beta - sigma

    def distance(self, sigma: float) -> float:
        r"""$\lVert uv^T-M\rVert_F =
        (h^2+\alpha^2\beta_\perp^2+\beta^2\alpha_\perp^2+\alpha_\perp^2\beta_\perp^2)^{1/2}$.
        """
        cross = (self.alpha * self.beta_rest) ** 2 + (self.beta * self.alpha_rest) ** 2
        return math.sqrt(self.h(sigma) ** 2 + cross + (self.alpha_rest * self.beta_rest) ** 2)


@states("DU-T4.5")
def rank_one_state(
    u: ArrayLike, v: ArrayLike, u_star: ArrayLike, v_star: ArrayLike
) -> RankOneState:
    """The four numbers of vectors u, v against unit vectors u*, v*."""
    numbers = []
    for x, unit in ((u, u_star), (v, v_star)):
        x, unit = np.asarray(x, dtype=np.float64), np.asarray(unit, dtype=np.float64)
        signal = float(x @ unit)
        numbers.append((signal, float(np.linalg.norm(x - signal * unit))))
    (alpha, alpha_rest), (beta, beta_rest) = numbers
    return RankOneState(alpha, beta, alpha_rest, beta_rest)


@states("DU-T4.5")
def rank_one_step(state: RankOneState, sigma: float, step_size: float) -> RankOneState:
    r"""One step of descent (4.23):
    $\alpha^+=(1-\eta(\beta^2+\beta_\perp^2))\alpha+\eta\sigma_1\beta$, and so on.
    """
    shrink_u = 1.0 - step_size * (state.beta**2 + state.beta_rest**2)
    shrink_v = 1.0 - step_size * (state.alpha**2 + state.alpha_rest**2)
    return RankOneState(
        shrink_u * state.alpha + step_size * sigma * state.beta,
        shrink_v * state.beta + step_size * sigma * state.alpha,
        abs(shrink_u) * state.alpha_rest,
        abs(shrink_v) * state.beta_rest,
    )


@states("DU-T4.5")
def draw_rank_one(d: int, sigma: float, c_init: float, *, seed: int = 0) -> RankOneState:
    r"""A start $u_0,v_0\sim N(0,\delta^2I)$ as four numbers; the standard deviation is
    $\delta=c_{init}\sqrt{\sigma_1/d}$ (E21).

    The norms of the rests are drawn from their chi distributions, so the cost does not depend on d.
    Signs are drawn too: half of all starts have $\alpha_0\beta_0<0$, and the theorem says nothing
    of them.
    """
    if d < 1 or not (sigma > 0.0 and c_init > 0.0):
        raise DataError(f"d={d!r}, sigma={sigma!r}, c_init={c_init!r} must be positive")
    rng = np.random.default_rng(seed)
    delta = c_init * math.sqrt(sigma / d)
    alpha, beta = delta * rng.standard_normal(2)
    rests = delta * np.sqrt(rng.chisquare(d - 1, 2)) if d > 1 else np.zeros(2)
    return RankOneState(float(alpha), float(beta), float(rests[0]), float(rests[1]))


@dataclass(frozen=True)
class RankOneRun:
    r"""A run of the map with what Lemmas 4.5 and 4.6 say about it.

    Attributes
    ----------
    alpha, beta, alpha_rest, beta_rest, distance : one entry per step, the start included.
    first_stage : $T_1=\min\{t:\alpha_t^2+\beta_t^2\ge\sigma_1/2\}$, None if never.
    steps : until the accuracy is reached, None if never.
    c_1 : the largest constant with $\alpha_t,\beta_t\ge\sqrt{c_1\sigma_1}$ from $T_1$ on
        (measured).
    stage_one, stage_two : the conditions (i)-(iv) and (a)-(d), each with whether it held at every
        step.
    ratio : smallest and largest $\alpha_t/\beta_t$ seen. tail_rate : factor of the distance per
        step at the end.
    """

    alpha: Array
    beta: Array
    alpha_rest: Array
    beta_rest: Array
    distance: Array
    first_stage: int | None
    steps: int | None
    c_1: float
    stage_one: dict[str, bool]
    stage_two: dict[str, bool]
    ratio: tuple[float, float]
    tail_rate: float


@states("DU-T4.5")
def rank_one_run(
    state: RankOneState,
    sigma: float,
    c_step: float,
    *,
    accuracy: float = 1e-10,
    max_iter: int = 100_000,
) -> RankOneRun:
    r"""Run the map with $\eta=c_{step}/\sigma_1$ until the distance is at most `accuracy` times
    $\sigma_1$; check both lemmas.

    Raises
    ------
    HypothesisError : $\alpha_0\beta_0\le0$, for which the theorem says nothing.
    """
    if not state.alpha * state.beta > 0.0:
        raise HypothesisError(
            f"alpha_0 beta_0 = {state.alpha * state.beta:.3g} is not positive; draw another start "
            "(half of them are)",
            hypothesis="alpha_0 beta_0 > 0",
            value=state.alpha * state.beta,
        )
    if state.alpha < 0.0:  # flip u* and v*, as the footnote does
        state = RankOneState(-state.alpha, -state.beta, state.alpha_rest, state.beta_rest)
    step, path = c_step / sigma, [state]
    while path[-1].distance(sigma) > accuracy * sigma and len(path) <= max_iter:
        path.append(rank_one_step(path[-1], sigma, step))
    return _read_run(path, sigma, c_step, accuracy)


def _read_run(path: list[RankOneState], sigma: float, c_step: float, accuracy: float) -> RankOneRun:
    table = np.array(
        [(s.alpha, s.beta, s.alpha_rest, s.beta_rest, s.distance(sigma)) for s in path]
    ).T
    alpha, beta = table[0], table[1]
    late = np.flatnonzero(alpha**2 + beta**2 >= sigma / 2.0)
    first = int(late[0]) if late.size else None
    xi = table[2] ** 2 + table[3] ** 2
    end = len(path) if first is None else first
    c_1 = (
        float(np.min(np.minimum(alpha, beta)[end:], initial=math.inf)) ** 2 / sigma
        if end < len(path)
        else math.nan
    )
    far = table[4][-min(20, len(path)) :]
    rate = (
        float((far[-1] / far[0]) ** (1.0 / (len(far) - 1)))
        if len(far) > 1 and far[0] > 0.0
        else math.nan
    )
    return RankOneRun(
        *table,
        first_stage=first,
        steps=len(path) - 1 if table[4][-1] <= accuracy * sigma else None,
        c_1=c_1,
        stage_one=_stage_one(alpha, beta, xi, c_step, end),
        stage_two=_stage_two(alpha * beta - sigma, xi, c_1, c_step, end),
        ratio=(float(np.min(alpha / beta)), float(np.max(alpha / beta))),
        tail_rate=rate,
    )


def _stage_one(alpha: Array, beta: Array, xi: Array, c_step: float, end: int) -> dict[str, bool]:
    """Lemma 4.5 for t < T_1; the ratio condition is the corrected (iv)."""
    total = alpha + beta
    growth = total[1 : end + 1] / total[: min(end, len(total) - 1)]
    return {
        "(i) signals positive": bool(np.all(alpha[:end] > 0.0) and np.all(beta[:end] > 0.0)),
        "(ii) rest not above its start": bool(np.all(xi[:end] <= xi[0] * (1.0 + 1e-12))),
        "(iii) growth": bool(
            np.all(growth >= 1.0 + c_step / 3.0)
            and np.all(growth <= (1.0 + c_step) * (1.0 + 1e-12))
        ),
        "(iv) ratio": bool(np.all(np.abs(alpha - beta)[:end] <= RATIO * total[:end])),
    }


def _stage_two(h: Array, xi: Array, c_1: float, c_step: float, start: int) -> dict[str, bool]:
    """Lemma 4.6 for t >= T_1 with the measured c_1; rounding of h is allowed for."""
    late_h, late_xi = h[start:], xi[start:]
    shrink, tiny = 1.0 - c_1 * c_step, 1e-13
    steps = np.arange(late_xi.size)
    with np.errstate(under="ignore"):
        decay = late_xi <= shrink**steps * xi[0] * (1.0 + 1e-9)
    scale = np.abs(h[0]) if h.size else 1.0
    return {
        "(a) signals above sqrt(c_1 sigma_1)": bool(c_1 > 0.0),
        "(b) product not above sigma_1": bool(np.all(late_h <= tiny * scale)),
        "(c) rest shrinks": bool(np.all(decay)),
        "(d) signal converges": bool(
            np.all(
                np.abs(late_h[1:])
                <= shrink * np.abs(late_h[:-1]) + c_step * late_xi[:-1] + tiny * scale
            )
        ),
    }


@states("DU-T4.5")
def first_stage_at_most(state: RankOneState, sigma: float, c_step: float) -> int:
    r"""$T_1\le\lceil\log(\sqrt{\sigma_1}/(\alpha_0+\beta_0))/\log(1+c_{step}/3)\rceil+1$, if the
    conditions of stage 1 hold.
    """
    total = abs(state.alpha) + abs(state.beta)
    return max(math.ceil(math.log(math.sqrt(sigma) / total) / math.log1p(c_step / 3.0)), 0) + 1


@dataclass(frozen=True)
class RankOneConstants:
    """The constants that the proof of Theorem 4.5 yields when read with numbers."""

    c_1: float
    c_init_stage_one: float
    c_init_stage_two: float
    c_init_printed: float


@states("DU-T4.5")
def rank_one_constants() -> RankOneConstants:
    r"""$c_1=1/(8\cdot10001)$; stage 1 needs $c_{init}^2\le1/600$, stage 2
    $e^{-200c_{init}^2/c_1}\ge\frac12$.

    `c_init_printed` is the last with $\xi_0\le200c_{init}^2\sigma_1$, which is what the hypotheses
    give (E21). All are hopelessly small: with $c_1=1.2\cdot10^{-5}$ and $c_{step}=.1$ the promised
    rate halves the error in half a million steps.
    """
    c_1 = 1.0 / (8.0 * 10001.0)
    return RankOneConstants(
        c_1,
        math.sqrt(1.0 / 600.0),
        math.sqrt(c_1 * math.log(2.0) / 200.0),
        math.sqrt(c_1 * math.log(2.0) / 400.0),
    )
