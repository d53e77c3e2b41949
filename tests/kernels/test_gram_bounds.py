"""Lower bounds of lambda_min: each holds, the figures of the papers, and which are tight."""

import math

import numpy as np
import pytest

from globalmin.activations.moments import hermite_coefficients
from globalmin.errors import DataError
from globalmin.kernels.gram_bounds import arcsine_coefficients, lambda_lower_bounds
from globalmin.kernels.khatri_rao import khatri_rao_sigma_min
from globalmin.kernels.limit_gram import limit_gram
from globalmin.linalg.spectrum import estimate_lambda_min


def sphere(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None]


@pytest.mark.parametrize(
    "name", ["relu", "softplus", "tanh", "swish", "gelu", "erf", "quadratic", "softplus(10)"]
)
@pytest.mark.parametrize("kind", ["weights", "features"])
def test_every_bound_holds(name, kind):
    """OS-LH.1, OS-LH.2, OS-L6.4, OS-L6.5, OS-TI.1, OS-CI.2, DU-D2.1: on random, clustered and
    unequal rows.
    """
    rng = np.random.default_rng(0)
    for trial in range(6):
        X = sphere(4 + trial, 2 + trial % 3, trial)
        if trial % 2:
            X *= rng.uniform(0.3, 3.0, size=(len(X), 1))
        if trial == 4:
            X[1] = X[0] + 1e-3 * X[2]
        exact = estimate_lambda_min(limit_gram(X, name, kernel=kind))
        scale = float(np.diagonal(limit_gram(X, name, kernel=kind)).max())
        for bound in lambda_lower_bounds(X, name, kernel=kind, terms=6):
            assert 0.0 <= bound.value <= exact + 1e-13 * scale, (bound, exact)


def test_partial_sums_are_tight_where_the_paper_says_so():
    """OS-LH.1: n = 9, d = 4: partial sums of four terms reach 97 % of lambda, one term only a small
    part of it.
    """
    ratios, singles = [], []
    for seed in range(5):
        X = sphere(9, 4, seed)
        exact = estimate_lambda_min(limit_gram(X, "softplus"))
        bounds = {bound.description: bound.value for bound in lambda_lower_bounds(X, "softplus")}
        ratios.append(bounds["partial sum, r < 4"] / exact)
        singles.append(bounds["one term, r = 1"] / exact)
    assert np.median(ratios) > 0.97
    assert np.median(singles) < 0.2


def test_one_term_is_the_squared_singular_value():
    """OS-LH.1 for unit rows: mu_r^2 sigma_min(X^{*(r+1)})^2, by the product itself."""
    X = sphere(6, 4, 3)
    mu = hermite_coefficients("softplus", 4, order=1)
    found = {bound.description: bound.value for bound in lambda_lower_bounds(X, "softplus")}
    for r in (1, 3):
        expected = mu[r] ** 2 * khatri_rao_sigma_min(X, r + 1) ** 2
        assert found[f"one term, r = {r}"] == pytest.approx(expected, rel=1e-10)


def test_the_arcsine_series_has_its_published_strength():
    """DU-D2.1: orthonormal rows are exact; well separated rows in high dimension come within 5
    %.
    """
    q = arcsine_coefficients(5)
    assert q == pytest.approx([1, 1 / 6, 3 / 40, 15 / 336, 105 / 3456])
    orthonormal = {b.item: b.value for b in lambda_lower_bounds(np.eye(5))}
    assert orthonormal["DU-D2.1"] == pytest.approx(0.5, abs=1e-14)
    X = sphere(100, 400, 0)
    value = next(b.value for b in lambda_lower_bounds(X) if b.item == "DU-D2.1")
    exact = estimate_lambda_min(limit_gram(X))
    assert 0.95 * exact <= value <= exact


def test_separation_bounds_scale_with_the_smallest_norm():
    """OS-TI.1 and OS-CI.2: delta/(100 n^2) and .0186 delta/n^2 times the least squared norm."""
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    found = {b.item: b.value for b in lambda_lower_bounds(X)}
    assert found["OS-CI.2"] == pytest.approx(math.sqrt(2) / 400)
    assert found["OS-TI.1"] == pytest.approx(0.0186 * math.sqrt(2) / 4)


def test_degenerate_rows_give_zero_and_no_traceback():
    for X in ([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [0.0, 0.0]], [[1.0], [2.0], [-1.0]]):
        assert all(b.value <= 1e-15 for b in lambda_lower_bounds(X))
    assert all(b.value <= 1e-15 for b in lambda_lower_bounds([[1.0, 2.0], [1.0, 2.0]], "softplus"))
    line = [[1.0], [2.0], [-1.0]]  # rows on one line, yet the smooth Gram matrix is positive
    exact = estimate_lambda_min(limit_gram(line, "softplus"))
    assert (
        0.9 * exact < max(b.value for b in lambda_lower_bounds(line, "softplus", terms=12)) <= exact
    )
    assert lambda_lower_bounds([[0.0, 0.0], [1.0, 0.0]], kernel="features") == ()
    single = lambda_lower_bounds([[2.0, 0.0]])
    assert all(b.value <= 2.0 + 1e-12 for b in single)
    assert max(b.value for b in single) == pytest.approx(2.0, rel=1e-12)


def test_wrong_arguments_are_refused():
    with pytest.raises(DataError, match="terms=1"):
        lambda_lower_bounds(np.eye(2), terms=1)
    with pytest.raises(DataError, match="kernel"):
        lambda_lower_bounds(np.eye(2), kernel="other")
