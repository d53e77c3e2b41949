"""The two roads to positive definiteness against each other and against exact rational
determinants.
"""

from fractions import Fraction

import numpy as np
import pytest
from tests.oracles.definiteness import (
    eliminated,
    inverse_energy,
    is_semidefinite,
    shifted,
    witnessed,
    witnessed_exactly,
)
from tests.oracles.fraction_intervals import Interval, UndefinedError

BITS = 160


def determinant(A: list[list[Fraction]]) -> Fraction:
    if not A:
        return Fraction(1)
    return sum(
        (
            (-1) ** j * A[0][j] * determinant([row[:j] + row[j + 1 :] for row in A[1:]])
            for j in range(len(A))
        ),
        Fraction(0),
    )


def is_definite_by_minors(A: list[list[Fraction]]) -> bool:
    return all(determinant([row[:s] for row in A[:s]]) > 0 for s in range(1, len(A) + 1))


def symmetric(rng: np.random.Generator, m: int, lift: Fraction) -> list[list[Fraction]]:
    A = [[Fraction(int(rng.integers(-4, 5))) for _ in range(m)] for _ in range(m)]
    return [[(A[i][j] + A[j][i]) / 2 + (lift if i == j else 0) for j in range(m)] for i in range(m)]


def enclosed(A: list[list[Fraction]]) -> list[list[Interval]]:
    return [[Interval.of(x, BITS) for x in row] for row in A]


def float_factor(A: list[list[Fraction]]) -> list[list[Fraction]]:
    values, vectors = np.linalg.eigh(np.array(A, dtype=float))
    C = (vectors / np.sqrt(np.maximum(np.abs(values), 1e-9))).T
    return [[Fraction(float(x)) for x in row] for row in C]


@pytest.mark.parametrize("seed", range(5))
def test_elimination_and_witness_agree_with_leading_minors(seed: int):
    rng, seen = np.random.default_rng(seed), set()
    for _ in range(60):
        m = int(rng.integers(1, 5))
        A = symmetric(rng, m, Fraction(int(rng.integers(10))))
        truth = is_definite_by_minors(A)
        seen.add(truth)
        C = float_factor(A)
        assert witnessed_exactly(A, C) is truth
        assert witnessed(enclosed(A), C) is truth
        assert eliminated(enclosed(A))[0] in ((True,) if truth else (False, None))
        if truth:
            assert is_semidefinite(A)
    assert seen == {True, False}


def test_no_factor_proves_an_indefinite_matrix():
    rng = np.random.default_rng(3)
    A = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(-1, 10**6)]]
    for _ in range(300):
        C = [
            [Fraction(float(rng.normal() * 10 ** rng.uniform(-3, 4))) for _ in range(2)]
            for _ in range(2)
        ]
        assert not witnessed_exactly(A, C)
        assert witnessed(enclosed(A), C) is not True


def test_a_semidefinite_matrix_is_recognized_exactly_and_never_proved_definite():
    A = [[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4)]]
    assert is_semidefinite(A)
    assert not is_semidefinite([[Fraction(0), Fraction(1)], [Fraction(1), Fraction(5)]])
    assert not is_semidefinite(
        [[Fraction(1), Fraction(2)], [Fraction(2), Fraction(4) - Fraction(1, 10**30)]]
    )
    assert is_semidefinite([[Fraction(0), Fraction(0)], [Fraction(0), Fraction(5)]])
    assert eliminated(enclosed(A))[0] is None
    assert not witnessed_exactly(A, float_factor(A))


def test_a_matrix_known_too_loosely_is_undecided():
    wide = [[Interval(-1, 3, 0, BITS)]]
    assert eliminated(wide)[0] is None
    assert witnessed(wide, [[Fraction(1)]]) is None


def test_shift_moves_the_diagonal_only():
    A = enclosed([[Fraction(2), Fraction(1)], [Fraction(1), Fraction(2)]])
    moved = shifted(A, Fraction(5), sign=-1)
    assert [[x.lower for x in row] for row in moved] == [[3, -1], [-1, 3]]


def test_inverse_energy_is_the_exact_quadratic_form():
    A = [[Fraction(4), Fraction(1)], [Fraction(1), Fraction(3)]]
    r = [Fraction(2), Fraction(-5)]
    exact = (3 * r[0] ** 2 - 2 * r[0] * r[1] + 4 * r[1] ** 2) / 11
    energy = inverse_energy(enclosed(A), [Interval.of(x, BITS) for x in r])
    assert energy.lower <= exact <= energy.upper
    assert energy.upper - energy.lower < Fraction(1, 2**140)
    with pytest.raises(UndefinedError):
        inverse_energy(enclosed([[Fraction(-1)]]), [Interval.of(1, BITS)])
