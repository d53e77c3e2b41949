"""The claim interpolation: golden examples by hand, honest files accepted, everything tightened or
swapped refused.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import Smooth, build, interpolation_claim, trained_network
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.engine import check_bytes

TINY = Fraction(1, 10**9)


def one_neuron(w: float, y: float, **changes: Any) -> tuple[Smooth, dict, dict]:
    """One neuron, one sample, phi = z^2: r = w^2 - y, J = 2w, Lip = 2; the claimed numbers are
    within 1e-9 of the exact ones.
    """
    net = Smooth(np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1), "quadratic")
    a2, kappa = Fraction(4 * w * w) * (1 - TINY), 4 * (1 + TINY)
    fields: dict[str, Any] = {
        "trained": "W",
        "loss_upper": (Fraction(w) ** 2 - Fraction(y)) ** 2 / 2,
        "a2": a2,
        "rho": Fraction(10 * w),
        "quartic": {"method": "svec", "kappa": kappa, "t": "0"},
        "R": (Fraction(w) - Fraction(float(np.sqrt(max(y, 0.0))))) * (1 + Fraction(1, 10**3))
        + Fraction(1, 10**6),
    }
    tensors = {
        "C_a": np.array([[1 / np.sqrt(float(Fraction(4 * w * w) - a2))]]),
        "C_kappa": np.array([[1 / np.sqrt(float(kappa - 4))]]),
        "z": np.array([(w * w - y) / (4 * w * w)]),
    }
    return net, gmc.claim("interpolation", **(fields | changes)), tensors


def checked(net: Smooth, fields: dict, tensors: dict, **options: Any) -> Result:
    return check_bytes(build(net, [(fields, tensors)], **options))


def outcome(result: Result, number: str) -> str:
    return {line.number: line.outcome for line in result.claims[0].checks}[number]


@pytest.mark.parametrize(("w", "y"), [(1.0, 0.25), (2.0, 1.0), (1.5, 2.0), (0.5, 0.2), (3.0, 8.99)])
def test_golden_one_neuron_is_accepted_at_the_exact_distance(w: float, y: float) -> None:
    result = checked(*one_neuron(w, y))
    assert result.verdict is Verdict.ACCEPTED
    exact = w - np.sqrt(y)
    assert exact <= result.claims[0].numbers["R"] <= exact * 1.0011 + 2e-6
    smaller = Fraction(float(exact * (1 - 1e-6)))
    assert checked(*one_neuron(w, y, R=smaller)).verdict is Verdict.REJECTED


def test_golden_tie_is_never_accepted() -> None:
    exact = {
        "a2": Fraction(4),
        "quartic": {"method": "svec", "kappa": Fraction(4), "t": "0"},
        "R": Fraction(1),
        "rho": Fraction(10),
    }
    result = checked(*one_neuron(1.0, 0.0, **exact))
    assert result.verdict is Verdict.REJECTED
    assert "check I5 " in result.reason  # every ball is exact here, so 2 < 2 fails for certain
    assert checked(*one_neuron(1.0, 0.0)).verdict is Verdict.REJECTED


def test_golden_zero_residual_has_radius_zero() -> None:
    result = checked(*one_neuron(1.0, 1.0, R="0", loss_upper="0", rho="0"))
    assert result.verdict is Verdict.ACCEPTED
    assert result.claims[0].numbers["R"] == 0.0


@pytest.mark.parametrize("y", [-1e-300, -1e-3, -1.0, -100.0])
@pytest.mark.parametrize("w", [0.1, 1.0, 5.0])
def test_golden_impossible_labels_are_never_accepted(w: float, y: float) -> None:
    assert checked(*one_neuron(w, y)).verdict is not Verdict.ACCEPTED
    assert checked(*one_neuron(w, y, R=Fraction(10 * w))).verdict is not Verdict.ACCEPTED


@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "erf", "quadratic"])
@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize(("method", "t"), [("rows", 0.0), ("svec", 0.0), ("svec", 0.02)])
def test_honest_files_are_accepted(activation: str, trained: str, method: str, t: float) -> None:
    net = trained_network(6, 3, 5, activation=activation, trained=trained)
    result = checked(net, *interpolation_claim(net, method=method, t=t, rho=1e-4))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    claim = result.claims[0]
    assert claim.statement.startswith("There are values of the weights")
    assert claim.numbers["h"] < 0.5
    assert claim.numbers["e"] <= claim.numbers["R"]


@pytest.mark.parametrize(("w", "y"), [(1.0, 0.25), (2.0, 1.0), (1.5, 2.0)])
def test_golden_one_neuron_has_its_lower_radius_to_five_digits(w: float, y: float) -> None:
    """I7c by hand: R + R^2/(2w) < (w^2 - y)/(2w), whose root is sqrt(2 w^2 - y) - w."""
    edge = np.sqrt(2 * w * w - y) - w
    below, above = (Fraction(float(edge * (1 + room))) for room in (-1e-5, 1e-5))
    assert checked(*one_neuron(w, y, R_lo=below)).verdict is Verdict.ACCEPTED
    refused = checked(*one_neuron(w, y, R_lo=above))
    assert refused.verdict is Verdict.REJECTED
    assert outcome(refused, "I7c") == "fails"


def test_the_zero_promised_is_found_within_the_radius() -> None:
    """From weights a little off, Newton's iteration in floating point must end inside the ball, and
    outside of R_lo.
    """
    net = trained_network(6, 3, 5)
    rough = Smooth(
        net.X,
        net.y,
        net.W + 1e-5 * np.random.default_rng(1).standard_normal(net.W.shape),
        net.v,
        "softplus",
    )
    fields, tensors = interpolation_claim(rough, lower=True)
    result = checked(rough, fields, tensors)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    limit = rough
    for _ in range(5):
        limit = limit.gauss_newton_step()
    distance = np.linalg.norm(limit.W - rough.W)
    assert (
        result.claims[0].numbers["R_lo"] <= distance <= result.claims[0].numbers["R"] * (1 + 1e-9)
    )
    assert result.claims[0].numbers["R_lo"] >= 0.85 * distance
    assert "No values of W, with this head, have zero loss closer than" in result.statement


def changed(**changes: Any) -> Callable[[dict, dict], tuple[dict, dict]]:
    return lambda fields, tensors: (fields | gmc.written(changes), tensors)


def retensored(
    role: str, change: Callable[[np.ndarray], np.ndarray]
) -> Callable[[dict, dict], tuple[dict, dict]]:
    return lambda fields, tensors: (fields, tensors | {role: change(tensors[role])})


REFUSED = {
    "a2 zero": (changed(a2="0"), "I2a"),
    "a2 negative": (changed(a2="-1"), "I2a"),
    "a2 too large": (changed(a2="1000"), "I10"),
    "rho negative": (changed(rho="-1"), "I2b"),
    "rho below R": (changed(rho="0"), "I3"),
    "kappa zero": (changed(quartic={"method": "rows", "kappa": "0"}), "I2c"),
    "kappa negative": (changed(quartic={"method": "rows", "kappa": "-1"}), "I2c"),
    "kappa tightened": (changed(quartic={"method": "rows", "kappa": Fraction(1, 10**6)}), "I8"),
    "kappa enormous": (changed(quartic={"method": "rows", "kappa": Fraction(10**60)}), "I5"),
    "R zero": (changed(R="0"), "I6"),
    "R negative": (changed(R="-1"), "I6"),
    "loss tightened": (changed(loss_upper="0"), "I4"),
    "loss negative": (changed(loss_upper="-1"), "I4"),
    "R_lo zero": (changed(R_lo="0"), "I7a"),
    "R_lo above rho": (changed(R_lo="1"), "I7b"),
    "R_lo too large": (changed(R_lo=Fraction(1, 10**4)), "I7c"),
    "C_a zero": (retensored("C_a", np.zeros_like), "I10"),
    "C_a doubled": (retensored("C_a", lambda C: 2 * C), "I10"),
    "C_a one row zero": (
        retensored("C_a", lambda C: C * np.array([[1], [0], [1], [1], [1], [1]])),
        "I10",
    ),
    "C_a rows swapped signs": (retensored("C_a", lambda C: C[::-1] * 1.5), "I10"),
    "C_kappa zero": (retensored("C_kappa", np.zeros_like), "I8"),
    "z far off": (retensored("z", lambda z: z + 1.0), "I5"),
    "z zero with R_lo": (
        lambda f, t: (f | {"R_lo": "1/1000000000000", "R": "1/10000"}, t | {"z": np.zeros(6)}),
        "I7c",
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_tightened_claims_and_bad_witnesses_are_rejected(name: str) -> None:
    change, number = REFUSED[name]
    net = trained_network(6, 3, 5)
    result = checked(net, *change(*interpolation_claim(net)))
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason
    assert result.claims[0].statement == ""
    assert outcome(result, number) == "fails"


@pytest.mark.parametrize("number", ["beta2"])
def test_both_layers_need_a_true_beta(number: str) -> None:
    net = trained_network(6, 3, 5, trained="vW")
    fields, tensors = interpolation_claim(net)
    assert "check I9 " in checked(net, fields | {number: "1/1000000"}, tensors).reason
    assert "check I2d " in checked(net, fields | {number: "0"}, tensors).reason
    assert "check I9 " in checked(net, fields, tensors | {"C_beta": np.zeros((3, 3))}).reason


def test_the_claim_of_one_layer_is_not_the_claim_of_the_other() -> None:
    net = trained_network(6, 3, 5, trained="vW")
    fields, tensors = interpolation_claim(net)
    alone = {key: value for key, value in fields.items() if key != "beta2"} | {"trained": "W"}
    result = checked(net, alone, {key: value for key, value in tensors.items() if key != "C_beta"})
    assert result.verdict is not Verdict.ACCEPTED


def test_a_network_that_does_not_interpolate_is_rejected() -> None:
    net = trained_network(6, 3, 5)
    fields, tensors = interpolation_claim(net)
    moved = Smooth(net.X, net.y, net.W + 0.5, net.v, net.activation)
    assert checked(moved, fields | {"loss_upper": "1000"}, tensors).verdict is Verdict.REJECTED
    far = Smooth(net.X, net.y + 100, net.W, net.v, net.activation)
    assert "check I5 " in checked(far, fields | {"loss_upper": "100000"}, tensors).reason


@pytest.mark.parametrize("activation", ["relu", "leaky_relu", "abs", "linear"])
def test_activations_that_are_not_smooth_are_rejected(activation: str) -> None:
    net = trained_network(6, 3, 5)
    fields, tensors = interpolation_claim(net)
    parameter = Fraction(1, 4) if activation == "leaky_relu" else None
    blob = gmc.build(
        net.X, net.y, net.W, net.v, [(fields, tensors)], activation=activation, parameter=parameter
    )
    assert "check I1 " in check_bytes(blob).reason


def test_another_activation_of_the_same_weights_is_rejected() -> None:
    net = trained_network(6, 3, 5)
    fields, tensors = interpolation_claim(net)
    for activation, parameter in (("sigmoid", None), ("softplus", 2), ("tanh", None)):
        blob = gmc.build(
            net.X,
            net.y,
            net.W,
            net.v,
            [(fields, tensors)],
            activation=activation,
            parameter=parameter,
        )
        assert check_bytes(blob).verdict is Verdict.REJECTED


def test_two_equal_rows_are_never_accepted() -> None:
    net = trained_network(6, 3, 5)
    X, y = net.X.copy(), net.y.copy()
    X[1], y[1] = X[0], y[0]
    twin = Smooth(X, y, net.W, net.v, net.activation)
    K = twin.gram()
    for a2 in (1e-30, 1e-12, 1e-3):
        fields, tensors = interpolation_claim(net)
        C = np.linalg.inv(np.linalg.cholesky(K + 1e-9 * np.eye(6)))
        for witness in (C, tensors["C_a"], np.eye(6), C * 1e-3):
            result = checked(
                twin,
                fields | {"a2": gmc.rational(a2), "loss_upper": "1000"},
                tensors | {"C_a": witness},
            )
            assert result.verdict is not Verdict.ACCEPTED


def test_more_samples_than_weights_are_never_accepted() -> None:
    rng = np.random.default_rng(3)
    net = Smooth(
        rng.standard_normal((4, 1)),
        np.zeros(4),
        rng.standard_normal((2, 1)),
        np.ones(2),
        "softplus",
    )
    net = Smooth(net.X, net.residual(), net.W, net.v, "softplus")
    donor = trained_network(4, 3, 4)
    fields, tensors = interpolation_claim(donor)
    tensors |= {
        "C_kappa": np.eye(1),
        "C_a": np.linalg.inv(np.linalg.cholesky(net.gram() + 1e-6 * np.eye(4))),
    }
    quartic = {"method": "rows", "kappa": "1000000"}
    result = checked(
        net, fields | {"a2": "1/1000000000", "loss_upper": "10", "quartic": quartic}, tensors
    )
    assert result.verdict is not Verdict.ACCEPTED


def test_the_witness_of_another_file_is_rejected() -> None:
    net, other = trained_network(6, 3, 5), trained_network(6, 3, 5, seed=1)
    fields, tensors = interpolation_claim(net)
    _, foreign = interpolation_claim(other)
    for role in ("C_a", "C_kappa"):
        assert checked(net, fields, tensors | {role: foreign[role]}).verdict is Verdict.REJECTED


@pytest.mark.parametrize("activation", ["softplus", "sigmoid"])
@pytest.mark.parametrize("slope", [0.5, 4.0])
@pytest.mark.parametrize("trained", ["W", "vW"])
def test_slopes_other_than_one_are_accepted(activation: str, slope: float, trained: str) -> None:
    net = trained_network(6, 3, 5, activation=activation, slope=slope, trained=trained)
    fields, tensors = interpolation_claim(net, rho=1e-5)
    assert checked(net, fields, tensors).verdict is Verdict.ACCEPTED
    assert checked(net, fields, tensors, parameter=slope * 1.001).verdict is Verdict.REJECTED
