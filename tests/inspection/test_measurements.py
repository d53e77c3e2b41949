"""What is measured of data and activation, by sums over rows written out here; exact facts about
rows are told from small numbers.
"""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import globalmin as gm
from globalmin.activations import get_activation
from globalmin.inspection import measurements
from globalmin.inspection.measurements import SPLINE_KNOTS, measure


def measured(X, activation="softplus"):
    X = np.asarray(X, dtype=float)
    data = gm.Dataset(X, np.arange(1.0, len(X) + 1), bias=False, scaling="none")
    return measure(data, get_activation(activation))


def gaussian(function):
    def integrand(g):
        return function(g) * math.exp(-g * g / 2) / math.sqrt(2 * math.pi)

    return quad(integrand, -12, 12, epsabs=1e-12)[0]


def moments(norms):
    """Means over the rows of the variance and of the mean square of softplus, by quadrature."""
    first = [gaussian(lambda g, s=s: np.logaddexp(0, s * g)) for s in norms]
    second = [gaussian(lambda g, s=s: np.logaddexp(0, s * g) ** 2) for s in norms]
    variances = [b - a * a for a, b in zip(first, second, strict=True)]
    return np.mean(variances), np.mean(second)


def test_moments_of_many_row_norms_are_those_of_every_row():
    """More norms than knots, the smallest and the largest far from the others, one row zero: the
    spline must reach both ends, and the zero row counts with phi(0).
    """
    norms = np.concatenate([[0.02], np.linspace(1.0, 1.5, SPLINE_KNOTS), [6.0]])
    X = np.zeros((len(norms) + 1, 3))
    X[:-1, 0], X[:-1, 1] = norms * np.cos(norms), norms * np.sin(norms)
    found = measured(X)
    variance, square = moments([*norms, 0.0])
    assert found.variance == pytest.approx(variance, rel=1e-5)  # the spline's own error, measured
    assert found.mean_square == pytest.approx(square, rel=1e-5)
    few = measured(np.vstack([X[:3], X[-1:]]))
    variance, square = moments([*norms[:3], 0.0])
    assert few.variance == pytest.approx(variance, rel=1e-9)
    assert few.mean_square == pytest.approx(square, rel=1e-9)


def test_rows_of_zeros_alone_have_the_moments_of_a_constant():
    found = measured(np.zeros((3, 2)))
    assert found.variance == 0.0
    assert found.mean_square == pytest.approx(math.log(2.0) ** 2)


@pytest.mark.parametrize(
    ("rows", "activation", "is_singular"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], "softplus", False),
        ([[1.0, 0.0], [0.0, 0.0]], "softplus", False),  # phi(0) != 0: one zero row is no harm
        ([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]], "softplus", True),  # two are equal rows
        ([[1.0, 0.0], [0.0, 0.0]], "tanh", True),  # phi(0) = 0
        ([[1.0, 0.0], [0.0, 1.0]], "tanh", False),
        ([[1.0, 0.0], [-1.0, 0.0]], "tanh", True),
        ([[1.0, 0.0], [-1.0, 0.0]], "softplus", False),
        ([[1.0, 0.0], [1.0, 0.0]], "softplus", True),
    ],
)
def test_features_are_singular_for_certain_exactly_where_rows_say_so(rows, activation, is_singular):
    """The least eigenvalue of E[phi phi^T] is exactly 0, as a fact about the rows."""
    found = measured(rows, activation).feature
    assert (found.low == 0.0) is is_singular
    assert found.is_resolved


@pytest.mark.parametrize(
    ("rows", "is_singular"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], False),
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], False),  # n = d(d+1)/2
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 2.0]], True),  # one more
        ([[1.0, 0.0], [0.0, 0.0]], True),
        ([[1.0, 0.0], [-2.0, 0.0]], True),
    ],
)
def test_products_are_singular_for_certain_exactly_where_rows_say_so(rows, is_singular):
    """(XX^T) o (XX^T) has the rank of the products, at most d(d+1)/2."""
    found = measured(rows).squares
    assert (found.low == 0.0) is is_singular
    assert found.is_resolved


def test_the_quartic_bound_is_the_sharper_one_up_to_its_size(monkeypatch):
    """kappa_4 = sup of sum (x_i.a)^4: both bounds are above every a, the sharper one is taken for
    d(d+1)/2 up to the limit.
    """
    X = np.random.default_rng(0).standard_normal((6, 4))
    sharp = measured(X).kappa4
    a = np.random.default_rng(1).standard_normal((20_000, 4))
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    seen = ((X @ a.T) ** 4).sum(axis=0).max()
    assert seen <= sharp * (1 + 1e-9)
    monkeypatch.setattr(measurements, "SVEC_LIMIT", 10)
    assert measured(X).kappa4 == sharp
    monkeypatch.setattr(measurements, "SVEC_LIMIT", 9)
    crude = measured(X).kappa4
    assert crude > sharp * (1 + 1e-6)
