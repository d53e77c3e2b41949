"""Training all layers of deep networks: the predicted rate (DU-T3.1, DU-T3.2, DU-T3.3), movement,
late iterates, endings.
"""

from types import SimpleNamespace

import numpy as np
import pytest

from globalmin.deep import train
from globalmin.deep.constants import rate_check
from globalmin.deep.gram import deep_gram, deep_ntk
from globalmin.deep.network import DeepNetwork
from globalmin.deep.problem import pose_deep, relative_price
from globalmin.deep.train import train_deep
from globalmin.errors import DataError, MemoryRefused, NotConverged
from globalmin.optimize.run import Status

SHAPES = {"fully_connected": (4,), "resnet": (4,), "convolutional_resnet": (2, 4)}


def _data(architecture, n=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, *SHAPES[architecture]))
    X /= np.linalg.norm(X.reshape(n, -1), axis=1).reshape(n, *[1] * len(SHAPES[architecture]))
    return X, rng.standard_normal(n)


@pytest.mark.parametrize("architecture", SHAPES)
def test_gradient_descent_on_all_layers_keeps_the_promised_rate(architecture):
    """DU-T3.1, DU-T3.2, DU-T3.3: L_k <= (1 - eta lambda_0/2)^k L_0, lambda_min(G^(H)) near lambda_0
    and small movement.
    """
    X, y = _data(architecture)
    network = DeepNetwork.initialize(X, 150, 3, architecture, seed=0)
    run = train_deep(network, (X, y), method="gradient_descent", max_iter=400)
    trajectory = run.trajectory
    last = float(np.linalg.eigvalsh(deep_gram(X, architecture, 3))[0])
    total = float(np.linalg.eigvalsh(deep_ntk(X, architecture, 3).total)[0])
    assert rate_check(trajectory, last).holds
    assert rate_check(trajectory, total).holds
    assert trajectory.loss[-1] < 0.02 * trajectory.loss[0]
    assert (np.diff(trajectory.loss) < 0).all()
    assert trajectory.lambda_last.min() > 0.5 * last
    assert trajectory.lambda_total.min() > 0.5 * total
    assert (trajectory.lambda_total >= trajectory.lambda_last).all()
    assert trajectory.relative_movement.shape == (len(trajectory), 4)
    assert not trajectory.movement[0].any()
    assert trajectory.relative_movement.max() < 1.0


def test_wider_networks_move_less_relative_to_the_root_of_their_width():
    """DU-T3.1 (3.6): ||W(k) - W(0)||_F/sqrt(m) falls like 1/sqrt(m), mean of three seeds at widths
    50 and 450.
    """
    X, y = _data("fully_connected")
    sizes = {
        m: np.mean(
            [
                train_deep(
                    DeepNetwork.initialize(X, m, 2, seed=s),
                    (X, y),
                    method="gradient_descent",
                    max_iter=150,
                )
                .trajectory.relative_movement[-1]
                .max()
                for s in range(3)
            ]
        )
        for m in (50, 450)
    }
    assert 2.0 < sizes[50] / sizes[450] < 4.5


def test_one_step_is_minus_eta_times_the_gradient_of_the_full_jacobian():
    X, y = _data("resnet")
    network = DeepNetwork.initialize(X, 7, 3, "resnet", seed=0)
    run = train_deep(network, (X, y), method="gradient_descent", step_size=0.01, max_iter=1)
    expected = network.parameters - 0.01 * network.jacobian(X).T @ (network.predict(X) - y)
    np.testing.assert_allclose(run.network.parameters, expected, rtol=1e-12, atol=1e-14)
    assert run.trajectory.step_size == 0.01


@pytest.mark.parametrize("architecture", SHAPES)
def test_levenberg_marquardt_reaches_the_rounding_level_in_a_few_steps(architecture):
    """Late iterates for theorem DS (DU-CERT-S)."""
    X, y = _data(architecture, n=8)
    network = DeepNetwork.initialize(X, 20, 3, architecture, "tanh", seed=1)
    run = train_deep(network, (X, y))
    assert run.status is Status.CONVERGED
    assert run.relative_residual < 1e-12
    assert run.n_iter <= 40
    assert np.linalg.norm(run.network.predict(X) - y) <= 1.1e-12 * np.linalg.norm(y)
    assert np.isnan(run.trajectory.step_size)


def test_the_n_by_n_step_is_the_damped_step_of_the_full_jacobian():
    from globalmin.deep.train import START_DAMPING, damped_steps

    X, y = _data("resnet")
    network = DeepNetwork.initialize(X, 6, 2, "resnet", seed=0)
    start = pose_deep(network, X, y).at(network)
    first = next(damped_steps(start)).point
    J, r = network.jacobian(X), network.predict(X) - y
    shift = START_DAMPING * np.trace(J @ J.T) / len(y)
    step = np.linalg.solve(J.T @ J + shift * np.eye(J.shape[1]), J.T @ r)
    np.testing.assert_allclose(
        first.network.parameters, network.parameters - step, rtol=1e-9, atol=1e-12
    )


def test_training_until_descent_ends_as_soon_as_the_theorem_fires():
    X, y = _data("resnet")
    network = DeepNetwork.initialize(X, 20, 3, "resnet", seed=0)
    run = train_deep(network, SimpleNamespace(X=X, y=y), until="descent")
    assert run.status is Status.PROVABLE
    assert run.relative_residual > 1e-12


def test_equal_inputs_with_different_labels_end_at_the_floor_and_say_so():
    X, y = _data("fully_connected")
    X[1] = X[0]
    run = train_deep(DeepNetwork.initialize(X, 20, 2, seed=0), (X, y))
    floor = 0.25 * (y[0] - y[1]) ** 2
    assert run.floor == pytest.approx(floor)
    assert run.loss == pytest.approx(floor)
    assert run.status is Status.CONVERGED
    assert "keep the loss at or above" in run.message


def test_a_zero_input_keeps_its_label_when_the_activation_vanishes_at_zero():
    X, y = _data("resnet")
    X[2] = 0.0
    odd = train_deep(DeepNetwork.initialize(X, 20, 2, "resnet", "tanh", seed=0), (X, y))
    assert odd.loss == pytest.approx(0.5 * y[2] ** 2)
    positive = train_deep(DeepNetwork.initialize(X, 20, 2, "resnet", "softplus", seed=0), (X, y))
    assert positive.loss < 1e-20


def test_a_step_that_is_too_large_ends_as_diverged_with_the_best_network():
    X, y = _data("fully_connected")
    network = DeepNetwork.initialize(X, 20, 3, "fully_connected", "quadratic", seed=0)
    run = train_deep(network, (X, y), method="gradient_descent", step_size=1e3, max_iter=200)
    assert run.status is Status.DIVERGED
    assert np.isfinite(run.network.parameters).all()


def test_an_interrupt_keeps_the_best_network():
    X, y = _data("fully_connected")
    seen = []

    def monitor(step):
        seen.append(step.loss)
        if step.iteration == 5:
            raise KeyboardInterrupt

    run = train_deep(
        DeepNetwork.initialize(X, 20, 2, seed=0), (X, y), method="gradient_descent", monitor=monitor
    )
    assert run.status is Status.INTERRUPTED
    assert run.n_iter == 5
    assert run.loss == min(seen)


def test_a_monitor_of_iteration_and_point_still_works_with_a_warning():
    X, y = _data("fully_connected")
    network, seen = DeepNetwork.initialize(X, 20, 2, seed=0), []
    with pytest.warns(DeprecationWarning, match="one Step"):
        run = train_deep(network, (X, y), monitor=lambda i, point: seen.append((i, point.loss)))
    assert seen == list(zip(run.trajectory.iteration, run.losses, strict=True))


def test_a_deep_run_may_be_stopped_by_its_monitor_or_thrown():
    X, y = _data("fully_connected")
    network = DeepNetwork.initialize(X, 20, 2, seed=0)
    run = train_deep(network, (X, y), monitor=lambda step: step.iteration == 2)
    assert (run.status, run.n_iter) == (Status.STOPPED, 2)
    with pytest.raises(NotConverged, match="iteration limit"):
        train_deep(network, (X, y), max_iter=1, throw=True)


def test_long_runs_leave_short_records_that_include_the_last_step():
    X, y = _data("fully_connected", n=2)
    network = DeepNetwork.initialize(X, 5, 1, seed=0)
    run = train_deep(network, (X, y), method="gradient_descent", step_size=1e-5, max_iter=1500)
    assert run.status is Status.MAX_ITER
    assert len(run.trajectory) < 500
    assert run.trajectory.iteration[-1] == 1500


def test_a_network_too_small_for_the_data_stalls_without_claiming_success():
    X, y = _data("fully_connected", n=12)
    run = train_deep(DeepNetwork.initialize(X, 1, 2, seed=0), (X, y))
    assert run.status in (Status.STALLED, Status.MAX_ITER)
    assert not run.status.is_success


@pytest.mark.parametrize(
    "change",
    [
        {"method": "adam"},
        {"until": "provable"},
        {"tol": -1.0},
        {"step_size": -1.0, "method": "gradient_descent"},
    ],
    ids=str,
)
def test_unusable_options_are_refused(change):
    X, y = _data("fully_connected")
    with pytest.raises(DataError, match=next(iter(change))):
        train_deep(DeepNetwork.initialize(X, 5, 2, seed=0), (X, y), **change)


def test_labels_that_do_not_fit_are_refused():
    X, y = _data("fully_connected")
    network = DeepNetwork.initialize(X, 5, 2, seed=0)
    for labels in (y[:-1], y[:, None], np.full(5, np.nan)):
        with pytest.raises(DataError, match="y has shape"):
            train_deep(network, (X, labels))


def test_a_run_that_cannot_fit_is_refused_first(monkeypatch):
    monkeypatch.setattr("globalmin.data.validation.available_bytes", lambda: 1000)
    X, y = _data("fully_connected")
    with pytest.raises(MemoryRefused, match="training on n=5"):
        train_deep(DeepNetwork.initialize(X, 5, 2, seed=0), (X, y))


def test_a_dead_start_is_refused_for_gradient_descent():
    network = DeepNetwork((np.zeros((3, 4)),), np.zeros(3), (1.0,), "tanh")
    X, y = _data("fully_connected")
    with pytest.raises(DataError, match="Jacobian is zero"):
        train_deep(network, (X, y), method="gradient_descent")


@pytest.mark.parametrize("architecture", ["fully_connected", "resnet"])
def test_the_run_follows_the_trajectory_predicted_from_the_first_gram_and_more_closely_when_wider(
    architecture,
):
    """DU-G3: y - u(k+1) = (I - eta G)(y - u(k)) up to the change of G; mean of two seeds, widths 60
    and 960, 60 steps.
    """
    from globalmin.kernels.linearized import linearize_run

    X, y = _data(architecture)
    gaps = {}
    for m in (60, 960):
        gaps[m] = []
        for seed in (0, 1):
            network = DeepNetwork.initialize(X, m, 2, architecture, seed=seed)
            trajectory = train_deep(
                network, (X, y), method="gradient_descent", max_iter=60
            ).trajectory
            predicted = linearize_run(sum(network.layer_grams(X)), network.predict(X), y)
            norms = predicted.residual_norms(trajectory.iteration, trajectory.step_size)
            gaps[m].append(np.abs(np.sqrt(2 * trajectory.loss) - norms).max() / norms[0])
    assert np.mean(gaps[960]) < 0.05
    assert np.mean(gaps[960]) < 0.5 * np.mean(gaps[60])


def test_a_minibatch_update_is_eta_n_over_s_times_the_gradient_of_its_samples():
    X, y = _data("resnet", n=6)
    network = DeepNetwork.initialize(X, 7, 3, "resnet", seed=0)
    options = {"method": "gradient_descent", "step_size": 0.01, "batch_size": 4, "seed": 5}
    run = train_deep(network, (X, y), max_iter=2, **options)
    order = np.random.default_rng(5).permutation(6)
    theta = network.parameters
    for rows in (order[:4], order[4:]):
        at = network.with_parameters(theta)
        theta = theta - 0.01 * 6 / len(rows) * at.jacobian(X[rows]).T @ (
            at.predict(X[rows]) - y[rows]
        )
    last = network.with_parameters(theta)
    assert run.n_iter == 2
    assert run.trajectory.loss[-1] == pytest.approx(0.5 * np.square(last.predict(X) - y).sum())
    np.testing.assert_allclose(run.network.parameters, theta, rtol=1e-10, atol=1e-12)


def test_minibatches_without_a_step_reach_zero_loss():
    X, y = _data("fully_connected", n=6)
    network = DeepNetwork.initialize(X, 60, 2, activation="tanh", seed=0)
    options = {"method": "gradient_descent", "batch_size": 2, "tol": 1e-3, "max_iter": 20_000}
    run = train_deep(network, (X, y), **options)
    assert run.status is Status.CONVERGED
    with pytest.raises(DataError, match="levenberg_marquardt uses all samples"):
        train_deep(network, (X, y), batch_size=2)


@pytest.mark.parametrize("activation", ["tanh", "softplus", "erf"])
@pytest.mark.parametrize("architecture", SHAPES)
def test_the_gradient_carried_down_is_the_one_through_the_jacobian(architecture, activation):
    """DU-G3 (erratum E13): the fused pass, the pass with known slopes and J^T u agree."""
    from globalmin.deep import passes

    X, y = _data(architecture)
    network = DeepNetwork.initialize(X, 6, 3, architecture, activation, seed=2)
    passed = network.forward(X)
    expected = network.jacobian(X).T @ y
    np.testing.assert_allclose(passes.pull_back(network, passed, y), expected, atol=1e-13)
    slopes = passes.backward(network, passed)
    np.testing.assert_allclose(passes.pull_back(network, passed, y, slopes), expected, atol=1e-13)


def test_eigenvalues_are_recorded_at_the_ends_and_everywhere_if_asked():
    X, y = _data("fully_connected", n=60)
    network = DeepNetwork.initialize(X, 10, 2, seed=0)
    options = {"method": "gradient_descent", "max_iter": 30, "tol": 0.0}
    sparse = train_deep(network, (X, y), **options).trajectory
    every = train_deep(network, (X, y), spectra="every", **options).trajectory
    assert np.isfinite(every.lambda_total).all()
    assert np.isfinite(sparse.lambda_total[[0, -1]]).all()
    assert np.isnan(sparse.lambda_total).sum() > 20
    none = train_deep(network, (X, y), spectra="none", **options).trajectory
    assert np.isnan(none.lambda_total).all()
    known = np.isfinite(sparse.lambda_last)
    np.testing.assert_array_equal(sparse.lambda_last[known], every.lambda_last[known])
    np.testing.assert_array_equal(sparse.loss, every.loss)
    with pytest.raises(DataError, match="spectra"):
        train_deep(network, (X, y), spectra="never")  # pyright: ignore[reportArgumentType]


def test_the_step_of_minibatches_is_that_at_which_no_batch_overshoots_its_own_sample():
    X, y = _data("fully_connected", n=6)
    network = DeepNetwork.initialize(X, 20, 2, seed=0)
    run = train_deep(network, (X, y), method="gradient_descent", batch_size=1, max_iter=6)
    G = sum(network.layer_grams(X))
    largest = max(np.linalg.eigvalsh(G)[-1], 6 * np.diag(G).max())
    assert run.trajectory.step_size == pytest.approx(1.0 / largest, rel=1e-12)


class _Level:
    """A point of which only the norm of the residual is known, and the points after it."""

    gradient, residual = None, np.zeros(3)

    def __init__(self, norms, place=0):
        self.norms, self.network, self.problem = norms, place, self
        self.norm = norms[min(place, len(norms) - 1)]

    def part(self, rows):
        assert len(rows) == 3
        return self

    def at(self, network):
        return _Level(self.norms, network)

    def moved(self, _direction, _step):
        return self.at(self.network + 1)


@pytest.mark.parametrize("norms", [[5.0, 4.0, 6.0], [5.0, 4.0, 4.0], [5.0, 6.0, 4.0, 4.0]])
def test_steps_end_where_patience_finds_no_new_minimum(monkeypatch, norms):
    """So many steps after the last new smallest loss; an equal one is not new."""
    steps = norms.index(4.0) + 7
    monkeypatch.setattr(train, "PATIENCE", 7)
    monkeypatch.setattr(train, "PASSES", 7)
    assert len(list(train.descent_steps(_Level(norms), 0.1))) == steps
    rng = np.random.default_rng(0)
    assert len(list(train.minibatch_steps(_Level(norms), 0.1, 3, rng))) == steps


def test_the_price_of_eigenvalues_is_counted_in_operations():
    """Ten inputs of three features, two layers of width 4, by hand: a step multiplies 6 x 10 x 28
    numbers, two Gram matrices 2 x 10 x 10 x (7 + 8), two spectra 18 x 10^3 + 1500 x 10^2; four
    pixels with windows of three count as forty inputs with eighteen or twelve numbers each.
    """
    X = np.random.default_rng(0).standard_normal((10, 3))
    network = DeepNetwork.initialize(X, 4, 2, seed=0)
    price = relative_price(pose_deep(network, X, X[:, 0]), network)
    assert price == pytest.approx((3_000 + 18_000 + 150_000) / 1_680)
    images = np.random.default_rng(0).standard_normal((10, 6, 4))
    network = DeepNetwork.initialize(images, 4, 2, "convolutional_resnet", seed=0)
    price = relative_price(pose_deep(network, images, X[:, 0]), network)
    grams, step = 2 * 40 * 40 * (22 + 16), 6 * 40 * (72 + 48)
    assert price == pytest.approx((grams + 18_000 + 150_000) / step)
