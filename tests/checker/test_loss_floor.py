"""The claim loss-floor: golden examples, exact floors by brute force, and every group that is not
of its kind refused.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from scipy.optimize import minimize_scalar
from tests.checker.cases import floor_claim
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.balls import precision
from globalmin_check.engine import check_bytes

EQUAL, ZERO, RAY, LINE, ODD, NEGATIVE = range(6)
BIG = Fraction(10**6)


def floor(
    X: Any,
    y: Any,
    groups: list,
    claimed: Fraction,
    *,
    activation: str = "relu",
    v: Any = (1.0,),
    **options: Any,
) -> Result:
    X = np.array(X, float)
    parameter = Fraction(1, 4) if activation == "leaky_relu" else None
    claim = floor_claim(groups, floor=claimed, loss_upper=BIG, **options)
    W = np.full((len(v), X.shape[1]), 0.5)
    return check_bytes(gmc.build(X, y, W, v, [claim], activation=activation, parameter=parameter))


def assert_exact(X: Any, y: Any, groups: list, exact: Fraction, **options: Any) -> None:
    """The exact floor is accepted, the least bit more is rejected."""
    result = floor(X, y, groups, exact, **options)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    above = floor(X, y, groups, exact + Fraction(1, 10**300), **options)
    assert above.verdict is Verdict.REJECTED
    assert "check F6 " in above.reason


def refused(X: Any, y: Any, groups: list, **options: Any) -> None:
    result = floor(X, y, groups, Fraction(0), **options)
    assert result.verdict is Verdict.REJECTED
    assert "check F5 " in result.reason


@pytest.mark.parametrize(
    "activation",
    ["relu", "leaky_relu", "abs", "linear", "quadratic", "softplus", "sigmoid", "tanh", "erf"],
)
def test_golden_equal_rows_count_zero_and_minus_zero_as_equal(activation: str) -> None:
    assert_exact(
        [[0.0], [-0.0]], [0.0, 1.0], [(EQUAL, [0, 1])], Fraction(1, 4), activation=activation
    )


def test_golden_ray() -> None:
    rows = [[1.0, 2.0], [2.0, 4.0]]
    for activation in ("relu", "leaky_relu", "linear"):
        assert_exact(rows, [1.0, 1.0], [(RAY, [0, 1])], Fraction(1, 10), activation=activation)
    assert_exact(
        rows, [1.0, 1.0], [(RAY, [0, 1])], (2 - Fraction(25, 17)) / 2, activation="quadratic"
    )


def test_golden_opposite_rows() -> None:
    rows = [[1.0, 2.0], [-2.0, -4.0]]
    refused(rows, [1.0, 1.0], [(RAY, [0, 1])], activation="relu")
    refused(rows, [1.0, 1.0], [(LINE, [0, 1])], activation="relu")
    assert_exact(
        rows, [1.0, 1.0], [(LINE, [0, 1])], (2 - Fraction(25, 17)) / 2, activation="quadratic"
    )
    assert_exact(rows, [1.0, 1.0], [(LINE, [0, 1])], Fraction(1, 10), activation="abs")


def test_golden_zero_rows() -> None:
    for activation in ("relu", "leaky_relu", "abs", "quadratic", "linear", "tanh", "erf"):
        assert_exact(
            [[0.0, -0.0], [0.0, 0.0]],
            [3.0, -1.0],
            [(ZERO, [0, 1])],
            Fraction(5),
            activation=activation,
        )
    for activation in ("softplus", "sigmoid"):
        refused([[0.0]], [1.0], [(ZERO, [0])], activation=activation)


def test_golden_odd_pairs() -> None:
    rows = [[1.0, -2.0], [-1.0, 2.0], [1.0, -2.0]]
    for activation in ("tanh", "erf"):
        assert_exact(
            rows,
            [1.0, 1.0, 1.0],
            [(ODD, [0, 1, 2])],
            (3 - Fraction(1, 3)) / 2,
            activation=activation,
        )
    refused(rows, [1.0, 1.0, 1.0], [(ODD, [0, 1, 2])], activation="relu")
    refused([[1.0], [2.0]], [1.0, 1.0], [(ODD, [0, 1])], activation="tanh")


def test_golden_negative_labels_cost_their_square_for_nonnegative_heads() -> None:
    for activation in ("relu", "abs", "quadratic", "softplus", "sigmoid"):
        assert_exact(
            [[1.0]],
            [-3.0],
            [(NEGATIVE, [0])],
            Fraction(9, 2),
            activation=activation,
            heads="nonnegative",
        )
    refused([[1.0]], [-3.0], [(NEGATIVE, [0])])
    refused([[1.0]], [3.0], [(NEGATIVE, [0])], heads="nonnegative")
    refused([[1.0]], [0.0], [(NEGATIVE, [0])], heads="nonnegative")
    refused([[1.0], [1.0]], [-3.0, -3.0], [(NEGATIVE, [0, 1])], heads="nonnegative")


@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh", "erf", "abs"])
def test_activations_that_are_not_homogeneous_have_no_rays(activation: str) -> None:
    refused([[1.0], [2.0]], [1.0, 1.0], [(RAY, [0, 1])], activation=activation)


def test_nonnegative_heads_sharpen_the_floor() -> None:
    rows, y, groups = [[1.0], [2.0], [4.0]], [-1.0, -1.0, 1.0], [(RAY, [0, 1, 2])]
    assert_exact(rows, y, groups, (3 - Fraction(1, 21)) / 2)
    assert_exact(rows, y, groups, (3 - Fraction(1, 21)) / 2, heads="nonnegative")
    assert_exact(rows, [-1.0, -1.0, -1.0], groups, Fraction(3, 2), heads="nonnegative")
    assert_exact(rows, [-1.0, -1.0, -1.0], groups, (3 - Fraction(49, 21)) / 2)


@pytest.mark.parametrize("seed", range(6))
def test_floors_agree_with_one_dimensional_minimization(seed: int) -> None:
    rng = np.random.default_rng(seed)
    c = rng.integers(1, 9, 4) / 4
    u = rng.integers(-8, 9, 3) / 8 + 1 / 16
    y = rng.integers(-8, 9, 4) / 4
    X = c[:, None] * u
    nonnegative = bool(seed % 2)
    best = minimize_scalar(
        lambda t: 0.5 * np.sum((c * (abs(t) if nonnegative else t) - y) ** 2)
    ).fun
    g = [Fraction(float(value)) / Fraction(float(c[0])) for value in c]
    labels = [Fraction(float(value)) for value in y]
    inner = sum(a * b for a, b in zip(g, labels, strict=True))
    inner = max(inner, Fraction(0)) if nonnegative else inner
    reference = (sum(b * b for b in labels) - inner**2 / sum(a * a for a in g)) / 2
    assert float(reference) == pytest.approx(best, abs=1e-9)
    assert_exact(
        X, y, [(RAY, [0, 1, 2, 3])], reference, heads="nonnegative" if nonnegative else "any"
    )


def test_groups_add_up_and_single_members_cost_nothing() -> None:
    X = [[0.0], [1.0], [1.0], [2.0], [3.0]]
    y = [2.0, 0.0, 1.0, 5.0, 7.0]
    groups = [(ZERO, [0]), (EQUAL, [1, 2]), (RAY, [3]), (EQUAL, [4])]
    assert_exact(X, y, groups, 2 + Fraction(1, 4))


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        ([[1.0], [1.0 + 2**-52]], EQUAL),
        ([[5e-324], [0.0]], ZERO),
        ([[1.0, 2.0], [2.0, 4.0000000001]], RAY),
        ([[1.0, 0.0], [2.0, 5e-324]], RAY),
        ([[0.0, 1.0], [1.0, 1.0]], RAY),
        ([[0.0, 0.0], [1.0, 1.0]], RAY),
        ([[1.0, 1.0], [0.0, 0.0]], RAY),
        ([[0.1], [0.3]], EQUAL),
    ],
)
def test_rows_that_are_not_of_the_kind_are_rejected(rows: list, kind: int) -> None:
    refused(rows, [1.0, 1.0], [(kind, [0, 1])])


def test_ratios_are_exact_rationals_not_floats() -> None:
    """0.1 * 3 is not 0.3: the rows (0.1, 0.3) and (0.3, 0.9) are not on one ray, (0.1, 0.3) and
    (0.2, 0.6) are.
    """
    refused([[0.1, 0.3], [0.3, 0.9]], [1.0, 1.0], [(RAY, [0, 1])])
    result = floor([[0.1, 0.3], [0.2, 0.6]], [1.0, 2.0], [(RAY, [0, 1])], Fraction(0))
    assert result.verdict is Verdict.ACCEPTED


def test_nonnegative_heads_are_verified() -> None:
    groups = [(EQUAL, [0, 1])]
    for head, verdict in (
        (-0.0, Verdict.ACCEPTED),
        (0.0, Verdict.ACCEPTED),
        (-5e-324, Verdict.REJECTED),
    ):
        result = floor(
            [[1.0], [1.0]], [0.0, 1.0], groups, Fraction(1, 4), v=(1.0, head), heads="nonnegative"
        )
        assert result.verdict is verdict
    for activation in ("tanh", "leaky_relu", "linear"):
        result = floor(
            [[1.0], [1.0]],
            [0.0, 1.0],
            groups,
            Fraction(1, 4),
            activation=activation,
            heads="nonnegative",
        )
        assert "check F2 " in result.reason


def test_the_gap_is_exact_and_the_loss_is_verified_exactly_at_ties() -> None:
    X, y = np.array([[1.0], [1.0]]), np.array([0.0, 1.0])
    W, v = np.array([[0.25]]), np.array([2.0])  # f = 1/2 on both rows: L = 1/4, the floor itself

    def verdict(**changes: Any) -> Result:
        fields, tensors = floor_claim(
            [(EQUAL, [0, 1])], floor=Fraction(1, 4), loss_upper=Fraction(1, 4)
        )
        return check_bytes(gmc.build(X, y, W, v, [(fields | changes, tensors)], activation="relu"))

    accepted = verdict()
    assert accepted.verdict is Verdict.ACCEPTED
    assert accepted.claims[0].numbers["gap"] == 0.0
    assert "check F7 " in verdict(loss_upper="6249/25000").reason
    assert "check F4 " in verdict(loss_upper="1/2").reason
    assert "check F3b " in verdict(gap="-1/2").reason
    assert "check F3a " in verdict(floor="-1/2", gap="1").reason


def test_a_loss_bound_closer_than_128_bits_is_decided_at_256() -> None:
    """One softplus neuron at 0 with label 0 has L = (log 2)^2/2; bounds 1e-50 above and below
    it.
    """
    with precision(300):
        exact = arb(2).log() ** 2 / 2
        near = Fraction(int((exact * arb(10) ** 50).floor().unique_fmpz()), 10**50)
    for bound, verdict in (
        (near + Fraction(1, 10**50), Verdict.ACCEPTED),
        (near, Verdict.REJECTED),
    ):
        claim = floor_claim([(EQUAL, [0])], floor=Fraction(0), loss_upper=bound)
        blob = gmc.build(
            np.zeros((1, 1)),
            np.zeros(1),
            np.ones((1, 1)),
            np.ones(1),
            [claim],
            activation="softplus",
        )
        assert check_bytes(blob).verdict is verdict


@pytest.mark.parametrize(
    ("members", "sizes", "kinds"),
    [
        ([0, 1, 1], [2, 1], [0, 0]),
        ([0, 0], [2], [0]),
        ([0, 1], [1], [0]),
        ([0, 1], [3], [0]),
        ([0, 1], [2, 0], [0, 0]),
        ([0, 1], [3, -1], [0, 0]),
        ([0, 2], [2], [0]),
        ([-1, 0], [2], [0]),
        ([0, 1], [2], [6]),
        ([0, 1], [2], [-1]),
        ([0, 1], [2], [0, 0]),
        ([], [], []),
    ],
)
def test_bad_groups_are_malformed(members: list, sizes: list, kinds: list) -> None:
    fields, _ = floor_claim([(EQUAL, [0, 1])], floor=Fraction(0), loss_upper=BIG)
    tensors = {
        name: np.array(value, np.int64)
        for name, value in (("members", members), ("sizes", sizes), ("kinds", kinds))
    }
    blob = gmc.build(
        np.ones((2, 1)),
        np.ones(2),
        np.ones((1, 1)),
        np.ones(1),
        [(fields, tensors)],
        activation="relu",
    )
    assert check_bytes(blob).verdict is Verdict.MALFORMED
