"""Limiting Gram matrices against the thesis' figures, Monte Carlo, closed cases, and degenerate
rows.
"""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.activations import get_activation
from globalmin.activations.moments import mean_square, mean_value
from globalmin.data import validation
from globalmin.errors import DataError, MemoryRefused
from globalmin.kernels.limit_gram import gram_error, limit_gram
from globalmin.linalg.spectrum import estimate_lambda_min

NAMES = (
    "relu",
    "leaky_relu(0.3)",
    "abs",
    "softplus",
    "tanh",
    "sigmoid",
    "swish",
    "gelu",
    "erf",
    "quadratic",
    "linear",
)
GOLDEN = np.array(
    [[1.0, 0.0], [math.cos(0.8), math.sin(0.8)], [1.5 * math.cos(2), 1.5 * math.sin(2)]]
)


def sphere(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None]


def test_the_thesis_example_has_its_printed_values():
    """DU-D2.1: golden values of three rows in the plane."""
    H = limit_gram(GOLDEN)
    expected = [0.5, 0.2596459013, -0.1134146491, 0.5, 0.1679604658, 1.125]
    np.testing.assert_allclose(H[np.triu_indices(3)], expected, atol=1e-10)
    assert estimate_lambda_min(H) == pytest.approx(0.1975493799, abs=1e-10)


def test_closed_cases_of_the_thesis():
    """DU-D2.1: orthonormal rows, two rows, opposite rows, repeated rows, antipodal pairs."""
    np.testing.assert_allclose(limit_gram(np.eye(4)), np.eye(4) / 2, atol=1e-16)
    theta = 0.7
    two = np.array([[1.0, 0.0], [math.cos(theta), math.sin(theta)]])
    shift = math.cos(theta) * (math.pi - theta) / (2 * math.pi)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(limit_gram(two)), [0.5 - shift, 0.5 + shift], atol=1e-15
    )
    x = np.array([0.6, 0.8])
    np.testing.assert_allclose(limit_gram(np.stack([x, -x])), np.eye(2) / 2, atol=1e-16)
    assert abs(estimate_lambda_min(limit_gram(np.stack([x, 2 * x])))) < 1e-15
    angles = np.array([0.1, 1.0, 2.2])
    half = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert abs(estimate_lambda_min(limit_gram(np.concatenate([half, -half])))) < 1e-15
    four = np.concatenate([np.eye(2), -np.eye(2)])
    assert estimate_lambda_min(limit_gram(four)) == pytest.approx(0.5, abs=1e-15)


def test_the_quadratic_gram_is_the_square_of_the_inner_products():
    """OS-DEF6.1: phi = z^2/2 gives XX^T o XX^T."""
    X = np.random.default_rng(1).standard_normal((6, 3))
    np.testing.assert_allclose(
        limit_gram(X, "polynomial(0,0,0.5)"), (X @ X.T) ** 2, rtol=1e-13, atol=1e-14
    )


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["weights", "features"])
def test_monte_carlo_over_weights_agrees(name, kind):
    """OS-DEF6.1, OS-DEF3.1: within five standard errors in every entry, 200,000 draws."""
    X = np.random.default_rng(2).standard_normal((5, 3)) * np.array(
        [[0.5], [1.0], [1.5], [2.0], [0.1]]
    )
    phi, order = get_activation(name), int(kind == "weights")
    values = phi.derivative(np.random.default_rng(3).standard_normal((200_000, 3)) @ X.T, order)
    products = values[:, :, None] * values[:, None, :]
    factor = X @ X.T if order else 1.0
    error = 5 * products.std(axis=0) / math.sqrt(len(values)) * np.abs(factor)
    assert (
        np.abs(limit_gram(X, name, kernel=kind) - products.mean(axis=0) * factor) <= error + 1e-12
    ).all()


@pytest.mark.parametrize("name", NAMES)
def test_degenerate_rows_have_exact_values_and_no_warnings(name):
    x, y = np.array([0.3, -1.2, 0.77]), np.array([1.0, 0.4, 0.1])
    X = np.stack([x, x, -x, np.zeros(3), 3 * x, y])
    for kind in ("weights", "features"):
        G = limit_gram(X, name, kernel=kind)
        assert np.isfinite(G).all()
        np.testing.assert_array_equal(G, G.T)
        tolerance = 1e-14 * np.abs(G).max()
        np.testing.assert_array_equal(G[0], G[1])
        assert G[0, 1] == G[0, 0]
        assert G[0, 0] == pytest.approx(G[2, 2], abs=tolerance)
        if kind == "weights":
            np.testing.assert_array_equal(G[3], 0.0)
        else:
            norms = np.linalg.norm(X, axis=1)
            at_zero = float(get_activation(name)(0.0))
            assert G[3, 3] == at_zero**2
            np.testing.assert_allclose(
                G[3, [0, 5]], at_zero * mean_value(name, norms[[0, 5]]), atol=1e-14
            )
    relu = limit_gram(X)
    K = float(x @ x)
    assert relu[0, 0] == relu[0, 1] == pytest.approx(K / 2, rel=1e-15)
    assert relu[0, 2] == 0.0
    assert relu[0, 4] == pytest.approx(1.5 * K, rel=1e-15)


def test_one_column_is_fine():
    X = np.array([[1.0], [2.0], [-3.0], [0.0]])
    np.testing.assert_array_equal(
        np.abs(limit_gram(X)), [[0.5, 1, 0, 0], [1, 2, 0, 0], [0, 0, 4.5, 0], [0, 0, 0, 0]]
    )
    assert limit_gram([[2.0]]) == [[2.0]]
    square = limit_gram(X, "softplus", kernel="features")
    np.testing.assert_allclose(
        np.diagonal(square)[:3], mean_square("softplus", [1.0, 2.0, 3.0]), rtol=1e-14
    )


def test_angles_of_almost_parallel_rows_are_resolved_far_below_the_cosine():
    """The step kernel is (pi - theta)/(2 pi): an error of 1e-8 in theta would be seen."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal(20)
    x /= np.linalg.norm(x)
    z = rng.standard_normal(20)
    z -= (z @ x) * x
    z /= np.linalg.norm(z)
    for theta in (1e-3, 1e-6, 1e-9, 1e-12):
        X = np.stack(
            [
                x,
                math.cos(theta) * x + math.sin(theta) * z,
                -math.cos(theta) * x + math.sin(theta) * z,
            ]
        )
        H = limit_gram(X)
        assert H[0, 1] == pytest.approx(
            (math.pi - theta) / (2 * math.pi) * math.cos(theta), abs=1e-15
        )
        assert H[0, 2] == pytest.approx(-theta / (2 * math.pi) * math.cos(theta), abs=2e-16)
        if theta > 1e-9:
            assert estimate_lambda_min(H[:2, :2]) > 0.0


def test_error_bars_cover_a_computation_with_longer_numbers():
    """The bar of an entry against the closed form in extended precision, from the exact rows."""
    X = np.random.default_rng(6).standard_normal((30, 8))
    long = X.astype(np.longdouble)
    K = long @ long.T
    a = np.diagonal(K)
    D = (1 + 2 * a[:, None]) * (1 + 2 * a) - 4 * K * K
    exact = K * (4 / np.longdouble(np.pi)) / np.sqrt(D)
    error = np.abs(limit_gram(X, "erf") - exact)
    assert (error <= gram_error(X, "erf")).all()
    assert gram_error(X, "softplus").max() < 1e-11


def test_larger_matrices_are_their_small_parts():
    """Blocks meet without seams: 500 rows, compared with sub-matrices computed alone."""
    X = np.random.default_rng(7).standard_normal((500, 6)) * np.random.default_rng(8).uniform(
        0.2, 4, (500, 1)
    )
    rows = np.random.default_rng(9).choice(500, 40, replace=False)
    for name in ("relu", "softplus", "tanh", "gelu"):
        G, small = limit_gram(X, name), limit_gram(X[rows], name)
        np.testing.assert_allclose(G[np.ix_(rows, rows)], small, atol=2e-14 * np.abs(small).max())


def test_invariance_under_rotation_and_homogeneity():
    X = np.random.default_rng(10).standard_normal((12, 5))
    Q = np.linalg.qr(np.random.default_rng(11).standard_normal((5, 5)))[0]
    for name in NAMES:
        G = limit_gram(X, name)
        np.testing.assert_allclose(limit_gram(X @ Q, name), G, atol=1e-12 * np.abs(G).max())
    np.testing.assert_allclose(limit_gram(3 * X), 9 * limit_gram(X), rtol=1e-12)


def test_names_are_lazy_on_the_theory_room_and_survive_imports_of_modules():

    assert gm.theory.limit_gram is limit_gram
    assert callable(gm.theory.deep_gram)
    assert "khatri_rao_sigma_min" in dir(gm.theory)
    with pytest.raises(AttributeError, match="no attribute"):
        gm.theory.nothing  # noqa: B018


def test_what_does_not_fit_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(validation, "available_bytes", lambda: 10_000)
    X = np.ones((100, 2))
    for function in (limit_gram, gram_error):
        with pytest.raises(MemoryRefused, match="100 samples"):
            function(X)
    with pytest.raises(MemoryRefused, match="order 100"):
        estimate_lambda_min(np.eye(100))


def test_wrong_arguments_are_refused():
    with pytest.raises(DataError, match="kernel"):
        limit_gram(np.eye(2), kernel="both")
    with pytest.raises(DataError):
        limit_gram([[math.nan]])
    with pytest.raises(DataError, match="square"):
        estimate_lambda_min(np.ones((2, 3)))
