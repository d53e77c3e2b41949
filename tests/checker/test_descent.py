"""The claim descent: golden examples, honest files accepted and obeyed by gradient descent, bad
steps and rates refused.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import Smooth, build, descent_claim, trained_network
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.engine import check_bytes

TINY = Fraction(1, 10**9)


def checked(net: Smooth, fields: dict, tensors: dict) -> Result:
    return check_bytes(build(net, [(fields, tensors)]))


def one_neuron(w: float, y: float, **changes: Any) -> tuple[Smooth, dict, dict]:
    """phi = z^2, one neuron, one sample: S = w - sqrt y exactly; b = 2w."""
    net = Smooth(np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1), "quadratic")
    a2, b2, kappa = (
        Fraction(4 * w * w) * (1 - TINY),
        Fraction(4 * w * w) * (1 + TINY),
        4 * (1 + TINY),
    )
    S = w - np.sqrt(max(y, 0.0))
    eta = Fraction(float(0.999 / (2 * w + 2 * S) ** 2))
    fields: dict[str, Any] = {
        "trained": "W",
        "loss_upper": (Fraction(w) ** 2 - Fraction(y)) ** 2 / 2,
        "a2": a2,
        "b2": b2,
        "norm": "rows",
        "rho": Fraction(10 * w),
        "quartic": {"method": "rows", "kappa": kappa},
        "eta": eta,
        "rate": 1 - eta * Fraction(float(4 * y)) * Fraction(999, 1000),
        "path": Fraction(float(S)) * Fraction(1001, 1000) + Fraction(1, 10**6),
    }
    tensors = {
        "C_a": np.array([[1 / np.sqrt(float(Fraction(4 * w * w) - a2))]]),
        "C_kappa": np.array([[1 / np.sqrt(float(kappa - 4))]]),
    }
    return net, gmc.claim("descent", **(fields | changes)), tensors


@pytest.mark.parametrize(("w", "y"), [(1.0, 0.25), (2.0, 1.0), (1.5, 2.0), (3.0, 8.99)])
def test_golden_one_neuron_is_accepted_with_the_exact_path(w: float, y: float) -> None:
    result = checked(*one_neuron(w, y))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    exact = w - np.sqrt(y)
    assert exact <= result.claims[0].numbers["path"] <= exact * 1.0011 + 2e-6
    assert result.claims[0].numbers["S"] == pytest.approx(exact, rel=1e-4)
    assert "gradient descent in exact arithmetic, not a floating-point run" in result.notes
    shorter = Fraction(float(exact * (1 - 1e-6)))
    assert "check D7 " in checked(*one_neuron(w, y, path=shorter)).reason


@pytest.mark.parametrize("y", [0.0, -1e-6, -5.0])
def test_golden_labels_without_a_rate_are_never_accepted(y: float) -> None:
    assert checked(*one_neuron(1.0, y)).verdict is not Verdict.ACCEPTED
    exact = {
        "a2": Fraction(4),
        "b2": Fraction(4),
        "quartic": {"method": "rows", "kappa": Fraction(4)},
    }
    assert checked(*one_neuron(1.0, y, **exact)).verdict is not Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("eta", "number"),
    [
        (Fraction(1001, 1000), "D8"),
        (Fraction(0), "D3a"),
        (Fraction(-1, 100), "D3a"),
        (Fraction(10**9), "D8"),
    ],
)
def test_golden_bad_steps_are_rejected(eta: Fraction, number: str) -> None:
    S = 0.5
    limit = Fraction(float(1 / (2 + 2 * S) ** 2))
    result = checked(*one_neuron(1.0, 0.25, eta=eta * limit, rate=Fraction(999999, 10**6)))
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason


def test_a_step_exactly_on_the_boundary_is_undecided_at_every_precision() -> None:
    """With r = 0 the condition reads eta b^2 <= 1; for b = sqrt 5 and eta = 1/5 no precision
    decides it.
    """
    tie = {
        "b2": Fraction(5),
        "eta": Fraction(1, 5),
        "rate": Fraction(99, 100),
        "path": Fraction(1),
        "loss_upper": Fraction(0),
    }
    result = checked(*one_neuron(1.0, 1.0, **tie))
    assert result.verdict is Verdict.UNDECIDED
    assert "check D8 " in result.reason
    assert "1024 bits" in result.reason


@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "erf", "quadratic"])
@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("norm", ["rows", "factor"])
def test_honest_files_are_accepted(activation: str, trained: str, norm: str) -> None:
    net = trained_network(6, 3, 5, activation=activation, trained=trained)
    result = checked(net, *descent_claim(net, norm=norm, rho=1e-4))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert 0 < result.claims[0].numbers["rate"] < 1


def test_gradient_descent_obeys_the_claimed_rate_and_path() -> None:
    net = trained_network(4, 3, 6, seed=2)
    rough = Smooth(
        net.X,
        net.y,
        net.W + 1e-5 * np.random.default_rng(1).standard_normal(net.W.shape),
        net.v,
        "softplus",
    )
    fields, tensors = descent_claim(rough, norm="factor")
    result = checked(rough, fields, tensors)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    eta, rate, path = (float(Fraction(fields[key])) for key in ("eta", "rate", "path"))
    travelled, current = 0.0, rough
    for _ in range(300):
        before = np.linalg.norm(current.residual())
        P = current.values()[1]
        step = eta * (P * current.v * current.residual()[:, None]).T @ current.X
        travelled += np.linalg.norm(step)
        current = Smooth(current.X, current.y, current.W - step, current.v, "softplus")
        assert np.linalg.norm(current.residual()) <= rate * before * (1 + 1e-9)
    assert travelled <= path


REFUSED = {
    "rate one": ({"rate": "1"}, {}, "D3c"),
    "rate negative": ({"rate": "-1/2"}, {}, "D3b"),
    "rate too good": ({"rate": "0"}, {}, "D9"),
    "path zero": ({"path": "0"}, {}, "D7"),
    "rho zero": ({"rho": "0"}, {}, "D6"),
    "b2 too small": ({"b2": "1/1000"}, {}, "D10"),
    "b2 zero": ({"b2": "0"}, {}, "D3d"),
    "loss too small": ({"loss_upper": "0"}, {}, "D4"),
    "kappa enormous": ({"quartic": {"method": "rows", "kappa": "1" + "0" * 60}}, {}, "D5"),
    "kappa tightened": ({"quartic": {"method": "rows", "kappa": "1/1000000000"}}, {}, "D11"),
    "a2 too large": ({"a2": "1000"}, {}, "D13"),
    "C_a zero": ({}, {"C_a": np.zeros((6, 6))}, "D13"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_tightened_claims_and_bad_witnesses_are_rejected(name: str) -> None:
    changes, witnesses, number = REFUSED[name]
    net = trained_network(6, 3, 5)
    fields, tensors = descent_claim(net)
    result = checked(net, fields | changes, tensors | witnesses)
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason


def test_the_norm_by_a_factor_needs_its_witness() -> None:
    net = trained_network(6, 3, 5)
    fields, tensors = descent_claim(net, norm="factor")
    assert "check D10 " in checked(net, fields, tensors | {"C_b": np.zeros((6, 6))}).reason
    small = gmc.rational(float(np.linalg.eigvalsh(net.gram())[-1]) * 0.99)
    assert "check D10 " in checked(net, fields | {"b2": small}, tensors).reason


def test_descent_and_interpolation_hold_together() -> None:
    from tests.checker.cases import interpolation_claim

    net = trained_network(6, 3, 5)
    result = check_bytes(build(net, [descent_claim(net), interpolation_claim(net)]))
    assert result.verdict is Verdict.ACCEPTED
    assert result.claims[1].numbers["R"] > 0
    assert len(result.claims) == 2
    assert len(result.statement.splitlines()) == 2
