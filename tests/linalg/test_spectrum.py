"""Counting negative eigenvalues by LDL^T against constructed spectra, exact fractions and
eigenvalues.
"""

from fractions import Fraction

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.linalg.spectrum import Inertia, inertia, least_eigenvalue, rounding_shift
from globalmin.shallow.hessian import hessian
from globalmin.shallow.network import ShallowNetwork


def symmetric_with(spectrum, seed=0):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(spectrum), len(spectrum))))[0]
    A = (Q * np.asarray(spectrum, dtype=float)) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize("negative", [0, 1, 7, 20])
def test_count_equals_the_constructed_number(negative):
    spectrum = np.concatenate([-np.logspace(-6, 2, negative), np.logspace(-6, 2, 20 - negative)])
    for seed in range(5):
        assert inertia(symmetric_with(spectrum, seed)) == Inertia(negative, 0, 20 - negative)


def test_zero_diagonals_need_blocks_of_order_two():
    A = np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]])
    assert inertia(A) == Inertia(3, 0, 3)
    assert inertia(np.zeros((2, 2))) == Inertia(0, 2, 0)
    assert inertia(np.array([[-2.0]])) == Inertia(1, 0, 0)


def test_shift_moves_the_threshold():
    A = np.diag([-3.0, -1.0, 0.5, 2.0])
    assert [inertia(A, shift=s).negative for s in (0.0, 2.0, 4.0, -1.0)] == [2, 1, 0, 3]


def test_count_agrees_with_exact_rational_elimination_on_small_integers():
    """Sylvester's law by Fractions without pivoting, for matrices whose leading minors do not
    vanish.
    """
    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(200):
        A = rng.integers(-3, 4, (4, 4))
        A = A + A.T
        table, signs = [[Fraction(int(a)) for a in row] for row in A], []
        for i in range(4):
            if not table[i][i]:
                break
            signs.append(table[i][i] < 0)
            for j in range(i + 1, 4):
                factor = table[j][i] / table[i][i]
                table[j] = [a - factor * b for a, b in zip(table[j], table[i], strict=True)]
        if len(signs) == 4:
            compared += 1
            assert inertia(A.astype(float)).negative == sum(signs)
    assert compared > 100


def test_least_eigenvalue_comes_with_its_vector():
    A = symmetric_with([-2.0, -1.0, 3.0])
    value, vector = least_eigenvalue(A)
    assert value == pytest.approx(-2.0, rel=1e-12)
    np.testing.assert_allclose(A @ vector, value * vector, atol=1e-12)


def test_near_a_minimum_no_spurious_negative_eigenvalue_is_counted():
    """At zero loss the Hessian is J^T J, singular: eigenvalues of either sign at the level of
    rounding are not counted.
    """
    rng = np.random.default_rng(2)
    network = ShallowNetwork(rng.standard_normal((6, 4)), rng.standard_normal(6), "softplus")
    X = rng.standard_normal((10, 4))
    H = hessian(network, X, network.predict(X))
    counted = inertia(H, shift=rounding_shift(H))
    assert counted.negative == 0
    assert inertia(H, shift=-rounding_shift(H)).positive == 10


@pytest.mark.parametrize(
    "bad", [np.ones((2, 3)), np.ones(2), np.zeros((0, 0)), np.array([[np.nan]])]
)
def test_matrices_that_are_not_square_and_finite_are_refused(bad):
    with pytest.raises(DataError):
        inertia(bad)
