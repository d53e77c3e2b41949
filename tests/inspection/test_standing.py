"""The order of an inspection: what holds, what stands in the way of the rest, the others short."""

import dataclasses

import numpy as np
import pytest

import globalmin as gm
from globalmin.inspection import inspect
from globalmin.inspection.text import named, standing
from globalmin.report.inspection_page import render

ROWS = 'rows of norm 1: scaling="rows"'


@pytest.fixture(scope="module")
def uneven():
    """Rows of many norms: the printed theorems all wait for one thing."""
    rng = np.random.default_rng(0)
    return inspect(gm.Dataset(rng.standard_normal((15, 5)), rng.standard_normal(15)), 30, "relu")


@pytest.fixture(scope="module")
def fitted():
    """A network that fits: the theorems about weights hold."""
    data = gm.generators.sphere_with_random_labels(4, 12, seed=0)
    start = gm.ShallowNetwork.initialize(data, 8, "softplus", seed=0)
    return inspect(data, network=gm.train(start, data, method="levenberg_marquardt").network)


def test_every_theorem_stands_in_one_place(uneven, fitted):
    for found in (uneven, fitted):
        placed = standing(found)
        items = [r.item for r in (*placed.inside, *placed.outside)]
        assert sorted(items) == sorted(r.item for r in found.theorems)
        assert all(r.finding == "holds" for r in placed.holds)
        assert all(r.finding == "fails" for _, group in placed.in_the_way for r in group)
        assert all(r.finding == "constant unknown" for r in placed.unknown)
        assert not any(r.is_in_scope for r in placed.outside)
        counts = [len(group) for _, group in placed.in_the_way]
        assert counts == sorted(counts, reverse=True)


def test_one_remedy_is_said_once_with_all_theorems_that_wait_for_it(uneven):
    waiting = dict(standing(uneven).in_the_way)[ROWS]
    items = {r.item for r in waiting}
    assert {"OS-T6.3", "OS-T2.3", "OS-T2.5"} <= items
    assert not {"DU-T2.2", "DU-T2.3"} & items  # they hold for rows of any norm
    assert str(uneven).count(ROWS) == 1
    assert render(uneven).count("rows of norm 1: scaling=") == 1


def test_the_text_begins_with_what_holds(fitted, uneven):
    text = str(fitted)
    places = [
        text.index(words)
        for words in (
            "Holds here",
            "  OS-C1     ours: gradient descent",
            "Stands in the way of the others",
            "Not about softplus networks",
            "Quantities",
            "Theorem by theorem",
        )
    ]
    assert places == sorted(places)
    assert "nobody knows" not in text  # DU-T3.1 to T3.3 have explicit widths
    below = text[text.index("Theorem by theorem") :]
    first = [r.item for r in standing(fitted).holds]
    assert {"OS-C1", "OS-C2", "OS-C4"} <= set(first)
    assert below.index(f"  {first[0]} ") < below.index("  OS-T6.2 ")
    assert "OS-T6.3 " not in below  # not about softplus: named once, above
    assert max(map(len, text.splitlines())) <= 140
    assert "misfit of the given network" in text
    assert "drawn" not in text.replace("rows drawn", "").replace("inputs drawn", "")


def test_a_theorem_that_lacks_two_things_is_named_at_both_with_a_star():
    """Thirty rows of other norms in four dimensions: OS-T2.1 needs unit rows and fewer samples."""
    rng = np.random.default_rng(0)
    data = gm.Dataset(rng.standard_normal((30, 4)), rng.standard_normal(30), bias=False)
    found = inspect(data, 30)
    groups = {remedy: {named(r) for r in reports} for remedy, reports in standing(found).in_the_way}
    assert {"OS-T2.1*", "OS-T2.6*", "OS-T6.2"} <= groups[ROWS]
    assert groups["at most d(d+1)/2 samples"] == {"OS-T2.1*", "OS-T2.6*"}
    few = inspect(gm.Dataset(rng.standard_normal((60, 4)), rng.standard_normal(60), bias=False), 30)
    report = few.theorem("OS-LH.1")
    assert report.hypotheses[3].measured == "n = 60, at most 35 products of the features"
    assert report.hypotheses[3].remedy == "fewer samples per feature"


def test_a_theorem_that_lacks_only_width_says_from_which(uneven):
    data = gm.generators.sphere_with_random_labels(12, 6, seed=0)
    report = inspect(data, 20).theorem("OS-C6")
    assert named(report) == f"OS-C6 (from {report.width:.3g})"
    assert named(uneven.theorem("OS-T6.3")) == "OS-T6.3"


def test_the_page_has_no_red_and_opens_what_holds(fitted):
    page = render(fitted)
    body = page[page.index("<body>") :]
    assert 'class="chip red"' not in body
    assert '<details id="OS-C1" open>' in body
    assert '<details id="OS-T6.2">' in body
    places = [body.index(f"<h2>{title}") for title in ("What holds here", "What stands in the way")]
    assert places == sorted(places)
    assert places[1] < body.index("<h2>Theorem by theorem")
    assert "λ_min(ΦΦᵀ) at the given network" in body


def test_nothing_holding_is_said_in_words():
    data = gm.generators.sphere_with_random_labels(12, 6, seed=0)
    found = inspect(data, 20)
    assert [report.item for report in standing(found).holds] == ["SJL-P7.1"]  # of any network
    rest = tuple(report for report in found.theorems if report.item != "SJL-P7.1")
    found = dataclasses.replace(found, theorems=rest)
    assert standing(found).holds == ()
    assert "nothing at this width and these weights" in str(found)
    assert "Nothing at this width and these weights" in render(found)


def test_numbers_that_are_not_finite_become_null_in_json():
    data = gm.generators.sphere_with_random_labels(12, 6, seed=0)
    report = inspect(data, 20, "tanh").theorem("OS-T2.1").to_dict()
    assert report["width"] is None
    assert report["never_wide_enough"] is True
    assert report["hypotheses"][3]["remedy"] == "a higher power of the data: OS-LH.1"
    wide = inspect(data, 20).theorem("OS-T6.2").to_dict()
    assert wide["never_wide_enough"] is False
    assert [n["what"] for n in wide["numbers"]][1] == "path from this start, at most"
