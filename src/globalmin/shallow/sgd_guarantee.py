r"""What stochastic gradient descent from one point promises: step, mean decay, and the probability
of leaving a ball (OS-C4), from numbers and at the weights of a network.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array, ArrayLike
from globalmin.errors import HypothesisError
from globalmin.references import states
from globalmin.shallow.degenerate import pose
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.provability import linearize

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point

HALVINGS = 60  # of the interval of radii; more than the digits of a double


@dataclass(frozen=True)
class StochasticGuarantee:
    r"""Step, factor of $E[\|r_t\|^21]$ per step, radius that is not left, and the bound of the
    probability of leaving it.
    """

    step_size: float
    rate: float
    radius: float
    failure: float

    def envelope(self, updates: ArrayLike, square: float) -> Array:
        r"""$\mathrm{rate}^t \|r_0\|^2$, the bound of $E[\|r_t\|^2 1]$ after t updates."""
        return square * np.exp(np.asarray(updates, dtype=np.float64) * math.log(self.rate))


@states("OS-C4")
def stochastic_guarantee(
    a: float,
    b: float,
    Lip: float,
    residual_norm: float,
    *,
    n: int,
    row_norm: float,
    alpha: float | None = None,
) -> StochasticGuarantee:
    r"""SGD from any point, with an explicit probability (ours).

    Parameters
    ----------
    a, b, residual_norm : $\sigma_{\min}(J)$, $\|J\|$, $\|r\|$ at the start.
    Lip : Lipschitz constant of J on the ball of radius 2 rho, > 0.
    n : number of samples.
    row_norm : m, bound of the norms of the rows of J on the ball of radius rho, such as
        $B\|v\|\max\|x_i\|$.
    alpha : level in (0, a) that $\sigma_{\min}(J)$ keeps; by default 2a/3, which makes the failure
        bound least.

    Theory
    ------
    OS-C4: $\rho = (a-\alpha)/\mathrm{Lip}$, $b_2 = b+2\mathrm{Lip}\rho$, $\bar r = \|r\|+2b_2\rho$,
    $H = b_2^2+\mathrm{Lip}\bar r$, $\eta = \min(\alpha^2/(Hm^2), \rho/(m\bar r))$;
    $E[\|r_t\|^21\{t<T\}] \le (1-\eta\alpha^2/n)^t\|r\|^2$ and $P(T<\infty) \le 2\sqrt
    n\,m\|r\|/(\alpha^2\rho)$, T the exit from radius $\rho$.
    """
    level = 2.0 * a / 3.0 if alpha is None else alpha
    if not 0.0 < level < a or not Lip > 0.0:
        raise HypothesisError(
            f"OS-C4 needs 0 < alpha < a and Lip > 0; alpha={level:.3g}, a={a:.3g}, Lip={Lip:.3g}",
            value=level,
        )
    rho = (a - level) / Lip
    b2 = b + 2.0 * Lip * rho
    highest = residual_norm + 2.0 * b2 * rho
    H = b2**2 + Lip * highest
    eta = min(level**2 / (H * row_norm**2), rho / (row_norm * highest))
    failure = 2.0 * math.sqrt(n) * row_norm * residual_norm / (level**2 * rho)
    return StochasticGuarantee(eta, 1.0 - eta * level**2 / n, rho, min(1.0, failure))


@states("OS-C4")
def sgd_guarantee(
    network: ShallowNetwork, data: HasData, *, trained: Trained = "W", level: float | None = None
) -> StochasticGuarantee:
    r"""What one-sample stochastic gradient descent from exactly these weights promises (OS-C4).

    Parameters
    ----------
    network : ShallowNetwork
        Any weights with a small residual, such as those of `train(until="descent")`; the smaller
        the residual, the smaller the probability of failure.
    data : HasData
        Anything with X and y, such as a `Dataset`.
    trained : str
        "W" or "vW".
    level : float | None
        Alpha in (0, a), $a = \sigma_{\min}(J)$, that $\sigma_{\min}(J)$ keeps; by default 2a/3,
        which makes the bound of the failure least. A lower one gives a larger ball and step.

    Returns
    -------
    StochasticGuarantee
        Measured in floats, so an estimate. With T the first time outside of `radius`:
        $E[\|r_t\|^2 1\{t<T\}] \le$ rate$^t \|r_0\|^2$ at the step
        `step_size`, and $P(T < \infty) \le$ `failure`.

    Raises
    ------
    HypothesisError
        If J J^T is singular (fewer weights than samples, or tied rows) or phi has a kink.
    """
    return guarantee_at(network, pose(network, data, trained), level=level)


def guarantee_at(
    network: ShallowNetwork, start: Point, *, level: float | None = None
) -> StochasticGuarantee:
    """OS-C4 at a point of a training problem."""
    problem = start.problem
    point = linearize(start.gram(), start.residual) if network.activation.is_smooth else None
    if point is None:
        raise HypothesisError(
            f"OS-C4 needs a smooth activation and J J^T > 0 at these weights; the activation is "
            f"{network.activation} and {start.W.size} hidden weights meet {len(problem.y)} samples:"
            " widen the network, drop tied rows, or give step_size as a number",
            hypothesis="sigma_min(J) > 0",
        )
    level = 2.0 * point.a / 3.0 if level is None else level
    Lip = _self_consistent_lipschitz(network, start, point.a - level)
    return stochastic_guarantee(
        point.a, point.b, Lip, point.g,
        n=len(problem.y), row_norm=_row_norm(network, start, point.a - level), alpha=level,
    )  # fmt: skip


def _row_norm(network: ShallowNetwork, start: Point, drop: float) -> float:
    r"""A bound of the norms of the rows of J on the ball: $B\|v\|\max\|x_i\|$ (W only), or the
    largest at the start plus Lip rho = a - alpha.
    """
    squares = np.sum(start.problem.X**2, axis=1)
    rows = np.sum(start.slopes**2, axis=1) * squares
    if start.problem.moves_v:
        return float(np.sqrt(np.max(rows + np.sum(start.features**2, axis=1)))) + drop
    measured = float(np.sqrt(np.max(rows))) + drop
    B = float(network.activation.supremum(1))
    return min(measured, B * float(np.linalg.norm(network.v)) * float(np.sqrt(np.max(squares))))


def _self_consistent_lipschitz(network: ShallowNetwork, start: Point, drop: float) -> float:
    r"""Lip with $\rho = (a-\alpha)/\mathrm{Lip}$ such that Lip holds on the ball of radius
    $2\rho$.

    Lip(rho) grows with rho, so the largest rho with rho Lip(2 rho) <= a - alpha is found by halving
    an interval; (a - alpha)/rho is then at least Lip(2 rho).
    """
    X, trained = start.problem.X, start.problem.trained

    def is_inside(rho: float) -> bool:
        return rho * estimate_lipschitz(network, X, 2.0 * rho, trained=trained) <= drop

    least = estimate_lipschitz(network, X, 0.0, trained=trained)
    if not 0.0 < least < math.inf:
        raise HypothesisError(
            f"OS-C4 needs a Jacobian with a finite and positive Lipschitz constant; it is {least} "
            f"for {network.activation} here: give step_size as a number",
            hypothesis="0 < Lip < inf",
            value=least,
        )
    low = high = drop / least
    while not is_inside(low):
        low /= 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_inside(middle) else (low, middle)
    return drop / low
