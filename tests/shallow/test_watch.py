"""How runs end and what they record, the same for every method."""

import itertools
import pickle

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import generators
from globalmin.errors import DataError, NotConverged
from globalmin.optimize.run import Status
from globalmin.shallow.degenerate import pose
from globalmin.shallow.methods.table import METHODS
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, loss, preactivations
from globalmin.shallow.train import train
from globalmin.shallow.trajectory import ShallowRecorder

SMOOTH = [name for name in METHODS if name not in ("homotopy", "least_squares")]


def case(n=20, d=6, k=10, activation="softplus", seed=0):
    data = generators.sphere_with_random_labels(n, d, seed=seed)
    return ShallowNetwork.initialize(data, k, activation, seed=seed), data


def test_every_status_carries_a_message_and_is_its_own_string():
    for status in Status:
        assert status.message
        assert status == status.value
    assert {s for s in Status if s.is_success} == {
        Status.CONVERGED,
        Status.PROVABLE,
        Status.SECOND_ORDER,
        Status.NO_DECREASE,
        Status.STOPPED,
    }


@pytest.mark.parametrize("method", ["levenberg_marquardt", "lbfgs", "gradient_descent"])
def test_converged_runs_reach_the_tolerance(method):
    network, data = case()
    run = train(network, data, method, tol=1e-6)
    assert run.status is Status.CONVERGED
    assert run.relative_residual <= 1e-6
    assert run.loss == pytest.approx(loss(run.network, data.X, data.y), rel=1e-6)
    assert run.method == method
    assert run.width == 10
    assert run.starts == 1


@pytest.mark.parametrize("method", SMOOTH)
def test_iteration_limit_ends_a_run(method):
    network, data = case()
    run = train(network, data, method, max_iter=3)
    assert run.status is Status.MAX_ITER
    assert run.n_iter == 3
    assert run.loss <= loss(network, data.X, data.y)


@pytest.mark.parametrize("method", SMOOTH)
def test_zero_iterations_return_the_start(method):
    network, data = case()
    run = train(network, data, method, max_iter=0)
    assert run.status is Status.MAX_ITER
    assert run.n_iter == 0
    assert np.array_equal(run.network.W, network.W)


@pytest.mark.parametrize("method", SMOOTH)
def test_an_interrupt_keeps_the_best_network(method):
    network, data = case()
    seen = []

    def stop_early(step):
        seen.append(step.loss)
        if len(seen) == 3:
            raise KeyboardInterrupt

    run = train(network, data, method, monitor=stop_early)
    assert run.status is Status.INTERRUPTED
    assert len(seen) == 3
    assert loss(run.network, data.X, data.y) == pytest.approx(min(seen), rel=1e-9)


def test_an_interrupt_of_auto_ends_all_starts():
    network, data = case()

    def stop(step):
        raise KeyboardInterrupt

    run = train(network, data, "auto", monitor=stop)
    assert run.status is Status.INTERRUPTED
    assert run.starts == 1


@pytest.mark.parametrize("method", ["gradient_descent", "sgd"])
def test_an_absurd_step_diverges_and_the_best_network_is_kept(method):
    network, data = case(activation="quadratic")
    run = train(network, data, method, step_size=1e9)
    assert run.status is Status.DIVERGED
    assert np.array_equal(run.network.W, network.W)
    assert np.isfinite(run.trajectory.loss).all()


def test_a_start_that_overflows_is_diverged_at_once():
    data = generators.sphere_with_random_labels(5, 3, seed=0)
    network = ShallowNetwork(
        1e200 * np.ones((2, 3)), np.array([1.0, -2.0]), get_activation("quadratic")
    )
    run = train(network, data, "gradient_descent", step_size=0.1)
    assert run.status is Status.DIVERGED
    assert run.n_iter == 0
    assert len(run.trajectory) == 0


def test_throw_raises_instead_of_returning_a_failure():
    network, data = case()
    for method in ("levenberg_marquardt", "auto"):
        with pytest.raises(NotConverged, match="iteration limit"):
            train(network, data, method, max_iter=1, throw=True)
    assert train(network, data, "levenberg_marquardt", throw=True).status is Status.CONVERGED


@pytest.mark.parametrize("until", ["provable", "descent"])
def test_training_stops_as_soon_as_the_claim_is_provable(until):
    from globalmin.shallow.provability import estimate_provability

    network, data = case()
    claim = "interpolation" if until == "provable" else until
    run = train(network, data, "levenberg_marquardt", until=until)
    full = train(network, data, "levenberg_marquardt")
    assert run.status is Status.PROVABLE
    assert run.n_iter < full.n_iter
    assert estimate_provability(run.network, data.X, data.y, claim=claim) < 1
    assert run.relative_residual > 1e-12


def test_trajectory_columns_agree_with_their_definitions():
    network, data = case()
    points = []
    run = train(
        network, data, "levenberg_marquardt", monitor=lambda step: points.append(step.network())
    )
    path = run.trajectory
    assert len(points) == len(path)
    assert path.iteration[0] == 0
    lengths = [np.linalg.norm(b.W - a.W) for a, b in itertools.pairwise(points)]
    signs = [
        np.sum((preactivations(p, data.X) > 0) != (preactivations(network, data.X) > 0))
        for p in points
    ]
    sigma = [np.sqrt(max(np.linalg.eigvalsh(jacobian_gram(p, data.X))[0], 0)) for p in points]
    assert np.allclose(path.loss, [loss(p, data.X, data.y) for p in points], rtol=1e-12, atol=1e-30)
    assert np.allclose(path.distance, [np.linalg.norm(p.W - network.W) for p in points], rtol=1e-12)
    assert np.allclose(path.path_length, np.concatenate([[0], np.cumsum(lengths)]), rtol=1e-12)
    assert np.array_equal(path.pattern_changes, signs)
    known = ~np.isnan(path.sigma_min)
    assert known[0]
    assert known[1]
    assert known[2]
    assert known[-1]
    assert np.allclose(path.sigma_min[known], np.array(sigma)[known], rtol=1e-6)
    assert set(path.columns()) >= {"iteration", "loss", "gradient_norm"}


def test_long_runs_are_recorded_thinned_and_with_the_last_step():
    network, data = case(n=30, k=6)
    run = train(network, data, "gradient_descent", max_iter=5000)
    steps = run.trajectory.iteration
    assert steps[-1] == run.n_iter == 5000
    assert np.array_equal(steps[:200], np.arange(200))
    assert len(steps) < 1200
    assert np.all(run.trajectory.path_length >= run.trajectory.distance - 1e-12)


def test_spectrum_of_larger_problems_is_a_close_value_from_above():
    network, data = case(n=140, d=12, k=16)
    run = train(network, data, "levenberg_marquardt", max_iter=1)
    exact = np.sqrt(np.linalg.eigvalsh(jacobian_gram(network, data.X))[0])
    assert exact * (1 - 1e-6) <= run.trajectory.sigma_min[0] <= 1.1 * exact


def test_the_last_step_has_its_spectrum_whatever_its_number():
    network, data = case(n=30, k=6)
    run = train(network, data, "gradient_descent", max_iter=7)
    assert run.trajectory.iteration[-1] == 7  # no power of two
    exact = np.sqrt(np.linalg.eigvalsh(jacobian_gram(run.network, data.X))[0])
    assert run.trajectory.sigma_min[-1] == pytest.approx(exact, rel=1e-6)
    assert np.isnan(run.trajectory.sigma_min[[3, 5, 6]]).all()


def test_a_trajectory_sent_to_another_process_has_values_and_no_data():
    network, data = case(n=30, k=6)
    path = train(network, data, "gradient_descent", max_iter=3).trajectory
    sent = pickle.loads(pickle.dumps(path))  # noqa: S301
    assert len(sent.points) == 0
    assert np.array_equal(sent.sigma_min, path.sigma_min, equal_nan=True)
    assert np.array_equal(sent.columns()["sigma_min"], path.sigma_min, equal_nan=True)


def test_spectrum_is_left_out_where_it_is_not_affordable(monkeypatch):
    monkeypatch.setattr("globalmin.shallow.trajectory.SPECTRUM_LIMIT", 10)
    network, data = case()
    recorder = ShallowRecorder(pose(network, data, "W"))
    recorder.record(pose(network, data, "W"), 0)
    assert np.isnan(recorder.close().sigma_min).all()


def test_nothing_is_drawn_when_stderr_is_not_a_terminal(capsys):
    network, data = case()
    train(network, data, "levenberg_marquardt", verbose=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"trained": "both"}, "trained='both'"),
        ({"tol": -1.0}, "tol=-1.0"),
        ({"tol": float("nan")}, "tol=nan"),
        ({"until": "bored"}, "until='bored'"),
        ({"max_iter": -2}, "max_iter=-2"),
        ({"max_iter": 1.5}, "max_iter=1.5"),
        ({"method": "adam"}, "method='adam'"),
        ({"step_size": 0.1}, "step_size=0.1"),
        ({"method": "gradient_descent", "step_size": 0.0}, "step_size=0.0"),
        ({"method": "gradient_descent", "step_size": "large"}, "step_size='large'"),
        ({"method": "sgd", "batch_size": 0}, "batch_size=0"),
        ({"method": "homotopy"}, "relu, leaky_relu and abs"),
    ],
)
def test_unusable_options_are_refused_by_name(options, match):
    network, data = case()
    with pytest.raises(DataError, match=match):
        train(network, data, **options)


def test_data_that_do_not_belong_to_the_network_are_refused():
    network, _ = case(d=6)
    with pytest.raises(DataError, match="6 features but X has 5"):
        train(network, generators.sphere_with_random_labels(8, 5, seed=0))
