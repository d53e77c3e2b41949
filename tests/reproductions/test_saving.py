"""Files of a reproduction: table and data with every digit, pictures, record and page; a repeated
call gives the same bytes.
"""

import csv
import io
import json

import numpy as np
import pytest

from globalmin.report.reproduction_figures import panel_curves, scattered, shares
from globalmin.reproductions import Reproduction, Row
from globalmin.reproductions.registry import Entry
from globalmin.reproductions.saving import (
    command,
    data_csv,
    publish,
    records,
    table_csv,
    table_text,
)

ENTRY = Entry("GM-test", "A <test> & more", lambda setting: FOUND)
X = np.array([1.0, 2.0, 3.0])
FOUND = Reproduction(
    item="GM-test",
    scale="paper",
    table=(
        Row("share | of runs", 1 / 3, 0.3, 0.1, where="table 1"),
        Row("words", "a line", 7, note="no number is printed", where="caption"),
    ),
    data={"x": X, "name": ["a", "b", "c"], "flag": np.array([True, False, True])},
    figures={
        "": lambda: panel_curves([({"y": (X, X**2)}, ("x", "y"), "y")], levels=[2.0], mark=2.0)
    },
    choices=("Step <0.1>.",),
)


def test_numbers_are_stored_in_full():
    (first, second) = csv.DictReader(io.StringIO(table_csv(FOUND)))
    assert float(first["published"]) == 1 / 3
    assert first["agrees"] == "True"
    assert (first["where"], first["power"], first["verdict"]) == ("table 1", "True", "agrees")
    assert second["verdict"] == "not judged"
    assert second["difference"] == ""
    rows = list(csv.DictReader(io.StringIO(data_csv(FOUND))))
    assert [float(row["x"]) for row in rows] == [1.0, 2.0, 3.0]
    assert [row["flag"] for row in rows] == ["True", "False", "True"]


def test_long_notes_are_folded_in_the_text():
    found = Reproduction(
        "GM-test",
        "thumbnail",
        (Row("a", 1.0, 1.0, 0.0, note="word " * 40, where="text"),),
        {"x": [1]},
    )
    assert max(map(len, table_text(found).splitlines())) <= 110


def test_publish_writes_every_file_and_the_page_twice_the_same(tmp_path):
    record = publish(ENTRY, FOUND, tmp_path)
    endings = (".svg", ".png", ".table.csv", ".table.txt", ".data.csv", ".record.json")
    assert {path.name for path in tmp_path.iterdir()} == {
        "index.html",
        *(f"GM-test{end}" for end in endings),
    }
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    publish(ENTRY, FOUND, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert records(tmp_path) == [json.loads(json.dumps(record))]
    page = before["index.html"].decode()
    assert "A &lt;test&gt; &amp; more" in page
    assert "globalmin reproduce GM-test --scale paper" in page
    assert "Step &lt;0.1&gt;." in page
    assert "1 agrees, 1 not judged; 1 against the paper" in page
    assert command(ENTRY, "thumbnail") == "globalmin reproduce GM-test"


def test_shares_show_the_published_ones_as_open_circles():
    figure = shares(
        {"k = 1": (X, X / 4), "k = 2": (X, X / 3)}, ("r", "P"), published={"k = 2": (X, X / 3)}
    )
    (axes,) = figure.axes
    assert len(axes.lines) == 3
    assert axes.lines[2].get_color() == axes.lines[1].get_color()
    assert axes.get_ylim() == pytest.approx((-0.04, 1.04))


def test_scattered_values_stand_over_their_group():
    figure = scattered({2.0: np.array([1.0, 1.5])}, (X, X), ("d", "risk"), names=("ends", "bound"))
    assert list(figure.axes[0].lines[0].get_xdata()) == [2.0, 2.0]
