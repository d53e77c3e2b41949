"""From a trained network to bytes that the independent checker has accepted, or to the reason why
there are none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from globalmin.data import Dataset
from globalmin.errors import CannotCertify, MemoryRefused
from globalmin.proving.checking import check
from globalmin.proving.producer import certify

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork
    from globalmin_check import Result

ACCEPTED = "ACCEPTED"


@dataclass(frozen=True)
class Proof:
    """What the checker says of one network.

    Attributes
    ----------
    certificate : the bytes of the accepted file, None if nothing was accepted.
    verdict : the checker's word, None if there was no file to check.
    loss_upper, loss_lower : proved bounds in stored units: the loss of the network is at most
        `loss_upper`, and no network of the class that the claim covers (this activation, any width,
        any head or heads >= 0) has a loss below `loss_lower`. Without a proof they are infinity and
        0.
    reason : why there is no accepted certificate; empty if there is one.
    """

    certificate: bytes | None = None
    verdict: str | None = None
    loss_upper: float = math.inf
    loss_lower: float = 0.0
    reason: str = ""


def prove(network: ShallowNetwork, data: Dataset, trained: str) -> Proof:
    """Certify, write the file, let the checker read the path, and keep the bytes if it accepts
    them.
    """
    stated, copies = without_repetitions(data, network.activation)
    try:
        certificate = certify(
            network, stated, claims=_claims(stated, network.activation), trained=trained
        )
    except (CannotCertify, MemoryRefused) as refusal:
        return Proof(reason=str(refusal))
    with TemporaryDirectory(prefix="globalmin-") as folder:
        path = certificate.save(Path(folder) / "certificate.gmc")
        result, content = check(path), path.read_bytes()
    verdict = result.verdict.value
    if verdict != ACCEPTED:
        return Proof(verdict=verdict, reason=f"the checker answered {verdict}: {result.reason}")
    upper, lower = _proved_bounds(result)
    return Proof(content, verdict, _rounded_up(copies * upper), _rounded_down(lower))


def without_repetitions(data: Dataset, activation: Activation) -> tuple[Dataset, int]:
    """The data a certificate is to speak of, and how often its most frequent sample occurs in all
    data.

    Equal rows make the Jacobian singular, so the theorems for smooth activations do not apply to
    them; but weights that fit the first of several equal samples fit them all, and the loss on all
    samples is at most the largest multiplicity times that on the distinct ones. Data with a
    positive loss floor are left whole, because the floor counts every sample; so are data for ReLU,
    whose claim names the repetitions itself.
    """
    repeated = data.degeneracy.equal_rows
    if not repeated or not _has_smooth_zero(data, activation):
        return data, 1
    keep = np.ones(data.n_samples, dtype=bool)
    for group in repeated:
        keep[list(group[1:])] = False
    distinct = Dataset.from_preprocessed(data.X[keep], data.y[keep], data.preprocessing)
    return distinct, max(len(group) for group in repeated)


def _claims(data: Dataset, activation: Activation) -> tuple[str, ...] | None:
    """Zero loss next to the weights is what `fit` is asked for; the claim `descent` on top would
    double the time of the check.
    """
    return ("interpolation",) if _has_smooth_zero(data, activation) else None


def _has_smooth_zero(data: Dataset, activation: Activation) -> bool:
    return activation.is_smooth and data.degeneracy.loss_floor(activation).floor == 0


def _proved_bounds(result: Result) -> tuple[Fraction, Fraction]:
    """The best bounds among the accepted claims; the checker has rounded its floats to the safe
    side.
    """
    numbers = [claim.numbers or {} for claim in result.claims]
    upper = min(Fraction(found["loss_upper"]) for found in numbers)
    return upper, max(
        (Fraction(found["floor"]) for found in numbers if "floor" in found), default=Fraction(0)
    )


def _rounded_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)


def _rounded_down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if nearest <= value else math.nextafter(nearest, -math.inf)
