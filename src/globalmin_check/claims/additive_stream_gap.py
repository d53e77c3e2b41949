"""The claim `additive-stream-gap`: how far an additive ReLU network on the rows of many shards is
from the global minimum over every width (`spec/claims/additive-stream-gap.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import cast

from flint import fmpq

from globalmin_check.balls import decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.additive_agreement import AdditiveGap, rational_of, require_rows
from globalmin_check.claims.additive_bins import Bins, cone_fault, is_inside
from globalmin_check.claims.additive_network import AdditiveStream
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.stream_network import StreamSizes, about_rows
from globalmin_check.container import Tensors
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import TRIVIAL, Malformed

MEANING = (
    "Theorem B (bins). The rows of every column lie in bins; of every bin the number of rows and "
    "the sums of r_i, r_i (x_i - left edge) and r_i^2 are known up to radii. For u = t (r - mean "
    "of r) the sum of u_i relu(w x_i + c) is then known for all w and c, up to (h/8) sqrt(N Q) in "
    "a bin of width h. If it is at most b |(w, c)| for every column, every additive network of the "
    "class, of any width, has L + (b/2)|weights|^2 >= D(u), so the stored one is within "
    "(1 + t^2)(A + alpha)/2 + t (B + beta) + t R Y/n + (b/2)|weights|^2 of the minimum."
)
_ZERO = fmpq(0)


@dataclass(frozen=True)
class Found:
    """Upper bound of the objective of the stored network, and the floor of the class."""

    objective: Fraction
    floor: Fraction


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> AdditiveGap:
    """Take the fields and tensors of the claim; form only."""
    shards, bins = cast(StreamSizes, sizes).shards, _bins(fields.array("bins"), sizes.d)
    total = sum(bins)
    residuals, moments, squares = (
        tensors.take(role, "F64", shards, total) for role in ("residuals", "moments", "squares")
    )
    return AdditiveGap(
        fields.rational("loss_upper"),
        fields.rational("decay"),
        fields.rational("t"),
        fields.rational("gap"),
        bins,
        tensors.take("edges", "F64", total + len(bins)),
        tensors.take("counts", "I64", shards, total),
        residuals,
        moments,
        squares,
        tensors.take("totals", "F64", shards, 4),
        tensors.take("radii", "F64", shards, 4),
    )


def _bins(values: list[object], d: int) -> tuple[int, ...]:
    sizes = tuple(value for value in values if isinstance(value, int) and value is not True)
    if len(sizes) != len(values) or len(sizes) != d or min(sizes) < 1:
        raise Malformed("bins are not one integer of at least 1 for every input")
    return sizes


def work(claim: AdditiveGap, sizes: Sizes) -> tuple[int, int]:
    """No balls are needed."""
    return 0, 0


def exact(claim: AdditiveGap, problem: Problem, checks: ExactChecks) -> Found:
    """All of it: K1 to K8, and with rows K9 and K10."""
    stream = cast(AdditiveStream, problem)
    total = sum(claim.sizes)
    checks.charge(4 * total * (len(stream.shards) + 20) + len(problem.W.values))
    _require_form(claim, stream, checks)
    found = _require_gap(claim, stream, checks)
    bins = list(_columns(claim, stream))
    for name, column in zip(stream.columns, bins, strict=False):
        fault = cone_fault(column, claim.t, claim.decay)
        text = f"every neuron of column {name!r} with a kink inside is dominated by its decay"
        checks.require_fact("K7", text, not fault, fault or f"{len(column.counts)} bins")
        checks.require_fact(
            "K8",
            f"every neuron of column {name!r} with a kink outside is dominated by its decay",
            is_inside(column, claim.t, claim.decay),
            "the sum of u x",
        )
    require_rows(claim, stream, checks)
    return found


def _require_form(claim: AdditiveGap, stream: AdditiveStream, checks: ExactChecks) -> None:
    """K1 to K4."""
    checks.require_sign("K1a", "gap >= 0", claim.gap)
    checks.require_sign("K1b", "decay > 0", claim.decay)
    checks.require_sign("K1c", "t >= 0", claim.t)
    checks.require_sign("K1d", "scales > 0", Fraction(min(stream.y.values)))
    checks.require_sign("K1e", "radii >= 0", Fraction(min(claim.radii.values)))
    seen = max((sum(map(bool, weights)) for weights in stream.W.rows()), default=0)
    checks.require_fact("K2", "every neuron sees one column", seen <= 1, f"one sees {seen}")
    for name, edges in zip(stream.columns, claim.column_edges(), strict=False):
        rise = all(low < high for low, high in pairwise(edges))
        checks.require_fact("K3", f"the edges of column {name!r} increase", rise, "they do not")
    least = min(claim.counts.values)
    checks.require_fact("K4a", "every number of rows is at least 0", least >= 0, f"{least}")
    for number, shard in enumerate(stream.shards):
        row = claim.counts.row(number)
        fits = all(sum(row[first:last]) == shard.rows for first, last in claim.parts())
        text = f"the numbers of rows in the bins of shard {number} add up to its rows"
        checks.require_fact("K4b", text, fits, f"it has {shard.rows} rows")


def _require_gap(claim: AdditiveGap, stream: AdditiveStream, checks: ExactChecks) -> Found:
    """K5 and K6."""
    A, B, R, Y = (_sum(claim.totals.values[j::4]) for j in range(4))
    rho, _, kappa, eta = _row_radii(claim, stream)
    stored = (*stream.W.values, *stream.biases.values, *stream.v.values)
    penalty = claim.decay * sum((Fraction(value) ** 2 for value in stored), Fraction(0)) / 2
    squares, products = A + kappa, B + eta
    checks.require("K5", "(A + alpha)/2 <= loss_upper", squares / 2, "<=", claim.loss_upper)
    mean = (abs(R) + rho) * (abs(Y) + eta) / stream.sizes.n
    floor = -claim.t * (products + mean) - claim.t**2 * squares / 2
    text = "(1 + t^2)(A + alpha)/2 + t (B + beta) + t R Y/n + (decay/2)|weights|^2 <= gap"
    objective = squares / 2 + penalty
    checks.require("K6", text, objective - floor, "<=", claim.gap)
    return Found(objective, floor)


def _sum(values: Iterable[float]) -> Fraction:
    return sum(map(Fraction, values), Fraction(0))


def _row_radii(claim: AdditiveGap, stream: AdditiveStream) -> list[Fraction]:
    """The radii times the rows, added over the shards."""
    total = [Fraction(0)] * 4
    for number, shard in enumerate(stream.shards):
        own = claim.radii.row(number)
        total = [old + shard.rows * Fraction(x) for old, x in zip(total, own, strict=True)]
    return total


def _columns(claim: AdditiveGap, stream: AdditiveStream) -> Iterator[Bins]:
    """The sums of every column over all shards."""
    total, shards = sum(claim.sizes), range(len(stream.shards))
    rho, sigma, _, _ = _row_radii(claim, stream)
    reach = abs(_sum(claim.totals.values[2::4])) + rho
    kappa = [rational_of(claim.radii.values[4 * s + 2]) for s in shards]
    for j, (edges, (first, last)) in enumerate(
        zip(claim.column_edges(), claim.parts(), strict=True)
    ):
        places = range(first, last)
        S, T, Q = (
            [sum((rational_of(part.values[s * total + k]) for s in shards), _ZERO) for k in places]
            for part in (claim.residuals, claim.moments, claim.squares)
        )
        numbers = [[claim.counts.values[s * total + k] for s in shards] for k in places]
        wider = [
            sum((n * radius for n, radius in zip(own, kappa, strict=True)), _ZERO)
            for own in numbers
        ]
        shift, scale = rational_of(stream.X.values[j]), rational_of(stream.y.values[j])
        z = [(rational_of(edge) - shift) * scale for edge in edges]
        squares = [q + radius for q, radius in zip(Q, wider, strict=True)]
        width = Fraction(int((z[-1] - z[0]).p), int((z[-1] - z[0]).q))
        rest = (reach + rho) * width + sigma
        counts = [sum(own) for own in numbers]
        yield Bins(z, counts, S, T, squares, fmpq(rest.numerator, rest.denominator))


def check(claim: AdditiveGap, problem: Problem, found: Found, checks: Checks) -> Numbers:
    """Everything was exact."""
    stream = cast(AdditiveStream, problem)
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "objective": upper_float(found.objective),
        "floor": lower_float(found.floor),
        "gap": upper_float(claim.gap),
        "decay": str(claim.decay),
        "rows": str(stream.sizes.n),
        "shards": str(len(stream.shards)),
        "shards_read": str(0 if stream.given is None else stream.given.read),
    }


def vacuous(claim: AdditiveGap, problem: Problem, numbers: Numbers) -> str:
    """A gap that is no smaller than the objective itself."""
    return TRIVIAL if float(numbers["gap"]) >= float(numbers["objective"]) > 0 else ""


def statement(claim: AdditiveGap, problem: Problem) -> str:
    """The conclusion in a few sentences; the first says what is known of the rows."""
    stream = cast(AdditiveStream, problem)
    return (
        f"{about_rows(stream)} No additive network f(x) = c0 + sum_l v_l relu(w_l x_j(l) + "
        f"beta_l), every neuron on one column, of any width, has a penalized loss L + (b/2) sum "
        f"(w_l^2 + beta_l^2 + v_l^2) with the claimed b (about {decimal_up(claim.decay)}) on these "
        f"{stream.sizes.n} rows, shifted and scaled as the file says, that is lower than that of "
        f"the stored network by more than {decimal_up(claim.gap)}. The stored weights have "
        f"training loss at most {decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind(
    "additive-stream-gap",
    "additive-shards/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    vacuous=vacuous,
    network="additive-stream",
)
