"""The page: colors tell the verdict, texts are escaped, nothing is loaded, the bytes are the same
every time.
"""

import re
from html.parser import HTMLParser

import pytest
from tests.report.records import accepted, record, relu_target, target

from globalmin.proving.proof import Proof, ProvedClaim, ProvedNumbers, no_proof
from globalmin.report.page import render
from globalmin.report.words import limits

VOID = {"meta", "link", "br", "img", "hr", "input", "path", "use"}


class _Page(HTMLParser):
    """Collects tags, ids and internal references; checks that tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._open += [] if tag in VOID else [tag]
        for name, value in attrs:
            self.ids += [value] if name == "id" else []
            self.references += re.findall(r"url\(#([^)]*)\)", value or "") + (
                [value] if name in ("href", "src") else []
            )

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self._open.pop() == tag


@pytest.fixture(scope="module")
def page() -> str:
    return render(record(target()), [accepted()])


def test_an_accepted_proof_is_green_with_its_numbers_and_its_limits(page):
    assert 'class="verdict green"' in page
    assert "What is proved" in page
    assert "1\u00a0×\u00a010⁻¹³" in page
    assert "The checker&#39;s words." in page
    assert "Zero training loss is not generalization" in page
    assert "globalmin-check certificate.gmc --explain" in page
    assert "ridge regression" in page
    assert "−0.500" in page


def test_the_page_is_well_formed_and_self_contained(page):
    parsed = _Page(page)
    assert not {"script", "img", "link", "iframe", "object"} & set(parsed.tags)
    assert len(parsed.ids) == len(set(parsed.ids))
    saved = {r for r in parsed.references if r.startswith("data:text/csv;")}
    assert len(saved) == page.count("<figure>")
    assert {r.lstrip("#") for r in set(parsed.references) - saved} <= set(parsed.ids)
    assert "http://" not in page
    assert "https://" not in page
    assert "@import" not in page
    assert page.count("<svg") == 3


def test_the_same_record_gives_the_same_bytes(page):
    assert render(record(target()), [accepted()]) == page


@pytest.mark.parametrize(
    ("proof", "color", "words"),
    [
        (Proof("REJECTED", "check I5 fails"), "red", "refused the file: check I5 fails"),
        (Proof("MALFORMED", "the seal is wrong"), "red", "the seal is wrong"),
        (Proof("UNDECIDED", "beyond the budget"), "amber", "could not decide"),
        (no_proof({"interpolation": "h = 3 is not below 1/2"}), "red", "h = 3 is not below 1/2"),
    ],
)
def test_whatever_is_not_accepted_is_marked_and_explained(proof, color, words):
    page = render(record(target(certificate=None)), [proof])
    assert f'class="verdict {color}"' in page
    assert words in page
    assert "What is proved" not in page.replace("“What is proved”", "")
    assert "verdict green" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)


def test_numbers_of_a_rejected_claim_are_not_shown_as_proved():
    claim = ProvedClaim(
        "interpolation", "ACCEPTED", "", "", ProvedNumbers(loss_upper=1.25e-30, R=1e-13, a=0.5)
    )
    other = ProvedClaim("descent", "REJECTED", "D3 fails", "", ProvedNumbers())
    page = render(record(target()), [Proof("REJECTED", "D3 fails", (claim, other))])
    assert "1.25" not in page
    assert "proved: loss" not in page


def test_hostile_names_are_escaped_everywhere():
    name = "<script>alert('x')</script>&$\\alpha$"
    page = render(record(target(name), name=name, warnings=[name]), [Proof("REJECTED", name)])
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 4
    _Page(page)


def test_relu_pages_show_margins_against_the_largest_possible_move():
    page = render(record(relu_target()), [accepted("relu-interpolation", mu=0.002)])
    assert "Margins at the kinks" in page
    assert page.count("<svg") == 4
    assert "4.01\u00a0×\u00a010⁻¹³" in page  # largest row norm 4 times R = 1e-13, rounded up


def test_a_loss_floor_page_says_that_the_minimum_is_not_zero():
    page = render(
        record(target(loss_floor="1/4")),
        [accepted("loss-floor", floor=0.25, gap=1e-15, loss_upper=0.25)],
    )
    assert "Least loss L*" in page
    assert "not zero" in page
    assert "0.25" in page


def test_several_targets_have_a_summary_and_the_worst_verdict_in_the_title():
    page = render(record(target("a"), target("b")), [accepted(), no_proof({"interpolation": "no"})])
    assert "All targets" in page
    assert "<title>houses.csv → a, b · NOT PROVED · globalmin</title>" in page
    _Page(page)


def test_every_claim_kind_adds_its_own_limits():
    assert any("not of the run that found them" in item for item in limits(accepted("descent")))
    assert any("proved to exist" in item for item in limits(accepted("interpolation")))
    assert not any("proved to exist" in item for item in limits(accepted("loss-floor")))


def test_long_tables_are_thinned_and_say_so():
    steps = list(range(3000))
    long = target(
        trajectory={"iteration": steps, "loss": [1.0 / (1 + s) for s in steps]}, held_out=None
    )
    page = render(record(long), [accepted()])
    assert "Every 6th of 3000 rows" in page
    assert ">2999<" in page


def test_corners_are_drawn_without_complaint():
    still = target(
        trajectory={"iteration": [0], "loss": [0.0]}, spectrum=[0.0], held_out=None, scores={}
    )
    one = target(
        train=still.train.__class__([1.0], [1.0]),
        trajectory={"iteration": [0, 1], "loss": [1.0, 0.0]},
        spectrum=[1e-300],
        held_out=None,
    )
    for record_, proof in (
        (still, no_proof({})),
        (one, accepted(loss_upper=0.0, a=0.0)),
        (one, accepted(loss_upper=1 / 3)),
    ):
        _Page(render(record(record_), [proof]))
