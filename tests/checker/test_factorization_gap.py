"""The claim factorization-gap (theorem EY, DU-T4.4): honest files, each check falsified alone,
attacks, form, both checkers.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, arb_mat
from tests.checker.factorization_cases import (
    Case,
    build,
    certificate,
    near_best,
    noisy,
    parts,
    saddle,
    tensors_of,
)
from tests.oracles import fraction_checker, fraction_factorization_claims
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.balls import decide
from globalmin_check.claims import quadratic
from globalmin_check.claims.factorization_network import Compression
from globalmin_check.command.explain import explained
from globalmin_check.engine import check_bytes

METHODS = ["zero", "frobenius", "factor"]
SIDES = ["right", "left"]


def checked(
    case: Case, method: str = "frobenius", side: str = "right", /, **changes: Any
) -> Result:
    return check_bytes(build(case, method, side, **changes))


def agreed(blob: bytes) -> str:
    """The verdict, after both checkers gave the same one, and never acceptance of what the oracle
    calls false.
    """
    fast, slow = check_bytes(blob), fraction_checker.check_bytes(blob)
    assert fast.verdict.name == slow.verdict, (fast.reason, slow.reason)
    if slow.verdict == "REJECTED":
        assert f"check {slow.reason.split()[-1]} " in fast.reason, (fast.reason, slow.reason)
    if slow.verdict == "ACCEPTED":
        assert fraction_checker.oracle_truth(blob) is not False
    return slow.verdict


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("m", "n", "r"), [(6, 5, 2), (5, 6, 2), (4, 4, 1), (8, 3, 2)])
def test_honest_files_are_accepted(m: int, n: int, r: int, method: str, side: str) -> None:
    """DU-T4.4: what gradient descent should reach, with its distance to the best loss."""
    case = noisy(m, n, r)
    result = checked(case, method, side)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert "within this gap of the global minimum" in result.statement
    numbers = result.claims[0].numbers or {}
    assert numbers["method"] == method
    assert numbers["loss"] == pytest.approx(case.loss(), rel=1e-12)
    assert float(numbers["floor"]) <= case.best() * (1 + 1e-12)
    assert case.loss() - case.best() <= float(numbers["gap"])


@pytest.mark.parametrize("method", ["frobenius", "factor"])
def test_the_gap_is_quadratic_in_the_distance_and_nearly_the_truth(method: str) -> None:
    """Ten times closer factors: a gap a hundred times smaller, and never more than a few times the
    true excess.
    """
    gaps = []
    for off in (1e-2, 1e-3, 1e-4):
        case = noisy(off=off)
        numbers = checked(case, method).claims[0].numbers or {}
        gaps.append(float(numbers["gap"]))
        assert gaps[-1] <= 2 * (case.loss() - case.best())
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.3)
    assert gaps[1] / gaps[2] == pytest.approx(100, rel=0.3)


def test_the_second_checker_agrees_on_honest_files_and_the_oracle_calls_them_true() -> None:
    for seed in range(3):
        for method in METHODS:
            for side in SIDES:
                blob = build(noisy(5, 4, 2, seed=seed), method, side)
                assert agreed(blob) == "ACCEPTED"
                assert fraction_checker.oracle_truth(blob) is True


def test_a_saddle_cannot_be_called_the_minimum() -> None:
    """Factors with another singular pair are stationary; every gap below the true one is refused,
    whatever tau.
    """
    case = saddle()
    true_gap = case.loss() - case.best()
    fields, _ = parts(case, "factor")
    assert float(fields["gap"]) >= true_gap
    assert checked(case, "factor").verdict is Verdict.ACCEPTED
    for tau in (float(fields["b"]) * (1 + 1e-12), float(fields["b"]) * 2, float(fields["b"]) * 1e6):
        blob = build(case, "factor", gap=Fraction(true_gap * 0.99), floor=Fraction(0), tau=tau)
        assert agreed(blob) == "REJECTED"
        assert fraction_checker.oracle_truth(blob) is False


def test_a_tie_costs_no_more_than_the_slack_of_the_bounds() -> None:
    case = near_best(np.diag([3.0, 2.0, 2.0, 1.0]), 2)
    result = checked(case, "factor")
    assert result.verdict is Verdict.ACCEPTED
    assert float((result.claims[0].numbers or {})["gap"]) <= 0.5 * 2 * 4 * 3.1e-3


FAULTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "gap negative": ("frobenius", {"gap": Fraction(-1, 10**9)}, "F1a"),
    "floor negative": ("frobenius", {"floor": Fraction(-1)}, "F1b"),
    "loss_upper too small": ("frobenius", {"loss_upper": "shrunk"}, "F2"),
    "a zero": ("frobenius", {"a": Fraction(0)}, "F3a"),
    "a negative": ("factor", {"a": Fraction(-1)}, "F3a"),
    "b equal to tau": ("frobenius", {"b": "tau"}, "F3b"),
    "b above tau": ("factor", {"b": Fraction(10**6)}, "F3b"),
    "a above the spectrum": ("frobenius", {"a": Fraction(10**6)}, "F4"),
    "C_a zero": ("frobenius", {"C_a": np.zeros((2, 2))}, "F4"),
    "C_a of ones": ("factor", {"C_a": np.ones((2, 2))}, "F4"),
    "b below the Frobenius norm": ("frobenius", {"b": "small"}, "F5"),
    "b zero": ("frobenius", {"b": Fraction(0)}, "F5"),
    "b negative": ("frobenius", {"b": Fraction(-5)}, "F5"),
    "b below the spectral norm": ("factor", {"b": "small"}, "F6"),
    "C_b zero": ("factor", {"C_b": np.zeros((5, 5))}, "F6"),
    "C_b of another matrix": ("factor", {"C_b": np.eye(5)}, "F6"),
    "gap tightened by a thousandth": ("frobenius", {"gap": "tight"}, "F7"),
    "gap zero": ("factor", {"gap": Fraction(0)}, "F7"),
    "gap below the loss": ("zero", {"gap": "tight"}, "F7"),
    "tau large": ("frobenius", {"tau": Fraction(10**6)}, "F7"),
    "floor above the best loss": ("frobenius", {"floor": "raised"}, "F8"),
    "floor positive without a proof": ("zero", {"floor": Fraction(1, 10**9)}, "F8"),
}


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_field_changed_alone_is_rejected_by_its_check(name: str) -> None:
    method, changes, number = FAULTS[name]
    case = noisy()
    fields, _ = parts(case, method)
    special = {
        "shrunk": Fraction(case.loss() * (1 - 1e-9)),
        "tau": fields.get("tau"),
        "small": None if method == "zero" else Fraction(fields["b"]) * Fraction(99, 100),
        "tight": Fraction(fields["gap"]) * Fraction(999, 1000),
        "raised": Fraction(case.loss() * (1 + 1e-12)),
    }
    changes = {
        key: special[value] if isinstance(value, str) else value for key, value in changes.items()
    }
    blob = build(case, method, **changes)
    result = check_bytes(blob)
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason
    assert agreed(blob) == "REJECTED"


def swapped(case: Case) -> Case:
    return replace(case, U=case.V, V=case.U)


ATTACKS = {
    "the factors are swapped": lambda case: swapped(case),
    "one factor is doubled": lambda case: replace(case, U=2 * case.U),
    "columns of one factor are swapped": lambda case: replace(case, U=case.U[:, ::-1].copy()),
    "a sign is flipped": lambda case: replace(
        case, V=case.V * np.where(np.arange(len(case.V)) == 1, -1.0, 1.0)[:, None]
    ),
    "the matrix is another": lambda case: replace(case, M=noisy(5, 5, 2, seed=9).M),
    "one entry of the matrix moves": lambda case: replace(case, M=case.M + 0.5 * np.eye(5)),
    "the factors are of another file": lambda case: replace(noisy(5, 5, 2, seed=9), M=case.M),
    "the factors are zero": lambda case: replace(case, U=0 * case.U, V=0 * case.V),
    "a column is repeated": lambda case: replace(case, V=case.V[:, [0, 0]]),
}


@pytest.mark.parametrize("name", list(ATTACKS))
@pytest.mark.parametrize("method", METHODS)
def test_stored_numbers_changed_after_the_claim_are_rejected(method: str, name: str) -> None:
    case = noisy(5, 5, 2)
    blob = build(case, method, stored=ATTACKS[name](case))
    assert agreed(blob) == "REJECTED"
    assert fraction_checker.oracle_truth(blob) is False


@pytest.mark.parametrize("method", ["frobenius", "factor"])
def test_a_witness_from_another_file_is_rejected(method: str) -> None:
    case, other = noisy(), noisy(seed=7)
    _, tensors = parts(other, method)
    blob = build(case, method, **tensors)
    assert agreed(blob) == "REJECTED"
    fields, tensors = parts(other, method)
    blob = build(case, method, **(fields | tensors | {"loss_upper": Fraction(10**6)}))
    assert agreed(blob) == "REJECTED"


@pytest.mark.parametrize("side", SIDES)
def test_the_other_side_needs_its_own_witness(side: str) -> None:
    case = noisy(5, 5, 2, off=1e-2)
    case = replace(case, U=3 * case.U, V=case.V / 3)
    other = {"right": "left", "left": "right"}[side]
    assert agreed(build(case, "frobenius", side, side=other)) == "REJECTED"


@pytest.mark.parametrize("scale", [1e-90, 1e-30, 1.0, 1e30, 1e90])
def test_sizes_of_the_entries_do_not_matter(scale: float) -> None:
    """Powers of two are exact: the same claim, scaled, is accepted at every size of M."""
    power = 2.0 ** np.round(np.log2(scale))
    case = noisy(off=1e-4)
    fields, tensors = parts(case, "factor")
    scaled = Case(case.M * power**2, case.U * power, case.V * power)
    exact = Fraction(power)
    fields |= {
        key: Fraction(fields[key]) * exact**4
        for key in ("gap", "floor", "loss_upper", "a", "b", "tau")
    }
    tensors = {"C_a": tensors["C_a"] / power**3, "C_b": tensors["C_b"] / power**2}
    result = check_bytes(gmc.pack(certificate(scaled, fields), tensors_of(scaled, tensors)))
    assert result.verdict is Verdict.ACCEPTED, result.reason


def test_an_exact_factorization_proves_a_gap_of_zero() -> None:
    U, V = np.array([[1.0], [2.0], [0.5]]), np.array([[4.0], [-1.0]])
    case = Case(U @ V.T, U, V)
    blob = build(case, "zero", gap=Fraction(0), loss_upper=Fraction(0))
    assert agreed(blob) == "ACCEPTED"
    assert fraction_checker.oracle_truth(blob) is True


def test_a_rank_of_the_whole_matrix_is_proved_by_zero_alone() -> None:
    """R = min(m, n) and above: the best loss is zero; theorem EY is a fault of form there."""
    case = near_best(noisy(4, 3, 2).M, 3)
    assert agreed(build(case, "zero")) == "ACCEPTED"
    wide = Case(
        case.M, np.hstack([case.U, case.U]) / np.sqrt(2), np.hstack([case.V, case.V]) / np.sqrt(2)
    )
    assert agreed(build(wide, "zero")) == "ACCEPTED"
    for shown in (case, wide):
        fields, _ = parts(shown, "zero")
        fields |= {"method": "frobenius", "side": "right", "a": 0.5, "b": 0.25, "tau": 0.5}
        blob = gmc.pack(certificate(shown, fields), tensors_of(shown, {"C_a": np.eye(shown.rank)}))
        assert agreed(blob) == "MALFORMED"


def form_faults() -> dict[str, bytes]:
    case = noisy()
    fields, tensors = parts(case, "factor")
    good, stored = certificate(case, fields), tensors_of(case, tensors)

    def claimed(**changes: Any) -> bytes:
        return gmc.pack(certificate(case, fields, **changes), stored)

    def packed(**changes: Any) -> bytes:
        return gmc.pack({**good, **changes}, stored)

    def with_tensors(**changes: Any) -> bytes:
        return gmc.pack(
            good, {key: value for key, value in (stored | changes).items() if value is not ...}
        )

    spoiled = case.U.copy()
    spoiled[0, 0] = np.nan
    infinite = case.M.copy()
    infinite[1, 1] = np.inf
    return {
        "unknown method": claimed(method="svd"),
        "unknown side": claimed(side="top"),
        "no gap": claimed(gap=...),
        "no tau": claimed(tau=...),
        "gap a float string": claimed(gap="0.5"),
        "a field of another method": claimed(method="zero"),
        "an unknown field": claimed(rank=2),
        "wrong version": claimed(version=2),
        "wrong theorem": claimed(theorem="eckart-young/1"),
        "another kind of claim": packed(claims=[gmc.claim("global-basin", loss_upper=Fraction(1))]),
        "no claims": packed(claims=[]),
        "another loss": packed(loss="half-sum-of-squares"),
        "data of another kind": packed(data={"law": "gaussian-patches"}),
        "rows that are not those of M": packed(data={"rows": 7, "columns": 5}),
        "network with an activation": packed(
            network={"kind": "factorization", "activation": "linear"}
        ),
        "NaN in a factor": with_tensors(U=spoiled),
        "infinity in the matrix": with_tensors(M=infinite),
        "no matrix": with_tensors(M=...),
        "V of another width": with_tensors(V=case.V[:, :1].copy()),
        "U and V exchanged": with_tensors(U=case.V, V=case.U),
        "C_a of the wrong size": with_tensors(**{"claims.0.C_a": np.eye(3)}),
        "no C_b": with_tensors(**{"claims.0.C_b": ...}),
        "an unknown tensor": with_tensors(W=np.eye(2)),
    }


@pytest.mark.parametrize("name", list(form_faults()))
def test_faults_of_form_are_malformed_for_both_checkers(name: str) -> None:
    assert agreed(form_faults()[name]) == "MALFORMED"


def test_a_shallow_file_cannot_carry_this_claim() -> None:
    claim = gmc.claim(
        "factorization-gap",
        method="zero",
        gap=Fraction(1),
        floor=Fraction(0),
        loss_upper=Fraction(1),
    )
    blob = gmc.build(
        np.eye(2), np.ones(2), np.eye(2), np.ones(2), [(claim, {})], activation="linear"
    )
    assert check_bytes(blob).verdict is Verdict.MALFORMED


def test_random_mutants_are_never_accepted_if_false() -> None:
    """Entries, fields, witnesses changed by random factors: both checkers agree, the oracle never
    contradicts acceptance.
    """
    rng = np.random.default_rng(5)
    verdicts = []
    for i in range(60):
        method, side = ("frobenius", "factor")[i % 2], SIDES[i // 2 % 2]
        case = noisy(4, 4, 1 + i % 2, noise=0.2, off=1e-2, seed=i)
        fields, tensors = parts(case, method, side)
        key = ["gap", "floor", "a", "b", "tau", "loss_upper", "U", "V", "M", "C_a"][i % 10]
        factor = 1.0 + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-6, -0.5)
        if key in fields:
            blob = build(case, method, side, **{key: Fraction(fields[key]) * Fraction(factor)})
        elif key == "C_a":
            blob = build(case, method, side, C_a=tensors["C_a"] * factor)
        else:
            changed = getattr(case, key).copy()
            changed[0, 0] *= factor
            blob = build(case, method, side, stored=replace(case, **{key: changed}))
        verdicts.append(agreed(blob))
    assert 10 < verdicts.count("ACCEPTED") < 50


def test_the_oracle_knows_the_tail_of_the_spectrum() -> None:
    """Inertia and bisection against LAPACK."""
    for seed in range(3):
        case = noisy(5, 4, 1, noise=0.5, seed=seed)
        exact = [[Fraction(x) for x in row] for row in case.M.tolist()]
        low, high = fraction_factorization_claims.best_loss(exact, 1)
        assert float(low) == pytest.approx(case.best(), rel=1e-12)
        assert 0 <= high - low < Fraction(1, 10**20)


def test_integers_on_the_grid_and_balls_give_the_same_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Large matrices are multiplied as integers; forced on a small one, every outcome stays."""
    monkeypatch.setattr(quadratic, "LARGE", 0)
    case = noisy(9, 7, 2)
    assert checked(case, "factor").verdict is Verdict.ACCEPTED
    fields, _ = parts(case, "factor")
    assert (
        checked(case, "factor", b=Fraction(fields["b"]) * Fraction(99, 100)).verdict
        is Verdict.REJECTED
    )


def test_a_small_file_with_a_huge_rank_ends_at_the_budget() -> None:
    """One entry and 3,000 columns in each factor: the Gram matrices would cost more than the
    budget, so nothing is formed.
    """
    wide = Case(np.ones((1, 1)), np.full((1, 3000), 1.0), np.full((1, 3000), 1 / 3000))
    result = check_bytes(build(wide, "zero", loss_upper=Fraction(1), gap=Fraction(1)))
    assert result.verdict is Verdict.UNDECIDED
    assert "budget" in result.reason


def test_the_theorem_is_explained_with_its_numbers() -> None:
    text = explained(checked(noisy(), "factor"))
    assert "Theorem EY" in text
    assert "[F6]" in text


def test_a_gram_matrix_that_balls_cannot_invert_makes_every_bound_unknown() -> None:
    """Columns of S that agree to 2^-1074: what is projected with them is NaN, so no check on it can
    hold.
    """
    S = arb_mat([[1, 1], [0, arb(2) ** -1074]])
    at = Compression(arb(1), S, S, S, S, S.transpose() * S)
    assert all(entry.is_nan() for entry in at.inverse.entries())
    assert decide(at.inside(), "<=", 10**300) is None
    assert decide(at.outside(), "<=", 10**300) is None
