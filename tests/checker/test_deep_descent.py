"""The claim deep-descent: golden example, all architectures accepted and obeyed by gradient
descent, traps of theorem DS.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.deep_cases import Deep, build, claim, gauss_newton, line_windows, random_deep
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.balls import precision
from globalmin_check.certificate import read_certificate
from globalmin_check.claims.deep_lipschitz import lipschitz
from globalmin_check.claims.deep_passes import Passes
from globalmin_check.engine import check_bytes

KINDS = ["dense", "residual", "conv"]


def checked(net: Deep, fields: dict, tensors: dict, **changes: Any) -> Result:
    return check_bytes(build(net, [(fields, tensors)], **changes))


@pytest.fixture(scope="module")
def fitted() -> Deep:
    return gauss_newton(random_deep(2, kind="residual"), 6)


@pytest.mark.parametrize("activation", ["tanh", "softplus", "sigmoid", "erf"])
@pytest.mark.parametrize("kind", KINDS)
def test_honest_files_are_accepted(kind: str, activation: str) -> None:
    """DU-CERT-S, sharper: theorem DS for the three architectures."""
    net = gauss_newton(random_deep(2, kind=kind, activation=activation), 8)
    result = checked(net, *claim(net))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert "all 2 hidden layers" in result.statement


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_depth_is_no_obstacle(depth: int) -> None:
    net = gauss_newton(random_deep(depth, m=10), 9)
    assert checked(net, *claim(net, norm="rows")).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("kind", KINDS)
def test_gram_and_residual_are_those_of_finite_differences(kind: str) -> None:
    net = random_deep(3, kind=kind, activation="softplus", n=3)
    problem = read_certificate(build(net, [claim(net, t=1e-3)]), None)[0]
    with precision(128):
        assert problem.sizes.deep is not None
        passes = Passes(problem, problem.sizes.deep)
        G = passes.gram()
        r = [float(x) for x in passes.residual()]
    step, theta = 1e-6, net.theta()
    columns = [
        (net.at(theta + step * e).outputs() - net.at(theta - step * e).outputs()) / (2 * step)
        for e in np.eye(len(theta))
    ]
    J = np.array(columns).T
    assert np.allclose(r, net.outputs() - net.y, atol=1e-13)
    assert all(abs(float(G[i][j]) - (J @ J.T)[i, j]) < 1e-7 for i in range(3) for j in range(i + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_the_lipschitz_constant_holds_and_is_not_wild(kind: str) -> None:
    """Random pairs in the ball and the direction in which J changes fastest: never above Lam, and
    within a factor 30 of it.
    """
    net = random_deep(2, kind=kind, n=2, m=3)
    omega = [float(np.linalg.norm(W, 2)) * 1.0001 for W in net.weights]
    t, theta, rng = 0.02, net.theta(), np.random.default_rng(3)
    problem = read_certificate(build(net, [claim(net, t=t)]), None)[0]
    with precision(128):
        assert problem.sizes.deep is not None
        passes = Passes(problem, problem.sizes.deep)
        Lam = float(lipschitz(passes, list(map(Fraction, omega)), Fraction(t)))
    assert pytest.approx(net.lipschitz(omega, t), rel=1e-6) == Lam
    best = 0.0
    for _ in range(60):
        a, b = (
            theta + t * rng.uniform() * u / np.linalg.norm(u)
            for u in rng.standard_normal((2, len(theta)))
        )
        best = max(
            best,
            np.linalg.norm(net.at(a).jacobian() - net.at(b).jacobian(), 2) / np.linalg.norm(a - b),
        )
    direction = rng.standard_normal(len(theta))
    changes = [_change(net, theta, e) for e in np.eye(len(theta))]
    for _ in range(30):
        u, _, w = np.linalg.svd(_change(net, theta, direction), full_matrices=False)
        direction = np.array([u[:, 0] @ change @ w[0] for change in changes])
        best = max(best, float(np.linalg.norm(_change(net, theta, direction), 2)))
    assert Lam / 30 < best <= Lam


def _change(net: Deep, theta: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Directional derivative of J, per unit length."""
    step = 1e-5 / np.linalg.norm(direction)
    return (
        net.at(theta + step * direction).jacobian() - net.at(theta - step * direction).jacobian()
    ) / 2e-5


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_descent_obeys_the_claimed_rate_and_path(kind: str) -> None:
    net = gauss_newton(random_deep(2, kind=kind, n=3), 8)
    net = net.at(net.theta() + 1e-6 * np.random.default_rng(1).standard_normal(net.theta().size))
    fields, tensors = claim(net)
    result = checked(net, fields, tensors)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    eta, rate, t = (float(Fraction(fields[key])) for key in ("eta", "rate", "t"))
    travelled, current = 0.0, net
    for _ in range(60):
        r = current.outputs() - current.y
        step = eta * current.jacobian().T @ r
        travelled += float(np.linalg.norm(step))
        current = current.at(current.theta() - step)
        assert (
            np.linalg.norm(current.outputs() - current.y)
            <= rate * np.linalg.norm(r) * (1 + 1e-9) + 1e-14
        )
    assert travelled <= t


def golden(t: float) -> tuple[Deep, dict, dict]:
    net = Deep(np.ones((1, 1)), np.zeros(1), [np.zeros((1, 1))], np.ones(1), [1.0], [False], "tanh")
    fields = {
        "a2": Fraction(99, 100),
        "b2": Fraction(101, 100),
        "t": t,
        "eta": Fraction(1, 4),
        "rate": Fraction(9, 10),
        "norm": "rows",
    }
    one = np.ones((1, 1))
    tensors = {"C_a": 10 * one, "omega": np.array([1e-6]), "C_omega_1": 1e6 * one}
    return net, gmc.claim("deep-descent", loss_upper=Fraction(1, 10**40), **fields), tensors


def test_golden_one_neuron_has_the_constant_of_the_page() -> None:
    result = checked(*golden(0.125))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    expected = np.sqrt(1 + (1 + 0.76980036 * 1.125) ** 2)
    assert result.claims[0].numbers["Lam"] == pytest.approx(expected, rel=1e-5)
    assert "check N4 " in checked(*golden(2.0)).reason


REFUSED: dict[str, tuple[dict, dict, str]] = {
    "eta too large": ({"eta": "100"}, {}, "N6"),
    "eta zero": ({"eta": "0"}, {}, "N2d"),
    "rate one": ({"rate": "1"}, {}, "N2f"),
    "rate too good": ({"rate": "0"}, {}, "N7"),
    "t enormous": ({"t": "1000"}, {}, "N4"),
    "t too small": ({"t": "1/1000000000000000000000000"}, {}, "N5"),
    "a2 too large": ({"a2": "100", "rate": "999999/1000000"}, {}, "N10"),
    "b2 too small": ({"b2": "1/1000"}, {}, "N9"),
    "loss too small": ({"loss_upper": "0"}, {}, "N3"),
    "C_a zero": ({}, {"C_a": np.zeros((4, 4))}, "N10"),
    "omega too small": ({}, {"omega": np.array([1e-3, 1e-3])}, "N8.1"),
    "omega negative": ({}, {"omega": np.array([-50.0, 50.0])}, "N2g"),
    "C_omega zero": ({}, {"C_omega_2": np.zeros((6, 6))}, "N8.2"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_tightened_claims_and_bad_witnesses_are_rejected(fitted: Deep, name: str) -> None:
    changes, witnesses, number = REFUSED[name]
    fields, tensors = claim(fitted)
    result = checked(fitted, fields | changes, tensors | witnesses)
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason


@pytest.mark.parametrize("activation", ["relu", "quadratic", "linear", "abs"])
def test_activations_without_bounds_are_rejected(fitted: Deep, activation: str) -> None:
    """Trap: phi' must be bounded and Lipschitz."""
    assert "check N1 " in checked(fitted, *claim(fitted), activation=activation).reason


def test_equal_rows_are_never_accepted(fitted: Deep) -> None:
    twice = replace(
        fitted, X=np.vstack([fitted.X, fitted.X[:1]]), y=np.append(fitted.y, fitted.y[0])
    )
    fields, tensors = claim(fitted)
    grown = {"C_a": 10 * np.eye(5), "C_b": np.eye(5)}
    assert checked(twice, fields, tensors | grown).verdict is Verdict.REJECTED


FORM: dict[str, dict[str, Any]] = {
    "no layer": {"layers": []},
    "one layer too many": {"layers": [{"residual": False, "scale": "1"}] * 3},
    "scale zero": {"layers": [{"residual": False, "scale": "0"}, {"residual": True, "scale": "1"}]},
    "residual with another width": {
        "layers": [{"residual": True, "scale": "1"}, {"residual": True, "scale": "1"}]
    },
    "unknown field of a layer": {
        "layers": [
            {"residual": False, "scale": "1", "bias": True},
            {"residual": True, "scale": "1"},
        ]
    },
    "pixels without patches": {"pixels": 1},
    "kind unknown": {"kind": "wide"},
    "kind shallow": {"kind": "shallow"},
}


@pytest.mark.parametrize("name", list(FORM))
def test_faults_of_the_network_are_malformed(fitted: Deep, name: str) -> None:
    assert checked(fitted, *claim(fitted), **FORM[name]).verdict is Verdict.MALFORMED


def test_windows_outside_the_pixels_are_malformed() -> None:
    net = random_deep(2, kind="conv")
    fields, tensors = claim(net, t=1e-6)
    for bad in (4, -2):
        broken = replace(net, windows=np.where(line_windows(4) == -1, bad, line_windows(4)))
        blob = build(net, [(fields, tensors)])
        certificate, stored = gmc.unpack(blob)
        stored["patches"] = broken.windows.astype(np.int64)
        assert check_bytes(gmc.pack(certificate, stored)).verdict is Verdict.MALFORMED


def test_pixels_that_do_not_divide_the_inputs_are_malformed() -> None:
    net = random_deep(2, kind="conv")
    certificate, stored = gmc.unpack(build(net, [claim(net, t=1e-6)]))
    certificate["network"]["pixels"] = 3
    stored["patches"] = line_windows(3).astype(np.int64)
    result = check_bytes(gmc.pack(certificate, stored))
    assert (result.verdict, result.reason) == (
        Verdict.MALFORMED,
        "d is not a multiple of network.pixels",
    )


def test_claims_about_the_other_kind_of_network_are_malformed(fitted: Deep) -> None:
    from tests.checker.cases import build as build_shallow
    from tests.checker.cases import descent_claim, trained_network

    shallow = trained_network(4, 5, 6, activation="tanh")
    assert checked(fitted, *descent_claim(shallow)).verdict is Verdict.MALFORMED
    assert check_bytes(build_shallow(shallow, [claim(fitted)])).verdict is Verdict.MALFORMED
    floor = gmc.claim(
        "loss-floor", heads="any", floor=Fraction(0), gap=Fraction(1), loss_upper=Fraction(1)
    )
    groups = {
        name: np.array([0 if name != "sizes" else 1], np.int64)
        for name in ("members", "sizes", "kinds")
    }
    assert checked(fitted, floor, groups).verdict is Verdict.MALFORMED


def test_a_one_layer_dense_network_agrees_with_the_shallow_claim() -> None:
    """kap = 1, H = 1 is the shallow network: residual and Gram matrix of both layers coincide."""
    from tests.checker.cases import Smooth

    net = gauss_newton(random_deep(1, m=8), 6)
    net = replace(net, scales=[1.0])
    shallow = Smooth(net.X, net.y, net.weights[0], net.v, "tanh", "vW")
    J = net.jacobian()
    assert np.allclose(net.outputs() - net.y, shallow.residual())
    assert np.allclose(J @ J.T, shallow.gram())
