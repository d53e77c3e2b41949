"""The cubic subproblem against its optimality conditions and against brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from globalmin.errors import DataError
from globalmin.optimize.cubic_regularization import cubic_step, cubic_steps, krylov_basis
from globalmin.optimize.objective import as_objective


def _model(H, g, sigma, s):
    return g @ s + 0.5 * s @ H @ s + sigma / 3 * np.linalg.norm(s) ** 3


def _assert_optimal(H, g, sigma):
    """The conditions that characterize a global minimizer: (H + lambda I) s = -g, lambda = sigma
    |s|, H + lambda I >= 0.
    """
    found = cubic_step(H, g, sigma)
    size = max(np.abs(np.linalg.eigvalsh(H)).max(), np.linalg.norm(g), sigma, 1.0)
    s, lam = found.step, found.multiplier
    assert np.linalg.norm(H @ s + lam * s + g) <= 1e-9 * size * max(1.0, np.linalg.norm(s))
    assert abs(lam - sigma * np.linalg.norm(s)) <= 1e-9 * max(lam, size * 1e-3)
    assert np.linalg.eigvalsh(H)[0] + lam >= -1e-9 * size
    assert found.decrease == pytest.approx(-_model(H, g, sigma, s), rel=1e-8, abs=1e-12 * size)
    return found


@given(
    st.integers(1, 6),
    st.integers(0, 10_000),
    st.sampled_from([1e-3, 1.0, 50.0]),
    st.sampled_from([0.0, 1e-9, 1.0, 1e3]),
)
@settings(max_examples=60, deadline=None, derandomize=True)
def test_every_step_satisfies_the_conditions_of_a_global_minimizer(p, seed, sigma, scale):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((p, p))
    _assert_optimal((A + A.T) / 2, scale * rng.standard_normal(p), sigma)


def test_the_hard_case_moves_along_the_lowest_eigenvector():
    """g has no part in the lowest eigenspace: lambda = -lambda_1 and the length comes from the
    eigenvector.
    """
    H, g = np.diag([-2.0, 1.0, 3.0]), np.array([0.0, 0.1, 0.0])
    found = _assert_optimal(H, g, 1.0)
    assert found.multiplier == pytest.approx(2.0)
    assert abs(found.step[0]) > 1.9
    assert _assert_optimal(np.diag([-2.0, -2.0, 1.0]), np.zeros(3), 0.5).decrease == pytest.approx(
        2 / 3 * 2.0 * 4.0**2 / 4
    )


def test_nearly_hard_cases_keep_the_conditions():
    for part in (1e-4, 1e-8, 1e-12, 1e-16, 1e-60):
        _assert_optimal(np.diag([-2.0, 1.0, 3.0]), np.array([part, 0.1, 0.0]), 1.0)


def test_no_grid_point_is_better():
    H, g, sigma = np.array([[0.5, 1.0], [1.0, -1.0]]), np.array([0.3, -0.2]), 0.7
    best = -cubic_step(H, g, sigma).decrease
    grid = np.stack(np.meshgrid(*[np.linspace(-4, 4, 161)] * 2), axis=-1).reshape(-1, 2)
    assert min(_model(H, g, sigma, s) for s in grid) >= best - 1e-12


def test_a_flat_convex_model_without_gradient_has_no_step():
    found = cubic_step(np.diag([0.0, 1.0]), np.zeros(2), 1.0)
    assert not found.step.any()
    assert found.decrease == 0.0


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(DataError, match="sigma"):
        cubic_step(np.eye(2), np.zeros(2), 0.0)
    with pytest.raises(DataError, match="finite"):
        cubic_step(np.eye(2), np.array([np.nan, 0.0]), 1.0)


def test_the_krylov_basis_is_orthonormal_and_ends_when_the_space_is_invariant():
    H = np.diag([1.0, 1.0, 2.0, 2.0, 5.0])
    V, HV = krylov_basis(lambda u: H @ u, np.ones(5), 5)
    assert V.shape == (5, 3)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-13)
    np.testing.assert_allclose(HV, H @ V, atol=1e-13)


@pytest.mark.parametrize("dense", [True, False])
def test_the_iterates_of_rosenbrock_reach_the_minimum_quadratically(dense):
    objective = as_objective(lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2, [-1.2, 1.0])
    norms, reached = [], objective.start
    for reached, _, slope in cubic_steps(objective, objective.start, dense=dense):  # noqa: B007
        norms.append(np.linalg.norm(slope))
        if norms[-1] < 1e-10:
            break
    np.testing.assert_allclose(reached, 1.0, atol=1e-9)
    assert len(norms) < 80
    assert norms[-1] < 1e-4 * norms[-2]
