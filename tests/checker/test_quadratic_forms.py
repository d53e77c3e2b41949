"""Forms, sums of x x^T and the svec design: the exact rational lies in every ball, on both roads,
and the balls are narrow.
"""

from array import array
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from tests.checker.cases import svec_matrix
from tests.oracles.fraction_quadratic_claims import gram_without_roots, outer_sum, quadratic_form

from globalmin_check.balls import ball, precision
from globalmin_check.claims import quadratic
from globalmin_check.container import Tensor

Matrix = list[list[Fraction]]


def tensor(values: np.ndarray) -> Tensor:
    raw = np.ascontiguousarray(values, float).tobytes()
    return Tensor("F64", np.shape(values), array("d", raw), memoryview(raw))


def exact(X: np.ndarray) -> Matrix:
    return [list(map(Fraction, row)) for row in X.tolist()]


def samples(case: str) -> np.ndarray:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((7, 3))
    if case == "columns of very different sizes":
        return X * np.array([1e-8, 1.0, 1e9])
    if case == "huge and tiny":
        X[0] *= 1e150
        X[1] *= 1e-150
        X[2, 1] = 5e-324
    if case == "zeros":
        X[::2] = 0.0
        X[:, 1] = -0.0
    return X


CASES = ["plain", "columns of very different sizes", "huge and tiny", "zeros"]


@pytest.fixture(params=["balls", "grid", "grid in strips", "balls in strips"])
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if "grid" in request.param:
        monkeypatch.setattr(quadratic, "LARGE", 0)
    if "strips" in request.param:
        monkeypatch.setattr(quadratic, "STRIP_ENTRIES", 7)
    return request.param


def contains(value: arb, number: Fraction) -> bool:
    with precision(4000):
        return value.overlaps(ball(number))


@pytest.mark.parametrize("bits", [128, 256, 512, 1024])
@pytest.mark.parametrize("case", CASES)
def test_weighted_sums_contain_the_exact_matrix(road: str, bits: int, case: str) -> None:
    X, weights = samples(case), np.random.default_rng(2).standard_normal(7)
    weights[3] = 0.0
    expected = outer_sum(exact(X), list(map(Fraction, weights.tolist())))
    with precision(bits):
        found = quadratic.weighted_sum(tensor(X), list(map(arb, weights.tolist())))
    assert all(contains(found[a][b], expected[a][b]) for a in range(3) for b in range(3))
    scale = float(max(abs(entry) for row in expected for entry in row))
    assert all(
        float(entry.rad()) <= 1e-15 * max(scale, np.abs(X).max() ** 2)
        for row in found
        for entry in row
    )


@pytest.mark.parametrize("bits", [128, 256, 512, 1024])
@pytest.mark.parametrize("case", CASES)
def test_forms_contain_the_exact_values(road: str, bits: int, case: str) -> None:
    X = samples(case)
    half = np.random.default_rng(3).standard_normal((3, 3))
    M = exact(half + half.T)
    with precision(bits):
        found = quadratic.forms(tensor(X), [[ball(entry) for entry in row] for row in M])
    for value, x in zip(found, exact(X), strict=True):
        assert contains(value, quadratic_form(M, x))
        assert float(value.rad()) <= 1e-15 * np.abs(X).max() ** 2 * 10


@pytest.mark.parametrize("bits", [128, 256, 1024])
@pytest.mark.parametrize("case", CASES)
def test_the_design_gram_is_that_of_svec(road: str, bits: int, case: str) -> None:
    X = samples(case)
    plain, e = gram_without_roots(exact(X))
    with precision(bits):
        found = quadratic.design_gram(tensor(X))
    assert [len(row) for row in found] == list(range(1, 7))
    with precision(4000):
        for i, row in enumerate(found):
            for j, value in enumerate(row):
                root = arb(2).sqrt() if e[i] != e[j] else arb(2) if e[i] != 1 else arb(1)
                assert (value - ball(plain[i][j]) * root).contains(0)
    if case == "plain":
        A = svec_matrix(X)[0]
        np.testing.assert_allclose(
            [float(entry) for entry in found[5]], (A.T @ A)[5], rtol=1e-13, atol=1e-13
        )


def test_radii_of_weights_and_matrices_are_kept(road: str) -> None:
    X = np.array([[1.0, 2.0], [3.0, -1.0]])
    wide = quadratic.weighted_sum(tensor(X), [arb(1, 0.25), arb(-2)])
    for shift in (Fraction(-1, 4), Fraction(0), Fraction(1, 4)):
        expected = outer_sum(exact(X), [1 + shift, Fraction(-2)])
        assert all(contains(wide[a][b], expected[a][b]) for a in range(2) for b in range(2))
    values = quadratic.forms(tensor(X), [[arb(1, 0.5), arb(0)], [arb(0), arb(2)]])
    for shift in (Fraction(-1, 2), Fraction(1, 2)):
        M = [[1 + shift, Fraction(0)], [Fraction(0), Fraction(2)]]
        assert all(
            contains(value, quadratic_form(M, x)) for value, x in zip(values, exact(X), strict=True)
        )


def test_dyadic_numbers_are_exact_on_the_road_of_balls() -> None:
    X = np.array([[0.1, 0.7], [1 / 3, -2.0]])
    with precision(1024):
        values = quadratic.forms(
            tensor(X), quadratic.weighted_sum(tensor(X), [arb(0.3), arb(-0.9)])
        )
    assert all(value.is_exact() for value in values)


def test_random_grids_hold_the_exact_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quadratic, "LARGE", 0)
    rng = np.random.default_rng(5)
    for _ in range(60):
        n, d = rng.integers(1, 6, 2)
        X = (
            rng.standard_normal((n, d))
            * 10.0 ** rng.integers(-12, 12, (1, d))
            * 10.0 ** rng.integers(-3, 3, (n, 1))
        )
        weights = rng.standard_normal(n) * 10.0 ** rng.integers(-9, 9, n)
        expected = outer_sum(exact(X), list(map(Fraction, weights.tolist())))
        found = quadratic.weighted_sum(tensor(X), list(map(arb, weights.tolist())))
        assert all(contains(found[a][b], expected[a][b]) for a in range(d) for b in range(d))


def test_random_grids_hold_the_exact_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quadratic, "LARGE", 0)
    rng = np.random.default_rng(7)
    for _ in range(60):
        n, d = rng.integers(1, 6, 2)
        X = (
            rng.standard_normal((n, d))
            * 10.0 ** rng.integers(-12, 12, (1, d))
            * 10.0 ** rng.integers(-3, 3, (n, 1))
        )
        half = rng.standard_normal((d, d)) * 10.0 ** rng.integers(-9, 9, (d, d))
        M = exact(half + half.T)
        found = quadratic.forms(tensor(X), [[ball(entry) for entry in row] for row in M])
        assert all(
            contains(value, quadratic_form(M, x)) for value, x in zip(found, exact(X), strict=True)
        )


def test_the_matrix_of_a_vector_has_that_svec() -> None:
    z = [1.0, 2.0, -3.0, 0.5, 4.0, -1.0]
    T = quadratic.symmetric_matrix(z, 3)
    back = [T[a][b] * (1 if a == b else arb(2).sqrt()) for a, b in quadratic.pairs(3)]
    assert all((entry - value).contains(0) for entry, value in zip(back, z, strict=True))
    assert all(
        T[a][b] == T[b][a] or (T[a][b] - T[b][a]).contains(0) for a in range(3) for b in range(3)
    )
    assert (quadratic.frobenius(T) ** 2 - sum(value * value for value in z)).contains(0)


def test_the_residual_is_that_of_the_network(road: str, quadratic_problem: Callable) -> None:
    problem, r = quadratic_problem(9, 3, 4)
    found = quadratic.residual(problem)
    assert all(contains(value, number) for value, number in zip(found, r, strict=True))


@pytest.fixture
def quadratic_problem() -> Callable:
    from globalmin_check.problem import Problem, Sizes

    def make(n: int, d: int, k: int) -> tuple[Problem, list[Fraction]]:
        rng = np.random.default_rng(6)
        X, y, W, v = (
            rng.standard_normal((n, d)),
            rng.standard_normal(n),
            rng.standard_normal((k, d)),
            rng.standard_normal(k),
        )
        problem = Problem(
            "quadratic",
            Fraction(1),
            False,
            Sizes(n, d, k),
            tensor(X),
            tensor(y),
            tensor(W),
            tensor(v),
        )
        M = outer_sum(exact(W), list(map(Fraction, v.tolist())))
        return problem, [
            quadratic_form(M, x) - Fraction(label)
            for x, label in zip(exact(X), y.tolist(), strict=True)
        ]

    return make
