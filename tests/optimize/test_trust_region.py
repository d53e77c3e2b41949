"""Second-order methods on functions with saddles, and as methods of `train`."""

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError, HypothesisError, NotConverged
from globalmin.optimize.objective import as_objective
from globalmin.optimize.run import Status
from globalmin.optimize.trust_region import METHODS, minimize, negative_curvature_step
from globalmin.shallow.degenerate import pose
from globalmin.shallow.hessian import gradient_norm, hessian
from globalmin.shallow.methods.saddle_escape import network_objective


def double_well(x):
    return x[0] ** 4 / 4 - x[0] ** 2 / 2 + (x[1:] ** 2).sum()


GIVEN = {
    "gradient": lambda x: np.concatenate([[x[0] ** 3 - x[0]], 2 * x[1:]]),
    "hessian": lambda x: np.diag(np.concatenate([[3 * x[0] ** 2 - 1], np.full(x.size - 1, 2.0)])),
}


@pytest.mark.parametrize("method", ["auto", *METHODS])
def test_every_method_leaves_the_saddle_and_finds_a_minimum(method):
    """DU-D7.5, DU-CERT7: from the saddle itself, and from its stable manifold, where Newton's
    method converges to it.
    """
    for start in (np.zeros(3), np.array([0.0, 1.0, -2.0]), np.array([1e-9, 0.3, 0.3])):
        run = minimize(double_well, start, method=method, **GIVEN)
        assert run.status is Status.SECOND_ORDER
        assert run.loss == pytest.approx(-0.25, abs=1e-11)
        assert run.n_iter < 60


@pytest.mark.parametrize("method", METHODS)
def test_rosenbrock_in_ten_dimensions_is_solved(method):
    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    run = minimize(rosenbrock, np.zeros(10), method=method, gradient_tol=1e-8)
    assert run.status is Status.SECOND_ORDER
    np.testing.assert_allclose(run.point, 1.0, atol=1e-7)


def test_large_problems_use_products_only():
    """DU-CERT7: 600 parameters; a given Hessian would be called, so none is given."""
    weights = np.linspace(1.0, 4.0, 600)
    weights[0] = -1.0

    run = minimize(
        lambda x: 0.5 * (weights * x**2).sum() + x[0] ** 4 / 4,
        np.zeros(600),
        gradient=lambda x: weights * x + np.eye(1, 600)[0] * x[0] ** 3,
        derivatives="central_differences",
    )
    assert run.method == "trust-krylov"
    assert run.status is Status.SECOND_ORDER
    assert run.loss == pytest.approx(-0.25, abs=1e-9)


def test_the_step_along_negative_curvature_falls_as_the_theorem_says():
    """DU-CERT7, SO (b): f = -x^2/2 + rho x^3/6 (c = 1) falls by at least c tau^2/4 and tau is at
    least half of 3c/(2 rho).
    """
    rho = 5.0
    objective = as_objective(
        lambda x: -(x[0] ** 2) / 2 + rho * abs(x[0]) ** 3 / 6,
        [0.0],
        derivatives="central_differences",
    )
    moved = negative_curvature_step(objective, np.zeros(1), np.ones(1), 1.0)
    assert moved is not None
    tau = moved[0][0]
    assert 3 / (4 * rho) <= tau <= 3 / (2 * rho)
    assert moved[1] <= -(tau**2) / 4
    assert negative_curvature_step(objective, np.ones(1) * 2, np.ones(1), 1.0) is None


@pytest.mark.parametrize("method", METHODS)
def test_points_outside_of_the_domain_are_refused(method):
    """50 x - log x: the first trust-region step from 1 ends at 0, where value and Hessian are
    infinite; beyond, both are NaN.
    """
    asked = []

    def bend(x):
        asked.append(x.copy())
        return np.array([[x[0] ** -2.0 if x[0] > 0 else np.inf if x[0] == 0 else np.nan]])

    run = minimize(
        lambda x: 50.0 * x[0] - np.log(x[0]) if x[0] > 0 else np.inf,
        np.ones(1),
        method=method,
        gradient=lambda x: 50.0 - 1.0 / x if x[0] != 0 else np.array([-np.inf]),
        hessian=bend,
    )
    assert run.status is Status.SECOND_ORDER
    np.testing.assert_allclose(run.point, 0.02, rtol=1e-6)
    assert np.isfinite(run.losses).all()
    if method == "trust-exact":
        assert any(x[0] <= 0 for x in asked)


@pytest.mark.parametrize("method", METHODS)
def test_points_with_a_finite_loss_but_no_hessian_are_refused(method):
    """f = |x|^2/2 whose Hessian is NaN on a band on the way, where the first step ends: no iterate
    lies in it.
    """
    seen, tried = [], []

    def bend(x):
        is_bad = 1.4 < x[0] < 2.4
        tried.append(is_bad)
        return np.eye(2) * (np.nan if is_bad else 1.0)

    def watch(x):
        seen.append(x[0])
        return False

    run = minimize(
        lambda x: 0.5 * float(x @ x),
        np.array([3.0, 0.5]),
        method=method,
        gradient=lambda x: x,
        hessian=bend,
        stop=watch,
    )
    assert any(tried)
    assert not [x for x in seen if 1.4 < x < 2.4]
    assert run.loss < 4.0
    assert (
        run.status is Status.STALLED if run.vector[0] >= 2.4 else run.status is Status.SECOND_ORDER
    )


def test_a_start_without_a_hessian_is_left():
    """|x|^1.5 in one of two variables: infinite curvature at the start, whose gradient is not
    zero.
    """
    run = minimize(
        lambda x: 0.5 * float((x - 1.0) @ (x - 1.0)) + abs(x[0]) ** 1.5,
        np.zeros(2),
        method="trust-exact",
        gradient=lambda x: x - 1.0 + np.array([1.5 * np.sign(x[0]) * abs(x[0]) ** 0.5, 0.0]),
        hessian=lambda x: np.diag([1.0 + (0.75 / abs(x[0]) ** 0.5 if x[0] else np.inf), 1.0]),
    )
    assert run.status is Status.SECOND_ORDER
    np.testing.assert_allclose(run.point, [0.25, 1.0], atol=1e-6)


def test_the_limit_the_stop_function_and_throw():
    assert minimize(double_well, np.ones(2) * 5, max_iter=2, **GIVEN).status is Status.MAX_ITER
    with pytest.raises(NotConverged, match="limit"):
        minimize(double_well, np.ones(2) * 5, max_iter=2, throw=True, **GIVEN)
    run = minimize(double_well, np.ones(2) * 5, stop=lambda x: x[0] < 2.0, **GIVEN)
    assert run.status is Status.STOPPED
    assert run.vector[0] < 2.0


def test_an_interrupt_keeps_the_point_of_least_loss():
    seen = []

    def loss(x):
        seen.append(0)
        if len(seen) > 4:
            raise KeyboardInterrupt
        return double_well(x)

    run = minimize(loss, np.ones(2) * 5, **GIVEN)
    assert run.status is Status.INTERRUPTED
    assert run.loss <= double_well(np.ones(2) * 5)


def test_wrong_arguments_are_named():
    with pytest.raises(DataError, match="method"):
        minimize(double_well, np.zeros(2), method="newton", **GIVEN)
    with pytest.raises(DataError, match="gradient_tol"):
        minimize(double_well, np.zeros(2), gradient_tol=0.0, **GIVEN)


def planted(n=40, d=4, rank=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return gm.Dataset(
        X, ((X @ rng.standard_normal((d, rank))) ** 2).sum(axis=1), bias=False, scaling="none"
    )


@pytest.mark.parametrize("trained", ["W", "vW"])
def test_the_network_objective_has_the_hessian_of_the_landscape(trained):
    data = planted()
    network = gm.ShallowNetwork.initialize(data, width=3, activation="tanh", seed=0)
    objective = network_objective(network, pose(network, data, trained))
    x, u = objective.start, np.random.default_rng(1).standard_normal(objective.size)
    slope = objective.value_and_gradient(x)[1]
    differences = as_objective(
        lambda t: objective.value_and_gradient(t)[0], x, derivatives="central_differences"
    )
    np.testing.assert_allclose(slope, differences.value_and_gradient(x)[1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        objective.hessian(x) @ u, objective.hessian_times(x, u), rtol=1e-10, atol=1e-10
    )
    bent = as_objective(
        lambda t: objective.value_and_gradient(t)[0],
        x,
        gradient=lambda t: objective.value_and_gradient(t)[1],
        derivatives="central_differences",
    )
    np.testing.assert_allclose(objective.hessian(x), bent.hessian(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"solver": "cubic"}, {"solver": "trust-krylov"}])
def test_training_from_the_worst_saddle_of_a_quadratic_network_reaches_zero_loss(options):
    """DU-CERT7 and SJL-T2.2: W = 0 is a strict saddle with zero gradient, and every second-order
    point is global.
    """
    data = planted()
    network = gm.ShallowNetwork(np.zeros((4, 4)), np.ones(4), "quadratic")
    run = gm.train(network, data, method="trust_region", **options)
    assert run.relative_residual < 1e-9
    assert run.n_iter < 200


def test_noise_takes_training_off_the_saddle_where_gradient_descent_stays():
    """DU-A2 on a quadratic network at W = 0."""
    data = planted()
    network = gm.ShallowNetwork(np.zeros((4, 4)), np.ones(4), "quadratic")
    stuck = gm.train(network, data, method="gradient_descent", step_size=1e-4, max_iter=50)
    assert stuck.losses[-1] == stuck.losses[0]
    run = gm.train(
        network,
        data,
        method="perturbed_gradient_descent",
        step_size=2e-4,
        max_iter=5_000,
        tol=1e-3,
        seed=1,
    )
    assert run.status is Status.CONVERGED
    again = gm.train(
        network,
        data,
        method="perturbed_gradient_descent",
        step_size=2e-4,
        max_iter=5_000,
        tol=1e-3,
        seed=1,
    )
    np.testing.assert_array_equal(run.network.W, again.network.W)


def test_a_stalled_trust_region_run_is_a_second_order_point():
    """DU-D7.5 for labels that no network of the class fits: the gradient vanishes, no eigenvalue is
    below rounding.
    """
    rng = np.random.default_rng(3)
    data = gm.Dataset(
        rng.standard_normal((30, 3)), rng.standard_normal(30), bias=False, scaling="none"
    )
    network = gm.ShallowNetwork(0.1 * rng.standard_normal((3, 3)), np.ones(3), "quadratic")
    run = gm.train(network, data, method="trust_region")
    assert run.status is Status.STALLED
    assert gradient_norm(run.network, data.X, data.y) < 1e-7
    assert np.linalg.eigvalsh(hessian(run.network, data.X, data.y))[0] > -1e-6


def test_kinked_activations_and_unknown_solvers_are_refused():
    data = planted()
    network = gm.ShallowNetwork.initialize(data, width=3, activation="relu", seed=0)
    for method in ("trust_region", "perturbed_gradient_descent"):
        with pytest.raises(HypothesisError, match="smooth"):
            gm.train(network, data, method=method)
    with pytest.raises(DataError, match="solver"):
        gm.train(network, data, method="trust_region", solver="bfgs")
    with pytest.raises(DataError, match="step_size"):
        gm.train(network, data, method="trust_region", step_size=0.1)
