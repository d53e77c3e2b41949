"""The contract of a reproduction: rows and how they are judged, columns, the registry and its close
matches.
"""

import re

import numpy as np
import pytest

from globalmin import references
from globalmin.errors import DataError
from globalmin.reproductions import Reproduction, Row, Setting, entries, entry, reproduction
from globalmin.reproductions.registry import _ENTRIES, number_text


def test_a_row_agrees_exactly_within_its_tolerance():
    assert Row("a", 1.0, 1.05, 0.05000001).agrees
    assert Row("a", 1.0, 1.06, 0.05).agrees is False
    assert Row("a", 1.0, 0.2, 0.0, "<=").agrees
    assert Row("a", 1.0, 1.2, 0.1, "<=").agrees is False
    assert Row("a", 1.0, 1.2, 0.0, ">=").agrees
    assert Row("a", 1.0, 0.5, 0.1, ">=").agrees is False
    assert Row("a", 1.0, float("nan"), 10.0, ">=").agrees is False
    assert Row("a", None, 3.0, note="nothing is printed").agrees is None
    assert Row("a", np.float64(1.0), np.int64(1), np.float64(0.0)).agrees is True


def test_a_row_that_is_not_judged_says_why_and_a_judged_one_has_two_numbers():
    with pytest.raises(DataError, match="note must say why"):
        Row("a", 1.0, 1.0)
    with pytest.raises(DataError, match="not two numbers"):
        Row("a", "a straight line", 1.0, 0.1)
    with pytest.raises(DataError, match="relation '<'"):
        Row("a", 1.0, 1.0, 0.1, "<")


def test_cells_are_texts_with_sign_and_word():
    assert Row("a", 0.5, 0.25, 1.0, note="why").texts() == (
        "a",
        "0.5",
        "0.25",
        "-0.25",
        "agrees; why",
    )
    assert Row("a", 2, 1, 0.5).texts() == ("a", "2", "1", "-1", "DIFFERS")
    assert Row("a", 2.0, 3.0, 0.0, ">=").texts()[1] == "≥ 2"
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
        (Row("share", 0.5, 0.4, 0.2, note="as printed"),),
        {"a": [1]},
        choices=("Step 0.1.",),
    )
    text = str(found)
    assert "share" in text
    assert "agrees; as printed" in text
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
