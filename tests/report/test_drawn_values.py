"""Numbers read back from a drawing: all of them in the csv, and under the pointer at the place
where the ink is.
"""

import csv
import io
import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from globalmin.drawing import BLUE, inline_figure, level, new_axes, save

X = np.array([0.0, 1.0, 2.0, 5.0])
Y = np.array([1.0, 1e-3, 1e-6, 1e-9])


def drawn() -> Figure:
    figure, axes = new_axes("step", "loss")
    axes.plot(X, Y, color=BLUE, marker="o", markersize=3.5, label="$\\sigma$ here")
    axes.scatter([3.0], [1e-2], label="_hidden")
    axes.set_yscale("log")
    level(axes, 1e-8, "proved", BLUE, offset=4)
    return figure


def test_the_csv_has_every_point_of_curves_and_clouds_and_no_level():
    rows = list(csv.reader(io.StringIO(inline_figure(drawn, name="a", label="l").csv)))
    assert rows[0] == ["series", "step", "loss"]
    points = [(name, float(x), float(y)) for name, x, y in rows[1:]]
    assert points == [*((r"\sigma here", x, y) for x, y in zip(X, Y, strict=True)), ("", 3.0, 0.01)]


def test_values_stand_where_the_markers_are():
    """The place of a marker, as matplotlib wrote it, against the circle that carries the value."""
    svg = inline_figure(drawn, name="a", label="l").svg
    markers = re.findall(r'<use href="#[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*var\(--blue\)', svg)
    pattern = r'<circle class="value" cx="([\d.]+)" cy="([\d.]+)"[^>]*>(.*?)</circle>'
    circles = re.findall(pattern, svg, flags=re.DOTALL)
    assert len(markers) == 4
    assert len(circles) == 5
    for (x, y), (cx, cy, title) in zip(markers, circles, strict=False):
        assert float(cx) == pytest.approx(float(x), abs=0.06)  # written with one digit
        assert float(cy) == pytest.approx(float(y), abs=0.06)
        assert "step" in title
    assert "<title>step 1\n\\sigma here 0.001</title>" in circles[1][2]


def test_a_long_curve_keeps_all_its_numbers_and_few_places():
    def long() -> Figure:
        figure, axes = new_axes("t", "f")
        axes.plot(np.arange(5000.0), np.sin(np.arange(5000.0)))
        return figure

    made = inline_figure(long, name="a", label="l")
    assert made.csv.count("\n") == 5001
    assert 200 <= made.svg.count('<circle class="value"') <= 250


def test_names_are_escaped():
    def named() -> Figure:
        figure, axes = new_axes("<b>", "y & z")
        axes.plot([0.0, 1.0], [0.0, 1.0])
        return figure

    svg = inline_figure(named, name="a", label="l").svg
    assert "<b>" not in svg
    assert "&lt;b&gt; 0\ny &amp; z 0" in svg


def test_letters_from_all_over_the_world_do_not_warn(tmp_path, recwarn):
    def foreign() -> Figure:
        figure, axes = new_axes("身長", "体重 وزن")
        axes.plot([0.0, 1.0], [0.0, 1.0])
        return figure

    assert "身長" in inline_figure(foreign, name="a", label="l").svg
    save(foreign, tmp_path / "p")
    assert [str(w.message) for w in recwarn] == []


def test_histograms_and_bars_are_read_too():
    def counted() -> Figure:
        figure, axes = new_axes("size", "number")
        axes.stairs([3.0, 5.0], [0.0, 1.0, 4.0], fill=True)
        axes.bar([6.0, 8.0], [2.0, 4.0], width=1.0)
        return figure

    rows = list(csv.reader(io.StringIO(inline_figure(counted, name="a", label="l").csv)))[1:]
    assert [(name, float(x), float(y)) for name, x, y in rows] == [
        ("bars", 6.0, 2.0), ("bars", 8.0, 4.0), ("", 0.5, 3.0), ("", 2.5, 5.0),
    ]  # fmt: skip


def test_many_curves_share_the_places_of_a_figure():
    def many() -> Figure:
        figure, axes = new_axes("t", "f")
        for i in range(100):
            axes.plot(np.arange(300.0), i + np.zeros(300))
        return figure

    made = inline_figure(many, name="a", label="l")
    assert made.csv.count("\n") == 1 + 100 * 300
    assert 1000 <= made.svg.count('<circle class="value"') <= 2000


def test_a_saved_drawing_is_well_formed_and_carries_its_values(tmp_path):
    from xml.etree import ElementTree

    svg, _ = save(drawn, tmp_path / "p")
    root = ElementTree.parse(svg).getroot()  # noqa: S314 (a file of our own)
    titles = [node.text for node in root.iter() if node.tag.endswith("title")]
    assert "step 1\n\\sigma here 0.001" in titles
    assert save(drawn, tmp_path / "q")[0].read_bytes() == svg.read_bytes()
