"""Claim `optimality-gap`: how far a quadratic network is at most from the global minimum of its
class (theorems P, S and D).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array, NDArray
from globalmin.errors import CannotCertify, DataError, HypothesisError
from globalmin.linalg.positive_definite import EPS, NotPositiveDefiniteError, lower_witness
from globalmin.linalg.symmetric import moment_matrix, quadratic_forms, svec
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
from globalmin.quadratic.barrier import least_squares_matrix
from globalmin.quadratic.decay import smallest_provable_decay
from globalmin.quadratic.duality import decay_dual, decay_threshold, positive_dual, row_space
from globalmin.references import states
from globalmin.shallow.claims.measured_point import (
    QuadraticPoint,
    gap_above,
    heads_of,
    measure_quadratic,
    strict_witness,
)
from globalmin.shallow.claims.subject import has_floor
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data import Dataset


Method = Literal["positive", "span", "decay"]
METHODS: tuple[Method, ...] = get_args(Method)
# of the loss of the zero network: a gap at the smallest provable weight decay that is worth a file
_NEGLIGIBLE = 1e-6
MARGINS = tuple(2.0**-bits for bits in range(42, 9, -3))
"""Room left for the proof of strict feasibility, the least first: a larger one survives more
rounding and costs more gap.
"""


def build(
    network: ShallowNetwork,
    data: Dataset,
    *,
    weight_decay: float | None = None,
    method: Method | None = None,
) -> Claim:
    r"""The claim with its dual vector, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : quadratic network and its data set; labels arbitrary.
    weight_decay : w > 0 speaks of $L + (w/2)\|W\|_F^2$ (theorem D); None or 0 of L.
    method : "positive" (theorem P), "span" (S) or "decay" (D); by default what the head and the
        weight decay ask for.

    Theory
    ------
    SJL-DUAL, SJL-T2.1, SJL-T2.2k: the class is every quadratic network of any width with a head of
    the same signs (and, for D, of at most the same size). The gap is an honest distance at any
    weights and near zero at the global minimum.
    """
    if weight_decay is not None and not (math.isfinite(weight_decay) and weight_decay >= 0):
        raise DataError(f"weight_decay={weight_decay!r} must be a number of at least 0, or None")
    if method is not None:
        one_of("method", method, METHODS)
    if (method == "decay") != bool(weight_decay) and method is not None:
        raise DataError(
            f"method={method!r} with weight_decay={weight_decay!r}: 'decay' needs a positive one, "
            "the others none"
        )
    point = measure_quadratic(network, data)
    if weight_decay:
        return _decay(point, float(weight_decay))
    if method == "span" or (method is None and heads_of(network.v) == "any"):
        return _span(point)
    return _positive(point)


@states("SJL-DUAL", "SJL-T2.2k")
def _positive(point: QuadraticPoint) -> Claim:
    """Theorem P: the residual moved into the cone of dual vectors, as little as a proof allows."""
    heads = heads_of(point.network.v)
    if heads == "any":
        raise CannotCertify(
            "the head has weights of both signs; theorem P is for heads of one sign, use "
            "method='span'"
        )
    sign = 1.0 if heads == "nonnegative" else -1.0
    space = row_space(point.X)
    rows = spanning_rows(point.X, space.rank)
    basis = np.eye(point.X.shape[1]) if rows is None else point.X[rows]
    for margin in MARGINS:
        found = positive_dual(
            point.X, sign * point.y, sign * point.r, margin=margin, space=space
        ).vector
        vector = sign * (found if found.any() else _smallest_dual(point.y))
        Z = basis @ (sign * moment_matrix(point.X, vector)) @ basis.T
        C = strict_witness(Z, point.moment_noise(vector) * float(np.linalg.norm(basis, 2)) ** 2)
        if C is not None:
            tensors: dict[str, Tensor] = {"lambda": vector, "C": C}
            fields: dict[str, Json] = {"heads": heads}
            if rows is not None:
                tensors["rows"], fields["rank"] = rows, len(rows)
            return _claim(point, "positive", vector, fields=fields, tensors=tensors)
    raise CannotCertify(
        f"no dual vector could be proved feasible for {point.X.shape[0]} samples of rank "
        f"{space.rank}: the inputs are too nearly "
        "dependent for double precision; drop dependent features or use weight decay"
    )


def _smallest_dual(y: Array) -> Array:
    """A feasible vector next to zero, for data whose best dual bound is 0."""
    return np.full_like(y, 2.0**-70 * max(float(np.abs(y).max()), 2.0**-200))


def spanning_rows(X: Array, rank: int) -> NDArray[np.int64] | None:
    """Sorted indices of `rank` rows that span the rows of X, or None if the rank is full."""
    from scipy.linalg import qr

    if rank == X.shape[1]:
        return None
    if rank == 0:
        raise CannotCertify(
            "all samples are zero, so every network of this kind has the same outputs; see the "
            "claim loss-floor"
        )
    order: Any = qr(X.T, mode="economic", pivoting=True)[-1]
    rows = np.sort(np.asarray(order[:rank], dtype=np.int64))
    _require_exact_rank(X, rank)
    return rows


def _require_exact_rank(X: Array, rank: int) -> None:
    """The proof needs rows that depend exactly; features dependent only up to rounding give no
    witness.
    """
    from globalmin.data.exact_algebra import rank_bounds

    lower, upper = rank_bounds(X)
    if upper != rank:
        raise CannotCertify(
            f"X has rank {rank} up to rounding, but between {lower} and {upper} exactly, so "
            "neither proof applies; drop the dependent features or use weight decay"
        )


@states("SJL-T2.2k")
def _decay(point: QuadraticPoint, w: float) -> Claim:
    """Theorem D: the residual, shrunk until -cI < Z < cI."""
    heads = heads_of(point.network.v)
    v_max = float(np.abs(point.network.v).max())
    if not v_max > 0:
        raise CannotCertify(
            "all head weights are zero, so the class of networks with heads of this size is empty "
            "of functions"
        )
    c, sign = decay_threshold(w, v_max), -1.0 if heads == "nonpositive" else 1.0
    Z = moment_matrix(point.X, point.r)
    for margin in MARGINS:
        bound = decay_dual(
            sign * Z, sign * point.r, sign * point.y, c, two_sided=heads == "any", margin=margin
        )
        vector = sign * bound.vector
        factors = _decay_factors(point, vector, c, heads)
        if factors is not None:
            fields: dict[str, Json] = {
                "heads": heads,
                "decay": rational(w),
                "v_max": rational(v_max),
            }
            return _claim(
                point, "decay", vector, fields=fields, tensors={"u": vector, **factors}, w=w
            )
    raise CannotCertify(
        f"no dual vector could be proved feasible at weight decay {w:.3g}; raise it or rescale the "
        "data"
    )


def _decay_factors(
    point: QuadraticPoint, u: Array, c: float, heads: str
) -> dict[str, Tensor] | None:
    noise = point.moment_noise(u) + 4.0 * EPS * c
    return sign_factors(moment_matrix(point.X, u), c, heads, noise)


def sign_factors(Z: Array, c: float, heads: str, noise: float) -> dict[str, Tensor] | None:
    """Witnesses of c I + Z > 0 and c I - Z > 0, as far as the class of heads needs them; None if
    one cannot be had.
    """
    found: dict[str, Tensor] = {}
    for role, sign, unneeded in (("C_lower", 1.0, "nonpositive"), ("C_upper", -1.0, "nonnegative")):
        if heads == unneeded:
            continue
        C = strict_witness(c * np.eye(len(Z)) + sign * Z, noise)
        if C is None:
            return None
        found[role] = C
    return found


def _claim(
    point: QuadraticPoint,
    method: Method,
    u: Array,
    *,
    fields: dict[str, Json],
    tensors: dict[str, Tensor],
    w: float = 0.0,
) -> Claim:
    gap = gap_above(point, u, weight_decay=w)
    objective = point.loss_above + 0.5 * w * float(np.sum(np.square(point.network.W)))
    return _assemble(point, method, gap=gap, objective=objective, fields=fields, tensors=tensors)


def _assemble(
    point: QuadraticPoint,
    method: Method,
    *,
    gap: float,
    objective: float,
    fields: dict[str, Json],
    tensors: dict[str, Tensor],
) -> Claim:
    common: dict[str, Json] = {
        "loss_upper": rational(point.loss_above),
        "method": method,
        "gap": rational(gap),
    }
    summary = {
        "loss_upper": point.loss_above,
        "gap": gap,
        "objective": objective,
        "floor": max(objective - gap, 0.0),
        "relative_gap": gap / objective,
    }
    return Claim(CLAIM.kind, {**common, **fields}, tensors, summary)


@states("SJL-T2.1")
def _span(point: QuadraticPoint) -> Claim:
    """Theorem S: the part of the residual in the range of the quadratic forms, by the normal
    equations.
    """
    n, d = point.X.shape
    N = d * (d + 1) // 2
    if n < N:
        raise CannotCertify(
            f"n = {n} samples are fewer than d(d+1)/2 = {N}: the minimum is 0 in general; claim "
            "interpolation"
        )
    gram = point.design_gram()
    try:
        lower = lower_witness(gram)
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(
            f"the matrices x_i x_i^T do not provably span the symmetric ones: {failure}"
        ) from None
    T = least_squares_matrix(point.X, point.r, gram.values)
    fit = quadratic_forms(point.X, T)
    rest = point.r - fit
    noise = point.moment_noise(rest) + float(
        (point.residual.radius + _form_rounding(point, T)) @ point.squares
    )
    E = float(np.linalg.norm(fit)) + float(np.linalg.norm(_form_rounding(point, T)))
    E += (float(np.linalg.norm(moment_matrix(point.X, rest))) + noise) / math.sqrt(lower.bound)
    gap = max(0.5 * E * E * (1.0 + 1e-9), 2.0**-400)
    tensors: dict[str, Tensor] = {"C": lower.C, "z": svec(T)}
    fields: dict[str, Json] = {"mu": rational(lower.bound)}
    return _assemble(
        point, "span", gap=gap, objective=point.loss_above, fields=fields, tensors=tensors
    )


def _form_rounding(point: QuadraticPoint, T: Array) -> Array:
    """Rounding of x_i^T T x_i in floats, and of svec and back."""
    return (
        2.0
        * (point.X.shape[1] + 4)
        * EPS
        * np.einsum("ij,ij->i", np.abs(point.X) @ np.abs(T), np.abs(point.X))
    )


def _answer(question: Question) -> Claim:
    return build(question.network, question.data, weight_decay=question.weight_decay)


def _at_smallest_decay(question: Question) -> Claim:
    """Where the squares of the inputs depend, so that no bound for all weights is provable: the gap
    at the least weight decay that has a proof, a bound for all weights that are not huge.
    """
    network, data = question.network, question.data
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            least = smallest_provable_decay(network.W, network.v, data.X, data.y)
    except (HypothesisError, np.linalg.LinAlgError) as failure:
        raise CannotCertify(f"no weight decay has a proof here: {failure}") from None
    scale = 0.5 * float(data.y @ data.y)
    if not least.gap <= _NEGLIGIBLE * scale:
        raise CannotCertify(
            f"the least weight decay at which these weights are provably a minimum is "
            f"{least.weight_decay:.3g}, with a gap of {least.gap:.3g}, not negligible against the "
            f"loss {scale:.3g} of the zero network; train further"
        )
    return build(network, data, weight_decay=least.weight_decay)


def _rungs(question: Question) -> list[Rung]:
    """First with weight decay or a floor, otherwise second to zero loss nearby; third at the
    smallest weight decay.
    """
    if question.network.activation.certificate_name != "quadratic":
        return []
    if question.weight_decay:
        return [Rung(1, lambda: _answer(question))]
    first = Rung(1 if has_floor(question) else 2, lambda: _answer(question), place=1)
    last = Rung(3, lambda: _at_smallest_decay(question))
    return [first, last] if question.trained == "W" else [first]


CLAIM = ClaimRecord(
    kind="optimality-gap",
    theorem="quadratic-gap/1",
    proves=Proves.GAP,
    label="gap to the global minimum",
    network=ShallowNetwork,
    build=_answer,
    rungs=_rungs,
    sentence="No {class}, of any width, has a {penalized} more than {gap} below that of the stored "
    "one: it is at the least value over these networks up to this gap. That value lies above "
    "{floor}; the stored weights have a training loss of at most {loss_upper}.{uncovered}",
    limit="The minimum is that over quadratic networks. Another activation may fit these rows "
    "better.",
)
