"""Khatri-Rao powers against Kronecker products, their Gram matrices, singular values and kappa."""

import math

import numpy as np
import pytest

from globalmin.data import validation
from globalmin.errors import DataError, MemoryRefused
from globalmin.kernels import khatri_rao as khatri_rao_products
from globalmin.kernels.khatri_rao import (
    estimate_kappa_tilde,
    kappa,
    khatri_rao,
    khatri_rao_gram,
    khatri_rao_sigma_min,
)


def test_rows_are_kronecker_powers():
    X = np.random.default_rng(0).standard_normal((4, 3))
    for r in (1, 2, 3):
        product = khatri_rao(X, r)
        assert product.shape == (4, 3**r)
        for i in range(4):
            row = X[i]
            for _ in range(r - 1):
                row = np.kron(row, X[i])
            np.testing.assert_allclose(product[i], row, rtol=1e-15)


def test_the_gram_matrix_is_the_entrywise_power():
    """SJL-L5.4: (X^{*r})(X^{*r})^T = (XX^T)^{o r}."""
    X = np.random.default_rng(1).standard_normal((5, 3))
    for r in (1, 2, 3, 4):
        product = khatri_rao(X, r)
        np.testing.assert_allclose(
            product @ product.T, khatri_rao_gram(X, r), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("direct", [0, 2**22])
def test_smallest_singular_values_by_both_roads(monkeypatch, direct):
    monkeypatch.setattr(khatri_rao_products, "DIRECT", direct)
    X = np.random.default_rng(2).standard_normal((7, 4))
    for r in (2, 3):
        expected = np.linalg.svd(khatri_rao(X, r), compute_uv=False)[6]
        assert khatri_rao_sigma_min(X, r) == pytest.approx(expected, rel=1e-9)


def test_rank_is_full_up_to_the_number_of_monomials_and_zero_beyond():
    """SJL-L5.6: full rank iff n <= d(d+1)/2; rows e_i and e_i + e_j, d = 4: sigma_min = .477."""
    E = np.eye(4)
    rows = [*E, *(E[i] + E[j] for i in range(4) for j in range(i))]
    assert khatri_rao_sigma_min(rows, 2) == pytest.approx(0.477, abs=5e-4)
    X = np.random.default_rng(3).standard_normal((11, 4))
    assert khatri_rao_sigma_min(X, 2) == 0.0
    assert khatri_rao_sigma_min(X[:10], 2) > 1e-3
    assert khatri_rao_sigma_min([[1.0], [2.0]], 3) == 0.0


def test_small_singular_values_are_resolved():
    X = np.array([[1.0, 0.0], [1.0, 1e-10]])
    assert khatri_rao_sigma_min(X, 2) == pytest.approx(1e-10, rel=1e-5)


def test_kappa_is_its_formula_and_infinite_for_dependent_rows():
    """OS-T2.1: sqrt(d/n) ||X|| / sigma_min(X*X)^2."""
    X = np.random.default_rng(4).standard_normal((6, 4))
    X /= np.linalg.norm(X, axis=1)[:, None]
    sigma = np.linalg.svd(khatri_rao(X, 2), compute_uv=False)[5]
    assert kappa(X) == pytest.approx(math.sqrt(4 / 6) * np.linalg.norm(X, 2) / sigma**2, rel=1e-10)
    assert kappa([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]) == math.inf
    assert estimate_kappa_tilde(np.eye(2), 0.5) == 2.0
    assert estimate_kappa_tilde(np.eye(2), 0.0) == math.inf


def test_wrong_arguments_are_refused(monkeypatch):
    for r in (0, 65, 1.5, True):
        with pytest.raises(DataError, match="r="):
            khatri_rao(np.eye(2), r)
    monkeypatch.setattr(validation, "available_bytes", lambda: 10_000)
    with pytest.raises(MemoryRefused, match="Khatri-Rao power 4"):
        khatri_rao(np.ones((3, 10)), 4)
    with pytest.raises(MemoryRefused, match="Gram"):
        khatri_rao_gram(np.ones((100, 1)), 2)
