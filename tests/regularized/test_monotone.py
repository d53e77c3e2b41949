"""Monotone neurons (R7): the one-sided oracle against grids, training, files, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from tests.regularized.column_cases import LOSSES, labels_for, table

from globalmin.errors import CannotCertify, DataError
from globalmin.proving.producer import prove
from globalmin.regularized.claims import dual_gap, unused_terms
from globalmin.regularized.claims.subject import RegularizedCertificate
from globalmin.regularized.columns import ColumnOracle
from globalmin.regularized.design import Design
from globalmin.regularized.master import Master
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem
from globalmin.regularized.train import train_regularized
from globalmin_check.engine import check_bytes

ANGLES = np.linspace(-np.pi, np.pi, 40_001)


def _columns():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 40):
        yield rng.standard_normal(n), rng.standard_normal(n)
        yield np.round(rng.standard_normal(n), 0), rng.standard_normal(n)  # ties
        yield rng.random(n) + 5.0, rng.standard_normal(n)
        yield rng.random(n) - 5.0, np.abs(rng.standard_normal(n))


def _wanted(sums, w0, slope):
    """What a neuron of the class can gain: v > 0 gains -sum, v < 0 gains sum, by definition."""
    rising, falling = np.where(slope * w0 >= 0, -sums, 0.0), np.where(slope * w0 <= 0, sums, 0.0)
    return float(max(rising.max(), falling.max(), 0.0))


@pytest.mark.parametrize("slope", [1, -1])
@pytest.mark.parametrize("tau", [1.0, 0.25])
def test_height_is_the_one_sided_maximum_over_a_grid(slope: int, tau: float):
    grid = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)
    for x, u in _columns():
        rays = np.stack([np.full_like(x, tau), -x], axis=1)
        rays /= np.linalg.norm(rays, axis=1)[:, None]
        w = np.vstack([grid, rays, -rays, [[0.0, 1.0]]])
        brute = _wanted(np.maximum(np.outer(w[:, 0], x) + tau * w[:, 1:], 0.0) @ u, w[:, 0], slope)
        oracle = ColumnOracle.of(x[:, None], tau=tau, slopes=[slope])
        height = oracle.search(u, np.inf)[0][0]
        # a step of 1.6e-4 misses an interior maximum by at most 1.6e-4^2/2 of it; sums near zero
        # round on the scale of their parts
        assert brute <= height * (1 + 1e-12) + 1e-13
        assert height <= brute * (1 + 2e-8) + 1e-13


@pytest.mark.parametrize("slope", [1, -1])
def test_free_biases_are_hinges_of_one_sign(slope: int):
    rng = np.random.default_rng(1)
    for n in (2, 3, 10, 40):
        x, u = np.round(rng.standard_normal(n), 1), rng.standard_normal(n)
        u -= u.mean()
        kinks = np.r_[x, rng.uniform(-4, 4, 2000)]
        brute = max(
            _wanted(
                np.maximum(side * (x[None, :] - kinks[:, None]), 0.0) @ u,
                np.full(kinks.size, side),
                slope,
            )
            for side in (1.0, -1.0)
        )
        oracle = ColumnOracle.of(x[:, None], hidden_bias="free", slopes=[slope])
        assert oracle.search(u, np.inf)[0][0] == pytest.approx(brute, rel=1e-12, abs=1e-12)


def _problem(loss="squared", *, hidden_bias="penalized", monotone=(1, 0, -1)):
    X, signal, rng = table(60, 3, 7)
    y = labels_for(LOSSES[loss], signal, rng)
    penalty = Penalty(1.5, hidden_bias=hidden_bias)
    return RegularizedProblem(X, y, penalty, LOSSES[loss], monotone=monotone)


@pytest.mark.parametrize("hidden_bias", ["penalized", "free"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "poisson", "huber"])
def test_training_reaches_the_minimum_of_the_class_and_the_file_is_accepted(loss, hidden_bias):
    problem = _problem(loss, hidden_bias=hidden_bias)
    run = train_regularized(problem)
    network = run.network
    assert run.relative_gap <= 1e-6
    assert ((network.v[:, None] * network.W * np.array(problem.monotone)) >= 0).all()
    proof = prove(network, problem, run=run)
    assert proof.verdict == "ACCEPTED"
    assert proof.gap <= 2e-6 * abs(run.training.objective)
    statement = str(check_bytes(proof.certificate).claims[0].statement)
    assert "every neuron is nondecreasing in the columns 0" in statement
    assert "every neuron is nonincreasing in the columns 2" in statement
    # the smaller class has a larger minimum, here by much: |x_0| is not monotone
    free = train_regularized(replace(problem, monotone=None))
    assert run.training.objective > 1.001 * free.training.objective


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_weight_of_one_sign_stays_zero_where_the_data_ask_for_the_other(sign: float):
    x = np.linspace(-1.0, 1.0, 21)
    rows = np.vstack([np.ones(21), np.maximum(x, 0.0)])
    for rule, is_zero in ((0.0, False), (sign, True), (-sign, False)):
        master = Master(
            LOSSES["squared"], -sign * rows[1], np.ones(21), 0.1, 1, 0.0, rows.copy(),
            np.zeros(2), np.array([0.0, rule]),
        )  # fmt: skip
        master.solve(1e-10)
        assert bool(master.x[1] == 0.0) is is_zero


def test_rules_that_the_data_obey_cost_nothing():
    X = np.random.default_rng(3).standard_normal((50, 2))
    y = np.maximum(X[:, 0], 0.0) - np.maximum(-X[:, 1], 0.0)
    problem = RegularizedProblem(X, y, Penalty(0.5))
    free = train_regularized(problem)
    if not (free.network.v[:, None] * free.network.W >= 0).all():
        pytest.fail("the example should have a monotone optimum")
    tied = train_regularized(replace(problem, monotone=(1, 1)))
    assert tied.training.objective == pytest.approx(free.training.objective, rel=1e-6)


def test_a_file_with_another_neuron_is_refused():
    problem = _problem(monotone=(0, 0, 1))
    run = train_regularized(problem)
    claim = dual_gap.build(run.network, problem, run.u)
    good = RegularizedCertificate((claim,), run.network, problem)
    assert check_bytes(good.to_bytes()).verdict == "ACCEPTED"
    column = np.abs(run.network.W[:, 2]) > 0
    assert column.any()
    turned = RegularizedNetwork(
        np.where(column[:, None], -1.0, 1.0) * run.network.W,
        run.network.bias,
        run.network.v,
        run.network.intercept,
    )
    generous = replace(claim, fields={**claim.fields, "p_up": "1000000", "gap": "1000000"})
    bad = RegularizedCertificate((generous,), turned, problem)
    result = check_bytes(bad.to_bytes())
    assert result.verdict == "REJECTED"
    assert "Y1" in str(result.reason)
    free = replace(problem, monotone=None)
    larger = dual_gap.build(run.network, free)
    generous = replace(larger, fields={**larger.fields, "p_up": "1000000", "gap": "1000000"})
    assert check_bytes(RegularizedCertificate((generous,), turned, free).to_bytes()).verdict == (
        "ACCEPTED"
    )
    with pytest.raises(DataError, match="is not monotone"):
        prove(turned, problem)


def test_a_dual_vector_of_the_larger_class_is_feasible_but_not_the_other_way():
    """One-sided heights are at most the two-sided ones, and for a rule that binds they are less."""
    problem = _problem()
    run = train_regularized(problem)
    rule = ColumnOracle.of(problem.X, slopes=problem.monotone).search(run.u, np.inf)[0]
    both = ColumnOracle.of(problem.X).search(run.u, np.inf)[0]
    assert (rule <= both).all()
    assert both[0] > 1.05 * rule[0]
    with_rule = RegularizedCertificate(
        (dual_gap.build(run.network, problem, run.u),), run.network, problem
    )
    without = RegularizedCertificate(with_rule.claims, run.network, replace(problem, monotone=None))
    assert check_bytes(with_rule.to_bytes()).verdict == "ACCEPTED"
    assert check_bytes(without.to_bytes()).verdict == "REJECTED"


@pytest.mark.parametrize("monotone", [(1, 1), (1, 2, 0), (0.5, 0, 0), "up"])
def test_a_rule_is_one_sign_per_column(monotone):
    with pytest.raises(DataError, match="one per column"):
        _problem(monotone=monotone)


def test_rules_are_for_neurons_of_one_column():
    problem = _problem()
    with pytest.raises(DataError, match="take groups='columns'"):
        replace(problem, groups="pairs")
    assert replace(problem, monotone=(0, 0, 0)).monotone is None
    with pytest.raises(CannotCertify, match="any slope"):
        unused_terms.build(train_regularized(problem).network, problem)
    one = RegularizedProblem(
        problem.X[:, :1], problem.y, problem.penalty, groups="all", monotone=[1]
    )
    with pytest.raises(DataError, match="not trained to be monotone"):
        Design.of(one)
