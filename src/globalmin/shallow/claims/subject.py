"""A shallow network as the subject of a certificate: how it is written, which rows the file holds,
and what is refused at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from globalmin._options import Trained
from globalmin.data import Dataset
from globalmin.data.distinct_rows import distinct_rows
from globalmin.errors import CannotCertify, DataError
from globalmin.proving.certificate import Certificate
from globalmin.proving.claim import (
    ClaimRecord,
    Json,
    NetworkForm,
    Proves,
    Question,
    Subject,
    rational,
)
from globalmin.references import states
from globalmin.shallow.claims.linearized_point import (
    SMOOTH,
    LinearizedPoint,
    checked_arrays,
    measure,
)
from globalmin.shallow.complete_square import as_squares, is_quadratic
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data.loss_floor import LossFloor
    from globalmin.proving.claim import Claim, Question


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

# about functions, so that they mean the same for a network and for its completed squares; descent
# and the kind of a point are about weights
SAID_OF_SQUARES = frozenset({"optimality-gap", "interpolation"})


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
    is_asked = is_smooth and question.trained != "v" and not question.weight_decay
    return is_asked and not has_floor(question)


def measured_once(question: Question) -> LinearizedPoint:
    """The linearized point, which descent and interpolation share."""
    network, data, trained = question.network, question.data, question.trained
    return question.once("linearized point", lambda: measure(network, data, trained, witness=False))


def strongest_floor(
    network: ShallowNetwork, data: Dataset, trained: Trained
) -> tuple[str, LossFloor]:
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


def prepare(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    """The question after its checks, without the rows that repeat another where those do not
    matter.
    """
    network, decay = question.network, question.weight_decay
    if decay and network.activation.certificate_name != "quadratic":
        raise DataError(
            f"weight_decay={decay!r} is for quadratic networks, whose penalized loss has a "
            f"provable minimum; leave it out for {network.activation}"
        )
    question = completed(question, wanted)
    checked_arrays(question.network, question.data)
    repeats = question.data.degeneracy.equal_rows and not counts_repeats(question, wanted)
    found = distinct_rows(question.data) if repeats else None
    if found is None:
        return question
    notes = (*question.notes, found.note)
    return replace(question, data=found.data, notes=notes, copies=found.copies, _known={})


@states("GKZ-C2.2")
def completed(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    r"""The question about squares on (x, 1) for a network with activation $\alpha z^2 + \beta z +
    \gamma$, where the claims wanted say the same of both; any other question as it is.
    """
    network, data = question.network, question.data
    activation = network.activation
    if activation.certificate_name == "quadratic" or not is_quadratic(activation):
        return question
    if wanted is not None and any(record.kind not in SAID_OF_SQUARES for record in wanted):
        return question
    if data.n_features != network.n_features:
        return question  # refused by the checks that follow
    X, y = data.X, data.y
    found = as_squares(network, X, y, trained=question.trained)
    is_same = found.X is X and found.y is y
    rows = data if is_same else Dataset.from_preprocessed(found.X, found.y, bias=found.bias)
    notes = (*question.notes, found.note)
    return replace(
        question, network=found.network, data=rows, notes=notes, kinds=SAID_OF_SQUARES, _known={}
    )


def counts_repeats(question: Question, wanted: Sequence[ClaimRecord] | None) -> bool:
    """Whether a row counts as often as it occurs.

    It does not where zero loss is to be proved for a smooth activation: the loss is zero with the
    repeated rows if and only if it is zero without them, and they would make J J^T singular. It
    does where the least loss is not zero (rows conflict, weight decay, more rows than quadratic
    functions have dimensions, more than neurons for a head alone), for every other claim, and for
    ReLU, whose claim names the repetitions itself.
    """
    if wanted is not None and any(r.proves is not Proves.ZERO_LOSS for r in wanted):
        return True
    activation, (n, d) = question.network.activation, question.data.X.shape
    if question.trained == "v":  # zero loss of a head needs as many neurons as distinct rows
        groups = question.data.degeneracy.equal_rows
        return question.network.width < n - sum(len(g) - 1 for g in groups) or has_floor(question)
    if activation.certificate_name not in SMOOTH or question.weight_decay:
        return True
    if activation.certificate_name == "quadratic" and n > d * (d + 1) // 2:
        return True
    return has_floor(question) or question.data.degeneracy.loss_floor(activation).floor > 0


def refusal(question: Question) -> CannotCertify:
    """Why nothing can be tried."""
    why = (
        "these data have no loss floor that a claim can state, and no claim of the certificate "
        f"format proves zero loss for {question.network.activation}"
    )
    return CannotCertify(
        f"{why}; train with relu, {', '.join(SMOOTH)}", reasons={"activation": why}
    )


def form(network: ShallowNetwork) -> NetworkForm:
    """The object `network` of the format, and the tensors W and v."""
    activation = network.activation
    description: dict[str, Json] = {
        "kind": "shallow",
        "activation": activation.certificate_name or activation.name,
    }
    if activation.certificate_parameter is not None:
        description["parameter"] = rational(activation.certificate_parameter)
    return NetworkForm(description, {"W": network.W, "v": network.v})


def certificate(claims: tuple[Claim, ...], question: Question, store_data: bool) -> Any:
    """The file of claims about a network and samples."""
    return Certificate(claims, question.network, question.data, store_data, question.notes)


SUBJECT = Subject(ShallowNetwork, certificate, form, prepare, refusal)
