"""The ladder and the proof: order, wide bounds, what is left out, what is said of failures."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import MemoryRefused
from globalmin.proving import producer
from globalmin.proving.claim import Claim, ClaimRecord, Proves, Rung
from globalmin.proving.proof import Proof, ProvedClaim, ProvedNumbers, float_up
from globalmin_check import check_file

CORPUS = Path(__file__).parents[1] / "corpus" / "accepted"
RNG = np.random.default_rng(3)


def record(kind, proves):
    return ClaimRecord(kind, "theorem/1", proves, kind, object, build=lambda q: claim(kind))


def claim(kind, **summary):
    return Claim(kind, {}, {}, summary)


def refused(*_):
    raise gm.CannotCertify("no")


@pytest.fixture
def kinds(monkeypatch):
    """Three kinds of claims that only these tests know."""
    known = {
        "zero": record("zero", Proves.ZERO_LOSS),
        "bound": record("bound", Proves.FLOOR),
        "data": record("data", Proves.DATA),
    }
    monkeypatch.setattr(producer, "records", lambda: known)
    return known


def climbed(steps, *, is_quick=False):
    climb = producer._Climb(is_quick=is_quick)
    return [found.kind for found in climb.to_the_top(steps)], climb.reasons


def test_the_first_level_at_which_a_claim_holds_is_the_end(kinds):
    zero, bound = kinds["zero"], kinds["bound"]
    never = Rung(3, lambda: pytest.fail("climbed on"))
    steps = [
        (zero, Rung(1, refused)),
        (bound, Rung(2, lambda: claim("bound", gap=1e-9, loss_upper=1.0))),
        (zero, never),
    ]
    assert climbed(steps) == (["bound"], {"zero": "no"})


def test_a_wide_bound_is_kept_only_if_nothing_better_holds(kinds):
    zero, bound = kinds["zero"], kinds["bound"]
    wide = bound, Rung(1, lambda: claim("bound", gap=0.5, loss_upper=1.0))
    assert climbed([wide, (zero, Rung(2, refused))])[0] == ["bound"]
    assert climbed([wide, (zero, Rung(2, lambda: claim("zero")))])[0] == ["zero"]
    wider = bound, Rung(2, lambda: claim("bound", gap=0.9, loss_upper=1.0))
    (kept,) = producer._Climb(is_quick=False).to_the_top([wide, wider])
    assert kept.summary["gap"] == 0.5


def test_what_stands_beside_is_added_to_a_claim_and_never_alone(kinds):
    beside = kinds["data"], Rung(1, lambda: claim("data"), is_beside=True)
    holds = kinds["zero"], Rung(2, lambda: claim("zero"))
    assert climbed([beside, holds])[0] == ["zero", "data"]
    assert climbed([beside, holds], is_quick=True)[0] == ["zero"]
    assert climbed([beside])[0] == []


def test_a_quick_climb_leaves_out_extras_unless_nothing_else_holds(kinds):
    extra = kinds["bound"], Rung(1, lambda: claim("bound"), is_extra=True)
    assert climbed([extra, (kinds["zero"], Rung(1, lambda: claim("zero")))])[0] == ["bound", "zero"]
    quick = climbed([extra, (kinds["zero"], Rung(1, lambda: claim("zero")))], is_quick=True)
    assert quick[0] == ["zero"]
    assert climbed([extra, (kinds["zero"], Rung(1, refused))], is_quick=True)[0] == ["bound"]


def test_want_of_memory_is_told_as_such(monkeypatch):
    network, data = fitted()
    monkeypatch.setattr("globalmin.proving.certificate.MEMORY_LIMIT", 1000)
    with pytest.raises(MemoryRefused, match="GiB"):
        gm.certify(network, data)
    proof = gm.prove(network, data)
    assert (proof.verdict, proof.lacks_memory) == ("NOT PROVED", True)
    assert "GiB" in proof.why


def fitted():
    data = gm.Dataset(RNG.standard_normal((20, 3)), RNG.standard_normal(20))
    return gm.train_auto(data).network, data


def test_the_file_is_at_its_path_and_is_the_one_that_was_checked(tmp_path):
    network, data = fitted()
    proof = gm.prove(network, data, path=tmp_path / "fit.gmc")
    assert [path.name for path in tmp_path.iterdir()] == ["fit.gmc"]
    assert (tmp_path / "fit.gmc").read_bytes() == proof.certificate
    assert gm.check(tmp_path / "fit.gmc").statement == proof.statement
    assert {"prove", "check"} == set(proof.seconds)


def test_nothing_is_written_where_nothing_holds(tmp_path):
    network, data = fitted()
    proof = gm.prove(network.with_weights(W=network.W + 1.0), data, path=tmp_path / "fit.gmc")
    assert (proof.verdict, proof.certificate, proof.gap) == ("NOT PROVED", None, np.inf)
    assert set(proof.reasons) == {"descent", "interpolation"}
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_accepted_is_no_proof(monkeypatch, tmp_path):
    from globalmin_check import Result, Verdict

    network, data = fitted()
    monkeypatch.setattr(
        "globalmin.proving.producer.check", lambda path: Result(Verdict.UNDECIDED, "planted")
    )
    proof = gm.prove(network, data, path=tmp_path / "fit.gmc")
    assert (proof.verdict, proof.certificate, proof.has_file) == ("UNDECIDED", None, True)
    assert (proof.loss_upper, proof.loss_lower, proof.gap) == (np.inf, 0.0, np.inf)
    assert proof.why == "the checker answered UNDECIDED: planted"
    assert not proof.reaches_minimum
    assert (tmp_path / "fit.gmc").is_file()


def test_an_untrained_quadratic_network_is_not_proved_at_a_large_weight_decay():
    X = np.sign(RNG.standard_normal((60, 4)))
    data = gm.Dataset(X, X[:, 0] * X[:, 1] * X[:, 2], scaling="none")  # no rows conflict
    start = gm.ShallowNetwork.initialize(data, width=10, activation="quadratic", seed=0)
    proof = gm.prove(start, data)
    assert proof.verdict == "NOT PROVED"
    assert "not negligible" in proof.reasons["optimality-gap"]


def accepted(kind, **numbers):
    return ProvedClaim(kind, "ACCEPTED", "", "", ProvedNumbers(**numbers))


def test_bounds_with_weight_decay_are_those_of_the_penalized_loss():
    gap = accepted("optimality-gap", loss_upper=1.0, objective=3.0, floor=2.9, gap=0.2, decay="1/2")
    other = accepted("identifies", loss_upper=1.0)
    proof = Proof("ACCEPTED", claims=(gap, other))
    assert (proof.loss_upper, proof.loss_lower, proof.gap) == (3.0, 2.9, 0.2)


def test_bounds_without_weight_decay_are_the_best_of_all_claims():
    near = accepted("interpolation", loss_upper=1e-20)
    far = accepted("descent", loss_upper=2e-20)
    proof = Proof("ACCEPTED", claims=(far, near))
    assert (proof.loss_upper, proof.loss_lower, proof.gap) == (1e-20, 0.0, 1e-20)
    assert proof.reaches_minimum


def test_a_fraction_is_rounded_up():
    third = Fraction(1, 3)
    assert third < float_up(third) <= third * (1 + Fraction(1, 2**52))
    assert float_up(Fraction(1, 4)) == 0.25


@pytest.mark.parametrize("file", sorted(CORPUS.rglob("*.gmc"))[::25], ids=lambda path: path.stem)
def test_the_numbers_of_the_checker_are_read_without_loss(file):
    for found in check_file(file).claims:
        numbers = ProvedNumbers.read(found.numbers)
        assert numbers.by_name() == found.numbers
        assert json.dumps(numbers.by_name(), sort_keys=True) == json.dumps(
            found.numbers, sort_keys=True
        )
        # files of networks with weight decay state the objective instead
        name = "loss_upper" if "loss_upper" in found.numbers else "objective"
        assert getattr(numbers, name) == found.numbers[name]
