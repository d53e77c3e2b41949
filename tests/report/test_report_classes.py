"""Sentences about a lower bound name the networks it is proved for: a floor for heads v >= 0 says
nothing of other heads.
"""

import re

import numpy as np
import pytest
from tests.report.records import accepted, record, target

import globalmin as gm
from globalmin.cli.summary import proof_lines
from globalmin.proving.proof import Proof, ProvedClaim, ProvedNumbers, proof_from
from globalmin.report.page import render
from globalmin.report.words import SHOWN, covered_networks, headline, plain_statement
from globalmin.shallow.network import loss

WIDE = {"loss_upper": 1.6, "floor": 0.25, "gap": 1.35, "groups": 2.0}
NARROW = {"loss_upper": 0.25, "floor": 0.25, "gap": 1e-12, "groups": 2.0}
GAP = {
    "objective": 10.0,
    "floor": 9.0,
    "gap": 1.0,
    "method": "dual",
    "decay": "0",
    "loss_upper": 10.0,
}
# a sentence that denies zero loss, or speaks of a minimum, without saying over which heads
UNLIMITED = re.compile(
    r"zero loss is impossible|no network (?:of this kind|has|gets|below)|the global minimum(?! "
    r"over that class)",
    re.IGNORECASE,
)


def visible(page: str) -> str:
    """The page without style and tags."""
    return " ".join(re.sub(r"<style.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def everything_said(proof: Proof) -> str:
    """Headline, statement, table of the command line and the report page."""
    lines = " ".join(f"{label} {line}" for label, line in proof_lines(proof))
    return " ".join(
        [
            headline(proof),
            plain_statement(proof.claims[0]),
            lines,
            visible(render(record(target()), [proof])),
        ]
    )


@pytest.mark.parametrize("numbers", [WIDE, NARROW], ids=["wide gap", "narrow gap"])
def test_a_floor_for_heads_of_one_sign_is_never_told_as_one_for_all(numbers):
    proof = accepted("loss-floor", heads="nonnegative", **numbers)
    said = everything_said(proof)
    assert not UNLIMITED.search(said.replace("no network of the class", "")), UNLIMITED.search(said)
    assert "contradict each other" not in said
    for text in (headline(proof), plain_statement(proof.claims[0])):
        assert "a head v ≥ 0" in text
        assert "other heads are not covered" in text
    assert "for every width and head v ≥ 0" in said
    assert "no network with v ≥ 0 below 0.25" in said


def test_a_floor_for_every_head_says_so():
    wide, narrow = (accepted("loss-floor", heads="any", **numbers) for numbers in (WIDE, NARROW))
    assert headline(wide).startswith(
        "No network with this activation and any head, of any width, reaches zero loss on"
    )
    assert headline(narrow).startswith(
        "The stored network is at the global minimum, up to the proved gap. It is not zero:"
    )
    for proof in (wide, narrow):
        assert "v ≥ 0" not in everything_said(proof)
        assert "not covered" not in everything_said(proof)


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        ("nonnegative", "with a head v ≥ 0"),
        ("nonpositive", "with a head v ≤ 0"),
        ("any", "with any head"),
    ],
)
def test_an_optimality_gap_names_its_heads_and_with_decay_their_size(heads, words):
    for decay, gap in (("0", 1.0), ("2", 1.0), ("0", 1e-9), ("2", 1e-9)):
        claim = ProvedClaim(
            "optimality-gap",
            "ACCEPTED",
            "",
            "",
            ProvedNumbers.read(GAP | {"heads": heads, "decay": decay, "gap": gap}),
        )
        proof = Proof("ACCEPTED", "", (claim,))
        assert words in headline(proof)
        assert words in plain_statement(claim)
        assert ("no head weight larger than the stored ones" in covered_networks(claim)) == (
            decay == "2"
        )


def test_labels_of_the_numbers_claim_no_more_than_the_class():
    assert "of the class" in SHOWN["floor"][0]
    assert "of the class" in SHOWN["gap"][0]
    assert "of the class" in SHOWN["penalized_floor"][0]


def test_the_sentence_about_one_positive_head_is_true_of_the_same_rows_with_more_neurons(tmp_path):
    """Width 1 has one positive head, and half of the standardized labels are negative; width 4 fits
    the same rows exactly.
    """
    rng = np.random.default_rng(0)
    data = gm.Dataset(rng.standard_normal((6, 2)), rng.standard_normal(6))
    one = gm.train(gm.ShallowNetwork(rng.standard_normal((1, 3)), [1.0], "softplus"), data).network
    proof = proof_from(gm.check(gm.certify(one, data).save(tmp_path / "one.gmc")))
    assert proof.is_accepted
    floor = float(proof.claims[0].numbers.floor)
    four = gm.train(gm.ShallowNetwork.initialize(data, 4, seed=0), data).network
    assert loss(four, data.X, data.y) < 1e-12 < 0.01 < floor <= loss(one, data.X, data.y)
    assert (
        "No network with this activation and a head v ≥ 0, of any width, reaches zero loss"
        in headline(proof)
    )
    assert not UNLIMITED.search(everything_said(proof).replace("no network of the class", ""))
