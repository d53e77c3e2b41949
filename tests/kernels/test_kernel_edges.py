"""Bounds at their edge: probabilities are capped at one, widths have a floor of one neuron, and
every branch is seen on both sides of the size where it changes.
"""

import math

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.activations.dual import dual_error, dual_kernel
from globalmin.errors import DataError
from globalmin.kernels import movement, probability, widths
from globalmin.kernels.gram_bounds import _smallest, lambda_lower_bounds
from globalmin.kernels.limit_gram import gram_error
from globalmin.kernels.overparameterization_jacobian import jacobian_spectrum_ratios
from globalmin.kernels.sgd_decay import _times
from globalmin.shallow.sgd_guarantee import StochasticGuarantee

CERTAIN = {  # bounds that say nothing: more than 1 before the cap
    "chernoff": lambda: probability.chernoff_failure(5, 0.1),
    "jacobian": lambda: probability.jacobian_failure(5, 1e-3, head_ratio=1.0, B=1.0, X_norm=2.0),
    "smooth": lambda: probability.smooth_failure(2, 10.0, 0.1),
    "relu": lambda: probability.relu_failure(2, 10.0, 0.1),
    "products": lambda: probability.relu_failure_products(2, 10.0, 0.1),
    "explicit": lambda: widths.explicit_width_failure(5, 1.0, 1e-3, B=1.0, X_norm=2.0),
}


@pytest.mark.parametrize("which", CERTAIN)
def test_a_bound_that_says_nothing_is_one_and_not_more(which):
    """OS-T6.14, OS-L6.7, OS-T6.2, OS-T6.3, OS-T2.3, OS-C6: probabilities."""
    assert CERTAIN[which]() == 1.0


def test_failures_below_one_are_the_sums_they_are_stated_as():
    """OS-T6.14, OS-T6.2, OS-T6.3, OS-T2.3, OS-C6, in numbers without the cap."""
    q = 0.5 + 0.5 * math.log(0.5)
    assert probability.chernoff_failure(5, 40.0) == pytest.approx(5 * math.exp(-40 * q))
    tail = math.exp(-(1.5**2) * 10 / 2.25)
    assert probability.relu_failure(10, 1.5, 1.5) == pytest.approx(0.2 + tail)
    products = probability.relu_failure_products(10, 1.5, 1.5)
    assert products == pytest.approx(0.1 + 10 * math.exp(-10) + tail, rel=1e-12)
    assert probability.smooth_failure(10, 1.5, 1.5) == pytest.approx(0.1 + math.sqrt(tail))
    explicit = widths.explicit_width_failure(10, 300.0, 0.1, B=0.5, X_norm=1.5, delta=1.5)
    assert explicit == pytest.approx(10 * math.exp(-q * 30 / 0.75**2) + math.sqrt(tail), rel=1e-12)


def test_gram_widths_are_their_formulas_with_a_floor_of_one_neuron():
    """DU-L2.1, DU-T2.2, DU-T2.3: numbers by hand; 0.1 is the probability nobody asked about."""
    assert widths.gram_width(12, 0.2, X_norm=1.5, delta=0.05) == pytest.approx(
        32 * 2.25 * math.log(240) / 0.2
    )
    assert widths.gram_width(12, 0.2, X_norm=1.5) == widths.gram_width(
        12, 0.2, X_norm=1.5, delta=0.1
    )
    assert widths.gram_width_entrywise(12, 0.2, K_frobenius=3.0, delta=0.05) == pytest.approx(
        8 * 9 * math.log(2 * 144 / 0.05) / 0.04
    )
    for width, constant in ((widths.flow_width, 512), (widths.descent_width, 8192)):
        found = width(3, 0.5, misfit_square=2.0, delta=0.2)
        assert found == pytest.approx(constant / math.pi * 3**5 * 2 / (0.2**2 * 0.5**4))
        assert width(3, 0.5, misfit_square=2.0) == width(3, 0.5, misfit_square=2.0, delta=0.1)
        assert width(3, 0.0, misfit_square=2.0) == math.inf
        assert width(3, 1e3, misfit_square=1e-9) == 1.0
    assert widths.gram_width(2, 1e9, X_norm=1.0) == 1.0
    assert widths.gram_width_entrywise(2, 1e9, K_frobenius=1.0) == 1.0


def test_one_is_the_default_row_norm_of_the_jacobian_bound():
    """OS-L6.8 is printed for rows of norm 1; M, the largest head and the norm of X are factors."""
    v = np.array([1.0, -3.0, 2.0])
    assert movement.jacobian_lipschitz_limit(v, 0.25, 2.0) == 0.25 * 3.0 * 2.0
    assert movement.jacobian_lipschitz_limit(v, 0.25, 2.0, 5.0) == 0.25 * 3.0 * 2.0 * 5.0


def test_the_first_radius_tried_is_the_newton_length():
    """OS-C3: where no sign can change the smallest ball that can hold is the one that is taken,
    ||r||/a up to a factor of 1 + 1e-9.
    """
    Z, v = 1e12 * np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([1.0, -1.0])
    found = movement.kink_descent(Z, v, np.ones(2), 1.0, a=0.5, b=1.0, residual_norm=0.1)
    assert found is not None
    assert found.guarantee.path <= found.radius
    assert pytest.approx(0.2, rel=2e-9) == found.radius


def test_width_and_features_of_equal_size_have_a_spectrum_to_compare():
    """SJL-P7.4, SJL-R7.3: k = d is enough, k = d - 1 is not."""
    W = np.diag([2.0, 3.0])
    assert jacobian_spectrum_ratios(W, 1.0, 12.0, 8) == pytest.approx((1 / 4, 1.0))
    assert jacobian_spectrum_ratios(W[:1], 1.0, 12.0, 8)[0] == math.inf
    assert jacobian_spectrum_ratios(W, 1.0, 12.0, 8, is_class_b=True)[0] == 0.5


def test_rounding_is_taken_off_the_bounds_by_the_largest_row_sum():
    """The least eigenvalue minus n eps times the infinity norm of the matrix, never below 0."""
    eps = np.finfo(float).eps
    G = np.array([[1.0, 0.0, 0.0], [0.0, 5e6, -4e6], [0.0, -4e6, 5e6]])
    assert 1.0 - _smallest(G) == pytest.approx(3 * eps * 9e6, rel=1e-2)
    G[0, 0] = 1e-9
    assert _smallest(G) == 0.0
    near = np.vstack([np.eye(3), np.ones(3), np.ones(3) * (1 + 1e-16)])
    assert all(b.value == 0.0 for b in lambda_lower_bounds(near, "quadratic", kernel="features"))


@pytest.mark.parametrize("name", ["relu", "softplus"])
def test_error_bars_are_those_of_every_pair(name):
    """The bar of the dual kernel at this pair of rows, and (d + 4) roundings of the inner product
    times the derivative of the kernel; opposite rows stay in range.
    """
    phi, eps = get_activation(name), np.finfo(float).eps
    X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [-3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    bars = gram_error(X, name, kernel="features")
    norms = np.linalg.norm(X, axis=1)
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            c = min(max(float(x @ z), -norms[i] * norms[j]), norms[i] * norms[j])
            own = float(dual_error(phi, x @ x, z @ z, c, 0))
            slopes = (
                math.sqrt(dual_kernel(phi, *[x @ x] * 3, 1) * dual_kernel(phi, *[z @ z] * 3, 1))
                if phi.is_smooth
                else 1.0
            )
            inner = 7 * eps * norms[i] * norms[j]
            assert bars[i, j] == pytest.approx(own + slopes * inner, rel=1e-9), (i, j)


@pytest.mark.parametrize("updates", [0, -1, 1.5])
def test_runs_without_an_update_are_refused(updates):
    promised = StochasticGuarantee(0.1, 0.9, 1.0, 0.1)
    with pytest.raises(DataError, match="whole number >= 1"):
        _times(promised, 1, updates, 5)


def test_one_update_is_a_run():
    promised = StochasticGuarantee(0.1, 0.9, 1.0, 0.1)
    assert _times(promised, 1, 1, 5).tolist() == [0, 1]
