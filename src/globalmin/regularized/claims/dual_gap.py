"""Claim `dual-gap`: how far a network with weight decay is at most from the global minimum of its
objective over every width (theorem R1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify, DataError
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
from globalmin.regularized.claims.curve_gap import shaped_dual
from globalmin.regularized.claims.full_gap import full_witness
from globalmin.regularized.claims.squares_gap import squares_witness
from globalmin.regularized.column_generation import Oracle, QuickOracle, proved_heights
from globalmin.regularized.curves import CurveOracle
from globalmin.regularized.design import Design
from globalmin.regularized.dual import centered, saturated
from globalmin.regularized.full_dual import FullBound
from globalmin.regularized.full_run import train_relu
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.repair import MARGIN, exact_dual, floor_below, objective_above
from globalmin.regularized.squares_training import balanced
from globalmin.regularized.train import oracle_for

# the width of the envelope, as a share of the residuals, where a loss with kinks has no derivative
_ENVELOPE = 1e-4
# of b: room for rounding; that in which the checker's search over cones comes to an end is left by
# the search of the oracle
SEARCHED = 2.0**-24


def build(
    network: RegularizedNetwork, problem: RegularizedProblem, u: Array | None = None
) -> Claim:
    """The claim with its dual vector, or CannotCertify with the reason.

    Parameters
    ----------
    network, problem : what the claim speaks of.
    u : a dual vector from training; by default the derivative of the loss at the outputs.
    """
    try:
        oracle = oracle_for(problem)
    except DataError as refusal:
        raise CannotCertify(str(refusal)) from None
    given = dual_of(network, problem) if u is None else u
    if isinstance(oracle, CurveOracle):
        vector, witness = shaped_dual(problem, given, oracle)
        return claim_of(network, problem, vector, {"constraint": "columns"}, witness=witness)
    vector = feasible_dual(problem, given, oracle, is_scaled=u is not None)
    is_column = max(map(len, problem.group_list())) == 1
    return claim_of(network, problem, vector, {"constraint": "columns" if is_column else "cones"})


def dual_of(network: RegularizedNetwork, problem: RegularizedProblem) -> Array:
    """The weighted derivative of the loss at the outputs, of an envelope if it has kinks."""
    f = network.predict(problem.X)
    if problem.outputs > 1:
        return problem.weights[:, None] * problem.loss.derivative(f, problem.y)
    width = _ENVELOPE * float(np.abs(f - problem.y).mean()) or 1.0
    return problem.weights * problem.loss.smoothed(width).derivative(f, problem.y)


def feasible_dual(
    problem: RegularizedProblem, u: Array, oracle: Oracle, *, is_scaled: bool = False
) -> Array:
    """Centered, scaled until H(u) <= b with room for the floats of the oracle, and repaired;
    `is_scaled` says that a long search of the training has done the scaling.
    """
    moved = centered(problem, u)
    if moved is None:
        raise CannotCertify(
            "the dual vector of this network cannot be moved to sum zero: its intercept is not "
            "that of a minimum; train further"
        )
    b = problem.penalty.weight_decay
    known = is_scaled and isinstance(oracle, QuickOracle)
    height = b if known else float(proved_heights(oracle, moved).max())
    least = SEARCHED if isinstance(oracle, QuickOracle) else MARGIN
    for margin in (least, 2.0**8 * least, 2.0**16 * least):
        share = min(1.0, b / height * (1.0 - margin)) if height > 0 else 1.0
        exact = exact_dual(problem, share * moved)
        if isinstance(oracle, QuickOracle):
            return exact  # the room is far above what repair can change
        if float(oracle.search(exact, math.inf)[0].max()) <= b * (1.0 - margin / 4):
            return exact
    raise CannotCertify("rounding the dual vector to a feasible one failed; rescale the labels")


def build_full(
    network: RegularizedNetwork, problem: RegularizedProblem, bound: FullBound | None
) -> Claim:
    """The claim for neurons that see all columns, or CannotCertify with the reason.

    Parameters
    ----------
    network, problem : what the claim speaks of.
    bound : from training; None if it found none.
    """
    if bound is None:
        raise CannotCertify(
            f"no constraint proves a floor for {problem.X.shape[1]} columns with hidden_bias="
            f"{problem.penalty.hidden_bias!r}: the search over cones did not end within its limit; "
            "penalize the hidden biases, raise the weight decay or take fewer columns"
        )
    design = Design.of(problem)
    found = full_witness(design, bound)
    repaired = 2.0**-34 if "repair" in found.tensors else None
    return claim_of(
        network, problem, found.u, found.fields, witness=found.tensors, rounding=repaired
    )


def build_squares(
    network: RegularizedNetwork, problem: RegularizedProblem, u: Array | None = None
) -> Claim:
    """The claim for networks of squares, or CannotCertify with the reason.

    Parameters
    ----------
    network, problem : what the claim speaks of.
    u : a dual vector from training; by default the derivative of the loss at the outputs.
    """
    given = dual_of(network, problem) if u is None else u
    found = squares_witness(problem, balanced(problem, given))
    return claim_of(network, problem, found.u, {"constraint": "quadratic"}, witness=found.tensors)


def claim_of(
    network: RegularizedNetwork,
    problem: RegularizedProblem,
    u: Array,
    fields: dict[str, Json],
    *,
    witness: Mapping[str, Tensor] = MappingProxyType({}),
    rounding: float | None = None,
) -> Claim:
    """The claim of a feasible vector, with its bounds."""
    above = objective_above(network, problem)
    below = floor_below(problem, u) if rounding is None else floor_below(problem, u, rounding)
    if not (math.isfinite(above) and math.isfinite(below)):
        raise CannotCertify(
            f"the objective {above:.3g} or its floor {below:.3g} is not finite; train further"
        )
    gap = max(Fraction(above) - Fraction(below), Fraction(0))
    whole: dict[str, Json] = {
        "p_up": rational(above),
        "p_low": rational(below),
        "gap": rational(gap),
        "parts": 1,
    }
    scale = above - saturated(problem)
    summary = {
        "objective": above,
        "floor": below,
        "gap": float(gap),
        "relative_gap": float(gap) / scale if scale > 0 else math.inf,
    }
    return Claim(CLAIM.kind, {**whole, **fields}, {"u": u, **witness}, summary)


def _answer(question: Question) -> Claim:
    run, problem = question.options.get("run"), question.data
    if problem.penalty.neurons == "quadratic":
        return build_squares(question.network, problem, None if run is None else run.u)
    if problem.groups == "all" and not _is_one_column(problem):
        found = train_relu(problem, start=question.network) if run is None else run
        return build_full(question.network, problem, found.bound)
    return build(question.network, problem, None if run is None else run.u)


def _is_one_column(problem: RegularizedProblem) -> bool:
    """Whether the exact oracle of columns covers the class."""
    penalty = problem.penalty
    if problem.outputs > 1:
        return True
    return problem.X.shape[1] == 1 and penalty.linear == "none" and penalty.hidden_bias != "none"


CLAIM = ClaimRecord(
    kind="dual-gap",
    theorem="convex-dual/1",
    proves=Proves.GAP,
    label="gap to the global minimum with weight decay",
    network=RegularizedNetwork,
    build=_answer,
    rungs=lambda question: (Rung(1, lambda: _answer(question)),),
    limit="The minimum is that of the stated objective, loss plus weight decay, on these rows. "
    "Nothing is said about other rows, nor that the minimum is attained by one network only.",
)
