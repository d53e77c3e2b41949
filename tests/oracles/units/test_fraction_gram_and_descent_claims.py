"""The slow implementations of relu-descent, gram-positive and deep-descent agree with the checker,
check by check.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker import deep_cases, gram_cases, relu_descent_cases
from tests.oracles import fraction_checker, fraction_deep_claims, fraction_gram_claims
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_intervals import Interval

from globalmin_check.engine import check_bytes


def agree(blob: bytes) -> str:
    """Both verdicts, which must be equal."""
    fast, slow = check_bytes(blob), fraction_checker.check_bytes(blob)
    assert fast.verdict.value == slow.verdict, f"{fast.reason} against {slow.reason}"
    return slow.verdict


RELU_CHANGES: list[dict[str, Any]] = [
    {},
    {"rate": "0"},
    {"eta": "10"},
    {"tau": "1/100000000000000"},
    {"lam": "1/2", "eta": "1/100", "rate": "999/1000"},
    {"Lam": "1/2"},
    {"path": "1/1000000000000"},
    {"norm": "trace"},
]


@pytest.mark.parametrize("number", range(len(RELU_CHANGES)))
def test_relu_descent_agrees(number: int) -> None:
    fit = relu_descent_cases.trained_relu(4, 6, 60, 40)
    fields, tensors = relu_descent_cases.claim(fit)
    verdict = agree(relu_descent_cases.build(fit, [(fields | RELU_CHANGES[number], tensors)]))
    assert verdict == ("ACCEPTED" if number == 0 else "MALFORMED" if number == 7 else "REJECTED")


def test_relu_descent_agrees_with_unstable_pairs_and_exact_zeros() -> None:
    fit = relu_descent_cases.trained_relu(4, 6, 60, 12)
    W = fit.W.copy()
    W[0] = 0.0
    zeroed = relu_descent_cases.ReluFit(fit.X, fit.y, W, fit.v)
    for net in (fit, zeroed):
        blob = relu_descent_cases.build(net, [relu_descent_cases.claim(net)])
        agree(blob)
        assert fraction_checker.check_bytes(
            blob
        ).verdict != "ACCEPTED" or fraction_checker.oracle_truth(blob)


@pytest.mark.parametrize("kernel", ["weights", "features"])
@pytest.mark.parametrize("name", ["relu", "softplus", "sigmoid", "tanh", "erf"])
def test_gram_positive_agrees(name: str, kernel: str) -> None:
    """Accepted by both at 0.99 of the eigenvalue, and by neither at 1.02 of it; the oracle agrees
    on the truth.
    """
    X = np.random.default_rng(2).standard_normal((2, 2)) * 0.7
    fields, tensors = gram_cases.claim(name, X, kernel, top=4)
    if name != "relu":
        fields |= {"step": "1/8", "nodes": 80} if name == "tanh" else {"step": "1/4", "nodes": 40}
    blob = gram_cases.build(name, X, [(fields, tensors)])
    assert agree(blob) == "ACCEPTED"
    assert fraction_checker.oracle_truth(blob)
    above = gmc.rational(Fraction(fields["lam"]) * Fraction(102, 100))
    blob = gram_cases.build(name, X, [(fields | {"lam": above}, tensors)])
    assert check_bytes(blob).verdict.value != "ACCEPTED"
    assert fraction_checker.check_bytes(blob).verdict != "ACCEPTED"
    assert fraction_checker.oracle_truth(blob) is False


def test_the_residual_claim_agrees() -> None:
    from tests.checker.test_gram_positive import resnet_claim

    name, X = "softplus", np.random.default_rng(2).standard_normal((1, 2)) * 0.7
    fields, tensors, bound = resnet_claim(name, X, step=Fraction(1, 4), nodes=40)
    assert agree(gram_cases.build(name, X, [(fields, tensors)])) == "ACCEPTED"
    too_large = fields | {"lam": gmc.rational(bound * 1.001)}
    assert agree(gram_cases.build(name, X, [(too_large, tensors)])) == "REJECTED"


def test_the_arc_tangent_encloses() -> None:
    for x in (Fraction(0), Fraction(1, 1000), Fraction(1), Fraction(7, 3), Fraction(10**6)):
        y = fraction_gram_claims.arctan(Interval.of(x, 160))
        assert abs(float(y.lower) - np.arctan(float(x))) < 1e-15 * (1 + np.arctan(float(x)))
        assert y.lower <= y.upper < y.lower + Fraction(1, 10**30)


DEEP_CHANGES: list[dict[str, Any]] = [
    {},
    {"rate": "0"},
    {"eta": "100"},
    {"t": "1000"},
    {"b2": "1/1000"},
    {"a2": "100", "rate": "999999/1000000"},
]


@pytest.mark.parametrize("kind", ["dense", "residual", "conv"])
def test_deep_descent_agrees(kind: str) -> None:
    net = deep_cases.gauss_newton(deep_cases.random_deep(2, kind=kind, n=2, m=3), 8)
    fields, tensors = deep_cases.claim(net, norm="rows" if kind == "conv" else "factor")
    for number, changes in enumerate(DEEP_CHANGES):
        verdict = agree(deep_cases.build(net, [(fields | changes, tensors)]))
        assert verdict == ("REJECTED" if number else "ACCEPTED")
    assert fraction_deep_claims.oracle_truth(deep_cases.build(net, [(fields, tensors)]))
    assert agree(deep_cases.build(net, [(fields, tensors)], layers=[])) == "MALFORMED"
    assert agree(deep_cases.build(net, [(fields, tensors)], activation="relu")) == "REJECTED"
