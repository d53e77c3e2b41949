"""Claim `sgd-trajectory`: stochastic gradient descent from its start, in its recorded order and
then in every order that goes on meeting all samples, reaches zero loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import NotPositiveDefiniteError
from globalmin.proving.claim import (
    Claim,
    ClaimRecord,
    Json,
    Proves,
    Question,
    Tensor,
    rational,
)
from globalmin.references import states
from globalmin.shallow.claims.linearized_point import MARGIN, measure
from globalmin.shallow.claims.lipschitz_witness import lipschitz_witness
from globalmin.shallow.claims.replay import length_above, reach, replay_parts
from globalmin.shallow.claims.subject import ZERO_IS_LEAST
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.data import Dataset
    from globalmin.shallow.from_start import StartedRun

_SHARE = 0.25  # alpha = a - Lip rho: rho alpha^3, what the theorem asks for, is largest here
_ROOM = 1e-6  # relative room for rounding in the letters of the theorem


@dataclass(frozen=True)
class SampleConstants:
    r"""Bounds for one sample, everywhere: $m \ge \|\nabla f_i\|$ and $\ell$, a Lipschitz constant
    of it.
    """

    m: float
    ell: float
    beta: float


def sample_constants(network: ShallowNetwork, X: Array) -> SampleConstants:
    r"""$m = b_1\|v\|\max|x_i|$, $\ell = b_2\|v\|_\infty\max|x_i|^2$, $\beta = b_1\|v\|\|X\|$."""
    b1, b2 = (float(network.activation.supremum(order)) for order in (1, 2))
    head, longest = float(np.linalg.norm(network.v)), float(np.linalg.norm(X, axis=1).max())
    ell = b2 * float(np.abs(network.v).max()) * longest**2
    return SampleConstants(b1 * head * longest, ell, b1 * head * float(np.linalg.norm(X, 2)))


@dataclass(frozen=True)
class StochasticLanding:
    r"""Theorem SG in floats for blocks of n steps: $D = \|r\|/\alpha$ and the path M that is left;
    `ratio` must be below 1.
    """

    gam: float
    D: float
    M: float
    ratio: float


@states("OS-T2.6")
def stochastic_landing(
    bounds: SampleConstants, eta: float, n: int, *, alpha: float, g: float, Delta: float, rho: float
) -> StochasticLanding:
    r"""$c = \eta(2-\eta m^2)/2$, $\kappa = \eta^2\ell^2/4c$, $\gamma = c\alpha^2/(1+\eta m^2n)^2$,
    $M = (4/\gamma)\eta m\sqrt{5n/4c}\,D$; it holds if $4n\kappa D^2 \le \gamma$ and $D + M + \Delta
    \le \rho$.
    """
    m2 = bounds.m * bounds.m
    cc = eta * (2.0 - eta * m2) / 2.0
    if not (cc > 0.0 and alpha > 0.0):
        return StochasticLanding(0.0, math.inf, math.inf, math.inf)
    kap = (eta * bounds.ell) ** 2 / (4.0 * cc)
    gam = cc * (alpha / (1.0 + eta * m2 * n)) ** 2
    D = (g + bounds.beta * Delta) / alpha
    M = 4.0 / gam * eta * bounds.m * math.sqrt(5.0 * n / (4.0 * cc)) * D
    ratio = max(4.0 * n * kap * D * D / gam, (D + M + Delta) / rho)
    return StochasticLanding(gam, D, M, ratio)


def landing_radius(network: ShallowNetwork, X: Array, a: float) -> float:
    r"""The radius $\rho$ with $\mathrm{Lip}(\rho)\,\rho$ about a quarter of a."""
    rho = _SHARE * a / estimate_lipschitz(network, X, math.inf)
    for _ in range(3):
        rho = _SHARE * a / estimate_lipschitz(network, X, rho)
    return rho


def build(network: ShallowNetwork, data: Dataset, run: StartedRun) -> Claim:
    """The claim about the run, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : the network where the run lands, and the data.
    run : the start, the step and the order of the samples.
    """
    point = measure(network, data, "W")
    X, Delta, n = point.X, reach(run), point.y.size
    rho = landing_radius(network, X, point.a)
    try:
        lipschitz = lipschitz_witness(network, X, rho, trained="W", method="rows")
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(str(failure)) from None
    found = stochastic_landing(
        sample_constants(network, X),
        run.step_size,
        n,
        alpha=(point.a - lipschitz.Lip * rho) * (1.0 - _ROOM),
        g=point.g * (1.0 + MARGIN),
        Delta=Delta,
        rho=rho * (1.0 - _ROOM),
    )
    if not found.ratio < 1.0 - _ROOM:
        raise CannotCertify(
            f"stochastic descent with step {run.step_size:.3g} cannot be proved to go on from "
            f"these weights: the theorem's ratio is {found.ratio:.3g}, must be below 1 "
            f"({point.shortfall()})"
        )
    walked = length_above(run, Delta)
    fields: dict[str, Json] = {
        "loss_upper": rational(point.loss_above),
        "a2": rational(point.lower.bound),
        "block": n,
        "path": rational((walked + found.M) * (1.0 + _ROOM)),
        **lipschitz.fields(),
    }
    tensors: dict[str, Tensor] = {"C_a": point.lower.C, **lipschitz.tensors()}
    replayed, starts = replay_parts(run, X, Delta)
    summary = {
        "loss_upper": point.loss_above,
        "eta": run.step_size,
        "path": walked + found.M,
        "steps": float(run.n_iter),
        "Delta": Delta,
    }
    return Claim(CLAIM.kind, {**fields, **replayed}, {**tensors, **starts}, summary)


def _answer(question: Question) -> Claim:
    run = question.options.get("run")
    if run is None or getattr(run, "order", None) is None:
        raise CannotCertify(
            "a stochastic trajectory needs its run: use prove_start(start, data, method='sgd')"
        )
    if question.copies > 1:
        raise CannotCertify("rows repeat, and the order is one of all rows; give each row once")
    return build(question.network, question.data, run)


CLAIM = ClaimRecord(
    kind="sgd-trajectory",
    theorem="replayed-sgd/1",
    proves=Proves.ZERO_LOSS,
    label="stochastic descent from its start to zero loss",
    network=ShallowNetwork,
    build=_answer,
    sentence="Stochastic gradient descent with step {eta}, one sample a step, in exact arithmetic "
    "and from its start, reaches after the {steps} recorded steps a neighborhood of the stored "
    "weights; in every order in which it may go on, one permutation of the samples after the "
    "other, it converges to training loss exactly zero. The whole path is no longer than {path}. "
    f"{ZERO_IS_LEAST}",
    limit="The statement is about this start and this order of the recorded steps; it covers no "
    "sampling with replacement and claims no rate.",
)
