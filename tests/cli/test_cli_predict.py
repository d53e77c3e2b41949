"""`globalmin predict` and `gm.load`: a saved model on raw rows, by the names of the columns."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

import globalmin as gm
from globalmin.files import packed


def _rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def _frame(path):
    with path.open(newline="") as stream:
        return pd.DataFrame(list(csv.DictReader(stream))).astype(float)


def _fit(run, path, out, *more):
    assert run("fit", path, "-t", "price", "--out", out, "-q", *more).code in (0, 1)
    with (out / "predictions.csv").open(newline="") as stream:
        return [row["prediction"] for row in csv.DictReader(stream)]


@pytest.mark.parametrize("model", ["additive", "quadratic"])
def test_predictions_are_those_of_the_fit_bit_for_bit(run, table, tmp_path, model):
    path, out = table(40), tmp_path / "o"
    written = _fit(run, path, out, "--model", model, "--weight-decay", 3)
    ended = run("predict", out / "model.safetensors", path)
    assert ended.code == 0, ended
    assert [row["prediction"] for row in _rows(ended.out)] == written
    target = tmp_path / "p.csv"
    told = run("predict", out / "model.safetensors", path, "--out", target, "--json")
    assert told.json == {"command": "predict", "exit_code": 0, "n_rows": 40, "out": str(target)}
    assert target.read_text() == ended.out
    found = run("predict", out / "model.safetensors", path, "--json").json
    assert [repr(x) for x in found["predictions"]] == written


def test_columns_are_found_by_name_in_any_order(run, table, tmp_path):
    path, out = table(40), tmp_path / "o"
    written = _fit(run, path, out, "--model", "additive", "--weight-decay", 3)
    frame = _frame(path)
    other = tmp_path / "other.csv"
    frame[["d", "b", "a", "c"]].assign(extra=1.0).to_csv(other, index=False)
    ended = run("predict", out / "model.safetensors", other)
    assert [row["prediction"] for row in _rows(ended.out)] == written
    model = gm.load(out / "model.safetensors")
    assert model.columns == ("a", "b", "c", "d")
    shuffled = model.predict(frame[["c", "a", "price", "b", "d"]])
    assert [repr(float(x)) for x in shuffled] == written
    frame[["a", "b"]].to_csv(other, index=False)
    refused = run("predict", out / "model.safetensors", other)
    assert refused.code == 3
    assert "there is no column 'c', 'd'" in refused.err
    with pytest.raises(gm.DataError, match="lacks the columns c, d"):
        model.predict(frame[["a", "b"]])
    with pytest.raises(gm.DataError, match="rows of 4 finite numbers"):
        model.predict(np.ones((3, 2)))
    with pytest.raises(gm.DataError, match="no probabilities"):
        model.predict_proba(np.ones((3, 4)))


@pytest.mark.parametrize("cuts", [[0.0], [-0.5, 0.5]])
def test_classes_come_with_probabilities(run, table, tmp_path, cuts):
    def kinds(rows):
        for row in rows:
            row[4] = ["low", "mid", "high"][int(np.digitize(float(row[0]), cuts))]

    path, out = table(60, change=kinds), tmp_path / "o"
    written = _fit(run, path, out, "--model", "additive", "--weight-decay", 1)
    rows = _rows(run("predict", out / "model.safetensors", path).out)
    assert [row["prediction"] for row in rows] == written
    model = gm.load(out / "model.safetensors")
    assert model.classes is not None
    shares = np.array([[float(row[f"probability {c}"]) for c in model.classes] for row in rows])
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert [model.classes[j] for j in shares.argmax(axis=1)] == written


def test_an_interpolating_network_and_counts_predict_too(run, table, tmp_path):
    path, out = table(20), tmp_path / "o"
    arguments = ("fit", path, "-t", "price", "--interpolate", "--test-size", 0, "--out", out, "-q")
    assert run(*arguments).code == 0
    ended = run("predict", out / "model.safetensors", path)
    assert ended.code == 0, ended
    labels = pd.read_csv(path)["price"]
    assert [float(row["prediction"]) for row in _rows(ended.out)] == pytest.approx(labels, rel=1e-6)
    X = np.random.default_rng(0).standard_normal((60, 2))
    counts = np.round(np.exp(X[:, 0]))
    model = gm.AdditiveNetworkRegressor(loss="poisson", weight_decay=5.0, gap=1e-4).fit(X, counts)
    model.save(tmp_path / "counts.safetensors")
    again = gm.load(tmp_path / "counts.safetensors")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_model_without_names_takes_the_columns_that_are_left(run, table, tmp_path):
    path = table(30)
    frame = _frame(path)
    X, y = frame[list("abcd")].to_numpy(), frame["price"].to_numpy()
    model = gm.ReluNetworkRegressor(weight_decay=20.0, certify=False, random_state=0).fit(X, y)
    model.save(tmp_path / "m.safetensors")
    ended = run("predict", tmp_path / "m.safetensors", path, "--drop", "price")
    expected = [repr(float(x)) for x in model.predict(X)]
    assert [row["prediction"] for row in _rows(ended.out)] == expected
    refused = run("predict", tmp_path / "m.safetensors", path)
    assert refused.code == 3
    assert "rows of 4 finite numbers, without the target" in refused.err
    assert run("predict", tmp_path / "m.safetensors", path, "--drop", "prize").code == 3
    assert run("predict", tmp_path / "m.safetensors", tmp_path / "m.safetensors").code == 3


def test_damaged_classes_are_refused(tmp_path):
    network = gm.RegularizedNetwork([[1.0]], [0.0], [1.0])
    for classes in ("[", '["a"]', '["a", "b", "c"]', '"ab"'):
        path = tmp_path / "m.safetensors"
        gm.save_network(path, network, metadata={"classes": classes})
        with pytest.raises(gm.DataError, match="classes"):
            gm.load(path)
    path.write_bytes(packed({"W": np.zeros(1)}, {"format": "other"}))
    with pytest.raises(gm.DataError, match="other"):
        gm.load(path)


def test_loaded_probabilities_are_those_of_the_estimator(tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    for cuts in ([0.0], [-0.5, 0.5]):
        model = gm.AdditiveNetworkClassifier(weight_decay=1.0, certify=False)
        model.fit(X, np.digitize(X[:, 0], cuts)).save(tmp_path / "m.safetensors")
        again = gm.load(tmp_path / "m.safetensors")
        np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-14)


def test_softmax_files_share_one_scale(tmp_path):
    networks = [gm.RegularizedNetwork([[1.0]], [0.0], [float(j)]) for j in range(3)]
    path = tmp_path / "m.safetensors"
    gm.save_networks(path, networks, metadata={"classes": "[0, 1, 2]", "loss": "softmax"})
    model = gm.load(path)
    expected = np.exp([0.0, 2.0, 4.0]) / np.exp([0.0, 2.0, 4.0]).sum()
    np.testing.assert_allclose(model.predict_proba([[2.0]])[0], expected, rtol=1e-14)
    assert model.predict([[2.0]]).tolist() == [2]
