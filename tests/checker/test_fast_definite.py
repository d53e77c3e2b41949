"""PD-R never proves a matrix positive definite that is not: matrices of known signature, entries
from 1e-300 to 1e300, thresholds within ulps of an eigenvalue, enclosures with a singular member.
"""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq

from globalmin_check.balls import precision
from globalmin_check.fast import definite, products
from globalmin_check.fast.definite import Dense, GramMatrix, prove_above, row_sums_up
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import Floats, NotProved

SEED = 20412


class Scaled(Dense):
    """A dense matrix without error that may be scaled."""

    scaled = True

    def errors(self, D: Floats, products: Products) -> Floats:
        """Row sums of D F D for the bounds F of the entries."""
        return D * (self.row_errors @ D) * (1 + 1e-9)


def proves(A: np.ndarray, a2: float = 0.0, F: np.ndarray | None = None) -> bool:
    """Whether A > a2 I is proved for all matrices within F of A."""
    F = np.zeros_like(A) if F is None else F
    try:
        with np.errstate(all="ignore"):
            prove_above(Scaled(A, F), a2, Products(b"seed"))
    except NotProved:
        return False
    return True


def is_positive(A: np.ndarray) -> bool:
    """The truth, by exact elimination."""
    M = [[fmpq(*float(x).as_integer_ratio()) for x in row] for row in A]
    for j, pivot in enumerate(M):
        if pivot[j] <= 0:
            return False
        for row in M[j + 1 :]:
            f = row[j] / pivot[j]
            for column in range(j, len(M)):
                row[column] -= f * pivot[column]
    return True


def integers(rng: np.random.Generator, count: int, pivot: int) -> Iterator[np.ndarray]:
    """L diag L^T of small integers with one given pivot, so that the signature is known."""
    for _ in range(count):
        n = int(rng.integers(2, 14))
        L = np.tril(rng.integers(-3, 4, (n, n)), -1) + np.eye(n, dtype=int)
        d = rng.integers(1, 50, n)
        d[int(rng.integers(n))] = pivot
        yield (L @ np.diag(d) @ L.T).astype(float)


def test_integer_matrices_are_proved_if_and_only_if_positive():
    rng = np.random.default_rng(SEED)
    assert all(proves(A) for A in integers(rng, 100, 1))
    for pivot in (0, -1):
        assert not any(proves(A) for A in integers(rng, 100, pivot))


@pytest.mark.parametrize(("span", "least"), [(150, 60), (498, 0)])
def test_matrices_scaled_from_1e_minus_300_to_1e300_are_never_proved_wrongly(span: int, least: int):
    rng = np.random.default_rng(SEED + span)

    def scaled(A: np.ndarray) -> np.ndarray:
        e = rng.integers(-span, span + 1, len(A))
        return np.ldexp(A, e[:, None] + e)

    for pivot in (0, -1):
        cases = [scaled(A) for A in integers(rng, 60, pivot)]
        assert not any(proves(A) for A in cases if np.isfinite(A).all())
    cases = [scaled(A) for A in integers(rng, 60, 1)]
    assert sum(proves(A) for A in cases if np.isfinite(A).all()) >= least


@pytest.mark.parametrize("ulps", [60, 1000, 20000])
def test_nearly_singular_matrices_are_proved_only_if_positive(ulps: int):
    rng = np.random.default_rng(SEED + ulps)
    wrong = right = 0
    for _ in range(120):
        n = int(rng.integers(2, 12))
        B = rng.integers(-1000, 1000, (n, n - 1))
        A = (B @ B.T).astype(float)
        A[np.arange(n), np.arange(n)] *= 1 + 2.0**-52 * rng.integers(-ulps, ulps + 1, n)
        if proves(A):
            right += is_positive(A)
            wrong += not is_positive(A)
    assert wrong == 0
    assert right > 0 or ulps < 1000


def test_hilbert_matrices_and_a_singular_one_of_order_300(monkeypatch: pytest.MonkeyPatch):
    for n in range(2, 15):
        A = np.array([[1 / (i + j + 1) for j in range(n)] for i in range(n)])
        assert not proves(A) or is_positive(A)
        assert proves(A) or n > 8
    B = np.random.default_rng(SEED).integers(-9, 10, (300, 299)).astype(float)
    A = B @ B.T
    for strip in (1024, 37):
        monkeypatch.setattr(definite, "STRIP", strip)
        assert [a2 for a2 in (1e-3, 0.0, -1e-9, -1e-6) if proves(A, a2)] in ([-1e-6], [])
        assert proves(A, -1e-5)


@pytest.mark.parametrize("n", [5, 20, 60])
def test_thresholds_around_a_known_eigenvalue(n: int):
    A = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    with precision(200):
        least = 2 - 2 * (arb.pi() / (n + 1)).cos()
        for exponent in (6, 9, 11, 12, 13, 14, 15, 16):
            for sign in (1, -1):
                a2 = float(least.mid()) * (1 - sign * 10.0**-exponent)
                assert not proves(A, a2) or arb(a2) < least
    assert proves(A, float(least.mid()) * (1 - 1e-6))


def test_an_enclosure_with_a_singular_member_is_never_proved():
    rng = np.random.default_rng(SEED)
    for A in integers(rng, 100, 1):
        n = len(A)
        x = rng.choice([-1.0, 1.0], n)
        t = float(x @ A @ x) / n**2  # x is in the kernel of A - t x x^T
        whole = np.ones((n, n))
        assert not proves(A, 0.0, t * whole)
        assert not proves(A, 0.0, t * (1 + 1e-12) * whole)
        least = np.linalg.eigvalsh(A)[0]
        assert proves(A, 0.0, 1e-5 * least / n * whole)  # scaling costs a part of the room


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308])
def test_what_is_not_finite_is_not_proved(value: float):
    A = np.eye(4) * 4.0
    for i, j in ((3, 3), (3, 0)):
        B = A.copy()
        B[i, j] = B[j, i] = value
        assert not proves(B)
    assert proves(A)


def test_only_the_lower_triangle_of_a_factor_counts(monkeypatch: pytest.MonkeyPatch):
    """A factor that LAPACK fills above the diagonal, or a wrong one, proves nothing false."""
    A = np.array([[1.0, 2.0], [2.0, 1.0]])  # indefinite
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        L = rng.normal(size=(2, 2)) * 10.0 ** rng.uniform(-3, 3)
        monkeypatch.setattr(definite.np.linalg, "cholesky", lambda T, L=L: L.copy())
        assert not proves(A)


def gram_case(rng: np.random.Generator, head: bool) -> tuple[GramMatrix, list[list[Fraction]]]:
    """A Gram matrix of floats, and the exact one of factors within the radii."""
    n, d, k = (int(rng.integers(2, 7)) for _ in range(3))
    X, B, Q = (rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-2, 2, (n, 1)) for m in (d, k, k))
    dB, dQ = (np.abs(A) * 10.0 ** rng.uniform(-17, -8, A.shape) for A in (B, Q))
    signs = [rng.choice([-1.0, 1.0], A.shape) for A in (B, Q)]
    exact = [
        [[Fraction(a) + Fraction(s) * Fraction(r) for a, s, r in zip(*rows, strict=True)]
         for rows in zip(A.tolist(), S.tolist(), R.tolist(), strict=True)]
        for A, S, R in zip((B, Q), signs, (dB, dQ), strict=True)
    ]  # fmt: skip
    rows = [[Fraction(x) for x in row] for row in X.tolist()]

    def inner(a: list[Fraction], b: list[Fraction]) -> Fraction:
        return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))

    K = [
        [
            inner(exact[0][i], exact[0][j]) * inner(rows[i], rows[j])
            + (inner(exact[1][i], exact[1][j]) if head else 0)
            for j in range(n)
        ]
        for i in range(n)
    ]
    return GramMatrix(X, B, dB, (Q, dQ) if head else None), K


@pytest.mark.parametrize("head", [False, True])
def test_radii_of_gram_matrices_hold_with_and_without_weights(head: bool):
    """K1 by exact rationals; with factors at the ends of their radii the bound is nearly met."""
    rng = np.random.default_rng(SEED + head)
    worst = 0.0
    for _ in range(40):
        gram, K = gram_case(rng, head)
        n = gram.n
        D = np.ldexp(1.0, rng.integers(-4, 5, n))
        bounds = gram.errors(D, Products(b""))
        found = gram.strips(None).strip(0, n)
        for i in range(n):
            true = sum(
                Fraction(D[i]) * Fraction(D[j])
                * abs(K[i][j] - Fraction(float(found[max(i, j), min(i, j)])))
                for j in range(n)
            )  # fmt: skip
            worst = max(worst, float(true / Fraction(float(bounds[i]))))
        sums = row_sums_up(gram, Products(b""))
        assert all(sum(map(abs, K[i])) <= Fraction(float(sums[i])) for i in range(n))
        assert (sums <= (1 + 1e-6) * np.abs(np.array(K, float)).sum(axis=1)).all()
    assert 0.3 < worst <= 1


def test_strips_of_the_negative_and_confirmed_matrix_agree():
    gram, _ = gram_case(np.random.default_rng(SEED), True)
    other = GramMatrix(gram.X, gram.B, gram.dB, gram.head, sign=-1)
    whole = gram.strips(None).strip(0, gram.n)
    assert np.array_equal(other.strips(Products(b"")).strip(0, gram.n), -whole)
    assert other.diagonal() == pytest.approx(-np.diagonal(whole))


def test_a_factor_that_is_off_by_more_than_the_room_proves_nothing(
    monkeypatch: pytest.MonkeyPatch,
):
    """The distance from L L^T is compared with c itself: L is moved by part of c or more."""
    A = Scaled(np.eye(3), np.zeros((3, 3)))
    _, c = prove_above(A, 0.0, Products(b""))
    honest = np.linalg.cholesky

    def moved(T: np.ndarray, share: float) -> np.ndarray:
        L = honest(T)
        L[2, 0] += share * c
        return L

    monkeypatch.setattr(definite.np.linalg, "cholesky", lambda T: moved(T, 0.1))
    prove_above(A, 0.0, Products(b""))
    monkeypatch.setattr(definite.np.linalg, "cholesky", lambda T: moved(T, 1.5))
    with pytest.raises(NotProved):
        prove_above(A, 0.0, Products(b""))


def test_row_sums_of_strips_are_those_of_the_whole_matrix():
    B = np.random.default_rng(SEED).integers(-9, 10, (11, 11)).astype(float)
    A = np.abs(B + B.T)
    rows = np.zeros(11)
    for start, end in ((0, 4), (4, 8), (8, 11)):
        definite._add_row_sums(rows, A[start:end, :end].copy(), start)
    assert np.array_equal(rows, A.sum(axis=1))


@pytest.mark.parametrize("block", [256, 7, 1])
def test_sums_over_a_factor_are_those_of_exact_numbers(monkeypatch: pytest.MonkeyPatch, block: int):
    """|T - L L^T| and |L| |L|^T in every row, from the L that was left in T."""
    monkeypatch.setattr(definite, "BLOCK", block)
    n = 23
    B = np.random.default_rng(SEED).normal(size=(n, n + 2))
    T = B @ B.T
    L = T.copy()
    rows, sizes = definite._factor(L, Products(b""))
    L = [[Fraction(x) for x in row] for row in np.tril(L).tolist()]
    columns = [sum((abs(row[j]) for row in L), Fraction(0)) for j in range(n)]
    for i in range(n):
        true = sum((abs(a) * b for a, b in zip(L[i], columns, strict=True)), Fraction(0))
        assert true <= Fraction(float(sizes[i])) <= true * Fraction(1 + 1e-12)
        lost = sum(
            abs(
                Fraction(float(T[i, j]))
                - sum((a * b for a, b in zip(L[i], L[j], strict=True)), Fraction(0))
            )
            for j in range(n)
        )
        rounding = Fraction(rounding_unit(n)) * true
        assert abs(lost - Fraction(float(rows[i]))) <= rounding
        assert rows[i] <= rounding


def rounding_unit(n: int) -> float:
    """Lemma A."""
    return (n + 2) * 2.0**-53


@pytest.mark.parametrize("block", [256, 7])
def test_sums_over_columns_of_a_lower_triangle_are_those_of_the_matrix(block: int):
    B = np.random.default_rng(SEED).integers(-9, 10, (23, 23)).astype(float)
    A = np.abs(B + B.T)
    rows = np.zeros(23)
    for start in range(0, 23, block):
        definite._add_sums_of_columns(rows, A[start:, start : start + block].copy(), start)
    assert np.array_equal(rows, A.sum(axis=1))


@pytest.mark.parametrize("part", ["with the finished columns", "with the square on top"])
def test_a_wrong_product_inside_the_factorization_is_seen(
    monkeypatch: pytest.MonkeyPatch, part: str
):
    """The error is put where it makes a matrix that is not positive definite look so: either the
    projections see it, or the factor does not fit.
    """
    n = 40
    B = np.random.default_rng(SEED).normal(size=(n, 2 * n))
    A = B @ B.T
    A -= (np.linalg.eigvalsh(A)[0] + 1.0) * np.eye(n)  # least eigenvalue -1
    honest = products.tiled
    monkeypatch.setattr(definite, "BLOCK", 16)

    def wrong(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        C = honest(left, right)
        inner, columns = right.shape
        if inner > columns if "finished" in part else inner == columns and len(left) == n:
            C[np.arange(min(C.shape)), np.arange(min(C.shape))] -= 2.0
        return C

    assert not proves(A)
    monkeypatch.setattr(definite, "tiled", wrong)
    seen = []
    agree = products._agree

    def told(*sides: np.ndarray) -> None:
        try:
            agree(*sides)
        except NotProved:
            seen.append(1)
            raise

    monkeypatch.setattr(products, "_agree", told)
    assert not proves(A)
    assert seen


def test_a_matrix_whose_factor_needs_the_second_step_is_proved(monkeypatch: pytest.MonkeyPatch):
    """Columns that the inverse of a badly conditioned square leaves far from the matrix."""
    n = 150
    rng = np.random.default_rng(SEED)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q * np.geomspace(1e-9, 1.0, n)) @ Q.T
    A = (A + A.T) / 2
    assert proves(A, 5e-10)
    monkeypatch.setattr(definite, "NEAR", np.inf)
    rough = definite._factor(A.copy(), Products(b""))[0]
    monkeypatch.setattr(definite, "NEAR", 0.0)
    fine = definite._factor(A.copy(), Products(b""))[0]
    assert fine.max() < rough.max() / 2
