"""Claim `ambiguous`: another quadratic network fits the samples equally and differs elsewhere."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import (
    EPS,
    Ball,
    Gram,
    NotPositiveDefiniteError,
    ball_matrix,
    lower_witness,
    working_precision,
)
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Tensor, rational
from globalmin.quadratic.ambiguity import exact_kernel_matrix
from globalmin.quadratic.identifiability import critical_samples
from globalmin.references import states
from globalmin.shallow.claims.measured_point import measure_quadratic
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data import Dataset


_LARGEST_ENTRY = 2**63 - 1


@states("GKZ-T2.6b")
def build(network: ShallowNetwork, data: Dataset) -> Claim:
    r"""The claim, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : quadratic network with a head v >= 0 and $W^TD_vW$ of full rank, and its data
        set: fewer than d(d+1)/2 samples, or samples at which some symmetric matrix with integer
        entries below $2^{63}$ vanishes exactly.

    Theory
    ------
    GKZ-T2.6b: $W^TD_vW \pm \sigma_2M/\|M\|$ is another network with the same outputs at the
    samples.
    """
    point = measure_quadratic(network, data)
    if not (network.v >= 0).all():
        raise CannotCertify(
            f"the head has a negative weight ({network.v.min():.3g}); the claim is for heads v >= "
            "0 (for v <= 0 negate head and labels; for both signs theory.quadratic_disagreement "
            "constructs the second network, without a proof)"
        )
    n, d = point.X.shape
    tensors: dict[str, Tensor] = (
        {} if n < critical_samples(d) else {"M": _vanishing_matrix(point.X)}
    )
    try:
        lower = lower_witness(_network_gram(network))
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(f"W^T diag(v) W is not provably positive definite: {failure}") from None
    difference = Fraction(2 * (d + 2), d + 1) * Fraction(lower.bound) ** 2
    fields: dict[str, Json] = {
        "loss_upper": rational(point.loss_above),
        "sigma2": rational(lower.bound),
        "difference": rational(difference),
    }
    summary = {
        "loss_upper": point.loss_above,
        "sigma2": lower.bound,
        "difference": float(difference),
    }
    return Claim(CLAIM.kind, fields, {"C": lower.C, **tensors}, summary)


def _vanishing_matrix(X: Array) -> NDArray[np.int64]:
    found = exact_kernel_matrix(X)
    n, d = X.shape
    if found is None:
        raise CannotCertify(
            f"no symmetric matrix was found that vanishes at all {n} samples (d(d+1)/2 = "
            f"{critical_samples(d)}); the samples may determine the network: claim identifies"
        )
    largest = max(abs(entry) for row in found for entry in row)
    if largest > _LARGEST_ENTRY:
        raise CannotCertify(
            f"the matrix that vanishes at all samples has entries of {largest.bit_length()} bits, "
            "more than 63"
        )
    return np.array(found, dtype=np.int64)


def _network_gram(network: ShallowNetwork) -> Gram:
    W, v = network.W, network.v
    values = (W.T * v) @ W
    return Gram(
        (values + values.T) / 2.0,
        4.0 * EPS * float(np.sum(np.abs(v)[:, None] * W * W)),
        lambda: _precise(W, v),
    )


def _precise(W: Array, v: Array) -> Ball:
    with working_precision():
        balls = ball_matrix(W)
        return balls.transpose() * ball_matrix(np.diag(v)) * balls


CLAIM = ClaimRecord(
    kind="ambiguous",
    theorem="quadratic-kernel/1",
    proves=Proves.DATA,
    label="the rows leave the function open",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data),
    sentence="Another network of the same shape and head has exactly the same outputs on all rows, "
    "but is another function: over standard normal inputs their mean squared difference is at "
    "least {difference}. The rows do not determine it.",
)
