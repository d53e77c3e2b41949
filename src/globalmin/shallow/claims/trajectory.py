"""Claim `trajectory`: gradient descent from its start reaches zero loss, replayed by the checker
step by step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import NotPositiveDefiniteError
from globalmin.proving.claim import (
    Claim,
    ClaimRecord,
    Json,
    Proves,
    Question,
    Rung,
    Tensor,
    rational,
)
from globalmin.references import states
from globalmin.shallow.claims.descent import jacobian_norms
from globalmin.shallow.claims.linearized_point import MARGIN, LinearizedPoint, measure
from globalmin.shallow.claims.lipschitz_witness import LipschitzWitness, smallest_ball
from globalmin.shallow.claims.loss_landing import build_loss
from globalmin.shallow.claims.replay import length_above, reach, replay_parts
from globalmin.shallow.claims.subject import ZERO_IS_LEAST, has_smooth_zero
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.trajectory import ShallowRun

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.claims.descent import NormBound
    from globalmin.shallow.from_start import StartedRun


@states("OS-T2.1", "OS-T6.2")
def build(network: ShallowNetwork, data: Dataset, run: StartedRun) -> Claim:
    """The claim about the run, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : the network where the run lands, and the data.
    run : the start, the step and the number of steps.
    """
    if run.landing == "loss":
        return build_loss(network, data, run)
    point = measure(network, data, run.trained)
    Delta = reach(run)
    for norm in jacobian_norms(point, True):
        landing = _Landing(point, norm, Delta)
        lipschitz = landing.ball()
        if lipschitz is not None and landing.allows(lipschitz, run.step_size):
            return _assemble(landing, lipschitz, run)
    raise CannotCertify(
        f"descent with step {run.step_size:.3g} cannot be proved to go on from these weights: the "
        f"step must be at most about {1.0 / point.gram.extremes[1]:.3g} there, and the residual "
        f"small ({point.shortfall()})"
    )


class _Landing:
    """Theorem LD in floats: the constants of the descent theorem within Delta of the point."""

    def __init__(self, point: LinearizedPoint, norm: NormBound, Delta: float) -> None:
        self.point, self.norm, self.Delta = point, norm, Delta

    def ball(self) -> LipschitzWitness | None:
        """The least ball that holds the rest of the path."""
        point = self.point
        start = point.g / point.a * (1.0 + MARGIN) + self.Delta
        try:
            return smallest_ball(
                point.network,
                point.X,
                start,
                lambda Lip: (self.path(Lip) + self.Delta) * (1.0 + MARGIN),
                trained=point.trained,
            )
        except NotPositiveDefiniteError as failure:
            raise CannotCertify(str(failure)) from None

    def alpha_squared(self, Lip: float) -> float:
        """a'^2 - 2 Lip g' with margins on each term."""
        a = self.point.a * (1.0 - MARGIN) - Lip * self.Delta
        return a * a - 2.0 * Lip * self.residual(Lip) * (1.0 + MARGIN) if a > 0.0 else -1.0

    def residual(self, Lip: float) -> float:
        """The bound g' = g + (b + Lip Delta/2) Delta."""
        b = math.sqrt(self.norm.b2)
        return (self.point.g + (b + Lip * self.Delta / 2.0) * self.Delta) * (1.0 + MARGIN)

    def path(self, Lip: float) -> float:
        """The rest of the path, S' = 2g'/(a' + alpha')."""
        alpha2 = self.alpha_squared(Lip)
        if not alpha2 > 0.0:
            return math.inf
        a = self.point.a * (1.0 - MARGIN) - Lip * self.Delta
        return 2.0 * self.residual(Lip) / (a + math.sqrt(alpha2)) * (1.0 + MARGIN)

    def allows(self, lipschitz: LipschitzWitness, eta: float) -> bool:
        """Whether eta (b' + Lip S')^2 <= 1, with a margin."""
        Lip = lipschitz.Lip
        b = math.sqrt(self.norm.b2) + Lip * (self.Delta + self.path(Lip))
        return eta * (b * (1.0 + MARGIN)) ** 2 <= 1.0


def _assemble(landing: _Landing, lipschitz: LipschitzWitness, run: StartedRun) -> Claim:
    point, norm, X = landing.point, landing.norm, landing.point.X
    S, alpha2 = landing.path(lipschitz.Lip), landing.alpha_squared(lipschitz.Lip)
    walked = length_above(run, landing.Delta)
    rate = max(1.0 - run.step_size * alpha2 * (1.0 - MARGIN), 0.0)
    if not rate < 1.0:
        raise CannotCertify("the rate of the descent after the last step rounds to 1")
    fields: dict[str, Json] = {
        "loss_upper": rational(point.loss_above),
        "a2": rational(point.lower.bound),
        "b2": rational(norm.b2),
        "norm": "rows" if norm.C is None else "factor",
        "rate": rational(rate),
        "path": rational((walked + S) * (1.0 + MARGIN)),
        **lipschitz.fields(),
    }
    tensors: dict[str, Tensor] = {"C_a": point.lower.C, **lipschitz.tensors()}
    if norm.C is not None:
        tensors["C_b"] = norm.C
    replayed, starts = replay_parts(run, X, landing.Delta)
    summary = {
        "loss_upper": point.loss_above,
        "eta": run.step_size,
        "rate": rate,
        "path": walked + S,
        "steps": float(run.n_iter),
        "Delta": landing.Delta,
    }
    return Claim(CLAIM.kind, {**fields, **replayed}, {**tensors, **starts}, summary)


def _answer(question: Question) -> Claim:
    run = question.options.get("run")
    if run is None:
        raise CannotCertify("a trajectory needs its run: use prove_start(start, data)")
    if isinstance(run, ShallowRun):
        from globalmin.shallow.from_start import started

        run = started(run)
    if question.copies > 1:
        raise CannotCertify(
            "rows repeat, and descent on the distinct rows is another run; give each row once"
        )
    return build(question.network, question.data, run)


def _rungs(question: Question) -> list[Rung]:
    """First of its level where a run came with the question: it says most, because it speaks of the
    start.
    """
    is_asked = question.options.get("run") is not None and has_smooth_zero(question)
    return [Rung(1, lambda: _answer(question), place=-1)] if is_asked else []


_INTO_A_LOSS = ClaimRecord(
    kind="trajectory",
    theorem="replayed-descent/1",
    proves=Proves.POINT,
    label="descent from its start to a small loss",
    network=ShallowNetwork,
    build=_answer,
    sentence="Gradient descent with step {eta}, in exact arithmetic and from its start, reaches "
    "after {steps} steps a neighborhood of the stored weights, where the training loss is at most "
    "{bound}.",
    headline="Descent from the start is proved to reach this loss; whether it goes on to the "
    "minimum is not said.",
    limit="Nothing is said about further steps, nor that weights of zero loss exist.",
)
CLAIM = ClaimRecord(
    kind="trajectory",
    theorem="replayed-descent/1",
    proves=Proves.ZERO_LOSS,
    label="descent from its start to zero loss",
    network=ShallowNetwork,
    build=_answer,
    rungs=_rungs,
    sentence="Gradient descent with step {eta}, in exact arithmetic and from its start, reaches "
    "after {steps} steps a neighborhood of the stored weights and converges to training loss "
    "exactly zero; from there every step multiplies the residual by at most {rate}, and the whole "
    f"path is no longer than {{path}}. {ZERO_IS_LEAST}",
    limit="The statement is about this start; one start says nothing of how likely others succeed.",
    variants={"loss": _INTO_A_LOSS},
)
