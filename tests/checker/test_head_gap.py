"""head-gap: true gaps of the head are accepted and tight, everything else is refused with its check
number; exact rationals give the same minimum.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.head_cases import PHI, Head, build, head_claim, random_head
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth
from tests.oracles.fraction_quadratic_claims import solve

from globalmin_check import Verdict
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import TRIVIAL


def verdict(raw: bytes) -> str:
    """Of both checkers, after they were seen to agree."""
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value


@pytest.mark.parametrize("activation", list(PHI))
@pytest.mark.parametrize(("n", "k"), [(7, 3), (4, 4), (3, 6)])
def test_honest_claims_are_accepted_and_true(n: int, k: int, activation: str) -> None:
    net = random_head(n, 6, k, activation=activation, seed=n).trained(1e-4)
    raw = build(net)
    assert verdict(raw) == "ACCEPTED"
    assert oracle_truth(raw, None) is True


def exact_minimum(net: Head) -> tuple[Fraction, Fraction]:
    """The loss and the least loss over heads in rationals, ReLU."""
    X, W = ([[Fraction(x) for x in row] for row in M] for M in (net.X, net.W))
    zero = Fraction(0)
    Q = [
        [max(sum(map(Fraction.__mul__, w, x), zero), zero) for w in W] for x in X
    ]  # fmt: skip
    y = [Fraction(value) for value in net.y]

    def loss(v: list[Fraction]) -> Fraction:
        r = [sum(map(Fraction.__mul__, q, v), zero) - t for q, t in zip(Q, y, strict=True)]
        return sum(map(Fraction.__mul__, r, r), zero) / 2

    columns = list(zip(*Q, strict=True))
    G = [[sum(map(Fraction.__mul__, a, b), zero) for b in columns] for a in columns]
    best = solve(G, [sum(map(Fraction.__mul__, a, y), zero) for a in columns])
    return loss([Fraction(value) for value in net.v]), loss(best)


def test_the_gap_is_the_excess_over_the_exact_minimum_and_no_smaller_one_is_accepted() -> None:
    """z at the projection makes the bound equal to the excess, up to the rounding of z."""
    net = random_head(6, 2, 3, seed=1).trained(0.01)
    stored, least = exact_minimum(net)
    fields, tensors = head_claim(net)
    excess = stored - least
    for factor, expected in ((1 + 1e-9, "ACCEPTED"), (1 - 1e-9, "REJECTED")):
        claim = fields | {"gap": gmc.rational(excess * Fraction(factor))}
        assert verdict(build(net, [(claim, tensors)])) == expected
    result = check_bytes(build(net, [(fields, tensors)]))
    numbers = result.claims[0].numbers or {}
    assert float(numbers["floor"]) <= float(least) <= float(numbers["loss"])
    assert float(numbers["floor"]) == pytest.approx(float(least), rel=1e-9)


def test_the_stored_distance_reaches_the_best_head() -> None:
    net = random_head(8, 3, 4, activation="tanh", seed=2).trained(0.02)
    numbers = check_bytes(build(net)).claims[0].numbers or {}
    moved = float(np.linalg.norm(net.v - net.trained().v))
    assert moved <= float(numbers["distance"]) <= 40 * moved


def test_the_radius_of_rows_holds_a_head_of_zero_loss_and_is_sharp_for_equal_eigenvalues() -> None:
    """Q = I: the zero-loss head is y itself, at distance |r|, and mu can be 1 - 1e-9."""
    y = np.array([1.0, -2.0])
    net = Head(np.eye(2), y, np.eye(2), y + np.array([3e-3, 4e-3]), "linear")
    mu = 1.0 - 2.0**-30
    C = np.eye(2) * 2.0**15
    for R, expected in ((5.0001e-3, "ACCEPTED"), (4.9999e-3, "REJECTED")):
        claim = gmc.claim("head-gap", method="rows", R=R, mu=mu, loss_upper=1.0)
        assert verdict(build(net, [(claim, {"C": C})])) == expected


@pytest.mark.parametrize(
    ("change", "number"),
    [
        ({"gap": Fraction(-1)}, "H1a"),
        ({"mu": Fraction(0)}, "H1b"),
        ({"loss_upper": Fraction(1, 10**9)}, "H2"),
        ({"gap": Fraction(1, 10**12)}, "H3"),
        ({"mu": Fraction(10**3)}, "H4"),
    ],
)
def test_false_fields_of_columns_are_refused_by_their_check(
    change: dict[str, Any], number: str
) -> None:
    net = random_head(6, 2, 3, seed=3).trained(0.05)
    fields, tensors = head_claim(net)
    if "mu" in change and change["mu"] > 0:  # a larger mu makes H3 easier; H4 is what is left
        tensors = tensors | {"z": np.linalg.lstsq(net.features(), net.residual(), rcond=None)[0]}
    result = check_bytes(build(net, [(gmc.written(fields | change), tensors)]))
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason


@pytest.mark.parametrize(
    ("change", "number"),
    [({"R": Fraction(-1)}, "H1a"), ({"R": Fraction(0)}, "H5"), ({"mu": Fraction(10**3)}, "H")],
)
def test_false_fields_of_rows_are_refused_by_their_check(
    change: dict[str, Any], number: str
) -> None:
    net = random_head(3, 2, 5, activation="softplus", seed=3).trained(1e-3)
    fields, tensors = head_claim(net)
    result = check_bytes(build(net, [(gmc.written(fields | change), tensors)]))
    assert result.verdict is Verdict.REJECTED
    assert f"check {number}" in result.reason


def test_dependent_features_are_never_accepted() -> None:
    """Two equal neurons: Q^T Q is singular, whatever mu and C say."""
    net = random_head(6, 2, 3, seed=5)
    twice = replace(net, W=net.W[[0, 1, 1]]).trained()
    for mu, scale in ((1e-30, 1.0), (1e-30, 1e10), (1e-3, 1.0)):
        claim = gmc.claim("head-gap", method="columns", gap=9.0, mu=mu, loss_upper=9.0)
        raw = build(twice, [(claim, {"C": scale * np.eye(3), "z": np.zeros(3)})])
        assert verdict(raw) != "ACCEPTED"


def test_a_gap_as_large_as_the_loss_is_called_vacuous_and_rows_never() -> None:
    net = random_head(6, 2, 3, seed=6)
    fields, tensors = head_claim(net)
    wide = gmc.written(fields | {"gap": Fraction(2 * net.loss())})
    vacuous = check_bytes(build(net, [(wide, tensors)]))
    assert "says next to nothing" in vacuous.reason
    assert vacuous.claims[0].vacuous == TRIVIAL
    assert "nothing" not in check_bytes(build(net.trained())).reason
    zero = random_head(3, 2, 5, activation="softplus", seed=7).trained()
    assert "nothing" not in check_bytes(build(zero)).reason


def test_the_sentences_name_what_is_fixed_and_what_moves() -> None:
    columns = check_bytes(build(random_head(6, 2, 3, seed=8).trained())).claims[0].statement
    assert "With the stored hidden weights W, no head v" in columns
    assert "Other hidden weights may have a lower loss" in columns
    net = random_head(3, 2, 5, activation="softplus", seed=8).trained()
    rows = check_bytes(build(net)).claims[0].statement
    assert "a head v within distance" in rows
    assert "exactly zero" in rows
