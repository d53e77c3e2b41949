"""The one road from a network with weight decay to a file that the independent checker accepts."""

import numpy as np
import pytest
from tests.regularized.column_cases import LOSSES, problem_of

import globalmin as gm
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective
from globalmin_check import check_file


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "options",
    [{}, {"weighted": True}, {"hidden_bias": "free"}, {"intercept": 0.25, "tau": 2.0}],
    ids=["plain", "weighted", "free bias", "penalized intercept"],
)
def test_the_gap_of_every_loss_is_proved(name: str, options: dict):
    problem = problem_of(name, n=40, **options)
    run = gm.train_regularized(problem, gap=1e-5)
    proof = gm.prove(run.network, problem, run=run)
    assert proof.verdict == "ACCEPTED", proof.why
    value = objective(run.network, problem)
    assert proof.loss_lower <= value * (1 + 1e-12)
    assert proof.loss_upper >= value * (1 - 1e-12)
    assert proof.gap <= 2e-5 * abs(value)


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_a_file_without_its_run_and_one_of_no_neurons(name: str, tmp_path):
    problem = problem_of(name, n=40)
    run = gm.train_regularized(problem)
    certificate = gm.certify(run.network, problem)
    assert [claim.kind for claim in certificate.claims] == ["dual-gap"]
    path = certificate.save(tmp_path / "network.gmc")
    assert gm.check(path).verdict.value == "ACCEPTED"
    large = RegularizedProblem(problem.X, problem.y, Penalty(1e4), name)
    empty = gm.train_regularized(large)
    assert empty.network.width == 0
    assert gm.prove(empty.network, large).verdict == "ACCEPTED"


def test_a_poor_network_has_a_true_and_wide_gap():
    problem = problem_of("squared", n=40)
    best = gm.train_regularized(problem)
    worse = gm.RegularizedNetwork(np.zeros((0, 3)), [], [], float(problem.y.mean()))
    proof = gm.prove(worse, problem)
    assert proof.verdict == "ACCEPTED"
    assert proof.gap >= objective(worse, problem) - objective(best.network, problem)
    assert not proof.reaches_minimum


def test_negative_objectives_have_negative_floors():
    """Poisson's loss without its constant is negative for large counts: no floor of 0 there."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    problem = RegularizedProblem(X, rng.poisson(50, 50), Penalty(1.0), "poisson")
    run = gm.train_regularized(problem)
    proof = gm.prove(run.network, problem, run=run)
    assert proof.loss_lower <= proof.loss_upper < 0


def test_a_file_that_claims_less_is_rejected(tmp_path):
    """One ulp too much in p_low, a vector of another problem, a smaller decay."""
    from dataclasses import replace

    from globalmin.proving.claim import rational
    from globalmin.regularized.claims.subject import RegularizedCertificate

    problem = problem_of("squared", n=40)
    run = gm.train_regularized(problem)
    good = gm.certify(run.network, problem)
    claim = good.claims[0]
    wrong = {
        "floor": replace(claim, fields={**claim.fields, "p_low": claim.fields["p_up"]}),
        "value": replace(claim, fields={**claim.fields, "p_up": claim.fields["p_low"]}),
        "vector": replace(claim, tensors={"u": claim.tensors["u"] * 1.001}),
        "sum": replace(claim, tensors={"u": claim.tensors["u"] + 2.0**-40}),
        "gap": replace(claim, fields={**claim.fields, "gap": rational(0.0)}),
    }
    for name, changed in wrong.items():
        file = RegularizedCertificate((changed,), run.network, problem)
        assert check_file(file.save(tmp_path / f"{name}.gmc")).verdict.value == "REJECTED", name
    smaller = RegularizedProblem(problem.X, problem.y, Penalty(0.499), "squared")
    file = RegularizedCertificate((claim,), run.network, smaller)
    assert check_file(file.save(tmp_path / "decay.gmc")).verdict.value == "REJECTED"


def test_what_is_no_problem_or_does_not_fit_is_refused():
    problem = problem_of("squared", n=40)
    network = gm.train_regularized(problem).network
    with pytest.raises(gm.DataError, match="RegularizedProblem"):
        gm.prove(network, gm.Dataset(problem.X, problem.y))
    with pytest.raises(gm.DataError, match="columns"):
        gm.prove(gm.RegularizedNetwork([[1.0]], [0.0], [1.0]), problem)
    bare = RegularizedProblem(problem.X, problem.y, Penalty(1.0, intercept="none"))
    with pytest.raises(gm.DataError, match="intercept part"):
        gm.prove(network, bare)


def test_a_larger_class_has_a_floor_of_its_own_below_the_smaller_one_s():
    problem = problem_of("squared", n=40)
    run = gm.train_regularized(problem)
    whole = RegularizedProblem(problem.X, problem.y, problem.penalty, groups="all")
    columns, every = gm.prove(run.network, problem, run=run), gm.prove(run.network, whole)
    assert columns.verdict == every.verdict == "ACCEPTED"
    # the same weights have the same objective in both classes, to the room the rationals leave
    assert every.loss_upper == pytest.approx(columns.loss_upper, rel=1e-9)
    assert every.loss_lower < columns.loss_lower
