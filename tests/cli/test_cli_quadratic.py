"""Quadratic networks on the command line: `fit --activation quadratic`, weight decay, `certify
--weight-decay`.
"""

import json

import numpy as np
import pytest

from globalmin.proving.producer import check
from globalmin.shallow.storage import load_network
from globalmin_check import Verdict


def kinds(ended):
    return [claim["kind"] for claim in ended.json["targets"][0]["claims"]]


def test_more_samples_than_unknowns_are_fitted_to_a_proved_minimum_above_zero(run, table, tmp_path):
    """d = 5 with the bias: 15 unknowns, 24 samples."""
    path, out = table(24), tmp_path / "o"
    ended = run(
        "fit",
        path,
        "-t",
        "price",
        "--activation",
        "quadratic",
        "--out",
        out,
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 0, ended
    assert kinds(ended) == ["optimality-gap", "identifies"]
    numbers = ended.json["targets"][0]["claims"][0]["numbers"]
    raw = np.loadtxt(path, delimiter=",", skiprows=1)
    Z = (raw - raw.mean(axis=0)) / raw.std(axis=0)
    rows, columns = np.triu_indices(5)
    X = np.column_stack([Z[:, :4], np.ones(24)])
    S = X[:, rows] * X[:, columns]
    r = S @ np.linalg.lstsq(S, Z[:, 4], rcond=None)[0] - Z[:, 4]
    assert numbers["floor"] <= 0.5 * r @ r * (1 + 1e-9) <= numbers["loss_upper"] * (1 + 1e-9)
    assert numbers["gap"] <= 1e-8 * numbers["loss_upper"]
    page = (out / "report.html").read_text(encoding="utf-8")
    for words in (
        "Distance to the global minimum",
        "Samples and unknowns",
        "of any width",
        'class="verdict green"',
    ):
        assert words in page
    assert run("report", out).code == 0
    assert (out / "report.html").read_text(encoding="utf-8") == page


def test_fewer_samples_than_unknowns_are_interpolated(run, table, tmp_path):
    ended = run(
        "fit",
        table(10),
        "-t",
        "price",
        "--activation",
        "quadratic",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 0, ended
    assert "interpolation" in kinds(ended)
    assert ended.json["targets"][0]["claims"][0]["numbers"]["loss_upper"] < 1e-18


def test_weight_decay_is_proved_recorded_and_can_be_proved_again(run, table, tmp_path):
    path, out = table(24), tmp_path / "o"
    ended = run(
        "fit",
        path,
        "-t",
        "price",
        "--activation",
        "quadratic",
        "--weight-decay",
        2.0,
        "--out",
        out,
        "--json",
    )
    assert ended.code == 0, ended
    assert kinds(ended)[0] == "optimality-gap"
    assert ended.json["options"]["weight_decay"] == 2.0
    assert ended.json["targets"][0]["claims"][0]["numbers"]["decay"] == "2"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "The dual certificate" in page
    assert "of the penalized loss" in page
    arguments = (
        out / "model.safetensors",
        path,
        "-t",
        "price",
        "--test-size",
        0.2,
        "--out",
        tmp_path / "again.gmc",
    )
    assert run("certify", *arguments, "--weight-decay", 2.0).code == 0
    assert check(tmp_path / "again.gmc").verdict is Verdict.ACCEPTED
    assert run("certify", *arguments, "--weight-decay", 0.1).code == 1


def test_dependent_squares_are_proved_for_weights_that_are_not_huge(run, table, tmp_path):
    """A column of two values: its square is a combination of itself and 1, so theorem S does not
    apply; a tiny decay does.
    """

    def binary(rows):
        for i, row in enumerate(rows):
            row[0] = str(i % 2)

    ended = run(
        "fit",
        table(40, change=binary),
        "-t",
        "price",
        "--activation",
        "quadratic",
        "--out",
        tmp_path / "o",
        "--json",
    )
    assert ended.code == 0, ended
    numbers = ended.json["targets"][0]["claims"][0]["numbers"]
    assert numbers["method"] == "decay"
    assert numbers["gap"] <= 1e-6 * numbers["loss_upper"]


def test_a_row_given_twice_counts_twice_where_the_minimum_is_not_zero(run, table, tmp_path):
    def repeat(rows):
        rows[5] = list(rows[2])

    path = table(24, change=repeat)
    ended = run(
        "fit",
        path,
        "-t",
        "price",
        "--activation",
        "quadratic",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 0, ended
    assert ended.json["data"]["warnings"] == []
    stored = load_network(tmp_path / "o" / "model.safetensors")
    raw = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = stored.preprocessing.transform(raw[:, :4]), stored.preprocessing.transform_y(raw[:, 4])
    r = stored.network.predict(X) - y
    assert (
        np.linalg.norm(X.T @ (r[:, None] * X)) < 1e-9
    )  # stationary with the repeated row, which theorem S needs


def test_too_few_neurons_give_an_honest_wide_gap(run, table, tmp_path):
    arguments = ("--activation", "quadratic", "--width", 1, "--test-size", 0, "--json")
    ended = run("fit", table(24), "-t", "price", *arguments, "--out", tmp_path / "o")
    assert ended.code == 1, ended
    assert ended.json["targets"][0]["verdict"] == "ACCEPTED"
    assert "the gap is wide" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "more", [("--activation", "softplus"), ("--activation", "quadratic", "--trained", "vW")]
)
def test_weight_decay_elsewhere_is_a_usage_error(run, table, more):
    ended = run("fit", table(), "-t", "price", "--weight-decay", 1.0, *more)
    assert ended.code == 2
    assert "--weight-decay 1" in " ".join(ended.err.split())


def test_records_written_before_there_were_quadratic_facts_are_still_read(run, table, tmp_path):
    assert run("fit", "--interpolate", table(12), "-t", "price", "--out", tmp_path / "o").code == 0
    file = tmp_path / "o" / "fit.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    del record["targets"][0]["quadratic"]
    file.write_text(json.dumps(record), encoding="utf-8")
    assert run("report", tmp_path / "o").code == 0
