"""Claim `additive-stream-gap`: how far an additive network on rows in shards is at most from the
global minimum of its class, from sums over bins (theorem B).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from globalmin.errors import CannotCertify, DataError
from globalmin.proving.certificate import SealedCertificate
from globalmin.proving.claim import (
    Claim,
    ClaimRecord,
    Proves,
    Question,
    Rung,
    Subject,
    Tensor,
    rational,
)
from globalmin.proving.proof import float_up
from globalmin.proving.sharded import listed
from globalmin.regularized.bin_heights import heights
from globalmin.regularized.shard_bins import BinPlan, ShardBins, added
from globalmin.regularized.stream_network import AdditiveStreamNetwork

ROOM = 2.0**-40  # of t, for the rounding of the floats that choose it


@dataclass(frozen=True)
class ShardsInBins:
    """What the claim speaks of: the bins, and the sums of every shard."""

    plan: BinPlan
    shards: tuple[ShardBins, ...] = field(repr=False)


@dataclass(frozen=True)
class AdditiveStreamCertificate(SealedCertificate):
    """A claim about a stored network and rows that lie in shards; get one from `certify`."""

    claims: tuple[Claim, ...]
    network: AdditiveStreamNetwork = field(repr=False)
    shards: tuple[ShardBins, ...] = field(repr=False)

    def _description(self) -> Mapping[str, object]:
        return {
            "loss": "half-sum-of-squares",
            "network": {"kind": "additive-stream"},
            "data": {"columns": list(self.network.columns), "shards": listed(self.shards)},
        }

    def _tensors(self) -> Mapping[str, Tensor]:
        network, scaling = self.network.network, self.network.scaling
        return {
            "W": network.W,
            "bias": network.bias,
            "v": network.v,
            "intercept": np.array([network.intercept]),
            "shift": scaling.shift,
            "scale": scaling.scale,
        }


def build(network: AdditiveStreamNetwork, data: ShardsInBins, weight_decay: float) -> Claim:
    r"""The claim, or CannotCertify.

    Parameters
    ----------
    network : the network that was trained on the rows.
    data : bins, and the sums of the shards.
    weight_decay : b > 0, of $L + \frac b2\sum_l(w_l^2 + \beta_l^2 + v_l^2)$.

    Theory
    ------
    Theorem B of `spec/claims/additive-stream-gap.md`: u = t (r - mean of r) with the largest useful
    t for which every neuron of every column is dominated by its decay.
    """
    whole = added(data.shards)
    A, B = float(whole.totals[0]), float(whole.totals[1])
    best = min(max(-B / A, 0.0), 2.0) if A > 0.0 else 1.0
    height = float(heights(data.plan, data.shards).max())
    if not np.isfinite(height):
        raise CannotCertify("the sums over the bins are not finite; scale the columns")
    t = min(best, weight_decay / height * (1.0 - ROOM)) if height > 0.0 else best
    excess, loss, objective = _bound(network, data.shards, t, weight_decay)
    gap = float_up(max(excess, Fraction(0)))
    stated = {"t": t, "decay": weight_decay, "gap": gap, "loss_upper": float_up(loss)}
    above = float_up(objective)
    summary = {
        "loss_upper": stated["loss_upper"],
        "gap": gap,
        "objective": above,
        "floor": max(above - gap, 0.0),
        "relative_gap": gap / above if above > 0.0 else 0.0,
    }
    fields = {name: rational(value) for name, value in stated.items()}
    tensors = _tensors(data)
    return Claim(CLAIM.kind, {**fields, "bins": data.plan.sizes}, tensors, summary)


def _tensors(data: ShardsInBins) -> dict[str, Tensor]:
    shards = data.shards
    return {
        "edges": np.concatenate(data.plan.edges),
        "counts": np.array([shard.counts for shard in shards]),
        "residuals": np.array([shard.sums[0] for shard in shards]),
        "moments": np.array([shard.sums[1] for shard in shards]),
        "squares": np.array([shard.sums[2] for shard in shards]),
        "totals": np.array([shard.totals for shard in shards]),
        "radii": np.array([shard.radii for shard in shards]),
    }


def _bound(
    network: AdditiveStreamNetwork, shards: Sequence[ShardBins], t: float, weight_decay: float
) -> tuple[Fraction, Fraction, Fraction]:
    """The bound of theorem B, that of the loss and that of the objective, in exact rationals."""
    zero = Fraction(0)
    A, B, R, Y = (sum((Fraction(s.totals[k]) for s in shards), zero) for k in range(4))
    rho, _, kappa, eta = (
        sum((s.rows * Fraction(s.radii[k]) for s in shards), zero) for k in range(4)
    )
    inner, T = network.network, Fraction(t)
    stored = np.concatenate([inner.W.ravel(), inner.bias, inner.v])
    weights = sum((Fraction(w) ** 2 for w in stored.tolist()), zero)
    penalty = Fraction(weight_decay) * weights / 2
    rows = sum(shard.rows for shard in shards)
    mean = (abs(R) + rho) * (abs(Y) + eta) / rows
    loss = max((A + kappa) / 2, zero)
    excess = (1 + T**2) * (A + kappa) / 2 + T * (B + eta) + T * mean + penalty
    return excess, loss, loss + penalty


def _answer(question: Question) -> Claim:
    return build(question.network, question.data, float(question.weight_decay or 0.0))


def _checked(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    data = question.data
    if not isinstance(data, ShardsInBins) or not data.shards:
        raise DataError(
            "data must be the sums of at least one shard, as `fit_additive_stream` keeps them"
        )
    if data.plan.network is not question.network:
        raise DataError("the sums are those of another network; add the rows again")
    if not question.weight_decay:
        raise DataError("weight_decay=None: a stream is proved with the weight decay b > 0 it had")
    return replace(question, data=data)


CLAIM = ClaimRecord(
    kind="additive-stream-gap",
    theorem="additive-shards/1",
    proves=Proves.GAP,
    label="gap to the global minimum on a stream of rows, additive",
    network=AdditiveStreamNetwork,
    build=_answer,
    rungs=lambda question: (Rung(1, lambda: _answer(question)),),
    limit="Without the rows (`globalmin-check --rows`) it is about the sums that the file stores.",
)
SUBJECT = Subject(
    AdditiveStreamNetwork,
    lambda claims, question, _: AdditiveStreamCertificate(
        claims, question.network, question.data.shards
    ),
    prepare=_checked,
)
