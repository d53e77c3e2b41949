"""The rooms bring their claims; the producer's records and the checker's agree on every kind."""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.proving.claim import Proves, records, subject_of
from globalmin_check.claims import KINDS

SOURCE = Path(gm.__file__).parent


def test_producer_and_checker_know_the_same_kinds_with_the_same_theorems():
    assert {kind: r.theorem for kind, r in records().items()} == {
        kind: claim.theorem for kind, claim in KINDS.items()
    }


def test_both_sides_agree_which_claims_prove_zero_loss():
    ours = {kind for kind, record in records().items() if record.proves is Proves.ZERO_LOSS}
    assert ours == {kind for kind, claim in KINDS.items() if claim.zero_loss}


def test_every_claim_has_a_label_of_its_own():
    labels = [record.label for record in records().values()]
    assert all(labels)
    assert len(set(labels)) == len(labels)


def test_the_core_of_proving_names_no_family():
    rooms = {path.name for path in SOURCE.iterdir() if (path / "claims").is_dir()}
    assert {"shallow", "quadratic", "deep"} <= rooms
    for path in (SOURCE / "proving").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            named = node.module if isinstance(node, ast.ImportFrom) else None
            assert (named or "").split(".")[1:2] not in [[room] for room in rooms], path.name


def test_nobody_else_writes_checks_and_reads_back():
    """Only the road runs the checker on what we wrote; the report and `gm.check` run it on files
    that are there.
    """
    callers = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(
            r"proving\.producer import (\([^)]*\bcheck\b|[^(\n]*\bcheck\b)|\bproducer\.check\b",
            path.read_text(encoding="utf-8"),
        )
    }
    assert callers == {"report/record.py"}  # beside the road itself, where `check` stands


def test_what_no_certificate_can_speak_of_is_refused_by_name():
    known = "AdditiveStreamNetwork, DeepNetwork, Factors"
    with pytest.raises(DataError, match=f"about a ndarray; give one of {known}"):
        subject_of(np.zeros(3))


@pytest.mark.parametrize(
    ("claims", "words"),
    [([], "must name at least one"), (["magic"], "magic"), (["global-basin"], "OneFilterNetwork")],
)
def test_claims_that_are_not_about_this_network_are_refused(claims, words):
    data = gm.Dataset([[1.0], [2.0]], [1.0, 2.0])
    network = gm.ShallowNetwork.initialize(data, width=2, activation="softplus", seed=0)
    with pytest.raises(DataError, match=words):
        gm.prove(network, data, claims=claims)


def test_filters_and_factors_go_the_same_road():
    teacher = gm.FilterTeacher([1.0, 0.0], [1.0, 1.0])
    near = gm.OneFilterNetwork([0.9, 0.1], [1.0, 1.0])
    proof = gm.prove(near, teacher)
    assert proof.verdict == "ACCEPTED"
    assert proof.certificate == gm.certify_filter(near.v, near.a, teacher).to_bytes()
    rng = np.random.default_rng(0)
    U, V = rng.standard_normal((6, 2)), rng.standard_normal((5, 2))
    proof = gm.prove(gm.Factors(U, V), U @ V.T)
    assert proof.verdict == "ACCEPTED"
    assert proof.certificate == gm.certify_factorization(U, V, U @ V.T).to_bytes()
    assert 0 <= proof.loss_lower <= proof.loss_upper
    assert proof.gap < 1e-25
