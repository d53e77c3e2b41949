"""Shapes of curves in `dual-gap` (R7 (b)): golden examples by hand, kinks and slopes in exact
rationals, multipliers, and everything that must be refused.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.regularized_cases import Case, changed, file_of, golden
from tests.checker.several_cases import golden_softmax
from tests.corpus.whole_files import opened
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.container import Tensor
from globalmin_check.engine import check_bytes

WORDS = ("increasing", "decreasing", "convex", "concave")


def verdict(raw: bytes) -> str:
    """That of the checker, which the slow one must share."""
    result = check_bytes(raw).verdict.value
    assert slow_check(raw).verdict == result
    return result


def falling(rho: float, *, t: float = 1.0, b: Fraction = Fraction(1, 2), **network: Any) -> bytes:
    """The data fall and the class rises: the constant 0 is optimal."""
    case, _ = golden(b=b, shapes=["increasing"], **network)
    case = replace(case, y=-case.y, W=0 * case.W, v=0 * case.v, bias=0 * case.bias, intercept=0.0)
    return file_of(case, np.array([-t, t]), witness={"rho": np.array([[rho, 0.0]])})


def curves(word: str, W: Any, bias: Any, v: Any, X: Any = (-1.0, 1.0), **network: Any) -> bytes:
    """A network of one column with this shape, and u = 0."""
    X = np.array(X)[:, None]
    case = Case(
        X, np.zeros(len(X)), np.array(W, float)[:, None], np.array(v, float),
        bias=np.array(bias, float), intercept=0.0, network={"shapes": [word]} | network,
    )  # fmt: skip
    witness = {"rho": np.zeros((1, len(X)))} if word in ("increasing", "decreasing") else None
    return file_of(case, np.zeros(len(X)), witness=witness)


def test_the_constant_is_optimal_among_rising_curves_of_falling_data():
    raw = falling(1.0)
    assert verdict(raw) == "ACCEPTED"
    claim = check_bytes(raw).claims[0]
    assert float(claim.numbers["gap"]) == 0.0
    assert float(claim.numbers["p_low"]) == 1.0
    assert "columns 0 is nondecreasing on the whole line" in str(claim.statement)


@pytest.mark.parametrize("rule", ["penalized", "free"])
@pytest.mark.parametrize("excess", [1, -1])
def test_multipliers_may_miss_by_what_the_decay_allows(excess: int, rule: str):
    # U' = -+(s, -s): b^2 >= 2 s^2, with free biases b >= 2 s
    last = Fraction(353, 1000) if rule == "penalized" else Fraction(1, 4)
    assert verdict(falling(1.0 + excess * float(last), hidden_bias=rule)) == "ACCEPTED"
    assert (
        verdict(falling(1.0 + excess * float(last + Fraction(1, 1000)), hidden_bias=rule))
        == "REJECTED"
    )


def test_multipliers_have_a_sign_and_a_place():
    assert verdict(falling(0.0)) == "REJECTED"
    case, u = golden(shapes=["decreasing"])
    case = replace(case, v=-case.v)
    for rho, wanted in (
        ([0.0, 0.0], "ACCEPTED"), ([-1e-300, 0.0], "REJECTED"), ([0.0, 1e-300], "REJECTED"),
    ):  # fmt: skip
        raw = file_of(case, 0.1 * u, witness={"rho": np.array([rho])})
        assert verdict(raw) == wanted
        assert wanted == "ACCEPTED" or "Y15" in check_bytes(raw).reason


def test_multipliers_belong_to_their_own_column():
    case, _ = golden(shapes=["increasing", "decreasing"])
    case = replace(
        case, X=np.hstack([case.X, -case.X]), y=-case.y, W=np.zeros((1, 2)), v=0 * case.v,
        bias=0 * case.bias, intercept=0.0,
    )  # fmt: skip
    u = np.array([-1.0, 1.0])
    # column 1 is -1 times column 0: its largest value is in the first row
    own = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert verdict(file_of(case, u, witness={"rho": own})) == "ACCEPTED"
    assert verdict(file_of(case, u, witness={"rho": own[::-1].copy()})) == "REJECTED"
    one = changed(case, network={"shapes": ["increasing", "none"]})
    assert verdict(file_of(one, u, witness={"rho": own[:1]})) == "REJECTED"  # column 1 may fall


def test_multipliers_of_equal_values_add_up():
    X = np.array([[-1.0], [-1.0], [1.0]])
    case = Case(
        X, np.array([1.0, 1.0, -2.0]), np.zeros((1, 1)), np.zeros(1), bias=np.zeros(1),
        intercept=0.0, network={"shapes": ["increasing"], "b": Fraction(1, 2)},
    )  # fmt: skip
    u = np.array([-1.0, -1.0, 2.0])
    for rho, wanted in (([1.0, 1.0, 0.0], "ACCEPTED"), ([1.0, 0.0, 0.0], "REJECTED")):
        assert verdict(file_of(case, u, witness={"rho": np.array([rho])})) == wanted


def test_convex_curves_need_one_sign_and_twice_the_decay_for_lines():
    case, u = golden(shapes=["convex"], t=0.353)
    assert verdict(file_of(case, u)) == "ACCEPTED"
    assert "columns 0 is convex on the whole line" in check_bytes(file_of(case, u)).statement
    assert verdict(file_of(case, u * 0.354 / 0.353)) == "REJECTED"
    # y = (0, 1, 0) asks for a bend downwards: u = t (1, -2, 1) is free for convex curves
    X, y = np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, 1.0, 0.0])
    case = Case(X, y, np.zeros((1, 1)), np.zeros(1), bias=np.zeros(1), intercept=1 / 4,
                network={"shapes": ["convex"], "b": Fraction(1, 100)})  # fmt: skip
    bend = np.array([1.0, -2.0, 1.0]) / 4
    assert verdict(file_of(case, bend)) == "ACCEPTED"
    assert verdict(file_of(case, -bend)) == "REJECTED"
    assert verdict(file_of(changed(case, network={"shapes": ["concave"]}), bend)) == "REJECTED"
    assert verdict(file_of(changed(case, network={"shapes": ["concave"]}), -bend)) == "ACCEPTED"


@pytest.mark.parametrize("rule", ["penalized", "free"])
def test_lines_are_tested_beside_single_neurons(rule: str):
    """u = (1, -2, 1) + s (-1, 0, 1) at (-4, 0, 4): |S| = 8 s <= 2b binds at s = b/4. The neurons
    that are lines on the data cost sqrt 17 and gain 8 s, with free biases 1 and 8 s.
    """
    X, s = np.array([[-4.0], [0.0], [4.0]]), 1 / 8
    for sign in (1.0, -1.0):
        case = Case(X, np.zeros(3), np.zeros((1, 1)), np.zeros(1), bias=np.zeros(1), intercept=0.0,
                    network={"shapes": ["convex"], "hidden_bias": rule})  # fmt: skip
        for factor, wanted in ((1.0, "ACCEPTED"), (1 + 2.0**-40, "REJECTED")):
            trend = sign * factor * s * np.array([-1.0, 0.0, 1.0])
            raw = file_of(case, np.array([1.0, -2.0, 1.0]) + trend)
            assert verdict(raw) == ("REJECTED" if rule == "free" else wanted)
            halved = file_of(case, np.array([1.0, -2.0, 1.0]) + trend / 2)
            assert verdict(halved) == (wanted if rule == "free" else "ACCEPTED")


def test_constants_are_tested_where_no_intercept_takes_them():
    case = Case(np.array([[0.0], [0.0]]), np.zeros(2), np.zeros((1, 1)), np.zeros(1),
                bias=np.zeros(1), network={"shapes": ["convex"], "b": Fraction(1)})  # fmt: skip
    # u = (s, s): a constant -1 gains 2 s, and v < 0 is allowed for constants
    assert verdict(file_of(case, np.array([0.5, 0.5]))) == "ACCEPTED"
    assert verdict(file_of(case, np.array([0.5, 0.5 + 2.0**-40]))) == "REJECTED"
    assert verdict(file_of(case, -np.array([0.5, 0.5 + 2.0**-40]))) == "REJECTED"


@pytest.mark.parametrize(
    ("word", "W", "bias", "v", "holds"),
    [
        ("increasing", [1, 1], [-1, -2], [1, -1], True),  # rises and stays: no neuron-wise rule
        ("increasing", [1, 1], [-1, -2], [1, -(1 + 2**-52)], False),
        ("increasing", [1, 1], [-2, -1], [1, -1], False),  # falls between 1 and 2
        ("increasing", [1, -1], [0, 0], [1, -1], True),  # a line
        ("increasing", [1, -1], [0, -1], [1, 1e-12], False),  # falls left of -1 only
        ("increasing", [-1, -1], [1, 2], [-1, 1], False),  # rises left of 1, falls before 2
        ("increasing", [-1, -1], [1, 2], [1, -1], True),
        ("decreasing", [-1], [0], [1], True),
        ("decreasing", [1], [0], [1], False),
        ("convex", [1, -1], [0, 0], [1, -1], True),  # a line again
        ("convex", [1, -1], [0, 2**-52], [1, -1], False),  # the kinks differ by one unit
        ("convex", [1, -1], [-1, 1], [1, -1], True),
        ("convex", [2, -1], [-2, 1], [0.5, -1], True),
        ("convex", [2, -1], [-2, 1], [0.5, -1 - 2**-52], False),
        ("convex", [1, 1], [3, -3], [1, 1], True),
        ("concave", [1, 1], [3, -3], [1, 1], False),
        ("concave", [1, 1], [3, -3], [-1, -1], True),
        ("increasing", [0, 0], [1, -1], [-5, 5], True),  # constants belong to no curve
        ("convex", [0], [1], [-5], True),
    ],
)
def test_shapes_of_the_stored_network(word, W, bias, v, holds):
    for rule in ("penalized", "free"):
        raw = curves(word, W, bias, v, hidden_bias=rule)
        assert verdict(raw) == ("ACCEPTED" if holds else "REJECTED")
        assert holds or "Y16" in check_bytes(raw).reason


def test_kinks_count_tau_and_tiny_slopes():
    # with tau = 3 the stored biases of one kink are a third of those of the pre-activation
    assert verdict(curves("convex", [1, -1], [-1, 1], [1, -1], tau=Fraction(3))) == "ACCEPTED"
    assert verdict(curves("increasing", [1e-300], [0], [-1e-300])) == "REJECTED"
    assert verdict(curves("increasing", [1e-300], [0], [1e-300])) == "ACCEPTED"
    # a curve that is fine at the data and dips by 1e-12 between two kinks
    dip = [1, 1, 1], [0, -0.25, -0.5], [1e-12, -2e-12, 2e-12]
    assert "Y16" in check_bytes(curves("increasing", *dip)).reason


@pytest.mark.parametrize(
    "edit",
    [
        {"shapes": ["rising"]},
        {"shapes": ["none"]},
        {"shapes": []},
        {"shapes": ["convex", "none"]},
        {"shapes": "convex"},
        {"shapes": [1]},
        {"shapes": ["convex"], "monotone": [1]},
        {"shapes": ["convex"], "heads": "nonnegative"},
        {"shapes": ["increasing"]},  # without rho
    ],
)
def test_malformed_shapes(edit: dict[str, Any]):
    file = opened(file_of(*golden()))
    file.top["network"] |= edit
    assert verdict(file.sealed()) == "MALFORMED"


def beside(part: str) -> tuple[Case, np.ndarray]:
    """A class that shapes exclude."""
    case, u = golden()
    if part == "linear":
        return replace(case, linear=np.zeros(1)), 0 * u
    if part == "penalized linear":
        rule = {"linear": "penalized", "k1": Fraction(1)}
        return replace(case, linear=np.zeros(1), network=case.network | rule), u
    if part == "no biases":
        return replace(case, bias=None), u
    if part == "pairs":
        X, W = np.hstack([case.X, case.X]), np.hstack([case.W, 0 * case.W])
        return replace(case, X=X, W=W, network=case.network | {"groups": [[0, 1]]}), u / 4
    return replace(case, network=case.network | {part: "nonnegative"}), u


@pytest.mark.parametrize("part", ["linear", "penalized linear", "no biases", "pairs", "heads"])
def test_classes_that_have_no_shapes(part: str):
    """The same file is accepted without them."""
    case, u = beside(part)
    raw = file_of(case, u, "cones" if part == "pairs" else "columns")
    assert verdict(raw) == "ACCEPTED"
    file = opened(raw)
    file.top["network"]["shapes"] = ["convex"] + ["none"] * (case.X.shape[1] - 1)
    assert verdict(file.sealed()) == "MALFORMED"
    assert "shapes does not fit" in check_bytes(file.sealed()).reason


def test_several_outputs_have_no_shapes():
    raw = file_of(*golden_softmax())
    assert verdict(raw) == "ACCEPTED"
    file = opened(raw)
    file.top["network"]["shapes"] = ["convex"]
    assert verdict(file.sealed()) == "MALFORMED"
    assert "shapes does not fit" in check_bytes(file.sealed()).reason


def test_malformed_constraints_and_witnesses():
    case, u = golden(shapes=["convex"])
    file = opened(file_of(case, u))
    file.claim["constraint"] = "cones"
    assert verdict(file.sealed()) == "MALFORMED"
    file = opened(falling(1.0))
    for shape in ((1, 3), (2, 2), (2,)):
        other = file.copy()
        other.tensors["claims.0.rho"] = np.zeros(shape)
        assert verdict(other.sealed()) == "MALFORMED"
    del file.tensors["claims.0.rho"]
    assert verdict(file.sealed()) == "MALFORMED"


def test_unused_terms_is_not_about_shapes():
    case, u = golden(shapes=["convex"])
    raw = file_of(golden()[0], u, kind="unused-terms", h=[Fraction(1, 2)], unused=[])
    assert verdict(raw) == "ACCEPTED"
    file = opened(raw)
    file.top["network"]["shapes"] = case.network["shapes"]
    assert verdict(file.sealed()) == "MALFORMED"


def test_the_weights_are_read_a_few_times_and_not_once_for_every_column(
    monkeypatch: pytest.MonkeyPatch,
):
    """A file of many columns and neurons took their product times the length of a row."""
    d, calls, row = 24, [], Tensor.row
    case = Case(
        np.arange(2.0 * d).reshape(2, d), np.zeros(2), np.eye(d), np.ones(d), bias=np.zeros(d),
        intercept=0.0, network={"shapes": ["convex"] * d},
    )  # fmt: skip
    raw = file_of(case, np.zeros(2))
    monkeypatch.setattr(Tensor, "row", lambda tensor, i: calls.append(i) or row(tensor, i))
    assert check_bytes(raw).verdict.value == "ACCEPTED"
    assert len(calls) <= 4 * d
