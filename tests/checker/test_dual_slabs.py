"""R4-free: the golden example by hand, files of random networks, every condition on its own, and
random witnesses against sampled maxima.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.regularized_cases import Case, changed, derivative, file_of, with_zero_sum
from tests.checker.slab_cases import slab_witness
from tests.corpus.whole_files import opened
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.claims import dual_slabs
from globalmin_check.engine import check_bytes

F = Fraction
Array = np.ndarray


def verdict(raw: bytes) -> str:
    """The verdict of the fast checker, which the slow one must not contradict."""
    fast, slow = check_bytes(raw).verdict.value, slow_check(raw).verdict
    assert fast == slow or "UNDECIDED" in (fast, slow), (fast, slow)
    return fast


def _factor(M: Array) -> Array:
    values, vectors = np.linalg.eigh(M)
    return (vectors / np.sqrt(np.maximum(values, 1e-30))).T


def two_equal_rows(
    b: Fraction, ends: list[Fraction], slopes: dict[str, Any], **fields: Any
) -> bytes:
    """Rows x = 0 with u = (1, -1), m = 0: the worked example, with the matrices of the page."""
    case = Case(
        np.zeros((2, 1)),
        np.array([0.0, 1.0]),
        np.zeros((1, 1)),
        np.zeros(1),
        bias=np.zeros(1),
        network={"groups": "all", "hidden_bias": "free", "b": b},
    )
    count = len(ends) - 1
    tensors: dict[str, Array] = {"center": np.zeros(1)}
    tensors |= {name: np.array(slopes[name]) for name in ("rho", "sig", "al", "be")}
    given: dict[str, Any] = {"slabs": ends}
    for name in ("plus", "minus"):
        gamma, delta = fields.get("gamma", b / 4), fields.get("delta", b)
        given |= {f"gamma_{name}": [gamma] * count, f"delta_{name}": [delta] * count}
        for j in range(count):
            e, f = ends[j], ends[j + 1]
            M = np.diag([float(gamma), float(delta), float(b - gamma + delta * e * f)])
            M[1, 2] = M[2, 1] = -float(delta * (e + f) / 2)
            M[2, 2] -= float(fields.get("k", 0))
            tensors[f"C_{name}_{j}"] = _factor(M)
    return file_of(case, np.array([1.0, -1.0]), "slabs", witness=tensors, **given)


DECIDED = {
    "rho": [[0.0, 0.0]] * 2,
    "sig": [[0.0, 0.0]] * 2,
    "al": [[0.0, 0.0], [1.0, 1.0]],
    "be": [[0.0, 0.0]] * 2,
}
BENT = {"rho": [[1.0, 1.0]], "sig": [[0.25, 0.25]], "al": [[0.5, 0.5]], "be": [[0.5, 0.5]]}


def test_golden_two_slabs_prove_every_decay():
    for b in (F(1), F(1, 1000), F(1, 2**40)):
        assert verdict(two_equal_rows(b, [F(-1), F(0), F(1)], DECIDED)) == "ACCEPTED"


def test_a_row_beside_the_center_is_not_decided_at_zero():
    """m = 1/1000: |y| = 1/1000 is above e = 0, and the sum may change its sign inside a slab."""
    file = opened(two_equal_rows(F(1), [F(-1), F(0), F(1)], DECIDED))
    file.tensors["claims.0.center"] = np.array([1e-3])
    assert verdict(file.sealed()) == "REJECTED"
    assert "Y9" in check_bytes(file.sealed()).reason


def test_a_row_is_decided_up_to_the_nearer_end_of_a_slab():
    """On each side by itself: a file has both, and the other one would refuse it."""
    beyond = 1 + F(1, 10**30)
    for square, ends, expected in (
        (F(1), (F(1), F(2)), True),
        (beyond, (F(1), F(2)), None),
        (F(1), (F(-2), F(-1)), False),
        (beyond, (F(-2), F(-1)), None),
        (F(0), (F(-1), F(1)), None),
        (F(1), (F(-3), F(-2)), False),
    ):
        assert dual_slabs._decided(square, ends) is expected


def test_golden_one_slab_proves_its_bound_and_no_less():
    """k = 1/8 and gamma = delta = 1/64: b > 5/32."""
    small = {"gamma": F(1, 64), "delta": F(1, 64), "k": F(1, 8)}
    assert (
        verdict(two_equal_rows(F(5, 32) + F(1, 10**4), [F(-1), F(1)], BENT, **small)) == "ACCEPTED"
    )
    assert verdict(two_equal_rows(F(5, 32), [F(-1), F(1)], BENT, **small)) != "ACCEPTED"
    assert (
        verdict(two_equal_rows(F(5, 32) - F(1, 10**4), [F(-1), F(1)], BENT, **small)) == "REJECTED"
    )


@pytest.mark.parametrize(
    ("ends", "slopes", "check"),
    [
        ([F(-1), F(1, 10**9), F(1)], DECIDED, "Y9"),  # the row is not decided below 1e-9
        ([F(-1), F(-1, 10**9), F(1)], DECIDED, "Y9"),
        ([F(1), F(0), F(-1)], DECIDED, "Y14"),
        ([F(0), F(1, 2), F(1)], DECIDED, "Y14"),
        ([F(-1), F(-1, 2), F(0)], DECIDED, "Y14"),
        ([F(-1), F(1)], BENT | {"be": [[0.5, 0.5 + 1e-12]]}, "Y9"),
        ([F(-1), F(1)], BENT | {"al": [[0.5, 0.5 + 1e-12]]}, "Y9"),
        ([F(-1), F(1)], BENT | {"al": [[0.5, 0.5 - 1e-12]]}, "Y9"),
        ([F(-1), F(1)], BENT | {"be": [[0.5, -1e-300]]}, "Y9"),
        ([F(-1), F(1)], BENT | {"sig": [[0.25 - 2.0**-54, 0.25]]}, "Y9"),
        ([F(-1), F(1)], BENT | {"rho": [[-1.0, 1.0]], "sig": [[-0.25, 0.25]]}, "Y9"),
        ([F(-1), F(1)], BENT | {"rho": [[0.0, 1.0]]}, "Y9"),
        ([F(-1), F(0), F(1)], DECIDED | {"al": [[0.0, -1e-9], [1.0, 1.0]]}, "Y9"),
        ([F(-1), F(0), F(1)], DECIDED | {"al": [[0.0, 0.0], [1.0, 1.0 + 1e-9]]}, "Y9"),
    ],
)
def test_every_condition_is_needed(ends: list[Fraction], slopes: Any, check: str):
    raw = two_equal_rows(F(2), ends, slopes, k=F(1, 8) if len(ends) == 2 else F(0))
    assert verdict(raw) == "REJECTED"
    assert check in check_bytes(raw).reason


def test_slopes_are_between_zero_and_one_even_where_the_row_is_decided():
    """al = -.04, be = .1 is below relu on [1/2, 1], and the page asks for al >= 0 all the same."""
    slopes = {
        "rho": [[0.0, 0.0]] * 3,
        "sig": [[0.0, 0.0]] * 3,
        "al": [[0.0, 0.0], [1.0, 1.0], [1.0, -0.04]],
        "be": [[0.0, 0.0], [0.0, 0.0], [0.0, 0.1]],
    }
    raw = two_equal_rows(F(2), [F(-1), F(0), F(1, 2), F(1)], slopes)
    assert verdict(raw) == "REJECTED"
    assert "Y9" in check_bytes(raw).reason


@pytest.mark.parametrize("fault", ["short below", "short above", "not rising"])
def test_slabs_cover_every_kink(fault: str):
    case, u = _free_case(np.random.default_rng(1))
    u, fields, witness = slab_witness(case, u)
    file = opened(file_of(case, with_zero_sum(u, 0), "slabs", witness=witness, **fields))
    ends = list(file.claim["slabs"])
    if fault == "short below":
        ends[0] = str(Fraction(ends[1]) - F(1, 10**6))
    elif fault == "short above":
        ends[-1] = str(Fraction(ends[-2]) + F(1, 10**6))
    else:
        ends[1], ends[2] = ends[2], ends[1]
    file.claim["slabs"] = ends
    raw = file.sealed()
    assert verdict(raw) == "REJECTED"
    assert "Y14" in check_bytes(raw).reason


def test_a_negative_delta_is_refused():
    raw = two_equal_rows(F(1), [F(-1), F(0), F(1)], DECIDED)
    file = opened(raw)
    file.claim["delta_minus"] = ["-1", "1"]
    assert verdict(file.sealed()) == "REJECTED"
    assert "Y14" in check_bytes(file.sealed()).reason


def _free_case(rng: np.random.Generator, **network: Any) -> tuple[Case, Array]:
    d = int(rng.integers(1, 4))
    case = Case(
        rng.standard_normal((6, d)),
        rng.standard_normal(6),
        0.3 * rng.standard_normal((2, d)),
        np.abs(rng.standard_normal(2)),
        bias=rng.standard_normal(2),
        intercept=0.25,
        network={"groups": "all", "b": F(2), "hidden_bias": "free"} | network,
    )
    return case, with_zero_sum(derivative(case), 0)


@pytest.mark.parametrize("seed", range(4))
def test_files_of_random_networks(seed: int):
    case, u = _free_case(
        np.random.default_rng(seed), **({"heads": "nonnegative"} if seed == 3 else {})
    )
    u, fields, witness = slab_witness(case, u)
    raw = file_of(case, with_zero_sum(u, 0), "slabs", witness=witness, **fields)
    assert verdict(raw) == "ACCEPTED"
    bent = opened(raw)
    bent.tensors["claims.0.be"] *= 1 + 1e-6
    assert "Y9" in check_bytes(bent.sealed()).reason
    file = opened(raw)
    file.top["network"]["b"] = "199/100"
    assert "Y10" in check_bytes(file.sealed()).reason or seed == 3
    shifted = with_zero_sum(u, 0) + np.array([1e-9, 0, 0, 0, 0, 0])
    assert "Y5" in check_bytes(file_of(case, shifted, "slabs", witness=witness, **fields)).reason


@pytest.mark.parametrize("rule", ["penalized", "none"])
def test_slabs_are_for_free_biases_only(rule: str):
    case, u = _free_case(np.random.default_rng(5))
    u, fields, witness = slab_witness(case, u)
    file = opened(file_of(case, with_zero_sum(u, 0), "slabs", witness=witness, **fields))
    file.top["network"]["hidden_bias"] = rule
    if rule == "penalized":
        file.top["network"]["tau"] = "1"
    else:
        file.tensors.pop("bias")
    assert verdict(file.sealed()) == "MALFORMED"


def sampled_maximum(X: Array, u: Array, rng: np.random.Generator) -> float:
    """The largest sum over sampled unit w and all their kinks."""
    W = rng.standard_normal((400, X.shape[1]))
    t = X @ (W / np.linalg.norm(W, axis=1)[:, None]).T
    return max(float((u @ np.maximum(t - t[k], 0.0)).max()) for k in range(len(X)))


@pytest.mark.parametrize("seed", range(40))
def test_random_witnesses_are_never_below_sampled_maxima(seed: int):
    """Rows of many sizes, repeated and zero ones, any shift and ends: the bound of the witness is
    above every sum that is met.
    """
    rng = np.random.default_rng(seed)
    case, _ = _free_case(rng, b=F(10**6))
    X = case.X * 10 ** rng.uniform(-2, 2)
    X[1], X[2] = X[0], 0.0
    u = rng.standard_normal(6) * 10 ** rng.uniform(-2, 1)
    u -= u.mean()
    case = Case(X, case.y, case.W, case.v, bias=case.bias, network=case.network)
    for b_up in (1.0, 1e6):
        tight = changed(case, network={"b": F(b_up)})
        scaled, _, _ = slab_witness(tight, u, count=int(rng.integers(1, 5)))
        for sign in (1, -1):
            assert sampled_maximum(X, sign * scaled, rng) <= b_up * (1 + 1e-9)


def test_a_row_whose_dual_entry_is_zero_needs_no_slopes():
    case, _ = _free_case(np.random.default_rng(7))
    u, fields, witness = slab_witness(case, np.array([1, -1, 0, 0.5, -0.5, 0]))
    for name in ("rho", "sig", "al", "be"):
        witness[name][..., 2] = -5.0
    assert verdict(file_of(case, u, "slabs", witness=witness, **fields)) == "ACCEPTED"
    witness["be"][..., 0] = witness["sig"][..., 0] = -5.0
    assert "Y9" in check_bytes(file_of(case, u, "slabs", witness=witness, **fields)).reason
