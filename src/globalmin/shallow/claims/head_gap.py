r"""Claim `head-gap`: how far the stored head is at most from the best one for the stored hidden
weights, a linear least-squares problem (OS section 3).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import (
    EPS,
    Ball,
    BallMatrix,
    Gram,
    LowerWitness,
    NotPositiveDefiniteError,
    ball_matrix,
    lower_witness,
    to_floats,
    working_precision,
)
from globalmin.proving.certificate import CHECKER_WORK, refuse_if_too_large
from globalmin.proving.claim import (
    EXACT_FIT,
    WIDEST_GAP,
    Claim,
    ClaimRecord,
    Json,
    Proves,
    Question,
    Rung,
    rational,
)
from globalmin.references import states
from globalmin.shallow.claims.high_precision import precise_features, precise_residual
from globalmin.shallow.claims.linearized_point import MARGIN, checked_arrays, loss_above
from globalmin.shallow.lipschitz import rounding_of_preactivations
from globalmin.shallow.network import ShallowNetwork, preactivations

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.claims.high_precision import PreciseResidual


@states("OS-T3.2")
@np.errstate(over="ignore", invalid="ignore")
def build(network: ShallowNetwork, data: Dataset) -> Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason.

    With fewer neurons than samples ("columns") the loss exceeds its minimum over all heads by at
    most the gap; otherwise ("rows") a head with loss exactly zero exists within R.

    Parameters
    ----------
    network, data : a network with an activation of the certificate format, and its data set.

    Theory
    ------
    $L(v) - \min L = \frac12 g^T(\Phi^T\Phi)^{-1}g$ with $g = \Phi^Tr$; and $\Phi\Phi^T > 0$ makes
    every label reachable (OS-T3.2).
    """
    X, y = checked_arrays(network, data)
    n, k = len(y), network.width
    refuse_if_too_large(min(n, k), network)
    if n * k * (min(n, k) + 1000) > CHECKER_WORK:
        raise CannotCertify(
            f"n = {n} samples and k = {k} neurons are beyond the checker's work budget; certify "
            "fewer samples"
        )
    residual = precise_residual(network, X, y)
    if k < n:
        return _columns(network, X, residual)
    return _rows(network, X, y, residual)


def _columns(network: ShallowNetwork, X: Array, residual: PreciseResidual) -> Claim:
    lower = _witness(network, X, is_transposed=True)
    Phi = network.activation(preactivations(network, X))
    z = np.asarray(np.linalg.lstsq(Phi, residual.r, rcond=None)[0], dtype=np.float64)
    gap = _gap_above(network, X, residual, z, lower.bound)
    loss = loss_above(residual)
    fields: dict[str, Json] = {
        "loss_upper": rational(loss),
        "method": "columns",
        "mu": rational(lower.bound),
        "gap": rational(gap),
    }
    summary = {
        "loss_upper": loss,
        "gap": gap,
        "floor": max(loss - gap, 0.0),
        "mu": lower.bound,
        "relative_gap": gap / loss,
    }
    return Claim(CLAIM.kind, fields, {"C": lower.C, "z": z}, summary)


def _rows(network: ShallowNetwork, X: Array, y: Array, residual: PreciseResidual) -> Claim:
    loss = loss_above(residual)
    scale = 0.5 * float(y @ y)
    if loss > max(WIDEST_GAP * scale, EXACT_FIT):
        raise CannotCertify(
            f"the stored head has loss {loss:.3g}, and k = {network.width} >= n = {len(y)} neurons "
            "have a head of zero loss in general: train the head first, train(..., trained='v')"
        )
    lower = _witness(network, X, is_transposed=False)
    R = max(residual.norm_above() / math.sqrt(lower.bound) * (1.0 + MARGIN), 2.0**-400)
    fields: dict[str, Json] = {
        "loss_upper": rational(loss),
        "method": "rows",
        "mu": rational(lower.bound),
        "R": rational(R),
    }
    summary = {"loss_upper": loss, "R": R, "mu": lower.bound, "gap": loss}
    return Claim(CLAIM.kind, fields, {"C": lower.C}, summary)


def _witness(network: ShallowNetwork, X: Array, *, is_transposed: bool) -> LowerWitness:
    """The least eigenvalue of Phi^T Phi (transposed) or Phi Phi^T from below, with its proof."""

    def precise() -> BallMatrix:
        with working_precision():
            Q = precise_features(network, X)
            return Q.transpose() * Q if is_transposed else Q * Q.transpose()

    Z, phi = preactivations(network, X), network.activation
    Phi = phi(Z)
    K = Phi.T @ Phi if is_transposed else Phi @ Phi.T
    trace = float(np.sum(Phi**2))
    moved = np.abs(phi.derivative(Z)) * rounding_of_preactivations(network, X)
    noise = float(np.linalg.norm(moved + 4.0 * EPS * np.abs(Phi)))
    rounding = (max(Phi.shape) + 8) * EPS * trace + 2.0 * noise * math.sqrt(trace)
    try:
        return lower_witness(Gram(K, rounding, precise))
    except NotPositiveDefiniteError as failure:
        n, k = Phi.shape
        what = "columns" if is_transposed else "rows"
        remedy = (
            "neurons repeat or depend on one another: leave some out"
            if is_transposed
            else "rows of the data are tied, or more neurons are needed"
        )
        raise CannotCertify(
            f"the {what} of the {n} x {k} feature matrix are not provably independent: {failure}; "
            f"{remedy}"
        ) from None


def _gap_above(
    network: ShallowNetwork, X: Array, residual: PreciseResidual, z: Array, mu: float
) -> float:
    """(1/2)(|Phi z| + |Phi^T (r - Phi z)|/sqrt(mu))^2 from above, at high precision: at the minimum
    both terms are of the size of the rounding of r.
    """
    with working_precision():
        Q = precise_features(network, X)
        fit = Q * ball_matrix(z)
        rest = Q.transpose() * (ball_matrix(residual.r) - fit)
        # r is rounded to doubles: what that moves is at most |Phi| times its radii and last places
        unseen = float(np.linalg.norm(residual.radius + EPS * np.abs(residual.r)))
        unseen *= float(np.linalg.norm(to_floats(Q)))
        size = _norm(fit) + (_norm(rest) + unseen) / math.sqrt(mu)
    if not math.isfinite(size):
        raise CannotCertify("the gap of this head overflows a double; train it first")
    return max(0.5 * size * size * (1.0 + MARGIN), 2.0**-400)


def _norm(vector: Ball) -> float:
    """The Euclidean norm, rounded up."""
    return float((vector.transpose() * vector)[0, 0].upper()) ** 0.5 * (1.0 + 1e-12)


def _answer(question: Question) -> Claim:
    return build(question.network, question.data)


def _rungs(question: Question) -> list[Rung]:
    """For a head trained alone; first beside a loss floor."""
    return [Rung(1, lambda: _answer(question))] if question.trained == "v" else []


CLAIM = ClaimRecord(
    kind="head-gap",
    theorem="least-squares-gap/1",
    proves=Proves.HEAD,
    label="gap of the head to its minimum",
    network=ShallowNetwork,
    build=_answer,
    rungs=_rungs,
    headline="For the stored hidden weights the stored head is the best one, up to the proved gap. "
    "Whether other hidden weights have a lower loss is left open.",
    limit="The minimum is that over heads, for the stored hidden weights. Other hidden weights may "
    "fit better.",
)
