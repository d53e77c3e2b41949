"""The stages of the solver, each alone: L-BFGS, Newton on the active rank, proximal points, least
squares (SJL-T2.1).
"""

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.linalg.symmetric import design_matrix, moment_matrix, quadratic_forms
from globalmin.optimize.run import Status
from globalmin.quadratic import least_squares as ls
from globalmin.quadratic import newton, proximal
from globalmin.quadratic.convex import change_of_variables, descend, first_guess, solve_matrix
from globalmin.quadratic.duality import row_space
from globalmin.quadratic.general_activation import solve_general_quadratic
from globalmin.quadratic.matrix import MatrixProblem


def problem(n=40, d=6, share=0.1, two_sided=True, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    if share == 0.0:
        return MatrixProblem(row_space(X).white, y, 0.0, False)
    return MatrixProblem(
        X, y, share * np.abs(np.linalg.eigvalsh(moment_matrix(X, y))).max(), two_sided
    )


CASES = [(0.0, False), (0.3, False), (0.3, True), (0.02, True)]


@pytest.mark.parametrize(("share", "two_sided"), CASES)
def test_newton_alone_squares_the_error_near_the_solution(share, two_sided):
    p = problem(share=share, two_sided=two_sided)
    near, _ = descend(p, None, near=1e-6, max_iter=2_000)
    gaps = [near.gap]
    point = near
    for _ in range(4):
        point, _ = newton.newton_step(point, tol=1e-10)
        assert point is not None
        gaps.append(point.gap)
    assert gaps[-1] <= 1e-11 * p.scale


@pytest.mark.parametrize(("share", "two_sided"), CASES)
def test_proximal_points_alone_solve_from_zero(share, two_sided):
    p = problem(share=share, two_sided=two_sided)
    zero = p.at(np.zeros((6, 6)))
    found, used = proximal.proximal_point(zero, tol=1e-10, max_iter=20_000)
    assert found.is_solved(1e-10)
    assert used > 0
    assert found.objective == pytest.approx(
        solve_matrix(p, tol=1e-10, max_iter=20_000).point.objective, rel=1e-9
    )


@pytest.mark.parametrize(("share", "two_sided"), CASES)
def test_chart_gradient_and_hessian_agree_with_differences_of_the_objective(share, two_sided):
    """Second-order expansion along the chart, at a point near the solution; error O(t^3)."""
    p = problem(share=share, two_sided=two_sided)
    near, _ = descend(p, None, near=1e-2, max_iter=2_000)
    active = newton.active_eigenvalues(near)
    start = p.at_spectrum(np.where(active, near.eigenvalues, 0.0), near.vectors)
    chart = newton.chart_at(start, start.eigenvalues != 0)
    rng = np.random.default_rng(1)
    T = rng.standard_normal(chart.gradient.shape) * 1e-4 * np.abs(chart.eigenvalues).min()
    T[:, : chart.rank] = (T[:, : chart.rank] + T[:, : chart.rank].T) / 2
    weights = chart.weights
    slope = float(np.sum(weights * chart.gradient * T))
    curvature = float(np.sum(weights * T * chart.hessian_times(T)))
    values = [newton.moved(chart, T, t).objective for t in (-1.0, 0.0, 1.0)]
    assert (values[2] - values[0]) / 2 == pytest.approx(slope, rel=1e-2, abs=1e-12 * p.scale)
    assert values[0] - 2 * values[1] + values[2] == pytest.approx(
        curvature, rel=1e-2, abs=1e-13 * p.scale
    )


def test_dense_and_iterative_newton_steps_agree():
    p = problem(share=0.05)
    near, _ = descend(p, None, near=1e-4, max_iter=500)
    chart = newton.chart_at(near, newton.active_eigenvalues(near))
    T, _, is_accurate = newton.conjugate_direction(chart, tol=1e-12, max_iter=1_000)
    assert is_accurate
    np.testing.assert_allclose(newton.dense_direction(chart), T, atol=1e-8 * np.abs(T).max())


def test_dense_step_survives_a_singular_hessian():
    """One sample: J has rank one, far fewer than the tangent space."""
    p = MatrixProblem(np.array([[1.0, 2.0]]), np.array([3.0]), 1e-9, True)
    chart = newton.chart_at(p.at(np.eye(2)), np.array([True, True]))
    assert np.isfinite(newton.dense_direction(chart)).all()


def test_dense_step_with_fewer_samples_than_dimensions_solves_the_newton_equations():
    """Ten samples in a tangent space of dimension 21, no curvature besides theirs: the step still
    fits the gradient.
    """
    p = problem(n=10, share=0.0)
    near, _ = descend(p, None, near=1e-1, max_iter=50)
    whole = p.at(near.M + 1e-2 * np.trace(near.M) * np.eye(6))
    chart = newton.chart_at(whole, np.ones(6, dtype=bool))
    T = newton.dense_direction(chart)
    np.testing.assert_allclose(
        chart.hessian_times(T), -chart.gradient, atol=1e-8 * np.abs(chart.gradient).max()
    )
    assert np.abs(T).max() < 1e3 * np.abs(whole.M).max()


def test_widening_adds_the_violating_directions_and_lowers_the_objective():
    p = problem(share=0.2)
    zero = p.at(np.zeros((6, 6)))
    wider = newton.widened(zero)
    assert wider is not None
    assert wider.objective < zero.objective
    spectrum = np.linalg.eigvalsh(zero.Z)
    assert (wider.eigenvalues > 0).sum() == (spectrum < -p.c).sum()
    assert (wider.eigenvalues < 0).sum() == (spectrum > p.c).sum()
    assert newton.widened(problem(share=2.0).at(np.zeros((6, 6)))) is None
    full = p.at(np.eye(6))
    assert newton.widened(full) is None


def test_shrinkage_and_its_derivative():
    g = np.array([-3.0, -0.5, 0.0, 0.2, 2.0])
    np.testing.assert_allclose(proximal.shrink(g, 1.0, two_sided=True), [-2, 0, 0, 0, 1])
    np.testing.assert_allclose(proximal.shrink(g, 1.0, two_sided=False), [0, 0, 0, 0, 1])
    rng = np.random.default_rng(2)
    G, H = rng.standard_normal((5, 5)), rng.standard_normal((5, 5))
    G, H = G + G.T, H + H.T

    def shrunk(matrix):
        lam, Q = np.linalg.eigh(matrix)
        return (Q * proximal.shrink(lam, 1.0, two_sided=True)) @ Q.T

    lam, Q = np.linalg.eigh(G)
    Omega = proximal.divided_differences(lam, proximal.shrink(lam, 1.0, two_sided=True))
    derivative = Q @ (Omega * (Q.T @ H @ Q)) @ Q.T
    np.testing.assert_allclose(
        (shrunk(G + 1e-6 * H) - shrunk(G - 1e-6 * H)) / 2e-6, derivative, atol=1e-6
    )
    assert proximal.divided_differences(np.zeros(2), np.zeros(2)).tolist() == [
        [0.0, 0.0],
        [0.0, 0.0],
    ]
    np.testing.assert_allclose(
        proximal.divided_differences(np.array([2.0, 2.0]), np.ones(2)), np.ones((2, 2))
    )


def test_inner_value_has_the_stated_gradient():
    p = problem(share=0.1)
    rng = np.random.default_rng(3)
    center, u, direction = (
        np.diag(rng.standard_normal(6)),
        rng.standard_normal(40),
        rng.standard_normal(40),
    )
    at = proximal.evaluate(p, center, 0.01, u)
    ahead, behind = (
        proximal.evaluate(p, center, 0.01, u + t * direction).value for t in (1e-5, -1e-5)
    )
    assert (ahead - behind) / 2e-5 == pytest.approx(at.gradient @ direction, rel=1e-6)


def test_change_of_variables_is_its_own_inverse_and_whitens_without_decay():
    p = MatrixProblem(
        np.random.default_rng(4).standard_normal((50, 4)) * [1e-2, 1, 1, 1e2],
        np.ones(50),
        1e-12,
        True,
    )
    T, inverse = change_of_variables(p)
    np.testing.assert_allclose(T @ inverse, np.eye(4), atol=1e-6)
    whitened = T @ (p.X.T @ p.X) @ T
    assert np.linalg.cond(whitened) <= 1.1
    eigenvalues, vectors = first_guess(p)
    assert vectors.shape == (4, 4)
    assert np.isfinite(eigenvalues).all()


def test_hard_instances_are_solved_by_the_stages_together():
    """Fewer samples than N and little decay: L-BFGS alone needs thousands of iterations."""
    p = problem(40, 12, share=1e-4, seed=5)
    found = solve_matrix(p, tol=1e-10, max_iter=50_000)
    assert found.is_solved
    warm = solve_matrix(p, tol=1e-10, max_iter=50_000, start=found.point.M)
    assert warm.n_iter < 0.2 * found.n_iter
    limited = solve_matrix(p, tol=1e-10, max_iter=5)
    assert not limited.is_solved
    assert limited.point.gap >= 0


# --- least squares
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d"), [(5, 4), (10, 4), (11, 4), (200, 6)])
def test_conjugate_gradients_and_dense_solvers_agree(n, d):
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    S = design_matrix(X)
    expected = S @ np.linalg.lstsq(S, y, rcond=None)[0]
    M, _ = ls.conjugate_gradients(X, y, floor=0.0)
    np.testing.assert_allclose(quadratic_forms(X, M), expected, atol=1e-8)
    for solver in (ls._sample_solver(X), ls._feature_solver(X)):
        np.testing.assert_allclose(quadratic_forms(X, solver(-y)[0]), expected, atol=1e-6)
    found = ls.least_squares(X, y)
    np.testing.assert_allclose(found.residual, expected - y, atol=1e-8)
    assert found.gap <= max(1e-10 * 0.5 * found.residual @ found.residual, 1e-13 * 0.5 * y @ y)


def test_slow_conjugate_gradients_fall_back_to_a_dense_solve(monkeypatch):
    monkeypatch.setattr(ls, "MAX_ITER", 3)
    monkeypatch.setattr(ls, "DIRECT_SAMPLES", 0)
    rng = np.random.default_rng(7)
    for n in (8, 60):
        X, y = rng.standard_normal((n, 4)), rng.standard_normal(n)
        S = design_matrix(X)
        least = 0.5 * np.sum((S @ np.linalg.lstsq(S, y, rcond=None)[0] - y) ** 2)
        assert 0.5 * np.sum(ls.least_squares(X, y).residual ** 2) == pytest.approx(
            least, rel=1e-9, abs=1e-20
        )


# --- general quadratic activation
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("coefficients", [(1.0, 0.0, 0.0), (0.5, -1.0, 2.0), (-2.0, 0.3, 0.0)])
@pytest.mark.parametrize("n", [6, 40])
def test_general_quadratic_networks_reach_the_least_squares_value(n, coefficients):
    """GKZ-C2.2: monomials of degree two and, if beta != 0, one."""
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((n, 3)), rng.standard_normal(n)
    features = np.hstack([design_matrix(X), X]) if coefficients[1] else design_matrix(X)
    least = 0.5 * np.sum((features @ np.linalg.lstsq(features, y, rcond=None)[0] - y) ** 2)
    solution = solve_general_quadratic(X, y, coefficients)
    assert solution.status is Status.CONVERGED
    assert solution.loss == pytest.approx(least, rel=1e-9, abs=1e-20)
    assert solution.loss == pytest.approx(
        0.5 * np.sum((solution.network.predict(X) - y) ** 2), rel=1e-12, abs=1e-25
    )
    assert solution.network.v.sum() == 0.0
    with pytest.raises(DataError, match="alpha"):
        solve_general_quadratic(X, y, (0.0, 1.0, 1.0))
