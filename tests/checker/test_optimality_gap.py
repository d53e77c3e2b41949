"""optimality-gap: honest gaps of theorems P, S and D are accepted and true, everything else is
refused with its check number.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import floor_claim, inverse_factor
from tests.checker.quadratic_cases import (
    Pair,
    Quadratic,
    build,
    claim,
    gap_decay,
    gap_positive,
    gap_span,
    one_neuron,
    random_network,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check import limits
from globalmin_check.claims import quadratic
from globalmin_check.engine import check_bytes

HEADS = ["nonnegative", "nonpositive"]


def verdicts(net: Quadratic, pair: Pair, **options: Any) -> tuple[str, str]:
    """Verdict and reason of the fast checker, after both checkers were seen to agree."""
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


@pytest.fixture(params=["balls", "grid"], autouse=True)
def road(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "grid":
        monkeypatch.setattr(quadratic, "LARGE", 0)
    return request.param


def lowest_found(net: Quadratic, *, decay: float = 0.0, starts: int = 6) -> float:
    """The lowest objective that L-BFGS reaches from other starts and other widths, heads of the
    same signs.
    """
    rng = np.random.default_rng(0)
    best = np.inf
    for k in (1, 3, 8):
        for _ in range(starts):
            v = rng.choice(net.v, k) * rng.uniform(0, 1, k)
            other = replace(net, W=rng.standard_normal((k, net.X.shape[1])), v=v).trained(decay)
            best = min(best, other.loss() + decay / 2 * float(np.sum(other.W**2)))
    return best


@pytest.mark.parametrize("heads", HEADS)
def test_theorem_p_proves_a_small_gap_that_no_search_contradicts(heads: str) -> None:
    net = random_network(10, 3, 4, heads=heads).trained()
    pair = gap_positive(net, room=1e-9)
    raw = build(net, [pair])
    result = check_bytes(raw)
    assert result.verdict.value == slow_check(raw).verdict == "ACCEPTED", result.reason
    numbers = result.claims[0].numbers
    assert numbers is not None
    assert float(numbers["gap"]) < 1e-7 * net.loss()
    assert lowest_found(net) >= float(numbers["floor"])
    assert float(numbers["floor"]) <= net.loss() <= float(numbers["loss_upper"])


@pytest.mark.parametrize("heads", [*HEADS, "any"])
def test_theorem_d_proves_a_small_gap_that_no_search_contradicts(heads: str) -> None:
    net = random_network(10, 3, 6, heads=heads).trained(0.4)
    raw = build(net, [gap_decay(net, 0.4, heads=heads)])
    result = check_bytes(raw)
    assert result.verdict.value == slow_check(raw).verdict == "ACCEPTED", result.reason
    numbers = result.claims[0].numbers
    assert numbers is not None
    assert float(numbers["gap"]) < 1e-6 * net.loss()
    assert lowest_found(net, decay=0.4) >= float(numbers["floor"])


def test_theorem_s_proves_the_least_squares_minimum() -> None:
    net = random_network(12, 3, 6, heads="any").trained()
    raw = build(net, [gap_span(net)])
    result = check_bytes(raw)
    assert result.verdict.value == slow_check(raw).verdict == "ACCEPTED", result.reason
    far = random_network(12, 3, 6, heads="any", seed=3)
    fields, _ = gap_span(far)
    assert verdicts(far, gap_span(far))[0] == "ACCEPTED"
    best = replace(far, W=far.W).trained()
    assert float(Fraction(fields["gap"])) == pytest.approx(far.loss() - best.loss(), rel=0.01)


@pytest.mark.parametrize(
    ("w", "y", "gap", "verdict"),
    [
        (0.1, -1.0, None, "ACCEPTED"),
        (0.1, -1.0, Fraction(-1, 10**30), "REJECTED"),
        (0.0, -1.0, None, "ACCEPTED"),
        (0.5, -2.0, None, "ACCEPTED"),
    ],
)
def test_the_golden_gap_is_exact_to_the_last_digit(
    road: str, w: float, y: float, gap: Fraction | None, verdict: str
) -> None:
    """y < 0, lambda = -y: D = y^2/2 = inf L, so the gap is L - y^2/2 exactly; on the grid a tie may
    stay undecided.
    """
    net = one_neuron(w, y)
    exact = (Fraction(w) ** 2 - Fraction(y)) ** 2 / 2 - Fraction(y) ** 2 / 2
    fields = {
        "method": "positive",
        "heads": "nonnegative",
        "gap": exact + (gap or 0),
        "loss_upper": Fraction(9),
    }
    pair = (
        claim("optimality-gap", **fields),
        {"lambda": np.array([-y]), "C": np.array([[1 / np.sqrt(-y)]])},
    )
    raw = build(net, [pair])
    expected = {verdict} if road == "balls" else {verdict, "UNDECIDED"}
    assert check_bytes(raw).verdict.value in expected
    assert slow_check(raw).verdict == verdict


def test_the_golden_gap_at_one_tenth_is_0_01005() -> None:
    net = one_neuron(0.1, -1.0)
    fields = {"method": "positive", "heads": "nonnegative", "loss_upper": Fraction(1)}
    tensors = {"lambda": np.array([1.0]), "C": np.array([[1.0]])}
    for gap, verdict in (
        (Fraction(1005001, 10**8), "ACCEPTED"),
        (Fraction(1004999, 10**8), "REJECTED"),
    ):
        assert verdicts(net, (claim("optimality-gap", gap=gap, **fields), tensors))[0] == verdict


def test_a_negative_head_is_refused_for_p() -> None:
    net = Quadratic(
        np.ones((1, 1)), np.array([-1.0]), np.array([[0.1], [0.2]]), np.array([1.0, -1.0])
    )
    fields = {
        "method": "positive",
        "heads": "nonnegative",
        "gap": Fraction(9),
        "loss_upper": Fraction(9),
    }
    pair = claim("optimality-gap", **fields), {"lambda": np.array([1.0]), "C": np.array([[1.0]])}
    verdict, reason = verdicts(net, pair)
    assert (verdict, "O3" in reason) == ("REJECTED", True)
    minus_zero = replace(net, v=np.array([1.0, -0.0]))
    assert verdicts(minus_zero, pair)[0] == "ACCEPTED"


def deficient(seed: int = 0) -> tuple[Quadratic, np.ndarray]:
    """Rank 2 in d = 4: a repeated and a halved column."""
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((9, 2))
    X = np.hstack([base, base[:, :1], base[:, 1:] / 2])
    net = Quadratic(
        X, rng.standard_normal(9), rng.standard_normal((5, 4)) / 2, np.ones(5)
    ).trained()
    return net, np.array([1, 4])


def test_rank_deficient_inputs_need_rows_and_are_accepted_with_them() -> None:
    net, rows = deficient()
    assert verdicts(net, gap_positive(net, rows=rows))[0] == "ACCEPTED"
    fields, tensors = gap_positive(net, rows=rows)
    whole = {key: value for key, value in fields.items() if key != "rank"}
    Z = net.weighted(tensors["lambda"])
    plain = {"lambda": tensors["lambda"], "C": inverse_factor(Z + 1e-9 * np.eye(4))}
    verdict, reason = verdicts(net, (whole, plain))
    assert (verdict, "O7" in reason) == ("REJECTED", True)


def test_rows_that_do_not_span_are_refused() -> None:
    net, rows = deficient()
    verdict, reason = verdicts(net, gap_positive(net, rows=rows[:1]))
    assert (verdict, "O6" in reason) == ("REJECTED", True)
    off = net.X.copy()
    off[0, 2] = np.nextafter(off[0, 2], 9)
    moved = replace(net, X=off)
    verdict, reason = verdicts(moved, gap_positive(net, rows=rows))
    assert (verdict, "O6" in reason) == ("REJECTED", True)
    repeated = replace(net, X=np.vstack([net.X[:5], net.X[4:5] * 2, net.X[6:]]))
    fields, tensors = gap_positive(net, rows=rows)
    assert verdicts(repeated, (fields, tensors | {"rows": np.array([4, 5])}))[0] == "REJECTED"


@pytest.mark.parametrize(
    ("rows", "rank"),
    [
        ([4, 1], 2),
        ([1, 1], 2),
        ([-1, 4], 2),
        ([1, 9], 2),
        ([1, 2, 3, 4], 4),
        ([1, 4], 3),
        ([1, 4], 0),
        ([0, 1, 2, 3, 4], 5),
    ],
)
def test_the_form_of_rows_and_rank_is_checked(rows: list[int], rank: int) -> None:
    net, good = deficient()
    fields, tensors = gap_positive(net, rows=good)
    size = max(rank, 1)
    broken = tensors | {"rows": np.array(rows), "C": np.eye(size)}
    assert verdicts(net, (fields | {"rank": rank}, broken))[0] == "MALFORMED"


def changed(method: str, **changes: Any) -> tuple[Quadratic, Pair]:
    heads = "any" if method == "span" else "nonnegative"
    net = random_network(10, 3, 4, heads=heads).trained(0.4 if method == "decay" else 0.0)
    if method == "positive":
        return net, gap_positive(net, **changes)
    if method == "decay":
        return net, gap_decay(net, 0.4, heads=heads, **changes)
    off = replace(net, W=1.01 * net.W)  # at the minimum itself the gap would be a rounding error
    return off, gap_span(off, **changes)


@pytest.mark.parametrize("method", ["positive", "span", "decay"])
def test_a_gap_or_loss_tightened_by_hand_is_refused(method: str) -> None:
    net, (fields, tensors) = changed(method)
    tight = Fraction(fields["gap"]) / 2
    assert verdicts(net, (fields | {"gap": str(tight)}, tensors))[0] == "REJECTED"
    assert verdicts(net, (fields | {"gap": "-1/2"}, tensors))[0] == "REJECTED"
    assert (
        verdicts(net, (fields | {"loss_upper": gmc.rational(net.loss() * 0.999)}, tensors))[0]
        == "REJECTED"
    )


@pytest.mark.parametrize("method", ["positive", "span", "decay"])
def test_witnesses_that_prove_nothing_are_refused(method: str) -> None:
    net, (fields, tensors) = changed(method)
    factor = next(name for name in tensors if name.startswith("C"))
    dual = next(name for name in tensors if not name.startswith("C"))
    m = len(tensors[factor])
    assert verdicts(net, (fields, tensors | {factor: np.zeros((m, m))}))[0] == "REJECTED"
    assert verdicts(net, (fields, tensors | {factor: np.eye(m, m + 1)}))[0] == "MALFORMED"
    for bad in (np.nan, np.inf):
        assert verdicts(net, (fields, tensors | {factor: np.full((m, m), bad)}))[0] == "MALFORMED"
        assert (
            verdicts(net, (fields, tensors | {dual: np.full_like(tensors[dual], bad)}))[0]
            == "MALFORMED"
        )
    assert verdicts(net, (fields, tensors | {dual: -tensors[dual]}))[0] == "REJECTED"
    assert verdicts(net, (fields, tensors | {dual: tensors[dual][:-1]}))[0] == "MALFORMED"
    assert verdicts(net, (fields, {factor: tensors[factor]}))[0] == "MALFORMED"
    assert verdicts(net, (fields, tensors | {"extra": np.eye(2)}))[0] == "MALFORMED"


@pytest.mark.parametrize("method", ["positive", "span", "decay"])
def test_the_witness_of_another_file_is_refused(method: str) -> None:
    net, (fields, tensors) = changed(method)
    other = random_network(10, 3, 4, heads="any" if method == "span" else "nonnegative", seed=9)
    other = other.trained(0.4 if method == "decay" else 0.0)
    foreign = {"positive": gap_positive, "span": gap_span}.get(method)
    _, strange = foreign(other) if foreign else gap_decay(other, 0.4, heads="nonnegative")
    assert verdicts(net, (fields, strange))[0] == "REJECTED"
    assert verdicts(replace(net, y=other.y), (fields, tensors))[0] == "REJECTED"


@pytest.mark.parametrize("activation", ["softplus", "relu", "linear", "abs"])
def test_other_activations_are_refused(activation: str) -> None:
    net, pair = changed("positive")
    raw = build(net, [pair], activation=activation)
    assert check_bytes(raw).verdict.value == slow_check(raw).verdict == "REJECTED"
    assert "O1" in check_bytes(raw).reason


@pytest.mark.parametrize(
    ("method", "changes", "verdict"),
    [
        ("span", {"mu": Fraction(0)}, "REJECTED"),
        ("span", {"mu": Fraction(-1)}, "REJECTED"),
        ("span", {"mu": Fraction(10**6)}, "REJECTED"),
        ("span", {"heads": "any"}, "MALFORMED"),
        ("decay", {"decay": Fraction(0)}, "REJECTED"),
        ("decay", {"decay": Fraction(-1)}, "REJECTED"),
        ("decay", {"decay": Fraction(41, 100)}, "REJECTED"),
        ("decay", {"v_max": Fraction(0)}, "REJECTED"),
        ("decay", {"v_max": Fraction(-1)}, "REJECTED"),
        ("decay", {"v_max": Fraction(99, 100)}, "REJECTED"),
        ("decay", {"v_max": Fraction(2)}, "REJECTED"),
        ("decay", {"heads": "nonpositive"}, "MALFORMED"),
        ("decay", {"rank": 2}, "MALFORMED"),
        ("positive", {"heads": "any"}, "MALFORMED"),
        ("positive", {"heads": "nonpositive"}, "REJECTED"),
        ("positive", {"mu": Fraction(1)}, "MALFORMED"),
        ("positive", {"method": "negative"}, "MALFORMED"),
        ("positive", {"version": 2}, "MALFORMED"),
        ("positive", {"theorem": "quadratic-gap/2"}, "MALFORMED"),
    ],
)
def test_fields_outside_their_range_are_refused(
    method: str, changes: dict[str, Any], verdict: str
) -> None:
    net, (fields, tensors) = changed(method)
    assert verdicts(net, (fields | gmc.written(changes), tensors))[0] == verdict


def test_one_sided_heads_need_only_one_side_and_any_needs_both() -> None:
    net = random_network(10, 3, 4).trained(0.4)
    fields, tensors = gap_decay(net, 0.4, heads="nonnegative")
    Z, c = net.weighted(tensors["u"]), 0.2
    assert np.linalg.eigvalsh(Z)[-1] > c
    wrong = tensors | {"C_upper": inverse_factor(c * np.eye(3) + Z)}
    assert verdicts(net, (fields | {"heads": "any"}, wrong))[0] == "REJECTED"
    mixed = random_network(10, 3, 4, heads="any").trained(0.4)
    fields, tensors = gap_decay(mixed, 0.4, heads="any")
    one_side = {"u": tensors["u"], "C_lower": tensors["C_lower"]}
    verdict, reason = verdicts(mixed, (fields | {"heads": "nonnegative"}, one_side))
    assert (verdict, "O3" in reason) == ("REJECTED", True)


def test_too_few_samples_for_the_span_are_refused() -> None:
    net = random_network(5, 3, 6, heads="any").trained()
    full = random_network(12, 3, 6, heads="any").trained()
    fields, tensors = gap_span(full)
    assert verdicts(net, (fields | {"loss_upper": "100"}, tensors))[0] == "REJECTED"


def test_a_budget_that_is_too_small_leaves_the_claim_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, pair = changed("span")
    raw = build(net, [pair])
    monkeypatch.setattr(limits, "WORK", 1000)
    result = check_bytes(raw)
    assert result.verdict.value == "UNDECIDED"
    assert "budget" in result.reason


def test_the_statement_names_the_class_and_the_gap() -> None:
    net, pair = changed("decay")
    statement = check_bytes(build(net, [pair])).statement
    assert "penalized loss" in statement
    assert "v >= 0" in statement
    net, pair = changed("span")
    statement = check_bytes(build(net, [pair])).statement
    assert "any head" in statement
    assert "training loss" in statement


def test_a_positive_floor_and_a_gap_live_in_one_file() -> None:
    net = random_network(6, 2, 3)
    net = replace(net, X=np.vstack([net.X, net.X[:1]]), y=np.append(net.y, net.y[0] + 1)).trained()
    floor = floor_claim(
        [(0, [0, 6])], floor=Fraction(1, 5), loss_upper=Fraction(10), gap=Fraction(10)
    )
    result = check_bytes(build(net, [floor, gap_positive(net)]))
    assert result.verdict.value == "ACCEPTED", result.reason
    assert result.statement.count("\n") == 1
