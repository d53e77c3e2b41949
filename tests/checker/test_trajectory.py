"""trajectory: runs from their start are accepted, everything else is refused with its check number;
exact fractions and a second checker give the same answer.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat
from scipy.special import ndtri
from scipy.stats import kstest
from tests.checker.cases import Smooth, build
from tests.checker.trajectory_cases import (
    Descended,
    descended,
    trajectory_claim,
    trajectory_file,
    verdict,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_replay import cell

from globalmin_check import Verdict
from globalmin_check.certificate import read_certificate
from globalmin_check.claims.replay import EXTENT, _at_least, _at_most, _cell, _radius
from globalmin_check.claims.replay_steps import HiddenStep
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import Undecided


@pytest.mark.parametrize("expansion", ["norm", "rows"])
@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "erf"])
def test_honest_runs_are_accepted_by_both_checkers(activation: str, expansion: str) -> None:
    steps = 400 if activation == "sigmoid" else 40
    run = descended(activation=activation, steps=steps, share=0.9)
    if activation == "sigmoid":  # 400 steps of rational intervals take too long for a unit test
        assert check_bytes(trajectory_file(run, expansion=expansion)).verdict is Verdict.ACCEPTED
    else:
        assert verdict(trajectory_file(run, expansion=expansion)) == "ACCEPTED"


def test_the_quadratic_activation_needs_expansion_by_rows() -> None:
    run = descended(activation="quadratic")
    assert verdict(trajectory_file(run, expansion="rows")) == "ACCEPTED"
    result = check_bytes(trajectory_file(run, expansion="norm"))
    assert result.verdict is Verdict.REJECTED
    assert "check J3h " in result.reason


def test_the_cell_of_a_seed_is_accepted_by_both_checkers_and_the_next_seed_is_not() -> None:
    run = descended(1, 1, 2, steps=12, seeded=True, seed=3)
    assert verdict(trajectory_file(run)) == "ACCEPTED"
    assert check_bytes(trajectory_file(replace(run, seed=4))).verdict is Verdict.REJECTED


def test_no_steps_at_all_is_the_claim_descent_at_the_start() -> None:
    run = descended()
    there = replace(run, W0=run.net.W, K=0, walked=0.0)
    assert verdict(trajectory_file(there)) == "ACCEPTED"


def exact_square_run(w: Fraction, y: Fraction, eta: Fraction, K: int) -> Fraction:
    """w -> w - 2 eta w (w^2 - y), phi = z^2 with n = d = k = x = v = 1."""
    for _ in range(K):
        w = w - 2 * eta * w * (w * w - y)
    return w


@pytest.mark.parametrize("K", [1, 2, 5])
def test_the_distance_is_that_of_the_exact_run_to_ten_digits(K: int) -> None:
    """Weights stored 1e-7 off the exact run: Delta just above the true distance is accepted, just
    below it is rejected.
    """
    one = np.ones((1, 1))
    w0, y, eta = 1.25, 1.5, 0.0625
    end = exact_square_run(Fraction(w0), Fraction(y), Fraction(eta), K)
    V = float(end) + 1e-7
    net = Smooth(one, np.array([y]), np.array([[V]]), np.ones(1), "quadratic")
    run = Descended(net, np.array([[w0]]), eta, K, abs(V - w0))
    true = abs(Fraction(V) - end)
    for factor, expected in ((1 + 1e-10, "ACCEPTED"), (1 - 1e-10, "REJECTED")):
        claim, tensors = trajectory_claim(run, Delta=2e-7, rho=0.5, expansion="rows")
        claim = claim | {"Delta": gmc.rational(true * Fraction(factor)), "path": "2"}
        assert verdict(build(net, [(claim, tensors)])) == expected


def moved_start(run: Descended) -> Descended:
    W0 = run.W0.copy()
    W0[0, 0] += 1e-2
    return replace(run, W0=W0)


@pytest.mark.parametrize(
    ("other", "number"),
    [
        (lambda run: replace(run, K=run.K - 1), "J4"),
        (lambda run: replace(run, K=run.K + 1), "J4"),
        (moved_start, "J4"),
        (lambda run: replace(run, eta=run.eta * 1.001), "J4"),
    ],
    ids=["one step less", "one step more", "another start", "another step"],
)
def test_another_run_is_rejected(other: Any, number: str) -> None:
    raw = trajectory_file(other(descended()))
    assert verdict(raw) == "REJECTED"
    assert f"check {number} " in check_bytes(raw).reason


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"eta": Fraction(0)}, "J3a"),
        ({"Delta": Fraction(0)}, "J3b"),
        ({"x2": Fraction(-1)}, "J3c"),
        ({"delta0": Fraction(-1)}, "J3d"),
        ({"b2": Fraction(0)}, "J3e"),
        ({"rate": Fraction(-1)}, "J3f"),
        ({"rate": Fraction(1)}, "J3g"),
        ({"a2": Fraction(0)}, "J2a"),
        ({"rho": Fraction(-1)}, "J2b"),
        ({"loss_upper": Fraction(0)}, "J5"),
        ({"a2": Fraction(1, 10**40)}, "J6"),
        ({"rho": Fraction(1, 10**9)}, "J8"),
        ({"b2": Fraction(10**4)}, "J9"),
        ({"rate": Fraction(1, 10)}, "J10"),
        ({"path": Fraction(1, 100)}, "J11"),
        ({"x2": Fraction(1, 100)}, "J12"),
        ({"b2": Fraction(1, 10**3)}, "J13"),
        ({"a2": Fraction(100)}, "J15"),
    ],
)
def test_false_fields_are_refused_by_their_check(change: dict[str, Any], number: str) -> None:
    run = descended()
    fields, tensors = trajectory_claim(run)
    raw = build(run.net, [(gmc.written(fields | change), tensors)])
    result = check_bytes(raw)
    assert result.verdict is not Verdict.ACCEPTED
    assert slow_check(raw).verdict == result.verdict.value
    if number not in ("J12", "J13", "J15"):  # a false constant may make an earlier check fail
        assert f"check {number} " in result.reason


def test_the_ball_must_hold_the_rest_of_the_path_and_delta() -> None:
    """S' <= rho < S' + Delta is not enough: the run may begin at the edge of Delta."""
    run = descended(steps=200)
    Delta = 1e-3
    raw = trajectory_file(run, Delta=Delta, rho=0.05)
    assert verdict(raw) == "ACCEPTED"
    S = float((check_bytes(raw).claims[0].numbers or {})["S"])
    fields, tensors = trajectory_claim(run, Delta=Delta, rho=0.05)
    narrow = gmc.written(fields | {"rho": Fraction(S + Delta / 2)})
    result = check_bytes(build(run.net, [(narrow, tensors)]))
    assert result.verdict is Verdict.REJECTED
    assert "check J8 " in result.reason


def test_the_landing_is_sharp_to_a_part_in_a_thousand_where_the_step_is_longest() -> None:
    """J9 at its edge: b2 such that eta (b' + Lip S')^2 is just below and just above 1."""
    run = descended(steps=200)
    numbers = check_bytes(trajectory_file(run)).claims[0].numbers or {}
    room = run.eta**-0.5 - float(numbers["Lip"]) * (float(numbers["S"]) + 1e-9)
    fields, tensors = trajectory_claim(run)
    for factor, expected in ((0.999, "ACCEPTED"), (1.001, "REJECTED")):
        claim = gmc.written(fields | {"b2": Fraction((room * factor) ** 2)})
        assert verdict(build(run.net, [(claim, tensors)])) == expected


def test_too_few_bits_are_undecided_and_no_fault_of_the_claim() -> None:
    """Delta = 1e-40 is below what 128 bits know of the run, and far below the stored doubles."""
    run = descended()
    fields, tensors = trajectory_claim(run)
    raw = build(run.net, [(gmc.written(fields | {"Delta": Fraction(1, 10**40)}), tensors)])
    assert check_bytes(raw).verdict is Verdict.UNDECIDED
    assert "J4 is undecided" in check_bytes(raw).reason


def test_a_ball_of_starts_grows_along_the_run() -> None:
    """The largest ball of starts is what its growth leaves of Delta."""
    run = descended()
    raw = trajectory_file(run, Delta=1e-6, delta0=1e-8)
    assert verdict(raw) == "ACCEPTED"
    growth = float((check_bytes(raw).claims[0].numbers or {})["delta"]) / 1e-8
    assert 1.01 < growth < 100
    for factor, expected in ((0.999, "ACCEPTED"), (1.001, "UNDECIDED")):
        assert verdict(trajectory_file(run, Delta=1e-6, delta0=factor * 1e-6 / growth)) == expected
    assert "every start within 1.00000e-8 of the stored start" in check_bytes(raw).statement


@pytest.mark.parametrize("bits", [128, 192, 1024])
def test_more_bits_give_the_same_verdict_and_a_smaller_error(bits: int) -> None:
    result = check_bytes(trajectory_file(descended(), bits=bits))
    assert result.verdict is Verdict.ACCEPTED
    delta = float((result.claims[0].numbers or {})["delta"])
    assert 0.0 < delta < 2.0 ** (16 - bits)


def test_a_run_that_leaves_all_bounds_is_undecided() -> None:
    """Steps a million times too long: the midpoints fly away, and delta with them."""
    run = descended(activation="quadratic", steps=3)
    far = replace(run, eta=1e6, K=60)
    result = check_bytes(trajectory_file(far, expansion="rows", rate=Fraction(1, 2)))
    assert result.verdict is Verdict.UNDECIDED


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"K": 10**6 + 1}, "K is more than"),
        ({"bits": 129}, "bits is 129"),
        ({"bits": 64}, "less than 128"),
        ({"seed": 10**18 - 1}, "unknown field delta0"),
        ({"trained": "vW"}, "lacks the field beta2"),
        ({"expansion": "spectral"}, "expansion"),
    ],
)
def test_faults_of_form_are_malformed(change: dict[str, Any], word: str) -> None:
    run = descended()
    fields, tensors = trajectory_claim(run)
    if "seed" in change:  # a seed and a stored start at once
        tensors = {name: tensor for name, tensor in tensors.items() if name != "W0"}
    raw = build(run.net, [(fields | change, tensors)])
    assert verdict(raw) == "MALFORMED"
    assert word.split()[0] in check_bytes(raw).reason


def test_both_layers_are_malformed_even_with_all_their_fields() -> None:
    run = descended()
    both = replace(run, net=replace(run.net, trained="vW"))
    raw = build(both.net, [trajectory_claim(both)])
    assert verdict(raw) == "MALFORMED"


def test_steps_are_charged_before_the_first_one() -> None:
    run = descended()
    result = check_bytes(trajectory_file(replace(run, K=10**6), bits=2048))
    assert result.verdict is Verdict.UNDECIDED
    assert "exceeds the budget" in result.reason


def stepped(raw: bytes, W: np.ndarray, delta: arb) -> tuple[np.ndarray, arb]:
    """The weights after one step of the checker from W, and what becomes of the radius delta."""
    problem, claims = read_certificate(raw, None)
    content = claims[0].content
    step = HiddenStep(content.run, content.expansion, problem)
    moved, factor = step(0, (arb_mat(W.tolist()),), delta)
    rows = [[float(entry) for entry in row] for row in moved[0].mid().tolist()]
    return np.array(rows), (factor * delta + _radius(moved)).upper()


def expansion_of(raw: bytes, W: np.ndarray, delta: float) -> float:
    """The factor the checker uses at W for the radius delta."""
    return float(stepped(raw, W, arb(delta))[1]) / delta


@pytest.mark.parametrize("expansion", ["norm", "rows"])
@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_no_two_points_of_the_ball_are_drawn_apart_by_more_than_the_factor(
    activation: str, expansion: str
) -> None:
    """Lemma 1, over 300 networks and balls, the worst pair of 20 each; and the bound is no more
    than 2 times what is found (a factor in which |r| or C were doubled would be).
    """
    rng = np.random.default_rng(5)
    tightest = 0.0
    for trial in range(300):
        run = descended(2, 2, 2, activation=activation, steps=0, seed=trial, share=1.9)
        net = replace(run.net, y=run.net.y + rng.standard_normal(2) * 10 ** rng.uniform(-1, 1.5))
        delta = float(10 ** rng.uniform(-3, -0.5))
        bound = expansion_of(
            trajectory_file(replace(run, net=net), expansion=expansion), run.W0, delta
        )
        G = _map(net, run.eta)
        for _ in range(20):
            p, q = (run.W0 + delta * _in_ball(rng, run.W0.shape) for _ in range(2))
            ratio = float(np.linalg.norm(G(p) - G(q)) / np.linalg.norm(p - q))
            assert ratio <= bound * (1 + 1e-12)  # rounding of two gradients in floats
            tightest = max(tightest, (ratio - 1) / (bound - 1))
    assert tightest > 0.5


def _map(net: Smooth, eta: float) -> Any:
    def step(W: np.ndarray) -> np.ndarray:
        at = replace(net, W=W)
        return W - eta * (at.values()[1] * at.v * at.residual()[:, None]).T @ at.X

    return step


def _in_ball(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    u = rng.standard_normal(shape)
    return u / np.linalg.norm(u) * rng.uniform() ** (1 / u.size)


def test_the_cells_are_those_of_the_normal_law() -> None:
    """Both checkers enclose the same number, which is the quantile of the hashed bits; 400 entries
    pass a Kolmogorov-Smirnov test (one in a thousand laws would not).
    """
    for place in ("0|0", "7|3", "999999999999999999|41"):
        low, high = cell(place, 128)
        assert float(_cell(place)) == pytest.approx(float(low), abs=1e-15)
        assert low <= high <= low + Fraction(1, 10**30)
    entries = [float(_cell(f"0|{j}")) for j in range(400)]
    assert kstest(entries, "norm").pvalue > 1e-3


def test_the_rule_of_the_seed_is_the_printed_one() -> None:
    from hashlib import sha256

    text = b"".join(sha256(f"globalmin-start/1|5|2|{b}".encode()).digest() for b in range(4))
    m = int.from_bytes(text, "big")
    assert float(_cell("5|2")) == pytest.approx(float(ndtri(m / 2**1024)), rel=1e-13)


def test_the_sentences_say_which_start_and_when_the_rate_begins() -> None:
    stored = check_bytes(trajectory_file(descended())).statement
    assert "from the stored start " in stored
    assert (
        "in exact arithmetic, is after 40 steps within 1.00001e-9 of the stored weights" in stored
    )
    seeded = check_bytes(trajectory_file(descended(1, 1, 2, steps=12, seeded=True, seed=3)))
    assert "from every start of the cell of seed 3 (independent standard normal" in seeded.statement
    assert "how likely random starts are to succeed is not said" in " ".join(seeded.notes)


@pytest.mark.parametrize("share", [0.5, 3.0])
@pytest.mark.parametrize("expansion", ["norm", "rows"])
def test_a_ball_of_starts_grows_by_the_printed_factors(expansion: str, share: float) -> None:
    """The product of max(1, eta b^2 - 1) + eta C (|r| + b delta) along the run, in floats, for a
    small and for a large ball: every constant of the table enters.
    """
    run = descended(3, 3, 4, steps=6, share=share, seed=2)
    longer = run.net.X * np.array([[1.0], [1.3], [0.7]])  # the longest row is not the first
    run = replace(run, net=replace(run.net, X=longer), eta=run.eta / 1.69)
    for delta0 in (1e-12, 1e-4):
        fields, tensors = trajectory_claim(run, Delta=0.5, expansion=expansion, delta0=delta0)
        raw = build(run.net, [(fields | {"rate": "1/2"}, tensors)])
        delta, W, grown = delta0, run.W0, arb(delta0)
        for _ in range(run.K):
            delta = delta * _factor(replace(run.net, W=W), run.eta, fields, delta, expansion)
            W, grown = stepped(raw, W, grown)
        # floats against balls: rounding of weights (1e-16) and of the step are far below delta0
        assert float(grown) == pytest.approx(delta, rel=1e-4 if delta0 < 1e-9 else 1e-9)


def _factor(net: Smooth, eta: float, fields: dict, delta: float, expansion: str) -> float:
    x2, b1, b2 = float(Fraction(fields["x2"])), 1.0, 0.76980036
    longest = float(np.max(np.sum(net.X**2, axis=1)))
    C = b2 * float(np.max(np.abs(net.v))) * np.sqrt(x2 * longest)
    b = b1 * float(np.linalg.norm(net.v)) * np.sqrt(x2)
    if expansion == "rows":
        b = float(np.sqrt(np.max(np.sum(np.abs(net.gram()), axis=1)))) + C * delta
    g = float(np.linalg.norm(net.residual()))
    return max(1.0, eta * b * b - 1.0) + eta * C * (g + b * delta)


def test_the_path_is_known_to_the_width_of_the_replay() -> None:
    """J11 with a ball of starts: between the shortest and the longest path the claim is undecided,
    below it is rejected, above it is accepted; both ends are those of the printed sum.
    """
    run = descended()
    delta0 = 1e-4
    fields, tensors = trajectory_claim(run, Delta=1e-3, delta0=delta0)
    raw = build(run.net, [(fields, tensors)])
    numbers = check_bytes(raw).claims[0].numbers or {}
    deltas, delta, W = [delta0], delta0, run.W0
    for _ in range(run.K):
        at = replace(run.net, W=W)
        delta *= _factor(at, run.eta, fields, delta, "norm")
        deltas.append(delta)
        W = _map(at, run.eta)(W)
    spread = sum(deltas[:-1]) + sum(deltas[1:])
    shortest, longest = (run.walked + sign * spread + float(numbers["S"]) for sign in (-1, 1))
    for path, expected in (
        (longest * (1 + 1e-9), "ACCEPTED"),
        (longest * (1 - 1e-9), "UNDECIDED"),
        (shortest * (1 + 1e-9), "UNDECIDED"),
        (shortest * (1 - 1e-9), "REJECTED"),
    ):
        claim = gmc.written(fields | {"path": Fraction(path)})
        assert verdict(build(run.net, [(claim, tensors)])) == expected


def test_the_error_of_the_replay_counts_towards_the_distance() -> None:
    """Stored weights half of Delta away, a ball of starts whose end is a little less or a little
    more than the other half.
    """
    run = descended()
    raw = trajectory_file(run, Delta=1e-6, delta0=1e-8)
    growth = float((check_bytes(raw).claims[0].numbers or {})["delta"]) / 1e-8
    W = run.net.W.copy()
    W[0, 0] += 0.5e-6
    moved = replace(run, net=replace(run.net, W=W))
    for factor, expected in ((0.499, "ACCEPTED"), (0.501, "UNDECIDED")):
        found = trajectory_file(moved, Delta=1e-6, delta0=factor * 1e-6 / growth)
        assert verdict(found) == expected


def test_the_landing_uses_the_constants_within_delta_of_the_weights() -> None:
    """a', b', g', S' of theorem LD in floats for a Delta that matters, and the rate at its edge."""
    run, Delta = descended(steps=200), 1e-3
    fields, tensors = trajectory_claim(run, Delta=Delta)
    numbers = check_bytes(build(run.net, [(fields, tensors)])).claims[0].numbers or {}
    a, b = (float(Fraction(fields[name])) ** 0.5 for name in ("a2", "b2"))
    Lip = float(Fraction(fields["quartic"]["kappa"])) ** 0.5
    g = float(np.linalg.norm(run.net.residual())) + (b + Lip * Delta / 2) * Delta
    a, b = a - Lip * Delta, b + Lip * Delta
    alpha2 = a * a - 2 * Lip * g
    expected = {"a": a, "b": b, "g": g, "S": 2 * g / (a + alpha2**0.5), "Lip": Lip}
    for name, value in expected.items():
        assert float(numbers[name]) == pytest.approx(value, rel=1e-9), name
    rate = 1 - run.eta * alpha2
    for factor, word in ((1 + 1e-9, "ACCEPTED"), (1 - 1e-9, "REJECTED")):
        claim = gmc.written(fields | {"rate": Fraction(rate * factor)})
        assert verdict(build(run.net, [(claim, tensors)])) == word


def test_an_unbounded_cell_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 1,024 bits 0 or all 1: no ball holds the quantile, and NaN must not become a distance."""
    monkeypatch.setattr("globalmin_check.claims.replay._cell", lambda place: arb(0, "inf"))
    run = descended(1, 1, 2, steps=0, seeded=True, seed=3)
    result = check_bytes(trajectory_file(run))
    assert result.verdict is Verdict.UNDECIDED
    assert "finite" in result.reason


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("exponent", [-(10**40), -EXTENT - 3, -EXTENT - 2, -3, 0, 5, EXTENT - 2])
def test_rounded_ends_are_on_the_safe_side_and_exact_unless_tiny(sign: int, exponent: int) -> None:
    value = arb((3 * sign, exponent))  # of exactly two bits
    above, below = _at_most(value, "J4"), _at_least(value, "J4")
    if exponent + 2 < -EXTENT:
        least = Fraction(1, 2**EXTENT)
        assert (below, above) == ((0, least) if sign > 0 else (-least, 0))
    else:
        assert below == above == sign * 3 * Fraction(2) ** exponent


def test_a_replay_beyond_every_rational_of_a_claim_is_undecided() -> None:
    with pytest.raises(Undecided, match="leaves"):
        _at_most(arb(2) ** EXTENT, "J4")
