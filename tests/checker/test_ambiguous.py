"""ambiguous: the second network is built from the theorem and differs as claimed; wrong kernels and
heads are refused.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.quadratic_cases import (
    Pair,
    Quadratic,
    ambiguous_claim,
    build,
    claim,
    random_network,
)
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.engine import check_bytes

SWAP = np.array([[0, 1], [1, 0]])


def verdicts(net: Quadratic, pair: Pair, **options: Any) -> tuple[str, str]:
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


def second_network(net: Quadratic, sigma2: float, kernel: np.ndarray) -> Quadratic:
    """W' of the proof: the same head, W'^T diag(v) W' = W^T diag(v) W + sigma2 M with |M| = 1."""
    B = net.M + sigma2 * kernel / np.linalg.norm(kernel, 2)
    b, Q = np.linalg.eigh(B)
    W = np.zeros_like(net.W)
    places = [j for j, v in enumerate(net.v) if v > 0][: len(b)]
    for j, value, q in zip(places, b, Q.T, strict=True):
        W[j] = np.sqrt(max(value, 0.0) / net.v[j]) * q
    return replace(net, W=W)


def second_moment(D: np.ndarray) -> float:
    """E (x^T D x)^2 over x ~ N(0, I)."""
    return float(2 * np.sum(D * D) + np.trace(D) ** 2)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_promised_second_network_exists_and_differs(d: int) -> None:
    n = d * (d + 1) // 2 - 1
    net = random_network(n, d, d + 2, seed=d)
    net = replace(net, v=np.concatenate([[0.0], np.linspace(0.5, 2, d + 1)]))
    fields, tensors = ambiguous_claim(net)
    assert verdicts(net, (fields, tensors))[0] == "ACCEPTED"
    pairs = [(a, b) for a in range(d) for b in range(a, d)]
    S = np.stack([net.X[:, a] * net.X[:, b] * (1 if a == b else 2) for a, b in pairs], axis=1)
    null = np.linalg.svd(S)[2][-1]
    kernel = np.zeros((d, d))
    for (a, b), entry in zip(pairs, null, strict=True):
        kernel[a, b] = kernel[b, a] = entry
    other = second_network(net, float(Fraction(fields["sigma2"])), kernel)
    np.testing.assert_allclose(other.residual(), net.residual(), atol=1e-12)
    assert second_moment(other.M - net.M) >= float(Fraction(fields["difference"])) * (1 - 1e-12)
    np.testing.assert_array_equal(other.v, net.v)


def golden(n: int = 2, **changes: Any) -> tuple[Quadratic, Pair]:
    """d = 2, rows e1 and e2 (repeated and scaled for n > 2), W = I, v = 1, sigma2 = 9/10."""
    X = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, -0.1]])[:n]
    net = Quadratic(X, np.array([1.0, 1.0, 9.0, 0.01])[:n], np.eye(2), np.ones(2))
    sigma2 = Fraction(9, 10)
    fields = {
        "sigma2": sigma2,
        "difference": Fraction(8, 3) * sigma2**2,
        "loss_upper": Fraction(1, 10**30),
    } | changes
    tensors: dict[str, Any] = {"C": np.eye(2) * np.sqrt(10)} | ({"M": SWAP} if n > 2 else {})
    return net, (claim("ambiguous", **fields), tensors)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_golden_example_below_and_above_the_critical_number(n: int) -> None:
    net, pair = golden(n)
    assert verdicts(net, pair)[0] == "ACCEPTED"
    true_value = second_moment(0.9 * SWAP)
    assert true_value == pytest.approx(4 * 0.81)
    assert float(Fraction(pair[0]["difference"])) <= true_value


@pytest.mark.parametrize(
    ("changes", "number"),
    [
        ({"difference": Fraction(8, 3) * Fraction(81, 100) + Fraction(1, 10**40)}, "A4"),
        ({"difference": Fraction(0)}, "A3b"),
        ({"difference": Fraction(-1)}, "A3b"),
        ({"sigma2": Fraction(0)}, "A3a"),
        ({"sigma2": Fraction(-9, 10)}, "A3a"),
        ({"sigma2": Fraction(1)}, "A7"),
        ({"sigma2": Fraction(1001, 1000)}, "A7"),
        ({"loss_upper": Fraction(-1)}, "A5"),
    ],
)
def test_numbers_that_claim_too_much_are_refused(changes: dict[str, Fraction], number: str) -> None:
    net, pair = golden(2, **changes)
    verdict, reason = verdicts(net, pair)
    assert (verdict, number in reason) == ("REJECTED", True)


@pytest.mark.parametrize(
    "M",
    [
        np.zeros((2, 2), int),
        np.array([[0, 1], [0, 0]]),
        np.array([[0, 1], [-1, 0]]),
        np.array([[1, 0], [0, 0]]),
        -2 * SWAP,
    ],
)
def test_only_a_symmetric_kernel_that_vanishes_exactly_is_taken(M: np.ndarray) -> None:
    net, (fields, tensors) = golden(3)
    verdict, reason = verdicts(net, (fields, tensors | {"M": M}))
    assert verdict == ("ACCEPTED" if (M == -2 * SWAP).all() else "REJECTED")
    assert verdict == "ACCEPTED" or "A6" in reason


def test_a_sample_off_the_kernel_by_one_bit_is_seen() -> None:
    net, (fields, tensors) = golden(4)
    X = net.X.copy()
    X[3, 0] = 5e-324
    verdict, reason = verdicts(replace(net, X=X), (fields, tensors))
    assert (verdict, "sample 3" in reason) == ("REJECTED", True)


def test_the_kernel_matrix_is_there_exactly_if_it_is_needed() -> None:
    net, (fields, tensors) = golden(2)
    assert verdicts(net, (fields, tensors | {"M": SWAP}))[0] == "MALFORMED"
    net, (fields, tensors) = golden(3)
    assert verdicts(net, (fields, {"C": tensors["C"]}))[0] == "MALFORMED"
    assert verdicts(net, (fields, tensors | {"M": SWAP.astype(float)}))[0] == "MALFORMED"


def test_heads_activations_and_witnesses_outside_the_theorem_are_refused() -> None:
    net, (fields, tensors) = golden(2)
    negative = replace(
        net, W=np.vstack([np.eye(2), np.zeros((1, 2))]), v=np.array([1.0, 1.0, -1.0])
    )
    assert "A2" in verdicts(negative, (fields, tensors))[1]
    assert (
        verdicts(replace(negative, v=np.array([1.0, 1.0, -0.0])), (fields, tensors))[0]
        == "ACCEPTED"
    )
    raw = build(net, [(fields | {"loss_upper": "9"}, tensors)], activation="relu")
    assert check_bytes(raw).verdict.value == slow_check(raw).verdict == "REJECTED"
    assert "A1" in check_bytes(raw).reason
    for C, verdict in (
        (np.zeros((2, 2)), "REJECTED"),
        (np.eye(2, 3), "MALFORMED"),
        (np.full((2, 2), np.inf), "MALFORMED"),
        (np.eye(2) * 100, "REJECTED"),
    ):
        assert verdicts(net, (fields, tensors | {"C": C}))[0] == verdict
    narrow = replace(net, W=np.array([[1.0, 0.0]]), v=np.ones(1), y=np.array([1.0, 0.0]))
    assert verdicts(narrow, (fields, tensors))[0] == "REJECTED"
