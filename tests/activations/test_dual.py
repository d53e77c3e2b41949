"""Dual kernels against 100-bit sums, exact polynomial moments, identities and degenerate
covariances.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.activations.dual_oracle import dual

from globalmin.activations import get_activation, register_activation, registry
from globalmin.activations.dual import (
    dual_error,
    dual_kernel,
    dual_matrices,
    dual_matrix,
    dual_partial_sum,
)
from globalmin.activations.moments import mean_square, mean_square_slope, mean_value
from globalmin.errors import DataError

SMOOTH = ("softplus", "sigmoid", "tanh", "swish", "erf", "gelu")
ALL = (
    *SMOOTH,
    "softplus(4)",
    "relu",
    "leaky_relu(0.3)",
    "abs",
    "linear",
    "quadratic",
    "polynomial(1,-2,0.5,0.25)",
)
POINTS = ((1.0, 1.0, 0.5), (1.0, 1.0, 0.99), (0.3, 2.0, -0.95), (1.5, 0.7, -1.0))


def size(name, s, t, order):
    return math.sqrt(
        float(dual_kernel(name, s * s, s * s, s * s, order))
        * float(dual_kernel(name, t * t, t * t, t * t, order))
    )


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("order", [0, 1])
def test_smooth_kernels_agree_with_100_bits_within_their_error_bars(name, order):
    """DU-DA0, DU-DA1, DU-DA2: within 1e-13 absolutely, and within the stated bar."""
    for s, t, rho in POINTS:
        exact = float(dual(name, s, t, rho, order))
        value = float(dual_kernel(name, s * s, t * t, rho * s * t, order))
        assert abs(value - exact) < 1e-13
        assert abs(value - exact) <= float(dual_error(name, s * s, t * t, rho * s * t, order))


@pytest.mark.parametrize(
    ("name", "s", "rho"), [("softplus", 5.0, 0.99), ("tanh", 3.0, 0.999), ("swish", 4.0, -0.99)]
)
def test_large_variances_agree_with_100_bits(name, s, rho):
    for order in (0, 1):
        exact = float(dual(name, s, s, rho, order))
        value = float(dual_kernel(name, s * s, s * s, rho * s * s, order))
        assert abs(value - exact) < 1e-13 * max(1.0, size(name, s, s, order))


def test_the_oracle_has_converged():
    for name in ("tanh", "gelu"):
        coarse, fine = dual(name, 1.0, 2.0, 0.9, 1), dual(name, 1.0, 2.0, 0.9, 1, fineness=1.5)
        assert float(abs(coarse - fine)) < 1e-19


def test_steep_functions_agree_with_100_bits():
    """softplus(10) at unit norm is as hard as softplus at norm 10."""
    for rho in (0.6, 0.999):
        exact = float(dual("softplus", 1.0, 1.0, rho, 1, steepness=10))
        assert float(dual_kernel("softplus(10)", 1.0, 1.0, rho, 1)) == pytest.approx(
            exact, abs=1e-13
        )


def polynomial_moment(coefficients, a, b, c):
    """E[p(u) p(v)] exactly, by the rule of Isserlis: E[u^i v^j] from the pairings."""
    total = Fraction(0)
    for (i, p), (j, q) in itertools.product(enumerate(coefficients), repeat=2):
        for m in range(min(i, j) + 1):  # m pairs between u and v
            if (i - m) % 2 or (j - m) % 2:
                continue
            ways = math.comb(i, m) * math.comb(j, m) * math.factorial(m)
            inside = math.prod(range(1, i - m, 2)) * math.prod(range(1, j - m, 2))
            total += p * q * ways * inside * c**m * a ** ((i - m) // 2) * b ** ((j - m) // 2)
    return total


def test_polynomials_agree_with_exact_moments():
    coefficients = (1.0, -2.0, 0.5, 0.25)
    for a, b, c in ((1.0, 2.0, 0.75), (4.0, 9.0, -6.0), (0.0, 4.0, 0.0), (0.25, 0.25, 0.25)):
        exact = polynomial_moment(
            [Fraction(x) for x in coefficients], Fraction(a), Fraction(b), Fraction(c)
        )
        assert float(dual_kernel("polynomial(1,-2,0.5,0.25)", a, b, c)) == pytest.approx(
            float(exact), rel=1e-14
        )
        square = polynomial_moment(
            [Fraction(0), Fraction(0), Fraction(1)], Fraction(a), Fraction(b), Fraction(c)
        )
        assert float(dual_kernel("quadratic", a, b, c)) == pytest.approx(float(square), rel=1e-15)
        assert float(dual_kernel("linear", a, b, c)) == c


def test_piecewise_linear_kernels_have_their_published_values():
    """DU-DA1: ReLU and leaky ReLU by the angle."""
    s, t = 1.5, 0.4
    for theta in (0.0, 1e-9, 1e-4, 0.3, math.pi / 2, 3.0, math.pi):
        c, slope = s * t * math.cos(theta), 0.3
        relu = s * t / (2 * math.pi) * (math.sin(theta) + (math.pi - theta) * math.cos(theta))
        step, other = (math.pi - theta) / (2 * math.pi), theta / (2 * math.pi)
        opposite = s * t / (2 * math.pi) * (math.sin(theta) - theta * math.cos(theta))
        assert float(dual_kernel("relu", s * s, t * t, c)) == pytest.approx(relu, abs=1e-15)
        assert float(dual_kernel("relu", s * s, t * t, c, 1)) == pytest.approx(
            step, abs=5e-9
        )  # c holds theta to 1e-8 near 0, pi
        leaky = (1 + slope**2) * relu - 2 * slope * opposite
        assert float(dual_kernel(f"leaky_relu({slope})", s * s, t * t, c)) == pytest.approx(
            leaky, abs=1e-15
        )
        steps = (1 + slope**2) * step + 2 * slope * other
        assert float(dual_kernel(f"leaky_relu({slope})", s * s, t * t, c, 1)) == pytest.approx(
            steps, abs=5e-9
        )


def test_almost_parallel_pairs_keep_the_digits_of_their_determinant():
    # exact doubles with ab - c^2 near 2^-29
    a, b, c = 1.0, 1.0 + 2.0**-20, 1.0 + 2.0**-21 - 2.0**-30
    exact = Fraction(a) * Fraction(b) - Fraction(c) ** 2
    theta = math.atan2(math.sqrt(exact), c)
    assert float(dual_kernel("relu", a, b, c, 1)) == pytest.approx(
        (math.pi - theta) / (2 * math.pi), abs=1e-16
    )


@pytest.mark.parametrize(
    "name", ["softplus", "tanh", "swish", "gelu", "erf", "polynomial(1,-2,0.5,0.25)", "sigmoid(2)"]
)
def test_the_derivative_in_the_covariance_is_the_kernel_of_the_derivative(name):
    """DU-DA5: Price's theorem, by central differences of fourth order."""
    a, b, c, h = 1.3, 0.7, 0.4, 1e-3
    for order in (0, 1):
        f = [float(dual_kernel(name, a, b, c + k * h, order)) for k in (-2, -1, 1, 2)]
        assert (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h) == pytest.approx(
            float(dual_kernel(name, a, b, c, order + 1)), abs=1e-10
        )
    if name == "softplus":
        assert float(dual_kernel(name, a, b, c, 1)) == pytest.approx(0.26720527572, abs=1e-11)


@pytest.mark.parametrize("name", ALL)
def test_a_matrix_is_its_entries_one_by_one(name):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4)) * rng.uniform(0.1, 3.0, size=(300, 1))
    X[7], X[8], X[9] = X[5], -X[5], 0.0
    K = X @ X.T
    F, slopes = dual_matrices(name, K)
    rows = rng.integers(0, 300, size=200)
    columns = rng.integers(0, 300, size=200)
    for order, matrix in ((0, F), (1, slopes)):
        np.testing.assert_array_equal(matrix, matrix.T)
        np.testing.assert_array_equal(matrix, dual_matrix(name, K, order))
        a = np.diagonal(K)
        single = dual_kernel(name, a[rows], a[columns], K[rows, columns], order)
        scale = np.sqrt(np.diagonal(matrix)[rows] * np.diagonal(matrix)[columns])
        tolerance = (
            3e-14 if get_activation(name).is_smooth or order == 0 else 1e-7
        )  # parallel rows of different rounding
        np.testing.assert_allclose(
            matrix[rows, columns], single, atol=tolerance * max(1.0, scale.max())
        )


@pytest.mark.parametrize("name", ALL)
def test_diagonals_are_one_dimensional_integrals(name):
    s = np.array([0.2, 1.0, 1.0, 5.0, 30.0])
    F, slopes = dual_matrices(name, np.diag(s**2))
    np.testing.assert_allclose(np.diagonal(F), mean_square(name, s), rtol=2e-14)
    np.testing.assert_allclose(
        np.diagonal(slopes), mean_square_slope(name, s), rtol=2e-14, atol=1e-300
    )
    np.testing.assert_allclose(F[0, 1], mean_value(name, 0.2) * mean_value(name, 1.0), atol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_zero_variances_give_the_value_at_zero(name):
    phi = get_activation(name)
    F, slopes = dual_matrices(name, np.diag([0.0, 2.0, 0.0]))
    for order, matrix in ((0, F), (1, slopes)):
        at_zero = float(phi.derivative(0.0, order))
        assert matrix[0, 0] == matrix[0, 2] == at_zero**2
        assert float(dual_kernel(name, 0.0, 0.0, 0.0, order)) == at_zero**2
        assert (
            matrix[0, 1]
            == matrix[1, 2]
            == pytest.approx(float(dual_kernel(name, 0.0, 2.0, 0.0, order)), abs=1e-15)
        )


def test_rounding_apart_scales_count_as_one_and_tiny_or_huge_ones_are_fine():
    K = np.array([[1.0, 0.5], [0.5, np.nextafter(1.0, 2.0)]])
    assert dual_matrix("softplus", K)[0, 1] == pytest.approx(
        float(dual("softplus", 1.0, 1.0, 0.5, 0)), abs=1e-14
    )
    for a in (1e-300, 1e-30, 1e-8):
        assert float(dual_kernel("softplus", a, a, 0.5 * a)) == pytest.approx(
            math.log(2) ** 2, rel=1e-7
        )
        assert float(dual_kernel("tanh", a, a, 0.5 * a, 1)) == pytest.approx(1.0, rel=1e-7)
    for a in (1e6, 1e12):
        step = 0.25 + math.asin(0.5) / (2 * math.pi)
        assert float(dual_kernel("softplus", a, a, 0.5 * a, 1)) == pytest.approx(
            step, abs=10 / math.sqrt(a)
        )
        relu = float(dual_kernel("relu", a, a, 0.999 * a))
        assert float(dual_kernel("softplus", a, a, 0.999 * a)) == pytest.approx(relu, rel=10 / a)


def test_a_registered_function_is_integrated_also_with_a_kink(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    register_activation(
        "mine", *get_activation("leaky_relu(0.3)").derivatives[:2], suprema=[1], is_smooth=False
    )
    K = np.array([[1.0, 0.4, -1.9], [0.4, 0.5, -0.8], [-1.9, -0.8, 4.0]])
    for order in (0, 1):
        np.testing.assert_allclose(
            dual_matrix("mine", K, order), dual_matrix("leaky_relu(0.3)", K, order), atol=2e-13
        )


def test_partial_sums_are_within_their_bars_and_the_bars_are_not_wasteful():
    """DU-DA2: the tail bound holds at every length, and at |rho| = 1 with equal scales it is the
    error itself.
    """
    for name, order in itertools.product(("softplus", "tanh", "swish"), (0, 1)):
        for s, t, rho in ((1.0, 1.0, 1.0), (1.0, 1.0, 0.9), (0.5, 1.4, -0.8)):
            exact = float(dual(name, s, t, rho, order))
            for terms in (1, 2, 3, 5, 9, 16, 33, 80):
                value = float(dual_partial_sum(name, s * s, t * t, rho * s * t, order, terms=terms))
                bar = float(dual_error(name, s * s, t * t, rho * s * t, order, terms=terms))
                assert abs(value - exact) <= bar
                if rho == 1.0 and bar > 1e-11:
                    assert bar == pytest.approx(exact - value, rel=1e-2)


def test_shapes_broadcast():
    assert dual_kernel("softplus", np.ones((3, 1)), np.ones(4), 0.5).shape == (3, 4)
    assert dual_kernel("relu", 1.0, 1.0, 0.5).shape == ()
    assert dual_error("softplus", np.ones(4), 1.0, 0.5).shape == (4,)
    assert dual_matrix("softplus", [[2.0]]).shape == (1, 1)


def test_wrong_arguments_are_refused():
    with pytest.raises(DataError, match="variances"):
        dual_kernel("relu", -1.0, 1.0, 0.0)
    with pytest.raises(DataError, match="covariance"):
        dual_kernel("relu", 1.0, 1.0, 1.1)
    with pytest.raises(DataError, match="covariance"):
        dual_kernel("relu", 0.0, 1.0, 0.1)
    with pytest.raises(DataError, match="order=2"):
        dual_kernel("relu", 1.0, 1.0, 0.5, 2)
    with pytest.raises(DataError, match="order=3"):
        dual_kernel("softplus", 1.0, 1.0, 0.5, 3)
    with pytest.raises(DataError, match="square"):
        dual_matrix("relu", np.ones((2, 3)))
    with pytest.raises(DataError, match="not a covariance"):
        dual_matrix("softplus", np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(DataError, match="variances"):
        dual_matrix("relu", np.array([[math.nan]]))
    with pytest.raises(DataError, match="terms"):
        dual_partial_sum("softplus", 1.0, 1.0, 0.5, terms=0)
    with pytest.raises(DataError, match="positive"):
        dual_partial_sum("softplus", 0.0, 1.0, 0.0, terms=3)
