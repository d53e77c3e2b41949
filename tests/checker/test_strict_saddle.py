"""strict-saddle: certified directions go down, certified balls hold no local minimum, and every
overstatement is refused.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import Smooth, build
from tests.checker.quadratic_cases import Pair, claim
from tests.checker.second_order_cases import hessian, random_smooth, saddle_claim
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.engine import check_bytes

ACTIVATIONS = ["softplus", "sigmoid", "tanh", "erf", "quadratic"]
SEEDS = {"softplus": 2}


def verdicts(net: Smooth, pair: Pair, **options: Any) -> tuple[str, str]:
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


def bent(activation: str, trained: str = "W") -> Smooth:
    """A random network whose Hessian has a negative eigenvalue."""
    for seed in range(50):
        net = random_smooth(5, 2, 3, activation=activation, trained=trained, seed=seed)
        if np.linalg.eigvalsh(hessian(net))[0] < -0.1:
            return net
    raise AssertionError(activation)


@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_direction_of_negative_curvature_is_accepted_and_no_larger_gamma(
    activation: str, trained: str
) -> None:
    net = bent(activation, trained)
    fields, tensors = saddle_claim(net)
    assert verdicts(net, (fields, tensors))[0] == "ACCEPTED"
    verdict, reason = verdicts(
        net,
        (fields | {"gamma": str(Fraction(fields["gamma"]) * Fraction(1000001, 999999))}, tensors),
    )
    assert (verdict, "S6" in reason) == ("REJECTED", True)
    verdict, reason = verdicts(
        net, (fields | {"eps": str(Fraction(fields["eps"]) * Fraction(999999, 1000000))}, tensors)
    )
    assert (verdict, "S5" in reason) == ("REJECTED", True)


@pytest.mark.parametrize("method", ["rows", "svec"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_curvature_stays_negative_in_the_certified_ball(activation: str, method: str) -> None:
    net = bent(activation)
    fields, tensors = saddle_claim(net, radius=method, t=0.5)
    result = check_bytes(build(net, [(fields, tensors)]))
    assert (
        result.verdict.value == slow_check(build(net, [(fields, tensors)])).verdict == "ACCEPTED"
    ), result.reason
    assert "No weights W closer than" in result.statement
    R, U = float(Fraction(fields["radius"]["R"])), tensors["U"].ravel()
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = rng.standard_normal(net.W.shape)
        step *= 0.999999 * R / np.linalg.norm(step)
        assert U @ hessian(replace(net, W=net.W + step)) @ U < 0


def golden(gamma: Fraction, **changes: Any) -> tuple[Smooth, Pair]:
    """w = 0, y = 1: gradient 0, curvature -2."""
    net = Smooth(np.ones((1, 1)), np.ones(1), np.zeros((1, 1)), np.ones(1), "quadratic")
    fields = {
        "trained": "W",
        "gamma": gamma,
        "eps": Fraction(0),
        "loss_upper": Fraction(1, 2),
    } | changes
    return net, (claim("strict-saddle", **fields), {"U": np.array([[3.0]])})


@pytest.mark.parametrize(
    ("gamma", "verdict"),
    [(Fraction(2), "ACCEPTED"), (Fraction(1), "ACCEPTED"), (Fraction(2001, 1000), "REJECTED")],
)
def test_the_golden_example_is_decided_exactly(gamma: Fraction, verdict: str) -> None:
    net, pair = golden(gamma)
    assert verdicts(net, pair)[0] == verdict


def test_the_golden_ball_reaches_where_the_curvature_may_vanish() -> None:
    """L'' = 6 w^2 - 2, c = 12 R, Lam = 12 R: the lemma allows R with 12 R^2 <= 2, short of the true
    zero at 1/sqrt 3.
    """
    for R, verdict in ((Fraction(408, 1000), "ACCEPTED"), (Fraction(409, 1000), "REJECTED")):
        c = 12 * R + Fraction(1, 10**9)
        radius = {"R": R, "lam": c, "quartic": {"kappa": c, "method": "rows"}}
        net, (fields, tensors) = golden(Fraction(2), radius=radius)
        wide = np.array([[1e4 * np.sqrt(10)]])
        found, reason = verdicts(net, (fields, tensors | {"C_lam": wide, "C_kappa": wide}))
        assert found == verdict, reason
        assert verdict == "ACCEPTED" or "S7d" in reason


@pytest.mark.parametrize(
    ("part", "value", "number"),
    [
        ("R", Fraction(0), "S7a"),
        ("R", Fraction(-1, 10), "S7a"),
        ("lam", Fraction(0), "S7b"),
        ("lam", Fraction(1, 10**6), "S8"),
        ("kappa", Fraction(-1), "S7c"),
        ("kappa", Fraction(1, 10**6), "S9"),
    ],
)
def test_the_parts_of_the_radius_are_checked(part: str, value: Fraction, number: str) -> None:
    net = bent("tanh")
    fields, tensors = saddle_claim(net, radius="rows")
    radius = dict(fields["radius"])
    if part == "kappa":
        radius["quartic"] = radius["quartic"] | {"kappa": str(value)}
    else:
        radius[part] = str(value)
    verdict, reason = verdicts(net, (fields | {"radius": radius}, tensors))
    assert (verdict, f"check {number}" in reason) == ("REJECTED", True)


def test_form_of_the_claim() -> None:
    net = bent("tanh")
    fields, tensors = saddle_claim(net, radius="rows")
    plain = {key: value for key, value in fields.items() if key != "radius"}
    assert verdicts(net, (plain, tensors))[0] == "MALFORMED"
    assert verdicts(net, (fields, {"U": tensors["U"]}))[0] == "MALFORMED"
    assert verdicts(net, (fields, tensors | {"U": tensors["U"].T}))[0] == "MALFORMED"
    assert (
        verdicts(net, (fields, tensors | {"U": np.full_like(tensors["U"], np.nan)}))[0]
        == "MALFORMED"
    )
    assert verdicts(net, (fields, tensors | {"C_lam": np.eye(2, 3)}))[0] == "MALFORMED"
    extra = fields["radius"] | {"Lam": "1"}
    assert verdicts(net, (fields | {"radius": extra}, tensors))[0] == "MALFORMED"
    assert verdicts(net, (fields | {"trained": "v"}, tensors))[0] == "MALFORMED"
    both = bent("tanh", "vW")
    fields, tensors = saddle_claim(both)
    radius = {"R": "1", "lam": "1", "quartic": {"kappa": "1", "method": "rows"}}
    factors = {"C_lam": np.eye(2), "C_kappa": np.eye(2)}
    assert verdicts(both, (fields | {"radius": radius}, tensors | factors))[0] == "MALFORMED"
    assert verdicts(both, (fields, {"U": tensors["U"]}))[0] == "MALFORMED"


def test_directions_and_numbers_that_prove_nothing_are_refused() -> None:
    net, (fields, tensors) = golden(Fraction(1))
    assert "S3" in verdicts(net, (fields, {"U": np.zeros((1, 1))}))[1]
    assert "S2a" in verdicts(net, (fields | {"gamma": "0"}, tensors))[1]
    assert "S2a" in verdicts(net, (fields | {"gamma": "-2"}, tensors))[1]
    assert "S2b" in verdicts(net, (fields | {"eps": "-1"}, tensors))[1]
    assert "S4" in verdicts(net, (fields | {"loss_upper": "1/4"}, tensors))[1]
    away = replace(net, W=np.ones((1, 1)))
    assert verdicts(away, (fields, tensors))[0] == "REJECTED"


@pytest.mark.parametrize("activation", ["relu", "abs", "linear"])
def test_kinked_activations_are_refused(activation: str) -> None:
    net, (fields, tensors) = golden(Fraction(1))
    raw = gmc.build(net.X, net.y, net.W, net.v, [(fields, tensors)], activation=activation)
    assert check_bytes(raw).verdict.value == slow_check(raw).verdict == "REJECTED"
    assert "S1" in check_bytes(raw).reason


def test_the_direction_of_another_network_is_refused() -> None:
    net, other = bent("softplus"), bent("tanh")
    fields, _ = saddle_claim(net)
    assert verdicts(net, (fields, saddle_claim(other)[1]))[0] == "REJECTED"


def test_slopes_other_than_one_are_covered() -> None:
    for name, b in (("softplus", Fraction(5, 2)), ("sigmoid", Fraction(1, 2))):
        net = bent(name)
        scaled = replace(net, W=net.W * float(1 / b))
        factor = b if name == "softplus" else Fraction(1)
        scaled = replace(scaled, v=net.v * float(factor))
        fields, tensors = saddle_claim(net)
        # W -> W/b leaves the outputs as they are and multiplies the Hessian in W by b^2
        gamma = Fraction(fields["gamma"]) * b * b * Fraction(999, 1000)
        eps = Fraction(fields["eps"]) * b * Fraction(1001, 1000)
        changed = fields | {"gamma": str(gamma), "eps": str(eps)}
        assert verdicts(scaled, (changed, tensors), parameter=b)[0] == "ACCEPTED"
        assert (
            verdicts(
                scaled,
                (changed | {"gamma": str(gamma * Fraction(1002, 999))}, tensors),
                parameter=b,
            )[0]
            == "REJECTED"
        )
