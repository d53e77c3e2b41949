"""Claim `identifies`: the samples determine a quadratic network as a function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import NotPositiveDefiniteError, lower_witness
from globalmin.proving.certificate import CHECKER_WORK
from globalmin.proving.claim import (
    Claim,
    ClaimRecord,
    Json,
    Proves,
    Question,
    Rung,
    Tensor,
    rational,
)
from globalmin.quadratic.identifiability import critical_samples, exact_span_rank
from globalmin.references import states
from globalmin.shallow.claims.measured_point import QuadraticPoint, measure_quadratic
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data import Dataset

STABLE_ORDER = (
    500  # N up to which the least eigenvalue is proved as well by default; its cost is cubic in N
)


# features up to which the ladder asks whether the data determine the function: an exact rank of
# order d(d+1)/2
IDENTIFIED = 30


@states("GKZ-T2.6a")
def build(network: ShallowNetwork, data: Dataset, *, stable: bool | None = None) -> Claim:
    r"""The claim, or CannotCertify if the matrices $x_ix_i^T$ do not provably span the symmetric
    ones.

    Parameters
    ----------
    network, data : quadratic network and its data set; only the inputs decide.
    stable : also prove $S^TS \ge \mu I$, so that nearly equal outputs give nearly equal networks;
        by default where d(d+1)/2 is at most 500 and the eigenvalue can be proved.

    Theory
    ------
    GKZ-T2.6a: full rank modulo a prime is full rank.
    """
    point = measure_quadratic(network, data)
    n, d = point.X.shape
    N = critical_samples(d)
    if n < N:
        raise CannotCertify(
            f"n = {n} samples are fewer than d(d+1)/2 = {N}, so they determine no network; claim "
            "ambiguous"
        )
    if (n + N) * N * N // 3 > CHECKER_WORK:
        raise CannotCertify(f"n = {n}, d = {d}: the exact rank is beyond the checker's work budget")
    rank = exact_span_rank(point.X)[0]
    if rank < N:
        raise CannotCertify(
            f"the matrices x_i x_i^T have rank {rank} of {N}, so the samples do not determine the "
            "network"
        )
    fields: dict[str, Json] = {"loss_upper": rational(point.loss_above)}
    summary = {"loss_upper": point.loss_above, "rank": float(N)}
    found = _least_eigenvalue(point, N, stable)
    if found is None:
        return Claim(CLAIM.kind, fields, {}, summary)
    mu, C = found
    return Claim(CLAIM.kind, {**fields, "mu": rational(mu)}, {"C": C}, {**summary, "mu": mu})


def _least_eigenvalue(
    point: QuadraticPoint, N: int, stable: bool | None
) -> tuple[float, Tensor] | None:
    if stable is False or (stable is None and N > STABLE_ORDER):
        return None
    try:
        lower = lower_witness(point.design_gram())
    except NotPositiveDefiniteError as failure:
        if stable:
            raise CannotCertify(
                f"the rank is full, but the least eigenvalue of S^T S is not provable: {failure}"
            ) from None
        return None
    return lower.bound, lower.C


def _rungs(question: Question) -> list[Rung]:
    n, d = question.data.X.shape
    is_asked = question.network.activation.certificate_name == "quadratic" and d <= IDENTIFIED
    if not is_asked or n < d * (d + 1) // 2:
        return []
    return [Rung(1, lambda: build(question.network, question.data), is_beside=True)]


CLAIM = ClaimRecord(
    kind="identifies",
    theorem="quadratic-span/1",
    proves=Proves.DATA,
    label="the rows determine the function",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data),
    rungs=_rungs,
    sentence="Two quadratic networks of any width with equal outputs on these rows are the same "
    "function everywhere: the rows span all {rank} dimensions of quadratic functions, so at most "
    "one fits the labels. The weights are not determined.",
)
