"""`globalmin fit --model additive`: certificate, curves, predictions, exit code, refusals."""

import csv
import json

import numpy as np
import pytest
from tests.cli.folders import everything_below

import globalmin as gm
from globalmin.report.words import typeset_sentence
from globalmin_check import check_file


def test_a_table_gives_an_accepted_certificate_and_curves(run, table, tmp_path):
    out = tmp_path / "o"
    ended = run("fit", table(60), "-t", "price", "--model", "additive", "--weight-decay", 2,
                "--out", out, "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert everything_below(out) == {
        "certificate.gmc", "fit.json", "model.safetensors", "predictions.csv", "report.html",
        "terms.svg", "terms.png", "terms.csv",
    }  # fmt: skip
    assert check_file(out / "certificate.gmc").verdict.value == "ACCEPTED"
    assert ended.json["relative_gap"][0] <= 1e-6
    assert ended.json["weight_decay"] == [2.0]
    assert {term["name"] for term in ended.json["terms"]} <= {"a", "b", "c", "d"}
    with (out / "predictions.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert sum(row["part"] == "held out" for row in rows) == 12
    text = run(
        "fit", table(60), "-t", "price", "--model", "additive", "--out", out, "-q", "--force"
    ).out
    assert "No additive network of any width has an objective more than" in text


def test_logistic_loss_classifies(run, table, tmp_path):
    def signs(rows):
        for row in rows:
            row[4] = "1" if abs(float(row[0])) > 0.7 else "0"

    ended = run("fit", table(80, change=signs), "-t", "price", "--model", "additive", "--loss",
                "logistic", "--weight-decay", 0.5, "--out", tmp_path / "o", "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert ended.json["scores"]["training"] > 0.9
    assert np.isfinite(ended.json["gap"]).all()


def test_what_does_not_fit_is_refused(run, table):
    for wrong, said in (
        (("--model", "subtractive"), "--model"),
        (("--model", "additive", "--loss", "absolute"), "--loss"),
        (("--model", "additive", "--interactions", "triples"), "--interactions"),
        (("--model", "additive", "--bins", "1"), "--bins"),
        (("--model", "quadratic", "--bins", "8"), "--bins 8 is for additive networks"),
        (("--interpolate", "--bins", "8"), "--bins"),
        (("--shape", "a:convex"), "is for additive networks: --model additive"),
        (("--model", "additive", "--shape", "nothing:convex"), "no column 'nothing'"),
        (("--model", "additive", "--shape", "a:rising"), "--shape"),
        (("--interpolate", "--shape", "a:convex"), "--shape"),
        (("--model", "additive", "--task", "ranking"), "--task"),
        (("--model", "additive", "--task", "regression", "--loss", "hinge"), "--loss"),
        (("--model", "additive", "--task", "classification", "--loss", "huber"), "--loss"),
    ):
        ended = run("fit", table(), "-t", "price", *wrong)
        assert ended.code == 2
        assert said in ended.err


def test_pairs_with_bins_say_so_and_their_surfaces_are_in_the_csv_file(run, table, tmp_path):
    out = tmp_path / "o"
    ended = run("fit", table(80), "-t", "price", "--model", "additive", "--interactions", "pairs",
                "--bins", 6, "--weight-decay", 5, "--gap", 1e-4, "--out", out,
                "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert "binned to at most 6 values" in ended.json["statement"]
    with (out / "terms.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    terms = ended.json["all_terms"][0][:9]
    assert [*dict.fromkeys(row["term"] for row in rows)] == [term["name"] for term in terms]
    assert {row["term"] for row in rows if row["y"]} == {
        term["name"] for term in terms if "×" in term["name"]
    }
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'download="terms.csv" href="data:text/csv' in page
    (out / "terms.csv").unlink()  # a folder of an older version
    assert run("report", out).code == 0
    assert 'download="terms.csv"' not in (out / "report.html").read_text(encoding="utf-8")


def test_shapes_are_in_the_statement_the_page_and_the_curves(run, table, tmp_path):
    def waves(rows):
        for row in rows:
            row[4] = str(float(np.tanh(2 * float(row[0]))) + float(row[1]) ** 2)

    out = tmp_path / "o"
    ended = run("fit", table(80, change=waves), "-t", "price", "--model", "additive", "--shape",
                "a:increasing", "--shape", "b:convex", "--weight-decay", 0.5, "--out", out,
                "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert "curves increasing in 'a' and convex in 'b'" in ended.json["statement"]
    with (out / "terms.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["term"] == "a"]
    assert (np.diff([float(row["value"]) for row in rows]) >= -1e-7).all()  # eight digits
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "is nondecreasing on the whole line" in page


def _named(rows):
    for row in rows:
        row[4] = "<yes>" if abs(float(row[0])) > 0.7 else "no, sir"


def _quoted(rows):
    _named(rows)
    for row in rows:
        row[4] = f'"{row[4]}"'


def test_text_labels_are_classes_and_the_model_is_read_again(run, table, tmp_path):
    out, path = tmp_path / "o", table(80, change=_quoted)
    ended = run("fit", path, "-t", "price", "--model", "additive", "--weight-decay", 0.5,
                "--out", out, "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert ended.json["task"] == "classification"
    assert ended.json["classes"] == ["<yes>", "no, sir"]
    assert ended.json["network"]["loss"] == "logistic"
    with (out / "predictions.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    right = np.mean(
        [row["label"] == row["prediction"] for row in rows if row["part"] == "training"]
    )
    assert right == ended.json["scores"]["training"] > 0.9
    stored = gm.load_network(out / "model.safetensors")
    assert json.loads(stored.metadata["classes"]) == ended.json["classes"]
    with path.open(newline="") as stream:
        X = np.array([[float(row[name]) for name in "abcd"] for row in csv.DictReader(stream)])
    outputs = stored.network.predict(stored.preprocessing.transform(X))
    again = np.where(outputs > 0, *ended.json["classes"][::-1])
    assert [row["prediction"] for row in rows] == again.tolist()


def test_the_page_says_the_sentence_with_the_tolerance_and_escapes_names(run, table, tmp_path):
    out = tmp_path / "o"
    ended = run("fit", table(80, change=_quoted), "-t", "price", "--model", "additive",
                "--weight-decay", 0.5, "--out", out, "--json")  # fmt: skip
    page = (out / "report.html").read_text(encoding="utf-8")
    assert typeset_sentence(ended.json["statement"]) in page
    assert "where 1\xa0×\xa010⁻⁶ was asked for" in page  # no line breaks within the number
    assert "ACCEPTED" in page
    assert "Class and objective: ReLU neurons" in page  # the checker's words
    assert "&lt;yes&gt;" in page
    assert "<yes>" not in page
    assert page.count("<svg") == 1
    assert "http://" not in page
    assert "src=" not in page


@pytest.mark.parametrize(("loss", "count"), [("softmax", 1), ("logistic", 3)])
def test_three_classes_have_one_softmax_or_a_file_and_a_picture_each(
    run, table, tmp_path, loss, count
):
    def kinds(rows):
        for row in rows:
            row[4] = ["low", "mid", "a/b"][int(np.digitize(float(row[0]), [-0.5, 0.5]))]

    out = tmp_path / "o"
    ended = run("fit", table(60, change=kinds), "-t", "price", "--model", "additive",
                "--weight-decay", 1, "--loss", loss, "--out", out, "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert ended.json["classes"] == ["a/b", "low", "mid"]
    assert ended.json["network"]["loss"] == loss
    assert len(ended.json["verdict"]) == count
    names = ["certificate.gmc"] if count == 1 else [f"certificate-{j}.gmc" for j in range(count)]
    for name in names:
        assert check_file(out / name).verdict.value == "ACCEPTED"
    # every file is named, to programs and to people, by a command that checks it
    assert ended.json["certificates"] == [str(out / name) for name in names]
    assert json.loads((out / "fit.json").read_text())["certificates"] == names
    said = run("fit", tmp_path / "table.csv", "-t", "price", "--model", "additive",
               "--weight-decay", 1, "--loss", loss, "--out", tmp_path / "p").out  # fmt: skip
    assert [line.split()[-2] for line in said.splitlines() if "globalmin-check " in line] == [
        str(tmp_path / "p" / name) for name in names
    ]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert all(f"globalmin-check {name} --explain" in page for name in names)
    assert page.count("<svg") == count
    assert all(typeset_sentence(sentence) in page for sentence in ended.json["statements"])


def test_two_numbers_are_classes_unless_said_otherwise(run, table, tmp_path):
    def signs(rows):
        for row in rows:
            row[4] = "1" if float(row[0]) > 0 else "0"

    for said, task in (
        ((), "classification"),
        (("--task", "regression"), "regression"),
        (("--loss", "squared"), "regression"),
    ):
        ended = run("fit", table(40, change=signs), "-t", "price", "--model", "additive",
                    "--weight-decay", 1, "--out", tmp_path / "o", "--force", "--json",
                    *said)  # fmt: skip
        assert ended.json["task"] == task


def test_a_slip_in_a_column_of_numbers_makes_no_class(run, table, tmp_path):
    def slip(rows):
        rows[3][4] = "twelve"

    path = table(40, change=slip)
    for said in ((), ("--task", "regression")):
        ended = run("fit", path, "-t", "price", "--model", "additive", *said)
        assert ended.code != 0
        assert "line 5" in ended.err
        assert "'twelve' is not a number" in ended.err

    def hole(rows):
        _named(rows)
        for row in rows:
            row[4] = row[4].strip("<>").split(",")[0]
        rows[3][4] = ""

    ended = run("fit", table(40, change=hole), "-t", "price", "--model", "additive")
    assert ended.code != 0
    assert "the label is missing" in ended.err


def test_the_page_is_drawn_again_from_what_the_checker_says(run, table, tmp_path):
    out = tmp_path / "o"
    run("fit", table(60), "-t", "price", "--model", "additive", "--weight-decay", 2, "--out", out,
        "-q")  # fmt: skip
    page = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    ended = run("report", out, "--json")
    assert ended.code == 0
    assert ended.json["verdicts"] == ["ACCEPTED"]
    assert (out / "report.html").read_bytes() == page
    facts = json.loads((out / "fit.json").read_text())
    facts["gap"][0] *= 0.99  # a gap that the file does not prove
    (out / "fit.json").write_text(json.dumps(facts))
    assert "run the fit again" in run("report", out).err
    facts["gap"][0] *= 2
    (out / "fit.json").write_text(json.dumps(facts))
    (out / "certificate.gmc").unlink()
    assert run("report", out).code == 1
    text = (out / "report.html").read_text(encoding="utf-8")
    assert "No accepted certificate: nothing is proved." in text
    assert facts["statement"] not in text
    assert "ACCEPTED" not in text
    del facts["terms"], facts["all_terms"]
    (out / "fit.json").write_text(json.dumps(facts))
    assert "run the fit again" in run("report", out).err


def test_several_targets_name_every_certificate_and_are_reported_together(run, table, tmp_path):
    data, out = table(40, targets=("price", "rent")), tmp_path / "o"
    asked = ["fit", data, "-t", "price", "-t", "rent", "--model", "additive", "--weight-decay", 1]
    ended = run(*asked, "--out", out, "--json")
    assert ended.code == 0, ended
    files = [out / name / "certificate.gmc" for name in ("price", "rent")]
    assert [part["certificates"] for part in ended.json["targets"]] == [[str(f)] for f in files]
    assert all(check_file(file).verdict.value == "ACCEPTED" for file in files)
    said = run(*asked, "--out", out, "--force").out
    assert all(f"globalmin-check {file} --explain" in said for file in files)
    told = run("report", out, "--json")
    assert (told.code, len(told.json["targets"])) == (0, 2)
    files[1].write_bytes(files[1].read_bytes()[:-8])
    told = run("report", out)
    assert told.code == 1
    assert [line.split(": ")[1] for line in told.out.splitlines()] == ["ACCEPTED", "MALFORMED"]
