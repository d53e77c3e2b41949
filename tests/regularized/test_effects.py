"""What a column does to the output of a network that sees all columns: by hand, and where it is
additive by its terms.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pandas as pd
import pytest

import globalmin as gm
from globalmin.data.preprocessing import fit_preprocessing
from globalmin.regularized.effects import PLACES, ROWS, effects_of, effects_table
from globalmin.regularized.figures import draw_effects
from globalmin.regularized.network import RegularizedNetwork


def rows(n: int = 60) -> Any:
    rng = np.random.default_rng(0)
    return np.column_stack([rng.uniform(-3, 5, n), rng.integers(0, 2, n), rng.uniform(10, 20, n)])


def test_a_column_is_moved_and_the_others_stay() -> None:
    """Brute force at every row and place; the product of two columns is not additive."""
    X = rows()
    (step,) = fit_preprocessing(X, 3.0 * X[:, :1] + 1.0, bias=False)
    rng = np.random.default_rng(1)
    network = RegularizedNetwork(rng.standard_normal((5, 3)), rng.standard_normal(5), np.ones(5))
    found = effects_of(network, step, X, ["p", "q", "r"])
    assert sorted(effect.name for effect in found) == ["p", "q", "r"]
    assert [effect.size for effect in found] == sorted((e.size for e in found), reverse=True)
    for effect in found:
        j = effect.column
        assert effect.places[0] == X[:, j].min()
        assert effect.places[-1] == X[:, j].max()
        for i in (0, 17, 59):
            for place, output in zip(effect.places, effect.outputs[i], strict=True):
                row = X[i].copy()
                row[j] = place
                expected = step.restore(network.predict(step.transform(row[None])))[0]
                assert output == pytest.approx(expected, rel=1e-12)
    places = {effect.name: effect.places for effect in found}
    assert (len(places["p"]), places["q"].tolist()) == (PLACES, [0.0, 1.0])


def test_size_is_how_much_a_column_moves_the_mean_output() -> None:
    """f = 2 p on the data, so the deviation is twice that of p, and the other column has none."""
    X = rows()[:, [0, 2]]
    (step,) = fit_preprocessing(X, X[:, :1], bias=False, scaling="none")
    network = RegularizedNetwork(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2), [2.0, -2.0])
    first, second = effects_of(network, step, X, ["p", "r"])
    # the kink at zero lies between two places, where interpolation is exact for a straight line
    assert (first.name, first.size) == ("p", pytest.approx(2.0 * X[:, 0].std(), rel=1e-12))
    assert second.size == pytest.approx(0.0, abs=1e-12)
    assert first.mean == pytest.approx(2.0 * first.places, abs=1e-12)


def test_rows_of_a_long_table_are_evenly_spaced() -> None:
    X = np.arange(3.0 * 5000).reshape(5000, 3)
    (step,) = fit_preprocessing(X, X[:, :1], bias=False, scaling="none")
    network = RegularizedNetwork(np.eye(3), np.zeros(3), np.ones(3))
    effect = effects_of(network, step, X, ["a", "b", "c"])[0]
    assert effect.outputs.shape == (ROWS, PLACES)
    others = X.sum(axis=1)[[0, 4999]] - X[[0, 4999], effect.column]
    assert effect.outputs[[0, -1], 0] == pytest.approx(others + effect.places[0])


def test_the_table_has_the_mean_and_the_tenths() -> None:
    X = rows()
    (step,) = fit_preprocessing(X, X[:, :1], bias=False)
    # far from the kinks, so that no two rows have one output
    network = RegularizedNetwork(np.eye(3), np.full(3, 10.0), np.ones(3))
    found = effects_of(network, step, X, ["p", "q", "r"])
    lines = list(csv.DictReader(io.StringIO(effects_table(found))))
    assert len(lines) == 2 * PLACES + 2
    first, line = found[0], lines[3]
    assert (line["column"], float(line["value"])) == (
        first.name,
        pytest.approx(first.places[3], rel=1e-7),
    )
    outputs = np.sort(first.outputs[:, 3])
    assert float(line["mean"]) == pytest.approx(outputs.mean(), rel=1e-7)
    # the tenth of 60 numbers lies nine tenths of the way from the sixth to the seventh
    assert float(line["lower tenth"]) == pytest.approx(
        0.1 * outputs[5] + 0.9 * outputs[6], rel=1e-6
    )
    assert float(line["upper tenth"]) > float(line["mean"])


def test_estimators_draw_their_columns_by_name() -> None:
    X = rows()
    frame = pd.DataFrame(X, columns=["age", "sex", "income"])
    y = np.where(X[:, 0] * (X[:, 1] - 0.5) > 0, "yes", "no")
    model = gm.ReluNetworkClassifier(weight_decay=1.0, certify=False, random_state=0)
    found = model.fit(frame, y).effects(X)
    assert {effect.name for effect in found} == {"age", "sex", "income"}
    moved = {effect.name: effect for effect in found}["age"]
    at = np.flatnonzero(X[:, 0] == moved.places[0])[0]
    assert moved.outputs[at, 0] == pytest.approx(model.decision_function(frame)[at])
    assert len(model.plot_effects(X, most=2).axes) == 2
    assert len(draw_effects(found, X).axes) == 3
