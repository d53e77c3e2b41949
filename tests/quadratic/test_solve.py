"""Quadratic networks solved to the global minimum: against closed forms, slow oracles and bounds
recomputed from scratch.

SJL-T2.1 (mixed heads), SJL-T2.2 and SJL-T2.2k (positive heads), theorem D (weight decay).
"""

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.linalg.symmetric import design_matrix, moment_matrix, quadratic_forms
from globalmin.optimize.run import Status
from globalmin.quadratic.decay import decay_path, default_decays
from globalmin.quadratic.duality import critical_decay, network_objective
from globalmin.quadratic.local import local_minimum
from globalmin.quadratic.solve import solve_quadratic


def gaussian(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n)


def planted(n, d, rank, seed=0):
    rng = np.random.default_rng(seed)
    X, W = rng.standard_normal((n, d)), rng.standard_normal((rank, d)) / np.sqrt(d)
    return X, ((X @ W.T) ** 2).sum(axis=1)


def slow_minimum(X, y, c, two_sided, steps=8_000):
    """Accelerated proximal gradient over M, the obvious way; returns the objective."""
    if not X.any():
        return 0.5 * y @ y
    step = 1.0 / np.linalg.norm(design_matrix(X), 2) ** 2
    d = X.shape[1]
    M = P = np.zeros((d, d))
    t = 1.0
    for _ in range(steps):
        lam, Q = np.linalg.eigh(P - step * moment_matrix(X, quadratic_forms(X, P) - y))
        shrunk = (
            np.sign(lam) * np.maximum(np.abs(lam) - step * c, 0.0)
            if two_sided
            else np.maximum(lam - step * c, 0.0)
        )
        new, t_new = (Q * shrunk) @ Q.T, (1 + np.sqrt(1 + 4 * t * t)) / 2
        P, M, t = new + (t - 1) / t_new * (new - M), new, t_new
    r = quadratic_forms(X, M) - y
    return 0.5 * r @ r + c * np.abs(np.linalg.eigvalsh(M)).sum()


def assert_consistent(solution, X, y, weight_decay=0.0):
    """Loss, objective, M and gap as their definitions say, from the stored network alone."""
    W, v = solution.network.W, solution.network.v
    assert solution.objective == pytest.approx(
        network_objective(W, v, X, y, weight_decay=weight_decay), rel=1e-12
    )
    assert solution.loss == pytest.approx(
        0.5 * np.sum((solution.network.predict(X) - y) ** 2), rel=1e-9, abs=1e-25
    )
    np.testing.assert_allclose(
        solution.M, (W * v[:, None]).T @ W, atol=1e-12 * max(1.0, np.abs(solution.M).max())
    )
    assert solution.gap == pytest.approx(
        solution.objective - solution.lower_estimate, abs=1e-15 * max(1.0, solution.objective)
    )
    assert solution.dual.shape == y.shape
    assert solution.network.activation.name == "quadratic"


SHAPES = [(1, 1), (3, 1), (1, 4), (10, 4), (9, 4), (30, 4), (6, 6), (40, 6)]


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_mixed_heads_reach_the_least_squares_value(n, d):
    X, y = gaussian(n, d)
    S = design_matrix(X)
    least = 0.5 * np.sum((S @ np.linalg.lstsq(S, y, rcond=None)[0] - y) ** 2)
    solution = solve_quadratic(X, y)
    assert_consistent(solution, X, y)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(least, rel=1e-9, abs=1e-18 * y @ y)
    assert solution.method == "least squares"
    assert solution.network.width == 2 * d


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_positive_heads_close_the_gap_with_a_feasible_dual_vector(n, d):
    X, y = gaussian(n, d, seed=1)
    solution = solve_quadratic(X, y, signs="positive", v_max=0.7)
    assert_consistent(solution, X, y)
    assert solution.status is Status.CONVERGED
    assert (solution.network.v == 0.7).all()
    assert solution.gap <= max(1e-9 * solution.objective, 1e-12 * y @ y)
    spectrum = np.linalg.eigvalsh(moment_matrix(X, solution.dual))
    assert spectrum[0] >= -1e-12 * max(1.0, spectrum[-1])
    assert -solution.dual @ y - 0.5 * solution.dual @ solution.dual == pytest.approx(
        solution.lower_estimate, rel=1e-12, abs=1e-12 * (y @ y)
    )


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("share", [0.9, 0.3, 0.03])
@pytest.mark.parametrize(("n", "d"), [(3, 1), (5, 4), (30, 4)])
def test_weight_decay_closes_the_gap_with_a_feasible_dual_vector(n, d, share, two_sided):
    X, y = gaussian(n, d, seed=2)
    w, v_max = share * critical_decay(X, y, two_sided=two_sided, v_max=0.5), 0.5
    if w == 0.0:
        w = 1.0
    solution = solve_quadratic(
        X, y, signs="mixed" if two_sided else "positive", weight_decay=w, v_max=v_max
    )
    assert_consistent(solution, X, y, w)
    assert solution.status is Status.CONVERGED
    c = w / (2 * v_max)
    spectrum = np.linalg.eigvalsh(moment_matrix(X, solution.dual))
    assert spectrum[0] > -c
    assert not two_sided or spectrum[-1] < c
    assert -solution.dual @ y - 0.5 * solution.dual @ solution.dual == pytest.approx(
        solution.lower_estimate, rel=1e-12
    )
    assert solution.relative_gap <= 1e-9


@pytest.mark.parametrize(("n", "d"), [(52, 14), (400, 14)])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_dual_vectors_are_strictly_feasible_as_the_checker_asks(n, d, decay):
    """P1: with C the inverse of a Cholesky factor in doubles, |C A C^T - I| is far below 1,
    evaluated in extended precision.
    """
    X, y = gaussian(n, d, seed=13)
    w = decay * critical_decay(X, y)
    solution = solve_quadratic(X, y, signs="mixed" if w else "positive", weight_decay=w)
    long_X = X.astype(np.longdouble)
    Z = (long_X * solution.dual[:, None].astype(np.longdouble)).T @ long_X
    matrices = [w / 2 * np.eye(d) + Z, w / 2 * np.eye(d) - Z] if w else [Z]
    for A in matrices:
        C = np.linalg.inv(np.linalg.cholesky(A.astype(np.float64))).astype(np.longdouble)
        assert np.linalg.norm((C @ A @ C.T - np.eye(d)).astype(np.float64)) < 0.1
    assert solution.gap <= 1e-9 * solution.objective


@pytest.mark.parametrize(("c", "two_sided"), [(0.0, False), (0.4, False), (0.4, True), (3.0, True)])
def test_minimum_agrees_with_a_slow_first_order_method(c, two_sided):
    X, y = gaussian(25, 4, seed=3)
    expected = slow_minimum(X, y, c, two_sided)
    found = solve_quadratic(X, y, signs="mixed" if two_sided else "positive", weight_decay=2 * c)
    assert found.objective == pytest.approx(expected, rel=1e-7)


def test_unit_vectors_as_samples_have_closed_form_solutions():
    """x_i = e_i: M_ii is y_i, its positive part, or y_i shrunk by c."""
    y = np.array([2.0, -1.0, 0.3, -0.2])
    X = np.eye(4)
    np.testing.assert_allclose(np.diag(solve_quadratic(X, y).M), y, atol=1e-12)
    positive = solve_quadratic(X, y, signs="positive")
    np.testing.assert_allclose(np.diag(positive.M), np.maximum(y, 0), atol=1e-9)
    assert positive.objective == pytest.approx(0.5 * (1.0 + 0.04), rel=1e-9)
    decayed = solve_quadratic(X, y, weight_decay=1.0)
    np.testing.assert_allclose(
        decayed.M, np.diag(np.sign(y) * np.maximum(np.abs(y) - 0.5, 0)), atol=1e-9
    )
    assert decayed.rank == 2


def test_one_feature_has_the_formula_of_one_dimensional_regression():
    """d = 1: M = sum x^2 y / sum x^4, clipped or shrunk."""
    X, y = gaussian(7, 1, seed=4)
    x2 = X[:, 0] ** 2
    slope = x2 @ y / (x2 @ x2)
    assert solve_quadratic(X, y).M[0, 0] == pytest.approx(slope, rel=1e-9)
    assert solve_quadratic(X, y, signs="positive").M[0, 0] == pytest.approx(
        max(slope, 0.0), rel=1e-8, abs=1e-12
    )
    c = 0.3 * abs(x2 @ y)
    shrunk = np.sign(slope) * max(abs(x2 @ y) - c, 0) / (x2 @ x2)
    assert solve_quadratic(X, y, weight_decay=2 * c, tol=1e-13).M[0, 0] == pytest.approx(
        shrunk, rel=1e-5
    )


def test_golden_example_of_one_sample():
    """x = 1, y = -1, positive head: the minimum is 1/2 at w = 0; mixed heads fit exactly."""
    one = np.ones((1, 1))
    solution = solve_quadratic(one, [-1.0], signs="positive")
    assert solution.objective == pytest.approx(0.5)
    assert solution.lower_estimate == pytest.approx(0.5, rel=1e-9)
    assert solve_quadratic(one, [-1.0]).objective <= 1e-25


@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("n", [10, 60])
def test_planted_labels_are_fitted_to_zero_loss(n, rank):
    X, y = planted(n, 6, rank, seed=5)
    for signs in ("mixed", "positive"):
        solution = solve_quadratic(X, y, signs=signs)
        assert solution.status is Status.CONVERGED
        assert solution.objective <= 1e-12 * y @ y
        assert solution.lower_estimate >= 0.0


def test_all_labels_of_one_sign_are_handled():
    X, y = gaussian(12, 3, seed=6)
    negative = solve_quadratic(X, -np.abs(y), signs="positive")
    assert negative.objective == pytest.approx(0.5 * y @ y, rel=1e-9)
    assert negative.rank == 0
    flipped = solve_quadratic(X, -np.abs(y), head=-np.ones(3))
    assert flipped.objective == pytest.approx(
        solve_quadratic(X, np.abs(y), signs="positive").objective, rel=1e-9
    )
    assert (flipped.network.v == -1).all()
    nothing = solve_quadratic(X, np.zeros(12), signs="positive")
    assert (nothing.objective, nothing.gap, nothing.relative_gap) == (0.0, 0.0, 0.0)
    assert solve_quadratic(X, np.zeros(12), weight_decay=1.0).rank == 0


@pytest.mark.parametrize("signs", ["mixed", "positive"])
@pytest.mark.parametrize("decay", [0.0, 0.5])
def test_rank_deficient_repeated_and_zero_samples_are_handled(signs, decay):
    rng = np.random.default_rng(7)
    low = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 5))
    y = rng.standard_normal(20)
    for X in (
        low,
        np.repeat(low[:10], 2, axis=0),
        np.vstack([low[:19], np.zeros((1, 5))]),
        np.zeros((20, 5)),
    ):
        solution = solve_quadratic(X, y, signs=signs, weight_decay=decay)
        assert_consistent(solution, X, y, decay)
        assert solution.status is Status.CONVERGED, X.shape
        expected = slow_minimum(X, y, decay / 2, signs == "mixed", steps=2_000)
        assert solution.objective <= expected * (1 + 1e-6)
        assert solution.lower_estimate <= expected * (1 + 1e-9)


def test_badly_scaled_features_do_not_matter_without_weight_decay():
    """The problem is invariant under X -> X D; the values agree to nine digits over twelve orders
    of magnitude.
    """
    X, y = gaussian(40, 5, seed=8)
    scaled = X * 10.0 ** np.array([-6, -3, 0, 3, 6])
    for signs in ("mixed", "positive"):
        one, other = solve_quadratic(X, y, signs=signs), solve_quadratic(scaled, y, signs=signs)
        assert other.objective == pytest.approx(one.objective, rel=1e-8)
        assert other.status is Status.CONVERGED


def test_narrow_networks_are_global_whenever_the_rank_allows_and_honest_otherwise():
    X, y = gaussian(60, 6, seed=9)
    wide = solve_quadratic(X, y, signs="positive")
    enough = solve_quadratic(X, y, signs="positive", width=wide.rank)
    assert enough.status is Status.CONVERGED
    assert enough.objective == pytest.approx(wide.objective, rel=1e-9)
    narrow = solve_quadratic(X, y, signs="positive", width=1)
    assert narrow.method == "local"
    assert narrow.status is Status.STALLED
    assert narrow.lower_estimate == pytest.approx(wide.lower_estimate, rel=1e-9)
    assert narrow.objective > wide.objective
    directions = np.random.default_rng(0).standard_normal((2_000, 6))
    z2 = (X @ directions.T) ** 2
    scale = np.maximum(z2.T @ y, 0) / np.sum(z2**2, axis=0)
    assert narrow.objective <= (0.5 * np.sum((z2 * scale - y[:, None]) ** 2, axis=0)).min()
    two = solve_quadratic(X, y, width=2)
    assert two.network.v.tolist() == [1.0, -1.0]
    assert two.lower_estimate <= two.objective


def test_heads_with_zeros_and_unequal_weights_are_respected():
    X, y = gaussian(30, 3, seed=10)
    head = np.array([0.0, 2.0, -0.5, 1.0, -1.0, 0.25, -3.0, 0.0])
    solution = solve_quadratic(X, y, head=head)
    assert solution.status is Status.CONVERGED
    np.testing.assert_array_equal(solution.network.v, head)
    assert solution.objective == pytest.approx(solve_quadratic(X, y).objective, rel=1e-9)
    uneven = solve_quadratic(
        X, y, head=np.array([1.0, 0.5, 0.5, -1.0, -0.5, -0.5]), weight_decay=0.5
    )
    even = solve_quadratic(X, y, weight_decay=0.5)
    assert uneven.lower_estimate == pytest.approx(even.lower_estimate, rel=1e-9)
    assert uneven.objective >= even.objective * (1 - 1e-9)


def test_local_search_stops_at_a_stationary_point():
    X, y = gaussian(30, 4, seed=11)
    v = np.array([1.0, -1.0])
    W, steps = local_minimum(
        X, y, np.random.default_rng(0).standard_normal((2, 4)), v, weight_decay=0.1
    )
    r = ((X @ W.T) ** 2) @ v - y
    gradient = 2 * v[:, None] * (W @ moment_matrix(X, r)) + 0.1 * W
    assert np.linalg.norm(gradient) <= 1e-5 * y @ y
    assert steps > 3


@pytest.mark.parametrize("signs", ["mixed", "positive"])
def test_path_agrees_with_single_solutions_and_starts_at_zero(signs):
    X, y = gaussian(40, 5, seed=12)
    path = decay_path(X, y, n_decays=6, ratio=0.02, signs=signs)
    decays = [solution.weight_decay for solution in path]
    assert decays == sorted(decays, reverse=True)
    assert decays[0] == pytest.approx(critical_decay(X, y, two_sided=signs == "mixed"))
    assert np.abs(path[0].M).max() <= 1e-6
    assert all(solution.status is Status.CONVERGED for solution in path)
    for solution in path[1:]:
        alone = solve_quadratic(X, y, signs=signs, weight_decay=solution.weight_decay)
        assert alone.objective == pytest.approx(solution.objective, rel=1e-9)
    losses = [solution.loss for solution in path]
    assert losses == sorted(losses, reverse=True)
    given = decay_path(X, y, [0.5, 2.0], signs=signs)
    assert [solution.weight_decay for solution in given] == [2.0, 0.5]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"signs": "both"}, "signs"),
        ({"width": 0}, "width"),
        ({"width": 2.5}, "width"),
        ({"width": True}, "width"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"weight_decay": np.nan}, "weight_decay"),
        ({"v_max": 0.0}, "v_max"),
        ({"tol": 0.0}, "tol"),
        ({"head": [0.0, 0.0]}, "zero"),
        ({"head": []}, "head"),
        ({"head": [np.inf]}, "head"),
        ({"head": [[1.0]]}, "head"),
    ],
)
def test_bad_options_are_refused_by_name(options, word):
    X, y = gaussian(5, 2)
    with pytest.raises(DataError, match=word):
        solve_quadratic(X, y, **options)


def test_bad_data_are_refused_by_name():
    X, y = gaussian(5, 2)
    for bad_X, bad_y, word in (
        (X[:0], y[:0], "X is empty"),
        (X, y[:-1], "y"),
        (X * np.nan, y, "X"),
        (X, y * np.inf, "y"),
        (X, np.ones((5, 2)), "target"),
        (X[:, 0], y, "reshape"),
    ):
        with pytest.raises(DataError, match=word):
            solve_quadratic(bad_X, bad_y)
    with pytest.raises(DataError, match="zero network"):
        default_decays(X, -np.abs(y), n_decays=3, ratio=0.1, signs="positive", v_max=1.0)
    with pytest.raises(DataError, match="ratio"):
        default_decays(X, y, n_decays=3, ratio=2.0, signs="mixed", v_max=1.0)
