"""What the ladder asks of a shallow network at its data, and sentences that claims share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin.shallow.claims.linearized_point import SMOOTH, LinearizedPoint, measure

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.data.loss_floor import LossFloor
    from globalmin.proving.record import Question
    from globalmin.shallow.network import ShallowNetwork

ZERO_IS_LEAST = (
    "No loss is below zero, so this is the global minimum. The stored weights themselves have a "
    "loss of at most {loss_upper}."
)
NOT_THE_STORED_WEIGHTS = (
    "The exact zero-loss weights are proved to exist; they are not the stored ones, and in general "
    "not doubles."
)
NOT_THE_RUN = (
    "The rate is that of gradient descent in exact arithmetic from the stored weights, not of the "
    "run that found them."
)


def has_floor(question: Question) -> bool:
    """Whether rows conflict, so that no network of the class reaches zero loss; not asked with
    weight decay.
    """
    if question.weight_decay:
        return False
    network, data, trained = question.network, question.data, question.trained
    return question.once("floor", lambda: strongest_floor(network, data, trained)[1].floor > 0)


def has_smooth_zero(question: Question) -> bool:
    """Whether the claims of zero loss for smooth activations are to be tried."""
    is_smooth = question.network.activation.certificate_name in SMOOTH
    return is_smooth and not question.weight_decay and not has_floor(question)


def measured_once(question: Question) -> LinearizedPoint:
    """The linearized point, which descent and interpolation share."""
    network, data, trained = question.network, question.data, question.trained
    return question.once("linearized point", lambda: measure(network, data, trained))


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
