"""The search over cones in floats (section 8 of `spec/fast-route.md`): on either side of exact
maxima, its bounds against exact rationals, its limits, and what it leaves to integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import isqrt

import flint
import numpy as np
import pytest
from tests.checker.cone_cases import integer_problem
from tests.oracles.circle_walk import highest
from tests.oracles.fraction_dual import largest_square

from globalmin_check import limits
from globalmin_check.checks import Budget, Checks, ExactChecks
from globalmin_check.claims import dual_cones, shortest_vector
from globalmin_check.fast import cone_rows, cones, dual
from globalmin_check.fast.cone_proposals import shortest
from globalmin_check.fast.cone_rows import Rows, first_rows
from globalmin_check.fast.rounding import NotProved, U, gamma
from globalmin_check.verdict import CheckLine

F = Fraction
U_ = Fraction(U)
BITS = 30


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """As the route works: whatever is not finite is not proved."""
    with np.errstate(all="ignore"):
        yield


def proves(
    rows: list[list[int]], u: list[int], bound: Fraction, signs: Sequence[int] = (1,)
) -> bool:
    """Whether the floats prove it."""
    try:
        return cones.cones_hold(rows, u, bound, ExactChecks(Budget()), signs)
    except NotProved:
        return False


def roots(rows: list[list[int]], u: list[int], sign: int) -> tuple[Fraction, Fraction]:
    """Rationals 2^-100 apart with the maximum of the sum, or of minus it, between them."""
    square = largest_square([[F(x) for x in row] for row in rows], [F(sign * x) for x in u])
    below = isqrt((square.numerator << 200) // square.denominator)
    return F(below, 1 << 100), F(below + 1, 1 << 100)


@pytest.mark.parametrize("seed", range(30))
def test_either_side_of_the_exact_maximum_near_the_edge(seed: int):
    """Few rows of integers in 2 to 4 dimensions: proved at (1 + 1e-9) H, never at (1 - 1e-12) H,
    for u and for -u, and for both only above both.
    """
    rng = np.random.default_rng(seed)
    rows, u = integer_problem(rng, 2 + seed % 3)
    tops = {sign: roots(rows, u, sign) for sign in (1, -1)}
    for sign, (below, above) in tops.items():
        assert proves(rows, u, above * (1 + F(1, 10**9)) + F(1, 10**9), (sign,))
        if below > 1:
            for room in (F(1, 10**3), F(1, 10**12)):
                assert not proves(rows, u, below * (1 - room), (sign,))
    largest = max(above for _, above in tops.values()) * (1 + F(1, 10**9)) + F(1, 10**9)
    assert proves(rows, u, largest, (1, -1))
    if max(below for below, _ in tops.values()) > F(996, 1000) * largest:
        assert not proves(rows, u, F(995, 1000) * largest, (1, -1))


def integers(seed: int, n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows with a bias, and u, as multiples of 2^-BITS."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.standard_normal((n, p - 1)), np.ones(n)])
    u = rng.standard_normal(n)
    return np.rint(rows * 2.0**BITS), np.rint(u * 2.0**BITS)


@pytest.mark.parametrize("orthant", list(product((1, -1), repeat=3)))
def test_no_orthant_and_no_child_is_lost(orthant: tuple[int, int, int]):
    """The maximum in three dimensions, by a walk over all circles, moved into every orthant."""
    for seed in range(4):
        Z, u = integers(seed, 25, 3)
        Z = Z * orthant
        H = F(float(highest(Z * 2.0**-BITS, u * 2.0**-BITS))) * 4**BITS
        rows, U = [[int(x) for x in row] for row in Z], [int(x) for x in u]
        assert proves(rows, U, H * (1 + F(1, 10**4)), (1, -1))
        for room in (F(1, 10**9), F(1, 10**4), F(1, 100), F(1, 10)):
            assert not proves(rows, U, H * (1 - room), (1, -1))


@pytest.mark.parametrize(("n", "p"), [(60, 3), (40, 4), (20, 5)])
def test_what_is_proved_holds_in_integers_and_pieces_are_divided(
    n: int, p: int, monkeypatch: pytest.MonkeyPatch
):
    """With pieces of a few cones, so that rows are decided again and again."""
    Z, u = integers(p, n, p)
    W = np.random.default_rng(0).standard_normal((20_000, p))
    W /= np.linalg.norm(W, axis=1)[:, None]
    top = np.abs(u @ np.maximum(Z @ W.T, 0.0)).max()
    rows, U = [[int(x) for x in row] for row in Z], [int(x) for x in u]
    bound = F(float(1.1 * top))
    assert dual_cones.cones_hold(rows, U, bound, ExactChecks(Budget()), (1, -1))
    assert proves(rows, U, bound, (1, -1))
    for long in (7, 40):
        monkeypatch.setattr(cones, "LONG", long)
        assert proves(rows, U, bound, (1, -1))
        assert not proves(rows, U, F(float(0.999 * top)), (1, -1))
    monkeypatch.setattr(cones, "LONG", 4096)
    monkeypatch.setattr(cones, "MANY", 1)
    monkeypatch.setattr(cones, "GROWN", 2)
    assert proves(rows, U, bound, (1, -1))
    assert not proves(rows, U, F(float(0.999 * top)), (1, -1))


def cancelling(seed: int) -> tuple[list[list[int]], list[int]]:
    """Rows of 70 bits along the axes and nearly the same ones with the other sign: as floats they
    are equal, and nothing is left of the sum, which is linear in every orthant.
    """
    rng = np.random.default_rng(seed)
    sizes = [int(x) << 20 for x in rng.integers(2**49, 2**50, 3)]
    axes = [(1, 0), (0, 1), (-1, 0)]
    rows = [[size * x for x in axis] for size, axis in zip(sizes, axes, strict=True)]
    changes = rng.integers(-(2**12), 2**12, 3).tolist()
    twins = [[(s + c) * x for x in axis] for s, c, axis in zip(sizes, changes, axes, strict=True)]
    return rows + twins, [1, 1, 1, -1, -1, -1]


@pytest.mark.parametrize("seed", range(4))
def test_rounding_of_sums_that_cancel_is_paid_for(seed: int):
    """H is about 2^-58 of the sum of |u_i||x_i|: what floats cannot know they do not say."""
    rows, u = cancelling(seed)
    for sign in (1, -1):
        below, above = roots(rows, u, sign)
        assert not proves(rows, u, F(0), (sign,))
        if not below:
            continue
        for share in (F(1, 2), F(999, 1000)):
            assert not proves(rows, u, below * share, (sign,))
        assert proves(rows, u, 2**20 * above, (sign,))


def test_without_the_bound_of_rounding_they_would_be_wrong(monkeypatch: pytest.MonkeyPatch):
    """So the test before this one has teeth."""
    monkeypatch.setattr(cones, "gamma", lambda m: 0.0)
    wrong = 0
    for seed in range(4):
        rows, u = cancelling(seed)
        for sign in (1, -1):
            below = roots(rows, u, sign)[0]
            wrong += below > 0 and proves(rows, u, below / 2, (sign,))
    assert wrong > 0


def lost_in_a_sum(n: int) -> tuple[list[list[int]], list[int], Fraction]:
    """One long row, n rows along it of a little less than half a unit of its last place each, and
    the long row with the other sign; a power of two that is below H, the length of the n.
    """
    rows = [[2**70, 0], *([2**17 - 1 - i, 0] for i in range(n)), [2**71, 0]]
    return rows, [2] * (n + 1) + [-1], F(2 ** (17 + n.bit_length()))


def test_a_sum_that_loses_every_term_but_the_first_is_paid_for(monkeypatch: pytest.MonkeyPatch):
    """Added one after the other the n rows are lost, so S - t is 0, and H is above the bound; a
    tenth of what Q5 allows for N roundings would prove it.
    """
    rows, u, bound = lost_in_a_sum(129)
    assert bound < 2 * sum(row[0] for row in rows[1:-1]) < F(102, 100) * bound
    assert not proves(rows, u, bound)
    assert proves(rows, u, 16 * bound)
    monkeypatch.setattr(cones, "gamma", lambda m: gamma(m) / 10)
    assert proves(rows, u, bound)


@pytest.mark.parametrize(("p", "count"), [(2, 1), (2, 129), (3, 40), (8, 7), (8, 2**30)])
def test_what_q5_allows_covers_all_roundings_that_its_proof_counts(p: int, count: int):
    """In exact rationals: (gamma_M (1 + 2u) + gamma_(p+2)) (sig + 1) . |p_k|, and little more."""
    rng = np.random.default_rng([p, count])
    P, sizes = rng.integers(-(2**52), 2**52, (p, p, 3)).astype(float), rng.uniform(0, 9, p)
    found = cones._allowed(P, sizes, count)

    def exact_gamma(m: int) -> Fraction:
        return m * U_ / (1 - m * U_)

    wanted = exact_gamma(count + p + 6) * (1 + 2 * U_) + exact_gamma(p + 2)
    for k, m in product(range(p), range(3)):
        total = sum(((F(s) + 1) * abs(F(x)) for s, x in zip(sizes, P[k, :, m], strict=True)), F(0))
        assert wanted * total <= F(float(found[k, m])) <= 3 * wanted * total


def exact_sum(values: list[tuple[Fraction, ...]], p: list[Fraction]) -> Fraction:
    """F+(p)."""
    return sum(
        (max(F(0), sum((a * b for a, b in zip(v, p, strict=True)), F(0))) for v in values), F(0)
    )


@pytest.mark.parametrize("seed", range(6))
def test_sums_at_rays_are_within_their_bound(seed: int):
    """Q1 and Q3 in exact rationals: F+(p) <= S . p + what Q5 allows, with |V - v| and sig; before
    and after rows are decided on a cone around the ray; and S . p itself is sometimes below F+(p).
    """
    Z, u = integers(seed, 30, 3)
    rows, U = [[int(x) for x in row] for row in Z], [int(x) for x in u]
    bound = F(12345678901234567, 3)
    first, sizes, count = first_rows(rows, U, bound)
    v = [tuple(F(abs(f)) * x / bound for x in row) for row, f in zip(rows, U, strict=True)]
    rising = [x for x, f in zip(v, U, strict=True) if f > 0]
    for one, exact in zip(first.open[0], rising, strict=True):
        for a, b in zip(one, exact, strict=True):
            assert abs(F(float(a)) - b) <= F(U_) * abs(F(float(a)))
    totals = [sum((abs(x[j]) for x in v), F(0)) for j in range(3)]
    assert all(F(float(s)) * (1 + F(U_)) >= t for s, t in zip(sizes, totals, strict=True))
    rng = np.random.default_rng(seed)
    below = 0
    for _ in range(30):
        corner = rng.integers(1, 2**20, 3) * rng.choice([-1, 1], 3)
        rays = (
            np.abs(corner[:, None] + rng.integers(-9, 9, (3, 3)) * 2.0**10)
            * np.sign(corner)[:, None]
        )
        p = rays.sum(axis=1, keepdims=True)
        wanted = exact_sum(rising, [F(float(x)) for x in p[:, 0]])
        eps = 2.0 * gamma(count + 3 + 10)
        allowed = F(eps) * sum(
            (F(float(s + 1)) * abs(F(float(x))) for s, x in zip(sizes, p[:, 0], strict=True)), F(0)
        )
        for seen in (first, first.inside(rays), first.inside(rays).inside(p)):
            S = seen.sums(0, p)
            value = sum(
                (F(float(s)) * F(float(x)) for s, x in zip(S[:, 0], p[:, 0], strict=True)), F(0)
            )
            assert wanted <= value + allowed
            assert value <= wanted + allowed
            below += value < wanted
    assert below > 0


def test_decided_rows_are_few_where_cones_are_narrow_and_swapped_rows_are_those_of_minus_u():
    Z, u = integers(1, 50, 3)
    rows, U = [[int(x) for x in row] for row in Z], [int(x) for x in u]
    first, _, count = first_rows(rows, U, F(4**BITS))
    assert first.count == count == 50
    rays = np.array([[100.0, 101.0, 100.0], [100.0, 100.0, 101.0], [100.0, 100.0, 100.0]])
    assert first.inside(rays).count < 10
    other, _, _ = first_rows(rows, [-x for x in U], F(4**BITS))
    for one, two in zip(first.swapped().open, other.open, strict=True):
        assert np.array_equal(one, two)


@pytest.mark.parametrize("at_once", [1, 50, 333])
def test_directions_that_are_looked_at_in_parts_decide_together(
    at_once: int, monkeypatch: pytest.MonkeyPatch
):
    """A row that is active, or not, at the last rays only stays open."""
    Z, u = integers(2, 40, 3)
    rows, U = [[int(x) for x in row] for row in Z], [int(x) for x in u]
    first, _, _ = first_rows(rows, U, F(4**BITS))
    rays = np.rint(np.random.default_rng(0).uniform(1, 2**20, (3, 12)))
    whole, sums = first.inside(rays), first.sums(0, rays)
    assert 0 < whole.count < first.count
    monkeypatch.setattr(cone_rows, "AT_ONCE", at_once)
    parts = first.inside(rays)
    assert first.sums(0, rays) == pytest.approx(sums, rel=1e-13)
    for half in (0, 1):
        assert np.array_equal(parts.open[half], whole.open[half])
        assert np.array_equal(parts.base[half], whole.base[half])
        T = first.open[half] @ rays
        changing = (T.min(axis=1) < 0) & (T.max(axis=1) > 0)
        assert np.array_equal(whole.open[half], first.open[half][changing])
        active = first.open[half][T.min(axis=1) >= 0].sum(axis=0)
        assert whole.base[half] == pytest.approx(active, rel=1e-13)


def test_equal_rows_are_added_up_and_rows_without_weight_are_no_rows():
    first, sizes, count = first_rows([[1, 2], [1, 2], [3, 4], [1, 2]], [5, -7, 0, 2], F(2))
    assert count == 0
    assert (sizes < 1e-300).all()
    assert proves([[1, 2], [1, 2], [3, 4], [1, 2]], [5, -7, 0, 2], F(1, 10**20), (1, -1))
    first, _, count = first_rows([[1, 2], [1, 2]], [5, -8], F(2))
    assert count == 1
    assert first.open[1].tolist() == [[1.5, 3.0]]


@pytest.mark.parametrize("shift", [-61, -3, 0, 1, 60])
def test_a_split_ray_is_a_positive_combination_in_integers(shift: int):
    """Q2 in Python's integers, and NotProved where the entries grow too long."""
    one, other = np.array([[3.0], [-5.0], [0.0]]), np.array([[1.0], [-7.0], [8.0]])
    if abs(shift) > 40:
        with pytest.raises(NotProved, match="52 bits"):
            cones._combined(one, other, np.array([shift]))
        return
    ray = cones._combined(one, other, np.array([shift]))[:, 0]
    s, t = 2 ** max(shift, 0), 2 ** max(-shift, 0)
    whole = [s * int(x) + t * int(y) for x, y in zip(one[:, 0], other[:, 0], strict=True)]
    factor = {F(a, int(b)) for a, b in zip(whole, ray, strict=True)}
    assert len(factor) == 1
    assert factor.pop() >= 1


def test_entries_of_rays_are_added_without_rounding_or_not_at_all():
    """Up to 2^52 the sum of two is exact; one above it is refused."""
    one, other = np.array([[2.0**52], [1.0]]), np.array([[2.0**52 - 1], [0.0]])
    assert cones._combined(one, other, np.array([0])).ravel().tolist() == [2.0**53 - 1, 1.0]
    with pytest.raises(NotProved, match="52 bits"):
        cones._combined(one + 1.0, other, np.array([0]))
    with pytest.raises(NotProved, match="52 bits"):
        cones._combined(other, -one - 1.0, np.array([0]))


@pytest.mark.parametrize("p", range(2, 9))
def test_a_vector_of_length_one_in_floats_may_be_too_long(p: int):
    """Q5 asks for 1 - (2p + 8) u of its square as computed, to the last unit."""
    P, zero, t = np.eye(p)[:, :, None], np.zeros((p, p, 1)), np.zeros((p, 1))
    for less, holds in ((0, False), (p + 3, False), (p + 4, True)):
        q = np.zeros((p, 1))
        q[0] = 1.0 - less * U
        assert cones._closed(q, t, P, zero, np.zeros((p, 1))).all() == holds


def test_a_vector_longer_than_the_bound_closes_nothing():
    """|q| <= 1 and every ray, with the error of the sums: each side of Q5 alone is not enough."""
    P = np.eye(2)[:, :, None]
    zero, allowed = np.zeros((2, 2, 1)), np.full((2, 1), 1e-12)
    q, t = np.array([[0.6], [0.8]]), np.zeros((2, 1))
    assert cones._closed(q * (1 - 1e-14), t, P, zero, allowed).all()
    assert not cones._closed(q * (1 + 1e-14), t, P, zero, allowed).any()
    small = np.array([[1e-12], [0.9]])
    assert cones._closed(small, t, P, zero, allowed).all()
    assert not cones._closed(small * (1 - 1e-15), t, P, zero, allowed).any()
    rising = np.array([[0.7, 0.0], [0.0, 0.0]])[:, :, None]
    assert not cones._closed(q, t, P, rising, allowed).any()
    assert cones._closed(q * 0.99, t + np.array([[0.2], [0.0]]), P, rising, allowed).all()
    assert not cones._closed(q * np.nan, t, P, zero, allowed).any()


@pytest.mark.parametrize("seed", range(5))
def test_proposals_are_those_of_the_exact_route(seed: int):
    """The shortest vector of many cones at once against the one of a cone alone."""
    rng = np.random.default_rng(seed)
    p = 2 + seed
    units = np.abs(rng.standard_normal((p, p, 50))) + np.eye(p)[:, :, None]
    units /= np.sqrt((units**2).sum(axis=1))[:, None]
    gram, heights = np.einsum("kjm,ljm->klm", units, units), rng.standard_normal((p, 50))
    weights, _ = shortest(gram, heights, np.ones((p, 50), bool))
    for m in range(50):
        expected = shortest_vector.nonnegative_weights(
            gram[:, :, m].tolist(), heights[:, m].tolist()
        )
        assert weights[:, m] == pytest.approx(expected, abs=1e-9)


def test_limits_end_in_not_proved(monkeypatch: pytest.MonkeyPatch):
    Z, u = integers(0, 40, 3)
    rows, U = [[int(x) for x in row] for row in Z], [int(x) for x in u]
    checks = ExactChecks(Budget())
    W = np.random.default_rng(0).standard_normal((20_000, 3))
    W /= np.linalg.norm(W, axis=1)[:, None]
    bound = F(float(1.01 * np.abs(u @ np.maximum(Z @ W.T, 0.0)).max()))
    monkeypatch.setattr(limits, "FAST_CONES", 20)
    with pytest.raises(NotProved, match="20 cones"):
        cones.cones_hold(rows, U, bound, checks, (1, -1))
    monkeypatch.undo()
    with pytest.raises(NotProved, match="exceed the bound"):
        cones.cones_hold(rows, U, bound / 2, checks, (1, -1))
    with pytest.raises(NotProved, match="columns with the bias"):
        cones.cones_hold([[1] * 9], [1], F(9), checks)
    with pytest.raises(NotProved, match="2\\^60"):
        cones.cones_hold([[2**70, 0]], [1], F(1), checks)
    with pytest.raises(NotProved, match="out of range"):
        cones.cones_hold([[2**1100, 0]], [1], F(1), checks)


def test_weights_of_tangents_stay_between_zero_and_one():
    """Q4: multiples of 2^-30, so that one less them is exact."""
    rng = np.random.default_rng(0)
    q, change = rng.standard_normal((3, 400)), rng.standard_normal((3, 400))
    change[:, :5] = 0.0
    share = cones._share(q, change)
    assert ((share >= 0) & (share <= 1)).all()
    assert (share * 2.0**30 == np.rint(share * 2.0**30)).all()
    assert 0.2 < ((share > 0) & (share < 1)).mean() < 0.9
    assert isinstance(first_rows([[1, 0]], [1], F(1))[0], Rows)


def line(number: str) -> CheckLine:
    """A line of a report."""
    return CheckLine(number, "", "", "", "proved")


@pytest.mark.parametrize("needed", [1, 3, 4, 5])
def test_checks_in_balls_begin_anew_at_every_precision(needed: int) -> None:
    """What was recorded before stays, what a pass that did not prove recorded goes, and a pass
    that proves nothing at the last precision is told.
    """
    checks, seen = Checks(Budget(), {}, 0), list[int]()
    checks.lines = [line("before")]

    def check() -> dict[str, str | float]:
        seen.append(flint.ctx.prec)
        checks.lines.append(line(f"pass {len(seen)}"))
        if len(seen) < needed:
            raise NotProved("open")
        return {"passes": len(seen)}

    if needed > len(limits.PRECISIONS):
        with pytest.raises(NotProved, match="open"):
            dual._at_rising_precision(check, checks)
    else:
        assert dual._at_rising_precision(check, checks) == {"passes": needed}
        assert checks.lines == [line("before"), line(f"pass {needed}")]
    assert tuple(seen) == limits.PRECISIONS[:needed]
