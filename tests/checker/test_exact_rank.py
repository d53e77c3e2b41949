"""Exact ranks: the primes are odd primes, a modular rank is never too large, kernels and
annihilation are decided exactly.
"""

from array import array
from fractions import Fraction

import numpy as np
import pytest
from flint import fmpz
from tests.oracles.fraction_quadratic_claims import monomials, rank

from globalmin_check.claims import exact_rank
from globalmin_check.claims.exact_rank import (
    PRIMES,
    first_not_annihilated,
    integer_row,
    rows_span_all,
    squares_span,
)
from globalmin_check.container import Tensor


def tensor(values: np.ndarray, dtype: str = "F64") -> Tensor:
    kind = float if dtype == "F64" else np.int64
    raw = np.ascontiguousarray(values, kind).tobytes()
    return Tensor(
        dtype, np.shape(values), array("d" if dtype == "F64" else "q", raw), memoryview(raw)
    )


def exact(X: np.ndarray) -> list[list[Fraction]]:
    return [list(map(Fraction, row)) for row in X.tolist()]


def is_prime(p: int) -> bool:
    """Miller-Rabin with the bases that decide every number below 2^64."""
    odd, twos = p - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(base, odd, p)
        if x not in (1, p - 1) and all((x := x * x % p) != p - 1 for _ in range(twos - 1)):
            return False
    return True


def test_the_primes_are_odd_primes_near_two_to_the_61() -> None:
    assert len(set(PRIMES)) == 3
    for p in PRIMES:
        assert p % 2 == 1
        assert 2**60 < p < 2**61
        assert is_prime(p)
        assert fmpz(p).is_prime()
    assert not is_prime(PRIMES[0] - 2)
    assert not is_prime(3215031751)


@pytest.mark.parametrize("row", [[0.1, 3.0, -0.0], [1e300, 5e-324, -2.5], [0.0, 0.0], [2.0**-1074]])
def test_integer_rows_are_exact_multiples(row: list[float]) -> None:
    integers = integer_row(row)
    assert all(type(entry) is int for entry in integers)
    factors = {Fraction(entry) / Fraction(x) for entry, x in zip(integers, row, strict=True) if x}
    assert len(factors) <= 1
    assert all(
        factor.denominator == 1 and factor.numerator & (factor.numerator - 1) == 0
        for factor in factors
    )
    assert all((x == 0) == (entry == 0) for entry, x in zip(integers, row, strict=True))


def test_the_modular_rank_agrees_with_elimination_over_the_rationals() -> None:
    rng = np.random.default_rng(1)
    for _ in range(80):
        n, d = int(rng.integers(1, 13)), int(rng.integers(1, 4))
        X = rng.integers(-2, 3, (n, d)) * rng.choice([1.0, 0.1, 1e-40, 1e40])
        S = monomials(exact(X))
        full, found = squares_span(tensor(X))
        assert found == rank(S)
        assert full == (found == d * (d + 1) // 2)


def test_one_prime_of_the_list_is_enough_and_a_prime_never_shows_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X = tensor(np.array([[3.0]]))
    monkeypatch.setattr(exact_rank, "PRIMES", (3,))
    assert squares_span(X) == (False, 0)
    monkeypatch.setattr(exact_rank, "PRIMES", (3, 5))
    assert squares_span(X) == (True, 1)
    monkeypatch.setattr(exact_rank, "PRIMES", (3, 5, 7))
    rng = np.random.default_rng(2)
    for _ in range(60):
        X = rng.integers(-4, 5, (6, 3)).astype(float)
        assert squares_span(tensor(X))[1] <= rank(monomials(exact(X)))


def test_more_rows_than_one_stack_are_all_used() -> None:
    X = np.vstack(
        [np.tile([[1.0, 0.0]], (7, 1)), [[0.0, 1.0]], np.tile([[1.0, 0.0]], (5, 1)), [[1.0, 1.0]]]
    )
    assert squares_span(tensor(X)) == (True, 3)
    assert squares_span(tensor(X[:-1])) == (False, 2)


@pytest.mark.parametrize("strip", [7, 2**18])
@pytest.mark.parametrize("seed", range(6))
def test_chosen_rows_span_all_exactly_if_the_ranks_agree(
    seed: int, strip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_rank, "STRIP_ENTRIES", strip)
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((3, 3))
    X = np.hstack([base, base[:, :2], 0.5 * base[:, 2:]])[
        rng.integers(0, 3, 9)
    ] * 2.0 ** rng.integers(-5, 5, (9, 1))
    for chosen in ([0], [0, 1], [0, 1, 2], list(range(9))):
        assert rows_span_all(tensor(X), chosen) == (rank(exact(X[chosen])) == rank(exact(X)))


def test_a_row_off_the_span_by_one_bit_is_seen() -> None:
    X = np.array([[1.0, 1.0, 0.3], [0.0, 1.0, 0.7], [1.0, 2.0, 1.0]])
    X[2, 2] = float(Fraction(0.3) + Fraction(0.7))
    assert rows_span_all(tensor(X), [0, 1]) == (Fraction(X[2, 2]) == Fraction(0.3) + Fraction(0.7))
    X[2, 2] = np.nextafter(X[2, 2], 2)
    assert not rows_span_all(tensor(X), [0, 1])
    assert rows_span_all(tensor(X[:, :2]), [0, 1])


@pytest.mark.parametrize("strip", [1, 2**18])
def test_annihilation_is_exact(strip: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact_rank, "STRIP_ENTRIES", strip)
    M = np.array([[0, 1], [1, 0]])
    X = np.array([[1.0, 0.0], [0.0, 1e300], [5e-324, 0.0]])
    assert first_not_annihilated(tensor(M, "I64"), tensor(X)) is None
    X[2, 1] = 5e-324
    assert first_not_annihilated(tensor(M, "I64"), tensor(X)) == 2
    wide = np.array([[2**62, 0], [0, -(2**62)]])
    assert first_not_annihilated(tensor(wide, "I64"), tensor(np.array([[0.1, -0.1]]))) is None
    assert (
        first_not_annihilated(tensor(wide, "I64"), tensor(np.array([[0.1, np.nextafter(0.1, 1)]])))
        == 0
    )
