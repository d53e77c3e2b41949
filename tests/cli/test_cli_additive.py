"""`globalmin fit --model additive`: certificate, curves, predictions, exit code, refusals."""

import csv

import numpy as np
from tests.cli.folders import everything_below

from globalmin_check import check_file


def test_a_table_gives_an_accepted_certificate_and_curves(run, table, tmp_path):
    out = tmp_path / "o"
    ended = run("fit", table(60), "-t", "price", "--model", "additive", "--weight-decay", 2,
                "--out", out, "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert everything_below(out) == {
        "certificate.gmc", "fit.json", "predictions.csv", "terms.svg", "terms.png",
    }  # fmt: skip
    assert check_file(out / "certificate.gmc").verdict.value == "ACCEPTED"
    assert ended.json["relative_gap"][0] <= 1e-6
    assert ended.json["weight_decay"] == [2.0]
    assert {term["name"] for term in ended.json["terms"]} <= {"a", "b", "c", "d"}
    with (out / "predictions.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert sum(row["part"] == "held out" for row in rows) == 12
    text = run("fit", table(60), "-t", "price", "--model", "additive", "--out", out, "-q").out
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
        (("--model", "additive", "-t", "a"), "--target once"),
    ):
        ended = run("fit", table(), "-t", "price", *wrong)
        assert ended.code == 2
        assert said in ended.err
