r"""Gradient descent on the population risk of a planted quadratic network, with the step and the
rate of GKZ-RATE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError, HypothesisError
from globalmin.optimize.follow import (
    Iterate,
    Options,
    Recorder,
    Watch,
    Watching,
    Weighed,
    at_most,
    every_step,
    follow,
)
from globalmin.optimize.run import Run
from globalmin.quadratic.barrier import DescentRate, identity_start, population_rate
from globalmin.quadratic.general_activation import general_gradient, general_risk
from globalmin.references import states


@dataclass(frozen=True, eq=False, kw_only=True)
class PopulationDescent(Run[Array]):
    """The last weights, the risk at every step (start included), the step used and the rate it
    guarantees (1 if none).
    """

    eta: float
    rate: float

    @property
    def W(self) -> Array:
        """The last weights."""
        return self.network

    @property
    def risks(self) -> Array:
        """The risk at every step."""
        return self.losses


@states("GKZ-GD", "GKZ-RATE")
def population_descent(
    W0: Array,
    Wstar: Array,
    *,
    coefficients: tuple[float, float, float] = (1.0, 0.0, 0.0),
    eta: float | None = None,
    max_iter: int = 1_000,
    tol: float = 1e-15,
    **options: Unpack[Watching],
) -> PopulationDescent:
    r"""$W_{t+1} = W_t - \eta\nabla L(W_t)$ on the population risk until $L \le$ `tol` $L(W_0)$ or
    `max_iter` steps.

    Parameters
    ----------
    W0, Wstar : start and teacher, m x d with m >= d.
    coefficients : $(\alpha, \beta, \gamma)$ of the activation.
    eta : step; default the largest with a guarantee, 1/Lip, which exists below the exact barrier
        only, and for $\beta = 0$.
    options : verbose, throw, monitor as in `train`.
    """
    if max_iter < 1 or not tol >= 0:
        raise DataError(
            f"max_iter={max_iter} and tol={tol} must satisfy max_iter >= 1 and tol >= 0"
        )
    guaranteed = general_rate(W0, Wstar, coefficients)
    if guaranteed is None and eta is None:
        why = (
            "the activation has a linear part"
            if coefficients[1]
            else "the start is not below the energy barrier"
        )
        raise HypothesisError(
            f"{why}, so no step size has a guarantee; give eta, or a better start",
            hypothesis="L(W0) < barrier, beta = 0",
            value=general_risk(W0, Wstar, coefficients),
        )
    covered = guaranteed is not None and (eta is None or 0 < eta <= 1.0 / guaranteed.Lip)
    step = general_rate(W0, Wstar, coefficients, eta=eta) if covered else None
    size = (
        float(eta) if step is None and eta is not None else (step.eta if step is not None else 0.0)
    )
    first = Weighed(np.array(W0, dtype=np.float64), general_risk(W0, Wstar, coefficients))
    watch = Watch(
        first,
        lambda point: point.network,
        Recorder(gap=every_step),
        Options(max_iter=max_iter, **options),
        method="gradient_descent",
        default_max_iter=max_iter,
        reached=at_most(tol * first.loss),
        keeps_last=True,
    )
    run = follow(watch, _steps(first.network, Wstar, coefficients, size))
    return PopulationDescent.of(run, eta=size, rate=1.0 if step is None else step.rate)


def _steps(
    W: Array, Wstar: Array, coefficients: tuple[float, float, float], size: float
) -> Iterator[Iterate[Weighed[Array]]]:
    while True:
        W = W - size * general_gradient(W, Wstar, coefficients)
        yield Iterate(Weighed(W, general_risk(W, Wstar, coefficients)))


@states("GKZ-RATE", "GKZ-C2.2")
def general_rate(
    W0: Array,
    Wstar: Array,
    coefficients: tuple[float, float, float],
    *,
    eta: float | None = None,
) -> DescentRate | None:
    r"""`population_rate` for $\alpha z^2 + \gamma$, whose risk is $\alpha^2$ times that of $z^2$:
    the step is $\alpha^2$ times smaller, the rate the same. None where there is no guarantee, as
    with $\beta \ne 0$.
    """
    square = coefficients[0] ** 2
    if coefficients[1] != 0.0:
        return None
    found = population_rate(W0, Wstar, eta=None if eta is None else eta * square)
    if found is None:
        return None
    return DescentRate(found.eta / square, found.Lip * square, found.rate, found.s2)


@dataclass(frozen=True)
class RateComparison:
    """Descents from the identity start for several teachers: share below the barrier, and of those
    the certified rates, the worst factor seen in a step of each, and whether each reached 1e-12 of
    its first risk.
    """

    below: float
    certified: Array
    measured: Array
    reached: Array


@states("GKZ-X2", "GKZ-RATE")
def compare_rates(
    d: int,
    width: int,
    *,
    scale: str | float = "width",
    draws: int = 5,
    seed: int = 0,
    max_iter: int = 2_000,
) -> RateComparison:
    r"""Gaussian teachers of `width` neurons: descent from $\sqrt\gamma[I; 0]$ with the certified
    step, certified against measured rate.

    Parameters
    ----------
    scale : $\gamma$ as in `identity_start`: "paper" (m + 4d), "width" (m) or a number.
    """
    rng = np.random.default_rng(seed)
    certified, measured, reached = [], [], []
    for _ in range(draws):
        Wstar, W0 = rng.standard_normal((width, d)), identity_start(width, d, scale=scale)
        if population_rate(W0, Wstar) is None:
            continue
        run = population_descent(W0, Wstar, max_iter=max_iter, tol=1e-12)
        certified.append(run.rate)
        measured.append(float((run.risks[1:] / run.risks[:-1]).max()))
        reached.append(float(run.risks[-1] <= 1e-12 * run.risks[0]))
    return RateComparison(
        len(certified) / draws, np.array(certified), np.array(measured), np.array(reached)
    )
