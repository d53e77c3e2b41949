"""Pairs of doubles against balls of 300 bits."""

import numpy as np
import pytest
from flint import arb, arb_mat

from globalmin.activations import get_activation
from globalmin.linalg import double_double
from globalmin.linalg.double_double import Double
from globalmin.linalg.positive_definite import working_precision
from globalmin.shallow.claims.high_precision import precise_residual, residual_by_pairs, value_of
from globalmin.shallow.network import ShallowNetwork

NAMES = ("softplus", "sigmoid", "tanh", "quadratic")
SEED = 5


def distance(true: arb, x: Double, i: tuple[int, ...]) -> arb:
    return abs(true - arb(float(x.high[i])) - arb(float(x.low[i])))


@pytest.mark.parametrize("name", NAMES)
def test_activations_are_right_to_ninety_bits(name: str):
    rng = np.random.default_rng(SEED)
    z = np.concatenate([rng.normal(0, 4, 300), 10.0 ** rng.uniform(-20, 3, 100), [0.0, -800.0]])
    low = z * rng.uniform(-1, 1, z.size) * 2.0**-54
    found = double_double.activation(name, Double(z, low))
    phi = value_of(get_activation(name))
    with working_precision(300):
        for i in range(z.size):
            true = phi(arb(z[i]) + arb(low[i]))
            assert distance(true, found, (i,)) <= arb(2) ** -92 * (1 + abs(arb(z[i])) ** 2)


def test_products_of_matrices_and_sums_of_rows_are_right():
    rng = np.random.default_rng(SEED)
    A, B = (rng.normal(size=(7, 11)) * 10.0 ** rng.uniform(-3, 3, (7, 1)) for _ in range(2))
    found = double_double.matrix_product(A, B)
    sums = double_double.row_sums(found)
    with working_precision(300):
        true = arb_mat(A.tolist()) * arb_mat(B.tolist()).transpose()
        for i in range(7):
            size = float(np.abs(A[i]).max() * np.abs(B).max())
            for j in range(7):
                assert distance(true[i, j], found, (i, j)) <= arb(2) ** -88 * arb(size)
            total = sum((true[i, j] for j in range(7)), arb(0))
            assert distance(total, sums, (i,)) <= arb(2) ** -84 * arb(size)


@pytest.mark.parametrize("name", NAMES)
def test_residuals_by_pairs_are_those_of_balls(name: str):
    """Also where labels leave only the rounding of the outputs."""
    rng = np.random.default_rng(SEED)
    network = ShallowNetwork(rng.normal(size=(5, 3)), rng.normal(size=5), name)
    X = rng.normal(size=(20, 3))
    y = network.predict(X)
    balls, pairs = precise_residual(network, X, y), residual_by_pairs(network, X, y)
    assert np.abs(balls.r).max() < 1e-13
    assert pairs.r == pytest.approx(balls.r, rel=1e-9, abs=1e-26)
