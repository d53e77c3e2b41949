"""The contract of a reproduction: rows and how they are judged, columns, the registry and its close
matches.
"""

import re

import numpy as np
import pytest

from globalmin import references
from globalmin.errors import DataError
from globalmin.reproductions import Reproduction, Row, Setting, entries, entry, reproduction
from globalmin.reproductions.registry import _ENTRIES, headline, number_text


def row(published, ours, tolerance=None, relation="=", **more):
    """A row against a number that the paper prints in its text."""
    return Row("a", published, ours, tolerance, relation, where="text", **more)


def test_a_row_agrees_exactly_within_its_tolerance():
    assert row(1.0, 1.05, 0.05000001).agrees
    assert row(1.0, 1.06, 0.05).agrees is False
    assert row(1.0, 0.2, 0.0, "<=").agrees
    assert row(1.0, 1.2, 0.1, "<=").agrees is False
    assert row(1.0, 1.2, 0.0, ">=").agrees
    assert row(1.0, 0.5, 0.1, ">=").agrees is False
    assert row(1.0, float("nan"), 0.4, ">=").agrees is False
    assert row(1.0, float("inf"), 0.4, ">=").agrees is False
    assert Row("a", None, 3.0, note="nothing is printed").agrees is None
    assert row(np.float64(1.0), np.int64(1), np.float64(0.0)).agrees is True


def test_a_row_that_is_not_judged_says_why_and_a_judged_one_has_two_numbers():
    with pytest.raises(DataError, match="note must say why"):
        row(1.0, 1.0)
    with pytest.raises(DataError, match="not two numbers"):
        row("a straight line", 1.0, 0.1)
    with pytest.raises(DataError, match="relation '<'"):
        row(1.0, 1.0, 0.1, "<")


def test_published_needs_its_place_and_a_reference_its_source():
    with pytest.raises(DataError, match="not where the paper prints it"):
        Row("a", 1.0, 1.0, 0.1)
    with pytest.raises(DataError, match="without its `source`"):
        Row("a", None, 1.0, 0.1, reference=1.0)


def test_the_paper_comes_before_our_reference_and_words_are_judged_by_the_reference():
    both = row(2.0, 2.1, 0.2, reference=1.0, source="closed form")
    assert (both.target, both.agrees, both.against) == (2.0, True, "the paper")
    words = row("near one", 1.3, 0.2, reference=1.0, source="closed form")
    assert (words.target, words.agrees, words.against) == (1.0, False, "our reference")
    assert row("near one", 1.3, note="no number").against is None


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({"tolerance": 0.49}, "agrees"),  # catches a number off by half
        ({"tolerance": 0.5}, "not judged"),
        ({"tolerance": 0.3, "catches": ("ones", 1.43)}, "agrees"),
        ({"tolerance": 0.3, "catches": ("ones", 1.42)}, "not judged"),
        ({"tolerance": 0.3, "catches": ("ones", 0.57)}, "agrees"),
        ({"tolerance": 0.0, "relation": ">=", "catches": ("ones", 3.0)}, "not judged"),
        ({"tolerance": 0.0, "relation": ">=", "catches": ("ones", 0.9)}, "agrees"),
    ],
)
def test_a_row_that_would_let_its_alternative_pass_is_not_judged(options, verdict):
    one = row(1.0, 1.0, **options)
    assert one.verdict == verdict
    assert ("no power" in one.texts()[-1]) == (verdict == "not judged")


def test_the_headline_counts_every_row_and_says_against_what():
    rows = [
        row(1.0, 1.0, 0.1),
        row(1.0, 2.0, 0.1),
        Row("b", None, 1.0, 0.1, reference=1.0, source="x"),
        Row("c", None, 1.0, note="nothing is printed"),
        row(1.0, 1.0, 2.0),
    ]
    assert headline(rows) == (
        "2 agree, 1 differs, 2 not judged; 2 against the paper, 1 against our reference"
    )
    assert headline(rows[3:]) == "2 not judged"
    assert headline([]) == "no rows"


def test_cells_are_texts_with_sign_tolerance_and_word():
    assert row(0.5, 0.25, 0.2, note="why", error="two intervals").texts() == (
        "a",
        "0.5",
        "",
        "0.25",
        "0.2",
        "DIFFERS",
        "why; published: text; tolerance: two intervals",
    )
    assert row(2.0, 3.0, 0.0, ">=").texts()[1] == "≥ 2"
    words = row("line", 3.0, 0.0, "<=", reference=2.0, source="run", catches=("ones", 4.0))
    assert words.texts() == (
        *("a", "line", "≤ 2", "3", "0", "DIFFERS"),
        "published: text; reference: run; would catch ones (4)",
    )
    assert number_text(12_345) == "12,345"
    assert number_text(1.23456e-7) == "1.2346e-07"
    assert number_text("slow") == "slow"


def test_columns_of_different_length_are_refused():
    with pytest.raises(DataError, match="differ in length"):
        Reproduction(item="X", scale="thumbnail", table=(), data={"a": [1], "b": [1, 2]})


def test_the_text_of_a_reproduction_has_every_row_and_choice():
    found = Reproduction(
        "X",
        "thumbnail",
        (Row("share", 0.5, 0.4, 0.2, where="table 1"),),
        {"a": [1]},
        choices=("Step 0.1.",),
    )
    text = str(found)
    assert "share" in text
    assert "agrees" in text
    assert "published: table 1" in text
    assert "X, thumbnail: 1 agrees; 1 against the paper" in text
    assert "- Step 0.1." in text
    assert found.row("share").ours == 0.4
    assert found.agrees


def test_unknown_scale_is_refused_and_pick_follows_the_scale():
    with pytest.raises(DataError, match="scale='huge' is unknown; choose one of 'thumb"):
        Setting("huge")
    assert Setting("paper").pick(thumbnail=1, paper=2) == 2
    assert Setting().pick(thumbnail=1, paper=2) == 1


def test_every_registered_id_is_in_the_catalogue_or_our_own():
    known = set(references.catalogue())
    assert {item for item in entries() if item not in known and not item.startswith("GM-")} == set()
    assert all(one.title and one.item == item for item, one in entries().items())


def test_unknown_id_names_close_matches():
    with pytest.raises(DataError, match=re.escape("'DU-F5.2b'; did you mean DU-F5.2")):
        entry("DU-F5.2b")
    with pytest.raises(DataError, match="nothing is close"):
        entry("zzzzzzzzzzzzzzzzzzzz")
    with pytest.raises(DataError, match="is no ID"):
        entry(None)  # pyright: ignore[reportArgumentType]


def test_an_id_is_found_in_any_case():
    assert entry("du-tab5.1") is entry("DU-TAB5.1")


def test_one_id_has_one_function():
    @reproduction("GM-test", title="first")
    def first(setting):
        raise NotImplementedError

    try:
        with pytest.raises(DataError, match="keep one"):

            @reproduction("GM-test", title="second")
            def second(setting):
                raise NotImplementedError

        assert _ENTRIES["GM-test"].run is first
    finally:
        del _ENTRIES["GM-test"]
