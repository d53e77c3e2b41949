"""The second, slow checker on exact rational intervals, and the truth oracle of the attack
campaigns.

Written from spec/certificate-v1.md and the theorem pages alone, by another hand than
`globalmin_check`, and on another road: intervals with exact dyadic end points instead of balls,
elimination instead of a witness in the oracle. Meant for small instances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.oracles import (
    fraction_additive_stream,
    fraction_deep_claims,
    fraction_deep_trajectory,
    fraction_factorization_claims,
    fraction_filter_claims,
    fraction_gram_claims,
    fraction_head_claims,
    fraction_patch_claims,
    fraction_regularized,
    fraction_relu_descent,
    fraction_relu_linearized,
    fraction_relu_trajectory,
    fraction_replay_variants,
    fraction_stream_claims,
    fraction_trajectory,
    fraction_unique_minimum,
)
from tests.oracles.claim_grammar import CLAIMS, MalformedError, NoDataError, OtherDataError
from tests.oracles.fraction_claims import (
    Check,
    Truth,
    Witnessed,
    descent_checks,
    guarded,
    interpolation_checks,
)
from tests.oracles.fraction_exact_claims import floor_checks, read_cell, read_groups, relu_checks
from tests.oracles.fraction_network import Network
from tests.oracles.fraction_quadratic_claims import (
    ambiguous_checks,
    barrier_checks,
    gap_checks,
    identifies_checks,
    read_rows,
)
from tests.oracles.fraction_second_order_claims import saddle_checks, second_order_checks
from tests.oracles.strict_container import Certificate, Claim, network_kind, read

PRECISIONS = (160, 512, 1536)
CHECKS: dict[str, Callable[[Network, Claim, Witnessed], Iterator[Check]]] = {
    "interpolation": interpolation_checks,
    "descent": descent_checks,
    "relu-interpolation": relu_checks,
    "loss-floor": floor_checks,
    "optimality-gap": gap_checks,
    "identifies": identifies_checks,
    "ambiguous": ambiguous_checks,
    "below-barrier": barrier_checks,
    "strict-saddle": saddle_checks,
    "second-order-stationary": second_order_checks,
    "relu-descent": fraction_relu_descent.relu_descent_checks,
    "relu-linearized-descent": fraction_relu_linearized.relu_linearized_checks,
    "gram-positive": fraction_gram_claims.gram_checks,
    "unique-minimum": fraction_unique_minimum.unique_checks,
    "head-gap": fraction_head_claims.head_checks,
    "trajectory": fraction_trajectory.trajectory_checks,
    "relu-trajectory": fraction_relu_trajectory.relu_trajectory_checks,
    "sgd-trajectory": fraction_replay_variants.sgd_checks,
}
# form that is visible only with the numbers of the file: index sets
FORM: dict[str, Callable[[Certificate, Claim], object]] = {
    "relu-interpolation": read_cell,
    "loss-floor": read_groups,
    "optimality-gap": read_rows,
    "gram-positive": fraction_gram_claims.read_orders,
    "relu-linearized-descent": fraction_relu_linearized.read_pairs,
    "relu-trajectory": fraction_relu_trajectory.read_pairs,
    "sgd-trajectory": fraction_replay_variants.read_order,
}
CLAIMS.update(
    {
        "relu-descent": fraction_relu_descent.GRAMMAR,
        "relu-linearized-descent": fraction_relu_linearized.GRAMMAR,
        "gram-positive": fraction_gram_claims.GRAMMAR,
        "unique-minimum": fraction_unique_minimum.GRAMMAR,
        "head-gap": fraction_head_claims.GRAMMAR,
        "trajectory": fraction_trajectory.GRAMMAR,
        "relu-trajectory": fraction_relu_trajectory.GRAMMAR,
        "sgd-trajectory": fraction_replay_variants.GRAMMAR,
    }
)
fraction_deep_claims.GRAMMARS["deep-trajectory"] = fraction_deep_trajectory.GRAMMAR
fraction_deep_claims.CHECKS["deep-trajectory"] = fraction_deep_trajectory.deep_trajectory_checks
OTHER_NETWORKS = {
    "deep": fraction_deep_claims,
    "filter": fraction_filter_claims,
    "factorization": fraction_factorization_claims,
    "regularized": fraction_regularized,
    "patches": fraction_patch_claims,
    "stream": fraction_stream_claims,
    "additive-stream": fraction_additive_stream,
}


@dataclass(frozen=True)
class Outcome:
    """ACCEPTED, REJECTED, MALFORMED or UNDECIDED, and why."""

    verdict: str
    reason: str


def _bias_check(certificate: Certificate) -> Check:
    return "bias column", not certificate.bias or all(row[-1] == 1 for row in certificate.X)


def _walk(certificate: Certificate, judge: Witnessed, bits: int) -> list[Check]:
    net = Network(certificate, bits, judge.lenient)
    outcomes = [_bias_check(certificate)]
    for index, claim in enumerate(certificate.claims):
        outcomes += [
            (f"claim {index} ({claim.kind}): {name}", x)
            for name, x in guarded(CHECKS[claim.kind](net, claim, judge))
        ]
    return outcomes


def _judge(certificate: Certificate, judge: Witnessed) -> tuple[bool | None, str]:
    undecided = ""
    for bits in PRECISIONS:
        outcomes = _walk(certificate, judge, bits)
        failed = [name for name, outcome in outcomes if outcome is False]
        if failed:
            return False, failed[0]
        undecided = next((name for name, outcome in outcomes if outcome is None), "")
        if not undecided:
            return True, "every check holds"
    return None, undecided


def _read(raw: bytes, data: bytes | None) -> Certificate:
    certificate = read(raw, data)
    for claim in certificate.claims:
        if claim.kind in FORM:
            FORM[claim.kind](certificate, claim)
    if not certificate.has_the_digest:
        raise OtherDataError("data digest does not match")
    return certificate


def check_bytes(raw: bytes, data: bytes | None = None) -> Outcome:
    """Does the witness in this file prove its claims?"""
    other = OTHER_NETWORKS.get(network_kind(raw) or "")
    if other is not None:
        return Outcome(*other.check_bytes(raw, data))
    try:
        certificate = _read(raw, data)
    except MalformedError as error:
        return Outcome("MALFORMED", str(error))
    except OtherDataError as error:
        return Outcome("REJECTED", str(error))
    except NoDataError as error:
        return Outcome("UNDECIDED", str(error))
    accepted, reason = _judge(certificate, Witnessed())
    return Outcome({True: "ACCEPTED", False: "REJECTED", None: "UNDECIDED"}[accepted], reason)


def oracle_truth(raw: bytes, data: bytes | None = None) -> bool | None:
    """Do the claims' inequalities hold for the exact quantities, whatever the witness? None if
    undecided; malformed files claim nothing."""
    other = OTHER_NETWORKS.get(network_kind(raw) or "")
    if other is not None:
        return other.oracle_truth(raw, data)
    try:
        certificate = _read(raw, data)
    except (MalformedError, NoDataError):
        return None
    except OtherDataError:
        return False
    return _judge(certificate, Truth())[0]


def oracle_reason(raw: bytes, data: bytes | None = None) -> str:
    """The inequality that decided `oracle_truth`."""
    return _judge(_read(raw, data), Truth())[1]
