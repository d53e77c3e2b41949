"""The documented outcome of every table that is broken, contradictory or a corner case."""

import json
from fractions import Fraction

import numpy as np
import pytest
from tests.cli.folders import everything_below


def _set(row, column, value):
    def change(rows):
        rows[row][column] = value

    return change


def _contradiction(rows):
    rows[5][:4] = rows[2][:4]


def _repetition(rows):
    rows[5] = list(rows[2])


def _constant(rows):
    for row in rows:
        row[4] = "3.5"


BROKEN = {
    "text in a numeric column": (_set(3, 1, "cheap"), ["'b'", "line 5", "'cheap'", "not a number"]),
    "a missing label": (_set(2, 4, ""), ["'price'", "line 4", "missing", "remove the row"]),
    "a label that is NaN": (_set(0, 4, "NaN"), ["'price'", "line 2", "missing", "fill it in"]),
    "infinity": (_set(2, 0, "1e999"), ["'a'", "line 4", "infinite"]),
    "a short row": (lambda rows: rows[4].pop(), ["line 6", "4 cells", "5"]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_table_exits_with_3_names_the_place_and_leaves_nothing(run, table, tmp_path, name):
    change, expected = BROKEN[name]
    ended = run(
        "fit",
        "--interpolate",
        table(change=change),
        "--target",
        "price",
        "--out",
        tmp_path / "new" / "o",
    )
    assert ended.code == 3
    assert ended.out == ""
    assert all(part in ended.err for part in expected), ended.err
    assert everything_below(tmp_path) == {"table.csv"}


def test_a_missing_target_exits_with_3_and_lists_the_columns(run, table, tmp_path):
    ended = run("fit", "--interpolate", table(), "--target", "cost", "--out", tmp_path / "o")
    assert ended.code == 3
    assert "'cost'" in ended.err
    assert "'price'" in ended.err
    assert everything_below(tmp_path) == {"table.csv"}


def test_with_json_an_error_is_one_object_on_stdout(run, table, tmp_path):
    ended = run(
        "fit",
        "--interpolate",
        table(change=_set(3, 1, "cheap")),
        "--target",
        "price",
        "--out",
        tmp_path / "o",
        "--json",
    )
    assert ended.code == 3
    assert ended.json["exit_code"] == 3
    assert ended.json["error"]["kind"] == "DataError"
    assert "cheap" in ended.json["error"]["message"]


def test_a_failing_fit_leaves_an_earlier_one_as_it_was(run, table, tmp_path):
    assert (
        run(
            "fit",
            "--interpolate",
            table(12),
            "-t",
            "price",
            "--out",
            tmp_path / "o",
            "--test-size",
            0,
        ).code
        == 0
    )
    before = {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()}
    assert (
        run(
            "fit",
            "--interpolate",
            table(12, change=_set(3, 1, "cheap")),
            "--force",
            "-t",
            "price",
            "--out",
            tmp_path / "o",
        ).code
        == 3
    )
    assert {path.name: path.read_bytes() for path in (tmp_path / "o").iterdir()} == before


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_equal_rows_with_different_labels_get_the_exact_floor_and_a_proved_gap(
    run, table, tmp_path, activation
):
    path = table(20, change=_contradiction)
    ended = run(
        "fit",
        "--interpolate",
        path,
        "-t",
        "price",
        "--activation",
        activation,
        "--out",
        tmp_path / "o",
        "--scaling",
        "none",
        "--json",
    )
    assert ended.code == 0, ended
    (target,) = ended.json["targets"]
    (claim,) = target["claims"]
    labels = [
        Fraction(float(line.split(",")[4]))
        for line in path.read_text(encoding="utf-8").splitlines()[1:]
    ]
    floor = (
        labels[2] - labels[5]
    ) ** 2 / 4  # two equal rows: half the sum of squares about their mean
    assert target["verdict"] == "ACCEPTED"
    assert claim["kind"] == "loss-floor"
    assert Fraction(target["loss_floor"]) == floor
    assert float(claim["numbers"]["floor"]) == pytest.approx(float(floor), rel=1e-12)
    assert Fraction(claim["numbers"]["floor"]) <= floor
    assert float(claim["numbers"]["gap"]) <= 2e-9 * float(
        floor
    )  # the producer claims a loss 1e-9 above what it measured
    assert "rows 2, 5" in ended.err
    assert "equal but have different labels" in ended.err


def test_the_table_printed_for_contradicting_rows_says_that_the_minimum_is_not_zero(
    run, table, tmp_path
):
    ended = run(
        "fit",
        "--interpolate",
        table(20, change=_contradiction),
        "-t",
        "price",
        "--out",
        tmp_path / "o",
    )
    assert ended.code == 0, ended
    text = " ".join(ended.out.split())
    assert "global minimum is L* = " in text
    assert "not zero" in text
    assert "proved gap" in text
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "contradict each other" in page
    assert "no network below" in page


def test_contradicting_rows_are_never_split_apart_whatever_the_seed(run, table, tmp_path):
    for seed in range(4):
        ended = run(
            "fit",
            "--interpolate",
            table(20, change=_contradiction),
            "-t",
            "price",
            "--out",
            tmp_path / str(seed),
            "--seed",
            seed,
            "--test-size",
            0.5,
            "--json",
        )
        assert ended.json["targets"][0]["claims"][0]["kind"] == "loss-floor", ended


def test_repeated_rows_with_equal_labels_are_left_out_with_a_word_and_the_rest_is_proved(
    run, table, tmp_path
):
    ended = run(
        "fit",
        "--interpolate",
        table(20, change=_repetition),
        "-t",
        "price",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
    )
    assert ended.code == 0, ended
    assert "1 of 20 rows repeat another row" in ended.err


def test_one_row_works(run, table, tmp_path):
    ended = run("fit", "--interpolate", table(1), "-t", "price", "--out", tmp_path / "o", "--json")
    assert ended.code == 0, ended
    assert ended.json["data"]["n_held_out"] == 0
    assert ended.json["targets"][0]["scores"]["held_out_r2"] is None


def test_a_constant_target_works(run, table, tmp_path):
    ended = run(
        "fit",
        "--interpolate",
        table(20, change=_constant),
        "-t",
        "price",
        "--out",
        tmp_path / "o",
        "--json",
    )
    assert ended.code == 0, ended
    record = json.loads((tmp_path / "o" / "fit.json").read_text(encoding="utf-8"))
    assert all(abs(value - 3.5) < 1e-9 for value in record["targets"][0]["train"]["output"])
    assert ended.json["targets"][0]["scores"]["held_out_r2"] is None


def _constant_table(folder, columns, n=6):
    rng = np.random.default_rng(columns)
    rows = [[*map(repr, rng.standard_normal(columns).tolist()), "5"] for _ in range(n)]
    path = folder / "constant.csv"
    path.write_text(
        "\n".join(",".join(row) for row in [[*"abcde"[:columns], "y"], *rows]) + "\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "relu"])
@pytest.mark.parametrize("columns", [1, 3, 5])
def test_a_constant_target_is_named_and_its_file_is_accepted(run, tmp_path, activation, columns):
    """A softplus network of one column once got a file that its own checker refused (D11, I8:
    1000000.000 is not < 1).
    """
    path = _constant_table(tmp_path, columns)
    ended = run(
        "fit",
        "--interpolate",
        path,
        "-t",
        "y",
        "--activation",
        activation,
        "--test-size",
        0,
        "--out",
        tmp_path / "o",
        "--json",
    )
    assert ended.code == 0, ended
    assert ended.json["targets"][0]["verdict"] == "ACCEPTED"
    assert float(ended.json["targets"][0]["claims"][0]["numbers"]["loss_upper"]) < 1e-20
    assert "the target 'y' is 5 in all 6 training rows" in ended.err


def test_a_constant_target_of_a_quadratic_network_is_the_minimum(run, tmp_path):
    """Zero weights fit exactly: with d(d+1)/2 <= n that is the proved minimum, otherwise it is at
    the smallest weight decay.
    """
    path = _constant_table(tmp_path, 1)
    ended = run(
        "fit",
        "--interpolate",
        path,
        "-t",
        "y",
        "--activation",
        "quadratic",
        "--test-size",
        0,
        "--out",
        tmp_path / "o",
    )
    assert ended.code == 0, ended
    assert "at the global minimum over quadratic networks" in " ".join(ended.out.split())
    path = _constant_table(tmp_path, 5)
    ended = run(
        "fit",
        "--interpolate",
        path,
        "-t",
        "y",
        "--activation",
        "quadratic",
        "--test-size",
        0,
        "--out",
        tmp_path / "p",
        "--json",
    )
    assert ended.code == 0
    target = ended.json["targets"][0]
    assert target["verdict"] == "ACCEPTED"
    assert [claim["kind"] for claim in target["claims"]] == ["optimality-gap"]
    assert 0 < Fraction(target["claims"][0]["numbers"]["decay"]) < 1e-150


def test_a_target_that_changes_is_not_called_constant(run, table, tmp_path):
    assert (
        "in all"
        not in run(
            "fit",
            "--interpolate",
            table(12),
            "-t",
            "price",
            "--test-size",
            0,
            "--out",
            tmp_path / "o",
        ).err
    )


def test_a_table_too_large_for_memory_is_refused_before_anything_is_written(
    run, table, tmp_path, monkeypatch
):
    monkeypatch.setattr("globalmin.data.validation.available_bytes", lambda: 1000)
    ended = run("fit", "--interpolate", table(), "-t", "price", "--out", tmp_path / "o")
    assert ended.code == 4
    assert "GiB" in ended.err
    assert everything_below(tmp_path) == {"table.csv"}
