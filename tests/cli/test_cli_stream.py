"""`globalmin fit --stream`: one pass over a table, a certificate, and its check with the rows."""

import json
from dataclasses import replace

import numpy as np
import pytest

import globalmin as gm
from globalmin_check import check_file


@pytest.fixture
def rows(tmp_path):
    """A table with one column too many; returns its path."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(400)
    lines = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(["a,b,c,y", *lines]) + "\n")
    return path


def test_a_table_is_streamed_certified_and_checked_with_its_rows(run, rows, tmp_path):
    out = tmp_path / "o"
    ended = run("fit", rows, "-t", "y", "--stream", "--weight-decay", 2, "--use", "a", "--use", "b",
                "--out", out, "--json")  # fmt: skip
    facts = json.loads(ended.out)
    assert (ended.code, facts["verdict"], facts["data"]["rows"]) == (0, "ACCEPTED", 400)
    assert facts["network"]["columns"] == ["a", "b", "y"]
    assert facts["statement"].startswith("For all rows whose sums are those of the file")
    assert json.loads((out / "fit.json").read_text())["relative_gap"] == facts["relative_gap"]
    page = (out / "report.html").read_text()
    assert "a × b" in page
    assert "globalmin-check certificate.gmc --rows rows.csv" in page
    again = run("report", out)
    assert (again.code, (out / "report.html").read_text()) == (0, page)
    damaged = json.loads((out / "fit.json").read_text()) | {"gap": 0.0}
    (out / "fit.json").write_text(json.dumps(damaged))
    assert "not a smaller one" in run("report", out).err
    found = check_file(out / "certificate.gmc", rows=[rows])
    assert found.statement.startswith("All rows were read")
    same = gm.fit_stream(rows, target="y", features=["a", "b"], weight_decay=2.0)
    assert (out / "certificate.gmc").read_bytes() == same.certificate


def test_an_additive_network_is_streamed_and_checked_with_its_rows(run, rows, tmp_path):
    out = tmp_path / "o"
    ended = run("fit", rows, "-t", "y", "--stream", "--model", "additive", "--weight-decay", 2,
                "--out", out, "--json")  # fmt: skip
    facts = json.loads(ended.out)
    assert (ended.code, facts["verdict"], facts["network"]["model"]) == (0, "ACCEPTED", "additive")
    found = check_file(out / "certificate.gmc", rows=[rows])
    assert found.statement.startswith("All rows were read")
    same = gm.fit_additive_stream(rows, target="y", weight_decay=2.0)
    assert (out / "certificate.gmc").read_bytes() == same.certificate


@pytest.mark.parametrize("model", ["quadratic", "additive"])
def test_new_rows_are_predicted_and_the_model_exported(run, rows, tmp_path, model):
    """In any order of the columns; onnxruntime says the same within 1e-9, its rounding."""
    out, new = tmp_path / "o", tmp_path / "new.csv"
    words = ("-t", "y", "--stream", "--model", model, "--weight-decay", 2, "--out", out)
    assert f"globalmin predict {out}" in "".join(run("fit", rows, *words).out.split("\n"))
    X = np.random.default_rng(1).standard_normal((7, 3))
    lines = [",".join(map(repr, row)) for row in X[:, ::-1].tolist()]
    new.write_text("\n".join(["c,b,a", *lines]) + "\n")
    fit_with = gm.fit_stream if model == "quadratic" else gm.fit_additive_stream
    expected = fit_with(rows, target="y", weight_decay=2.0).predict(X)
    ended = run("predict", out, new, "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["y"] == pytest.approx(expected, rel=1e-12)  # some roundings
    assert run("export", out, "--out", tmp_path / "m.onnx").code == 0
    session = pytest.importorskip("onnxruntime").InferenceSession(tmp_path / "m.onnx")
    fed = {name: X[:, [j]] for j, name in enumerate("abc")}
    inputs = {i.name: fed.get(i.name, X) for i in session.get_inputs()}
    (found,) = session.run(None, inputs)[:1]
    assert np.ravel(found) == pytest.approx(expected, rel=1e-9)


def test_the_table_on_screen_names_the_check_with_rows(run, rows, tmp_path):
    ended = run("fit", rows, "-t", "y", "--stream", "--weight-decay", 2, "--out", tmp_path / "o")
    assert ended.code == 0
    assert "400 in 1 shards" in ended.out
    assert "globalmin-check" in ended.out


@pytest.mark.parametrize("model", ["quadratic", "additive"])
def test_a_stream_whose_file_is_not_accepted_is_told_and_written(
    run, rows, tmp_path, monkeypatch, model
):
    """A former version ended in an internal error: JSON knows no infinite gap."""
    from globalmin.cli import streaming
    from globalmin.proving.proof import Proof

    name = "fit_stream" if model == "quadratic" else "fit_additive_stream"
    fitted = getattr(streaming, name)

    def unproved(*args, **options):
        return replace(fitted(*args, **options), proof=Proof("UNDECIDED", "out of time"))

    monkeypatch.setattr(streaming, name, unproved)
    words = ("fit", rows, "-t", "y", "--stream", "--model", model, "--weight-decay", 2, "--out")
    ended = run(*words, tmp_path / "o")
    assert (ended.code, (tmp_path / "o" / "certificate.gmc").exists()) == (4, False)
    assert "UNDECIDED: out of time" in " ".join(ended.out.split())
    assert "not proved" in ended.out
    assert "nothing is proved" in (tmp_path / "o" / "report.html").read_text()
    facts = json.loads(run(*words, tmp_path / "p", "--json").out)
    assert (facts["gap"], facts["relative_gap"], facts["exit_code"]) == (None, None, 4)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-t", "y", "--stream"), "--stream needs a number as --weight-decay"),
        (("-t", "y", "-t", "a", "--stream", "--weight-decay", 1), "give --target once"),
        (("-t", "y", "--stream", "--weight-decay", 1, "--drop", "a"), "--drop does not go with"),
        (("-t", "y", "--stream", "--weight-decay", 1, "--model", "deep"), "streams fit quadratic"),
        (
            ("-t", "y", "--stream", "--weight-decay", 1, "--model", "additive", "--no-bias"),
            "--no-bias does not go",
        ),
    ],
)
def test_what_a_stream_needs_is_said(run, rows, tmp_path, options, words):
    ended = run("fit", rows, *options, "--out", tmp_path / "o")
    assert ended.code == 2
    assert words in " ".join(ended.err.split())
    assert not (tmp_path / "o").exists()
