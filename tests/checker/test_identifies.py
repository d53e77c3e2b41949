"""identifies: full rank is accepted, the least deficiency is refused, and the stable version bounds
the distance of networks.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.quadratic_cases import (
    Pair,
    Quadratic,
    build,
    claim,
    identifies_claim,
    random_network,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.claims import quadratic
from globalmin_check.engine import check_bytes


def verdicts(net: Quadratic, pair: Pair, **options: Any) -> tuple[str, str]:
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


def on_rows(rows: list[list[float]]) -> Quadratic:
    X = np.array(rows)
    return Quadratic(X, np.zeros(len(X)), np.eye(X.shape[1]), np.ones(X.shape[1]))


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "ACCEPTED"),
        ([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]], "REJECTED"),
    ],
)
def test_the_golden_examples(rows: list[list[float]], verdict: str) -> None:
    net = on_rows(rows)
    found, reason = verdicts(net, identifies_claim(net))
    assert found == verdict
    assert verdict == "ACCEPTED" or "U5" in reason


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_random_samples_identify_from_the_critical_number_on(d: int) -> None:
    N = d * (d + 1) // 2
    net = random_network(N, d, d, seed=d)
    assert verdicts(net, identifies_claim(net))[0] == "ACCEPTED"
    if N > 1:
        few = random_network(N - 1, d, d, seed=d)
        verdict, reason = verdicts(few, identifies_claim(few))
        assert (verdict, "U2" in reason) == ("REJECTED", True)


def test_samples_on_a_cone_identify_nothing_however_many() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-50, 50, (2, 40))
    net = on_rows(
        [
            [float(2 * p * q), float(p * p - q * q), float(p * p + q * q)]
            for p, q in zip(a, b, strict=True)
        ]
    )
    verdict, reason = verdicts(net, identifies_claim(net))
    assert (verdict, "rank 5 of 6" in reason) == ("REJECTED", True)
    off = net.X.copy()
    off[7, 2] = np.nextafter(off[7, 2], np.inf)
    moved = Quadratic(off, net.y, net.W, net.v)
    assert verdicts(moved, identifies_claim(moved))[0] == "ACCEPTED"


def test_a_float_rank_would_be_wrong_here() -> None:
    net = on_rows([[1.0, 0.0], [1.0, 1e-200], [1.0, -1e-200]])
    assert (
        np.linalg.matrix_rank(
            np.stack([net.X[:, 0] ** 2, net.X[:, 0] * net.X[:, 1], net.X[:, 1] ** 2], axis=1)
        )
        < 3
    )
    assert verdicts(net, identifies_claim(net))[0] == "ACCEPTED"


@pytest.mark.parametrize("road", ["balls", "grid"])
def test_the_stable_version_bounds_the_difference_of_networks(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quadratic, "LARGE", 0 if road == "grid" else 10**7)
    net = random_network(9, 3, 3)
    fields, tensors = identifies_claim(net, stable=True)
    result = check_bytes(build(net, [(fields, tensors)]))
    assert result.verdict.value == "ACCEPTED", result.reason
    assert "e/sqrt(mu)" in result.statement
    mu = float(Fraction(fields["mu"]))
    rng = np.random.default_rng(3)
    for _ in range(100):
        half = rng.standard_normal((3, 3))
        M = half + half.T
        outputs = np.einsum("ia,ab,ib->i", net.X, M, net.X)
        assert np.linalg.norm(M) <= np.linalg.norm(outputs) / np.sqrt(mu) * (1 + 1e-12)
    for bad in ({"mu": "0"}, {"mu": "-1"}, {"mu": str(Fraction(fields["mu"]) * 2)}):
        assert verdicts(net, (fields | bad, tensors))[0] == "REJECTED"


def test_faults_of_form_and_of_witness() -> None:
    net = random_network(9, 3, 3)
    fields, tensors = identifies_claim(net, stable=True)
    plain = {key: value for key, value in fields.items() if key != "mu"}
    assert verdicts(net, (plain, tensors))[0] == "MALFORMED"
    assert verdicts(net, (fields, {}))[0] == "MALFORMED"
    assert verdicts(net, (fields, {"C": np.eye(6, 7)}))[0] == "MALFORMED"
    assert verdicts(net, (fields, {"C": np.full((6, 6), np.nan)}))[0] == "MALFORMED"
    assert verdicts(net, (fields, {"C": np.zeros((6, 6))}))[0] == "REJECTED"
    assert verdicts(net, (plain | {"prime": 7}, {}))[0] == "MALFORMED"
    assert verdicts(net, (plain | {"loss_upper": "0"}, {}))[0] == "REJECTED"
    other = random_network(9, 3, 3, seed=5)
    assert verdicts(net, (fields, identifies_claim(other, stable=True)[1]))[0] == "REJECTED"


def test_other_activations_are_refused() -> None:
    net = random_network(9, 3, 3)
    verdict, reason = verdicts(
        net, (claim("identifies", loss_upper=Fraction(10**6)), {}), activation="tanh"
    )
    assert (verdict, "U1" in reason) == ("REJECTED", True)


def test_the_size_of_the_elimination_is_budgeted() -> None:
    rng = np.random.default_rng(1)
    d = 110
    X = rng.standard_normal((d * (d + 1) // 2, d))
    raw = gmc.build(
        X,
        np.zeros(len(X)),
        np.zeros((1, d)),
        np.ones(1),
        [(claim("identifies", loss_upper=Fraction(0)), {})],
        activation="quadratic",
    )
    assert check_bytes(raw).verdict.value == "UNDECIDED"
