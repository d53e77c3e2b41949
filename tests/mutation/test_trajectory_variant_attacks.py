"""Hostile files of trajectories of both layers, of landings in a loss and of stochastic runs: what
is accepted is true by exact intervals, and by a run of 60 digits from the start.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from tests.checker.cases import Smooth, build
from tests.checker.trajectory_cases import descended, trajectory_claim
from tests.checker.trajectory_variants import loss_claim, sampled, sgd_claim
from tests.figures import Record, record_hostile
from tests.mutation.attacked_numbers import as_number, close
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
RATIONALS = {
    "both": ("eta", "Delta", "x2", "a2", "b2", "beta2", "rho", "rate", "path", "delta0"),
    "loss": ("eta", "Delta", "x2", "b2", "rho", "bound", "bound", "loss_upper", "delta0"),
    "sgd": ("eta", "Delta", "x2", "a2", "rho", "path", "path", "loss_upper", "delta0"),
}
BLOCKS = 12  # further blocks of a stochastic run that are simulated


@dataclass
class Hostile:
    """A claim with its network and tensors."""

    net: Smooth
    fields: dict[str, Any]
    tensors: dict[str, Any]

    def file(self) -> bytes:
        return build(self.net, [(self.fields, self.tensors)])


def honest(rng: Rng, variant: str) -> Hostile:
    """A claim about a short run of a tiny network whose labels are near its first outputs."""
    n = int(rng.integers(1, 3))
    sizes = n, int(rng.integers(n, 3)), int(rng.integers(2, 4))
    seed, Delta = int(rng.integers(2**31)), float(10 ** rng.uniform(-10, -3))
    name = str(rng.choice(["tanh", "softplus"]))
    if variant == "sgd":
        Delta, noise = Delta * 1e-3, float(10 ** rng.uniform(-6, -2.5))
        options = {"share": float(rng.uniform(0.3, 1.3)), "epochs": int(rng.integers(0, 7))}
        options["tilt"] = float(rng.uniform(0, 0.7)) * (n > 1)
        run = sampled(*sizes, activation=name, seed=seed, noise=noise, **options)
        block = n + int(rng.integers(0, 2))
        return Hostile(run.net, *sgd_claim(run, Delta=Delta, rho=0.1, block=block))
    trained = "vW" if variant == "both" else "W"
    share, steps = float(rng.uniform(0.2, 1.9)), int(rng.integers(0, 7))
    run = descended(*sizes, activation=name, steps=steps, share=share, seed=seed, trained=trained)
    if variant == "both":
        expansion = str(rng.choice(["rows", "blocks"]))
        return Hostile(run.net, *trajectory_claim(run, Delta=Delta, rho=0.1, expansion=expansion))
    constants, rho = str(rng.choice(["global", "local"])), Delta * float(10 ** rng.uniform(-1, 2))
    return Hostile(
        run.net, *loss_claim(run, constants=constants, Delta=Delta, rho=rho, room=1.0001)
    )


def attacked(rng: Rng, variant: str) -> Hostile:
    """An honest claim with one to three things changed in it."""
    case = honest(rng, variant)
    fields, tensors = case.fields, case.tensors
    names = [name for name in RATIONALS[variant] if name in fields]
    for _ in range(int(rng.integers(1, 4))):
        move = int(rng.integers(7))
        if move <= 3:
            _scaled(rng, fields, str(rng.choice(names)))
        elif move == 4 and variant == "sgd":
            tensors["order"] = _other_order(rng, tensors["order"], len(case.net.y))
        elif move == 4:
            fields["K"] = max(0, fields["K"] + int(rng.choice([-1, 1])))
        elif move == 5:
            name = str(rng.choice([role for role in ("W0", "v0") if role in tensors]))
            Delta = float(Fraction(fields["Delta"]))
            tensors[name] = tensors[name] + Delta * rng.standard_normal(tensors[name].shape)
        elif "quartic" in fields:
            kappa = Fraction(fields["quartic"]["kappa"]) * close(rng)
            fields["quartic"] = fields["quartic"] | {"kappa": gmc.rational(kappa)}
    return case


def _scaled(rng: Rng, fields: dict[str, Any], name: str) -> None:
    more = Fraction(fields["Delta"]) * close(rng) / 3 if name == "delta0" else 0
    fields[name] = gmc.rational(Fraction(fields[name]) * close(rng) + more)


def _other_order(rng: Rng, order: np.ndarray, n: int) -> np.ndarray:
    """Two entries exchanged, one left out, or one more."""
    order = order.copy()
    if len(order) < 2 or rng.random() < 0.3:
        return order[1:] if rng.random() < 0.5 else np.append(order, rng.integers(n))
    i, j = rng.choice(len(order), 2, replace=False)
    order[[i, j]] = order[[j, i]]
    return order


class Simulation:
    """The run of a claim in 60 digits, from its start moved by delta0 in a fixed direction."""

    def __init__(self, case: Hostile) -> None:
        self.case, f = case, case.fields
        self.eta = as_number(f["eta"])
        self.X = mpmath.matrix(case.net.X.tolist())
        self.W = mpmath.matrix(np.asarray(case.tensors["W0"]).tolist())
        self.W[0, 0] += as_number(f["delta0"]) * (1 - mpmath.mpf(10) ** -50)
        self.v = mpmath.matrix(np.asarray(case.tensors.get("v0", case.net.v)).tolist())
        self.moves_head = "v0" in case.tensors
        self.path = mpmath.mpf(0)

    def residual(self) -> Any:
        values = (self.X * self.W.T).apply(_function(self.case.net.activation))
        return values * self.v - mpmath.matrix(self.case.net.y.tolist())

    def step(self, only: int | None = None) -> None:
        """One step of all samples, or of one."""
        Z, r = self.X * self.W.T, self.residual()
        if only is not None:
            r = mpmath.matrix([r[i] if i == only else 0 for i in range(Z.rows)])
        name = self.case.net.activation
        pulled = Z.apply(_slope(name)).T
        for j in range(pulled.rows):
            for i in range(pulled.cols):
                pulled[j, i] *= self.v[j] * r[i]
        G = self.eta * (pulled * self.X)
        g = self.eta * (Z.apply(_function(name)).T * r) * self.moves_head
        self.W, self.v = self.W - G, self.v - g
        self.path += mpmath.sqrt(mpmath.mnorm(G, "f") ** 2 + mpmath.norm(g) ** 2)

    def distance(self) -> Any:
        net = self.case.net
        dW = mpmath.mnorm(self.W - mpmath.matrix(net.W.tolist()), "f")
        return mpmath.sqrt(dW**2 + mpmath.norm(self.v - mpmath.matrix(net.v.tolist())) ** 2)


def _function(name: str) -> Any:
    return mpmath.tanh if name == "tanh" else lambda z: mpmath.log1p(mpmath.exp(z))


def _slope(name: str) -> Any:
    if name == "tanh":
        return lambda z: mpmath.sech(z) ** 2
    return lambda z: 1 / (1 + mpmath.exp(-z))


def holds(case: Hostile, rng: Rng) -> bool:
    """The statement itself: near V after the steps; then the loss, the rate and the path, or the
    path and the way to zero in further blocks of random order.
    """
    f, small = case.fields, mpmath.mpf(10) ** -40
    with mpmath.workdps(60):
        run = Simulation(case)
        for sample in case.tensors.get("order", [None] * f.get("K", 0)):
            run.step(None if sample is None else int(sample))
        if run.distance() > as_number(f["Delta"]):
            return False
        before = mpmath.norm(run.residual())
        if "landing" in f:
            return before**2 / 2 <= as_number(f["bound"])
        if "order" in case.tensors:
            first = before
            for _ in range(BLOCKS):
                for i in _block(rng, len(case.net.y), f["block"]):
                    run.step(i)
            return run.path <= as_number(f["path"]) and mpmath.norm(run.residual()) < first
        for _ in range(5):
            run.step()
            after = mpmath.norm(run.residual())
            if after > before * as_number(f["rate"]) * (1 + small):
                return False
            before = after
        return run.path <= as_number(f["path"])


def _block(rng: Rng, n: int, length: int) -> list[int]:
    """Every sample, and any others, in any order."""
    chosen = [*range(n), *(int(i) for i in rng.integers(n, size=length - n))]
    return [chosen[i] for i in rng.permutation(length)]


def attack(variant: str, seed: int, count: int) -> dict[str, int]:
    """Counts of verdicts; a false acceptance or a contradiction of the checkers raises."""
    seen = {"ACCEPTED": 0, "REJECTED": 0, "UNDECIDED": 0, "false": 0}
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        case = attacked(rng, variant)
        raw = case.file()
        fast, slow = check_bytes(raw).verdict.value, slow_check(raw).verdict
        assert {fast, slow} != {"ACCEPTED", "REJECTED"}, number
        truth = oracle_truth(raw)
        seen[fast] += 1
        seen["false"] += truth is False
        if fast == "ACCEPTED":
            assert truth is not False, number
            assert holds(case, rng), number
    return seen


@pytest.mark.parametrize("variant", list(RATIONALS))
def test_what_is_accepted_is_true(variant: str) -> None:
    seen = attack(variant, 1, 60)
    assert min(seen["ACCEPTED"], seen["REJECTED"], seen["false"]) > 5, seen


@pytest.mark.campaign
@pytest.mark.parametrize("variant", list(RATIONALS))
def test_thousands_of_hostile_runs(variant: str, record_property: Record) -> None:
    seen = attack(variant, 2, 3_334)
    record_hostile(record_property, seen, 3_334)
    print(variant, seen)
    assert min(seen["ACCEPTED"], seen["false"]) > 300


@pytest.mark.parametrize("variant", list(RATIONALS))
def test_the_long_simulation_can_fail(variant: str) -> None:
    """Half the step, the same weights."""
    for number in range(30):
        rng = np.random.default_rng([7, number])
        case = honest(rng, variant)
        if case.fields.get("K", len(case.tensors.get("order", ()))) > 2:
            break
    assert holds(case, rng)
    case.fields["eta"] = gmc.rational(Fraction(case.fields["eta"]) / 2)
    assert not holds(case, rng)
