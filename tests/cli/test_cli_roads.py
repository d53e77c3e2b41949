"""Which road `globalmin fit` takes, that it is said, and what the default one writes."""

import csv
import json

import numpy as np
import pytest
from tests.cli.folders import everything_below

import globalmin as gm
from globalmin.cli.roads import check_weight_decay, road_of
from globalmin.report.words import typeset_sentence
from globalmin_check import check_file


def _road(*given, model="auto", interpolate=False, scaling="standardize"):
    return road_of(model, given, interpolate=interpolate, scaling=scaling)


def test_nothing_given_is_regularized_and_interpolation_is_a_choice():
    assert _road().is_regularized
    assert _road("model", model="quadratic").is_regularized
    for road in (_road(interpolate=True), _road("model", model="shallow"), _road(model="deep")):
        assert not road.is_regularized
        assert road.note == ""


@pytest.mark.parametrize(
    "name",
    ["activation", "width", "method", "trained", "until", "max_iter", "bias", "depth",
     "architecture", "image", "patch_size", "stride", "filters", "head", "padding", "normalize"],
)  # fmt: skip
def test_options_of_interpolating_networks_imply_their_road_and_say_so(name):
    road = _road(name, "seed")
    assert not road.is_regularized
    assert f"--{name.replace('_', '-')}" in road.note
    assert "asks for an interpolating network" in road.note
    with pytest.raises(Exception, match="leave it out, or take --interpolate"):
        _road(name, "model", model="additive")


def test_rows_of_norm_one_are_for_interpolation():
    assert "--scaling rows" in _road(scaling="rows").note


def test_what_both_roads_could_mean_is_refused():
    for given, more, said in (
        (("loss",), {"interpolate": True}, "--loss: for models with weight decay"),
        (("task", "width"), {}, "--task: for models with weight decay, not for --width"),
        (("model",), {"interpolate": True, "model": "relu"}, "leave one of them out"),
        (("gap", "model"), {"model": "deep"}, "--gap: for models with weight decay"),
    ):
        with pytest.raises(Exception, match=said):
            _road(*given, **more)


def test_a_decay_needs_a_model():
    assert check_weight_decay("cv", "auto") == "cv"
    assert check_weight_decay("2.5", "relu") == 2.5
    for text, model, said in (
        ("2", "auto", "another penalty in every model"),
        ("0", "additive", "cv or a positive number"),
        ("soft", "additive", "neither cv nor a number"),
        ("-1", "additive", "neither cv nor a number"),
        ("inf", "additive", "neither cv nor a number"),
    ):
        with pytest.raises(Exception, match=said):
            check_weight_decay(text, model)


def test_the_default_compares_proves_and_writes_everything(run, table, tmp_path):
    out = tmp_path / "o"
    ended = run("fit", table(60), "-t", "price", "--out", out, "--json")
    assert ended.code == 0, ended
    found = ended.json
    kind = found["network"]["kind"]
    picture = {"additive": "terms", "quadratic": "interactions"}[kind]
    assert everything_below(out) == {
        "certificate.gmc", "fit.json", "model.safetensors", "predictions.csv", "report.html",
        f"{picture}.svg", f"{picture}.png", f"{picture}.csv",
    }  # fmt: skip
    rows = found["choice"]["candidates"]
    assert [row["name"] for row in rows] == [
        "additive", "quadratic", "relu", "ridge regression", "best constant",
    ]  # fmt: skip
    compared = [row for row in rows if row["loss"] is not None and row["is_network"]]
    assert min(compared, key=lambda row: row["loss"])["name"] == kind == found["choice"]["chosen"]
    assert rows[-1]["skill"] == 0.0
    assert found["scores"]["held_out"] is not None
    assert found["baseline"]["scores"]["held_out"] is not None
    page = (out / "report.html").read_text(encoding="utf-8")
    assert typeset_sentence(found["statement"]) in page
    for text in ("Why this model", "ridge regression", "best constant"):
        assert text in page
    assert found["choice"]["statement"].replace("'", "&#39;") in page
    assert "nothing is proved about other rows" in page
    ahead = found["baseline"]["scores"]["held_out"] > found["scores"]["held_out"]
    assert ("ridge regression does better than this network" in page) == ahead
    assert check_file(out / "certificate.gmc").verdict.value == "ACCEPTED"
    _predictions_agree(out, tmp_path / "table.csv")
    before = (out / "report.html").read_bytes()
    assert run("report", out).code == 0
    assert (out / "report.html").read_bytes() == before


def _predictions_agree(out, path):
    """The model file, read again, gives predictions.csv."""
    stored = gm.load_network(out / "model.safetensors")
    with path.open(newline="") as stream:
        X = np.array([[float(row[name]) for name in "abcd"] for row in csv.DictReader(stream)])
    with (out / "predictions.csv").open(newline="") as stream:
        written = [float(row["prediction"]) for row in csv.DictReader(stream)]
    step = stored.preprocessing
    np.testing.assert_array_equal(step.restore(stored.network.predict(step.transform(X))), written)


def test_the_table_on_the_terminal_says_model_reason_gap_and_baseline(run, table, tmp_path):
    ended = run("fit", table(60), "-t", "price", "--out", tmp_path / "o", "-q")
    flat = " ".join(ended.out.split())
    for words in ("held-out loss additive:", "ridge regression:", "chosen", "baseline",
                  "where 1e-06 was asked for", "nothing is proved about new rows"):  # fmt: skip
        assert words in flat
    assert ended.err == ""


def test_implied_interpolation_is_said_on_stderr_and_kept(run, table, tmp_path):
    arguments = ("fit", table(20), "-t", "price", "--out", tmp_path / "o", "--test-size", 0,
                 "--force")  # fmt: skip
    ended = run(*arguments, "--width", 12, "--json")
    assert ended.code == 0
    assert "--width asks for an interpolating network" in ended.err
    assert ended.json["targets"][0]["network"]["width"] == 12
    quiet = run(*arguments, "--interpolate", "--width", 12, "--json")
    assert "asks for an interpolating" not in quiet.err
    decayed = run(*arguments, "--activation", "quadratic", "--weight-decay", 3, "--json")
    assert decayed.code == 0
    assert decayed.json["options"]["weight_decay"] == 3.0


def test_quadratic_classes_by_name_with_pictures_each(run, table, tmp_path):
    def kinds(rows):
        for row in rows:
            row[4] = ["low", "mid", "a/b"][int(np.digitize(float(row[0]), [-0.5, 0.5]))]

    out = tmp_path / "o"
    ended = run("fit", table(60, change=kinds), "-t", "price", "--model", "quadratic",
                "--weight-decay", 5, "--out", out, "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert {f"interactions-{j}.svg" for j in range(3)} <= everything_below(out)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "the largest eigenvalue of one matrix" in page
    assert "nothing was compared" in ended.json["choice"]["statement"]
    stored = gm.load_networks(out / "model.safetensors")
    assert all(isinstance(network, gm.SquaresNetwork) for network in stored.networks)
    assert json.loads(stored.metadata["classes"]) == ["a/b", "low", "mid"]
    # another model into the same folder leaves no picture of the first
    assert run("fit", table(60, change=kinds), "-t", "price", "--model", "additive",
               "--weight-decay", 5, "--out", out, "-q", "--force").code == 0  # fmt: skip
    assert not {f"interactions-{j}.svg" for j in range(3)} & everything_below(out)


def test_relu_says_which_bound_it_used(run, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "two.csv"
    rows = [f"{a!r},{b!r},{max(a, 0.0) + b!r}" for a, b in rng.standard_normal((30, 2)).tolist()]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    out = tmp_path / "o"
    ended = run("fit", path, "-t", "y", "--model", "relu", "--weight-decay", 8, "--gap", 0.3,
                "--out", out, "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert ended.json["bounds"][0] in ("cones", "spectral")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "how the floor was proved" in page
    assert "where 0.3 was asked for" in page
    assert run("report", out).code == 0
    assert run("fit", path, "-t", "y", "--model", "relu", "--weight-decay", 0.05, "--gap", 1e-6,
               "--out", out, "-q", "--force").code == 1  # fmt: skip


def test_two_numbers_are_classes_and_it_is_said(run, table, tmp_path):
    def signs(rows):
        for row in rows:
            row[4] = "1" if float(row[0]) > 0 else "0"

    ended = run("fit", table(40, change=signs), "-t", "price", "--model", "additive",
                "--weight-decay", 1, "--out", tmp_path / "o", "--json")  # fmt: skip
    assert ended.json["classes"] == ["0", "1"]
    assert "two values, 0 and 1, which are taken for classes" in ended.err


@pytest.mark.parametrize(
    "case",
    [
        (1, None, 3, "too few for cross-validation; give more rows, or interpolate"),
        (2, None, 3, "or hold none out with --test-size 0"),
        (3, None, 0, ""),
        (30, lambda rows: [row.__setitem__(4, "3.5") for row in rows], 0, "nothing is learned"),
        (30, lambda rows: [row.__setitem__(4, "red") for row in rows], 3, "one class only, red"),
    ],
)
def test_small_and_constant_tables_end_well(run, table, tmp_path, case):
    n, change, code, said = case
    ended = run("fit", table(n, change=change), "-t", "price", "--out", tmp_path / "o")
    assert ended.code == code, ended
    assert said in ended.err


def test_one_column_is_a_table(run, tmp_path):
    path = tmp_path / "one.csv"
    path.write_text("x,y\n" + "".join(f"{i},{abs(i - 7)}\n" for i in range(25)))
    ended = run("fit", path, "-t", "y", "--out", tmp_path / "o", "--json")
    assert ended.code == 0, ended
    assert ended.json["scores"]["held_out"] > 0.9
