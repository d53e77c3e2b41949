"""Networks of squares with any loss: the convex road against brute force, derivatives against
differences, and files that the independent checker accepts or refuses.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.regularized.column_cases import LOSSES, labels_for

import globalmin as gm
from globalmin.errors import DataError
from globalmin.proving.claim import rational
from globalmin.regularized import squares_descent
from globalmin.regularized.claims.subject import RegularizedCertificate
from globalmin.regularized.objective import objective
from globalmin.regularized.squares import (
    network_of_spectrum,
    rows_of_network,
    rows_with_bias,
)
from globalmin.regularized.squares_descent import FactoredObjective
from globalmin.regularized.squares_training import height, largest_squares_decay

OPTIONS = {
    "plain": {},
    "nonnegative": {"heads": "nonnegative", "v_max": 1.5},
    "weighted, tau, no intercept": {"weighted": True, "tau": 2.0, "intercept": "none"},
    "no bias, large heads": {"hidden_bias": "none", "v_max": 3.0},
}


def matrix_of(network, penalty):
    rows, signs = rows_of_network(network, penalty)
    return (rows * signs[:, None]).T @ rows


def squares_problem(name, *, n=40, d=3, decay=1.5, seed=0, weighted=False, **penalty):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    signal = X[:, 0] * X[:, -1] + 0.5 * X[:, 0]
    weight = rng.integers(0, 4, n) / 2.0 if weighted else None
    return gm.RegularizedProblem(
        X,
        labels_for(LOSSES[name], signal, rng),
        gm.SquaresPenalty(decay, **penalty),
        LOSSES[name],
        groups="all",
        sample_weight=weight,
    )


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("name", LOSSES)
def test_the_gap_of_every_loss_is_proved(name, options):
    problem = squares_problem(name, **options)
    run = gm.train_squares(problem, gap=1e-6)
    proof = gm.prove(run.network, problem, run=run)
    assert proof.verdict == "ACCEPTED", proof.why
    value = objective(run.network, problem)
    # the checker's ends are exact, the value is rounded
    assert proof.loss_lower <= value + 1e-12 * abs(value)
    assert proof.loss_upper >= value - 1e-12 * abs(value)
    # twice what was asked for: rounding of the vector and room of the matrices
    assert proof.gap <= 2e-6 * (value - gm.regularized.dual.saturated(problem))


@pytest.mark.parametrize("name", LOSSES)
def test_no_descent_from_random_starts_is_below_the_floor(name):
    """Another road: scipy's L-BFGS on the weights of the network itself, gradients by
    differences.
    """
    problem = squares_problem(name, n=10, d=2, decay=0.7, v_max=1.5)
    run = gm.train_squares(problem, gap=1e-6)
    proof = gm.prove(run.network, problem, run=run)
    heads = np.array([1.5, 1.5, -1.5, -1.5])
    rng = np.random.default_rng(1)

    def value(x):
        net = gm.SquaresNetwork(x[:8].reshape(4, 2), x[8:12], heads, x[12])
        f = net.intercept + ((problem.X @ net.W.T + net.bias) ** 2 * heads).sum(axis=1)
        return problem.loss.value(f, problem.y).sum() + 0.35 * (x[:12] ** 2).sum()

    found = [minimize(value, rng.standard_normal(13)).fun for _ in range(4)]
    assert min(found) >= proof.loss_lower
    # descent in the factors has no bad minima; with kinks differences stop early
    reach = 1e-4 if problem.loss.smoothed(1.0) == problem.loss else 0.2
    assert min(found) <= run.objective * (1 + reach)
    assert run.objective <= min(found) + 1e-5 * abs(run.objective)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_gradient_and_hessian_are_those_of_the_value(options, monkeypatch):
    problem = squares_problem("logistic", **options)
    rng = np.random.default_rng(3)
    Z = rows_with_bias(problem)
    function = FactoredObjective(problem, Z, np.array([1.0, -1.0]), 0.3)
    x = function.pack(rng.standard_normal((2, Z.shape[1])), 0.3)
    step = rng.standard_normal(x.size)
    h = 1e-5  # central differences: error h^2 and rounding 1e-16/h
    slope = (function.value(x + h * step) - function.value(x - h * step)) / (2 * h)
    assert slope == pytest.approx(function.gradient(x) @ step, rel=1e-7)
    bend = (function.gradient(x + h * step) - function.gradient(x - h * step)) / (2 * h)
    assert function.hessian_times(x, step) == pytest.approx(bend, rel=1e-6, abs=1e-6)
    formed = function.hessian_times(x, step)
    monkeypatch.setattr(squares_descent, "_FEW", 0)
    free = function.hessian_times(x, step)
    assert not np.array_equal(formed, free)  # two roads
    assert formed == pytest.approx(free, rel=1e-12, abs=1e-12)
    rows, c = function.unpack(x)
    A = rows.T @ np.diag([1.0, -1.0]) @ rows
    wide = replace(problem, penalty=replace(problem.penalty, heads="any"))
    net = network_of_spectrum(*np.linalg.eigh(A), c, wide)
    # the eigenvectors are the cheapest factors of a matrix
    assert objective(net, problem) <= function.value(x) * (1 + 1e-12)
    assert matrix_of(net, problem.penalty) == pytest.approx(A)


def test_the_example_of_the_page_and_the_trace_norm_by_hand():
    """Section 13 of the theory: n = 1, x = 1, y = 1, b = 1: p* = 3/8 at A = 1/2, u = -1/2."""
    penalty = gm.SquaresPenalty(1.0, hidden_bias="none", intercept="none")
    problem = gm.RegularizedProblem([[1.0]], [1.0], penalty, groups="all")
    run = gm.train_squares(problem)
    assert run.objective == pytest.approx(3 / 8, rel=1e-9)
    assert run.u == pytest.approx([-0.5], rel=1e-6)
    assert matrix_of(run.network, penalty) == pytest.approx(np.array([[0.5]]), rel=1e-6)
    assert height(problem.X, np.array([-0.5]), penalty) == 0.5
    one_sided = replace(penalty, heads="nonnegative")
    assert height(problem.X, np.array([0.5]), one_sided) == 0.0
    assert penalty.of(gm.SquaresNetwork([[3.0]], [0.0], [1.0])) == 4.5
    wide = replace(penalty, v_max=4.0)
    assert wide.threshold == 0.125
    net = network_of_spectrum(np.array([0.5]), np.eye(1), 0.0, replace(problem, penalty=wide))
    assert wide.of(net) == pytest.approx(0.125 * 0.5)


def test_a_network_keeps_every_eigenvalue_that_is_not_rounding():
    problem = squares_problem("squared", hidden_bias="none", v_max=2.0)
    found = np.array([1.0, -1e-9, 1e-15])
    net = network_of_spectrum(found, np.eye(3), 0.5, problem)
    assert net.width == 2
    assert net.v.tolist() == [2.0, -2.0]
    np.testing.assert_allclose(
        matrix_of(net, problem.penalty), np.diag([1.0, -1e-9, 0]), rtol=1e-14
    )


def test_from_the_largest_decay_on_there_are_no_neurons():
    for name in LOSSES:
        problem = squares_problem(name)
        top = largest_squares_decay(problem)
        above = replace(problem, penalty=gm.SquaresPenalty(1.01 * top))
        below = replace(problem, penalty=gm.SquaresPenalty(0.9 * top))
        empty = gm.train_squares(above, gap=1e-6)
        # none at all, or for envelopes of kinks what the gap allows
        assert above.penalty.of(empty.network) <= 1e-6 * abs(empty.objective)
        assert problem.loss.smoothed(1.0) != problem.loss or empty.network.width == 0
        assert gm.prove(empty.network, above, run=empty).verdict == "ACCEPTED"
        full = gm.train_squares(below, gap=1e-6)
        assert below.penalty.of(full.network) > 1e-6 * abs(full.objective)


def test_a_poor_network_has_a_true_and_wide_gap():
    problem = squares_problem("logistic")
    best = gm.train_squares(problem)
    poor = gm.SquaresNetwork([[0.5, 0.0, 0.0]], [0.1], [1.0], 0.2)
    proof = gm.prove(poor, problem)
    assert proof.verdict == "ACCEPTED"
    assert proof.gap >= objective(poor, problem) - best.objective
    assert not proof.reaches_minimum


def test_files_that_claim_more_are_rejected(tmp_path):
    problem = squares_problem("squared")
    run = gm.train_squares(problem)
    good = gm.certify(run.network, problem, run=run)
    claim = good.claims[0]
    assert claim.fields["constraint"] == "quadratic"
    low, up = (Fraction(claim.fields[key]) for key in ("p_low", "p_up"))
    wrong = [
        replace(claim, fields={**claim.fields, "p_low": rational(up)}),
        replace(claim, fields={**claim.fields, "p_up": rational(low)}),
        replace(claim, fields={**claim.fields, "gap": rational(0.0)}),
        replace(claim, tensors={**claim.tensors, "u": claim.tensors["u"] * 1.001}),
        replace(claim, tensors={**claim.tensors, "u": claim.tensors["u"] + 2.0**-40}),
        replace(claim, tensors={**claim.tensors, "C_upper": 2.0 * claim.tensors["C_upper"]}),
    ]
    assert gm.check(good.save(tmp_path / "good.gmc")).verdict.value == "ACCEPTED"
    for i, changed in enumerate(wrong):
        file = RegularizedCertificate((changed,), run.network, problem)
        assert gm.check(file.save(tmp_path / f"{i}.gmc")).verdict.value == "REJECTED", i
    smaller = replace(problem, penalty=gm.SquaresPenalty(1.4))
    file = RegularizedCertificate(good.claims, run.network, smaller)
    assert gm.check(file.save(tmp_path / "decay.gmc")).verdict.value == "REJECTED"


def test_what_does_not_fit_is_refused_with_a_remedy():
    problem = squares_problem("squared")
    for options, said in (
        ({"hidden_bias": "free"}, "hidden_bias='free': for networks of squares take one of"),
        ({"linear": "free"}, "linear='free': for networks of squares take one of"),
        ({"intercept": 0.5}, r"intercept=0\.5: for networks of squares take one of"),
        ({"v_max": 0.0}, r"v_max=0\.0 must be a finite positive number"),
        ({"heads": "some"}, "heads='some' is unknown; choose one of"),
    ):
        with pytest.raises(DataError, match=said):
            gm.SquaresPenalty(1.0, **options)
    relu = replace(problem, penalty=gm.Penalty(1.0))
    net = gm.SquaresNetwork(np.ones((1, 3)), [0.0], [1.0])
    other = gm.RegularizedNetwork(np.ones((1, 3)), [0.0], [1.0])
    for call, said in (
        (lambda: gm.train_squares(relu), "need a problem with a SquaresPenalty"),
        (lambda: gm.train_relu(problem), "train them with train_squares"),
        (lambda: gm.train_regularized(problem), "train them with train_squares"),
        (lambda: gm.prove(net, relu), "quadratic neurons and the penalty is one of relu"),
        (lambda: gm.prove(other, problem), "relu neurons and the penalty is one of quadratic"),
    ):
        with pytest.raises(DataError, match=said):
            call()
    one = squares_problem("squared", d=1)
    run = gm.train_squares(one)
    with pytest.raises(gm.CannotCertify, match="squares"):
        gm.certify(run.network, one, claims=["unused-terms"])
