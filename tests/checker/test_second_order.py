"""second-order-stationary: dense and block routes, the golden boundary of delta, the limit of 400
parameters.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import Smooth, build
from tests.checker.quadratic_cases import Pair, claim
from tests.checker.second_order_cases import random_smooth, second_order_claim
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check import limits
from globalmin_check.engine import check_bytes

ACTIVATIONS = ["softplus", "sigmoid", "tanh", "erf", "quadratic"]
ROUTES = [("W", "dense"), ("vW", "dense"), ("W", "blocks")]


def verdicts(net: Smooth, pair: Pair, **options: Any) -> tuple[str, str]:
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


@pytest.mark.parametrize(("trained", "method"), ROUTES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_honest_tolerances_are_accepted_and_smaller_ones_are_not(
    activation: str, trained: str, method: str
) -> None:
    net = random_smooth(5, 2, 3, activation=activation, trained=trained, seed=7)
    fields, tensors = second_order_claim(net, method=method)
    assert verdicts(net, (fields, tensors))[0] == "ACCEPTED"
    verdict, reason = verdicts(
        net, (fields | {"eps": str(Fraction(fields["eps"]) * Fraction(99, 100))}, tensors)
    )
    assert (verdict, "T4" in reason) == ("REJECTED", True)
    if Fraction(fields["delta"]) > Fraction(1, 10**5):
        verdict, reason = verdicts(
            net, (fields | {"delta": str(Fraction(fields["delta"]) * Fraction(99, 100))}, tensors)
        )
        assert (verdict, "check T" in reason) == ("REJECTED", True)


def golden(
    delta: Fraction, method: str = "dense", C: float | None = None, **changes: Any
) -> tuple[Smooth, Pair]:
    """w = 0, y = 1: gradient 0, Hessian -2."""
    net = Smooth(np.ones((1, 1)), np.ones(1), np.zeros((1, 1)), np.ones(1), "quadratic")
    factor = float(1 / np.sqrt(abs(float(delta) - 2) or 1e-9)) if C is None else C
    fields = {
        "trained": "W",
        "method": method,
        "eps": Fraction(0),
        "delta": delta,
        "loss_upper": Fraction(1, 2),
    } | changes
    return net, (claim("second-order-stationary", **fields), {"C": np.array([[factor]])})


@pytest.mark.parametrize("method", ["dense", "blocks"])
@pytest.mark.parametrize(
    ("delta", "verdict"),
    [
        (Fraction(2001, 1000), "ACCEPTED"),
        (Fraction(1999, 1000), "REJECTED"),
        (Fraction(2), "REJECTED"),
    ],
)
def test_the_golden_boundary(delta: Fraction, verdict: str, method: str) -> None:
    net, pair = golden(delta, method)
    assert verdicts(net, pair)[0] == verdict


@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"delta": Fraction(0)}, "T2b"),
        ({"delta": Fraction(-3)}, "T2b"),
        ({"eps": Fraction(-1)}, "T2a"),
        ({"loss_upper": Fraction(1, 4)}, "T3"),
    ],
)
def test_numbers_out_of_range_are_refused(changes: dict[str, Fraction], number: str) -> None:
    net, (fields, tensors) = golden(Fraction(3))
    verdict, reason = verdicts(net, (fields | gmc.written(changes), tensors))
    assert (verdict, number in reason) == ("REJECTED", True)


@pytest.mark.parametrize(("trained", "method"), ROUTES)
def test_witnesses_that_prove_nothing_are_refused(trained: str, method: str) -> None:
    net = random_smooth(5, 2, 3, activation="tanh", trained=trained)
    fields, tensors = second_order_claim(net, method=method)
    C = tensors["C"]
    assert verdicts(net, (fields, {"C": np.zeros_like(C)}))[0] == "REJECTED"
    assert verdicts(net, (fields, {"C": np.full_like(C, np.nan)}))[0] == "MALFORMED"
    assert verdicts(net, (fields, {"C": C[:, :-1]}))[0] == "MALFORMED"
    assert verdicts(net, (fields, {"C": C[:-1]}))[0] == "MALFORMED"
    other = random_smooth(5, 2, 3, activation="tanh", trained=trained, seed=5)
    assert verdicts(net, (fields, second_order_claim(other, method=method)[1]))[0] == "REJECTED"


def test_a_single_bad_block_is_seen() -> None:
    net = random_smooth(5, 2, 4, activation="tanh", seed=3)
    fields, tensors = second_order_claim(net, method="blocks")
    for neuron in range(4):
        C = tensors["C"].copy()
        C[2 * neuron : 2 * neuron + 2] = 0
        verdict, reason = verdicts(net, (fields, {"C": C}))
        assert (verdict, f"T6.{neuron}" in reason) == ("REJECTED", True)


def test_blocks_of_neurons_without_a_head_are_zero() -> None:
    net = replace(random_smooth(5, 2, 3, activation="tanh"), v=np.array([1.0, 0.0, -1.0]))
    fields, tensors = second_order_claim(net, method="blocks")
    assert not tensors["C"][2:4].any()
    assert verdicts(net, (fields, tensors))[0] == "ACCEPTED"
    C = tensors["C"].copy()
    C[2, 0] = 1.0
    assert "T6.1" in verdicts(net, (fields, {"C": C}))[1]


def test_the_order_of_the_parameters_is_fixed() -> None:
    net = random_smooth(5, 2, 3, activation="tanh", trained="vW")
    fields, tensors = second_order_claim(net)
    order = [*range(3, 9), 0, 1, 2]
    moved = {"C": tensors["C"][np.ix_(order, order)]}
    assert verdicts(net, (fields, moved))[0] == "REJECTED"


def test_more_than_400_parameters_need_blocks() -> None:
    assert limits.DENSE_PARAMETERS == 400
    net = random_smooth(3, 20, 20, activation="quadratic")
    fields, tensors = second_order_claim(net)
    assert check_bytes(build(net, [(fields, tensors)])).verdict.value == "ACCEPTED"
    wide = random_smooth(3, 21, 20, activation="quadratic")
    fields, tensors = second_order_claim(wide)
    assert verdicts(wide, (fields, tensors))[0] == "MALFORMED"
    result = check_bytes(build(wide, [second_order_claim(wide, method="blocks")]))
    assert result.verdict.value == "ACCEPTED", result.reason
    both = random_smooth(3, 20, 20, activation="quadratic", trained="vW")
    assert check_bytes(build(both, [second_order_claim(both)])).verdict.value == "MALFORMED"


def test_blocks_are_for_w_only() -> None:
    net = random_smooth(5, 2, 3, activation="tanh")
    fields, tensors = second_order_claim(net, method="blocks")
    assert verdicts(net, (fields | {"trained": "vW"}, tensors))[0] == "MALFORMED"
    assert verdicts(net, (fields | {"method": "lanczos"}, tensors))[0] == "MALFORMED"


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "linear"])
def test_activations_outside_the_table_are_refused(activation: str) -> None:
    net, (fields, tensors) = golden(Fraction(3))
    parameter = Fraction(1, 10) if activation == "leaky_relu" else None
    raw = gmc.build(
        net.X, net.y, net.W, net.v, [(fields, tensors)], activation=activation, parameter=parameter
    )
    assert check_bytes(raw).verdict.value == slow_check(raw).verdict == "REJECTED"
    assert "T1" in check_bytes(raw).reason


def test_the_statement_says_what_is_not_proved() -> None:
    net, pair = golden(Fraction(3))
    statement = check_bytes(build(net, [pair])).statement
    assert "does not say that they are a minimum" in statement
    assert "-3" in statement
