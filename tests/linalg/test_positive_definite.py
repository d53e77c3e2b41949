"""Witnesses of positive definiteness, verified here with exact fractions (primitive P1)."""

from fractions import Fraction

import numpy as np
import pytest

from globalmin.linalg import positive_definite
from globalmin.linalg.positive_definite import (
    EPS,
    Gram,
    NotPositiveDefiniteError,
    ball_matrix,
    inverse_factor,
    lower_witness,
    upper_witness,
    working_precision,
)


def fractions(A):
    return [[Fraction(x) for x in row] for row in np.asarray(A).tolist()]


def product(A, B):
    columns = list(zip(*B, strict=True))
    return [
        [sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns]
        for row in A
    ]


def squared_residual(A, shift, C):
    """||C (A - shift I) C^T - I||_F^2 exactly, A a matrix of fractions."""
    n = len(A)
    shifted = [[A[i][j] - (Fraction(shift) if i == j else 0) for j in range(n)] for i in range(n)]
    C = fractions(C)
    T = product(product(C, shifted), [list(column) for column in zip(*C, strict=True)])
    return sum((T[i][j] - (i == j)) ** 2 for i in range(n) for j in range(n))


def hilbert(n):
    return [[Fraction(1, i + j + 1) for j in range(n)] for i in range(n)]


def hilbert_gram(n):
    """The Hilbert matrix with its rounding to doubles, and the true one as balls."""
    from flint import arb, arb_mat

    def precise():
        with working_precision():
            return arb_mat(n, n, [arb(1) / (i + j + 1) for i in range(n) for j in range(n)])

    return Gram(np.array(hilbert(n), dtype=np.float64), n * EPS, precise)


def exact_gram(A):
    def precise():
        with working_precision():
            return ball_matrix(A)

    return Gram(A, 0.0, precise)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_witness_in_doubles_proves_a_bound_close_to_the_smallest_eigenvalue(n):
    B = np.random.default_rng(n).standard_normal((n, n + 2))
    A = B @ B.T
    witness = lower_witness(exact_gram(A))
    low = np.linalg.eigvalsh(A)[0]
    assert witness.inverse_factor is None
    assert 0.9999 * low <= witness.bound < low
    assert squared_residual(fractions(A), witness.bound, witness.C) < Fraction(1, 100)


@pytest.mark.parametrize("n", [8, 10, 12, 14])
def test_witness_with_balls_proves_ill_conditioned_hilbert_matrices(n):
    witness = lower_witness(hilbert_gram(n))
    assert (witness.inverse_factor is not None) == (n > 8)
    assert squared_residual(hilbert(n), witness.bound, witness.C) < Fraction(1, 100)
    if witness.inverse_factor is not None:
        assert squared_residual(hilbert(n), 0, witness.inverse_factor) < Fraction(1, 100)


def test_refinement_reaches_condition_numbers_near_1e28_and_then_says_so():
    for n, smallest in {12: 1.05e-16, 16: 9.2e-23, 20: 7.8e-29}.items():
        assert lower_witness(hilbert_gram(n)).bound == pytest.approx(smallest, rel=0.05)
    with pytest.raises(NotPositiveDefiniteError, match="singular or indefinite"):
        lower_witness(hilbert_gram(26))


def test_bound_of_the_refined_witness_is_close_to_the_exact_smallest_eigenvalue():
    """The characteristic polynomial changes sign between the bound and 1.03 times the bound: a road
    without floats.
    """
    n = 12
    bound = Fraction(lower_witness(hilbert_gram(n)).bound)

    def determinant(shift):
        A = [
            [x - (shift if i == j else 0) for j, x in enumerate(row)]
            for i, row in enumerate(hilbert(n))
        ]
        value = Fraction(1)
        for i in range(n):
            value *= A[i][i]
            for j in range(i + 1, n):
                factor = A[j][i] / A[i][i]
                A[j] = [a - factor * b for a, b in zip(A[j], A[i], strict=True)]
        return value

    assert determinant(bound) > 0 > determinant(bound * Fraction(103, 100))


@pytest.mark.parametrize(
    "A",
    [
        np.ones((2, 2)),
        np.diag([1.0, 0.0]),
        np.diag([1.0, -1e-6]),
        np.diag([1.0, -1e-17]),
        np.zeros((2, 2)),
        -np.eye(1),
    ],
    ids=["rank one", "zero eigenvalue", "indefinite", "barely indefinite", "zero", "negative"],
)
def test_singular_and_indefinite_matrices_have_no_witness(A):
    with pytest.raises(NotPositiveDefiniteError, match="smallest eigenvalue"):
        lower_witness(exact_gram(A))


def test_overflow_is_named():
    with pytest.raises(NotPositiveDefiniteError, match="overflows"):
        lower_witness(exact_gram(np.array([[np.inf]])))


def test_matrices_too_large_for_balls_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(positive_definite, "PRECISE_ROWS_LIMIT", 5)
    with pytest.raises(NotPositiveDefiniteError, match="n = 12 is too large"):
        lower_witness(hilbert_gram(12))


@pytest.mark.parametrize("n", [1, 4, 7])
def test_upper_witness_is_just_above_the_largest_eigenvalue(n):
    B = np.random.default_rng(n).standard_normal((n, n))
    A = B @ B.T
    bound, C = upper_witness(A)
    assert np.linalg.eigvalsh(A)[-1] < bound <= np.linalg.eigvalsh(A)[-1] * (1 + 2e-6)
    negated = [[-x for x in row] for row in fractions(A)]
    assert squared_residual(negated, -Fraction(bound), C) < Fraction(1, 100)


def test_upper_witness_of_the_zero_matrix_is_a_tiny_positive_bound():
    bound, C = upper_witness(np.zeros((3, 3)))
    assert 0 < bound < 1e-50
    assert squared_residual(fractions(np.zeros((3, 3))), -bound, C) < Fraction(1, 100)


def test_inverse_factor_is_the_inverse_of_the_cholesky_factor():
    A = np.array([[4.0, 2.0], [2.0, 5.0]])
    np.testing.assert_allclose(inverse_factor(A), np.linalg.inv(np.linalg.cholesky(A)), rtol=1e-15)
    assert inverse_factor(-A) is None


def test_an_eigenvalue_near_the_end_of_the_range_of_doubles_does_not_overflow():
    A = np.array([[1e-310]])
    assert 0.9e-310 < lower_witness(Gram(A, 1e-300, lambda: ball_matrix(A))).bound < 1e-310
