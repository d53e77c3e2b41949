"""Budget, precision ladder, combination of claims, and the consistency test between claims."""

import json
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from tests.checker.cases import (
    build,
    build_relu,
    descent_claim,
    floor_claim,
    interpolation_claim,
    relu_claim,
    relu_network,
    trained_network,
)
from tests.checker.records import exact_checks, first_pass, last_pass
from tests.oracles import gmc_builder as gmc

from globalmin_check import ClaimResult, Result, Verdict, limits, positive
from globalmin_check.checks import Budget
from globalmin_check.claims import KINDS
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import Rejected, TooCoarse, Undecided

FOUR = ("interpolation", "descent", "relu-interpolation", "loss-floor")


def test_an_open_check_ends_the_pass_before_the_last_precision_only() -> None:
    early = first_pass()
    with pytest.raises(TooCoarse):
        early.require("7", "x < y", arb(1, 1), "<", 1)
    checks = last_pass()
    checks.require("7", "x < y", arb(1, 1), "<", 1)
    checks.require("8", "x < z", arb("nan"), "<", 1)
    assert checks.undecided().startswith("check 7 (x < y) is undecided")


def test_a_certain_failure_outweighs_an_open_check() -> None:
    checks = last_pass()
    checks.require("1", "x < y", arb(1, 1), "<", 1)
    with pytest.raises(Rejected, match="check 2"):
        checks.require("2", "x <= y", arb(2), "<=", 1)
    assert [line.outcome for line in checks.lines] == ["undecided", "fails"]


def test_exact_checks_are_two_valued_and_strict_where_they_say_so() -> None:
    checks = exact_checks()
    checks.require_sign("1", "a >= 0", Fraction(0))
    with pytest.raises(Rejected, match=r"check 3 \(a > 0\) fails: a = 0"):
        checks.require_sign("3", "a > 0", Fraction(0))
    checks.require("4", "a <= b", Fraction(1, 3), "<=", Fraction(1, 3))
    with pytest.raises(Rejected, match=r"check 5 \(a < b\) fails: .* is not <"):
        checks.require("5", "a < b", Fraction(1, 3), "<", Fraction(1, 3))
    assert [line.outcome for line in checks.lines] == ["holds", "fails", "holds", "fails"]


def test_the_budget_counts_before_the_work_is_done() -> None:
    budget = Budget()
    budget.charge(limits.WORK, 0, 128)
    with pytest.raises(Undecided, match="exceeds the budget"):
        budget.charge(1, 0, 128)
    with pytest.raises(Undecided, match="exceeds the budget"):
        Budget().charge(limits.WORK // 2 + 1, 0, 256)
    Budget().charge(1, limits.BALL_BYTES // limits.BYTES_PER_BALL, 128)
    with pytest.raises(Undecided, match="bytes"):
        Budget().charge(1, limits.BALL_BYTES // limits.BYTES_PER_BALL + 1, 128)


@pytest.mark.parametrize("kind", FOUR)
def test_work_beyond_the_budget_is_undecided_and_never_started(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, relu = trained_network(4, 2, 4), relu_network(4, 3, 4)
    blobs = {
        "interpolation": build(net, [interpolation_claim(net)]),
        "descent": build(net, [descent_claim(net, norm="factor")]),
        "relu-interpolation": build_relu(relu, [relu_claim(relu)]),
        "loss-floor": build(
            net, [floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(10))]
        ),
    }
    assert check_bytes(blobs[kind]).verdict is Verdict.ACCEPTED
    monkeypatch.setattr(limits, "WORK", 100)
    result = check_bytes(blobs[kind])
    assert result.verdict is Verdict.UNDECIDED
    assert "budget" in result.reason
    assert result.claims[0].checks == ()


def test_the_work_of_the_specified_sizes_fits_the_budget() -> None:
    from globalmin_check.certificate import read_certificate

    net = trained_network(4, 2, 4)
    _, claims = read_certificate(build(net, [interpolation_claim(net)]), None)
    from globalmin_check.problem import Sizes

    work, balls = claims[0].kind.work(claims[0].content, Sizes(2000, 50, 50))
    Budget().charge(work, balls, 128)
    work, balls = claims[0].kind.work(claims[0].content, Sizes(4000, 50, 50))
    with pytest.raises(Undecided):
        Budget().charge(work, balls, 128)


def test_verdicts_combine_rejected_before_undecided() -> None:
    net = trained_network(4, 2, 4)
    good = interpolation_claim(net)
    bad = (good[0] | {"R": "0"}, good[1])
    result = check_bytes(build(net, [good, bad, good]))
    assert result.verdict is Verdict.REJECTED
    assert result.reason.startswith("claim 1 (interpolation): check I6")
    assert [claim.verdict for claim in result.claims] == [
        Verdict.ACCEPTED,
        Verdict.REJECTED,
        Verdict.ACCEPTED,
    ]


def test_a_positive_floor_and_zero_loss_can_never_both_be_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net = trained_network(4, 2, 4)
    claims = [
        interpolation_claim(net),
        floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(1)),
    ]
    assert check_bytes(build(net, claims)).verdict is Verdict.ACCEPTED
    positive = floor_claim([(0, [0])], floor=Fraction(1, 2), loss_upper=Fraction(1))
    assert check_bytes(build(net, [claims[0], positive])).verdict is Verdict.REJECTED
    monkeypatch.setattr("globalmin_check.claims.loss_floor._group_floor", lambda *_: Fraction(1))
    with pytest.raises(RuntimeError, match="both proved"):
        check_bytes(build(net, [claims[0], positive]))
    nonnegative = floor_claim(
        [(0, [0])], floor=Fraction(1, 2), loss_upper=Fraction(1), heads="nonnegative"
    )
    assert check_bytes(build(net, [claims[0], nonnegative])).verdict is Verdict.REJECTED


def test_the_precision_of_the_process_is_left_as_it_was() -> None:
    net = trained_network(4, 2, 4)
    ctx.prec = 77
    try:
        check_bytes(build(net, [interpolation_claim(net)]))
        assert ctx.prec == 77
    finally:
        ctx.prec = 128


def test_results_serialize_to_json_with_infinite_numbers_as_strings() -> None:
    claim = ClaimResult(
        "descent", Verdict.ACCEPTED, "r", "s", {"R": float("inf"), "a": 1.5, "eta": "1/3"}
    )
    result = Result(Verdict.ACCEPTED, "reason", (claim,))
    plain = json.loads(result.to_json())
    assert plain["verdict"] == "ACCEPTED"
    assert plain["claims"][0]["numbers"] == {"R": "inf", "a": 1.5, "eta": "1/3"}
    assert next(iter(plain)) == "verdict"
    assert result.statement == "s"


def test_every_accepted_number_is_on_the_safe_side() -> None:
    net = trained_network(4, 2, 4)
    fields, tensors = interpolation_claim(net)
    numbers = check_bytes(build(net, [(fields, tensors)])).claims[0].numbers
    assert Fraction(numbers["R"]) >= Fraction(fields["R"])
    assert Fraction(numbers["loss_upper"]) >= Fraction(fields["loss_upper"])
    assert Fraction(numbers["a"]) ** 2 <= Fraction(fields["a2"])
    assert Fraction(numbers["Lip"]) ** 2 >= Fraction(fields["quartic"]["kappa"])
    assert numbers["a"] == pytest.approx(np.sqrt(float(Fraction(fields["a2"]))))


def test_exit_codes_follow_the_specification() -> None:
    assert [verdict.exit_code for verdict in Verdict] == [0, 1, 3, 4]
    assert {kind: KINDS[kind].theorem for kind in FOUR} == {
        kind: gmc.THEOREMS[kind] for kind in FOUR
    }


def _two_claims(**changes: Fraction) -> bytes:
    net = trained_network(6, 3, 5)
    first, tensors = interpolation_claim(net)
    second, others = descent_claim(net)
    others["C_a"] = tensors["C_a"]
    return build(
        net, [(first, tensors), ({**second, "a2": first["a2"], **gmc.written(changes)}, others)]
    )


def test_a_gram_matrix_shared_by_two_claims_is_factored_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    sizes = []
    monkeypatch.setattr(
        positive,
        "_residual",
        lambda A, C, real=positive._residual: sizes.append(len(A)) or real(A, C),
    )
    assert check_bytes(_two_claims()).verdict is Verdict.ACCEPTED
    assert sizes.count(6) == 1


def test_a_shared_factor_proves_nothing_about_another_shift() -> None:
    result = check_bytes(_two_claims(a2=Fraction(10**6)))
    assert result.claims[0].verdict is Verdict.ACCEPTED
    assert result.verdict is Verdict.REJECTED
