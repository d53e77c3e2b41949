"""deep-trajectory: runs of all layers from their start are accepted, everything else is refused;
the factors bound the true expansion of a step.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from flint import arb, arb_mat
from tests.checker import deep_cases as deep
from tests.checker.deep_trajectory_cases import (
    DeepWalk,
    deep_trajectory_claim,
    deep_trajectory_file,
    deep_walk,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check import Verdict
from globalmin_check.certificate import read_certificate
from globalmin_check.claims.deep_passes import Passes
from globalmin_check.claims.deep_trajectory import DeepStep
from globalmin_check.engine import check_bytes


def verdict(raw: bytes) -> str:
    """Of both checkers, after they were seen to agree."""
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value


@pytest.mark.parametrize(
    "options",
    [
        {"n": 1, "m": 2, "steps": 3},
        {"n": 1, "m": 2, "steps": 2, "kind": "res"},
        {"n": 1, "m": 2, "steps": 1, "kind": "conv"},
        {"depth": 1, "steps": 2, "activation": "erf"},
        {"depth": 1, "n": 1, "m": 3, "steps": 2, "activation": "softplus"},
    ],
    ids=["dense", "residual", "convolutional", "erf", "softplus"],
)
def test_honest_runs_are_accepted_by_both_checkers(options: dict[str, Any]) -> None:
    assert verdict(deep_trajectory_file(deep_walk(**options))) == "ACCEPTED"


def as_balls(net: deep.Deep) -> tuple[arb_mat, ...]:
    """W_1, ..., W_H and the head as a column."""
    head = arb_mat(len(net.v), 1, net.v.tolist())
    return *(arb_mat(W.tolist()) for W in net.weights), head


def stepped(run: DeepWalk, net: deep.Deep, delta: float) -> tuple[np.ndarray, float]:
    """The midpoints of the checker's next weights, and its factor."""
    problem, claims = read_certificate(deep_trajectory_file(run), None)
    moved, factor = DeepStep(claims[0].content, problem)(0, as_balls(net), arb(delta))
    flat = np.concatenate([[float(entry) for entry in layer.entries()] for layer in moved])
    return flat, float(factor.upper())


@pytest.mark.parametrize("kind", ["dense", "res", "conv"])
def test_a_step_is_that_of_the_jacobian(kind: str) -> None:
    run = deep_walk(2, n=3, m=4, kind=kind, steps=2)
    net = run.start
    expected = net.theta() - run.eta * net.jacobian().T @ (net.outputs() - net.y)
    np.testing.assert_allclose(stepped(run, net, 0.0)[0], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_the_factor_is_the_formula_of_the_page(delta: float) -> None:
    run = deep_walk(2, n=3, m=4, steps=2, share=3.0)
    net, landed = run.start, run.net
    fields, tensors = deep_trajectory_claim(run)
    away = [np.linalg.norm(W - V) for W, V in zip(net.weights, landed.weights, strict=True)]
    omega = [float(om + a) for om, a in zip(tensors["omega"], away, strict=True)]
    Lam, J = net.lipschitz(omega, delta), net.jacobian()
    b = np.sqrt(np.abs(J @ J.T).sum(axis=1).max()) + Lam * delta
    g = np.linalg.norm(net.outputs() - net.y)
    eta = float(Fraction(fields["eta"]))
    expected = max(1.0, eta * b * b - 1.0) + eta * Lam * (g + b * delta)
    assert eta * b * b > 2.0  # both sides of the maximum are met, here and in the next test
    assert stepped(run, net, delta)[1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_no_step_expands_a_ball_by_more_than_its_factor(seed: int) -> None:
    """Central differences of the map at random points of the ball, in the worst direction found by
    power iteration on the difference matrix."""
    run = deep_walk(2, n=2, m=3, steps=1, share=0.9, seed=seed, off=1.0)
    net, delta, rng = run.start, 0.05, np.random.default_rng(seed)
    factor, theta, h = stepped(run, net, delta)[1], net.theta(), 1e-5

    def image(point: np.ndarray) -> np.ndarray:
        there = net.at(point)
        return point - run.eta * there.jacobian().T @ (there.outputs() - net.y)

    for _ in range(3):
        shift = rng.standard_normal(len(theta))
        point = theta + shift / np.linalg.norm(shift) * delta * 0.99
        columns = [
            (image(point + h * e) - image(point - h * e)) / (2 * h) for e in np.eye(len(theta))
        ]
        assert np.linalg.norm(np.array(columns), 2) <= factor * (1 + 1e-6)


def mp_step(w: Any, v: Any, y: Any, eta: Any) -> tuple[Any, Any]:
    """One step of f = v tanh w."""
    value = mpmath.tanh(w)
    r = v * value - y
    return w - eta * r * v * (1 - value**2), v - eta * r * value


def test_the_distance_is_that_of_a_run_of_60_digits() -> None:
    """H = n = d = 1: Delta just above the true distance is accepted, just below it is rejected."""
    one = np.ones((1, 1))
    net = deep.Deep(one, np.array([0.5]), [one * 0.5], np.array([1.25]), [1.0], [False], "tanh")
    run = DeepWalk(net, net, 0.25, 0, 0.0).followed(3)
    run = replace(run, net=run.net.at(run.net.theta() + np.array([1e-7, 0.0])))
    with mpmath.workdps(60):
        w, v = mpmath.mpf(0.5), mpmath.mpf(1.25)
        for _ in range(3):
            w, v = mp_step(w, v, mpmath.mpf(0.5), mpmath.mpf(0.25))
        true = mpmath.hypot(w - mpmath.mpf(run.net.weights[0][0, 0]), v - run.net.v[0])
        exact = Fraction(int(true * 10**50), 10**50)
    for factor, word in ((1 + 1e-9, "ACCEPTED"), (1 - 1e-9, "REJECTED")):
        fields, tensors = deep_trajectory_claim(run, Delta=2e-7, t=0.05)
        fields |= {"Delta": gmc.rational(exact * Fraction(factor)), "path": "9", "eta": "1/4"}
        assert verdict(deep.build(run.net, [(fields, tensors)])) == word


def test_a_run_that_stands_still_is_accepted_for_every_number_of_steps() -> None:
    one = np.ones((1, 1))
    net = deep.Deep(one, np.zeros(1), [0 * one], np.ones(1), [1.0], [False], "tanh")
    for K in (0, 5):
        fields, tensors = deep_trajectory_claim(DeepWalk(net, net, 0.5, K, 0.0), t=1e-3)
        tensors |= {"omega": np.array([1e-3]), "C_omega_1": np.array([[1e3]])}
        assert verdict(deep.build(net, [(fields, tensors)])) == "ACCEPTED"


def test_the_landing_uses_the_constants_within_delta_of_the_weights() -> None:
    """a', b', g' and Lam at the radius t + Delta in floats, and the rate at its edge."""
    run, Delta = deep_walk(1, n=1, m=3, steps=3), 1e-4
    fields, tensors = deep_trajectory_claim(run, Delta=Delta)
    numbers = check_bytes(deep.build(run.net, [(fields, tensors)])).claims[0].numbers or {}
    t = float(Fraction(fields["t"]))
    Lam = run.net.lipschitz(tensors["omega"].tolist(), t + Delta)
    a, b = (float(Fraction(fields[name])) ** 0.5 for name in ("a2", "b2"))
    g = float(np.linalg.norm(run.net.outputs() - run.net.y)) + (b + Lam * Delta / 2) * Delta
    a, b = a - Lam * Delta, b + Lam * Delta
    for name, value in {"a": a, "b": b, "g": g, "Lam": Lam}.items():
        assert float(numbers[name]) == pytest.approx(value, rel=1e-9), name
    rate = 1 - run.eta * (a - Lam * t) ** 2
    for factor, word in ((1 + 1e-9, "ACCEPTED"), (1 - 1e-9, "REJECTED")):
        claim = gmc.written(fields | {"rate": Fraction(rate * factor)})
        assert verdict(deep.build(run.net, [(claim, tensors)])) == word


@pytest.mark.parametrize(("factor", "word"), [(1 + 1e-6, "ACCEPTED"), (1 - 1e-6, "REJECTED")])
def test_the_path_is_that_of_the_replay_and_the_radius(factor: float, word: str) -> None:
    run = deep_walk(2, n=1, m=2, steps=3)
    fields, tensors = deep_trajectory_claim(run)
    path = (run.walked + float(Fraction(fields["t"]))) * factor
    raw = deep.build(run.net, [(fields | {"path": gmc.rational(path)}, tensors)])
    assert verdict(raw) == word
    assert word == "ACCEPTED" or "check DT10 " in check_bytes(raw).reason


def test_a_ball_that_cannot_hold_the_rest_of_the_path_is_refused() -> None:
    run = deep_walk(1, n=1, m=3, steps=0)
    assert "check DT7 " in check_bytes(deep_trajectory_file(run, t=1e-12)).reason


def test_the_start_has_its_own_head() -> None:
    run = deep_walk(2, n=1, m=2, steps=3)
    other = replace(run, start=replace(run.start, v=run.net.v))
    assert verdict(deep_trajectory_file(other)) == "REJECTED"


def test_steps_are_charged_before_the_first_one() -> None:
    run = replace(deep_walk(2, n=1, m=2, steps=1), K=10**6)
    result = check_bytes(deep_trajectory_file(run, bits=2048))
    assert result.verdict is Verdict.UNDECIDED
    assert "budget" in result.reason


def test_a_run_that_is_not_known_well_enough_is_undecided() -> None:
    run = deep_walk(2, n=1, m=2, steps=3)
    result = check_bytes(deep_trajectory_file(run, delta0=1e-8))
    assert result.verdict is Verdict.UNDECIDED
    assert "check DT4 is undecided" in result.reason


def test_a_seed_draws_every_layer_and_the_head_in_order() -> None:
    run = deep_walk(1, n=1, m=1, steps=1, seed=5, seeded=True)
    assert check_bytes(deep_trajectory_file(run)).verdict is Verdict.ACCEPTED
    assert "cell of seed 5" in check_bytes(deep_trajectory_file(run)).statement
    swapped = run.start.at(run.start.theta()[::-1].copy())
    moved = replace(run, start=swapped, net=swapped, K=0).followed(1)
    assert check_bytes(deep_trajectory_file(moved)).verdict is not Verdict.ACCEPTED


def test_passes_at_given_weights_are_those_of_the_stored_ones() -> None:
    run = deep_walk(2, n=2, m=3, kind="conv", steps=0)
    problem, claims = read_certificate(deep_trajectory_file(run), None)
    layers = claims[0].content.landing.layers
    stored, given = Passes(problem, layers), Passes(problem, layers, as_balls(run.net))
    for a, b in zip(stored.residual(), given.residual(), strict=True):
        assert abs(a - b) < 1e-30
    J, r = run.net.jacobian(), run.net.outputs() - run.net.y
    flat = [float(entry) for layer in given.gradient(given.residual()) for entry in layer.entries()]
    np.testing.assert_allclose(flat, J.T @ r, rtol=1e-9, atol=1e-15)


def test_slopes_that_vanish_far_out_do_not_fill_the_memory() -> None:
    """Far out a slope of tanh is below 2^(-10^99), and so is the error of a step: as an exact
    rational it would have more digits than there is memory (found by the postponing attacker).
    """
    run = deep_walk(1, n=1, m=1, steps=1)
    fields, tensors = deep_trajectory_claim(run)
    tensors["W0_1"] = np.where(np.arange(5) == 0, 1e100, tensors["W0_1"])
    result = check_bytes(deep.build(run.net, [(fields, tensors)]))
    assert result.verdict is Verdict.REJECTED
    assert "DT4" in result.reason
