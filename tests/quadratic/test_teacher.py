"""The planted network as one object: every call against a second road."""

import math
from fractions import Fraction

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError, HypothesisError
from globalmin.optimize.run import Status
from globalmin.quadratic.barrier import barrier_quantities
from globalmin.quadratic.general_activation import (
    balanced_head,
    rows_with_sum,
    solve_general_quadratic,
    weights_on_head,
)

PLAIN, SHIFTED, GENERAL = "quadratic", "polynomial(0.3,0,-0.7)", "polynomial(0.4,-1.3,0.7)"
ACTIVATIONS = [PLAIN, SHIFTED, GENERAL]


def planted(d=3, m=5, activation=PLAIN, seed=0):
    W = np.random.default_rng(seed).standard_normal((m, d))
    return gm.QuadraticTeacher(W, activation)


def orthogonal(m, seed=0, *, fixes_ones=False):
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((m, m)))[0]
    if not fixes_ones:
        return Q
    U = np.linalg.qr(np.hstack([np.ones((m, 1)), np.eye(m)[:, 1:]]))[0]
    inner = np.eye(m)
    inner[1:, 1:] = np.linalg.qr(np.random.default_rng(seed).standard_normal((m - 1, m - 1)))[0]
    return U @ inner @ U.T


# --- risk, gradient, distance


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_risk_is_the_mean_square_over_normal_inputs_and_gradient_its_derivative(activation):
    """GKZ-R1, GKZ-R2, GKZ-C2.2: 400,000 samples within 5 standard errors; differences of the
    risk, a polynomial of degree four, are exact by Richardson's rule.
    """
    teacher, rng = planted(activation=activation), np.random.default_rng(1)
    W = rng.standard_normal((5, 3))
    X = rng.standard_normal((400_000, 3))
    student = gm.ShallowNetwork(W, np.ones(5), activation)
    squares = (student.predict(X) - teacher.label(X)) ** 2
    assert abs(squares.mean() - teacher.risk(W)) <= 5 * squares.std() / math.sqrt(squares.size)
    assert teacher.risk(student) == teacher.risk(W)
    V = rng.standard_normal((5, 3))

    def slope(h):
        return (teacher.risk(W + h * V) - teacher.risk(W - h * V)) / (2 * h)

    assert np.sum(teacher.gradient(W) * V) == pytest.approx(
        (4 * slope(0.5) - slope(1.0)) / 3, rel=1e-11
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_distance_is_zero_on_the_orbit_of_minima_and_only_there(activation):
    """GKZ-T2.1a: rotations of the rows; with a linear part those that keep the sum of the rows."""
    teacher = planted(activation=activation)
    kept = orthogonal(5, fixes_ones=True) @ teacher.W
    assert teacher.distance(kept) <= 1e-13
    assert teacher.risk(kept) <= 1e-24
    turned = orthogonal(5, 1) @ teacher.W
    has_linear = activation == GENERAL
    assert (teacher.distance(turned) > 0.1) == has_linear
    assert (teacher.risk(turned) > 0.1) == has_linear
    W = np.random.default_rng(2).standard_normal((5, 3))
    nearest = min(
        np.linalg.norm(W - orthogonal(5, seed, fixes_ones=has_linear) @ teacher.W)
        for seed in range(200)
    )
    assert 0.5 * nearest <= teacher.distance(W) <= nearest


def test_networks_of_other_widths_are_compared_where_zero_rows_do_not_count():
    teacher = planted()
    wide = np.vstack([teacher.W, np.zeros((2, 3))])
    assert teacher.risk(wide) == 0.0
    assert teacher.distance(wide) <= 1e-14
    for activation in (SHIFTED, GENERAL):
        with pytest.raises(DataError, match="equally many"):
            planted(activation=activation).risk(wide)
    with pytest.raises(DataError, match="equally many"):
        planted(activation=GENERAL).distance(wide)


# --- barrier, census


@pytest.mark.parametrize("activation", [PLAIN, SHIFTED])
@pytest.mark.parametrize(("d", "m"), [(1, 1), (2, 2), (3, 5)])
def test_barrier_values_are_the_risks_of_their_points(activation, d, m):
    """GKZ-T2.1, GKZ-T2.1c: attained, at rank d - 1; alpha^2 comes in through the risk."""
    teacher = planted(d, m, activation)
    found = teacher.barrier
    assert teacher.risk(found.point) == pytest.approx(found.exact, rel=1e-11)
    assert teacher.risk(found.tight_point) == pytest.approx(found.tight, rel=1e-11)
    assert np.linalg.matrix_rank(found.point, tol=1e-9) == d - 1
    assert found.exact / found.printed == pytest.approx((d + 2) / (d + 1), rel=1e-14)
    assert found.tight / found.printed == pytest.approx(1.5, rel=1e-14)
    assert teacher.margin(found.point) == pytest.approx(1.0, rel=1e-11)
    least = min(p.risk for p in teacher.census() if not p.is_global)
    assert least == pytest.approx(found.exact, rel=1e-11)


def test_barrier_with_a_linear_part_is_kept_by_rank_deficient_weights():
    """GKZ-C2.2: 2 alpha^2 (d+2)/(d+1) sigma^4 is a bound; search over weights of rank d - 1."""
    from scipy.optimize import minimize

    teacher = planted(2, 3, GENERAL, seed=3)

    def value(flat):
        W = np.outer(flat[:3], [math.cos(flat[3]), math.sin(flat[3])])
        return teacher.risk(W)

    rng = np.random.default_rng(4)
    least = min(minimize(value, rng.standard_normal(4)).fun for _ in range(12))
    assert teacher.barrier.exact * (1 - 1e-9) <= least


@pytest.mark.parametrize("activation", [PLAIN, SHIFTED])
def test_census_risks_and_curvatures_are_those_of_the_risk(activation):
    """GKZ-CENSUS: the Hessian by differences of the gradient, a cubic: the combination of steps
    1/2 and 1 is exact up to rounding.
    """
    teacher = planted(2, 3, activation)

    def slope(W, V, h):
        return (teacher.gradient(W + h * V) - teacher.gradient(W - h * V)) / (2 * h)

    for point in teacher.census():
        W = gm.landscape.stationary_weights(point, 3)
        basis = np.eye(6).reshape(6, 3, 2)
        H = np.stack([((4 * slope(W, V, 0.5) - slope(W, V, 1.0)) / 3).ravel() for V in basis])
        assert teacher.risk(W) == pytest.approx(point.risk, rel=1e-10, abs=1e-12)
        assert np.linalg.eigvalsh(H)[0] == pytest.approx(point.least_curvature, rel=1e-9, abs=1e-9)
        expected = "global minimum" if point.is_global else "strict saddle"
        assert teacher.classify(W) == expected
    assert teacher.classify(np.ones((3, 2))) == "not stationary"


# --- samples


def test_samples_needed_is_exact():
    """GKZ-T2.6, GKZ-T2.8, GKZ-T2.9: at N - 1 an impostor, at N none, and recovery."""
    teacher = planted(4, 4)
    assert teacher.samples_needed == 10
    data = teacher.sample(10, seed=5)
    assert teacher.span_condition(data.X).holds
    assert teacher.impostor(data.X) is None
    found = gm.QuadraticTeacher.recover(data.X, data.y)
    assert teacher.distance(found.W) <= 1e-8
    few = data.X[:9]
    condition = teacher.span_condition(few)
    assert (condition.rank, condition.needed, condition.holds) == (9, 10, False)
    wrong = teacher.impostor(few)
    assert wrong is not None
    np.testing.assert_allclose(teacher.label(few), ((few @ wrong.W.T) ** 2).sum(axis=1), rtol=1e-10)
    assert teacher.risk(wrong.W) == pytest.approx(wrong.population_risk, rel=1e-6)
    assert wrong.population_risk >= teacher.barrier.exact * (1 - 1e-9)
    with pytest.raises(HypothesisError, match="9 of 10"):
        gm.QuadraticTeacher.recover(few, data.y[:9])


def test_the_impostor_of_a_scaled_teacher_has_the_scaled_risk():
    plain, scaled = planted(3, 3), planted(3, 3, SHIFTED)
    X = np.random.default_rng(6).standard_normal((4, 3))
    ours, theirs = plain.impostor(X), scaled.impostor(X)
    assert ours is not None
    assert theirs is not None
    assert theirs.population_risk == pytest.approx(0.49 * ours.population_risk, rel=1e-12)
    assert theirs.guaranteed == pytest.approx(0.49 * ours.guaranteed, rel=1e-12)
    assert theirs.training_error == pytest.approx(0.7 * ours.training_error, rel=1e-12)
    assert scaled.risk(theirs.W) == pytest.approx(theirs.population_risk, rel=1e-6)
    error = np.abs(gm.QuadraticTeacher(theirs.W, SHIFTED).label(X) - scaled.label(X)).max()
    assert error <= 1e-12


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("m", [3, 5])
def test_recovery_finds_the_function_for_every_quadratic_activation(activation, m):
    """GKZ-DIRECT: from just as many samples as needed, predictions on others."""
    teacher = planted(3, m, activation, seed=7)
    data = teacher.sample(teacher.samples_needed, seed=8)
    assert teacher.samples_needed == (9 if activation == GENERAL else 6)
    found = gm.QuadraticTeacher.recover(data.X, data.y, activation=activation, width=m)
    assert teacher.distance(found.W) <= 1e-9 * np.linalg.norm(teacher.W)
    fresh = np.random.default_rng(9).standard_normal((20, 3))
    np.testing.assert_allclose(found.label(fresh), teacher.label(fresh), rtol=1e-8, atol=1e-8)
    if activation != PLAIN:
        with pytest.raises(DataError, match="width of the teacher"):
            gm.QuadraticTeacher.recover(data.X, data.y, activation=activation)
    if activation == GENERAL:
        with pytest.raises(HypothesisError, match="8 of 9"):
            gm.QuadraticTeacher.recover(data.X[:8], data.y[:8], activation=activation, width=m)
        with pytest.raises(HypothesisError, match="no 40 rows"):  # 40 gammas do not fit the labels
            gm.QuadraticTeacher.recover(-data.X, -100 - data.y, activation=activation, width=40)


def test_positive_heads_are_absorbed_and_others_refused():
    """GKZ-C2.7."""
    rng = np.random.default_rng(10)
    network = gm.ShallowNetwork(rng.standard_normal((4, 3)), rng.uniform(0.2, 3, 4), PLAIN)
    teacher, X = gm.QuadraticTeacher.from_network(network), rng.standard_normal((9, 3))
    np.testing.assert_allclose(teacher.label(X), network.predict(X), rtol=1e-13)
    general = gm.ShallowNetwork(network.W, np.ones(4), GENERAL)
    assert gm.QuadraticTeacher.from_network(general).activation == general.activation
    for v, activation in ((-network.v, PLAIN), (network.v, GENERAL)):
        with pytest.raises(HypothesisError, match="absorbed"):
            gm.QuadraticTeacher.from_network(gm.ShallowNetwork(network.W, v, activation))


# --- start, descent, certificate


def test_the_start_is_the_best_multiple_of_the_identity():
    """GKZ-T2.5: no other scale has a smaller risk; the paper's is m + 4d."""
    teacher = planted(4, 60)
    best = teacher.start()
    gamma = best.W[0, 0] ** 2
    assert teacher.risk(best) < min(
        teacher.risk(teacher.start(scale=gamma * factor)) for factor in (0.99, 1.01)
    )
    assert teacher.start(scale="paper").W[0, 0] ** 2 == pytest.approx(76)
    assert teacher.start(7).W.shape == (7, 4)
    labels = teacher.sample(200_000, seed=1).y  # mean(y)/d estimates the same scale
    assert labels.mean() / 4 == pytest.approx(gamma, abs=5 * labels.std() / 4 / math.sqrt(200_000))


@pytest.mark.parametrize("activation", [PLAIN, SHIFTED])
def test_descent_from_the_start_keeps_the_rate_and_reaches_the_orbit(activation):
    """GKZ-RATE: every step shrinks the risk by the stated factor; a step of twice 1/Lip is run
    without one.
    """
    teacher = planted(3, 60, activation)
    assert teacher.margin(teacher.start()) < 1
    rate = teacher.rate(teacher.start())
    run = teacher.descend()
    assert rate is not None
    assert run.status is Status.CONVERGED
    assert (run.rate, run.eta) == (rate.rate, rate.eta)
    assert (run.risks[1:] <= rate.rate * run.risks[:-1]).all()
    assert (run.risks[1:] / run.risks[:-1]).max() >= rate.rate**30  # of the right order
    assert teacher.distance(run.W) <= 1e-6 * np.linalg.norm(teacher.W)
    assert run.risks[0] == teacher.risk(teacher.start())
    first = teacher.start().W - rate.eta * teacher.gradient(teacher.start())
    assert run.risks[1] == pytest.approx(teacher.risk(first), rel=1e-12)
    assert teacher.descend(step_size=2 * rate.eta, max_iter=3).rate == 1.0
    assert teacher.rate(teacher.barrier.point) is None


def test_descent_with_a_linear_part_needs_a_step_and_then_falls():
    teacher = planted(2, 3, GENERAL)
    W0 = teacher.W + 0.05
    assert teacher.rate(W0) is None
    with pytest.raises(HypothesisError, match="linear part"):
        teacher.descend(W0)
    run = teacher.descend(W0, step_size=1e-3, max_iter=400)
    assert run.rate == 1.0
    assert run.risks[-1] < 0.1 * run.risks[0]


def test_the_population_certificate_is_accepted_below_the_barrier_only(tmp_path):
    teacher = planted(3, 60)
    teacher.certify().save(tmp_path / "start.gmc")
    found = gm.check(tmp_path / "start.gmc")
    assert found.verdict == "ACCEPTED"
    saddle = gm.ShallowNetwork(teacher.barrier.point, np.ones(60), PLAIN)
    with pytest.raises(gm.CannotCertify, match="not below the barrier"):
        teacher.certify(saddle)
    with pytest.raises(HypothesisError, match=r"z\^2"):
        planted(activation=GENERAL).certify()


def test_the_identity_scheme_is_proved_below_the_barrier_on_four_hundred_samples():
    """GKZ-T2.5 on data: d = 4, n = 400, a Gaussian teacher of 400 neurons; head 1, 4 neurons. The
    proof by the checker; the measured descent keeps the proved rate.
    """
    teacher = planted(4, 400)
    data = teacher.sample(400, seed=1)
    start = gm.ShallowNetwork.initialize(data, 4, PLAIN, scheme="identity")
    proof = gm.prove(start, data, claims=["below-barrier"])
    assert proof.verdict == "ACCEPTED"
    numbers = proof.claims[0].numbers
    assert numbers.E0 is not None
    assert numbers.barrier is not None
    assert numbers.eta is not None
    assert numbers.rate is not None
    quantities = barrier_quantities(start.W, start.v, data.X, data.y)
    assert numbers.E0 / numbers.barrier == pytest.approx(
        quantities.E0 / quantities.barrier, rel=1e-3
    )
    assert 0.2 * numbers.barrier > numbers.E0
    run = gm.train(
        start, data, method="gradient_descent", step_size=float(Fraction(numbers.eta)), max_iter=40
    )
    assert run.losses[-1] <= float(Fraction(numbers.rate)) ** 40 * run.losses[0]


# --- the object


def test_bad_teachers_are_refused_with_the_reason():
    with pytest.raises(HypothesisError, match="rank"):
        gm.QuadraticTeacher([[1.0, 1.0], [2.0, 2.0]])
    with pytest.raises(HypothesisError, match="neurons"):
        gm.QuadraticTeacher([[1.0, 1.0]])
    with pytest.raises(DataError, match="not quadratic"):
        gm.QuadraticTeacher(np.eye(2), "softplus")
    with pytest.raises(DataError, match="shape"):
        gm.QuadraticTeacher([1.0, 2.0])
    teacher = planted()
    with pytest.raises(DataError, match="d=3"):
        teacher.risk(np.eye(2))
    with pytest.raises(DataError, match="unit heads"):
        teacher.risk(gm.ShallowNetwork(np.eye(3), -np.ones(3), PLAIN))
    general = planted(activation=GENERAL)
    for call in (general.census, lambda: general.classify(general.W)):
        with pytest.raises(HypothesisError, match="linear part"):
            call()
    with pytest.raises(HypothesisError, match="linear part"):
        general.impostor(np.eye(3))


def test_the_teacher_is_frozen_and_says_what_it_is():
    teacher = gm.QuadraticTeacher(np.diag([2.0, 1.0]), "polynomial(1,0,3)")
    assert repr(teacher) == (
        "QuadraticTeacher(m=2, d=2, activation='polynomial(1,0,3)', sigma=1, barrier=24)"
    )
    with pytest.raises(ValueError, match="read-only"):
        teacher.W[0, 0] = 0.0
    assert teacher.network.predict(np.eye(2)).tolist() == teacher.label(np.eye(2)).tolist()


# --- prescribed Gram matrix and sum


@pytest.mark.parametrize("rows", [3, 4, 9])
def test_rows_with_a_prescribed_gram_matrix_and_sum(rows):
    rng = np.random.default_rng(11)
    W, c = rng.standard_normal((rows, 3)), rng.uniform(0.5, 2, rows) * rng.choice([-1, 1], rows)
    found = rows_with_sum(W.T @ W, c, c @ W)
    assert found is not None
    np.testing.assert_allclose(found.T @ found, W.T @ W, atol=1e-12)
    np.testing.assert_allclose(c @ found, c @ W, atol=1e-12)
    too_long = 2 * math.sqrt(float(c @ c) * np.linalg.norm(W, 2) ** 2) * np.eye(3)[0]
    assert rows_with_sum(W.T @ W, c, too_long) is None
    if rows == 3:  # a square W of full rank has a sum of one length only
        assert rows_with_sum(W.T @ W, c, 0.5 * (c @ W)) is None


@pytest.mark.parametrize("coefficients", [(0.7, -1.3, 0.4), (-2.0, 0.5, 3.0), (1.5, 0.0, 2.0)])
@pytest.mark.parametrize("seed", range(3))
def test_every_quadratic_function_is_carried_by_d_plus_one_heads_of_each_sign(coefficients, seed):
    """GKZ-C2.2: uneven heads, a zero among them; fewer do not carry an indefinite matrix."""
    rng = np.random.default_rng(seed)
    d = 3
    M, b = rng.standard_normal((d, d)), rng.standard_normal(d) * (coefficients[1] != 0)
    M = M + M.T
    v = np.concatenate([rng.uniform(0.3, 2, d + 1), -rng.uniform(0.3, 2, d + 1), [0.0]])
    rng.shuffle(v)
    W = weights_on_head(M, b, coefficients, v)
    assert W is not None
    alpha, beta, gamma = coefficients
    network = gm.ShallowNetwork(W, v, f"polynomial({gamma},{beta},{alpha})")
    X = rng.standard_normal((12, d))
    expected = np.einsum("ij,jk,ik->i", X, M, X) + X @ b + gamma * v.sum()
    np.testing.assert_allclose(network.predict(X), expected, rtol=1e-11, atol=1e-11)
    assert weights_on_head(np.diag([1.0, -1.0, -2.0]), b, coefficients, np.ones(9)) is None


def test_a_head_of_one_sign_carries_a_form_of_that_sign():
    W = weights_on_head(np.diag([3.0, 2.0]), np.array([0.1, 0.2]), (1.0, 1.0, 0.0), np.ones(3))
    assert W is not None
    np.testing.assert_allclose(W.T @ W, np.diag([3.0, 2.0]), atol=1e-12)
    np.testing.assert_allclose(W.sum(axis=0), [0.1, 0.2], atol=1e-12)


def test_solving_for_a_given_head_is_least_squares_with_its_constant():
    """The constant gamma sum(v) stays; too few heads are refused with the number that suffices."""
    rng = np.random.default_rng(12)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal(40)
    v = np.concatenate([rng.uniform(0.3, 2, 5), -rng.uniform(0.3, 2, 4)])
    found = solve_general_quadratic(X, y, (0.7, -1.3, 0.4), head=v)
    from globalmin.linalg.symmetric import design_matrix

    features = np.hstack([design_matrix(X), X])
    wanted = y - 0.4 * v.sum()
    least = 0.5 * np.sum(
        (features @ np.linalg.lstsq(features, wanted, rcond=None)[0] - wanted) ** 2
    )
    assert found.loss == pytest.approx(least, rel=1e-12)
    assert found.status is Status.CONVERGED
    with pytest.raises(HypothesisError, match="4 of each sign"):
        solve_general_quadratic(X, y, (0.7, -1.3, 0.4), head=np.ones(9))
    assert balanced_head(5).tolist() == [1.0, 1.0, -1.0, -1.0, 0.0]
