"""The claim relu-descent: the golden example, honest files accepted and obeyed, each trap of
theorem RD.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.records import exact_checks
from tests.checker.relu_descent_cases import ReluFit, build, claim, one_neuron, trained_relu
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.claims.relu_bracket import BracketMatrices
from globalmin_check.claims.relu_signs import bracket
from globalmin_check.engine import check_bytes


def checked(fit: ReluFit, fields: dict, tensors: dict, **options: Any) -> Result:
    return check_bytes(build(fit, [(fields, tensors)], **options))


@pytest.fixture(scope="module")
def late() -> ReluFit:
    return trained_relu(8, 12, 200, 80)


@pytest.fixture(scope="module")
def early() -> ReluFit:
    return trained_relu(20, 30, 400, 18)


@pytest.mark.parametrize(("w", "y"), [(1.0, 0.25), (1.0, 1.75), (2.0, 2.0), (3.0, 0.01)])
def test_golden_one_active_neuron_is_accepted(w: float, y: float) -> None:
    """Golden example of theorem RD (DU-CERT-R): the run is linear and jumps to the zero in one
    step.
    """
    result = checked(*one_neuron(w, y))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert result.claims[0].numbers["unstable_pairs"] == 0
    assert "gradient descent in exact arithmetic, not a floating-point run" in result.notes


@pytest.mark.parametrize(("w", "y", "number"), [(1.0, -0.5, "V8"), (1.0, 2.5, "V8")])
def test_golden_labels_beyond_the_margin_are_rejected(w: float, y: float, number: str) -> None:
    result = checked(*one_neuron(w, y))
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason


def test_a_neuron_at_the_kink_is_unstable_even_if_it_cannot_move() -> None:
    """Trap (a): z = 0 with s = 0 (head zero) or z = 0 with s > 0 is in PA and not in S."""
    fit, fields, tensors = one_neuron(1.0, 0.5)
    with_dead = replace(fit, W=np.array([[1.0], [0.0]]), v=np.array([1.0, 0.0]))
    result = checked(with_dead, fields, tensors)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert result.claims[0].numbers["unstable_pairs"] == 1
    at_kink = replace(fit, W=np.array([[0.0]]), y=np.zeros(1))
    result = checked(at_kink, {**fields, "loss_upper": "0"}, tensors)
    assert result.verdict is Verdict.REJECTED
    assert "check V9 " in result.reason


def test_a_margin_exactly_equal_to_the_move_is_unstable() -> None:
    """z = s exactly: S needs z > s; the pair then spoils the bracket, and the claim with eps = 0 is
    refused.
    """
    fit, fields, tensors = one_neuron(1.0, 0.5, tau=Fraction(1), path=Fraction(2))
    result = checked(fit, fields, tensors)
    assert result.verdict is Verdict.REJECTED
    assert "check V9 " in result.reason


@pytest.mark.parametrize("norm", ["rows", "factor"])
def test_honest_files_are_accepted(late: ReluFit, norm: str) -> None:
    """Theorem RD after training: DU-CERT-L1, DU-CERT-R."""
    result = checked(late, *claim(late, norm=norm))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert 0 < result.claims[0].numbers["rate"] < 1


def test_an_early_iterate_with_unstable_pairs_is_accepted_and_gradient_descent_obeys(
    early: ReluFit,
) -> None:
    """Replay with the claimed step and any derivative at kinks: stable pairs keep their sign, the
    residual its envelope.
    """
    fields, tensors = claim(early)
    result = checked(early, fields, tensors)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert result.claims[0].numbers["unstable_pairs"] > 20
    tau, eta, rate, path = (float(Fraction(fields[key])) for key in ("tau", "eta", "rate", "path"))
    s, possible, sure = early.bracket(tau)
    Z0, envelope, travelled, current = (
        early.X @ early.W.T,
        np.linalg.norm(early.residual()),
        0.0,
        early,
    )
    for k in range(150):
        after = current.step(eta, at_kink=float(k % 2))
        travelled += float(np.linalg.norm(after.W - current.W))
        current, envelope = after, envelope * rate
        Z = current.X @ current.W.T
        assert np.linalg.norm(current.residual()) <= envelope * (1 + 1e-9) + 1e-13
        assert np.all(np.abs(Z - Z0) <= s * (1 + 1e-9) + 1e-13)
        assert np.all(Z[sure] > 0)
        assert np.all(Z[~possible] < 0)
    assert travelled <= path


def test_the_bracket_agrees_with_a_brute_force_loop(early: ReluFit) -> None:
    """PA and S by plain loops over pairs, against the checker's."""
    from globalmin_check.balls import precision
    from globalmin_check.certificate import read_certificate

    fit = replace(early, X=early.X[:5], y=early.y[:5], W=early.W[:30], v=early.v[:30])
    fields, tensors = claim(fit, tau=0.3)
    problem = read_certificate(build(fit, [(fields, tensors)]), None)[0]
    with precision(128):
        sets = bracket(problem, Fraction(0.3), exact_checks())
        middle = [[float(entry) for entry in row] for row in BracketMatrices(problem, sets).middle]
    K, Z = fit.X @ fit.X.T, fit.X @ fit.W.T
    for i in range(5):
        for neuron in range(30):
            u = abs(fit.v[neuron])
            near = [Z[j, neuron] >= -u * np.linalg.norm(K[j]) * 0.3 for j in range(5)]
            s = u * np.sqrt(sum(K[i, j] ** 2 for j in range(5) if near[j])) * 0.3
            assert sets.possible[i][neuron] == (near[i] and Z[i, neuron] >= -s)
            assert sets.sure[i][neuron] == (Z[i, neuron] > s)
    H, _ = fit.matrices(0.3)
    assert all(abs(middle[i][j] - H[i, j]) < 1e-12 for i in range(5) for j in range(i + 1))


REFUSED: dict[str, tuple[dict, dict, str]] = {
    "eta too large": ({"eta": "10"}, {}, "V4"),
    "eta zero": ({"eta": "0"}, {}, "V2d"),
    "rate one": ({"rate": "1"}, {}, "V2h"),
    "rate too good": ({"rate": "0"}, {}, "V5"),
    "path too short": ({"path": "1/1000000000000"}, {}, "V6"),
    "tau zero": ({"tau": "0"}, {}, "V2a"),
    "tau too small": ({"tau": "1/100000000000000"}, {}, "V8"),
    "eps negative": ({"eps": "-1"}, {}, "V2f"),
    "eps too large": ({"eps": "1000"}, {}, "V3"),
    "loss too small": ({"loss_upper": "0"}, {}, "V7"),
    "lam too large": ({"lam": "1/2", "eta": "1/100", "rate": "999/1000"}, {}, "V11"),
    "Lam too small": ({"Lam": "1/2"}, {}, "V10"),
    "C zero": ({}, {"C": np.zeros((8, 8))}, "V11"),
    "e with a zero": ({}, {"e": np.array([1.0] * 7 + [0.0])}, "V2i"),
    "e negative": ({}, {"e": -np.ones(8)}, "V2i"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_tightened_claims_and_bad_witnesses_are_rejected(late: ReluFit, name: str) -> None:
    changes, witnesses, number = REFUSED[name]
    fields, tensors = claim(late)
    result = checked(late, fields | changes, tensors | witnesses)
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason


def test_eps_below_the_spread_is_rejected(early: ReluFit) -> None:
    fields, tensors = claim(early)
    result = checked(early, fields | {"eps": "1/1000000"}, tensors)
    assert "check V9 " in result.reason


def test_lambda_of_the_gram_matrix_at_the_weights_is_not_enough() -> None:
    """Trap (b): the bounds belong to H_mid. At w = 1/10 with tau = 1 the Gram matrix is 1, but
    H_mid = E = 1/2.
    """
    changes = {
        "tau": Fraction(1),
        "eps": Fraction(1, 2),
        "path": Fraction(2),
        "rate": Fraction(9, 10),
        "eta": Fraction(1, 2),
    }
    fit, fields, tensors = one_neuron(0.1, 0.1, **changes)
    result = checked(fit, fields, tensors | {"C_Lam": np.array([[1.41]])})
    assert result.verdict is Verdict.REJECTED
    assert "check V11 " in result.reason


@pytest.mark.parametrize("activation", ["softplus", "abs", "linear"])
def test_other_activations_are_refused(late: ReluFit, activation: str) -> None:
    result = checked(late, *claim(late), activation=activation)
    assert "check V1 " in result.reason


def test_duplicate_rows_are_never_accepted(late: ReluFit) -> None:
    """No sample is dropped for a descent claim: equal rows make H_mid singular."""
    twice = replace(late, X=np.vstack([late.X, late.X[:1]]), y=np.append(late.y, late.y[0]))
    fields, tensors = claim(late)
    grown = {"e": np.ones(9), "C": np.eye(9) * 3.0, "C_Lam": np.eye(9)}
    assert checked(twice, fields, tensors | grown).verdict is Verdict.REJECTED


FORM: dict[str, tuple[dict, dict]] = {
    "norm unknown": ({"norm": "trace"}, {}),
    "e of the wrong length": ({}, {"e": np.ones(7)}),
    "C rectangular": ({}, {"C": np.ones((8, 7))}),
    "tau a float": ({"tau": 0.5}, {}),
}


@pytest.mark.parametrize("name", list(FORM))
def test_faults_of_form_are_malformed(late: ReluFit, name: str) -> None:
    changes, witnesses = FORM[name]
    fields, tensors = claim(late)
    blob = gmc.build(
        late.X, late.y, late.W, late.v, [(fields, tensors | witnesses)], activation="relu"
    )
    if changes:
        certificate, stored = gmc.unpack(blob)
        certificate["claims"][0] |= changes
        if name == "tau a float":
            del certificate["claims"][0]["tau"]
        blob = gmc.pack(certificate, stored)
    assert check_bytes(blob).verdict is Verdict.MALFORMED


def test_the_theorem_survives_many_small_instances_on_its_boundary() -> None:
    """Random tiny networks, labels scaled so that |r| = (lam - |E|) tau exactly, the largest step,
    unstable pairs present.
    """
    rng, fired, unstable = np.random.default_rng(7), 0, 0
    for _ in range(1200):
        n, d, m = (int(rng.integers(1, high)) for high in (4, 4, 7))
        fit = ReluFit(
            rng.standard_normal((n, d)),
            np.zeros(n),
            rng.standard_normal((m, d)),
            rng.standard_normal(m),
        )
        tau = float(np.exp(rng.uniform(-5, 0)))
        H, E = fit.matrices(tau)
        lam, Lam = np.linalg.eigvalsh(H)[[0, -1]]
        margin = lam - np.linalg.norm(E, 2)
        if margin <= 1e-3 * Lam:
            continue
        r = rng.standard_normal(n)
        fit = replace(fit, y=fit.residual() - r * margin * tau / np.linalg.norm(r))
        s, possible, sure = fit.bracket(tau)
        fired, unstable = fired + 1, unstable + int(np.any(possible & ~sure))
        Z0, bound, eta = fit.X @ fit.W.T, margin * tau, 2 / (lam + Lam)
        for _ in range(40):
            fit, bound = fit.step(eta, at_kink=float(rng.uniform())), bound * (1 - eta * margin)
            assert np.linalg.norm(fit.residual()) <= bound * (1 + 1e-9) + 1e-12
            assert np.all(np.abs(fit.X @ fit.W.T - Z0) <= s * (1 + 1e-9) + 1e-12)
    assert fired > 300
    assert unstable > 20
