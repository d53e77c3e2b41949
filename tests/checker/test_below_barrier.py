"""below-barrier: gradient descent obeys the claimed rate and ends at the least-squares minimum;
every constant is checked.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import svec_matrix
from tests.checker.quadratic_cases import (
    Pair,
    Quadratic,
    barrier_claim,
    barrier_network,
    build,
    claim,
    one_neuron,
)
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.claims import quadratic
from globalmin_check.command.explain import explained
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import DESCENT_NOTE


def verdicts(net: Quadratic, pair: Pair, **options: Any) -> tuple[str, str]:
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


@pytest.mark.parametrize("road", ["balls", "grid"])
@pytest.mark.parametrize("norm", ["rows", "factor"])
def test_descent_obeys_the_claim(norm: str, road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quadratic, "LARGE", 0 if road == "grid" else 10**7)
    net = barrier_network(20, 2, 3)
    fields, tensors = barrier_claim(net, norm=norm)
    assert verdicts(net, (fields, tensors))[0] == "ACCEPTED"
    eta, rate = float(Fraction(fields["eta"])), float(Fraction(fields["rate"]))
    S = svec_matrix(net.X)[0]
    least = 0.5 * float(np.sum((S @ np.linalg.lstsq(S, net.y, rcond=None)[0] - net.y) ** 2))
    here, excess = net, net.loss() - least
    assert excess <= float(Fraction(fields["E0"]))
    for _ in range(400):
        here = replace(
            here, W=here.W - eta * 2 * here.v[:, None] * (here.W @ here.weighted(here.residual()))
        )
        after = here.loss() - least
        if excess < 1e-9:
            break
        assert after <= rate * excess * (1 + 1e-9) + 1e-13
        excess = after


def golden(w: float, y: float = 1.0, slack: float = 1e-7, **changes: Any) -> tuple[Quadratic, Pair]:
    """One neuron: F = 1, A = y, E = (w^2 - y)^2/2, tau = |w^2 - y|."""
    net, s = one_neuron(w, y), Fraction(slack)
    phi, Phi, a_lo, a_hi = 1 - s, 1 + s, Fraction(y) - s, Fraction(y) + s
    E0 = (Fraction(w) ** 2 - Fraction(y)) ** 2 / 2
    tau = float(np.sqrt(float(2 * E0 / phi)))
    Lip = 4 * float(Phi) * (float(a_hi) + tau) + 2 * np.sqrt(float(2 * Phi * E0))
    eta = 0.999 / Lip
    rate = max(1 - 4 * eta * float(phi) * (float(a_lo) - tau) + 1e-9, 0.0)
    fields = {
        "phi": phi,
        "Phi": Phi,
        "norm": "rows",
        "a_lo": a_lo,
        "a_hi": a_hi,
        "E0": E0,
        "eta": eta,
        "rate": rate,
    }
    wide = np.array([[1 / np.sqrt(slack)]])
    tensors = {"A_hat": np.array([[y]]), "C_phi": wide, "C_lo": wide, "C_hi": wide}
    return net, (
        claim("below-barrier", **(fields | {"loss_upper": Fraction(9)} | changes)),
        tensors,
    )


@pytest.mark.parametrize(
    ("w", "verdict"),
    [
        (0.01, "ACCEPTED"),
        (1.0, "ACCEPTED"),
        (1.41, "ACCEPTED"),
        (0.0, "REJECTED"),
        (1.42, "REJECTED"),
    ],
)
def test_the_golden_example_is_accepted_exactly_below_the_barrier(w: float, verdict: str) -> None:
    net, pair = golden(w)
    pair = (pair[0] | {"rate": "999999999/1000000000"}, pair[1]) if verdict == "REJECTED" else pair
    found, reason = verdicts(net, pair)
    assert found == verdict, reason
    assert verdict == "ACCEPTED" or "B6" in reason


def test_the_barrier_is_attained_by_the_rank_deficient_point() -> None:
    net, pair = golden(0.5)
    result = check_bytes(build(net, [pair]))
    assert result.claims[0].numbers is not None
    assert float(result.claims[0].numbers["barrier"]) == pytest.approx(
        one_neuron(0.0, 1.0).loss(), rel=1e-6
    )


@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"phi": Fraction(0)}, "B3a"),
        ({"phi": Fraction(2)}, "B"),
        ({"Phi": Fraction(0)}, "B3b"),
        ({"Phi": Fraction(99, 100)}, "B"),
        ({"E0": Fraction(-1)}, "B3c"),
        ({"E0": Fraction(1, 10**6)}, "B5"),
        ({"eta": Fraction(0)}, "B3d"),
        ({"eta": Fraction(-1)}, "B3d"),
        ({"eta": Fraction(1)}, "B7"),
        ({"rate": Fraction(-1)}, "B3e"),
        ({"rate": Fraction(1)}, "B3f"),
        ({"rate": Fraction(0)}, "B8"),
        ({"a_lo": Fraction(1)}, "B9"),
        ({"a_hi": Fraction(1)}, "B10"),
        ({"loss_upper": Fraction(0)}, "B4"),
    ],
)
def test_every_number_that_claims_too_much_is_refused(changes: dict[str, Any], number: str) -> None:
    net, pair = golden(0.8, **changes)
    verdict, reason = verdicts(net, pair)
    assert (verdict, f"check {number}" in reason) == ("REJECTED", True)


def test_the_result_says_that_descent_is_meant_in_exact_arithmetic() -> None:
    net, pair = golden(0.8)
    result = check_bytes(build(net, [pair]))
    assert DESCENT_NOTE in result.notes
    assert "not a floating-point run" in explained(result)


def test_labels_that_no_positive_network_fits_are_refused() -> None:
    net, pair = golden(0.5, -1.0, rate=Fraction(1, 2))
    assert verdicts(net, pair)[0] == "REJECTED"


def test_a_wrong_minimizer_costs_accuracy_or_the_claim() -> None:
    net = barrier_network(20, 2, 3)
    fields, tensors = barrier_claim(net)
    near = tensors["A_hat"] + 1e-9 * np.eye(2)
    assert verdicts(net, (fields, tensors | {"A_hat": near}))[0] == "ACCEPTED"
    for wrong in (tensors["A_hat"] + 0.5 * np.eye(2), np.zeros((2, 2)), -tensors["A_hat"]):
        assert verdicts(net, (fields, tensors | {"A_hat": wrong}))[0] == "REJECTED"
    skew = tensors["A_hat"] + np.array([[0.0, 1e-12], [0.0, 0.0]])
    assert "B3g" in verdicts(net, (fields, tensors | {"A_hat": skew}))[1]


@pytest.mark.parametrize("role", ["C_phi", "C_lo", "C_hi", "C_Phi"])
def test_every_factor_is_used(role: str) -> None:
    net = barrier_network(20, 2, 3)
    fields, tensors = barrier_claim(net, norm="factor")
    m = len(tensors[role])
    assert verdicts(net, (fields, tensors | {role: np.zeros((m, m))}))[0] == "REJECTED"
    assert verdicts(net, (fields, tensors | {role: np.eye(m, m + 1)}))[0] == "MALFORMED"
    assert verdicts(net, (fields, tensors | {role: np.full((m, m), np.nan)}))[0] == "MALFORMED"
    missing = {name: array for name, array in tensors.items() if name != role}
    assert verdicts(net, (fields, missing))[0] == "MALFORMED"


def test_heads_activations_and_foreign_witnesses_are_refused() -> None:
    net = barrier_network(20, 2, 3)
    fields, tensors = barrier_claim(net)
    for head in (0.0, -1.0):
        bad = replace(net, W=np.vstack([net.W, np.zeros((1, 2))]), v=np.append(net.v, head))
        assert "B2" in verdicts(bad, (fields, tensors))[1]
    raw = build(net, [(fields | {"loss_upper": "1000000"}, tensors)], activation="softplus")
    assert check_bytes(raw).verdict.value == slow_check(raw).verdict == "REJECTED"
    assert "B1" in check_bytes(raw).reason
    other = barrier_network(20, 2, 3, seed=4)
    assert verdicts(net, (fields, barrier_claim(other)[1]))[0] == "REJECTED"
    assert verdicts(net, (fields | {"norm": "factor"}, tensors))[0] == "MALFORMED"


def test_astronomical_errors_of_the_minimizer_are_no_crash() -> None:
    net, (fields, tensors) = golden(0.8, phi=Fraction(1, 10**300), E0=Fraction(10**9))
    huge = {"A_hat": np.array([[1e300]])}
    assert verdicts(net, (fields, tensors | huge))[0] == "REJECTED"
