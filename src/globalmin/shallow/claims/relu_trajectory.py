"""Claim `relu-trajectory`: gradient descent on a ReLU network from its start, replayed by the
checker step by step, reaches zero loss (landing "descent") or a small one (landing "loss").
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import upper_witness
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
from globalmin.shallow.claims.trajectory import REACH, enough_bits
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin._options import Landing
    from globalmin._types import Array
    from globalmin.data import Dataset
    from globalmin.shallow.from_start import StartedRun

KINKED = ("relu", "leaky_relu", "abs")


def reach_of(network: ShallowNetwork) -> float:
    """Delta, within which the run must pass the stored weights."""
    return REACH * max(1.0, float(np.linalg.norm(network.W)))


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
    Delta = reach_of(network)
    room = Delta * np.linalg.norm(point.X, axis=1)[:, None] * (1.0 + 1e-6)
    shift = Delta * lipschitz_of_outputs(network, point.X)
    return least_claim(replace(point, rounding=point.rounding + room, shift=shift), y, step_size)


def build(network: ShallowNetwork, data: Dataset, run: StartedRun, landing: Landing) -> Claim:
    """The claim about the run, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : the network where the run lands, and the data.
    run : the start, the step and the number of steps.
    landing : "descent" for zero loss, "loss" for a bound of the loss after the last step.
    """
    name = network.activation.certificate_name or network.activation.name
    if name not in KINKED:
        raise CannotCertify(f"relu-trajectory is about {', '.join(KINKED)}, not {name}")
    X, y = checked_arrays(network, data)
    landed = _descent(network, data, run) if landing == "descent" else _loss(network, X, y)
    return _assemble(run, X, landing, landed)


Landed = tuple[dict[str, Json], dict[str, Tensor], dict[str, float]]  # fields, tensors, summary


def _descent(network: ShallowNetwork, data: Dataset, run: StartedRun) -> Landed:
    """What relu-linearized-descent says, with the whole path."""
    landed = landing_claim(network, data, run.step_size)
    walked = float(run.lengths.sum()) * (1.0 + 1e-9)
    walked += 2.0 * (run.n_iter + 1) * reach_of(network)
    path = (walked + landed.summary["path"]) * (1.0 + MARGIN)
    fields = {**landed.fields, "path": rational(path)}
    return fields, {**landed.tensors}, {**landed.summary, "path": path}


def _loss(network: ShallowNetwork, X: Array, y: Array) -> Landed:
    """A bound of the loss within Delta of the weights."""
    residual = precise_residual(network, X, y)
    top = residual.norm_above() + lipschitz_of_outputs(network, X) * reach_of(network)
    numbers = {"loss_upper": loss_above(residual), "bound": 0.5 * top * top * (1.0 + 1e-6)}
    return {name: rational(value) for name, value in numbers.items()}, {}, numbers


def _assemble(run: StartedRun, X: Array, landing: Landing, landed: Landed) -> Claim:
    fields, tensors, summary = landed
    x2, C_x = upper_witness(X.T @ X)
    growth = run.step_size * lipschitz_of_outputs(run.start, X) ** 2 - 1.0
    Delta = reach_of(run.network)
    fields |= {
        "landing": landing,
        "eta": rational(run.step_size),
        "K": run.n_iter,
        "bits": enough_bits(run.n_iter * math.log(max(1.0, growth)), run.n_iter),
        "Delta": rational(Delta),
        "x2": rational(x2),
    }
    tensors["C_x"] = C_x
    if run.seed is None:
        fields["delta0"], tensors["W0"] = "0", run.start.W
    else:
        fields["seed"] = run.seed
    summary |= {"eta": run.step_size, "steps": float(run.n_iter), "Delta": Delta}
    return Claim(CLAIM.kind, fields, tensors, summary)


def _answer(question: Question) -> Claim:
    run = question.options.get("run")
    if run is None:
        raise CannotCertify("a trajectory needs its run: use prove_start(start, data)")
    return build(question.network, question.data, run, question.options.get("landing", "descent"))


CLAIM = ClaimRecord(
    kind="relu-trajectory",
    theorem="replayed-relu-descent/1",
    proves=Proves.ZERO_LOSS,
    label="descent of a ReLU network from its start",
    network=ShallowNetwork,
    build=_answer,
    instead={"loss": Proves.POINT},
    limit="The statement is about this start; one start says nothing of how likely others succeed.",
)
