"""Claim `loss-floor`: conflicting data give a loss that no network with this activation (and any
head, or a head >= 0) can beat, and the stored weights a gap to it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from globalmin.errors import CannotCertify
from globalmin.proving.claim import Claim, Json, rational
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import checked_arrays, loss_above

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.data.loss_floor import LossFloor
    from globalmin.shallow.network import ShallowNetwork


def build(network: ShallowNetwork, data: Dataset, trained: str = "W") -> Claim:
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
    return Claim(
        "loss-floor", fields, {"members": members, "sizes": sizes, "kinds": kinds}, summary
    )


def strongest_floor(network: ShallowNetwork, data: Dataset, trained: str) -> tuple[str, LossFloor]:
    """The class of heads and the floor the claim can state; "nonnegative" only where it applies to
    the stored head and says more.
    """
    found = data.degeneracy.loss_floor(network.activation, certifiable=True)
    if trained != "W" or not network.activation.is_nonnegative or not (network.v >= 0).all():
        return "any", found
    restricted = data.degeneracy.loss_floor(
        network.activation, heads="nonnegative", certifiable=True
    )
    return ("nonnegative", restricted) if restricted.floor > found.floor else ("any", found)
