"""The three quadrature rules against each other, closed forms and 100-bit sums."""

import math

import numpy as np
import pytest
from tests.activations.dual_oracle import dual

from globalmin.activations import dual_pairs as rules
from globalmin.activations import get_activation
from globalmin.activations.dual import dual_error, dual_kernel
from globalmin.errors import DataError


def pair(rho):
    return rho, math.sqrt((1 - rho) * (1 + rho))


@pytest.mark.parametrize(
    "name", ["relu", "abs", "erf", "gelu", "quadratic", "polynomial(1,-2,0.5,0.25)"]
)
def test_sectors_agree_with_closed_forms(name):
    phi = get_activation(name)
    for s, t, rho in ((1.0, 1.0, 0.5), (0.3, 2.0, -0.99), (50.0, 40.0, 0.999999), (1.0, 1.0, 0.0)):
        for order in (0, 1):
            value = rules._sectors(phi.derivatives[order], s, t, pair(rho))
            exact = float(dual_kernel(name, s * s, t * t, rho * s * t, order))
            scale = math.sqrt(
                float(dual_kernel(name, *[s * s] * 3, order))
                * float(dual_kernel(name, *[t * t] * 3, order))
            )
            # rho * s * t rounds: the angle of almost parallel pairs is held to 1e-16/sine only
            assert value == pytest.approx(
                exact, abs=3e-14 * scale + (3e-13 if rho > 0.9999 else 0.0) * scale
            )


@pytest.mark.parametrize("name", ["softplus", "tanh", "swish"])
def test_plane_and_sectors_agree_with_each_other_and_with_100_bits(name):
    """DU-DA4: trapezoid sums in two variables."""
    phi = get_activation(name)
    for s, t, rho in ((3.0, 2.0, 0.9), (8.0, 8.0, 0.999)):
        for order in (0, 1):
            scale = math.sqrt(
                float(dual_kernel(name, *[s * s] * 3, order))
                * float(dual_kernel(name, *[t * t] * 3, order))
            )
            plane = rules.pair_integral(phi, s, t, pair(rho), order=order)
            sectors = rules._sectors(phi.derivatives[order], s, t, pair(rho))
            assert plane == pytest.approx(sectors, abs=2e-14 * scale)
            if s < 4:
                assert plane == pytest.approx(
                    float(dual(name, s, t, rho, order)), abs=1e-14 * scale
                )


def test_a_line_is_the_limit_of_planes():
    phi = get_activation("tanh")
    for rho in (1.0, -1.0):
        line = rules.pair_integral(phi, 30.0, 20.0, (rho, 0.0), order=0)
        assert line == pytest.approx(rules._sectors(phi, 30.0, 20.0, (rho, 1e-14)), abs=1e-12)


def test_very_steep_functions_meet_their_bar():
    """softplus(1e4) is ReLU but for a strip of width 1e-4; the sectors resolve it, E = relu +
    O(1/b^2).
    """
    for rho in (0.3, 0.95, -0.9999):
        value = float(dual_kernel("softplus(10000)", 1.0, 1.0, rho))
        assert value == pytest.approx(float(dual_kernel("relu", 1.0, 1.0, rho)), abs=3e-8)
        phi = get_activation("softplus(10000)")
        sectors = rules._sectors(phi.derivatives[0], 1.0, 1.0, pair(rho))
        assert abs(value - sectors) <= float(dual_error("softplus(10000)", 1.0, 1.0, rho))


def test_scales_far_apart_in_one_matrix_agree_with_the_sectors():
    from globalmin.activations.dual import dual_matrix

    scales, rng = np.array([0.01, 1.0, 9.0, 300.0]), np.random.default_rng(5)
    X = rng.standard_normal((4, 2))
    X *= (scales / np.linalg.norm(X, axis=1))[:, None]
    K = X @ X.T
    F = dual_matrix("tanh", K)
    for i in range(4):
        for j in range(i):
            rho = K[i, j] / math.sqrt(K[i, i] * K[j, j])
            value = rules._sectors(
                np.tanh, float(np.sqrt(K[i, i])), float(np.sqrt(K[j, j])), pair(rho)
            )
            assert F[i, j] == pytest.approx(value, abs=1e-13 * math.sqrt(F[i, i] * F[j, j]))


@pytest.mark.parametrize(
    ("name", "nodes"),
    [("softplus", 40), ("sigmoid", 40), ("swish", 40), ("gelu", 40), ("erf", 80), ("tanh", 160)],
)
def test_gauss_hermite_agrees_with_closed_forms_and_series_for_smooth_functions(name, nodes):
    """DU-DA3: to 1e-10 at variances up to about 2."""
    phi = get_activation(name)
    for s, t, rho in ((1.0, 1.0, 0.5), (1.0, 1.0, 0.99), (0.5, 1.5, -0.8), (1.0, 1.0, -1.0)):
        for order in (0, 1):
            value = rules.estimate_by_gauss_hermite(phi, s, t, pair(rho), order=order, nodes=nodes)
            assert value == pytest.approx(
                float(dual_kernel(name, s * s, t * t, rho * s * t, order)), abs=1e-10
            )


def test_gauss_hermite_is_exact_for_polynomials_and_not_below_their_degree():
    """DU-DA3: E[u^3 v^3] has degree 6 in one variable: three nodes miss it, four do not."""
    cube = get_activation("polynomial(0,0,0,1)")
    exact = float(dual_kernel(cube, 1.44, 0.25, 0.42))
    value = [
        rules.estimate_by_gauss_hermite(cube, 1.2, 0.5, pair(0.7), nodes=N)
        for N in (3, 4, rules.MOST_NODES)
    ]
    assert abs(value[0] - exact) > 1e-2
    assert value[1:] == pytest.approx([exact, exact], rel=1e-12)


def test_gauss_hermite_fails_at_kinks_and_at_large_variance():
    """DU-DA3: for ReLU the error falls like 1/nodes, for its step even slower; the sectors have 13
    digits.
    """
    phi = get_activation("relu")
    for order, least in ((0, 1e-4), (1, 1e-3)):
        exact = float(dual_kernel("relu", 1.0, 1.0, 0.5, order))
        errors = [
            abs(
                rules.estimate_by_gauss_hermite(phi, 1.0, 1.0, pair(0.5), order=order, nodes=N)
                - exact
            )
            for N in (20, 40, 80, 160)
        ]
        assert min(errors) > least
        assert errors[0] / errors[-1] < 20.0
        assert rules.pair_integral(phi, 1.0, 1.0, pair(0.5), order=order) == pytest.approx(
            exact, abs=1e-13
        )
    tanh = get_activation("tanh")
    wide = rules.estimate_by_gauss_hermite(tanh, 5.0, 5.0, pair(0.99), nodes=80)
    assert abs(wide - float(dual_kernel("tanh", 25.0, 25.0, 24.75))) > 1e-3


def test_gauss_hermite_names_a_wrong_number_of_nodes():
    for nodes in (0, 321, 2.5):
        with pytest.raises(DataError, match="nodes"):
            rules.estimate_by_gauss_hermite(
                get_activation("tanh"), 1.0, 1.0, (1.0, 0.0), nodes=nodes
            )
