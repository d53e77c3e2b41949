"""Random attacks on unique-minimum: numbers, witnesses, data, weights change; both checkers agree,
nothing false is accepted.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import Smooth, build
from tests.checker.second_order_cases import gradient, hessian
from tests.checker.unique_minimum_cases import ACTIVATIONS, FORMS, largest_claim, minimum
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
NUMBERS = (
    "loss_upper",
    "r",
    "r_minus",
    "mu",
    "M",
    "eta",
    "rate",
    "m0",
    "M0",
    "lam",
    "flat2",
    "tau",
)


def _factor(rng: Rng) -> Fraction:
    return Fraction(float(np.exp(rng.choice([-1, 1]) * 10 ** rng.uniform(-6, 0.5))))


def _change_number(
    rng: Rng, net: Smooth, fields: dict[str, Any], tensors: dict[str, Any]
) -> Smooth:
    name = rng.choice([key for key in NUMBERS if key in fields])
    fields[name] = str(Fraction(fields[name]) * _factor(rng))
    return net


def _change_kappa(rng: Rng, net: Smooth, fields: dict[str, Any], tensors: dict[str, Any]) -> Smooth:
    name = rng.choice([key for key in ("quartic", "square") if key in fields])
    fields[name] = fields[name] | {"kappa": str(Fraction(fields[name]["kappa"]) * _factor(rng))}
    return net


def _change_witness(
    rng: Rng, net: Smooth, fields: dict[str, Any], tensors: dict[str, Any]
) -> Smooth:
    role = rng.choice(sorted(tensors))
    C = tensors[role].copy()
    C[tuple(rng.integers(side) for side in C.shape)] *= (
        -1 if rng.random() < 0.5 else float(_factor(rng))
    )
    tensors[role] = C
    return net


def _change_network(
    rng: Rng, net: Smooth, fields: dict[str, Any], tensors: dict[str, Any]
) -> Smooth:
    name = str(rng.choice(["X", "y", "W", "v"]))
    array = getattr(net, name).copy()
    array[tuple(rng.integers(side) for side in array.shape)] += rng.choice(
        [-1, 1]
    ) * 10 ** rng.uniform(-12, 0)
    return replace(net, **{name: array})


CHANGES = (_change_number, _change_number, _change_kappa, _change_witness, _change_network)


def _is_true(net: Smooth, fields: dict[str, Any], rng: Rng) -> bool:
    """No sampled point of the ball contradicts the modulus, the upper bound or the loss, up to
    rounding.
    """
    r, mu, M, loss = (float(Fraction(fields[key])) for key in ("r", "mu", "M", "loss_upper"))
    residual = net.residual()
    if residual @ residual / 2 > loss * (1 + 1e-9) or not mu > 0:
        return False
    for _ in range(12):
        step = rng.standard_normal(net.W.shape)
        spectrum = np.linalg.eigvalsh(
            hessian(replace(net, W=net.W + r * step / np.linalg.norm(step)))
        )
        if spectrum[0] < mu * (1 - 1e-9) or spectrum[-1] > M * (1 + 1e-9):
            return False
    H, g = hessian(net), gradient(net)
    return bool(
        np.linalg.norm(np.linalg.solve(H, g)) <= 2 * float(Fraction(fields["r_minus"])) + 1e-12
    )


@pytest.mark.parametrize("form", FORMS)
def test_no_random_change_makes_a_false_claim_pass_and_both_checkers_agree(form: str) -> None:
    rng = np.random.default_rng(FORMS.index(form))
    seen = {"ACCEPTED": 0, "REJECTED": 0, "UNDECIDED": 0}
    for trial in range(60):
        activation = ACTIVATIONS[trial % len(ACTIVATIONS)]
        first = minimum(activation, n=8, noise=0.02, seed=trial % 2)
        fields, tensors = largest_claim(first, form)
        fields, tensors = dict(fields), dict(tensors)
        net = CHANGES[int(rng.integers(len(CHANGES)))](rng, first, fields, tensors)
        raw = build(net, [(fields, tensors)])
        fast, slow = check_bytes(raw), slow_check(raw)
        assert {fast.verdict.value, slow.verdict} != {"ACCEPTED", "REJECTED"}, (
            fast.reason,
            slow.reason,
        )
        seen[fast.verdict.value] += 1
        if fast.verdict.value == "ACCEPTED":
            assert _is_true(net, fields, rng), (activation, fields)
    assert seen["ACCEPTED"] >= 5
    assert seen["REJECTED"] >= 15
