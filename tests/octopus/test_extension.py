"""The octopus on all of R^d: equal to the octopus on its domain, exact joints, derivatives by two
other roads, proved constants, and no local minimum but the known ones.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
from tests.octopus.octopus_cases import points_everywhere
from tests.oracles.bernstein import at, upper

from globalmin.errors import DataError
from globalmin.octopus.constants import MovedOctopus, octopus_smoothness_upper
from globalmin.octopus.extension import GRADIENT, HESSIAN, ExtendedOctopus, profiles
from globalmin.octopus.function import Octopus

E = math.e
CORNERS = ((1, 0), (1, 1))  # (L, gamma) is a positive combination of these: L >= gamma
SETTINGS = ((2.0, 1.0, E), (1.0, 1.0, 3.0), (7.0, 0.5, 4.0))


def slopes(coefficients, order):
    for _ in range(order):
        coefficients = [k * c for k, c in enumerate(coefficients)][1:] or [0]
    return [Fraction(c) for c in coefficients]


def pieces(profile, order):
    """The derivative of this order on [0, 1], [1, 2], [2, 5] and [5, 6] as exact polynomials in
    r.
    """
    beyond = profile.far if profile.cap == math.inf else (profile.far[0],)
    parts = ((0, (0, 0, profile.near)), (1, profile.middle))
    parts += ((profile.center, profile.far), (profile.center, beyond))
    return [shifted(slopes(c, order), -center) for center, c in parts]


def shifted(coefficients, by):
    """p(r + by) as coefficients in r."""
    result = [Fraction(0)]
    for c in reversed(coefficients):
        grown = [Fraction(0), *result]
        for k, old in enumerate(result):
            grown[k] += by * old
        grown[0] += c
        result = grown
    return result


def plus(*terms):
    """The sum of factor times polynomial."""
    size = max(len(p) for _, p in terms)
    total = [Fraction(0)] * size
    for factor, p in terms:
        for k, c in enumerate(p):
            total[k] += Fraction(factor) * c
    return total


ENDS = ((0, 1), (1, 2), (2, 5), (5, 6))


@pytest.mark.parametrize(("L", "gamma"), [(1, 1), (3, 2), (7, 1)])
def test_the_pieces_meet_twice_differentiably(L, gamma):
    """DU-T7.3, DU-L7.4: well, gate and wall at r = 1, 2, 5 in rational arithmetic; the wall ends at
    8L + nu.
    """
    well, gate, wall = profiles(Fraction(L), Fraction(gamma))
    for profile, order in itertools.product((well, gate, wall), range(3)):
        joints = zip(itertools.pairwise(pieces(profile, order)), (1, 2, 5), strict=True)
        for (left, right), end in joints:
            assert at(left, end) == at(right, end), (profile, order, end)
    assert at(pieces(wall, 0)[3], 5) == 8 * L + Fraction(37 * L + 13 * gamma, 6)
    assert at(pieces(well, 0)[3], 4) == -Fraction(37 * L + 13 * gamma, 6)
    assert [at(pieces(gate, 0)[k], r) for k, r in ((0, 1), (2, 2), (3, 5))] == [0, 1, 1]


@pytest.mark.parametrize(("L", "gamma", "tau"), SETTINGS)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_on_the_domain_it_is_the_octopus(d, L, gamma, tau):
    """DU-O7: values, gradients and Hessians at 300 points of every stage and sign."""
    octopus, extended = Octopus(d, L, gamma, tau), ExtendedOctopus(d, L, gamma, tau)
    x = points_everywhere(octopus, 300, d)
    np.testing.assert_allclose(extended.value(x), octopus.value(x), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(extended.gradient(x), octopus.gradient(x), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(extended.hessian(x), octopus.hessian(x), rtol=1e-12, atol=1e-11)


def anywhere(octopus, count, seed):
    """Points of the whole space, half of them with every coordinate in the middle of a piece or on
    a joint.
    """
    rng, d = np.random.default_rng(seed), octopus.dimension
    x = rng.uniform(-7.0, 7.0, (count, d))
    joints = np.array([0.0, 1.0, 2.0, 5.0, 0.5, 1.5, 3.5, 6.0, -1.0, -2.0, -1.25, -4.0])
    x[::2] = rng.choice(joints, (len(x[::2]), d))
    return octopus.tau * x


@pytest.mark.parametrize(("L", "gamma", "tau"), SETTINGS)
def test_the_value_written_out(L, gamma, tau):
    """DU-T7.3: the formula of the page by cases, one coordinate at a time."""
    nu = (37 * L + 13 * gamma) / 6

    def well(r):
        u = r - 1
        g1 = -gamma + 2 * (
            -gamma * (u + u**2 / 2 - 5 * u**3 / 3 + 3 * u**4 / 4)
            + L * (5 * u**4 / 4 - 7 * u**3 / 3)
        )
        return -gamma * r**2 if r <= 1 else g1 if r <= 2 else L * (r - 4) ** 2 - nu

    def idle(r):
        inside = L * (r**2 - (r - 1) ** 3 / 2 + (r - 1) ** 4 / 16)
        return L * r**2 if r <= 1 else inside if r <= 5 else L * (r - 4) ** 2 + 8 * L

    def gate(r):
        u = min(max(r - 1, 0), 1)
        return u**3 * (10 - 15 * u + 6 * u**2)

    octopus = ExtendedOctopus(4, L, gamma, tau)
    for x in anywhere(octopus, 60, 1):
        r = np.abs(x) / tau
        held = sum((1 - gate(r[j - 1])) * (idle(r[j]) - well(r[j])) for j in range(1, 4))
        expected = tau**2 * (sum(map(well, r)) + held)
        assert octopus.value(x) == pytest.approx(expected, rel=1e-12, abs=1e-11)


@pytest.mark.parametrize(("L", "gamma", "tau"), SETTINGS)
def test_jax_differentiates_it_to_the_same_gradient_and_hessian(L, gamma, tau):
    """DU-T7.3: also at 0 and on every joint, where the pieces meet twice differentiably."""
    jax = pytest.importorskip("jax")
    octopus = ExtendedOctopus(4, L, gamma, tau)
    x = anywhere(octopus, 200, 2)
    with jax.enable_x64(True):
        points = jax.numpy.asarray(x)
        value, gradient = jax.vmap(jax.value_and_grad(octopus.value))(points)
        hessian = jax.jit(jax.vmap(jax.hessian(octopus.value)))(points)
    scale = 1e-12 * octopus.gradient_lipschitz_upper * tau**2  # 4,500 ulp of the largest entry
    np.testing.assert_allclose(octopus.value(x), value, rtol=0, atol=scale)
    np.testing.assert_allclose(octopus.gradient(x), gradient, rtol=0, atol=scale)
    np.testing.assert_allclose(octopus.hessian(x), hessian, rtol=0, atol=scale)


def test_torch_differentiates_it_to_the_same_gradient_and_hessian():
    """DU-T7.3: autograd, also at 0; in the type of the tensor."""
    torch = pytest.importorskip("torch")
    octopus = ExtendedOctopus(3)
    x = anywhere(octopus, 60, 3)
    points = torch.tensor(x, requires_grad=True)
    octopus.value(points).sum().backward()
    np.testing.assert_allclose(points.grad.numpy(), octopus.gradient(x), rtol=0, atol=1e-9)
    at_saddle = torch.tensor(octopus.saddle(1))
    hessian = torch.autograd.functional.hessian(octopus.value, at_saddle)
    np.testing.assert_allclose(hessian.numpy(), np.diag([4.0, -2.0, 4.0]), atol=1e-12)
    assert octopus.value(at_saddle.float()).dtype == torch.float32


def curvature_rows(L, gamma):
    """All polynomials whose largest value bounds a row of the Hessian (2) or of the third
    derivatives (3), with their intervals; proof in docs/octopus.md.
    """
    well, gate, wall = profiles(Fraction(L), Fraction(gamma))
    A, s, chi = ([pieces(p, k) for k in range(4)] for p in (well, gate, wall))
    top = 8 * Fraction(L) + Fraction(37 * L + 13 * gamma, 6)

    def most(parts, sign=1):
        return max(upper(plus((sign, p)), a, b) for p, (a, b) in zip(parts, ENDS, strict=True))

    s1, s2, c1 = most(s[1]), max(most(s[2]), most(s[2], -1)), most(chi[1])
    c2 = max(most(chi[2]), most(chi[2], -1))
    assert most(chi[1], -1) <= 0
    assert most(s[1], -1) <= 0
    rows = {2: [], 3: []}
    for k, sign, theta, c in itertools.product(range(4), (1, -1), (0, 1), (0, top)):
        own = [
            plus((sign, A[n][k]), (sign * theta, chi[n][k]), (-sign * c, s[n][k])) for n in (2, 3)
        ]
        rows[2].append((plus((1, own[0]), (s1, chi[1][k]), (c1, s[1][k])), ENDS[k]))
        for bend, curl in itertools.product((1, -1), (1, -1)):
            terms = (1, own[1]), (2 * c1 * bend, s[2][k]), (s2, chi[1][k])
            terms += ((2 * s1 * curl, chi[2][k]), (c2, s[1][k]))
            rows[3].append((plus(*terms), ENDS[k]))
    return rows


@pytest.mark.parametrize(("L", "gamma"), CORNERS)
def test_the_lipschitz_constants_are_proved_in_rational_arithmetic(L, gamma):
    """DU-T7.3: every row sum, as a polynomial on its interval, by Bernstein coefficients; the two
    corners imply all L >= gamma, since the sums are convex and homogeneous in (L, gamma).
    """
    rows = curvature_rows(L, gamma)
    largest = {n: max(upper(p, a, b) for p, (a, b) in rows[n]) for n in (2, 3)}
    bounds = {
        n: Fraction(str(c[0])) * L + Fraction(str(c[1])) * gamma
        for n, c in zip((2, 3), (GRADIENT, HESSIAN), strict=False)
    }
    for n in (2, 3):
        assert 0.998 * bounds[n] < largest[n] <= bounds[n]


def test_the_hessian_is_the_chain_that_the_proof_bounds():
    """DU-T7.3: tridiagonal, each entry made of the three profiles as the proof says."""
    octopus = ExtendedOctopus(4, 2.0, 1.0, E)
    _well, gate, wall = octopus.profiles
    x = anywhere(octopus, 80, 9)
    r = x / octopus.tau
    H = octopus.hessian(x)
    mixed = -gate.at(np, r[:, :-1], 1) * wall.at(np, r[:, 1:], 1)
    np.testing.assert_allclose(H[:, range(3), range(1, 4)], mixed, atol=1e-12)
    assert not H[:, 0, 2:].any()
    assert not H[:, 1, 3].any()


@pytest.mark.parametrize(("L", "gamma", "tau"), SETTINGS)
def test_no_smaller_constants_would_do_by_much(L, gamma, tau):
    """DU-T7.3: the constants are within 15 % and 10 % of the least: one coordinate in its buffer,
    the next beyond its wall.
    """
    octopus = ExtendedOctopus(2, L, gamma, tau)
    peak = tau * np.array([(1.5 - math.sqrt(3) / 6), 6.0])  # where s'' is largest
    assert np.linalg.norm(octopus.hessian(peak), 2) >= 0.85 * octopus.gradient_lipschitz_upper
    left, right = tau * np.array([1.0, 6.0]), tau * np.array([1.0001, 6.0])
    change = np.linalg.norm(octopus.hessian(right) - octopus.hessian(left), 2)
    assert change >= 0.9 * octopus.hessian_lipschitz_upper * np.linalg.norm(right - left)


@pytest.mark.parametrize(("L", "gamma", "tau"), SETTINGS)
def test_no_pair_of_points_breaks_the_constants(L, gamma, tau):
    """DU-T7.3: 4,000 pairs, near and far, in six dimensions; a test of the claim itself."""
    octopus, rng = ExtendedOctopus(6, L, gamma, tau), np.random.default_rng(5)
    x = anywhere(octopus, 4000, 4)
    y = x + rng.standard_normal(x.shape) * 10.0 ** rng.uniform(-3, 1, (4000, 1))
    apart = np.linalg.norm(y - x, axis=1)
    slope = np.linalg.norm(octopus.gradient(y) - octopus.gradient(x), axis=1)
    bend = np.linalg.norm(octopus.hessian(y) - octopus.hessian(x), 2, axis=(1, 2))
    assert (slope <= octopus.gradient_lipschitz_upper * apart).all()
    assert (bend <= octopus.hessian_lipschitz_upper * apart).all()
    assert (
        np.linalg.norm(octopus.hessian(x), 2, axis=(1, 2)).max()
        > 0.5 * octopus.gradient_lipschitz_upper
    )


@pytest.mark.parametrize(("L", "gamma"), CORNERS)
def test_the_signs_on_which_the_landscape_rests(L, gamma):
    """DU-T7.3, DU-C7.1 in rational arithmetic: the well falls at least like 2 gamma in the buffer
    and on to 4, then rises; the wall is not negative; well and wall together rise.
    """
    well, _, wall = profiles(Fraction(L), Fraction(gamma))
    A, chi = pieces(well, 1), pieces(wall, 1)
    assert upper(plus((1, A[1]), (2 * gamma, [1])), 1, 2) <= 0
    assert A[2] == A[3] == [-8 * L, 2 * L, 0]  # 2L(r - 4)
    for k, (a, b) in enumerate(ENDS):
        assert upper(plus((-1, chi[k])), a, b) <= 0
        idle = plus((1, A[k]), (1, chi[k]))
        lower = Fraction(0) if k == 0 else Fraction(6, 5) * L
        assert upper(plus((-1, idle)), a, b, 64) <= -lower
    assert pieces(wall, 0)[0] == [0, 0, L + gamma, 0]


@pytest.mark.parametrize(("L", "gamma", "tau"), SETTINGS)
def test_whoever_has_not_passed_the_last_saddle_has_slope_or_negative_curvature(L, gamma, tau):
    """DU-C7.1 on all of R^d: at the first coordinate below 2 tau, everywhere in space; and the
    function is at least -d nu.
    """
    octopus = ExtendedOctopus(5, L, gamma, tau)
    x = anywhere(octopus, 3000, 6)
    passed, G, H = octopus.stage(x), octopus.gradient(x), octopus.hessian(x)
    assert set(passed) == set(range(6))
    for i, g, h in zip(passed, G, H, strict=True):
        if i < 5:
            assert abs(g[i]) >= 2 * gamma * tau * (1 - 1e-12) or h[i, i] <= -2 * gamma + 1e-12
    assert (octopus.value(x) >= octopus.least).all()
    over = np.abs(octopus.saddle(5) + np.array([0, 3, -5, 0.1, 9]))
    assert octopus.value(over) - octopus.least == pytest.approx(L * (0 + 9 + 25 + 0.01 + 81))


def test_no_descent_from_anywhere_ends_in_another_local_minimum():
    """DU-T7.3: 60 starts in all of space, d = 3: every end is a minimum or has negative
    curvature.
    """
    octopus, ends = ExtendedOctopus(3), []
    for start in anywhere(octopus, 60, 7):
        end = scipy.optimize.minimize(octopus.value, start, jac=octopus.gradient, method="BFGS").x
        ends.append(float(octopus.distance_to_minimum(end)))
        assert ends[-1] < 1e-4 or np.linalg.eigvalsh(octopus.hessian(end))[0] <= -2.0 + 1e-9
    assert sum(end < 1e-4 for end in ends) > 10


def test_outside_of_the_domain_there_are_strict_saddles_of_its_own():
    """DU-T7.3: from d = 3 on, as the page says; here x1 = 0, and the others hold each other up."""
    octopus = ExtendedOctopus(3)
    start = octopus.tau * np.array([0.0, 1.9, 4.0])
    found = scipy.optimize.root(octopus.gradient, start, jac=octopus.hessian, tol=1e-13)
    assert found.success
    assert np.linalg.norm(octopus.gradient(found.x)) < 1e-9
    assert not octopus.in_domain(found.x)
    eigenvalues = np.linalg.eigvalsh(octopus.hessian(found.x))
    assert eigenvalues[0] == pytest.approx(-2.0)
    assert eigenvalues[1] > 1.0
    assert octopus.value(found.x) < -octopus.drop / 4


def test_gradient_descent_meets_the_same_saddles():
    """DU-L7.3: from the cube descent never leaves the domain, so the escape times are those of the
    octopus.
    """
    octopus, x, times = ExtendedOctopus(3, 1.0), np.full(3, 0.5), []
    for t in range(100):
        times += [t] * (int(octopus.stage(x)) - len(times))
        x = x - octopus.gradient(x) / 4
    assert times == [6, 21, 62]
    assert octopus.distance_to_minimum(x) < 1e-4


def test_smoothness_moves_with_the_octopus():
    """DU-C7.1, DU-C7.2: the constants on R^d, by the public function, for a moved octopus too."""
    octopus = ExtendedOctopus(4, 3.0, 0.5, 5.0)
    bounds = octopus_smoothness_upper(octopus)
    assert bounds.gradient == pytest.approx(100.2 * 3 + 13.2 * 0.5, rel=1e-15)
    assert bounds.hessian == pytest.approx((900 * 3 + 130 * 0.5) / 5, rel=1e-15)
    assert bounds.value == pytest.approx(4 * octopus.drop, rel=1e-8)
    assert bounds.epsilon == pytest.approx(4 * 0.25 / bounds.hessian, rel=1e-8)
    moved = MovedOctopus(octopus, np.full(4, 7.0), 2.0)
    assert moved.smoothness_at_most().hessian == pytest.approx(bounds.hessian / 8)
    assert np.isfinite(moved.gradient(np.full(4, 1e6))).all()
    corner = octopus.value([0.0, 1.0, -1.0, 1.0]) - octopus.least
    assert corner <= octopus.loss_range_upper <= corner * (1 + 1e-11)
    assert octopus.critical_counts() == (15, 16)


def test_wrong_arguments_are_named():
    with pytest.raises(DataError, match="mirrored"):
        ExtendedOctopus(3, mirrored=False)
    with pytest.raises(DataError, match="dimension 3"):
        ExtendedOctopus(3).value([1.0, 2.0])
    jax = pytest.importorskip("jax")
    with pytest.raises(DataError, match="dimension 3"):
        ExtendedOctopus(3).value(jax.numpy.ones((3, 2)))
