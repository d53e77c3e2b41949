"""Whole models in onnxruntime: raw rows in, the predictions of ours out.

Both sides compute in float64 and differ in the order of sums only: sums of at most a few hundred
terms of size 1 round by 1e-13 or so. 1e-9 of the largest prediction leaves room for the rounding of
y_scale into the head, and is far below float32 (6e-8), which a graph slips into easily.
"""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import globalmin as gm
from globalmin.data.raw_table import raw_table_of
from globalmin.interop import UnsupportedModel, onnx_inputs, to_onnx

runtime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(5)
X = RNG.standard_normal((60, 3)) * [1.0, 30.0, 0.2] + [0.0, 500.0, -3.0]
NEW = RNG.standard_normal((40, 3)) * [1.0, 30.0, 0.2] + [0.0, 500.0, -3.0]
Z = (X - [0.0, 500.0, -3.0]) / [1.0, 30.0, 0.2]
REAL = 40.0 + 7.0 * (Z[:, 0] * Z[:, 1] + 0.3 * Z[:, 2])
COUNTS = RNG.poisson(np.exp(0.5 * Z[:, 0])).astype(float)
CLASSES = np.array(["a", "b", "c"])[np.digitize(REAL, [38.0, 43.0])]
OPTIONS = {"weight_decay": 1.0, "certify": False}
FREE = {"width": 6, "certify": False, "max_iter": 3, "random_state": 0}
ROOM = 1e-9


def ran(model, rows, **given):
    proto = to_onnx(model, **given)
    session = runtime.InferenceSession(proto.SerializeToString())
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, onnx_inputs(model, rows, **given)), strict=True))


def agree(got, expected, room=ROOM):
    expected = np.asarray(expected)
    assert got.reshape(expected.shape).dtype == expected.dtype
    np.testing.assert_allclose(
        got.reshape(expected.shape), expected, rtol=0, atol=room * np.abs(expected).max()
    )


REGRESSORS = [
    (gm.AdditiveNetworkRegressor(**OPTIONS), REAL),
    (gm.AdditiveNetworkRegressor(loss="poisson", **OPTIONS), COUNTS),
    (gm.AdditiveNetworkRegressor(**OPTIONS, interactions="pairs"), REAL),
    (gm.SquaresNetworkRegressor(loss="huber", **OPTIONS), REAL),
    (gm.ReluNetworkRegressor(**OPTIONS, random_state=0), REAL),
    (gm.QuadraticNetworkRegressor(certify=False), REAL),
    (gm.ShallowNetworkRegressor(**FREE), REAL),
    (gm.ShallowNetworkRegressor(**FREE, activation="gelu", bias=False), REAL),
    (gm.ShallowNetworkRegressor(**FREE, activation="sigmoid(3)", scaling="rows"), REAL),
    (gm.ShallowNetworkRegressor(**FREE, scaling="none"), np.stack([REAL, COUNTS], axis=1)),
    (gm.DeepNetworkRegressor(**FREE), REAL),
    (gm.DeepNetworkRegressor(**FREE, architecture="resnet"), np.stack([REAL, COUNTS], axis=1)),
    (gm.ProvedNetworkRegressor(models="additive", **OPTIONS), REAL),
]


def _named(value):
    return f"{value!r}"[:60] if hasattr(value, "fit") else ""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("model", "labels"), REGRESSORS, ids=_named)
def test_regressors_predict_alike(model, labels):
    model.fit(X, labels)
    agree(ran(model, NEW)["y"], model.predict(NEW))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (gm.AdditiveNetworkClassifier(**OPTIONS), CLASSES != "b"),
        (gm.AdditiveNetworkClassifier(loss="softmax", **OPTIONS), CLASSES),
        (gm.AdditiveNetworkClassifier(loss="logistic", **OPTIONS), CLASSES),
        (gm.AdditiveNetworkClassifier(loss="hinge", **OPTIONS), np.digitize(REAL, [38.0, 43.0])),
        (gm.QuadraticNetworkClassifier(**OPTIONS), CLASSES),
        (gm.ReluNetworkClassifier(**OPTIONS, random_state=0), (CLASSES != "b") * 3.0),
        (gm.ShallowNetworkClassifier(**FREE), CLASSES),
        (gm.ShallowNetworkClassifier(**FREE), np.full(60, "one")),
        (gm.DeepNetworkClassifier(**FREE), CLASSES),
    ],
    ids=_named,
)
def test_classifiers_say_the_same_class_scores_and_probabilities(model, labels):
    model.fit(X, labels)
    got = ran(model, NEW)
    assert got["label"].tolist() == model.predict(NEW).tolist()
    scores = model.decision_function(NEW)
    if scores.ndim == 1 and got["scores"].shape[1] == 2:  # softmax of two classes
        scores = scores[:, None] * [0.0, 1.0] + got["scores"][:, :1]
    agree(got["scores"], scores)
    assert ("probabilities" in got) == hasattr(model, "predict_proba")
    if "probabilities" in got:
        agree(got["probabilities"], model.predict_proba(NEW))


def test_images_and_patches_predict_alike():
    images = np.random.default_rng(0).standard_normal((20, 4, 5, 2))
    labels = images[:, 1, 2, 0] - images[:, 0, 0, 1]
    given = dict(FREE, architecture="convolutional_resnet", depth=2, patch_size=3)
    with pytest.warns(UserWarning, match="raise max_iter"):
        deep = gm.DeepNetworkRegressor(**given).fit(images, labels)
    agree(ran(deep, images)["y"], deep.predict(images))
    for options in (
        {"normalize": "none", "bias": True, "padding": "same"},
        {"normalize": "contrast", "head": "trained", "filters": 2},
    ):
        layout = {"patch_size": 3, "stride": 2, "max_iter": 3, "restarts": 0, "certify": False}
        model = gm.PatchNetworkRegressor(**layout, **options, random_state=0)
        with pytest.warns(UserWarning, match="raise max_iter"):
            model.fit(images, labels)
        agree(ran(model, images)["y"], model.predict(images))
    rows = np.abs(np.random.default_rng(1).standard_normal((30, 6)))
    one = gm.ConvolutionalFilterRegressor(2, max_iter=2, random_state=0, restarts=0)
    with pytest.warns(UserWarning, match="raise max_iter"):
        one.fit(rows, rows[:, 0])
    agree(ran(one, rows)["y"], one.predict(rows))


DATES = [f"{1899 + i // 6}-{1 + i % 12:02d}-{1 + i * 7 % 28:02d}" for i in range(60)]
TIMES = [None if i % 9 == 1 else dt.datetime(2024, 2, 28, i % 24, i % 60, 59) for i in range(60)]
TABLE = {
    "age": [None if i % 7 == 0 else float(20 + i % 30) for i in range(60)],
    "y": [f"{i % 11}" for i in range(60)],
    "city": [[None, "Oslo", "Rome", "Bern"][i % 4] for i in range(60)],
    "sex": [["f", "m"][i % 5 > 2] for i in range(60)],
    "rare": [["x", "y", f"only {i}"][min(i % 8, 2)] for i in range(60)],
    "born": DATES,
    "seen": TIMES,
}


def with_recipe(folder, model, table, labels):
    recipe = gm.learn_recipe(table)
    model.fit(recipe.transform(table), labels).save(folder / "model.safetensors")
    stored = gm.load_networks(folder / "model.safetensors")
    told = stored.metadata | {"recipe": recipe.to_json(), "target": "rent"}
    gm.save_networks(folder / "model.safetensors", stored.networks, stored.preprocessing, told)
    return gm.load(folder)


def test_tables_go_in_as_they_are(tmp_path):
    model = with_recipe(tmp_path, gm.AdditiveNetworkRegressor(**OPTIONS), TABLE, REAL)
    kinds = [step.kind for step in model.recipe.steps]
    assert kinds == ["number", "number", "category", "category", "category", "date", "date"]
    assert {part for step in model.recipe.steps for part in step.parts} == {
        *("days", "month", "weekday", "hour")
    }
    new = pd.DataFrame({name: cells[7:] + cells[:7] for name, cells in TABLE.items()})
    new.loc[3, "city"], new.loc[4, "rare"], new.loc[5, "born"] = "Paris", "never seen", "2100-02-28"
    new.loc[6, "seen"], new.loc[8, "born"] = dt.datetime(1969, 12, 31, 23, 59), "1899-12-31"
    got = ran(model, new)
    assert "y_" in got  # there is an input of that name
    with pytest.warns(UserWarning, match="'Paris'; they count as none of the known ones"):
        expected = model.predict(new)
    agree(got["y_"], expected)


def test_gaps_that_training_had_not_are_filled_as_ours_are(tmp_path):
    table = {"age": [float(i % 9) for i in range(60)], "sex": TABLE["sex"], "city": TABLE["rare"]}
    model = with_recipe(tmp_path, gm.AdditiveNetworkRegressor(**OPTIONS), table, REAL)
    new = {
        "age": [1.0, None, 2.0, 3.0],
        "sex": ["f", "m", None, "m"],
        "city": ["x", "x", "y", None],
    }
    with pytest.warns(UserWarning, match="gap"):
        expected = model.predict(new)
    agree(ran(model, new)["y"], expected)


def test_every_day_of_four_centuries_has_its_month_weekday_and_hour():
    from globalmin.interop.onnx_nodes import Nodes
    from globalmin.interop.onnx_tables import recipe_nodes

    recipe = gm.Recipe((gm.learn_recipe({"t": DATES}).steps[0],))
    parts = recipe.steps[0].parts
    nodes = Nodes()
    nodes.output("parts", recipe_nodes(nodes, recipe), len(parts))
    session = runtime.InferenceSession(nodes.model().SerializeToString())
    first = dt.datetime(1799, 12, 1)
    days = [first + dt.timedelta(days=k) for k in range(0, 146097 + 60)]
    seconds = np.array([(day - dt.datetime(1970, 1, 1)).total_seconds() for day in days])
    (got,) = session.run(None, {"t": seconds[:, None]})
    expected = {"month": [d.month for d in days], "weekday": [d.isoweekday() for d in days]}
    expected["days"] = [d.toordinal() - 719163 for d in days]
    assert set(parts) == set(expected)
    for name, column in zip(parts, got.T, strict=True):
        assert np.array_equal(column, expected[name]), name


def test_names_bring_columns_into_order(tmp_path):
    frame = pd.DataFrame(X, columns=["p", "q", "r"])
    model = gm.AdditiveNetworkRegressor(**OPTIONS).fit(frame, REAL)
    model.save(tmp_path / "model.safetensors")
    saved = gm.load(tmp_path)
    new = pd.DataFrame(NEW, columns=["p", "q", "r"])[["r", "p", "q"]]
    agree(ran(saved, new)["y"], model.predict(new[["p", "q", "r"]]))
    with pytest.raises(gm.DataError, match="no input column 'q'"):
        onnx_inputs(saved, new[["r", "p"]])


def outputs(model, cells):
    """Predictions from the numbers that the recipe makes of a table."""
    (step,), (network,) = model.preprocessing, model.networks
    return step.restore(network.predict(step.transform(cells)))


def test_single_precision_is_float32_throughout(tmp_path):
    model = with_recipe(tmp_path, gm.AdditiveNetworkRegressor(**OPTIONS), TABLE, REAL)
    got = ran(model, TABLE, single=True)["y_"]
    assert got.dtype == np.float32
    expected = model.predict(TABLE)
    cells = model.recipe.transform(raw_table_of(TABLE))
    moved = np.zeros(len(cells))  # by four roundings of every cell: itself, shift, scale, a kink
    for j in range(cells.shape[1]):
        ends = [cells.copy(), cells.copy()]
        for cell, change in zip(ends, (1.0, -1.0), strict=True):
            cell[:, j] *= 1.0 + change * 2.0**-22
        moved += np.max([np.abs(outputs(model, cell) - expected) for cell in ends], axis=0)
    # and by a hundred roundings of the sum over neurons
    assert (np.abs(got[:, 0] - expected) <= moved + 100 * 2.0**-24 * np.abs(expected)).all()
    assert (got[:, 0] != expected.astype(np.float32)).any()


def straight(network):
    session = runtime.InferenceSession(to_onnx(network).SerializeToString())
    return session.run(None, {"X": Z})[0]


def test_a_scalar_after_a_product_stays_double():
    """onnxruntime would take it into the product as float32."""
    for name in ("sigmoid(0.3)", "leaky_relu(0.3)", "gelu", "erf"):
        network = gm.ShallowNetwork([[1.0, 2.0, 3.0]], [1.0], name)
        agree(straight(network), network.predict(Z), room=1e-14)  # three terms, one function


def test_linear_parts_several_outputs_and_polynomials():
    linear = gm.RegularizedNetwork([[1.0, 0.0, 2.0]], [0.5], [2.0], 0.25, [1.0, 2.0, -1.0])
    cubic = gm.ShallowNetwork(np.eye(3), [1.0, 2.0, -1.0], "polynomial(1,-2,0.5,3)")
    for network in (linear, cubic):
        agree(straight(network), network.predict(Z), room=1e-14)  # sums of a dozen terms
    for network in (linear.predict(Z), cubic.predict(Z)):
        assert np.ptp(network) > 1


def test_the_series_of_erf_is_erf():
    from math import erf

    from globalmin.interop.onnx_nodes import Nodes

    nodes = Nodes()
    x = nodes.input("X", 1)
    nodes.output("y", nodes.activation("erf", x, None, ""), 1)
    session = runtime.InferenceSession(nodes.model().SerializeToString())
    grid = np.concatenate([np.linspace(-9, 9, 3001), [-1e300, 1e300, 1e-300, 0.0]])
    (got,) = session.run(None, {"X": grid[:, None]})
    # exp(-z^2) with z^2 up to 36 rounded: 36 units
    assert np.abs(got[:, 0] - [erf(z) for z in grid]).max() <= 36 * 2.0**-53


def test_shares_that_all_vanish_are_equal(tmp_path):
    networks = [gm.RegularizedNetwork([[1.0]], [0.0], [1.0], -1e4)] * 3
    path = tmp_path / "m.safetensors"
    gm.save_networks(path, networks, metadata={"classes": "[0, 1, 2]", "loss": "logistic"})
    model = gm.load(path)
    shares = ran(model, [[0.0]])["probabilities"]
    assert shares.tolist() == model.predict_proba([[0.0]]).tolist() == [[1 / 3] * 3]


def test_what_has_no_form_is_refused_at_once(tmp_path):
    with pytest.raises(gm.DataError, match="is not fitted; call fit"):
        to_onnx(gm.AdditiveNetworkRegressor())
    with pytest.raises(gm.DataError, match=r"model=dict has no form in ONNX here; give a Shallow"):
        to_onnx({})
    model = gm.AdditiveNetworkRegressor(**OPTIONS).fit(X, REAL)
    with pytest.raises(gm.DataError, match="whole model has its own"):
        to_onnx(model, preprocessing=gm.Dataset(X, REAL).preprocessing)
    with pytest.raises(gm.DataError, match="model=int: give a SavedModel"):
        onnx_inputs(3, X)
    mine = gm.register_activation("sine_of_tests", np.sin, np.cos, replace=True)
    network = gm.ShallowNetwork(np.ones((2, 3)), np.ones(2), mine)
    with pytest.raises(UnsupportedModel, match="the activation sine_of_tests; one that ONNX"):
        to_onnx(network, tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())
