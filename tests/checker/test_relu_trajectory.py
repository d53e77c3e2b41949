"""relu-trajectory: runs from their start are accepted, everything else is refused with its check
number; the replay is that of exact rationals.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat
from tests.checker.relu_descent_cases import ReluFit
from tests.checker.relu_linearized_cases import linearized, parts
from tests.checker.relu_trajectory_cases import (
    Walked,
    build_relu,
    common,
    relu_trajectory_claim,
    relu_trajectory_file,
    walked,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_relu_trajectory import exact_step
from tests.oracles.strict_container import read

from globalmin_check import Verdict
from globalmin_check.certificate import read_certificate
from globalmin_check.claims.relu_replay import KinkedStep
from globalmin_check.engine import check_bytes


def verdict(raw: bytes) -> str:
    """Of both checkers, after they were seen to agree."""
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value


def one_neuron(w: float, y: float, eta: float, steps: int) -> Walked:
    """n = d = k = x = v = 1."""
    fit = ReluFit(np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1))
    return Walked(fit, fit.W, eta, 0, 0.0).followed(steps)


@pytest.mark.parametrize("landing", ["descent", "loss"])
@pytest.mark.parametrize("sizes", [(1, 1, 2), (2, 2, 6), (3, 3, 24)])
def test_honest_runs_are_accepted_by_both_checkers(sizes: Any, landing: str) -> None:
    assert verdict(relu_trajectory_file(walked(*sizes, steps=6, seed=4), landing=landing)) == (
        "ACCEPTED"
    )


@pytest.mark.parametrize("activation", ["abs", "leaky_relu"])
def test_other_kinks_have_the_landing_loss_only(activation: str) -> None:
    run = walked(steps=5, activation=activation)
    assert verdict(relu_trajectory_file(run, landing="loss")) == "ACCEPTED"
    found = relu_trajectory_claim(walked(steps=5))
    assert found is not None
    raw = build_relu(replace(run, activation=activation), [found])
    assert check_bytes(raw).reason.startswith("claim 0 (relu-trajectory): check RT1 ")


@pytest.mark.parametrize("activation", ["relu", "abs", "leaky_relu"])
def test_a_step_of_the_checker_is_the_exact_one(activation: str) -> None:
    run = walked(2, 3, 4, steps=0, seed=7, activation=activation)
    raw = relu_trajectory_file(run, landing="loss")
    problem, claims = read_certificate(raw, None)
    content = claims[0].content
    step = KinkedStep(content.run, content.x2, problem, "RT8")
    (moved,), factor = step(0, (arb_mat(run.W0.tolist()),), arb(0))
    W0 = [[Fraction(entry) for entry in row] for row in run.W0.tolist()]
    exact = exact_step(read(raw), W0, Fraction(run.eta))
    for row, line in zip(moved.tolist(), exact, strict=True):
        for ball, value in zip(row, line, strict=True):
            assert abs(ball - arb(value.numerator) / value.denominator) < 1e-30
    assert factor == 1


@pytest.mark.parametrize("share", [0.9, 1.9, 3.5])
def test_the_factor_is_eta_beta_squared_minus_one_where_that_is_above_one(share: float) -> None:
    """x2 of the instance is 1.001 times the squared norm."""
    run = walked(2, 2, 6, steps=0, share=share)
    problem, claims = read_certificate(relu_trajectory_file(run, landing="loss"), None)
    content = claims[0].content
    factor = KinkedStep(content.run, content.x2, problem, "RT8").factor
    assert float(factor) == pytest.approx(max(1.0, 1.001 * share - 1), rel=1e-9)


def test_two_starts_are_drawn_apart_by_the_factor_and_no_more() -> None:
    """Overshooting along the steepest direction of one active neuron: |1 - eta| = 2.5."""
    run = one_neuron(4.0, 3.75, 3.5, 1)
    delta0, Delta = Fraction(1, 2**40), Fraction(5, 2) / 2**40
    for factor, word in ((1 + 1e-3, "ACCEPTED"), (1 - 1e-3, "UNDECIDED")):
        found = relu_trajectory_claim(run, landing="loss", Delta=float(Delta), delta0=float(delta0))
        assert found is not None
        x2 = Fraction(1) + Fraction(1, 10**9)
        claim = found[0] | {"x2": str(x2), "Delta": str(Delta * Fraction(factor))}
        tensors = found[1] | {"C_x": np.array([[10.0**4.5]])}
        assert verdict(build_relu(run, [(claim, tensors)])) == word


@pytest.mark.parametrize("K", [1, 3, 6])
def test_the_distance_is_that_of_the_exact_run(K: int) -> None:
    """w_K = y + (1 - eta)^K (w_0 - y): Delta just above the distance of V is accepted, just below
    it is rejected.
    """
    w0, y, eta = 1.25, 1.1, 0.3
    end = Fraction(y) + (1 - Fraction(eta)) ** K * (Fraction(w0) - Fraction(y))
    V = float(end) + 1e-7
    run = one_neuron(w0, y, eta, K)
    run = replace(run, fit=replace(run.fit, W=np.array([[V]])))
    true = abs(Fraction(V) - end)
    for factor, word in ((1 + 1e-10, "ACCEPTED"), (1 - 1e-10, "REJECTED")):
        found = relu_trajectory_claim(run, Delta=2e-7)
        assert found is not None
        claim = found[0] | {"Delta": gmc.rational(true * Fraction(factor)), "path": "2"}
        assert verdict(build_relu(run, [(claim, found[1])])) == word


def test_a_neuron_that_dies_has_a_loss_and_no_descent() -> None:
    run = one_neuron(0.5, -0.25, 0.5, 6)
    assert run.fit.W[0, 0] < 0
    assert verdict(relu_trajectory_file(run, landing="loss")) == "ACCEPTED"
    assert relu_trajectory_claim(run) is None


@pytest.mark.parametrize(("delta0", "word"), [(0.124, "ACCEPTED"), (0.125, "UNDECIDED")])
def test_a_margin_must_be_larger_than_the_error(delta0: float, word: str) -> None:
    """After one step w = 1/8; the ball of starts of this radius touches the kink there."""
    run = one_neuron(0.5, -0.25, 0.5, 2)
    options: dict[str, Any] = {"landing": "loss", "Delta": 1.0, "bound": Fraction(10)}
    raw = relu_trajectory_file(run, delta0=delta0, **options)
    assert verdict(raw) == word
    if word == "UNDECIDED":
        assert "not certainly off its kink" in check_bytes(raw).reason


def test_the_margin_is_measured_in_lengths_of_the_input() -> None:
    """Inputs twice as long: the same ball of starts moves z twice as far."""
    fit = ReluFit(np.full((1, 1), 2.0), np.array([-0.25]), np.array([[0.25]]), np.ones(1))
    run = Walked(fit, fit.W, 0.125, 0, 0.0).followed(1)  # w_1 = 1/4 - 2/8 * 3/4 > 0
    for delta0, word in ((0.2499, "ACCEPTED"), (0.25, "UNDECIDED")):
        options: dict[str, Any] = {"landing": "loss", "Delta": 1.0, "bound": Fraction(10)}
        assert verdict(relu_trajectory_file(run, delta0=delta0, **options)) == word


def test_pairs_that_do_not_enter_may_be_at_the_kink() -> None:
    """A silent neuron at w = 0, and a zero input."""
    X = np.array([[1.0, 0.0], [0.0, 0.0]])
    fit = ReluFit(X, np.array([0.25, 0.0]), np.array([[1.0, 0.5], [0.0, 0.0]]), np.array([1.0, 0]))
    run = Walked(fit, fit.W, 0.5, 0, 0.0).followed(3)
    assert verdict(relu_trajectory_file(run, landing="loss", bound=Fraction(1))) == "ACCEPTED"


def test_the_bound_of_the_loss_is_attained() -> None:
    """One active neuron: the loss at V + Delta is (g + Delta)^2/2 exactly."""
    run = one_neuron(2.0, 0.5, 0.25, 0)
    bound = (Fraction(3, 2) + Fraction(1, 4)) ** 2 / 2
    for factor, word in ((Fraction(1001, 1000), "ACCEPTED"), (Fraction(1), "REJECTED")):
        found = relu_trajectory_claim(run, landing="loss", Delta=0.25)
        assert found is not None
        claim = found[0] | {"bound": str(bound * factor)}  # x2 is above 1 by a thousandth
        claim["x2"] = str(1 + Fraction(1, 10**9))
        tensors = found[1] | {"C_x": np.array([[10.0**4.5]])}
        assert verdict(build_relu(run, [(claim, tensors)])) == word


def at_the_edge(share: float, Delta: float) -> Walked:
    """No step; the last neuron is at a kink of the first sample (a pair of U) and inactive on the
    second, there `share` of s + q away from its kink.
    """
    run = walked(2, 2, 6, steps=0, off=0.05, seed=2)
    X, W = np.array([[1.0, 0.0], [0.6, 0.8]]), run.W0.copy()
    W[:5] = np.abs(W[:5]) + 0.5
    W[-1] = np.linalg.solve(X, [1e-9, -1.0])
    fit = ReluFit(X, np.zeros(2), W, run.fit.v * np.array([1, 1, 1, 1, 1, 0.2]))
    fit = replace(fit, y=fit.residual() + np.array([0.03, -0.02]))
    U = np.zeros((2, 6), bool)
    U[0, 5] = True
    found = linearized(fit, U, 3, eta=0.2, moved=_moved(fit, Delta), stretch=3.0)
    assert found is not None
    W = W.copy()  # s does not depend on the value of an inactive pair
    W[-1] = np.linalg.solve(X, [1e-9, -(found.moves[1, 5] + Delta) * share])
    return Walked(replace(fit, W=W), W, 0.2, 0, 0.0)


def _moved(fit: ReluFit, Delta: float) -> float:
    return float(np.linalg.norm(fit.v) * np.linalg.norm(fit.X, 2) * np.sqrt(1.001) * Delta)


@pytest.mark.parametrize(("share", "word"), [(1 + 2e-4, "ACCEPTED"), (1 - 2e-4, "REJECTED")])
def test_the_margin_at_the_landing_is_that_of_the_page(share: float, word: str) -> None:
    """Theorem RL' at its edge, with a Delta that matters in every term."""
    Delta = 1e-3
    run = at_the_edge(share, Delta)
    U = np.zeros((2, 6), bool)
    U[0, 5] = True
    found = linearized(run.fit, U, 3, eta=0.2, moved=_moved(run.fit, Delta), stretch=3.0)
    assert found is not None
    fields, tensors = common(run, Delta, 0.0, 128)
    more, witnesses = parts(run.fit, found, 3, "factor")
    more["path"] = more["path"] * 2
    claim = gmc.claim("relu-trajectory", landing="descent", **(more | fields))
    raw = build_relu(run, [(claim, witnesses | tensors)])
    assert verdict(raw) == word, check_bytes(raw).reason
    assert word == "ACCEPTED" or "check RT16 " in check_bytes(raw).reason


@pytest.mark.parametrize(("factor", "word"), [(1 + 1e-6, "ACCEPTED"), (1 - 1e-6, "REJECTED")])
def test_tau_covers_the_residual_that_delta_adds(factor: float, word: str) -> None:
    """lam T0 of one step of the linear run, plus lam e."""
    Delta = 1e-4
    run = walked(2, 2, 8, steps=0, off=0.05, seed=1)
    made = relu_trajectory_claim(run, Delta=Delta, steps=1)
    assert made is not None
    fields, tensors = made
    lam, eps = (float(Fraction(fields[name])) for name in ("lam", "eps"))
    found, r = linearized(run.fit, np.zeros((2, 8), bool), 1, eta=run.eta), run.residual()
    assert found is not None
    assert len(tensors["U"]) == 0
    size = lam * run.eta * float(np.linalg.norm(r))
    size += float(np.linalg.norm(r - run.eta * found.H @ r))
    moved = float(np.linalg.norm(run.fit.v)) * float(Fraction(fields["x2"])) ** 0.5 * Delta
    tau = (size + moved) / (lam - eps) * factor
    raw = build_relu(run, [(fields | {"tau": gmc.rational(tau), "path": "9"}, tensors)])
    assert verdict(raw) == word, check_bytes(raw).reason
    assert word == "ACCEPTED" or "check RT12 " in check_bytes(raw).reason


@pytest.mark.parametrize(("factor", "word"), [(1 + 1e-6, "ACCEPTED"), (1 - 1e-6, "REJECTED")])
def test_the_path_is_that_of_the_replay_and_of_the_landing(factor: float, word: str) -> None:
    run = walked(2, 2, 8, steps=5, seed=1)
    made = relu_trajectory_claim(run)
    assert made is not None
    fields, tensors = made
    Lam, eps, tau = (float(Fraction(fields[name])) for name in ("Lam", "eps", "tau"))
    path = (run.walked + (Lam + eps) ** 0.5 * tau) * factor
    raw = build_relu(run, [(fields | {"path": gmc.rational(path)}, tensors)])
    assert verdict(raw) == word, check_bytes(raw).reason
    assert word == "ACCEPTED" or "check RT17 " in check_bytes(raw).reason


def test_steps_are_charged_before_the_first_one() -> None:
    run = walked(3, 3, 24, steps=6, seed=4)
    result = check_bytes(relu_trajectory_file(replace(run, K=10**6), bits=2048))
    assert result.verdict is Verdict.UNDECIDED
    assert "budget" in result.reason


def test_too_few_bits_are_undecided_and_never_rejected() -> None:
    run = walked(2, 2, 6, steps=60, share=2.6)
    found = relu_trajectory_claim(run, landing="loss", Delta=1e-30)
    assert found is not None
    assert check_bytes(build_relu(run, [found])).verdict is Verdict.UNDECIDED


def test_the_statement_says_what_is_proved_and_no_more() -> None:
    run = walked(steps=6)
    loss = check_bytes(relu_trajectory_file(run, landing="loss"))
    assert "Nothing is said about later steps" in loss.statement
    assert "zero training loss" not in loss.statement
    assert "stored start" in loss.statement
    descent = check_bytes(relu_trajectory_file(run))
    assert "zero training loss, the global minimum" in descent.statement
    seeded = walked(1, 1, 2, steps=4, seeded=True, seed=3, off=0.1)
    assert "cell of seed 3" in check_bytes(relu_trajectory_file(seeded)).statement


def test_a_bound_of_the_loss_does_not_contradict_a_floor() -> None:
    """The same input with two labels: a positive floor, and a run that is proved to get low."""
    X, y = np.ones((2, 1)), np.array([1.0, 1.5])
    fit = ReluFit(X, y, np.array([[1.0]]), np.ones(1))
    run = Walked(fit, fit.W, 0.25, 0, 0.0).followed(4)
    found = relu_trajectory_claim(run, landing="loss")
    assert found is not None
    floor = gmc.claim(
        "loss-floor",
        heads="any",
        floor=Fraction(1, 16),
        gap=Fraction(1),
        loss_upper=Fraction(1),
    )
    groups = {
        "members": np.array([0, 1]),
        "sizes": np.array([2]),
        "kinds": np.array([0]),
    }
    result = check_bytes(build_relu(run, [found, (floor, groups)]))
    assert result.claims[0].verdict is Verdict.ACCEPTED, result.reason
