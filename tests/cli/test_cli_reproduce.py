"""`globalmin reproduce`: the list, one item with its files and page, and refusals that leave
nothing behind.
"""

import csv
import json
import re

import pytest
from tests.cli.folders import everything_below

from globalmin import reproductions

QUICK = "FCL-F2"
FILES = {
    f"{QUICK}{end}"
    for end in (".svg", ".png", ".data.csv", ".table.csv", ".table.txt", ".record.json")
} | {"index.html"}


def test_the_list_has_ids_and_titles(run):
    ended = run("reproduce", "list")
    assert ended.code == 0
    assert re.search(r"^DU-TAB5\.1 +Table 5\.1: ", ended.out, re.MULTILINE)
    as_json = run("reproduce", "list", "--json").json
    assert {
        "item": "FCL-F2",
        "title": "Figure 2: the curvature ρ(σ) by the norm of the neurons",
    } in as_json["items"]


def test_one_item_makes_figure_table_data_and_page(run, tmp_path):
    ended = run("reproduce", QUICK, "--out", tmp_path / "made")
    assert ended.code == 0, ended
    assert "published" in ended.out
    assert "[1/1] FCL-F2" in ended.err
    assert {
        name for name in everything_below(tmp_path / "made") if not name.startswith(".trials")
    } == FILES
    page = (tmp_path / "made" / "index.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert "globalmin reproduce FCL-F2" in page
    assert 'href="FCL-F2.data.csv"' in page
    assert "http://" not in page
    assert "https://" not in page
    with (tmp_path / "made" / f"{QUICK}.data.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 61
    assert float(rows[0]["sigma"]) == pytest.approx(0.05)
    table = json.loads((tmp_path / "made" / f"{QUICK}.record.json").read_text(encoding="utf-8"))[
        "table"
    ]
    assert len(table) == 10


def test_the_page_keeps_the_items_made_before(run, tmp_path):
    for item in ("FCL-F2", "DU-F6.3a"):
        assert run("reproduce", item, "--out", tmp_path).code == 0
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.index('id="FCL-F2"') < page.index('id="DU-F6-3a"')


def test_json_has_the_table(run, tmp_path):
    ended = run("reproduce", QUICK, "--out", tmp_path, "--json")
    assert ended.code == 0
    (item,) = ended.json["items"]
    assert item["agrees"] is True
    assert item["table"][0]["quantity"] == "ρ(0.5), sigmoid"


def test_a_number_out_of_tolerance_is_exit_code_one(run, tmp_path, monkeypatch):
    from globalmin.reproductions import fcl

    monkeypatch.setitem(fcl.RHO, 0.5, 1.0)
    ended = run("reproduce", QUICK, "--out", tmp_path)
    assert ended.code == 1
    assert "DIFFERS" in ended.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("DU-F5.2b",), "did you mean DU-F5.2"),
        (("list", "FCL-F2"), "stand alone"),
        (
            ("FCL-F2", "--scale", "huge"),
            "scale='huge' is unknown; choose one of 'thumbnail', 'paper'",
        ),
        (("FCL-F2", "--executor", "slurm"), "executor='slurm' is unknown; choose one of 'local'"),
    ],
)
def test_mistakes_are_usage_errors_and_write_nothing(run, tmp_path, arguments, message):
    ended = run("reproduce", *arguments, "--out", tmp_path / "made")
    assert ended.code == 2
    assert message in " ".join(ended.err.split())
    assert everything_below(tmp_path) == set()


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ("DU-F7.1", "takes no data file, only DU-F6.3cd, DU-F6.4 do"),
        ("DU-F6.4", "is no file; give MNIST's train-images-idx3-ubyte or its .gz"),
    ],
)
def test_data_that_cannot_be_used_are_refused(run, tmp_path, item, message):
    ended = run("reproduce", item, "--data", tmp_path / "none", "--out", tmp_path / "made")
    assert ended.code == 3
    assert message in " ".join(ended.err.split())


def test_a_file_in_place_of_the_folder_is_refused(run, tmp_path):
    (tmp_path / "made").write_text("mine", encoding="utf-8")
    ended = run("reproduce", QUICK, "--out", tmp_path / "made")
    assert ended.code == 3
    assert "is a file; give a folder" in ended.err
    assert (tmp_path / "made").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(
    run, tmp_path, monkeypatch
):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("globalmin.reproductions.running.TemporaryDirectory", refuse)
    ended = run("reproduce", QUICK, "--out", tmp_path / "made")
    assert ended.code == 3
    assert "cannot be written (Permission denied)" in ended.err
    assert everything_below(tmp_path / "made") == set()


def test_a_folder_in_a_read_only_place_is_refused(run):
    ended = run("reproduce", QUICK, "--out", "/proc/globalmin")
    assert ended.code == 3
    assert "cannot be written" in ended.err


def test_a_failure_while_writing_leaves_nothing_half_written(run, tmp_path, monkeypatch):
    def full(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("globalmin.reproductions.saving.data_csv", full)
    ended = run("reproduce", QUICK, "--out", tmp_path / "made")
    assert ended.code != 0
    assert everything_below(tmp_path / "made") == set()


def test_ctrl_c_says_what_is_kept_and_a_second_run_goes_on(run, tmp_path, monkeypatch):
    real, calls = reproductions.reproduce, []

    def interrupted(item, **options):
        calls.append(item)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(item, **options)

    monkeypatch.setattr(reproductions, "reproduce", interrupted)
    ended = run("reproduce", "FCL-F2", "DU-F6.3a", "--out", tmp_path)
    assert ended.code == 130
    assert "1 of 2 items are done" in ended.err
    assert (tmp_path / "FCL-F2.svg").exists()
    assert not (tmp_path / "DU-F6.3a.svg").exists()
    assert run("reproduce", "FCL-F2", "DU-F6.3a", "--out", tmp_path).code == 0


def test_one_failing_item_does_not_stop_the_others(run, tmp_path, monkeypatch):
    real = reproductions.reproduce

    def sometimes(item, **options):
        if item == "DU-F5.2":
            raise RuntimeError("a worker died")
        return real(item, **options)

    monkeypatch.setattr(reproductions, "reproduce", sometimes)
    ended = run("reproduce", "DU-F5.2", "FCL-F2", "--out", tmp_path)
    assert ended.code == 5
    assert "DU-F5.2 failed: a worker died" in ended.err
    assert (tmp_path / "FCL-F2.svg").exists()
