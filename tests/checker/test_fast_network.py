"""The enclosures of a smooth network in the fast route against 256-bit balls: residual, products
with K, matrices of P3; and proofs of K > a2 I beside the exact eigenvalue.
"""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from tests.checker.problem_cases import problem

from globalmin_check.balls import precision, root, sum_of_squares
from globalmin_check.fast.definite import prove_above
from globalmin_check.fast.elementary import Enclosed, slopes
from globalmin_check.fast.linearization import Linearization, norm_square
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import NotProved
from globalmin_check.network import Tangent
from globalmin_check.primitives import quartic_matrix
from globalmin_check.problem import Problem

NAMES = ("softplus", "sigmoid", "tanh", "quadratic")
SEED = 20413


def case(rng: np.random.Generator, name: str, *, wild: bool = False) -> Problem:
    """A small network, its labels near its outputs; rows nearly equal, neurons saturated."""
    n, d, k = int(rng.integers(1, 7)), int(rng.integers(1, 5)), int(rng.integers(1, 7))
    scale = 10.0 ** rng.uniform(-3, 3)
    X, W = rng.normal(size=(n, d)) * scale, rng.normal(size=(k, d)) / scale
    v = rng.normal(size=k)
    if n > 1 and rng.random() < 0.3:
        X[0] = X[1] * (1 + 2.0**-30 * rng.normal(size=d))
    if rng.random() < 0.2:
        W[0] *= 100
    if wild:
        X, W, v = (
            A * 10.0 ** rng.uniform(-200, 10, A.shape) * (rng.random(A.shape) > 0.1)
            for A in (X, W, v)
        )
    first = Tangent(problem(name, X, np.zeros(n), W, v), both=False)
    y = np.array([float(r) for r in first.residual()])
    y = np.clip(y + 10.0 ** rng.uniform(-16, -8) * rng.normal(size=n), -(2.0**59), 2.0**59)
    return problem(name, X, y, W, v)


def inside(inner: arb, outer: arb) -> bool:
    """Whether the number of the small ball may lie in the large one."""
    return bool(inner.overlaps(outer))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("wild", [False, True])
def test_residuals_and_products_hold_and_are_sharp(name: str, both: bool, wild: bool):
    rng = np.random.default_rng([SEED, NAMES.index(name), both, wild])
    for _ in range(12):
        with precision(256):
            stored = case(rng, name, wild=wild)
            exact, fast = Tangent(stored, both), Linearization(stored, both, Products(b""))
            for true, found in zip(exact.residual(), fast.residual(), strict=True):
                assert inside(true, found)
                size = max(abs(float(found.mid())), 1e-14 * (1 + abs(float(found.mid()))))
                assert wild or float(found.rad()) <= 1e-7 * max(size, 1e-13)
            z = rng.normal(size=stored.sizes.n) * 10.0 ** rng.uniform(-20, 3)
            Kz, energy = exact.apply(z.tolist())
            found_Kz, found_energy = fast.apply(z.tolist())
            assert inside(energy, found_energy)
            assert all(inside(a, b) for a, b in zip(Kz, found_Kz, strict=True))
            scale = float(root(sum_of_squares(Kz)).mid()) + 1e-300
            assert wild or all(float(b.rad()) <= 1e-8 * scale for b in found_Kz)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("both", [False, True])
def test_the_gram_matrix_is_never_proved_above_its_least_eigenvalue(name: str, both: bool):
    rng = np.random.default_rng([SEED + 1, NAMES.index(name), both])
    proved = 0
    for _ in range(15):
        with precision(256):
            stored = case(rng, name)
            exact, fast = Tangent(stored, both), Linearization(stored, both, Products(b""))
            K = exact.gram()
        values = np.array([[float(x) for x in row[: i + 1]] + [0.0] * (len(K) - i - 1)
                           for i, row in enumerate(K)])  # fmt: skip
        low, high = np.linalg.eigvalsh(values + np.tril(values, -1).T)[[0, -1]]
        for share in (1 - 1e-2, 1 - 1e-6, 1 - 1e-12, 1.0, 1 + 1e-15, 1 + 1e-12, 1 + 1e-6):
            for a2 in (share * low, share * 1e-15 * high):
                proved += a2 > 0 and is_proved(fast, a2, K)
        with pytest.raises(NotProved), np.errstate(all="ignore"):
            prove_above(fast.gram(sign=-1), -float(high) * (1 - 1e-9), Products(b""))
        with np.errstate(all="ignore"):
            prove_above(fast.gram(sign=-1), -float(high) * 1.001 - 1e-290, Products(b""))
    assert proved > 5


def is_proved(fast: Linearization, a2: float, K: list[list[arb]]) -> bool:
    """Whether PD-R proves K > a2 I; if so, elimination in balls must agree."""
    try:
        with np.errstate(all="ignore"):
            prove_above(fast.gram(), a2, Products(b""))
    except NotProved:
        return False
    with precision(256):
        M = [row[: i + 1] for i, row in enumerate(K)]
        for j in range(len(M)):
            M[j][j] = M[j][j] - arb(a2)
        for j in range(len(M)):
            assert M[j][j] > 0
            for i in range(j + 1, len(M)):
                f = M[i][j] / M[j][j]
                for column in range(j + 1, i + 1):
                    M[i][column] = M[i][column] - f * M[column][j]
    return True


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("both", [False, True])
def test_the_forms_of_the_lipschitz_constant_dominate_those_of_the_balls(name: str, both: bool):
    """The row sums of the difference, and the weights, entry by entry."""
    rng = np.random.default_rng([SEED + 2, NAMES.index(name), both])
    rho = Fraction(1, 10)
    for _ in range(8):
        with precision(256):
            stored = case(rng, name)
            exact, fast = Tangent(stored, both), Linearization(stored, both, Products(b""))
            q = fast.curvature_weights(rho)
            for true, found in zip(exact.curvature_weights(rho), q, strict=True):
                assert not arb(float(found)) < true
                assert arb(float(found)) <= true * arb(1 + 1e-6) + arb(2) ** -900
            if name != "quadratic" or both:
                for true, found in zip(
                    exact.slope_weights(rho), fast.slope_weights(rho), strict=True
                ):
                    assert not arb(float(found)) < true
                    assert arb(float(found)) <= true * arb(1 + 1e-6) + arb(2) ** -900
            for t in (None, Fraction(1, 3), Fraction(-2)):
                weights = [arb(float(x)) for x in q]
                rows = [stored.X.row(i) for i in range(stored.sizes.n)]
                if t is not None:
                    t = Fraction(float(t))
                check_rows(
                    fast.minus_quartic(rho, t), quartic_matrix(rows, weights, Fraction(0), t)
                )


def check_rows(found: object, true: list[list[arb]]) -> None:
    """|true - found| has row sums within the bounds of the enclosure."""
    values, bounds = found.values, found.row_errors  # type: ignore[attr-defined]
    for i in range(len(values)):
        total = arb(0)
        for j in range(len(values)):
            entry = true[max(i, j)][min(i, j)]
            total += abs(entry - arb(float(values[max(i, j), min(i, j)])))
        # "rows" multiplies the weights by |x|^2 rounded up, a part in 1e12 of the entries above
        slack = arb(1e-12) * sum((abs(x) for x in true[i][: i + 1]), arb(0))
        assert not total > arb(float(bounds[i])) + slack


@pytest.mark.parametrize("size", [1e-250, 1e-8, 1.0, 1e100])
def test_sums_of_squares_hold_every_true_one_and_are_sharp(size: float):
    rng = np.random.default_rng(SEED)
    for share in (0.0, 1e-12, 0.3):
        values = rng.normal(size=(4, 25)) * size
        radii = np.abs(values) * share
        with precision(400):
            found = norm_square(Enclosed(values, radii))
            for sign in (-1, 0, 1):
                ends = [
                    arb(v) + sign * arb(r)
                    for v, r in zip(values.ravel().tolist(), radii.ravel().tolist(), strict=True)
                ]
                true = sum_of_squares(ends)
                assert inside(true, found)
            if size > 1e-100:
                spread = (2 * share + share**2 + 1e-15) * float(sum_of_squares(ends).mid())
                assert float(found.rad()) <= 1.01 * spread
    for bad in (np.nan, np.inf):
        with np.errstate(invalid="ignore"):
            assert not norm_square(Enclosed(np.array([1.0, bad]), np.zeros(2))).is_finite()


def test_slopes_of_an_activation_that_is_not_known_are_not_proved():
    z = np.zeros((1, 1))
    with pytest.raises(NotProved, match="does not know the activation erf"):
        slopes("erf", z, z, z)
