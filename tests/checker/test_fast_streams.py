"""H8 of stream-gap in floats: bounds hold against exact rationals and are near what rounding can
do, the routes agree, and what is not certain is left to exact integers.
"""

from array import array
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
from tests.checker import stream_cases as cases
from tests.checker.stream_sums import frobenius, stream_of, tensor

from globalmin_check import Verdict
from globalmin_check.checks import Budget, ExactChecks
from globalmin_check.claims.shard_rows import BLOCK
from globalmin_check.claims.stream_gap import StreamGap
from globalmin_check.engine import check_bytes
from globalmin_check.fast import streams
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import NotProved
from globalmin_check.fast.streams import BoundedSums, _exact_sum, _require_agreement

U = 2.0**-53


def wild(seed: int, n: int = 12, q: int = 3, k: int = 2, *, bias: bool, fits: bool) -> cases.Case:
    """Rows, shifts, scales and weights of many sizes, far from round; with `fits` the labels are
    the outputs up to rounding, so that residuals are nothing but rounding.
    """
    rng = np.random.default_rng(seed)
    shift = rng.standard_normal(q + 1) * 10.0 ** rng.integers(-3, 4, q + 1)
    scale = rng.uniform(0.5, 1.0, q + 1) * 10.0 ** rng.integers(-3, 4, q + 1)
    rows = shift + rng.standard_normal((n, q + 1)) / scale
    W, v = rng.standard_normal((k, q + bias)), rng.standard_normal(k)
    if fits:
        X = (rows[:, :-1] - shift[:-1]) * scale[:-1]
        X = np.column_stack([X, np.ones(n)]) if bias else X
        rows[:, -1] = np.square(X @ W.T) @ v / scale[-1] + shift[-1]
    return cases.Case(rows, (), shift, scale, W, v, bias)


def summed(case: cases.Case, block: int = BLOCK) -> list[Fraction]:
    sums = BoundedSums(stream_of(case), Products(b"digest"))
    for start in range(0, len(case.rows), block):
        sums.add(array("d", case.rows[start : start + block].ravel().tolist()))
    return sums.closed()


@pytest.mark.parametrize("seed", range(40))
def test_bounds_hold_and_are_near_what_rounding_can_do(seed: int) -> None:
    case = wild(seed, bias=seed % 2 == 0, fits=seed % 4 < 2)
    squares, products, *moments, alpha, beta, zeta = summed(case, block=5)
    A, B, Z = case.sums(case.rows)
    d = case.W.shape[1]
    distance = frobenius(d, [z - m for z, m in zip(Z, moments, strict=True)])
    assert abs(A - squares) <= alpha
    assert abs(B - products) <= beta
    assert distance <= float(zeta)
    # what no bound can be below: half a unit of every label, in every residual
    X, y = case.exact(case.rows)
    residuals = case.residuals(case.rows)
    norms = [float(sum(value * value for value in x)) for x in X]
    moved = [U * float(abs(label) + abs(r)) for label, r in zip(y, residuals, strict=True)]
    assert float(zeta) >= sum(q * m for q, m in zip(norms, moved, strict=True))
    assert float(beta) >= sum(m * float(abs(label)) for m, label in zip(moved, y, strict=True))
    # and 100 d k of them is what outputs of this size cost
    sizes = [
        float(sum(abs(head) * sum(abs(a * b) for a, b in zip(w, x, strict=True)) ** 2
                  for w, head in zip(case.W.tolist(), case.v.tolist(), strict=True)))
        for x in [[float(value) for value in x] for x in X]
    ]  # fmt: skip
    reach = [100 * U * (s + float(abs(label))) for s, label in zip(sizes, y, strict=True)]
    assert float(zeta) <= sum(q * m for q, m in zip(norms, reach, strict=True))


def test_residual_of_one_row_is_enclosed_where_every_rounding_goes_one_way() -> None:
    """One column, one neuron: the bound is within a factor of the error that was found."""
    worst = 0.0
    for seed in range(400):
        case = wild(seed, n=1, q=1, k=1, bias=False, fits=False)
        sums = BoundedSums(stream_of(case), Products(b"digest"))
        block = sums._rows(case.rows)
        error = abs(float(case.residuals(case.rows)[0] - Fraction(float(block.r[0]))))
        assert error <= block.dr[0]
        worst = max(worst, error / float(block.dr[0]))
    assert worst > 0.15  # of a bound that adds some 16 roundings, of which 6 can happen at once


class Widened(Products):
    """Bounds of products times a factor, so that one part of a bound is seen alone."""

    def __init__(self, factor: float) -> None:
        super().__init__(b"digest")
        self.factor = factor

    def upper(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return super().upper(A, B) * self.factor


@pytest.mark.parametrize("seed", range(12))
def test_residual_is_enclosed_for_every_inner_value_within_its_radius(seed: int) -> None:
    """The inner values moved to the ends of their radii, all outputs in one direction."""
    case, factor = wild(seed, bias=seed % 2 == 0, fits=False), 2.0**40
    sums = BoundedSums(stream_of(case), Widened(factor))
    block = sums._rows(case.rows)
    (k, d), v = case.W.shape, case.v.tolist()
    for i, (x, y) in enumerate(zip(block.X.tolist(), block.y.tolist(), strict=True)):
        moved = Fraction(-y)
        for w, head in zip(case.W.tolist(), v, strict=True):
            terms = [Fraction(a) * Fraction(b) for a, b in zip(w, x, strict=True)]
            radius = (d + 3) * Fraction(U) * sum(map(abs, terms), Fraction()) * Fraction(factor)
            away = abs(sum(terms, Fraction())) + radius if head > 0 else Fraction(0)
            z = abs(sum(terms, Fraction()))
            moved += Fraction(head) * (away**2 if head > 0 else max(z - radius, 0) ** 2)
        assert abs(moved - Fraction(float(block.r[i]))) <= float(block.dr[i])
    assert k == len(v)


@pytest.mark.parametrize("k", [1, 2, 9])
def test_every_rounding_of_the_outputs_has_its_room(k: int) -> None:
    case = wild(k, k=k, bias=True, fits=False)
    block = BoundedSums(stream_of(case), Widened(0.0))._rows(case.rows)
    sizes = np.square(block.X @ case.W.T) @ np.abs(case.v)
    wanted = U * ((k + 5) * sizes + 3 * np.abs(block.y) + 2 * np.abs(block.r))
    assert block.dr == pytest.approx(wanted, rel=1e-9, abs=0.0)  # as the page says
    assert (block.dr >= U * ((k + 2) * sizes + 2 * np.abs(block.y) + np.abs(block.r))).all()


@pytest.mark.parametrize("n", [1, 3, 2048])
@pytest.mark.parametrize("away", [0.0, 1e-20, 1e-3])
def test_bounds_of_sums_are_those_of_the_page(n: int, away: float) -> None:
    """In exact rationals, whatever the order of summation does: at least the right sides, and at
    most a millionth more.
    """
    rng = np.random.default_rng(n)
    X, y, r = rng.standard_normal((n, 3)), rng.standard_normal(n), rng.standard_normal(n)
    dr = away * rng.uniform(0.5, 1.0, n)
    found = streams._errors(streams.Block(X, y, r, dr), n)
    u, wanted = Fraction(U), [Fraction(0)] * 3
    for x, label, residual, radius in zip(
        X.tolist(), y.tolist(), r.tolist(), dr.tolist(), strict=True
    ):
        a, b, e = abs(Fraction(residual)), abs(Fraction(label)), Fraction(radius)
        q = sum((Fraction(entry) ** 2 for entry in x), Fraction(0))
        wanted[0] += (n + 4) * u * a * a + e * (2 * a + e)
        wanted[1] += (n + 8) * u * a * b + Fraction(101, 100) * e * b
        wanted[2] += q * ((n + 12) * u * a + Fraction(101, 100) * e)
    for bound, right in zip(found, wanted, strict=True):
        assert right <= Fraction(bound) <= right * (1 + Fraction(1, 10**6))


@pytest.mark.parametrize("seed", range(20))
def test_rows_far_from_their_shift_and_residuals_that_cancel(seed: int) -> None:
    """Many rows of one kind: errors do not average out."""
    rng = np.random.default_rng(seed)
    one = wild(seed, n=1, bias=True, fits=True).rows
    case = wild(seed, n=1, bias=True, fits=True)
    case = cases.Case(np.repeat(one, 60, 0), (), case.shift, case.scale, case.W, case.v, True)
    squares, products, *moments, alpha, beta, zeta = summed(case, int(rng.integers(1, 61)))
    A, B, Z = case.sums(case.rows)
    assert abs(A - squares) <= alpha
    assert abs(B - products) <= beta
    differences = [z - m for z, m in zip(Z, moments, strict=True)]
    assert frobenius(case.W.shape[1], differences) <= float(zeta)


def test_sums_of_floats_are_exact() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = (rng.standard_normal(30) * 2.0 ** rng.integers(-900, 900, 30)).tolist()
        values += [-value for value in values[: rng.integers(0, 31)]]
        assert _exact_sum(values) == sum(map(Fraction, values), Fraction(0))


def with_room(case: cases.Case, room: float) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Honest parts whose radii are wider, as those of a producer in floats."""
    fields, tensors = cases.parts(case)
    tensors["radii"] = tensors["radii"] + room
    A, B = cases.exact_ends(tensors["squares"], tensors["products"], tensors["radii"])
    t, decay = Fraction(fields["t"]), Fraction(fields["decay"])
    penalty = decay * sum(Fraction(x) ** 2 for x in case.W.ravel()) / 2
    fields |= {"gap": (1 + t * t) * A / 2 + t * B + penalty, "loss_upper": A / 2}
    return fields, tensors


def test_both_routes_accept_and_tight_radii_are_left_to_integers() -> None:
    case = cases.drawn()
    rows = cases.given(case.rows)
    wide = cases.build(case, with_room(case, 1e-9))
    fast, exact = (check_bytes(wide, rows=rows, route=route) for route in ("fast", "exact"))
    assert (fast.verdict, exact.verdict) == (Verdict.ACCEPTED, Verdict.ACCEPTED)
    assert fast.claims[0].numbers == exact.claims[0].numbers
    assert fast.claims[0].statement == exact.claims[0].statement
    assert fast.claims[0].route == "fast"
    tight = cases.build(case, cases.parts(case))
    refused = check_bytes(tight, rows=rows, route="fast")
    assert refused.verdict is Verdict.UNDECIDED
    assert "not certain in floats" in refused.reason
    assert check_bytes(tight, rows=rows).verdict is Verdict.ACCEPTED


class Summed:
    """Sums that were found, with their bounds."""

    def __init__(self, found: list[Fraction]) -> None:
        self.found = found

    def closed(self) -> list[Fraction]:
        return self.found


@pytest.mark.parametrize("which", [0, 1, 2])
@pytest.mark.parametrize(("distance", "bound", "holds"), [
    (0, 1, True), (1, 0, True), (0.5, 0.5, True), (0, 1.001, False), (0.999, 0.002, False),
    (-0.999, 0.002, False), (0.5, 1.1, False), (-0.5, 0.5, True),
])  # fmt: skip
def test_distance_and_bound_together_stay_within_the_radius(
    which: int, distance: float, bound: float, holds: bool
) -> None:
    """In units of the radius; a moment off the diagonal counts twice in the Frobenius norm."""
    case = cases.drawn(n=6, cuts=(), bias=False)
    stream, radius = stream_of(case), Fraction(3, 64)
    tensors = {"squares": [5.0], "products": [7.0], "moments": [[1.0, 2.0, 3.0]],
               "radii": [[float(radius)] * 3]}  # fmt: skip
    stored = {name: tensor(np.array(value)) for name, value in tensors.items()}
    one = Fraction(0)
    numbers: list[Any] = [one, "any", one, one, one, one, *stored.values(), ()]
    claim = StreamGap(*numbers)
    found = [Fraction(x) for x in (5, 7, 1, 2, 3, 0, 0, 0)]
    found[5 + which] = Fraction(bound) * radius
    place = (0, 1, 4)[which]
    found[place] += Fraction(distance) * radius
    checks = ExactChecks(Budget())
    if holds:
        _require_agreement(claim, stream, checks, 0, cast(Any, Summed(found)))
        assert [line.outcome for line in checks.lines] == ["holds"] * 3
    else:
        with pytest.raises(NotProved, match="not certain"):
            _require_agreement(claim, stream, checks, 0, cast(Any, Summed(found)))


def test_a_moment_off_the_diagonal_counts_twice() -> None:
    case = cases.drawn(n=6, cuts=(), bias=False)
    tensors = ([5.0], [7.0], [[1.0, 2.0, 3.0]], [[0.0, 0.0, 1.0]])
    zero = Fraction(0)
    parts = [tensor(np.array(value)) for value in tensors]
    numbers: list[Any] = [zero, "any", zero, zero, zero, zero, *parts, ()]
    claim = StreamGap(*numbers)
    for moved, holds in ((0.7, True), (0.72, False)):
        found = [Fraction(x) for x in (5, 7, 1, 2.0 + moved, 3, 0, 0, 0)]
        checks = ExactChecks(Budget())
        given: Any = (claim, stream_of(case), checks, 0, Summed(found))
        if holds:
            _require_agreement(*given)
        else:
            with pytest.raises(NotProved):
                _require_agreement(*given)


@pytest.mark.parametrize("radius", [0, 1, 2])
def test_one_tight_radius_is_left_to_integers_and_refutes_nothing(radius: int) -> None:
    case = cases.drawn()
    tight = cases.parts(case)[1]["radii"]
    fields, tensors = with_room(case, 1e-9)
    tensors["radii"][:, radius] = tight[:, radius]
    blob = cases.build(case, (fields, tensors))
    refused = check_bytes(blob, rows=cases.given(case.rows), route="fast")
    assert refused.verdict is Verdict.UNDECIDED
    assert "not certain in floats" in refused.reason
    assert check_bytes(blob, rows=cases.given(case.rows), route="exact").verdict.name == "ACCEPTED"


@pytest.mark.parametrize("place", [("squares", (0,)), ("products", (1,)), ("moments", (2, 4))])
def test_a_sum_beyond_its_radius_is_never_accepted(place: tuple[str, tuple[int, ...]]) -> None:
    """By twice the radius, and by a millionth of it."""
    case = cases.drawn()
    name, index = place
    for excess in (2.0, 1.0 + 1e-6):
        fields, tensors = with_room(case, 1e-9)
        tensors[name] = tensors[name].copy()
        tensors[name][index] += excess * 1e-9 * (0.5**0.5 if name == "moments" else 1.0)
        blob = cases.build(case, (fields, tensors))
        for route in ("fast", "auto"):
            assert check_bytes(blob, rows=cases.given(case.rows), route=route).verdict in (
                Verdict.UNDECIDED if route == "fast" else Verdict.REJECTED,
                Verdict.REJECTED,
            )


def test_a_sum_inside_of_its_radius_by_more_than_the_rounding_is_accepted() -> None:
    case = cases.drawn()
    fields, tensors = with_room(case, 1e-9)
    tensors["moments"] = tensors["moments"].copy()
    tensors["moments"][1, 1] += 0.99e-9 * 0.5**0.5
    blob = cases.build(case, (fields, tensors))
    result = check_bytes(blob, rows=cases.given(case.rows), route="fast")
    assert "H8c" in [line.number for line in result.claims[0].checks if line.outcome == "holds"]


def test_other_rows_are_rejected_by_their_digest_in_both_routes() -> None:
    case = cases.drawn()
    blob = cases.build(case, with_room(case, 1e-9))
    rows = case.rows.copy()
    rows[3, 1] = np.nextafter(rows[3, 1], np.inf)
    for route in ("fast", "exact"):
        result = check_bytes(blob, rows=cases.given(rows), route=route)
        assert result.verdict is Verdict.REJECTED
        assert "H7" in result.reason


@pytest.mark.parametrize("value", [2.0**200, 1e308, -1e308])
def test_numbers_out_of_range_are_not_proved(value: float) -> None:
    case = cases.drawn(n=6, cuts=())
    rows = case.rows.copy()
    rows[2, 0] = value
    with pytest.raises(NotProved, match="above 2\\^100"):
        summed(cases.Case(rows, (), case.shift, case.scale, case.W, case.v, case.bias))


def test_residuals_out_of_range_are_not_proved() -> None:
    """Beyond 2^300 underflow and overflow are not covered by the page."""
    one, zero = np.ones(2), np.zeros(2)
    for power, holds in ((38, True), (60, False)):
        W, v = np.array([[2.0**60]]), np.array([2.0**power])
        case = cases.Case(np.array([[2.0**70, 1.0]]), (), zero, one, W, v, bias=False)
        if holds:
            squares, _, _, alpha, *_ = summed(case)
            assert abs((Fraction(2) ** (260 + power) - 1) ** 2 - squares) <= alpha
            continue
        with pytest.raises(NotProved, match="above 2\\^300"):
            summed(case)


def test_sums_that_are_held_are_added_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a shard is: the same numbers, and never more than HELD of them are kept."""
    case = wild(0, n=60, bias=True, fits=False)
    whole = summed(case, 1)
    for most in (1, 40, 100):
        monkeypatch.setattr(streams, "HELD", most)
        sums = BoundedSums(stream_of(case), Products(b"digest"))
        for row in case.rows:
            sums.add(array("d", row.tolist()))
            assert sum(map(len, sums._found)) < most
        assert sums.closed() == whole
        assert sums.closed() == whole


def test_without_rows_and_with_few_of_them_the_exact_route_is_taken() -> None:
    case = cases.drawn()
    blob = cases.build(case, with_room(case, 1e-9))
    assert check_bytes(blob).claims[0].route == "exact"
    floats = check_bytes(blob, route="fast")
    assert floats.verdict is Verdict.UNDECIDED
    assert "without rows there are no sums" in floats.reason
    few = check_bytes(blob, rows=cases.given(case.rows))
    assert (few.verdict, few.claims[0].route) == (Verdict.ACCEPTED, "exact")
    stream = stream_of(case)
    assert stream.work_of_rows == 0
    assert cast(Any, stream).given is None
