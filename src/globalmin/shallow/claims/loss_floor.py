"""Claim `loss-floor`: conflicting data give a loss that no network with this activation (and any
head, or a head >= 0) can beat, and the stored weights a gap to it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from globalmin._options import Trained
from globalmin.errors import CannotCertify
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Question, Rung, rational
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import checked_arrays, loss_above
from globalmin.shallow.claims.subject import has_floor, strongest_floor
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data import Dataset


def build(network: ShallowNetwork, data: Dataset, trained: Trained = "W") -> Claim:
    """The claim with its groups, or CannotCertify if the data have no positive floor.

    Parameters
    ----------
    network, data : network of any activation of the certificate format, and its data set.
    trained : "W" also considers the floor of the networks with a head v >= 0 when the stored head
        is; with "vW" the head moves.

    Theory
    ------
    Section 6 of the certificate theorems: one-dimensional least squares per group of samples whose
    outputs are tied together.
    """
    X, y = checked_arrays(network, data)
    heads, found = strongest_floor(network, data, trained)
    if not found.floor > 0:
        raise CannotCertify(
            "the data have no conflicting rows, so the loss floor is 0; train to zero loss and "
            "certify that"
        )
    floor = found.rounded_down()
    loss = Fraction(loss_above(precise_residual(network, X, y)))
    members, sizes, kinds = found.tensors()
    fields: dict[str, Json] = {
        "loss_upper": rational(loss),
        "heads": heads,
        "floor": rational(floor),
        "gap": rational(loss - floor),
    }
    summary = {
        "loss_upper": float(loss),
        "floor": float(floor),
        "gap": float(loss - floor),
        "groups": float(len(sizes)),
    }
    return Claim(CLAIM.kind, fields, {"members": members, "sizes": sizes, "kinds": kinds}, summary)


def _answer(question: Question) -> Claim:
    return build(question.network, question.data, question.trained)


def _rungs(question: Question) -> list[Rung]:
    # the optimality gap of a quadratic network says more
    is_extra = question.network.activation.certificate_name == "quadratic"
    rung = Rung(1, lambda: _answer(question), is_extra=is_extra)
    return [rung] if has_floor(question) else []


CLAIM = ClaimRecord(
    kind="loss-floor",
    theorem="group-floor/1",
    proves=Proves.FLOOR,
    label="least loss of conflicting rows",
    network=ShallowNetwork,
    build=_answer,
    rungs=_rungs,
    sentence="No {class}, of any width and with any weights W, has a training loss below {floor} "
    "on these data, so none reaches zero. The stored weights have a loss of at most {loss_upper}, "
    "so they are within {gap} of the least loss of these networks.{uncovered}",
)
