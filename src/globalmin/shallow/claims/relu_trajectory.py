"""Claim `relu-trajectory`: gradient descent on a ReLU network from its start, replayed by the
checker step by step, reaches zero loss (landing "descent") or a small one (landing "loss").
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import CannotCertify
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
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import MARGIN, checked_arrays, loss_above
from globalmin.shallow.claims.relu_descent import measure
from globalmin.shallow.claims.relu_linearized import least_claim
from globalmin.shallow.claims.replay import REACH, length_above, reach, replay_parts
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.data import Dataset
    from globalmin.shallow.from_start import StartedRun

KINKED = ("relu", "leaky_relu", "abs")
_ONLY_SMOOTH = ("trained", "expansion")  # fields of 5.20 that this claim does not have


def lipschitz_of_outputs(network: ShallowNetwork, X: Array) -> float:
    """The number beta = |v| |X| with |f(W) - f(W')| <= beta |W - W'|, with a margin; no slope is
    above 1.
    """
    return float(np.linalg.norm(network.v)) * float(np.linalg.norm(X, 2)) * (1.0 + 1e-6)


@states("OS-T6.3", "DU-T2.2")
def landing_claim(network: ShallowNetwork, data: Dataset, step_size: float) -> Claim:
    """What relu-linearized-descent proves from every point within Delta of the weights (theorem
    RL'), or CannotCertify.
    """
    point, y = measure(network, data)
    Delta = REACH * max(1.0, float(np.linalg.norm(network.W)))
    room = Delta * np.linalg.norm(point.X, axis=1)[:, None] * (1.0 + 1e-6)
    shift = Delta * lipschitz_of_outputs(network, point.X)
    return least_claim(replace(point, rounding=point.rounding + room, shift=shift), y, step_size)


def build(network: ShallowNetwork, data: Dataset, run: StartedRun) -> Claim:
    """The claim about the run, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : the network where the run lands, and the data.
    run : the start, the step, the number of steps, and what is to be proved where it lands.
    """
    name = network.activation.certificate_name or network.activation.name
    if name not in KINKED:
        raise CannotCertify(f"relu-trajectory is about {', '.join(KINKED)}, not {name}")
    X, y = checked_arrays(network, data)
    Delta = reach(run)
    landed = _loss(network, X, y, Delta) if run.landing == "loss" else _descent(network, data, run)
    replayed, starts = replay_parts(run, X, Delta)
    fields = {name: value for name, value in replayed.items() if name not in _ONLY_SMOOTH}
    summary = landed[2] | {"eta": run.step_size, "steps": float(run.n_iter), "Delta": Delta}
    return Claim(
        CLAIM.kind, {**landed[0], **fields, "landing": run.landing}, landed[1] | starts, summary
    )


Landed = tuple[dict[str, Json], dict[str, Tensor], dict[str, float]]  # fields, tensors, summary


def _descent(network: ShallowNetwork, data: Dataset, run: StartedRun) -> Landed:
    """What relu-linearized-descent says, with the whole path."""
    landed = landing_claim(network, data, run.step_size)
    path = (length_above(run, reach(run)) + landed.summary["path"]) * (1.0 + MARGIN)
    fields = {**landed.fields, "path": rational(path)}
    return fields, {**landed.tensors}, {**landed.summary, "path": path}


def _loss(network: ShallowNetwork, X: Array, y: Array, Delta: float) -> Landed:
    """A bound of the loss within Delta of the weights."""
    residual = precise_residual(network, X, y)
    top = residual.norm_above() + lipschitz_of_outputs(network, X) * Delta
    numbers = {"loss_upper": loss_above(residual), "bound": 0.5 * top * top * (1.0 + 1e-6)}
    return {name: rational(value) for name, value in numbers.items()}, {}, numbers


def _answer(question: Question) -> Claim:
    run = question.options.get("run")
    if run is None:
        raise CannotCertify("a trajectory needs its run: use prove_start(start, data)")
    return build(question.network, question.data, run)


_INTO_A_LOSS = ClaimRecord(
    kind="relu-trajectory",
    theorem="replayed-relu-descent/1",
    proves=Proves.POINT,
    label="descent of a network with kinks from its start to a small loss",
    network=ShallowNetwork,
    build=_answer,
    headline="Descent from the start is proved to reach this loss; whether it goes on to the "
    "minimum is not said.",
    limit="Nothing is said about further steps. Weights of zero loss near the run exist only if a "
    "claim beside this one says so.",
)
CLAIM = ClaimRecord(
    kind="relu-trajectory",
    theorem="replayed-relu-descent/1",
    proves=Proves.ZERO_LOSS,
    label="descent of a ReLU network from its start to zero loss",
    network=ShallowNetwork,
    build=_answer,
    limit="The statement is about this start; one start says nothing of how likely others succeed.",
    variants={"loss": _INTO_A_LOSS},
)
