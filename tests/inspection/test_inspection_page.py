"""The page and the pictures of an inspection: self-contained, the same every time, true to the
numbers.
"""

import re

import pytest

import globalmin as gm
from globalmin.inspection import inspect, predict_run
from globalmin.report import inspection_page
from globalmin.report.inspection_page import number, render, save_page


@pytest.fixture(scope="module")
def found():
    return inspect(
        gm.generators.sphere_with_random_labels(12, 5, seed=0), width=20, activation="relu"
    )


@pytest.fixture(scope="module")
def comparison():
    data = gm.generators.sphere_with_random_labels(4, 12, seed=0)
    return predict_run(gm.ShallowNetwork.initialize(data, width=804, seed=0), data, max_iter=20)


def test_page_is_self_contained_and_the_same_every_time(found, tmp_path):
    page = render(found)
    assert page == render(found)
    assert save_page(found, tmp_path / "p.html").read_text(encoding="utf-8") == page
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert page.count("<figure>") == 3
    for report in found.theorems:
        assert report.item in page


def test_a_real_run_adds_its_two_pictures(found, comparison):
    assert render(found, comparison=comparison).count("<figure>") == 5


def test_picture_of_widths_has_a_row_for_each_finite_width_and_the_two_of_practice(found):
    figure = inspection_page.required_widths(found)
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert set(labels) == set(found.required_widths()) | {"asked", "recommended"}
    assert labels[-1] == "recommended"


def test_picture_of_a_run_draws_the_proved_envelope_only_where_there_is_one(comparison):
    lines = inspection_page.compared_run(comparison).axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["measured", "predicted", "proved at the start"]
    assert lines[0].get_ydata()[0] == comparison.measured[0]


def test_degenerate_instances_have_a_page_too():
    data = gm.Dataset([[1.0], [1.0], [0.0]], [1.0, 2.0, 3.0], bias=False, scaling="none")
    page = render(inspect(data, width=3, activation="relu"))
    assert "row 2 is zero" in page
    assert "zero loss is impossible" in page


def test_numbers_are_set_for_reading():
    assert [number(x) for x in (float("inf"), None, 12.0, 2.5e19)] == [
        "∞",
        "–",
        "12",
        "2.5\u00a0×\u00a010¹⁹",
    ]


def test_widths_in_sentences_are_set_as_those_in_tables():
    page = render(inspect(gm.generators.sphere_with_random_labels(20, 5, seed=0)))
    assert re.search(r"\(from [\d.]+\xa0×\xa010[⁰¹²³⁴⁵⁶⁷⁸⁹]+\)", page)
    assert re.search(r"\(from [\d.]+e\+", page) is None
