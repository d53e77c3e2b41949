"""The claim `stream-gap`: how far a quadratic network on the rows of many shards is from the global
minimum (`spec/claims/stream-gap.md`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from globalmin_check.balls import ball, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.shard_rows import Sums, shards_read
from globalmin_check.claims.stream_network import Stream, StreamSizes, about_rows, require_digest
from globalmin_check.claims.stream_rows import ShardSums
from globalmin_check.container import Tensor, Tensors
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import TRIVIAL

SIGNS = {"nonnegative": (1,), "nonpositive": (-1,), "any": (1, -1)}
MEANING = (
    "Theorem H (shards). Let A, B, Z be the sums of r_i^2, r_i y_i and r_i x_i x_i^T over the rows "
    "of all shards, each within a radius (alpha, beta, zeta) of the sum a, b, M of the numbers "
    "stored for the shards, c = w/(2 v_max) and t >= 0. If (c - t zeta) I + t M and (c - t zeta) I "
    "- t M are positive definite (one of them is enough for heads of one sign), every quadratic "
    "network of the class, of any width, has L + (w/2)|W|^2 >= -t B - t^2 A/2, so the stored one "
    "is within (1 + t^2)(a + alpha)/2 + t (b + beta) + (w/2)|W|^2 of the minimum."
)


@dataclass(frozen=True)
class StreamGap:
    """Fields and tensors of section 5.27."""

    loss_upper: Fraction
    heads: str
    decay: Fraction
    v_max: Fraction
    t: Fraction
    gap: Fraction
    squares: Tensor
    products: Tensor
    moments: Tensor
    radii: Tensor
    factors: tuple[Tensor, ...]


@dataclass(frozen=True)
class Total:
    """What was found exactly: c - t zeta, the lower triangle of M, an upper bound of the objective
    of the stored network, and the floor of the class.
    """

    shift: Fraction
    M: list[list[Fraction]]
    objective: Fraction
    floor: Fraction


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> StreamGap:
    """Take the fields and tensors of the claim; form only."""
    d, shards = sizes.d, cast(StreamSizes, sizes).shards
    heads = fields.choice("heads", tuple(SIGNS))
    roles = ["C_lower" if sign > 0 else "C_upper" for sign in SIGNS[heads]]
    return StreamGap(
        fields.rational("loss_upper"),
        heads,
        fields.rational("decay"),
        fields.rational("v_max"),
        fields.rational("t"),
        fields.rational("gap"),
        tensors.take("squares", "F64", shards),
        tensors.take("products", "F64", shards),
        tensors.take("moments", "F64", shards, d * (d + 1) // 2),
        tensors.take("radii", "F64", shards, 3),
        tuple(tensors.take(role, "F64", d, d) for role in roles),
    )


def work(claim: StreamGap, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    d = sizes.d
    return 2 * len(claim.factors) * d**3 + sizes.k * d, 6 * d * d


def exact(claim: StreamGap, problem: Problem, checks: ExactChecks) -> Total:
    """H1 to H4, and with rows H7 and H8."""
    total = of_file(claim, problem, checks)
    read_rows(claim, problem, checks, ShardSums, _require_agreement)
    return total


def read_rows(
    claim: StreamGap,
    problem: Problem,
    checks: ExactChecks,
    opened: Callable[[Stream], Sums],
    require: Callable[[StreamGap, Stream, ExactChecks, int, Sums], None],
) -> None:
    """H7, and H8 as `require` finds it in the sums that were opened for a shard."""
    stream = cast(Stream, problem)
    given = stream.given
    if given is None:
        return
    given.read = 0
    found = shards_read(stream, given, lambda: opened(stream))
    for number, (sums, sha256) in enumerate(found, given.first):
        require_digest(checks, "H7", stream, number, sha256)
        require(claim, stream, checks, number, sums)
        given.read += 1


def of_file(claim: StreamGap, problem: Problem, checks: ExactChecks) -> Total:
    """H1 to H4, which need no rows."""
    stream = cast(Stream, problem)
    checks.charge(len(claim.moments.values) + 6 * len(stream.shards) + len(problem.W.values))
    _require_signs(claim, stream, checks)
    head = list(map(Fraction, problem.v.values))
    checks.require("H2a", "max_l |v_l| <= v_max", max(map(abs, head)), "<=", claim.v_max)
    inside = claim.heads == "any" or all(v * SIGNS[claim.heads][0] >= 0 for v in head)
    found = f"v from {float(min(head)):.6g} to {float(max(head)):.6g}"
    checks.require_fact("H2b", f"every head is {claim.heads}", inside, found)
    total = _total(claim, stream)
    alpha, beta, zeta = (_sum(claim.radii.values[j::3]) for j in range(3))
    squares = _sum(claim.squares.values) + alpha
    products = _sum(claim.products.values) + beta
    penalty = claim.decay * _sum_of_squares(problem.W.values) / 2
    checks.require("H3", "(a + alpha)/2 <= loss_upper", squares / 2, "<=", claim.loss_upper)
    floor = -claim.t * products - claim.t**2 * squares / 2
    text = "(1 + t^2)(a + alpha)/2 + t (b + beta) + (decay/2)|W|^2 <= gap"
    checks.require("H4", text, squares / 2 + penalty - floor, "<=", claim.gap)
    shift = claim.decay / (2 * claim.v_max) - claim.t * zeta
    return Total(shift, total, squares / 2 + penalty, floor)


def _require_signs(claim: StreamGap, stream: Stream, checks: ExactChecks) -> None:
    checks.require_sign("H1a", "gap >= 0", claim.gap)
    checks.require_sign("H1b", "decay > 0", claim.decay)
    checks.require_sign("H1c", "v_max > 0", claim.v_max)
    checks.require_sign("H1d", "t >= 0", claim.t)
    checks.require_sign("H1e", "scales > 0", Fraction(min(stream.y.values)))
    checks.require_sign("H1f", "radii >= 0", Fraction(min(claim.radii.values)))


def _sum(values: Iterable[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


def _sum_of_squares(values: Iterable[float]) -> Fraction:
    return sum((Fraction(value) ** 2 for value in values), Fraction(0))


def _total(claim: StreamGap, stream: Stream) -> list[list[Fraction]]:
    """The lower triangle of M, added over the shards."""
    d = stream.sizes.d
    size = d * (d + 1) // 2
    sums = [_sum(claim.moments.values[place::size]) for place in range(size)]
    starts = [a * d - a * (a - 1) // 2 for a in range(d)]
    return [[sums[starts[b] + a - b] for b in range(a + 1)] for a in range(d)]


def _require_agreement(
    claim: StreamGap, stream: Stream, checks: ExactChecks, number: int, sums: ShardSums
) -> None:
    """H8 of one shard."""
    where = f"shard {number}"
    alpha, beta, zeta = map(Fraction, claim.radii.row(number))
    a, b = (Fraction(part.values[number]) for part in (claim.squares, claim.products))
    checks.require("H8a", f"{where}: |A - a| <= alpha", abs(sums.squares - a), "<=", alpha)
    checks.require("H8b", f"{where}: |B - b| <= beta", abs(sums.products - b), "<=", beta)
    distance, place, d = Fraction(0), 0, stream.sizes.d
    stored = list(map(Fraction, claim.moments.row(number)))
    for i in range(d):
        for j in range(i, d):
            distance += (1 + (i < j)) * (sums.moments[place] - stored[place]) ** 2
            place += 1
    checks.require("H8c", f"{where}: |Z - M|_F^2 <= zeta^2", distance, "<=", zeta**2)


def check(claim: StreamGap, problem: Problem, total: Total, checks: Checks) -> Numbers:
    """H5 and H6: P1 on matrices of exact rationals."""
    for sign, C in zip(SIGNS[claim.heads], claim.factors, strict=True):
        number, text = ("H5", "+") if sign > 0 else ("H6", "-")
        name = f"(c - t zeta) I {text} t M"
        require_positive_definite(checks, number, name, _matrix(claim, total, sign), C)
    stream = cast(Stream, problem)
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "objective": upper_float(total.objective),
        "floor": lower_float(total.floor),
        "gap": upper_float(claim.gap),
        "heads": claim.heads,
        "decay": str(claim.decay),
        "rows": str(stream.sizes.n),
        "shards": str(len(stream.shards)),
        "shards_read": str(0 if stream.given is None else stream.given.read),
    }


def _matrix(claim: StreamGap, total: Total, sign: int) -> Rows:
    return [
        [ball(sign * claim.t * entry + total.shift * (i == j)) for j, entry in enumerate(row)]
        for i, row in enumerate(total.M)
    ]


def vacuous(claim: StreamGap, problem: Problem, numbers: Numbers) -> str:
    """A gap that is no smaller than the objective itself."""
    return TRIVIAL if float(numbers["gap"]) >= float(numbers["objective"]) > 0 else ""


def statement(claim: StreamGap, problem: Problem) -> str:
    """The conclusion in a few sentences; the first says what is known of the rows."""
    stream = cast(Stream, problem)
    heads = {"nonnegative": "v >= 0 and", "nonpositive": "v <= 0 and", "any": ""}[claim.heads]
    return (
        f"{about_rows(stream)} No quadratic network f(x) = sum_l v_l (w_l . x)^2 with {heads} "
        f"|v_l| <= v_max (about {decimal_up(claim.v_max)}), of any width, has a penalized loss L + "
        f"(w/2)|W|^2 with the claimed w (about {decimal_up(claim.decay)}) on these "
        f"{stream.sizes.n} rows, shifted and scaled as the file says, that is lower than that of "
        f"the stored network by more than {decimal_up(claim.gap)}. The stored weights have "
        f"training loss at most {decimal_up(claim.loss_upper)}."
    ).replace("  ", " ")


CLAIM = ClaimKind(
    "stream-gap",
    "quadratic-shards/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    vacuous=vacuous,
    network="stream",
)
