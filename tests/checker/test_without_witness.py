"""Version 2 of interpolation and descent: no stored witness of K; both routes and the slow checker
accept it, and what is false stays open.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb
from tests.checker import cases
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.claims.own_witness import own_factor
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import Verdict


def free(kind: str, *, changed: dict[str, Any] | None = None, **options: Any) -> bytes:
    """An honest file of version 2, some fields changed."""
    net = cases.trained_network(5, 3, 4, seed=5, **options)
    make = cases.interpolation_claim if kind == "interpolation" else cases.descent_claim
    fields, tensors = make(net)
    del tensors["C_a"]
    return cases.build(net, [({**fields, "version": 2, **(changed or {})}, tensors)])


@pytest.mark.parametrize("kind", ["interpolation", "descent"])
@pytest.mark.parametrize("trained", ["W", "vW"])
def test_honest_files_are_accepted_by_every_checker(kind: str, trained: str):
    raw = free(kind, trained=trained)
    for route in ("exact", "fast", "auto"):
        result = check_bytes(raw, route=route)
        assert result.verdict is Verdict.ACCEPTED, result.reason
    assert slow_check(raw).verdict == "ACCEPTED"


def test_a_false_bound_of_the_eigenvalue_is_never_accepted():
    net = cases.trained_network(5, 3, 4, seed=5)
    low = float(np.linalg.eigvalsh(net.gram())[0])
    for share in (1 + 1e-9, 1.01, 2.0):
        raw = free("interpolation", changed={"a2": str(Fraction(low * share))})
        for route in ("exact", "fast", "auto"):
            assert check_bytes(raw, route=route).verdict in (Verdict.UNDECIDED, Verdict.REJECTED)
        assert slow_check(raw).verdict in ("REJECTED", "UNDECIDED")


def test_versions_and_witnesses_must_fit():
    net = cases.trained_network(5, 3, 4, seed=5)
    fields, tensors = cases.interpolation_claim(net)
    with_both = cases.build(net, [({**fields, "version": 2}, tensors)])
    without = {name: array for name, array in tensors.items() if name != "C_a"}
    with_none = cases.build(net, [(fields, without)])
    third = cases.build(net, [({**fields, "version": 3}, without)])
    for raw in (with_both, with_none, third):
        assert check_bytes(raw).verdict is Verdict.MALFORMED
        assert slow_check(raw).verdict == "MALFORMED"


def test_a_claim_of_another_kind_has_no_second_version():
    net = cases.relu_network(4, 3, 6)
    fields, tensors = cases.relu_claim(net)
    raw = cases.build_relu(net, [({**fields, "version": 2}, tensors)])
    assert check_bytes(raw).verdict is Verdict.MALFORMED


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_the_own_factor_inverts_a_positive_definite_matrix(n: int):
    B = np.random.default_rng(n).normal(size=(n, n))
    A = B @ B.T + 0.1 * np.eye(n)
    found = own_factor([[arb(x) for x in row] for row in A.tolist()])
    assert found is not None
    C = np.array(found.values).reshape(n, n)
    assert np.allclose(C @ A @ C.T, np.eye(n), atol=1e-8)  # condition about 1e3


@pytest.mark.parametrize("entry", [-1.0, 0.0])
def test_there_is_no_factor_of_an_indefinite_matrix(entry: float):
    rows = [[arb(1)], [arb(2), arb(4 + entry)]]
    assert own_factor(rows) is None
    assert own_factor([[arb("nan")]]) is None
    assert own_factor([[arb(float("1e308")) * 1e308]]) is None


def test_a_factor_whose_inverse_overflows_is_none():
    """L with 1 on the diagonal and 1e7 below it: entries of its inverse grow to 1e7^49."""
    n = 50
    L = np.eye(n) + 1e7 * np.eye(n, k=-1)
    A = L @ L.T  # every entry is exact
    assert own_factor([[arb(x) for x in row] for row in A[:40, :40].tolist()]) is not None
    assert own_factor([[arb(x) for x in row] for row in A.tolist()]) is None
