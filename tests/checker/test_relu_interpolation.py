"""The claim relu-interpolation: honest files, exact signs, sample reduction, margins, and what must
be refused.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import Relu, build_relu, relu_claim, relu_network
from tests.checker.records import exact_checks
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.engine import check_bytes


def checked(net: Relu, fields: dict, tensors: dict, **options: Any) -> Result:
    return check_bytes(build_relu(net, [(fields, tensors)], **options))


@pytest.mark.parametrize("seed", range(5))
def test_honest_files_are_accepted(seed: int) -> None:
    net = relu_network(8, 6, 7, seed=seed)
    result = checked(net, *relu_claim(net))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert result.claims[0].numbers["R"] >= np.linalg.norm(net.W - net.W_hat)


def test_a_subset_of_neurons_suffices() -> None:
    net = replace(relu_network(6, 6, 9), T=np.array([0, 2, 3, 5, 6, 8]))
    result = checked(net, *relu_claim(net))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert result.claims[0].numbers["neurons"] == 6


def test_golden_one_neuron_moves_to_its_label() -> None:
    """x = 1, v = 1, w = what = 1, y = 3/2: rhat = -1/2, G = 1, the zero is at distance 1/2 =
    |rhat|/sqrt(mu).
    """
    net = Relu(
        np.ones((1, 1)),
        np.array([1.5]),
        np.ones((1, 1)),
        np.ones(1),
        np.ones((1, 1)),
        np.array([0]),
    )
    mu = Fraction(999999, 10**6)
    tensors = {
        "W_hat": net.W_hat,
        "T": net.T,
        "dropped": np.zeros((0, 2), np.int64),
        "C": np.array([[1e3]]),
    }
    fields = gmc.claim(
        "relu-interpolation", mu=mu, R=Fraction(5001, 10**4), loss_upper=Fraction(1, 8)
    )
    assert checked(net, fields, tensors).verdict is Verdict.ACCEPTED
    assert "check R5 " in checked(net, fields | {"R": "499/1000"}, tensors).reason
    assert "check R4 " in checked(net, fields | {"loss_upper": "31/250"}, tensors).reason


@pytest.mark.parametrize("y", [-0.5, -1e-9])
def test_golden_negative_labels_with_a_positive_head_are_never_accepted(y: float) -> None:
    net = Relu(
        np.ones((1, 1)), np.array([y]), np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.array([0])
    )
    tensors = {"T": net.T, "dropped": np.zeros((0, 2), np.int64)}
    for what in (1.0, 1e-12, 5e-324, 0.0, -1.0):
        for mu in (Fraction(999, 1000), Fraction(1, 10**30)):
            witness = tensors | {
                "W_hat": np.array([[what]]),
                "C": np.array([[1 / np.sqrt(1 - float(mu))]]),
            }
            fields = gmc.claim("relu-interpolation", mu=mu, R=Fraction(10), loss_upper=Fraction(10))
            assert checked(net, fields, witness).verdict is not Verdict.ACCEPTED


def test_the_second_inequality_rescues_a_large_row() -> None:
    """Two orthogonal rows, the second neuron sees only the first: its margin to the second row
    counts, not the row's length.
    """
    X = np.array([[1.0, 0.0], [0.0, 100.0]])
    W_hat = np.array([[1.0, -1e-3], [-1.0, 1.0]])
    v = np.array([1.0, 1.0])
    y = np.maximum(X @ W_hat.T, 0) @ v + np.array([1e-2, 0.0])
    net = Relu(X, y, W_hat, v, W_hat, np.array([0, 1]))
    fields, tensors = relu_claim(net)
    result = checked(net, fields, tensors)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    line = next(line for line in result.claims[0].checks if line.number == "R6")
    assert "0 of them by the second" not in line.left


def test_signs_are_decided_exactly_when_balls_do_not() -> None:
    """zhat = 1e300 * 1 + 1e-300 * 1 - 1e300: the cancellation is beyond 128 bits, the sign is
    positive.
    """
    X = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    for tiny, sign in ((1e-300, 1), (-1e-300, 0), (0.0, 0)):
        W_hat = np.array([[1e300, tiny, -1e300], [1.0, 1.0, 1.0]])
        net = Relu(X, np.zeros(2), W_hat, np.array([1e-300, 1.0]), W_hat, np.array([1]))
        from globalmin_check.certificate import read_certificate
        from globalmin_check.claims.relu_signs import active

        claim = gmc.claim(
            "relu-interpolation", mu=Fraction(1, 2), R=Fraction(1), loss_upper=Fraction(1)
        )
        tensors = {
            "W_hat": W_hat,
            "T": net.T,
            "dropped": np.zeros((0, 2), np.int64),
            "C": np.eye(2),
        }
        problem, claims = read_certificate(build_relu(net, [(claim, tensors)]), None)
        assert active(problem.X.rows(), claims[0].content.W_hat, exact_checks())[0][0] == sign


def reduced_network() -> Relu:
    """Sample 4 is twice sample 1, sample 5 is zero, sample 6 equals sample 0."""
    net = relu_network(4, 6, 7)
    X = np.vstack([net.X, 2 * net.X[1], np.zeros(6), net.X[0]])
    y = np.concatenate([net.y, [2 * net.y[1], 0.0, net.y[0]]])
    return replace(net, X=X, y=y)


def test_samples_that_follow_from_others_are_dropped() -> None:
    net = reduced_network()
    result = checked(net, *relu_claim(net, dropped=[(4, 1), (5, -1), (6, 0)]))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert result.claims[0].numbers["dropped"] == 3


@pytest.mark.parametrize(
    ("row", "change"),
    [
        (4, ("y", 1e-13)),
        (4, ("X", 1e-13)),
        (5, ("y", 1e-300)),
        (5, ("X", 5e-324)),
        (6, ("y", 1.0)),
        (4, ("X", None)),
        (6, ("X", None)),
    ],
)
def test_samples_that_do_not_follow_are_rejected(
    row: int, change: tuple[str, float | None]
) -> None:
    net = reduced_network()
    claim = relu_claim(net, dropped=[(4, 1), (5, -1), (6, 0)], loss_upper=Fraction(1000))
    X, y = net.X.copy(), net.y.copy()
    name, amount = change
    if name == "y":
        y[row] += amount
    elif amount is None:
        X[row], y[row] = -X[row], -y[row]
    else:
        X[row, 0] += amount
    result = checked(replace(net, X=X, y=y), *claim)
    assert result.verdict is Verdict.REJECTED
    assert "check R3 " in result.reason


def test_without_dropping_the_gram_matrix_is_singular() -> None:
    net = reduced_network()
    fields, tensors = relu_claim(net, dropped=[(4, 1), (5, -1), (6, 0)])
    tensors |= {"dropped": np.zeros((0, 2), np.int64), "C": np.eye(7)}
    assert checked(net, fields, tensors).verdict is Verdict.REJECTED


REFUSED = {
    "mu zero": ({"mu": "0"}, {}, "R2"),
    "mu negative": ({"mu": "-1"}, {}, "R2"),
    "mu too large": ({"mu": "1000"}, {}, "R7"),
    "R zero": ({"R": "0"}, {}, "R5"),
    "loss too small": ({"loss_upper": "0"}, {}, "R4"),
    "C zero": ({}, {"C": np.zeros((8, 8))}, "R7"),
    "another witness": ({"R": "1000"}, {"W_hat": np.ones((7, 6))}, "R6"),
    "one neuron": ({}, {"T": np.array([0])}, "R7"),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_tightened_claims_and_bad_witnesses_are_rejected(name: str) -> None:
    changes, witnesses, number = REFUSED[name]
    net = relu_network(8, 6, 7)
    fields, tensors = relu_claim(net)
    result = checked(net, fields | changes, tensors | witnesses)
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason


@pytest.mark.parametrize("activation", ["softplus", "abs", "linear", "leaky_relu"])
def test_other_activations_are_rejected(activation: str) -> None:
    net = relu_network(8, 6, 7)
    parameter = Fraction(0) if activation == "leaky_relu" else None
    assert (
        "check R1 "
        in checked(net, *relu_claim(net), activation=activation, parameter=parameter).reason
    )


def test_a_pair_exactly_on_its_kink_is_allowed_only_with_zero_residual() -> None:
    X = np.array([[1.0, 0.0], [1.0, 1.0]])
    W_hat = np.array([[1.0, -1.0], [0.0, 1.0]])
    net = Relu(X, np.array([1.0, 1.0]), W_hat, np.ones(2), W_hat, np.array([0, 1]))
    mu = Fraction(1, 2)
    tensors = {
        "W_hat": W_hat,
        "T": net.T,
        "dropped": np.zeros((0, 2), np.int64),
        "C": np.diag([np.sqrt(2), np.sqrt(2 / 3)]),
    }
    fields = gmc.claim("relu-interpolation", mu=mu, R=Fraction(0), loss_upper=Fraction(0))
    assert checked(net, fields, tensors).verdict is Verdict.ACCEPTED
    moved = replace(net, y=np.array([1.0, 1.0 + 2.0**-50]))
    fields |= {"R": "1", "loss_upper": "1"}
    assert "check R6 " in checked(moved, fields, tensors).reason


@pytest.mark.parametrize("extra", [Fraction(0), Fraction(1, 10**60), -Fraction(1, 10**60)])
def test_a_margin_exactly_on_its_bound_is_decided_when_its_bits_fit(extra: Fraction) -> None:
    """zhat = x and v = 2: the first inequality reads rhat^2 <= mu, and mu = rhat^2 has more than
    128 bits.
    """
    x, y = 1 / 3, 0.75 / 3
    net = Relu(
        np.array([[x]]),
        np.array([y]),
        np.array([[1.0]]),
        np.array([2.0]),
        np.array([[1.0]]),
        np.array([0]),
    )
    mu = (2 * Fraction(x) - Fraction(y)) ** 2 + extra
    C = np.array([[1 / np.sqrt(4 * x * x - float(mu))]])
    tensors = {"W_hat": net.W_hat, "T": net.T, "dropped": np.zeros((0, 2), np.int64), "C": C}
    fields = gmc.claim("relu-interpolation", mu=mu, R=Fraction(2), loss_upper=Fraction(1))
    result = checked(net, fields, tensors)
    assert result.verdict is (Verdict.ACCEPTED if extra >= 0 else Verdict.REJECTED)
    assert extra >= 0 or "check R6 " in result.reason


@pytest.mark.parametrize(
    ("role", "value"),
    [
        ("T", np.zeros(0, np.int64)),
        ("T", np.array([1, 0])),
        ("T", np.array([0, 0])),
        ("T", np.array([-1, 0])),
        ("T", np.array([0, 7])),
        ("T", np.array([0.0, 1.0])),
        ("T", np.array([[0, 1]])),
        ("dropped", np.array([[0, 8]])),
        ("dropped", np.array([[8, 0]])),
        ("dropped", np.array([[-1, 0]])),
        ("dropped", np.array([[0, 0]])),
        ("dropped", np.array([[1, 2], [2, 0]])),
        ("dropped", np.array([[2, 0], [1, 0]])),
        ("dropped", np.array([[0, -2]])),
        ("dropped", np.zeros((0, 3), np.int64)),
        ("dropped", np.array([[i, -1] for i in range(8)])),
        ("C", np.eye(7)),
        ("C", np.ones((8, 7))),
        ("W_hat", np.ones((6, 7))),
    ],
)
def test_bad_index_tensors_and_shapes_are_malformed(role: str, value: np.ndarray) -> None:
    net = relu_network(8, 6, 7)
    fields, tensors = relu_claim(net)
    assert checked(net, fields, tensors | {role: value}).verdict is Verdict.MALFORMED


def test_margins_once_proved_are_not_computed_again_at_higher_precision() -> None:
    """|What - W| = sqrt 2 is bounded by a rational 1e-60 above it: decided at 256 bits, the margins
    already at 128.
    """
    W_hat = np.array([[1.0, 0.0], [0.0, 1.0]])
    net = Relu(
        np.eye(2),
        np.ones(2),
        W_hat + np.array([[1.0, 0.0], [0.0, 1.0]]),
        np.ones(2),
        W_hat,
        np.array([0, 1]),
    )
    tensors = {
        "W_hat": W_hat,
        "T": net.T,
        "dropped": np.zeros((0, 2), np.int64),
        "C": np.eye(2) * np.sqrt(2),
    }
    below = Fraction(math.isqrt(2 * 10**120), 10**60)
    for R, verdict in ((below + Fraction(1, 10**60), Verdict.ACCEPTED), (below, Verdict.REJECTED)):
        fields = gmc.claim("relu-interpolation", mu=Fraction(1, 2), R=R, loss_upper=Fraction(1))
        assert checked(net, fields, tensors).verdict is verdict
