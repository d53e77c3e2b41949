"""Fits recorded by the real MLflow client in a store of files, and read back through it."""

import numpy as np
import pytest

import globalmin as gm

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("proofs")
    yield mlflow.MlflowClient()
    mlflow.set_tracking_uri(None)


def _table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    return X, np.abs(X[:, 0]) + 0.1 * rng.standard_normal(40)


def test_a_fit_is_recorded_with_its_numbers_and_its_certificate(store, tmp_path):
    X, y = _table()
    model = gm.AdditiveNetworkRegressor(weight_decay=2.0).fit(X, y)
    with mlflow.start_run() as run:
        gm.interop.log_to_mlflow(model)
    found = store.get_run(run.info.run_id).data
    assert found.params["weight_decay"] == "2.0"
    assert found.metrics["gap"] == model.gap_
    assert found.metrics["objective"] == model.objective_
    assert found.metrics["lower_bound"] == model.lower_bound_
    assert found.tags["globalmin.verdict"] == "ACCEPTED"
    path = mlflow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path="certificate.gmc", dst_path=str(tmp_path)
    )
    assert gm.check(path).verdict == "ACCEPTED"
    model_path = mlflow.artifacts.download_artifacts(
        run_id=run.info.run_id, artifact_path="model.safetensors", dst_path=str(tmp_path)
    )
    assert np.array_equal(gm.load_network(model_path).network.W, model.networks_[0].W)


def test_several_networks_are_numbered_and_infinities_left_out(store):
    X, y = _table()
    labels = np.digitize(y, [0.5, 1.0])
    model = gm.AdditiveNetworkClassifier(weight_decay=2.0, certify=False).fit(X, labels)
    with mlflow.start_run() as run:
        gm.interop.log_to_mlflow(model)
    found = store.get_run(run.info.run_id).data
    values = np.ravel(model.objective_)
    names = ["objective"] if len(values) == 1 else [f"objective-{i}" for i in range(len(values))]
    assert [found.metrics[name] for name in names] == values.tolist()
    assert not any(name.startswith("gap") for name in found.metrics)  # nothing was proved


def test_losses_are_recorded_while_training(store):
    data = gm.generators.sphere_with_random_labels(20, 6, seed=0)
    start = gm.ShallowNetwork.initialize(data, width=8, activation="softplus", seed=0)
    with mlflow.start_run() as run:
        done = gm.train(
            start, data, method="levenberg_marquardt", monitor=gm.interop.mlflow_monitor(every=2)
        )
    history = store.get_metric_history(run.info.run_id, "loss")
    recorded = {metric.step: metric.value for metric in history}
    assert recorded[0] == pytest.approx(done.losses[0], rel=1e-15)  # one loss, written as text
    assert set(recorded) == {step for step in range(done.n_iter + 1) if step % 2 == 0}


def test_what_is_not_a_fitted_estimator_is_refused():
    with pytest.raises(gm.DataError, match="model=AdditiveNetworkRegressor has no verdict_"):
        gm.interop.log_to_mlflow(gm.AdditiveNetworkRegressor())
    with pytest.raises(gm.DataError, match="every=0"):
        gm.interop.mlflow_monitor(every=0)
