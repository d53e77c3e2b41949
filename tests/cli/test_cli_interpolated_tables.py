"""Interpolating networks on tables with text, dates and gaps; several targets with weight decay,
a model each.
"""

import csv
import json

import numpy as np
import pytest
from safetensors import safe_open

import globalmin as gm
from globalmin.data.preprocessing import split_rows
from globalmin_check import check_file


@pytest.fixture
def people(tmp_path):
    """60 rows with text, dates and gaps, numbers to fit, and a number that names a category."""
    rng = np.random.default_rng(5)
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sex", "age", "boarded", "deck", "fare", "cabin"])
        for i in range(60):
            age = "" if i % 7 == 0 else repr(float(rng.uniform(1, 80)))
            cells = [["male", "female"][i % 2], age, f"1912-04-{1 + i % 28:02}", str(i % 3)]
            writer.writerow([*cells, repr(float(rng.random())), repr(float(rng.standard_normal()))])
    return path


def stored_rows(path):
    """X of a certificate file."""
    with safe_open(path, framework="numpy") as stream:
        return stream.get_tensor("X")


def test_interpolation_takes_text_dates_and_gaps_and_the_model_does_so_again(run, people, tmp_path):
    out, model = tmp_path / "fit", tmp_path / "fit" / "model.safetensors"
    given = ["--interpolate", "--category", "deck", "--drop", "cabin", "--width", "20"]
    ended = run("fit", people, "-t", "fare", *given, "--out", out)
    assert ended.code == 0, ended.err
    assert "age: a number; gaps take the median" in ended.out
    assert "deck: a category (0, 1, 2)" in ended.out
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "How the columns became numbers" in page
    assert "boarded: a date, by days" in page
    assert check_file(out / "certificate.gmc").verdict.value == "ACCEPTED"
    # tomorrow: raw rows in another order of columns, in units of the label
    saved = gm.load(out)
    assert saved.recipe.columns == ("sex", "age", "boarded", "deck")
    raw = gm.read_raw_table(people)
    turned = raw.only(reversed(raw.names))
    predicted = run("predict", out, people, "--json").json["fare"]
    assert saved.predict(turned).tolist() == predicted
    labels = np.array([float(cell) for cell in raw.columns["fare"]])
    assert np.sum(np.abs(labels - predicted) < 1e-8) == 48  # those that trained
    # the same rows are found again by every command that takes the model
    shared = [model, people, "-t", "fare", "--test-size", "0.2", "--json"]
    again = run("certify", *shared, "--out", tmp_path / "again.gmc")
    assert again.json["verdict"] == "ACCEPTED"
    rows = [stored_rows(path) for path in (tmp_path / "again.gmc", out / "certificate.gmc")]
    assert np.array_equal(*rows)
    assert run("classify", *shared).json["kind"] == "global minimum"
    assert run("inspect", people, "-t", "fare", "--network", model, "--json").code in (0, 1)
    bound = run("attest", out / "certificate.gmc", "--model", model, "--data", people, "--json")
    assert bound.json["predicate"]["data"] == {"rows_compared": 48, "target": "fare"}


def test_a_table_of_numbers_is_fitted_as_without_a_recipe(run, table, tmp_path):
    """No recipe is stored, and the rows and their split are those of `Dataset`."""
    path = table(20)
    assert run("fit", path, "-t", "price", "--interpolate", "--out", tmp_path / "o").code == 0
    assert gm.load(tmp_path / "o").recipe is None
    data = gm.Dataset.load(path, target="price")
    train, _ = split_rows(data, 0.2, 0)
    stored = stored_rows(tmp_path / "o" / "certificate.gmc")
    expected = gm.Dataset(data.raw.X[train], data.raw.y[train]).X
    assert np.array_equal(stored, expected)


def test_columns_chosen_for_interpolation_are_the_inputs(run, table, tmp_path):
    given = ["-t", "price", "--interpolate", "--out", tmp_path / "o"]
    assert run("fit", table(12), *given, "--use", "a,c,d", "--drop", "c").code == 0
    saved = gm.load(tmp_path / "o")
    assert saved.columns == ("a", "d")
    assert saved.networks[0].n_features == 3


def test_several_targets_with_weight_decay_are_a_model_each(run, people, tmp_path):
    out = tmp_path / "both"
    given = ["-t", "fare", "-t", "cabin", "--model", "additive", "--weight-decay", "3"]
    ended = run("fit", people, *given, "--out", out, "--json")
    assert ended.code == 0, ended.err
    assert [part["data"]["target"] for part in ended.json["targets"]] == ["fare", "cabin"]
    alone = run(
        "fit", people, "-t", "fare", "--drop", "cabin", "--model", "additive", "--weight-decay",
        "3", "--out", tmp_path / "alone", "--json",
    ).json  # fmt: skip
    assert ended.json["targets"][0]["objective"] == alone["objective"]
    for name in ("fare", "cabin"):
        assert check_file(out / name / "certificate.gmc").verdict.value == "ACCEPTED"
        assert json.loads((out / name / "fit.json").read_text())["data"]["target"] == name
        assert "fare" not in gm.load(out / name).columns
    # one table of predictions, a column for each
    both = run("predict", out, people, "--json").json
    assert both["fare"] == gm.load(out / "fare").predict(gm.read_raw_table(people)).tolist()
    assert set(both) >= {"fare", "cabin"}
    with pytest.raises(gm.DataError, match=r"several targets; give one of .*cabin.*fare"):
        gm.load(out)
    refused = run("fit", people, *given, "--out", out)
    assert refused.code == 2
    assert "holds an earlier fit" in refused.err
    assert run("fit", people, *given, "--out", out, "--force").code == 0


def test_probabilities_of_several_targets_are_those_of_the_classes(run, people, tmp_path):
    out = tmp_path / "mixed"
    given = ["-t", "fare", "-t", "sex", "--model", "additive", "--weight-decay", "3"]
    assert run("fit", people, *given, "--out", out).code == 0
    found = run("predict", out, people, "--proba", "--json").json
    shares = np.array([found["probability of male"], found["probability of female"]])
    np.testing.assert_allclose(shares.sum(axis=0), 1.0)
    assert set(found["sex"]) <= {"male", "female"}
    assert isinstance(found["fare"][0], float)


def test_a_model_with_weight_decay_is_sent_to_its_own_command(run, people, tmp_path):
    out, model = tmp_path / "squares", tmp_path / "squares" / "model.safetensors"
    given = ["-t", "fare", "--model", "quadratic", "--weight-decay", "3", "--out", out]
    assert run("fit", people, *given).code == 0
    for command in ("certify", "classify"):
        ended = run(command, model, people, "-t", "fare")
        assert ended.code == 3
        assert "`globalmin fit` wrote its certificate" in ended.err
    ended = run("gap", model, people, "-t", "fare", "--weight-decay", "3")
    assert ended.code == 3
    assert "quadratic neurons" in ended.err
    assert "certificate" in ended.err
    bound = run("attest", out / "certificate.gmc", "--model", model, "--data", people, "--json")
    assert bound.json["predicate"]["data"]["rows_compared"] == 48


def test_the_rows_held_out_are_found_again_where_numbers_are_categories(tmp_path):
    """Rare categories are put together, so rows become equal; equal rows with other labels are not
    held out, and that must be seen again from the recipe alone.
    """
    from globalmin.cli.options import Columns
    from globalmin.cli.tables import read_again, read_numbered

    rng = np.random.default_rng(4)
    path = tmp_path / "codes.csv"
    rows = [f"{100 + i // 2},{i % 3},{rng.standard_normal()}" for i in range(60)]
    path.write_text("code,size,price\n" + "\n".join(rows) + "\n", encoding="utf-8")
    form = {"test_size": 0.3, "seed": 0, "bias": True, "scaling": "standardize"}
    for categories in ((), ("code",)):
        made = read_numbered(path, ["price"], Columns(categories=categories), **form)
        again = read_again(path, "price", made.recipe, **form)
        for ours, theirs in zip(made.rows, again.rows, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(made.X, again.X)
        np.testing.assert_array_equal(made.y, again.y)
