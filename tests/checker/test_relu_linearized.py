"""The claim relu-linearized-descent: golden example, traps, the linear run by another road, and
gradient descent at the edge of theorem RL.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from tests.checker import relu_linearized_cases as cases
from tests.checker.relu_descent_cases import ReluFit, trained_relu

from globalmin_check import Result, Verdict, limits
from globalmin_check.balls import precision
from globalmin_check.certificate import read_certificate
from globalmin_check.checks import Budget, ExactChecks
from globalmin_check.claims.relu_bracket import BracketMatrices
from globalmin_check.claims.relu_linear_path import Margins, linear_run
from globalmin_check.claims.relu_linearized_descent import exact
from globalmin_check.engine import check_bytes


def checked(fit: ReluFit, fields: dict, tensors: dict) -> Result:
    return check_bytes(cases.build(fit, [(fields, tensors)]))


def honest(fit: ReluFit, **options: Any) -> tuple[dict, dict]:
    made = cases.claim(fit, **options)
    assert made is not None
    return made


@pytest.fixture(scope="module")
def unstable() -> ReluFit:
    """A fit with pairs that may change sign."""
    return trained_relu(3, 30, 200, 1)


@pytest.mark.parametrize("norm", ["factor", "rows"])
@pytest.mark.parametrize("steps", [1, 4, 9])
def test_honest_files_are_accepted(unstable: ReluFit, norm: str, steps: int) -> None:
    """Theorem RL (DU-CERT-L2) with stable pairs only and with unstable ones."""
    fit = trained_relu(4, 6, 60, 12)
    for net in (fit, unstable) if steps > 1 else (fit,):
        fields, tensors = honest(net, norm=norm, steps=steps)
        result = checked(net, fields, tensors)
        assert result.verdict is Verdict.ACCEPTED, result.reason
        assert result.claims[0].numbers["unstable_pairs"] == len(tensors["U"])
        assert f"at most {len(tensors['U'])} ever change sign" in result.statement
        assert "flow" not in result.statement


def test_golden_one_neuron_is_accepted_for_positive_labels_only() -> None:
    """The worked example of the page: |w - y| < w, that is 0 < y < 2 w."""
    for y in (0.001, 0.25, 1.0, 1.999):
        assert checked(*cases.one_neuron(1.0, y)).verdict is Verdict.ACCEPTED, y
    for y in (0.0, -0.25, -3.0):
        assert "check L12 " in checked(*cases.one_neuron(1.0, y)).reason


def test_the_first_bound_alone_proves_a_stable_pair() -> None:
    """tau below the margin is enough whatever the linear run does; above it the run decides."""
    fit, fields, tensors = cases.one_neuron(1.0, 0.5)
    for tau, verdict in ((Fraction(3, 4), "ACCEPTED"), (Fraction(3, 2), "ACCEPTED")):
        changes = {"tau": str(tau), "path": "2"}
        assert checked(fit, fields | changes, tensors).verdict.value == verdict
    fit, fields, tensors = cases.one_neuron(1.0, 0.5, eps=Fraction(9, 10), rate=Fraction(95, 100))
    big = {"tau": "20", "path": "100"}  # now eps tau/lam is beyond the margin
    assert "check L12 " in checked(fit, fields | big, tensors).reason


def test_a_pair_at_the_kink_must_be_in_the_set() -> None:
    """z = 0: rejected outside U, whatever its head; with the pair in U nothing is wrong."""
    fit = trained_relu(3, 4, 12, 300)
    W = fit.W.copy()
    W[0] = 0.0
    for head in (fit.v[0], 0.0):
        v = fit.v.copy()
        v[0] = head
        at_kink = replace(fit, W=W, v=v)
        at_kink = replace(at_kink, y=at_kink.y + at_kink.residual() * (1 - 1e-9))
        fields, tensors = honest(at_kink)
        assert {0, 12, 24} <= set(tensors["U"].tolist())
        assert checked(at_kink, fields, tensors).verdict is Verdict.ACCEPTED
        without = {"U": np.array([p for p in tensors["U"].tolist() if p % 12], np.int64)}
        if head == 0.0:  # the matrices stay the same, only L12 sees it
            assert "check L12 " in checked(at_kink, fields, tensors | without).reason
        else:
            assert checked(at_kink, fields, tensors | without).verdict is Verdict.REJECTED


def test_the_linear_run_solves_its_own_equation() -> None:
    """H V_k = r - r0_k and r0_k = (I - eta H)^k r, by numpy; the sums of norms from the powers."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 6))
    H, r, eta, lam = A @ A.T, rng.standard_normal(4), Fraction(1, 20), Fraction(1, 8)
    rows = [[arb(float(x)) for x in row] for row in np.tril(H)]
    with precision(128):
        run = linear_run(rows, list(map(arb, r.tolist())), eta, lam, 5)
    step = np.eye(4) - float(eta) * H
    powers = [np.linalg.matrix_power(step, k) @ r for k in range(6)]
    for k, V in enumerate(run.sums, start=1):
        assert np.allclose(H @ [float(x) for x in V], r - powers[k], atol=1e-12)
    rest = np.linalg.norm(powers[5]) / float(lam)
    assert float(run.rest) == pytest.approx(rest, rel=1e-12)
    length = float(eta) * sum(np.linalg.norm(p) for p in powers[:5]) + rest
    assert float(run.length) == pytest.approx(length, rel=1e-12)
    columns = float(eta) * sum(np.abs(p) for p in powers[:5]) + rest
    assert np.allclose([float(w) for w in run.columns], columns, rtol=1e-12)


def test_the_moves_are_those_of_plain_loops(unstable: ReluFit) -> None:
    """s of the page, pair by pair in numpy: with every margin just above it the check holds, with
    one just below it fails.
    """
    fields, tensors = honest(unstable, steps=4)
    problem, claims = read_certificate(cases.build(unstable, [(fields, tensors)]), None)
    claim = claims[0].content
    found = cases.least_set(unstable, 4)
    assert found is not None
    with precision(128):
        sets = exact(claim, problem, ExactChecks(Budget()))
        matrices = BracketMatrices(problem, sets)
        r = [arb(float(x)) for x in unstable.residual()]
        run = linear_run(matrices.middle, r, claim.rates.eta, claim.rates.lam, 4)
        drift = run.rest + arb(found.eps * found.tau / found.lam)
        for i in range(3):
            neurons = list(range(200))
            reach = np.sqrt(((unstable.X @ unstable.X.T)[i] ** 2) @ np.array(sets.possible))
            fine = Margins(problem, matrices, run)._moves(i, neurons)
            second = np.array([float(move) for move in fine]) + reach * float(drift)
            bound = np.abs(unstable.v) * np.minimum(reach * found.tau, second)
            outside = ~found.U[i]
            assert np.allclose(bound[outside], found.moves[i][outside], rtol=1e-9)


def test_the_margins_are_decided_at_their_edges() -> None:
    """With a third of the pairs in U: the largest tau that the first bound allows when the second
    is useless, and the largest drift that the second allows when the first is, by plain numpy; the
    check holds just below and fails just above.
    """
    rng = np.random.default_rng(5)
    fit = trained_relu(4, 6, 30, 3)
    Z, K, u = fit.X @ fit.W.T, fit.X @ fit.X.T, np.abs(fit.v)
    U = rng.random(Z.shape) < 1 / 3
    fields, tensors = cases.one_neuron(1.0, 0.5)[1:]
    tensors = tensors | {
        "U": np.flatnonzero(U.ravel()).astype(np.int64),
        **{name: np.eye(4) for name in ("C", "C_Lam")},
        "e": np.ones(4),
    }
    problem, claims = read_certificate(cases.build(fit, [(fields, tensors)]), None)
    possible, sure = (Z > 0) | U, (Z > 0) & ~U
    reach = np.sqrt(K**2 @ possible)
    first = (np.abs(Z) / (u * reach + 1e-300))[~U].min()
    with precision(128):
        sets = exact(claims[0].content, problem, ExactChecks(Budget()))
        matrices = BracketMatrices(problem, sets)
        r = [arb(float(x)) for x in fit.residual()]
        run = linear_run(matrices.middle, r, Fraction(1, 100), Fraction(1, 10), 3)
        margins = Margins(problem, matrices, run)
        assert margins.outcome(arb(first * (1 - 1e-9)), arb(10**9)) is True
        assert margins.outcome(arb(first * (1 + 1e-9)), arb(10**9)) is False
        sums = np.array([[float(x) for x in V] for V in run.sums])
        w, middle = np.array([float(x) for x in run.columns]), (possible * 1.0 + sure) / 2
        moved = np.array([np.abs((sums * K[i]) @ middle).max(axis=0) for i in range(4)])
        moved += (np.abs(K) * w) @ U / 2
        # the pairs that the first bound proves whatever the drift are not asked
        least = ((np.abs(Z) / u - moved) / np.maximum(reach, 1e-300))[~U & (reach > 0)].min()
        assert margins.outcome(arb(10**9), arb(least - 1e-9)) is True
        assert margins.outcome(arb(10**9), arb(least + 1e-9)) is False


def at_the_edge(rng: np.random.Generator) -> tuple[ReluFit, cases.Linearized] | None:
    """A random fit whose residual is as large as theorem RL allows (to 2 %), with exact kinks."""
    n, k = int(rng.integers(1, 4)), int(rng.integers(2, 9))
    X = rng.standard_normal((n, n + int(rng.integers(0, 4))))
    W, v = rng.standard_normal((k, X.shape[1])), rng.standard_normal(k)
    if rng.random() < 0.5:
        W[0] = 0.0
    fit, direction = ReluFit(X, np.zeros(n), W, v), rng.standard_normal(n)
    f, best = fit.residual(), None
    low, high = 0.0, 10.0
    for _ in range(9):
        middle = (low + high) / 2
        trial = replace(fit, y=f + middle * direction)
        found = cases.least_set(trial, int(rng.integers(1, 5)), share=0.999999)
        low, high = (middle, high) if found else (low, middle)
        best = (trial, found) if found else best
    return best


def test_descent_at_the_edge_keeps_rate_signs_and_path() -> None:
    """Theorem RL attacked: the largest residual it allows, the largest step, any derivative at the
    kink; 40 random networks, of which at least half have such a residual.
    """
    rng, met, loose = np.random.default_rng(11), 0, 0
    for _ in range(40):
        made = at_the_edge(rng)
        if made is None:
            continue
        fit, found = made
        met, loose = met + 1, loose + bool(found.U.any())
        Z0, rate, travelled = fit.X @ fit.W.T, float(found.rate), 0.0
        bound = float(np.linalg.norm(fit.residual()))
        summed = 0.0
        for _ in range(40):
            summed += found.eta * float(np.linalg.norm(fit.residual()))
            after = fit.step(found.eta, at_kink=float(rng.random()))
            travelled += float(np.linalg.norm(after.W - fit.W))
            fit, bound = after, bound * rate
            Z = fit.X @ fit.W.T
            assert np.linalg.norm(fit.residual()) <= bound * (1 + 1e-9) + 1e-13
            assert np.all((np.sign(Z) == np.sign(Z0))[~found.U])
            assert np.all((np.abs(Z - Z0) <= found.moves * (1 + 1e-9) + 1e-13)[~found.U])
        assert summed <= found.tau * (1 + 1e-9) + 1e-13
        assert travelled <= np.sqrt(found.Lam + found.eps) * found.tau * (1 + 1e-9)
    assert met >= 20
    assert loose >= 5  # with pairs that may change sign


def test_a_run_of_too_many_steps_is_refused_before_it_is_followed(unstable: ReluFit) -> None:
    """Also in the smallest file, where a step costs almost nothing but its bookkeeping."""
    fields, tensors = honest(unstable)
    small = cases.one_neuron(1.0, 0.5)
    for steps in (10**7, 10**17):
        for net, claim, arrays in ((unstable, fields, tensors), small):
            result = checked(net, claim | {"steps": steps}, arrays)
            assert result.verdict is Verdict.UNDECIDED
            assert "budget" in result.reason


def test_the_sets_do_not_depend_on_the_precision(
    unstable: ReluFit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same verdict, the same pairs at 128, 256 and 512 bits alone."""
    fields, tensors = honest(unstable)
    for bits in (128, 256, 512):
        monkeypatch.setattr(limits, "PRECISIONS", (bits,))
        result = checked(unstable, fields, tensors)
        assert result.verdict is Verdict.ACCEPTED
        assert result.claims[0].numbers["unstable_pairs"] == len(tensors["U"])


REFUSED: dict[str, tuple[dict, str]] = {
    "eta too large": ({"eta": "100"}, "L4"),
    "rate too good": ({"rate": "0"}, "L5"),
    "path too short": ({"path": "1/1000000"}, "L6"),
    "loss too small": ({"loss_upper": "0"}, "L7"),
    "tau too small": ({"tau": "1/1000000"}, "L8"),
    "eps too small": ({"eps": "1/1000000"}, "L9"),
    "lam too large": ({"lam": "9/20", "eta": "1", "rate": "99/100"}, "L11"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_tightened_claims_are_rejected(unstable: ReluFit, name: str) -> None:
    changes, number = REFUSED[name]
    fields, tensors = honest(unstable)
    result = checked(unstable, fields | changes, tensors)
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason


@pytest.mark.parametrize("pairs", [[-1], [600], [5, 5], [7, 3]])
def test_sets_that_are_not_increasing_pairs_are_malformed(
    unstable: ReluFit, pairs: list[int]
) -> None:
    fields, tensors = honest(unstable)
    result = checked(unstable, fields, tensors | {"U": np.array(pairs, np.int64)})
    assert result.verdict is Verdict.MALFORMED
    assert "increasing list of pairs" in result.reason
