"""Claim `descent`: gradient descent from the stored weights with this step reaches zero loss; rate
and path length.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import NotPositiveDefiniteError, upper_witness
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
from globalmin.shallow.claims.lipschitz_witness import LipschitzWitness, smallest_ball
from globalmin.shallow.claims.subject import (
    NOT_THE_RUN,
    ZERO_IS_LEAST,
    has_smooth_zero,
    measured_once,
)
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.provability import descent_ratio

if TYPE_CHECKING:
    from globalmin.data import Dataset


FACTOR_LIMIT = (
    300  # samples up to which a second n x n witness (a sharper step) is worth its checking time
)
_ROWS_GOOD_ENOUGH = 1.02


@dataclass(frozen=True)
class NormBound:
    """b^2 above lambda_max(K), by row sums (`C` is None) or by a factor."""

    b2: float
    C: Array | None = field(default=None, repr=False)


@states("OS-C1", "OS-C5")
def build(
    network: ShallowNetwork,
    data: Dataset,
    trained: Trained = "W",
    *,
    step_size: float | None = None,
    point: LinearizedPoint | None = None,
) -> Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : smooth network and the data set it was trained on.
    trained : "W" or "vW" (one common step for both layers).
    step_size : the step eta on L = (1/2) sum r^2 to be claimed; by default the largest the theorem
        allows.
    point : the measured point, if the caller has it.

    Theory
    ------
    OS-C1, OS-C5: $2\,\mathrm{Lip}\,\|r\| < a^2$, $S \le \rho$, $\eta (b + \mathrm{Lip}\,S)^2 \le
    1$.
    """
    point = measure(network, data, trained) if point is None else point
    start = point.g / point.a * (1.0 + MARGIN)
    try:
        lipschitz = smallest_ball(
            network, point.X, start, lambda Lip: _path(point, Lip), trained=trained
        )
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(str(failure)) from None
    if lipschitz is None:
        raise CannotCertify(_reason(point))
    return _assemble(point, lipschitz, step_size)


def _alpha_squared(point: LinearizedPoint, Lip: float) -> float:
    """a^2 - 2 Lip ||r|| with margins on each term, so that cancellation cannot eat them."""
    return point.lower.bound * (1.0 - MARGIN) - 2.0 * Lip * point.g * (1.0 + MARGIN)


def _path(point: LinearizedPoint, Lip: float) -> float:
    alpha2 = _alpha_squared(point, Lip)
    return (
        2.0 * point.g / (point.a + math.sqrt(alpha2)) * (1.0 + MARGIN) if alpha2 > 0.0 else math.inf
    )


def _reason(point: LinearizedPoint) -> str:
    Lip = estimate_lipschitz(point.network, point.X, point.g / point.a, trained=point.trained)
    ratio = descent_ratio(point.a, point.g, Lip)
    return (
        f"2 Lip ||r|| / a^2 = {ratio:.3g}, must be < 1 with room for the path; {point.shortfall()}"
    )


def _assemble(
    point: LinearizedPoint, lipschitz: LipschitzWitness, step_size: float | None
) -> Claim:
    S, alpha2 = _path(point, lipschitz.Lip), _alpha_squared(point, lipschitz.Lip)
    norm, eta = _norm_and_step(point, lipschitz.Lip * S, step_size)
    rate = max(1 - Fraction(eta) * Fraction(alpha2), Fraction(0))
    fields: dict[str, Json] = {
        "loss_upper": rational(point.loss_above),
        "trained": point.trained,
        "a2": rational(point.lower.bound),
        "b2": rational(norm.b2),
        "norm": "rows" if norm.C is None else "factor",
        "eta": rational(eta),
        "rate": rational(rate),
        "path": rational(S),
        **lipschitz.fields(),
    }
    tensors: dict[str, Tensor] = {**point.witness(), **lipschitz.tensors()}
    if norm.C is not None:
        tensors["C_b"] = norm.C
    summary = {
        "loss_upper": point.loss_above,
        "eta": eta,
        "rate": float(rate),
        "path": S,
        "a": point.a,
        "b": math.sqrt(norm.b2),
        "Lip": lipschitz.Lip,
        "h": lipschitz.Lip * point.g / point.lower.bound,
        "rho": lipschitz.rho,
        "alpha": math.sqrt(alpha2),
        "residual_norm": point.g,
        "lambda_max": point.gram.highest,
    }
    return Claim(CLAIM.kind, fields, tensors, summary, point.version)


def _norm_and_step(
    point: LinearizedPoint, moved: float, step_size: float | None
) -> tuple[NormBound, float]:
    """b^2 and eta with eta (b + moved)^2 <= 1; row sums where they are good or n is large, unless
    the step forbids them.
    """
    largest = math.nan
    for norm in jacobian_norms(point, step_size is not None):
        largest = (1.0 - MARGIN) / (math.sqrt(norm.b2) * (1.0 + MARGIN) + moved) ** 2
        if step_size is None or 0.0 < step_size <= largest:
            return norm, largest if step_size is None else float(step_size)
    raise CannotCertify(
        f"step_size={step_size!r} must be > 0 and at most {largest:.6g} on the loss (1/2) sum of "
        "squares"
    )


def jacobian_norms(point: LinearizedPoint, both: bool) -> list[NormBound]:
    """Bounds of lambda_max(K), cheapest first; `both` where the first may forbid a given step."""
    K, high = point.gram.values, point.gram.highest
    rows = NormBound((float(np.abs(K).sum(axis=1).max()) + point.gram.noise) * (1.0 + MARGIN))
    small = K.shape[0] <= FACTOR_LIMIT
    if rows.b2 <= _ROWS_GOOD_ENOUGH * high or (not small and not both):
        return [rows]
    factor = NormBound(*upper_witness(K))
    return [rows, factor] if both else [factor]


def _answer(question: Question) -> Claim:
    point = measured_once(question)
    return build(
        question.network,
        question.data,
        question.trained,
        step_size=question.step_size,
        point=point,
    )


def _rungs(question: Question) -> list[Rung]:
    return [Rung(1, lambda: _answer(question), is_extra=True)] if has_smooth_zero(question) else []


CLAIM = ClaimRecord(
    kind="descent",
    theorem="descent-path/1",
    proves=Proves.ZERO_LOSS,
    label="descent to zero loss",
    network=ShallowNetwork,
    build=_answer,
    rungs=_rungs,
    sentence="Gradient descent with step {eta}, in exact arithmetic and started at the stored "
    "weights, converges to training loss exactly zero. Every step multiplies the residual by at "
    f"most {{rate}}; the whole path is no longer than {{path}}. {ZERO_IS_LEAST}",
    limit=NOT_THE_RUN,
)
