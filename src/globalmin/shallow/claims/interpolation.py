"""Claim `interpolation`: weights of zero training loss exist within R of the stored ones
(Newton-Kantorovich).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from globalmin._options import Trained
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
from globalmin.shallow.claims.linearized_point import MARGIN, LinearizedPoint, measure
from globalmin.shallow.claims.lipschitz_witness import OVERSHOOT, LipschitzWitness, smallest_ball
from globalmin.shallow.claims.subject import (
    NOT_THE_STORED_WEIGHTS,
    ZERO_IS_LEAST,
    has_smooth_zero,
    measured_once,
)
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.provability import newton_radius, newton_radius_below, newton_ratio

if TYPE_CHECKING:
    from globalmin.data import Dataset


@states("OS-C2")
def build(
    network: ShallowNetwork,
    data: Dataset,
    trained: Trained = "W",
    *,
    point: LinearizedPoint | None = None,
) -> Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : smooth network and the data set it was trained on.
    trained : "W" or "vW", the parameters that may move.
    point : the measured point, if the caller has it.

    Theory
    ------
    OS-C2 with LIP-W / LIP-VW: a zero exists if $2\,\mathrm{Lip}\,e \le a$ and R <= rho.
    """
    point = measure(network, data, trained) if point is None else point
    try:
        lipschitz = smallest_ball(
            network,
            point.X,
            point.newton.e_above * (1.0 + OVERSHOOT),  # R is a little above e
            lambda Lip: _radius(point, Lip),
            trained=trained,
        )
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(str(failure)) from None
    if lipschitz is None:
        raise CannotCertify(_reason(point))
    return _assemble(point, lipschitz)


def _radius(point: LinearizedPoint, Lip: float) -> float:
    """R with its margin; math.inf if the hypothesis fails with its margin."""
    return newton_radius(point.a * (1.0 - MARGIN), point.newton.e_above, Lip) * (1.0 + MARGIN)


def _reason(point: LinearizedPoint) -> str:
    e = point.newton.e_above
    ratio = newton_ratio(
        point.a, e, estimate_lipschitz(point.network, point.X, e, trained=point.trained)
    )
    if ratio < 1.0:
        return (
            f"2 Lip e / a = {ratio:.3g} with Lip on the ball of radius e, but >= 1 on the ball of "
            f"radius R; {point.shortfall()}"
        )
    return f"2 Lip e / a = {ratio:.3g}, must be < 1; {point.shortfall()}"


def _assemble(point: LinearizedPoint, lipschitz: LipschitzWitness) -> Claim:
    R = _radius(point, lipschitz.Lip)
    R_lo = newton_radius_below(point.a, point.newton.e_below, lipschitz.Lip) * (1.0 - MARGIN)
    fields: dict[str, Json] = {
        "loss_upper": rational(point.loss_above),
        "trained": point.trained,
        "a2": rational(point.lower.bound),
        "R": rational(R),
        **lipschitz.fields(),
    }
    if R_lo > 0.0:
        fields["R_lo"] = rational(R_lo)
    summary = {
        "loss_upper": point.loss_above,
        "R": R,
        "R_lo": max(R_lo, 0.0),
        "a": point.a,
        "e": point.newton.e_above,
        "Lip": lipschitz.Lip,
        "h": lipschitz.Lip * point.newton.e_above / point.a,
        "rho": lipschitz.rho,
        "residual_norm": point.g,
    }
    tensors: dict[str, Tensor] = {**point.witness(), "z": point.newton.z, **lipschitz.tensors()}
    return Claim(
        CLAIM.kind,
        fields,
        tensors,
        {name: value for name, value in summary.items() if math.isfinite(value)},
        point.version,
    )


def _answer(question: Question) -> Claim:
    point = measured_once(question)
    return build(question.network, question.data, question.trained, point=point)


def _rungs(question: Question) -> list[Rung]:
    return [Rung(1, lambda: _answer(question), place=1)] if has_smooth_zero(question) else []


CLAIM = ClaimRecord(
    kind="interpolation",
    theorem="newton-kantorovich/1",
    proves=Proves.ZERO_LOSS,
    label="zero loss nearby",
    network=ShallowNetwork,
    build=_answer,
    rungs=_rungs,
    sentence="Weights with training loss exactly zero exist within distance {R} of the stored "
    f"ones. {ZERO_IS_LEAST}",
    limit=NOT_THE_STORED_WEIGHTS,
)
