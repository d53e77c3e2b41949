"""Models from their files predict what the estimators that wrote them do, from raw rows."""

import numpy as np
import pandas as pd
import pytest

import globalmin as gm

RNG = np.random.default_rng(5)
X = RNG.standard_normal((60, 3))
NEW = RNG.standard_normal((7, 3))
REAL = X[:, 0] * X[:, 1] + 0.3 * X[:, 2]
COUNTS = RNG.poisson(np.exp(0.5 * X[:, 0])).astype(float)
CLASSES = np.array(["a", "b", "c"])[np.digitize(REAL, [-0.5, 0.5])]
OPTIONS = {"weight_decay": 1.0, "certify": False}


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (gm.AdditiveNetworkRegressor(**OPTIONS), REAL),
        (gm.AdditiveNetworkRegressor(loss="poisson", **OPTIONS), COUNTS),
        (gm.AdditiveNetworkClassifier(**OPTIONS), CLASSES != "b"),
        (gm.AdditiveNetworkClassifier(**OPTIONS), CLASSES),
        (gm.AdditiveNetworkClassifier(loss="hinge", **OPTIONS), CLASSES),
        (gm.QuadraticNetworkClassifier(**OPTIONS), CLASSES),
        (gm.ReluNetworkClassifier(**OPTIONS, random_state=0), CLASSES != "b"),
    ],
)
def test_a_file_predicts_as_its_estimator_does(model, labels, tmp_path):
    model.fit(X, labels)
    model.save(tmp_path / "model.safetensors")
    saved = gm.load(tmp_path)
    assert isinstance(saved, gm.SavedModel)
    assert np.array_equal(saved.predict(NEW), model.predict(NEW))
    if hasattr(model, "predict_proba"):
        # the same formula: equal up to rounding of one exponential
        assert np.allclose(saved.predict_proba(NEW), model.predict_proba(NEW), rtol=1e-14, atol=0)
        assert np.allclose(saved.predict_proba(NEW).sum(axis=1), 1.0, rtol=1e-14)
    else:
        with pytest.raises(gm.DataError, match="has no probabilities"):
            saved.predict_proba(NEW)


def test_shallow_networks_with_their_scaling_predict_raw_rows(tmp_path):
    data = gm.Dataset(X[:20], REAL[:20], feature_names=["p", "q", "r"])
    run = gm.train_auto(data, activation="softplus", seed=0)
    gm.save_network(tmp_path / "net.safetensors", run.network, data.preprocessing)
    saved = gm.load(tmp_path / "net.safetensors")
    assert saved.columns == ("p", "q", "r")
    # trained to zero loss, so that the labels come back
    assert np.allclose(saved.predict(X[:20]), REAL[:20], atol=1e-9)
    frame = pd.DataFrame(X[:20], columns=["p", "q", "r"])[["r", "p", "q"]]
    assert np.array_equal(saved.predict(frame), saved.predict(X[:20]))
    with pytest.raises(gm.DataError, match="no input column 'q'"):
        saved.predict(frame[["p", "r"]])
    frame.loc[2, "q"] = np.nan
    with pytest.raises(gm.DataError, match=r"column 'q', data row 3: the value is missing"):
        saved.predict(frame)


def test_a_network_without_scaling_takes_its_own_rows(tmp_path):
    network = gm.RegularizedNetwork([[1.0, 0.0]], [0.5], [2.0], 0.25)
    gm.save_network(tmp_path / "net.safetensors", network)
    saved = gm.load(tmp_path / "net.safetensors")
    assert saved.predict([[1.0, 7.0], [-1.0, 7.0]]).tolist() == [3.25, 0.25]
    assert saved.columns is None


def test_the_recipe_of_a_file_is_done_again(tmp_path):
    rows = {
        "age": [None if i % 7 == 0 else float(20 + i % 30) for i in range(60)],
        "city": [["Oslo", "Rome", "Bern"][i % 3] for i in range(60)],
    }
    recipe = gm.learn_recipe(rows)
    numbers = recipe.transform(rows)
    model = gm.AdditiveNetworkRegressor(**OPTIONS).fit(numbers, REAL)
    path = tmp_path / "model.safetensors"
    model.save(path)
    stored = gm.load_networks(path)
    told = stored.metadata | {"recipe": recipe.to_json(), "target": "rent"}
    gm.save_networks(path, stored.networks, stored.preprocessing, told)
    saved = gm.load(path)
    assert (saved.columns, saved.targets) == (("age", "city"), ("rent",))
    expected = model.predict(numbers)
    assert np.array_equal(saved.predict(rows), expected)
    assert np.array_equal(saved.predict(pd.DataFrame(rows)), expected)
    plain = [[age, city] for age, city in zip(rows["age"], rows["city"], strict=True)]
    assert np.array_equal(saved.predict(np.array(plain, dtype=object)), expected)
    with pytest.raises(gm.DataError, match="rows of 1 cells, but the model has the columns 'age'"):
        saved.predict([[1.0]])


def test_damaged_classes_are_refused(tmp_path):
    network = gm.RegularizedNetwork([[1.0]], [0.0], [1.0])
    path = tmp_path / "m.safetensors"
    for classes in ("[", '["a"]', '["a", "b", "c"]', '"ab"'):
        gm.save_network(path, network, metadata={"classes": classes})
        with pytest.raises(gm.DataError, match="classes"):
            gm.load(path)


def test_softmax_files_share_one_scale(tmp_path):
    networks = [gm.RegularizedNetwork([[1.0]], [0.0], [float(j)]) for j in range(3)]
    path = tmp_path / "m.safetensors"
    gm.save_networks(path, networks, metadata={"classes": "[0, 1, 2]", "loss": "softmax"})
    model = gm.load(path)
    expected = np.exp([0.0, 2.0, 4.0]) / np.exp([0.0, 2.0, 4.0]).sum()
    # three exponentials and a division
    np.testing.assert_allclose(model.predict_proba([[2.0]])[0], expected, rtol=1e-14)
    assert model.predict([[2.0]]).tolist() == [2]


def test_a_joint_softmax_network_predicts_as_its_estimator(tmp_path):
    model = gm.AdditiveNetworkClassifier(loss="softmax", **OPTIONS).fit(X, CLASSES)
    model.save(tmp_path / "model.safetensors")
    saved = gm.load(tmp_path)
    assert np.array_equal(saved.predict(NEW), model.predict(NEW))
    assert np.allclose(saved.predict_proba(NEW), model.predict_proba(NEW), rtol=1e-13)
