"""Bounds of GKZ where they are attained, and constants worked out by hand: d = 1 makes most of them
equalities.
"""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.facts.finding import ask
from globalmin.inspection.inspection import pose
from globalmin.linalg.symmetric import design_matrix
from globalmin.quadratic import barrier, risk
from globalmin.quadratic.ambiguity import bad_interpolant
from globalmin.quadratic.census import population_escape
from globalmin.quadratic.duality import is_stationary_in_matrix
from globalmin.quadratic.identifiability import critical_samples, exact_span_rank, span_condition
from globalmin.quadratic.population_descent import compare_rates, general_rate

ONE = np.ones((1, 1))


def test_the_hessian_limit_is_attained_for_one_neuron_above_its_teacher():
    """GKZ-R3, d = m = 1: 24 w^2 + 12 D, the second derivative of 3 (w^2 - a)^2."""
    for w, a in ((2.0, 1.0), (3.0, 0.5)):
        W, Wstar = np.array([[w]]), np.array([[math.sqrt(a)]])
        second = 36 * w**2 - 12 * a
        assert risk.population_hessian_limit(W, Wstar) == pytest.approx(second, rel=1e-14)
        assert risk.population_hessian_form(W, Wstar, ONE) == pytest.approx(second, rel=1e-14)


def test_the_hessian_limit_has_each_of_its_four_terms():
    """GKZ-R3, by hand at W = diag(2, 1), D = diag(3, -1): 16*4 + 8*5 + 8*3 + 4*2; and at D < 0."""
    W = np.diag([2.0, 1.0])
    assert risk.population_hessian_limit(W, np.diag([1.0, math.sqrt(2.0)])) == pytest.approx(136)
    assert risk.population_hessian_limit(W, np.diag([3.0, 2.0])) == pytest.approx(104)


def test_step_and_rate_of_population_descent_by_hand():
    """GKZ-RATE, d = 1, a = 1, D = 1/4: L_0 = 3/16, tau = 1/4, Lip = 30 + 3 sqrt 3, s^2 = 3/4; with
    alpha = 2 a step four times smaller and the same rate.
    """
    W0 = np.array([[math.sqrt(1.25)]])
    found = barrier.population_rate(W0, ONE)
    assert found is not None
    Lip = 30.0 + 3.0 * math.sqrt(3.0)
    assert found.Lip == pytest.approx(Lip, rel=1e-14)
    assert found.s2 == pytest.approx(0.75, rel=1e-14)
    assert found.rate == pytest.approx(1.0 - 12.0 / Lip, rel=1e-14)
    scaled = general_rate(W0, ONE, (2.0, 0.0, 5.0))
    assert scaled is not None
    assert scaled.Lip == pytest.approx(4.0 * Lip, rel=1e-14)
    assert (scaled.eta, scaled.rate) == (pytest.approx(0.25 / Lip), pytest.approx(found.rate))
    half = general_rate(W0, ONE, (2.0, 0.0, 5.0), eta=0.125 / Lip)
    assert half is not None
    assert half.rate == pytest.approx(1.0 - 6.0 / Lip, rel=1e-14)


def test_empirical_domination_and_barrier_are_attained_for_one_feature():
    """GKZ-RATEemp, d = 1: |grad|^2 = 16 w^2 F L, and W = 0 costs F sigma^4."""
    X = np.array([[0.5], [1.0], [2.0]])
    W, Wstar = np.array([[0.7]]), np.array([[1.3]])
    y = risk.quadratic_outputs(Wstar, X)
    ratio = np.sum(risk.empirical_gradient(W, X, y) ** 2) / risk.empirical_risk(W, X, y)
    assert barrier.empirical_domination(W, X) == pytest.approx(ratio, rel=1e-12)
    assert barrier.empirical_barrier(Wstar, X) == pytest.approx(
        risk.empirical_risk(0 * W, X, y), rel=1e-12
    )


def test_step_and_rate_on_data_by_hand():
    """Section 10, d = k = n = 1: w^2 = 3/2 gives tau = 1/2, Lip = 4 * 3/2 + 2 * 1/2 = 7, rate
    5/7; a head of 2 and two equal samples by the same rule.
    """
    found = barrier.barrier_quantities(np.array([[math.sqrt(1.5)]]), np.ones(1), ONE, np.ones(1))
    assert (found.tau, found.s2) == (pytest.approx(0.5), pytest.approx(0.5))
    assert found.Lip == pytest.approx(7.0, rel=1e-14)
    assert found.rate == pytest.approx(5.0 / 7.0, rel=1e-13)
    two = barrier.barrier_quantities(
        np.array([[math.sqrt(0.75)]]), np.full(1, 2.0), np.ones((2, 1)), np.ones(2)
    )  # phi = Phi = 2, v w^2 = 3/2, E0 = 2 * (1/2)^2 / 2
    assert pytest.approx(0.25) == two.E0
    assert two.Lip == pytest.approx(2.0 * (8.0 * 1.5 + 2.0), rel=1e-14)
    assert two.rate == pytest.approx(1.0 - 4.0 * 2.0 * 2.0 * 0.5 / 28.0, rel=1e-13)
    assert two.barrier == pytest.approx(1.0)


def test_the_rule_for_the_start_is_attained_by_a_teacher_at_one_end_of_its_interval():
    """GKZ-T2.5: a_i = kappa + eps for all i; the stated probability and interval as numbers."""
    Wstar = math.sqrt(5.5) * np.eye(3)
    W0 = barrier.identity_start(3, 3, scale=5.0)
    assert risk.population_risk(W0, Wstar) == pytest.approx(barrier.risk_of_start_limit(3, 0.5))
    assert barrier.start_probability(10) == pytest.approx(1 - 2 * math.exp(-5) - 2 * math.exp(-2))
    assert barrier.identity_start(7, 2)[0, 0] ** 2 == pytest.approx(15.0)
    C = barrier.WIDTH_CONSTANT
    for width, is_enough in ((C, True), (C - 1, False)):
        assert (33 / width + 8 * width**-1.5 + 16 / width**2 < 1 / 8) == is_enough
    assert barrier.sufficient_width(3) == 9 * C


def test_the_escape_of_the_population_risk_has_the_stated_curvature():
    """GKZ-CENSUS at W = 0, A = diag(2, 1): -8 * 2 - 4 * 3."""
    found = population_escape(np.zeros((2, 2)), np.diag([math.sqrt(2.0), 1.0]))
    assert found is not None
    assert found.curvature == pytest.approx(-28.0, rel=1e-14)


def test_the_span_condition_measures_the_design():
    X = np.random.default_rng(0).standard_normal((12, 3))
    found, S = span_condition(X), design_matrix(X)
    assert found.lambda_min == pytest.approx(np.linalg.eigvalsh(S.T @ S / 12)[0], rel=1e-9)
    assert [critical_samples(d) for d in (1, 2, 3, 10)] == [1, 3, 6, 55]


def test_the_guarantee_for_an_impostor_is_attained_by_the_least_favourable_kernel():
    """GKZ-T2.6b, d = 2, samples at which only M = diag(1, -1/3) vanishes: 2(d+2)/(d+1) = 8/3."""
    X = np.array([[1.0, math.sqrt(3.0)], [1.0, -math.sqrt(3.0)]])
    found = bad_interpolant(X, np.eye(2))
    assert found is not None
    np.testing.assert_allclose(np.abs(np.linalg.eigvalsh(found.M)), [1 / 3, 1.0], atol=1e-12)
    assert found.guaranteed == pytest.approx(8 / 3)
    assert found.population_risk == pytest.approx(8 / 3, rel=1e-9)


def test_elimination_decides_up_to_the_size_it_is_allowed():
    """GKZ-SPAN: three rows of which two are on one line, N = 3 monomials, so the rank is 2; not
    allowed to eliminate, only 2 <= rank <= 3 is known.
    """
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    assert exact_span_rank(X, max_exact=3) == (2, 2)
    assert exact_span_rank(X, max_exact=2) == (2, 3)


def test_a_descent_has_arrived_at_a_trillionth_of_its_first_risk():
    """GKZ-X2: so it says after enough steps, and not after two."""
    found = compare_rates(2, 60, draws=2)
    assert found.below == 1.0
    assert found.reached.tolist() == [1.0, 1.0]
    assert (found.measured > 0.4).all()  # two steps are far from a trillionth
    assert compare_rates(2, 60, draws=2, max_iter=2).reached.tolist() == [0.0, 0.0]


def test_stationarity_on_data_is_relative_to_the_size_of_the_gradient_of_the_labels():
    """GKZ-T2.3emp: |grad| / (4/n |W| |diag(y) X| |X|), unequal norms, by sums over samples; zero at
    the teacher.
    """
    rng = np.random.default_rng(3)
    X, Wstar = 0.3 * rng.standard_normal((12, 2)), rng.standard_normal((3, 2))
    y = np.square(X @ Wstar.T).sum(axis=1)
    data = gm.Dataset(X, y, bias=False, scaling="none")
    W = np.array([[1.0, 0.2], [0.0, 0.7], [0.3, 0.3]])
    gradient = sum(
        4 / 12 * (np.sum((W @ x) ** 2) - label) * np.outer(W @ x, x)
        for x, label in zip(X, y, strict=True)
    )
    size = 4 / 12 * np.linalg.norm(W) * np.linalg.norm(X * y[:, None]) * np.linalg.norm(X)
    for weights, relative in ((W, np.linalg.norm(gradient) / size), (Wstar, 0.0)):
        it = pose(data, network=gm.ShallowNetwork(weights, np.ones(3), "quadratic"))
        seen = next(h for h in ask("GKZ-T2.3emp", it).hypotheses if h.statement == "∇L̂(W) = 0")
        assert seen.finding == ("fails" if relative else "holds")
        shown = float(seen.measured.removeprefix("relative "))
        assert shown == pytest.approx(relative, rel=1e-2, abs=1e-12)  # three digits are shown


def test_a_moment_counts_as_zero_relative_to_the_sizes_of_its_terms():
    """SJL-L6.1: r = (1, -1 + delta) on equal rows; delta against 1e-9 of 2, at every scale of X."""
    for size in (0.1, 1.0, 10.0):
        X = size * np.ones((2, 1))
        for delta, is_zero in ((1.9e-9, True), (2.1e-9, False)):
            r = np.array([1.0, -1.0 + delta])
            assert is_stationary_in_matrix(X, r) is is_zero
            assert is_stationary_in_matrix(X, 7.0 * r) is is_zero
