"""From a quadratic network to an accepted certificate of its distance to the global minimum."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from globalmin.errors import CannotCertify, HypothesisError, MemoryRefused
from globalmin.estimators._proof import ACCEPTED, prove
from globalmin.proving.checking import check
from globalmin.proving.producer import certify
from globalmin.quadratic.small_decay import smallest_provable_decay

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class GapProof:
    """What the checker says of one quadratic network; as `Proof`, with bounds of the objective and
    their proved difference.
    """

    certificate: bytes | None = None
    verdict: str | None = None
    loss_upper: float = math.inf
    loss_lower: float = 0.0
    gap: float = math.inf
    reason: str = ""


def prove_gap(network: ShallowNetwork, data: Dataset, weight_decay: float) -> GapProof:
    """The optimality gap; zero loss nearby where that is the stronger statement (mixed heads, no
    weight decay, few samples).
    """
    n, d = data.X.shape
    is_mixed = bool((network.v > 0).any() and (network.v < 0).any())
    if not weight_decay and is_mixed and n < d * (d + 1) // 2:
        return _at_zero(network, data)
    try:
        return _accepted_gap(network, data, weight_decay)
    except (CannotCertify, MemoryRefused) as refusal:
        return _weaker(network, data, weight_decay, str(refusal))


def _accepted_gap(network: ShallowNetwork, data: Dataset, weight_decay: float) -> GapProof:
    """The claim optimality-gap through the checker; raises `CannotCertify` if it cannot be made."""
    certificate = certify(
        network, data, claims=["optimality-gap"], weight_decay=weight_decay or None
    )
    with TemporaryDirectory(prefix="globalmin-") as folder:
        path = certificate.save(Path(folder) / "certificate.gmc")
        result, content = check(path), path.read_bytes()
    verdict = result.verdict.value
    if verdict != ACCEPTED:
        return GapProof(verdict=verdict, reason=f"the checker answered {verdict}: {result.reason}")
    numbers = result.claims[0].numbers or {}
    upper, lower, gap = (float(numbers[name]) for name in ("objective", "floor", "gap"))
    return GapProof(content, verdict, upper, max(lower, 0.0), gap)


def _at_zero(network: ShallowNetwork, data: Dataset) -> GapProof:
    """Zero loss next to the weights (or the loss floor of conflicting data): the loss is then its
    own distance to the minimum.
    """
    proof = prove(network, data, "W")
    gap = (
        math.nextafter(proof.loss_upper - proof.loss_lower, math.inf)
        if proof.certificate
        else math.inf
    )
    return GapProof(
        proof.certificate, proof.verdict, proof.loss_upper, proof.loss_lower, gap, proof.reason
    )


def _weaker(network: ShallowNetwork, data: Dataset, weight_decay: float, reason: str) -> GapProof:
    """Without weight decay: zero loss nearby, or the minimum at the smallest weight decay that has
    a proof; else the reason.

    The second is what remains for mixed heads when the squares of the samples do not span: the
    bounds are then of the loss plus that tiny penalty, as the certificate says.
    """
    if weight_decay:
        return GapProof(reason=reason)
    proof = _at_zero(network, data)
    if proof.certificate:
        return proof
    try:
        tiny = smallest_provable_decay(network.W, network.v, data.X, data.y).weight_decay
        return _accepted_gap(network, data, tiny)
    except (CannotCertify, MemoryRefused, HypothesisError) as refusal:
        return GapProof(verdict=proof.verdict, reason=f"{reason}; {refusal}")
