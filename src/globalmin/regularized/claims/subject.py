"""A network with weight decay as the subject of a certificate: how it and its problem are written,
and what is refused at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from globalmin.data.sparse import as_dense
from globalmin.errors import DataError
from globalmin.proving.certificate import SealedCertificate
from globalmin.proving.claim import Claim, ClaimRecord, Json, Question, Subject, Tensor, rational
from globalmin.regularized.curve_network import curve_lack
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem
from globalmin.regularized.squares import SquaresPenalty


@dataclass(frozen=True)
class RegularizedCertificate(SealedCertificate):
    """Claims about one network with weight decay; get one from `certify(network, problem)`."""

    claims: tuple[Claim, ...]
    network: RegularizedNetwork = field(repr=False)
    problem: RegularizedProblem = field(repr=False)

    def _description(self) -> Mapping[str, object]:
        n, d = self.problem.X.shape
        loss: dict[str, Json] = {"name": self.problem.loss.name}
        if self.problem.loss.parameter is not None:
            loss["parameter"] = rational(self.problem.loss.parameter)
        return {
            "loss": loss,
            "network": described(self.problem),
            "data": {"d": d, "n": n, "weighted": self.problem.sample_weight is not None},
        }

    def _tensors(self) -> Mapping[str, Tensor]:
        problem, penalty = self.problem, self.problem.penalty
        tensors: dict[str, Tensor] = {"X": as_dense(problem.X), "y": problem.y}
        tensors |= stored_weights(self.network, penalty)
        if problem.sample_weight is not None:
            tensors["om"] = problem.sample_weight
        return tensors


def described(problem: RegularizedProblem) -> dict[str, Json]:
    """The object `network` of the format: the class and its penalty."""
    penalty = problem.penalty
    fields: dict[str, Json] = {
        "kind": "regularized",
        "neurons": penalty.neurons,
        "groups": problem.groups
        if isinstance(problem.groups, str)
        else [list(group) for group in problem.groups],
        "hidden_bias": penalty.hidden_bias,
        "heads": penalty.heads if isinstance(penalty, SquaresPenalty) else "any",
        "b": rational(penalty.weight_decay),
    }
    if isinstance(penalty, SquaresPenalty):
        fields["v_max"] = rational(penalty.v_max)
    if penalty.hidden_bias == "penalized":
        fields["tau"] = rational(penalty.tau)
    if problem.monotone is not None:
        fields["monotone"] = list(problem.monotone)
    if problem.shapes is not None:
        fields["shapes"] = list(problem.shapes)
    if problem.outputs > 1:
        fields["outputs"] = problem.outputs
    for name, key in (("intercept", "k0"), ("linear", "k1")):
        given = getattr(penalty, name)
        fields[name] = given if isinstance(given, str) else "penalized"
        if not isinstance(given, str):
            fields[key] = rational(given)
    return fields


def stored_weights(network: RegularizedNetwork, penalty: Penalty) -> dict[str, Tensor]:
    """The tensors of the network; one neuron of zeros where there is none."""
    k, d = network.W.shape
    tensors: dict[str, Tensor] = {"W": network.W, "v": network.v}
    if not k:
        tensors = {"W": np.zeros((1, d)), "v": np.zeros((1, *network.v.shape[1:]))}
    if penalty.hidden_bias != "none":
        tau = penalty.tau if penalty.hidden_bias == "penalized" else 1.0
        tensors["bias"] = network.bias / tau if k else np.zeros(1)
    if penalty.intercept != "none":
        tensors["intercept"] = np.atleast_1d(np.asarray(network.intercept, dtype=np.float64))
    if penalty.linear != "none":
        tensors["linear"] = np.zeros(d) if network.linear is None else network.linear
    return tensors


def _checked(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    problem: Any = question.data
    if not isinstance(problem, RegularizedProblem):
        raise DataError(
            f"a network with weight decay is proved for a RegularizedProblem, which names loss and "
            f"penalty, not for a {type(problem).__name__}"
        )
    network: RegularizedNetwork = question.network
    if network.n_features != problem.X.shape[1]:
        raise DataError(
            f"the network has {network.n_features} columns and X has {problem.X.shape[1]}"
        )
    if network.neurons != problem.penalty.neurons:
        raise DataError(
            f"the network has {network.neurons} neurons and the penalty is one of "
            f"{problem.penalty.neurons} neurons"
        )
    if (network.outputs, network.v.ndim) != (problem.outputs, 1 + (problem.outputs > 1)):
        raise DataError(
            f"the network has {network.outputs} output(s) and the problem {problem.outputs}"
        )
    for part, is_there in (
        ("intercept", bool(np.any(network.intercept))),
        ("linear", network.linear is not None and bool(network.linear.any())),
    ):
        if is_there and getattr(problem.penalty, part) == "none":
            raise DataError(f"the network has a {part} part, which the problem says it has not")
    for column, shape in enumerate(problem.shapes or ()):
        lack = curve_lack(network, problem, column)
        if lack > 0:
            raise DataError(
                f"the curve of column {column} is not {shape}: it is wrong by a slope of "
                f"{float(lack):.3g} somewhere on the line; train on the problem with its shapes"
            )
    if problem.monotone is not None:
        wrong = (network.v[:, None] * network.W * np.array(problem.monotone) < 0).any(axis=1)
        if wrong.any():
            raise DataError(
                f"neuron {int(np.argmax(wrong))} is not monotone as the problem says; train on it"
            )
    return question


SUBJECT = Subject(
    RegularizedNetwork,
    lambda claims, question, _: RegularizedCertificate(claims, question.network, question.data),
    prepare=_checked,
)
