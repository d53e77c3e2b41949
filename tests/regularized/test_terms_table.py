"""Terms as csv text, read back and compared with the terms themselves."""

import csv
import io

import numpy as np

import globalmin as gm
from globalmin.regularized.terms import table_of


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_knot_of_curves_and_surfaces_is_a_line():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)).round(2)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2])
    model = gm.AdditiveNetworkRegressor(
        interactions=[(0, 1)], weight_decay=2.0, gap=1e-3, certify=False
    ).fit(X, y)
    rows = _rows(table_of({"": model.terms_}))
    assert set(rows[0]) == {"term", "x", "y", "value"}
    for term in model.terms_:
        own = [row for row in rows if row["term"] == term.name]
        assert len(own) == term.values.size
        at = np.zeros((len(own), 3))
        for k, column in enumerate(term.columns):
            at[:, column] = [float(row["xy"[k]]) for row in own]
        assert all((row["y"] == "") == (len(term.columns) == 1) for row in own)
        # eight digits of a place and of a value
        np.testing.assert_allclose(term(at), [float(r["value"]) for r in own], atol=1e-6)


def test_classes_have_a_column_of_their_own():
    X = np.random.default_rng(1).standard_normal((60, 2))
    y = np.array(["p", "q", "r"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = gm.AdditiveNetworkClassifier(weight_decay=1.0, certify=False).fit(X, y)
    named = dict(zip(model.classes_.tolist(), model.terms_, strict=True))
    rows = _rows(table_of(named))
    assert [*dict.fromkeys(row["class"] for row in rows)] == ["p", "q", "r"]
    assert len(rows) == sum(term.values.size for part in named.values() for term in part)
