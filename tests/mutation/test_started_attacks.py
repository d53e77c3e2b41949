"""Hostile files of the claims relu-trajectory and deep-trajectory: what is accepted is true by the
slow checker, and by a run in exact rationals (ReLU) or 50 digits (deep) from a start on the edge of
the start set.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.checker import deep_cases as deep
from tests.checker.deep_trajectory_cases import DeepWalk, deep_trajectory_claim, deep_walk
from tests.checker.relu_trajectory_cases import Walked, build_relu, relu_trajectory_claim, walked
from tests.figures import Record, record_hostile
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth
from tests.oracles.fraction_relu_trajectory import exact_step, square_distance
from tests.oracles.strict_container import read

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
Parts = tuple[dict[str, Any], dict[str, Any]]


def close(rng: Rng) -> Fraction:
    """A factor: near 1, a few percent off, or far away."""
    size = float(10 ** rng.choice([-12.0, -6.0, -2.0, -0.5, 0.5]))
    return Fraction(float(np.exp(rng.choice([-1.0, 1.0]) * size * rng.uniform(0.1, 1))))


def changed(rng: Rng, fields: dict[str, Any], tensors: dict[str, Any], start: str) -> None:
    """One number of the claim, its steps, or its start."""
    move, Delta = int(rng.integers(7)), Fraction(fields["Delta"])
    if move == 5:
        fields["K"] = max(0, fields["K"] + int(rng.choice([-1, 1])))
    elif move == 6:
        W0 = np.array(tensors[start])
        W0.flat[rng.integers(W0.size)] += float(Delta) * rng.choice([0.5, 2.0, 1e6])
        tensors[start] = W0
    else:
        names = [name for name, value in fields.items() if isinstance(value, str)]
        rationals = [n for n in names if n not in ("kind", "theorem", "norm", "landing")]
        name = str(rng.choice(sorted(rationals)))
        moved = Fraction(fields[name]) * close(rng)
        fields[name] = gmc.rational(moved + (name == "delta0") * Delta * close(rng) / 3)


def relu_attack(rng: Rng) -> tuple[Walked, Parts] | None:
    """An honest claim about a tiny network with one to three things changed in it."""
    n = int(rng.integers(1, 3))
    landing = str(rng.choice(["descent", "descent", "loss"]))
    activation = str(rng.choice(["relu", "abs", "leaky_relu"])) if landing == "loss" else "relu"
    run = walked(
        n,
        int(rng.integers(n, 3)),
        int(rng.integers(1, 6)),
        steps=int(rng.integers(0, 6)),
        share=float(rng.uniform(0.2, 2.4)),
        off=float(10 ** rng.uniform(-2, 0)),
        seed=int(rng.integers(2**31)),
        activation=activation,
    )
    Delta = float(10 ** rng.uniform(-10, -1))
    made = relu_trajectory_claim(run, landing=landing, Delta=Delta, steps=int(rng.integers(1, 5)))
    if made is None:
        return None
    fields, tensors = dict(made[0]), dict(made[1])
    for _ in range(int(rng.integers(1, 4))):
        if rng.random() < 0.1 and len(tensors.get("U", ())) > 0:
            tensors["U"] = tensors["U"][:-1]
        changed(rng, fields, tensors, "W0")
    return run, (fields, tensors)


def relu_is_true(raw: bytes, rng: Rng) -> bool:
    """The statement itself, in exact rationals, from a start moved by nearly delta0 in one entry:
    near V after K steps with no kink met, then the rate for three steps, or the bound.
    """
    c = read(raw)
    f, tensors = c.claims[0].fields, c.claims[0].tensors
    W = [list(row) for row in tensors["W0"].rows()]
    row, column = int(rng.integers(len(W))), int(rng.integers(len(W[0])))
    W[row][column] += f["delta0"] * int(rng.choice([-1, 1]))
    path = Fraction(0)
    for _ in range(f["K"]):
        kinks = [sum(a * b for a, b in zip(w, x, strict=True)) == 0 for w in W for x in c.X]
        if any(kinks):
            return False
        W, last = exact_step(c, W, f["eta"]), W
        path += Fraction(float(square_distance(W, last)) ** 0.5)
    if square_distance(W, c.W) > f["Delta"] ** 2:
        return False
    if f["landing"] == "loss":
        return _loss(c, W) <= f["bound"]
    if path > f["path"] * (1 + Fraction(1, 10**9)):
        return False
    for _ in range(3):
        before = _loss(c, W)
        W = exact_step(c, W, f["eta"])
        if _loss(c, W) > before * f["rate"] ** 2:
            return False
    return True


def _loss(c: Any, W: list[list[Fraction]]) -> Fraction:
    left = {"relu": 0, "abs": -1}.get(c.activation, c.parameter)
    total = Fraction(0)
    for x, y in zip(c.X, c.y, strict=True):
        z = [sum((a * b for a, b in zip(w, x, strict=True)), Fraction(0)) for w in W]
        f = sum((v * (u if u > 0 else left * u) for v, u in zip(c.v, z, strict=True)), Fraction(0))
        total += (f - y) ** 2 / 2
    return total


def deep_attack(rng: Rng) -> tuple[DeepWalk, Parts]:
    """The same for a network of one or two layers."""
    run = deep_walk(
        int(rng.integers(1, 3)),
        n=1,
        m=int(rng.integers(1, 3)),
        kind=str(rng.choice(["dense", "res"])),
        steps=int(rng.integers(0, 3)),
        share=float(rng.uniform(0.2, 1.5)),
        off=float(10 ** rng.uniform(-4, -2)),
        seed=int(rng.integers(2**31)),
    )
    made = deep_trajectory_claim(run, Delta=float(10 ** rng.uniform(-10, -5)))
    fields, tensors = dict(made[0]), dict(made[1])
    for _ in range(int(rng.integers(1, 4))):
        changed(rng, fields, tensors, str(rng.choice(["W0_1", "v0"])))
    return run, (fields, tensors)


def deep_is_true(run: DeepWalk, fields: dict[str, Any], tensors: dict[str, Any]) -> bool:
    """The statement in 50 digits, by differences of the loss that know no formula of a gradient."""
    with mpmath.workdps(50):
        shapes = [W.shape for W in run.net.weights]
        theta = [mpmath.mpf(e) for h in range(len(shapes)) for e in tensors[f"W0_{h + 1}"].ravel()]
        theta += [mpmath.mpf(e) for e in tensors["v0"]]
        eta, rate, Delta = (_number(fields[name]) for name in ("eta", "rate", "Delta"))
        theta[0] += _number(fields["delta0"])
        for _ in range(fields["K"]):
            theta = _moved(run.net, shapes, theta, eta)
        stored = [mpmath.mpf(e) for e in run.net.theta()]
        away = [a - b for a, b in zip(theta, stored, strict=True)]
        if mpmath.norm(away) > Delta * (1 + mpmath.mpf(10) ** -12):
            return False
        before = abs(_residual(run.net, shapes, theta))
        for _ in range(3):
            theta = _moved(run.net, shapes, theta, eta)
            after = abs(_residual(run.net, shapes, theta))
            if after > before * rate * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(10) ** -24:
                return False
            before = after
    return True


def _number(text: str) -> mpmath.mpf:
    value = Fraction(text)
    return mpmath.mpf(value.numerator) / value.denominator


def _residual(net: deep.Deep, shapes: list[Any], theta: list[Any]) -> Any:
    x, place = [mpmath.mpf(e) for e in net.X[0]], 0
    for (rows, columns), scale, skip in zip(shapes, net.scales, net.residual, strict=True):
        W = [theta[place + i * columns : place + (i + 1) * columns] for i in range(rows)]
        place += rows * columns
        out = [scale * mpmath.tanh(mpmath.fdot(w, x)) for w in W]
        x = [a + b for a, b in zip(x, out, strict=True)] if skip else out
    return mpmath.fdot(theta[place:], x) - mpmath.mpf(net.y[0])


def _moved(net: deep.Deep, shapes: list[Any], theta: list[Any], eta: Any) -> list[Any]:
    h, result = mpmath.mpf(10) ** -14, []
    for place, entry in enumerate(theta):
        sides = []
        for sign in (1, -1):
            moved = list(theta)
            moved[place] = entry + sign * h
            sides.append(_residual(net, shapes, moved) ** 2 / 2)
        result.append(entry - eta * (sides[0] - sides[1]) / (2 * h))
    return result


def judged(raw: bytes, number: int, seen: dict[str, int]) -> bool:
    """Whether the file is accepted; a contradiction of the checkers raises."""
    fast, slow = check_bytes(raw).verdict.value, slow_check(raw).verdict
    assert {fast, slow} != {"ACCEPTED", "REJECTED"}, number
    seen[fast] += 1
    truth = oracle_truth(raw)
    seen["false"] += truth is False
    assert not (fast == "ACCEPTED" and truth is False), number
    return fast == "ACCEPTED"


def attack(kind: str, seed: int, count: int) -> dict[str, int]:
    """Counts of verdicts; a false acceptance raises."""
    seen = {"ACCEPTED": 0, "REJECTED": 0, "UNDECIDED": 0, "MALFORMED": 0, "false": 0}
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        with np.errstate(all="ignore"):
            made = relu_attack(rng) if kind == "relu" else deep_attack(rng)
        if made is None:
            continue
        run, (fields, tensors) = made
        if isinstance(run, Walked):
            raw = build_relu(run, [(fields, tensors)])
            assert not judged(raw, number, seen) or relu_is_true(raw, rng), number
        else:
            raw = deep.build(run.net, [(fields, tensors)])
            assert not judged(raw, number, seen) or deep_is_true(run, fields, tensors), number
    return seen


def test_what_is_accepted_of_relu_runs_is_true() -> None:
    seen = attack("relu", 1, 250)
    assert min(seen["ACCEPTED"], seen["REJECTED"], seen["false"]) > 20, seen


def test_what_is_accepted_of_deep_runs_is_true() -> None:
    seen = attack("deep", 1, 80)
    assert min(seen["ACCEPTED"], seen["REJECTED"], seen["false"]) > 8, seen


@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["relu", "deep"])
def test_ten_thousand_hostile_runs(kind: str, record_property: Record) -> None:
    seen = attack(kind, 2, 10_000)
    record_hostile(record_property, seen, sum(seen.values()) - seen["false"])
    print(seen)
    assert seen["false"] > 1_000


def test_runs_that_are_not_gradient_descent_are_seen_by_the_simulations() -> None:
    """The simulations can fail: half the step, the same weights."""
    run = walked(steps=4)
    found = relu_trajectory_claim(run)
    assert found is not None
    rng = np.random.default_rng(0)
    assert relu_is_true(build_relu(run, [found]), rng)
    half = found[0] | {"eta": gmc.rational(Fraction(run.eta) / 2)}
    assert not relu_is_true(build_relu(run, [(half, found[1])]), rng)
    walk = deep_walk(1, n=1, m=2, steps=2)
    fields, tensors = deep_trajectory_claim(walk)
    assert deep_is_true(walk, fields, tensors)
    half = fields | {"eta": gmc.rational(Fraction(walk.eta) / 2)}
    assert not deep_is_true(walk, half, tensors)
