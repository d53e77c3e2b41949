"""The dual constraints against brute force: one column on a grid of directions with its kinks,
cones against the exact maximum, and the limits of the search.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from tests.checker.cone_cases import integer_problem
from tests.oracles.circle_walk import highest
from tests.oracles.fraction_dual import largest_square, neuron_sum, one_column_square
from tests.oracles.fraction_factorization_claims import inverse

from globalmin_check import limits
from globalmin_check.checks import Budget, ExactChecks
from globalmin_check.claims import cone_proposals, dual_cones, shortest_vector
from globalmin_check.claims.cone_rows import first_block
from globalmin_check.claims.convex_losses import Loss
from globalmin_check.claims.dual_columns import column_holds
from globalmin_check.claims.dual_cones import cones_hold
from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled, scaled
from globalmin_check.verdict import Undecided

F = Fraction
SEEDS = range(40)


ONE = F(1)


def form(rule: str = "penalized", tau: Fraction = ONE, heads: str = "any", slope: int = 0) -> Form:
    """A class of one column."""
    one = F(1)
    return Form(
        1, "relu", "columns", (), rule, tau, "none", one, "none", one, heads,
        (slope,) if slope else (), one, one, Loss("squared", F(0)),
    )  # fmt: skip


def draw(seed: int) -> tuple[list[float], list[float], Fraction]:
    """Values with ties, or of very different sizes, and a dual vector."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    values = rng.integers(-3, 4, n) / 2 if seed % 2 else rng.standard_normal(n)
    values = values * 10.0 ** float(rng.uniform(-3, 3))
    return values.tolist(), rng.standard_normal(n).tolist(), F(int(rng.integers(1, 5)), 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_column_is_decided_on_either_side_of_its_maximum(seed: int):
    """R2 is an equivalence: refused just below H, accepted just above, for every rule of R7; H is
    seen by a grid.
    """
    values, u, tau = draw(seed)
    exact, dual = [F(x) for x in values], [F(x) for x in u]
    for heads, slope in product(("any", "nonnegative"), (0, 1, -1)):
        tests = [
            (half, v)
            for half in (1, -1)
            for v in ((1,) if heads == "nonnegative" else (1, -1))
            if slope * half * v >= 0
        ]
        square = max(one_column_square(exact, tau, dual, half, -v) for half, v in tests)
        H, kind = F(float(square) ** 0.5), form(tau=tau, heads=heads, slope=slope)
        for factor, expected in ((1 - F(1, 10**9), False), (1 + F(1, 10**9), True)):
            bound = max(H * factor, F(1, 10**9))
            expected = expected or bound**2 >= square
            assert column_holds(kind, 0, scaled(values), scaled(u), bound) is expected


@pytest.mark.parametrize("seed", SEEDS)
def test_one_column_against_a_grid_of_directions_and_its_kinks(seed: int):
    values, u, tau = draw(seed)
    angles = np.linspace(-np.pi, np.pi, 20001)
    kinks = np.arctan2(-np.array(values), float(tau))
    W = np.concatenate([angles, kinks, kinks + np.pi])
    z = np.outer(np.cos(W), values) + float(tau) * np.sin(W)[:, None]
    seen = float(np.abs(np.maximum(z, 0) @ np.array(u)).max())
    holds = column_holds(form(tau=tau), 0, scaled(values), scaled(u), F(seen) * (1 - F(1, 10**9)))
    assert not holds or seen == 0
    room = F(seen) * (1 + F(1, 10**5)) + F(1, 10**12)  # the grid sees the top of an arc to 1e-7
    assert column_holds(form(tau=tau), 0, scaled(values), scaled(u), room)


@pytest.mark.parametrize("rule", ["free", "none"])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_column_without_a_penalty_on_its_bias(rule: str, seed: int):
    values, u, _ = draw(seed)
    exact, dual = [F(x) for x in values], [F(x) for x in u]
    if rule == "free":
        dual[0] -= sum(dual)
    places = exact if rule == "free" else [F(0)]
    sums = [
        sum((x * max(F(0), half * (a - z)) for x, a in zip(dual, exact, strict=True)), F(0))
        for z in places
        for half in (1, -1)
    ]
    top = max(map(abs, sums))
    unit = np.lcm.reduce([1]) * max(x.denominator for x in dual)
    whole = Scaled([int(x * unit) for x in dual], unit)
    assert column_holds(form(rule), 0, scaled(values), whole, top)
    if top:
        assert not column_holds(form(rule), 0, scaled(values), whole, top * (1 - F(1, 10**12)))


@pytest.mark.parametrize("seed", range(30))
def test_cones_decide_on_either_side_of_the_exact_maximum(seed: int):
    rng = np.random.default_rng(seed)
    rows, u = integer_problem(rng, 2 + seed % 3)
    square = largest_square([[F(x) for x in row] for row in rows], [F(x) for x in u])
    H = F(float(square) ** 0.5)
    checks = ExactChecks(Budget())
    assert cones_hold(rows, u, H * (1 + F(1, 10**7)) + F(1, 10**9), checks) is True
    if square:
        assert cones_hold(rows, u, H * (1 - F(1, 10**7)), checks) is False


def direct_sums(
    rows: list[list[int]], u: list[int], p: Sequence[Fraction]
) -> tuple[list[int], list[int]]:
    """Sums of |u_i| x_i over the rows with x_i . p >= 0, for u > 0 and for u < 0."""
    upper, lower = (
        [
            sum(
                abs(U) * row[c]
                for row, U in zip(rows, u, strict=True)
                if U * half > 0 and sum(a * b for a, b in zip(row, p, strict=True)) >= 0
            )
            for c in range(len(p))
        ]
        for half in (1, -1)
    )
    return upper, lower


def test_a_split_covers_the_cone_and_decided_rows_keep_their_sum():
    """Every vector of the cone is in one of the two children, whose blocks give the sums of the
    rows at the rays and a tangent below the falling part everywhere on the cone.
    """
    rng = np.random.default_rng(4)
    rows, u = [[3, -1, 2], [-2, 1, 1], [1, 1, -1], [1, 1, -1]], [2, -3, 1, 4]
    checks = ExactChecks(Budget())
    block = first_block(rows, u, F(1), checks)
    corners = [[1, 0, 0], [0, -1, 0], [0, 0, 1]]
    cone = dual_cones.Cone([block.ray(p, checks) for p in corners], (1,), block, 0)
    for _ in range(12):
        children = dual_cones._split(cone, (1,), checks)
        weights = [F(int(x)) for x in rng.integers(0, 9, 3)]
        w = [
            sum((a * r.p[c] for a, r in zip(weights, cone.rays, strict=True)), F(0))
            for c in range(3)
        ]
        inside = 0
        for child in children:
            columns = [[F(ray.p[c]) for ray in child.rays] for c in range(3)]
            solved = inverse(columns)
            assert solved is not None
            parts = [sum((a * b for a, b in zip(row, w, strict=True)), F(0)) for row in solved]
            inside += min(parts) >= 0
            for ray in child.rays:
                value = neuron_sum(
                    [[F(x) for x in row] for row in rows], [F(x) for x in u], [F(x) for x in ray.p]
                )
                found = [sum(a * b for a, b in zip(s, ray.p, strict=True)) for s in ray.sums]
                assert found[0] - found[1] == value
            center = [float(sum(ray.unit[c] for ray in child.rays)) for c in range(3)]
            tangent = child.block.toward(center, checks)
            assert tangent is not None
            below = sum(a * b for a, b in zip(tangent.sums[1], w, strict=True))
            falling = direct_sums(rows, u, w)[1]
            assert not min(parts) >= 0 or below <= sum(
                a * b for a, b in zip(falling, w, strict=True)
            )
        assert inside >= 1
        cone = children[int(rng.integers(2))]


def test_no_proposal_is_trusted():
    """Slopes and weights outside [0, 1], a q that is too long or no number: nothing is proved."""
    rows, u = [[1, 0], [0, 1]], [-3, 2]
    checks = ExactChecks(Budget())
    block = first_block(rows, u, F(2), checks)
    cone = dual_cones.Cone([block.ray(p, checks) for p in ([1, 0], [0, 1])], (1,), block, 0)
    one, good = cone_proposals.STEPS, [0.0, 1.0]
    place = cone.rays[0]
    prove = dual_cones._proves
    assert prove(cone, 1, cone_proposals.Proposal(good, [place], [one]))
    assert prove(cone, 1, cone_proposals.Proposal(good, slopes=[one]))
    assert prove(cone, 1, cone_proposals.Proposal(good))
    for weights in ([one + 1], [one - 1], [-one], [2 * one]):
        assert not prove(cone, 1, cone_proposals.Proposal(good, [place], weights))
    two = [place, cone.rays[1]]
    for below in (one, 1):
        assert not prove(cone, 1, cone_proposals.Proposal(good, two, [one + below, -below]))
    for slope in (one + 1, -1):
        assert not prove(cone, 1, cone_proposals.Proposal(good, slopes=[slope]))
    for q in ([0.0, 0.999], [0.5, 1.0], [0.0, 2.0], [float("nan")] * 2, [0.0, float("inf")]):
        assert not prove(cone, 1, cone_proposals.Proposal(q, [place], [one]))
    # for -u the roles are exchanged: 3 relu(w_0) is above the bound at the first ray
    assert not prove(cone, 0, cone_proposals.Proposal([1.0, 0.0], [place], [one]))


def test_the_search_ends_in_undecided_at_its_limits(monkeypatch: pytest.MonkeyPatch):
    rows, u = [[-1, 3, 6], [1, 0, 6], [4, -5, 1]], [5, -7, 3]
    square = largest_square([[F(x) for x in row] for row in rows], [F(x) for x in u])
    close = F(float(square) ** 0.5) * (1 + F(1, 10**12))
    checks = ExactChecks(Budget())
    monkeypatch.setattr(limits, "CONES", 5)
    with pytest.raises(Undecided, match="within 5 cones"):
        cones_hold(rows, u, close, checks)
    monkeypatch.setattr(limits, "CONES", 10**6)
    monkeypatch.setattr(limits, "RAY_BITS", 0)
    with pytest.raises(Undecided, match="a ray of the search"):
        cones_hold(rows, u, close, checks)
    with pytest.raises(Undecided, match="a row of a group"):
        cones_hold([[1 << 601, 1]], [1], close, checks)


def test_floats_out_of_range_only_cost_the_proposal():
    """Sums of 10^400 times the bound are refused in integers; those far below it are accepted."""
    checks = ExactChecks(Budget())
    assert cones_hold([[1, 0], [0, 1]], [10**400, 1], F(2), checks) is False
    assert cones_hold([[1, 0], [-1, 0]], [-(10**400), -1], F(1), checks) is True
    gram = [[1.0, 1.0], [1.0, 1.0]]
    assert shortest_vector._solved(gram, [1.0, 1.0], [0, 1]) == [1.0, 0.0]
    flat = [[1.0, 0.0], [-1.0, 0.0]]
    assert shortest_vector.lifted(flat, [0.5, 0.0], [0.5, -0.5], [1.0, 1.0]) == [0.5, 0.0]
    assert cone_proposals._turned([[0.0, 0.0]], [0.5], [1.0, 0.0]) == [0.5]
    block = first_block([[1, 0]], [1], F(1), checks)
    assert block.toward([0.0, 0.0], checks) is None
    assert block.toward([float("nan"), 0.0], checks) is None


def test_sums_that_cancel_leave_room_for_their_rounding():
    """The vector q is above G at every ray also where G is the small rest of large sums, whose
    rounding is far above that of G; a thin cone, as at the end of a long search.
    """
    for seed in range(20):
        rng = np.random.default_rng(seed)
        center = rng.standard_normal(3)
        units = [center + 1e-12 * rng.standard_normal(3) for _ in range(3)]
        units = [(unit / np.linalg.norm(unit)).tolist() for unit in units]
        up, down = (1e5 * rng.standard_normal(3) for _ in range(2))
        down += (0.9 - (up - down) @ center / np.linalg.norm(center)) * -np.array(units[0])
        rays = [
            SimpleNamespace(
                unit=p, pulls=([*up], [*down]), heights=(float(up @ p), float(down @ p))
            )
            for p in units
        ]
        corner = cone_proposals.Corner(rays, 1)
        q = corner.shortest(corner.along([*down]))[1]
        for p in units:
            exact = sum((F(a) - F(b)) * F(x) for a, b, x in zip(up, down, p, strict=True))
            assert sum(F(a) * F(x) for a, x in zip(q, p, strict=True)) >= exact
        assert np.linalg.norm(q) <= 0.9 + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_both_signs_at_once_and_equal_rows_added_up(seed: int):
    """The search for u and -u together, on rows of which some are repeated with parts of u."""
    rng = np.random.default_rng(seed)
    rows, u = integer_problem(rng, 2 + seed % 2)
    squares = [
        largest_square([[F(x) for x in row] for row in rows], [F(sign * x) for x in u])
        for sign in (1, -1)
    ]
    parts = rng.integers(-9, 10, len(u)).tolist()
    twice = u[:], rows + [list(row) for row in rows]
    split = [a - b for a, b in zip(twice[0], parts, strict=True)] + parts
    H = F(float(max(squares)) ** 0.5)
    checks = ExactChecks(Budget())
    bound = H * (1 + F(1, 10**6)) + F(1, 10**9)
    assert cones_hold(twice[1], split, bound, checks, (1, -1)) is True
    if H:
        assert cones_hold(twice[1], split, H * (1 - F(1, 10**6)), checks, (1, -1)) is False


def test_slopes_between_zero_and_one_close_a_maximum_at_a_kink():
    """The maximum of 5 relu(x) - 7 relu(x') lies where x' . w = 0: no slope of 0 or 1 proves it."""
    rows, u = [[-1, 3, 6], [1, 0, 6]], [5, -7]
    square = largest_square([[F(x) for x in row] for row in rows], [F(x) for x in u])
    bound = F(float(square) ** 0.5) * (1 + F(1, 10**9))
    assert cones_hold(rows, u, bound, ExactChecks(Budget())) is True


def test_slopes_turn_to_where_q_is_shorter():
    """q = p - slope row falls by the change of the slope times the row: the shortest is reached at
    the projection, cut off at 0 and 1.
    """
    rows, q = [[2.0, 0.0], [0.0, 4.0]], [0.5, -1.0]
    assert cone_proposals._turned(rows, [0.25, 0.125], q) == [0.5, 0.0]
    assert cone_proposals._turned([[1.0, 0.0]], [0.5], [3.0, 0.0]) == [1.0]


@pytest.mark.parametrize("seed", range(3))
def test_cones_with_many_undecided_rows_decide_on_either_side(seed: int):
    """More rows than get slopes of their own, so that cones are split where the tangents turn;
    against a walk over all circles.
    """
    rng = np.random.default_rng(seed)
    rows, u = rng.integers(-20, 21, (40, 3)), rng.integers(-9, 10, 40)
    H = F(highest(rows.astype(float), u.astype(float)))
    checks = ExactChecks(Budget())
    assert cones_hold(rows.tolist(), u.tolist(), H * (1 + F(1, 100)), checks, (1, -1)) is True
    assert cones_hold(rows.tolist(), u.tolist(), H * (1 - F(1, 10**9)), checks, (1, -1)) is False


def test_without_a_direction_there_is_no_proposal():
    block = first_block([[1, 2], [3, -1]], [1, -1], F(5), ExactChecks(Budget()))
    rays = [block.ray(p, ExactChecks(Budget())) for p in ([1, 0], [0, 1])]
    corner = cone_proposals.Corner(rays, 1)
    assert block.toward([0.0, 0.0], ExactChecks(Budget())) is None
    assert list(cone_proposals.proposals(corner, [0.0, 0.0], [], lambda _: None)) == []
