"""The page and the picture of a sweep: means by another road, failures with traceback, nothing from
outside.
"""

import csv
import html
import io
import re
from urllib.parse import unquote

import numpy as np
import pytest
from tests.sweep import recipes

from globalmin import sweep
from globalmin.errors import PlanError
from globalmin.report.sweep_cells import average, choose, facets
from globalmin.report.sweep_page import draw, read_facets, render, save_figure, save_page


def read_cells(folder, **options):
    """The only plane of a grid of two parameters."""
    (cells,) = read_facets(folder, **options)
    return cells


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    base = tmp_path_factory.mktemp("page")
    plan = sweep.Plan(
        recipes.product, grid={"a": [0, 1, 2], "b": [1, 5]}, seeds=3, name="<b>plane</b>"
    )
    sweep.run(plan, base / "out", workers=1)
    return base / "out"


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    base = tmp_path_factory.mktemp("broken")
    sweep.run(
        sweep.Plan(recipes.poisoned, grid={"a": [0, 1]}, fixed={"folder": str(base)}, seeds=60),
        base / "out",
        workers=1,
    )
    return base / "out"


def test_cells_are_the_means_over_seeds(folder):
    cells = read_cells(folder, column="loss")
    assert (cells.x, cells.y, cells.x_values, cells.y_values) == ("b", "a", (1, 5), (0, 1, 2))
    for i, a in enumerate((0, 1, 2)):
        for j, b in enumerate((1, 5)):
            losses = [recipes.product(a, b, seed)["loss"] for seed in range(3)]
            assert cells.means[i, j] == pytest.approx(sum(losses) / 3, rel=1e-14)
            variance = sum((loss - sum(losses) / 3) ** 2 for loss in losses) / 2
            assert cells.spreads[i, j] == pytest.approx((variance / 3) ** 0.5, rel=1e-12)
    assert (cells.counts == 3).all()
    assert cells.left_out == 0


def test_numbers_that_are_not_finite_are_left_out_and_counted(folder):
    cells = read_cells(folder, column="diverged")
    assert cells.left_out == 18
    assert np.isnan(cells.means).all()
    assert len(draw(cells).axes) == 2


def test_axes_and_columns_can_be_chosen_and_mistakes_are_named(folder):
    assert read_cells(folder, column="even", x="a").y == "b"
    assert read_cells(folder, y="b").x == "a"
    with pytest.raises(PlanError, match="there are count, diverged, even, loss"):
        read_cells(folder, column="word")
    with pytest.raises(PlanError, match="those are a, b"):
        read_cells(folder, x="c")
    with pytest.raises(PlanError, match="nothing to draw"):
        choose(
            [{"trial": "t", "a": 1, "seed": 0, "status": "done", "error": None}],
            ["a"],
            (None, None, None),
        )


def test_words_on_an_axis_keep_their_order_and_one_axis_gives_a_line():
    rows = [{"method": m, "loss": v} for m, v in (("slow", 1.0), ("fast", 3.0), ("slow", 2.0))]
    cells = average(rows, "loss", "method", "")
    assert cells.x_values == ("slow", "fast")
    assert cells.means.tolist() == [[1.5, 3.0]]
    figure = draw(cells)
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["slow", "fast"]


def test_the_page_escapes_names_and_refers_to_nothing_outside(folder, tmp_path):
    page = save_page(folder, tmp_path / "p.html", column="loss").read_text(encoding="utf-8")
    assert "<b>plane" not in page
    assert "&lt;b&gt;plane" in page
    assert page.count("<svg") == 1
    assert "http://" not in page
    assert "https://" not in page
    assert page.count("<tr>") == 1 + 6 + 3
    assert render(folder, column="loss") == page


def test_failures_are_shown_with_their_traceback(broken):
    page = render(broken)
    assert "ValueError: no luck with seed 7" in page
    assert "raise ValueError(" in page
    assert "The first 50 of 60" in page


def test_a_sweep_without_numbers_still_has_a_page(tmp_path):
    sweep.run(
        sweep.Plan(recipes.poisoned, grid={"a": [1]}, fixed={"folder": str(tmp_path)}),
        tmp_path / "out",
        workers=1,
    )
    page = render(tmp_path / "out")
    assert "<svg" not in page
    assert "no luck" in page
    with pytest.raises(PlanError):
        render(tmp_path / "out", column="value")


@pytest.mark.parametrize(("name", "start"), [("f.svg", b"<?xml"), ("f.png", b"\x89PNG")])
def test_the_picture_alone_is_the_same_twice(folder, tmp_path, name, start):
    first = save_figure(folder, tmp_path / name, column="loss").read_bytes()
    assert first.startswith(start)
    assert save_figure(folder, tmp_path / name, column="loss").read_bytes() == first


def test_other_parameters_get_a_picture_each_instead_of_a_silent_mean():
    """Three parameters: the means of a facet are those of its own trials, by a loop."""
    rows = [
        {"b": b, "a": a, "method": method, "loss": scale * (a + b) + s, "seed": s}
        for method, scale in (("slow", 1.0), ("fast", 10.0))
        for b in (1, 5)
        for a in (0, 1, 2)
        for s in range(3)
    ]
    parts = facets(rows, ["method", "b", "a"], ("loss", "a", "b"))
    assert [part.facet for part in parts] == [(("method", "slow"),), (("method", "fast"),)]
    assert [part.title for part in parts] == ["method = slow", "method = fast"]
    for part, scale in zip(parts, (1.0, 10.0), strict=True):
        for i, b in enumerate((1, 5)):
            for j, a in enumerate((0, 1, 2)):
                assert part.means[i, j] == pytest.approx(scale * (a + b) + 1.0)
                assert part.counts[i, j] == 3
    figure = draw(*parts)
    meshes = [axes.collections[0] for axes in figure.axes if axes.get_title()]
    assert [mesh.get_clim() for mesh in meshes] == [(2.0, 71.0)] * 2  # one scale for both


def test_a_facet_without_some_value_keeps_the_common_axes():
    rows = [
        {"k": 1, "m": "s", "v": 1.0},
        {"k": 2, "m": "s", "v": 2.0},
        {"k": 2, "m": "f", "v": 3.0},
    ]
    slow, fast = facets(rows, ["k", "m"], ("v", "k", ""))
    assert slow.x_values == fast.x_values == (1, 2)
    assert np.isnan(fast.means[0, 0])
    assert fast.means[0, 1] == 3.0


def test_the_numbers_of_a_picture_are_saved_and_shown_under_the_pointer(folder):
    page = render(folder, column="loss")
    address = re.search(r'download="cells.csv" href="data:text/csv;charset=utf-8,([^"]*)"', page)
    assert address is not None
    table = list(csv.DictReader(io.StringIO(unquote(html.unescape(address.group(1))))))
    assert len(table) == 6
    cells = read_cells(folder, column="loss")
    for row in table:
        i, j = cells.y_values.index(int(row["a"])), cells.x_values.index(int(row["b"]))
        assert float(row["mean of loss"]) == cells.means[i, j]
    titles = re.findall(r'<rect class="value"[^>]*><title>([^<]*)</title>', page)
    assert len(titles) == 6
    assert titles[0].startswith("b 1\na 0\nmean of loss ")


def test_no_picture_is_embedded_in_a_picture(folder):
    """The policy of the page allows none: a colour bar as an image would be blocked."""
    assert "<image" not in render(folder, column="loss")
