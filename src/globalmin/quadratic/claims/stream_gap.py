"""Claim `stream-gap`: how far a quadratic network on rows in shards is at most from the global
minimum of its class, from the moments of the shards (theorem H).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.data.shards import gamma
from globalmin.errors import CannotCertify, DataError
from globalmin.linalg.positive_definite import EPS
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
from globalmin.quadratic.claims.optimality_gap import sign_factors
from globalmin.quadratic.duality import decay_threshold
from globalmin.quadratic.shard_moments import ShardMoments
from globalmin.quadratic.stream_network import StreamNetwork
from globalmin.references import states
from globalmin.shallow.claims.measured_point import heads_of

MARGINS = tuple(2.0**-bits for bits in range(46, 9, -3))
"""Room left for the proof of strict feasibility, the least first."""


@dataclass(frozen=True)
class StreamCertificate(SealedCertificate):
    """A claim about a stored network and rows that lie in shards; get one from `certify`."""

    claims: tuple[Claim, ...]
    network: StreamNetwork = field(repr=False)
    shards: tuple[ShardMoments, ...] = field(repr=False)

    def _description(self) -> Mapping[str, object]:
        return {
            "loss": "half-sum-of-squares",
            "network": {"kind": "stream"},
            "data": {
                "bias": self.network.bias,
                "columns": list(self.network.columns),
                "d": self.network.W.shape[1],
                "shards": listed(self.shards),
            },
        }

    def _tensors(self) -> Mapping[str, Tensor]:
        network = self.network
        return {
            "W": network.W,
            "v": network.v,
            "shift": network.scaling.shift,
            "scale": network.scaling.scale,
        }


@dataclass(frozen=True)
class ShardSums:
    """For each shard the sums of r^2, r y and r x x^T in floats, and radii that are proved to cover
    their distance from the exact ones.
    """

    squares: Array
    products: Array
    moments: Array
    radii: Array


def shard_sums(network: StreamNetwork, shards: Sequence[ShardMoments]) -> ShardSums:
    r"""The sums from the moments: $\hat Ga$ and $a^T\hat Ga$ for the vector a of the network.

    The radii cover the rounding of the moments, of a (from W and v) and of the products; every sum
    is bounded by the same sum of absolute values.
    """
    first, second = np.triu_indices(network.W.shape[1])
    double = np.where(first == second, 1.0, 2.0)
    M = (network.W * network.v[:, None]).T @ network.W
    sizes = (np.abs(network.W) * np.abs(network.v)[:, None]).T @ np.abs(network.W)
    a = np.append(M[first, second] * double, -1.0)
    size = np.append(sizes[first, second] * double, 1.0) * (1.0 + 1e-9)
    rounding = gamma(2 * (len(a) + network.W.shape[0]) + 16)
    found = [_one_shard(shard, a, size, rounding, double) for shard in shards]
    squares, products, moments, radii = map(np.array, zip(*found, strict=True))
    return ShardSums(squares, products, moments, radii)


def _one_shard(
    shard: ShardMoments, a: Array, size: Array, rounding: float, double: Array
) -> tuple[float, float, Array, Array]:
    image = shard.gram @ a
    reach = shard.radius @ size
    error = shard.radius * reach + rounding * (np.abs(shard.gram) @ size)
    zeta = math.sqrt(float(double @ np.square(error[:-1])))
    radii = np.array([float(size @ error), float(error[-1]), zeta])
    return float(a @ image), float(image[-1]), image[:-1], radii * (1.0 + 1e-9)


@states("SJL-T2.2k")
def build(network: StreamNetwork, shards: Sequence[ShardMoments], weight_decay: float) -> Claim:
    r"""The claim with its witnesses, or CannotCertify.

    Parameters
    ----------
    network : the network that was trained on the rows.
    shards : moments of the shards.
    weight_decay : w > 0, of $L + (w/2)\|W\|_F^2$.

    Theory
    ------
    Theorem H of `spec/claims/stream-gap.md`: u = t r with the largest useful t for which $(c -
    t\zeta)I \pm tM$ is provably positive definite.
    """
    sums, heads = shard_sums(network, shards), heads_of(network.v)
    v_max = float(np.abs(network.v).max())
    c = decay_threshold(weight_decay, v_max)
    d = network.W.shape[1]
    M = np.zeros((d, d))
    M[np.triu_indices(d)] = sums.moments.sum(axis=0)
    M += np.triu(M, 1).T
    zeta, best = float(sums.radii[:, 2].sum()), _best_multiple(sums)
    values = np.linalg.eigvalsh(M)
    lower = -float(values[0]) if heads != "nonpositive" else 0.0
    upper = float(values[-1]) if heads != "nonnegative" else 0.0
    reach = max(lower, upper, 0.0) + zeta
    for margin in MARGINS:
        t = min(best, c * (1.0 - margin) / reach) if reach > 0.0 else best
        factors = sign_factors(M * t, c - t * zeta, heads, noise=8 * len(shards) * EPS * c)
        if factors is not None:
            fields = {"heads": heads, "decay": rational(weight_decay), "v_max": rational(v_max)}
            return _claim(network, sums, t, weight_decay, fields=fields, factors=factors)
    raise CannotCertify(
        f"no multiple of the residual could be proved feasible at weight decay {weight_decay:.3g}; "
        "raise it, or give rows whose columns are less nearly dependent"
    )


def _best_multiple(sums: ShardSums) -> float:
    """The t in [0, 2] that makes -t B - t^2 A/2 largest."""
    A, B = float(sums.squares.sum()), float(sums.products.sum())
    return min(max(-B / A, 0.0), 2.0) if A > 0.0 else 1.0


def _claim(
    network: StreamNetwork,
    sums: ShardSums,
    t: float,
    weight_decay: float,
    *,
    fields: dict[str, Any],
    factors: dict[str, Tensor],
) -> Claim:
    """Both ends in exact rationals, rounded up to doubles."""
    squares = _total(sums.squares) + _total(sums.radii[:, 0])
    products = _total(sums.products) + _total(sums.radii[:, 1])
    weights = sum((Fraction(w) ** 2 for w in network.W.ravel().tolist()), Fraction(0))
    penalty, step = Fraction(weight_decay) * weights / 2, Fraction(t)
    excess = (1 + step**2) * squares / 2 + step * products + penalty
    gap, loss = float_up(max(excess, Fraction(0))), float_up(max(squares, Fraction(0)) / 2)
    objective = float_up(squares / 2 + penalty)
    whole = {**fields, "t": rational(t), "gap": rational(gap), "loss_upper": rational(loss)}
    tensors: dict[str, Tensor] = {
        "squares": sums.squares,
        "products": sums.products,
        "moments": sums.moments,
        "radii": sums.radii,
        **factors,
    }
    floor = max(objective - gap, 0.0)
    summary = {
        "loss_upper": loss,
        "gap": gap,
        "objective": objective,
        "floor": floor,
        "relative_gap": gap / objective if objective > 0.0 else 0.0,
    }
    return Claim(CLAIM.kind, whole, tensors, summary)


def _total(values: Array) -> Fraction:
    return sum(map(Fraction, values.tolist()), Fraction(0))


def _answer(question: Question) -> Claim:
    return build(question.network, question.data, float(question.weight_decay or 0.0))


def _checked(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    shards = question.data
    fitting = isinstance(shards, Sequence) and all(isinstance(s, ShardMoments) for s in shards)
    if not fitting or not shards:
        raise DataError(
            "data must be the moments of at least one shard, as `fit_stream` keeps them"
        )
    size = question.network.W.shape[1] * (question.network.W.shape[1] + 1) // 2 + 1
    if any(len(shard.gram) != size for shard in shards):
        raise DataError("the moments are of rows with another number of columns than the network's")
    if not question.weight_decay:
        raise DataError("weight_decay=None: a stream is proved with the weight decay w > 0 it had")
    return replace(question, data=tuple(shards))


CLAIM = ClaimRecord(
    kind="stream-gap",
    theorem="quadratic-shards/1",
    proves=Proves.GAP,
    label="gap to the global minimum on a stream of rows",
    network=StreamNetwork,
    build=_answer,
    rungs=lambda question: (Rung(1, lambda: _answer(question)),),
    limit="Without the rows (`globalmin-check --rows`) it is about the sums that the file stores.",
)
SUBJECT = Subject(
    StreamNetwork,
    lambda claims, question, _: StreamCertificate(claims, question.network, question.data),
    prepare=_checked,
)
