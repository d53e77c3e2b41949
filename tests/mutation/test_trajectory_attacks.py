"""Hostile files of the claim trajectory: what is accepted is true by exact intervals, and by
a run of 60 digits from the start into the limit.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.checker.cases import build
from tests.checker.trajectory_cases import Descended, descended, trajectory_claim
from tests.figures import Record, record_hostile
from tests.mutation.attacked_numbers import as_number, close
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
RATIONALS = ("eta", "Delta", "x2", "a2", "b2", "rho", "rate", "path", "loss_upper", "delta0")


def drawn(rng: Rng) -> Descended:
    """A short run of a tiny network whose labels are near its first outputs."""
    activation = str(rng.choice(["tanh", "softplus", "quadratic"]))
    n = int(rng.integers(1, 3))
    return descended(
        n,
        int(rng.integers(n, 3)),
        int(rng.integers(2, 4)),
        activation=activation,
        steps=int(rng.integers(0, 7)),
        share=float(rng.uniform(0.2, 1.9)),
        seed=int(rng.integers(2**31)),
    )


def attacked(rng: Rng) -> tuple[Descended, dict[str, Any], dict[str, Any]]:
    """An honest claim with one to three things changed in it."""
    run = drawn(rng)
    expansion = "rows" if run.net.activation == "quadratic" else str(rng.choice(["norm", "rows"]))
    Delta = float(10 ** rng.uniform(-10, -3))
    fields, tensors = trajectory_claim(run, Delta=Delta, rho=0.1, expansion=expansion)
    for _ in range(int(rng.integers(1, 4))):
        move = int(rng.integers(8))
        if move <= 4:
            name = str(rng.choice(RATIONALS))
            fields[name] = gmc.rational(
                Fraction(fields[name]) * close(rng)
                + (name == "delta0") * Fraction(Delta) * close(rng) / 3
            )
        elif move == 5:
            fields["K"] = max(0, fields["K"] + int(rng.choice([-1, 1])))
        elif move == 6:
            tensors["W0"] = tensors["W0"] + Delta * rng.standard_normal(run.W0.shape)
        else:
            kappa = Fraction(fields["quartic"]["kappa"]) * close(rng)
            fields["quartic"] = fields["quartic"] | {"kappa": gmc.rational(kappa)}
    return run, fields, tensors


def ends_at_zero(run: Descended, fields: dict[str, Any], tensors: dict[str, Any]) -> bool:
    """The statement itself, in 60 digits, from the start moved by delta0 in a fixed direction: near
    V after K steps, and the residual shrinks by the rate from then on.
    """
    with mpmath.workdps(60):
        net, rate = run.net, as_number(fields["rate"])
        X, V = mpmath.matrix(net.X.tolist()), mpmath.matrix(net.W.tolist())
        W = mpmath.matrix(np.asarray(tensors["W0"]).tolist())
        W[0, 0] += as_number(fields["delta0"]) * (1 - mpmath.mpf(10) ** -50)
        for _ in range(fields["K"]):
            W = _moved(net, X, W, as_number(fields["eta"]))[0]
        if mpmath.mnorm(W - V, "f") > as_number(fields["Delta"]):
            return False
        before = _moved(net, X, W, as_number(fields["eta"]))
        for _ in range(5):
            after = _moved(net, X, before[0], as_number(fields["eta"]))
            if after[1] > before[1] * rate * (1 + mpmath.mpf(10) ** -40):
                return False
            before = after
    return True


def _moved(net: Any, X: Any, W: Any, eta: Any) -> tuple[Any, Any]:
    phi, slope = {
        "tanh": (mpmath.tanh, lambda z: mpmath.sech(z) ** 2),
        "softplus": (lambda z: mpmath.log1p(mpmath.exp(z)), lambda z: 1 / (1 + mpmath.exp(-z))),
        "quadratic": (lambda z: z * z, lambda z: 2 * z),
    }[net.activation]
    Z = X * W.T
    n, k = Z.rows, Z.cols
    r = [sum(net.v[j] * phi(Z[i, j]) for j in range(k)) - net.y[i] for i in range(n)]
    pulled = mpmath.matrix(k, n)
    for j in range(k):
        for i in range(n):
            pulled[j, i] = net.v[j] * slope(Z[i, j]) * r[i]
    return W - eta * (pulled * X), mpmath.norm(mpmath.matrix(r))


def attack(seed: int, count: int) -> dict[str, int]:
    """Counts of verdicts; a false acceptance or a contradiction of the checkers raises."""
    seen = {"ACCEPTED": 0, "REJECTED": 0, "UNDECIDED": 0, "false": 0}
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        run, fields, tensors = attacked(rng)
        raw = build(run.net, [(fields, tensors)])
        fast, slow = check_bytes(raw).verdict.value, slow_check(raw).verdict
        assert {fast, slow} != {"ACCEPTED", "REJECTED"}, number
        truth = oracle_truth(raw)
        seen[fast] += 1
        seen["false"] += truth is False
        if fast == "ACCEPTED":
            assert truth is not False, number
            assert ends_at_zero(run, fields, tensors), number
    return seen


def test_what_is_accepted_is_true() -> None:
    seen = attack(1, 150)
    assert min(seen["ACCEPTED"], seen["REJECTED"], seen["false"]) > 20


@pytest.mark.campaign
def test_ten_thousand_hostile_runs(record_property: Record) -> None:
    seen = attack(2, 10_000)
    record_hostile(record_property, seen, 10_000)
    print(seen)
    assert seen["false"] > 2_000


def test_a_run_that_is_not_gradient_descent_is_seen_by_the_long_simulation() -> None:
    """The simulation can fail: half the step, the same weights."""
    run = descended(steps=5)
    fields, tensors = trajectory_claim(run)
    assert ends_at_zero(run, fields, tensors)
    half = fields | {"eta": gmc.rational(Fraction(run.eta) / 2)}
    assert not ends_at_zero(replace(run, eta=run.eta / 2), half, tensors)
