"""`globalmin starts`: table, files, exit codes, and what it refuses."""

import json

import numpy as np
import pytest

import globalmin as gm


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "table.csv"
    rows = rng.standard_normal((4, 4)).round(3)
    text = "\n".join(",".join(map(repr, map(float, row))) for row in rows)
    path.write_text("a,b,c,y\n" + text + "\n", encoding="utf-8")
    return path


def test_widths_are_proved_seed_by_seed_and_the_files_are_written(run, table, tmp_path):
    out = tmp_path / "out"
    options = ("--activation", "tanh", "--seeds", 2, "--workers", 1, "--out", out, "-q")
    ended = run("starts", table, "-t", "y", "--widths", "20,40", *options)
    assert ended.code == 0, ended
    assert "40       2 of 2" in ended.out
    assert "at least 0.0707 (confidence 99 %)" in ended.out  # two widths: (.01/2)^(1/2)
    record = json.loads((out / "starts.json").read_text(encoding="utf-8"))
    assert [share["n_proved"] for share in record["shares"]] == [2, 2]
    assert record["shares"][0]["variants"] == 2
    assert max(record["widths_of_theorems"].values()) > 1e3
    assert record["recommended_width"] == 2  # even, times the rank 4 at least 1.2 n
    assert "the 2 bounds hold together with confidence 99 %" in ended.out
    assert "recommends to try 2 neurons first" in ended.out
    picture = (out / "starts.svg").read_text(encoding="utf-8")
    assert "OS-C6" in picture
    assert "inspect recommends" in picture
    file = out / "certificates" / "width-40" / "seed-1.gmc"
    result = gm.check(file)
    assert result.verdict == "ACCEPTED"
    assert "cell of seed 1" in result.statement


def test_no_proved_start_exits_with_one_and_says_why(run, table, tmp_path):
    options = ("--activation", "tanh", "--seeds", 1, "--max-iter", 2, "--out", tmp_path / "o")
    ended = run("starts", table, "-t", "y", "--width", 20, *options, "--workers", 1, "--json")
    assert ended.code == 1, ended
    share = json.loads(ended.out)["shares"][0]
    assert share["n_proved"] == 0
    assert "does not come within the reach" in share["reasons"]["0"]


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--width", "ten", "--width ten"),
        ("--width", "10,10", "each once"),
        ("--width", "0", "positive widths"),
        ("--step-size", "fast", "--step-size fast"),
        ("--activation", "reluu", "--activation reluu"),
    ],
)
def test_bad_options_are_usage_errors(run, table, option, value, word):
    given = {"--width": "20"} | {option: value}
    ended = run("starts", table, "-t", "y", *[x for pair in given.items() for x in pair])
    assert ended.code == 2
    assert word in ended.err


def test_confidence_outside_of_its_range_names_the_value(run, table, tmp_path):
    ended = run("starts", table, "-t", "y", "--width", 20, "--confidence", 2, "--out", tmp_path)
    assert ended.code != 0
    assert "confidence=2.0" in ended.err
