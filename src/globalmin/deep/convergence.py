"""The rate promised by DU-T3.1 (fully connected), T3.2 (residual) and T3.3 (convolutional
residual), against a real run.

The orders of the required widths are in `widths`; their constants are unknown.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.references import states


class History(Protocol):
    """What the theorems speak of: the losses of gradient descent with one step size, at recorded
    steps.
    """

    @property
    def iteration(self) -> NDArray[np.int64]:
        """Numbers of the recorded steps, 0 first."""
        ...

    @property
    def loss(self) -> Array:
        """(1/2) sum of squares at these steps."""
        ...

    @property
    def step_size(self) -> float:
        """The step size eta."""
        ...


class RateCheck(NamedTuple):
    """The promised and the measured rate.

    Attributes
    ----------
    holds : whether L_k <= (1 - eta lambda_0/2)^k L_0 at every recorded step.
    worst : largest L_k/((1 - eta lambda_0/2)^k L_0), at most 1 if the promise holds.
    at : the step where that is.
    promised : eta lambda_0/2, the promised decrease of log L per step.
    measured : mean decrease of log L per step over the run (until the loss is at the rounding level
        1e-24 L_0).
    """

    holds: bool
    worst: float
    at: int
    promised: float
    measured: float


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
def rate_check(history: History, lambda0: float) -> RateCheck:
    """Compare a run of gradient descent with the promise of the theorems.

    Parameters
    ----------
    history : a trajectory of `deep.train.train_deep` with method "gradient_descent", or anything
        with the same three names.
    lambda0 : lambda_min(K^(H)), see `deep_gram`; lambda_min of the full kernel gives a promise that
        is not the theorems'.
    """
    k, loss, eta = (
        np.asarray(history.iteration),
        np.asarray(history.loss, dtype=np.float64),
        float(history.step_size),
    )
    if not (eta > 0 and lambda0 >= 0 and 0.5 * eta * lambda0 < 1):
        raise DataError(
            f"step_size={eta!r} and lambda0={lambda0!r} must satisfy 0 <= step_size * lambda0 < 2, "
            "step_size > 0"
        )
    promised = -math.log1p(-0.5 * eta * lambda0)
    if len(loss) == 0 or loss[0] <= 0:
        return RateCheck(True, 0.0, 0, promised, math.inf)
    seen = loss > 1e-24 * loss[0]
    with np.errstate(over="ignore", invalid="ignore"):
        ratios = np.where(
            seen, np.exp(np.log(np.maximum(loss, 1e-300) / loss[0]) + promised * k), 0.0
        )
    worst = int(np.argmax(ratios))
    last = int(np.flatnonzero(seen)[-1])
    measured = math.log(loss[0] / loss[last]) / float(k[last]) if k[last] > 0 else 0.0
    return RateCheck(
        bool(ratios[worst] <= 1.0 + 1e-9), float(ratios[worst]), int(k[worst]), promised, measured
    )


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0.0 else math.inf


@states("DU-T3.1")
def deep_width_order(n: int, depth: int, lambda0: float, delta: float = 0.1) -> float:
    r"""$\max(n^4/\lambda_0^4, n/\delta, n^2\ln(Hn/\delta)/\lambda_0^2)$, the width of DU-T3.1
    without its factor $2^{O(H)}$, which the thesis does not give: an order of magnitude, no bound.
    """
    logarithm = math.log(depth * n / delta)
    return max(
        _quotient(float(n) ** 4, lambda0**4), n / delta, _quotient(n**2 * logarithm, lambda0**2)
    )


@states("DU-T3.2", "DU-T3.3")
def residual_width_order(
    n: int, depth: int, lambda0: float, delta: float = 0.1, *, pixels: int = 1
) -> float:
    r"""The width of DU-T3.2 (pixels = 1) and DU-T3.3 without constants and poly(p): an order of
    magnitude, no bound.

    The corrected first terms are $n^4/(\lambda_0^4H^4)$ and $n^2/\lambda_0^2$, because head and
    first layer move without the factor 1/H (erratum E15); for convolutions $n^4/(\lambda_0^4H^2)$
    takes the place of the second.
    """
    first = _quotient(float(n) ** 4, lambda0**4 * depth**4)
    second = (
        _quotient(n**2, lambda0**2)
        if pixels == 1
        else _quotient(float(n) ** 4, lambda0**4 * depth**2)
    )
    return max(first, second, n / delta, _quotient(n**2 * math.log(depth * n / delta), lambda0**2))
