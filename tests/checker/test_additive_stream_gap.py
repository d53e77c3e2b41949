"""The claim additive-stream-gap (theorem B): honest files, each check falsified alone, rows read
and not read, both checkers, and the theorem itself against brute force.
"""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checker import additive_stream_cases as cases
from tests.checker.stream_cases import digest, given
from tests.corpus.whole_files import Whole, entry, field, opened
from tests.oracles import fraction_additive_stream, fraction_checker

from globalmin_check import Verdict, check_file
from globalmin_check.engine import check_bytes


@lru_cache(maxsize=16)
def made(**options: Any) -> tuple[cases.Case, bytes]:
    case = cases.drawn(**options)
    return case, cases.build(case, cases.parts(case))


def agreed(blob: bytes, rows: np.ndarray | None = None, shard: int = 0) -> tuple[str, str]:
    """Verdict and reason, after both checkers gave the same."""
    if rows is None:
        fast, slow = check_bytes(blob), fraction_checker.check_bytes(blob)
        slow_verdict, why = slow.verdict, slow.reason
    else:
        fast = check_bytes(blob, rows=given(rows), shard=shard)
        slow_verdict, why = fraction_additive_stream.check_bytes(
            blob, rows=rows.tolist(), first=shard
        )
    if fast.verdict is not Verdict.UNDECIDED:
        assert fast.verdict.name == slow_verdict, (fast.reason, why)
    else:
        assert slow_verdict == "REJECTED"
    return fast.verdict.name, fast.reason


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("cuts", [(), (4, 9)])
def test_honest_files_are_accepted_with_and_without_their_rows(
    q: int, cuts: tuple[int, ...]
) -> None:
    case, blob = made(q=q, cuts=cuts)
    assert agreed(blob)[0] == "ACCEPTED"
    assert agreed(blob, case.rows)[0] == "ACCEPTED"


def test_the_gap_covers_the_distance_to_a_better_network_and_is_near_it() -> None:
    best, half = cases.drawn(q=1), cases.drawn(q=1, trained=0.5)
    excess = half.objective(1.0) - best.objective(1.0)
    fields, _ = cases.parts(half)
    assert excess <= fields["gap"] <= 10 * excess
    assert cases.parts(best)[0]["gap"] <= best.objective(1.0) / 100


def test_what_was_read_is_said_plainly() -> None:
    case, blob = made()
    silent = check_bytes(blob)
    assert silent.statement.startswith("For all rows whose sums are those of the file (the rows ")
    assert (silent.claims[0].numbers or {})["shards_read"] == "0"
    whole = check_bytes(blob, rows=given(case.rows))
    assert whole.statement.startswith("All rows were read, and have the digests and the sums")
    part = check_bytes(blob, rows=given(case.rows[4:9]), shard=1)
    assert part.statement.startswith("The rows of shards 1 to 1 (of 3, counted from 0) were read")
    assert (part.claims[0].numbers or {})["shards_read"] == "1"


def test_blocks_of_any_size_give_the_same_verdict() -> None:
    case, blob = made()
    for block in (1, 2, 5, 100):
        found = check_bytes(blob, rows=given(case.rows, block))
        assert found.verdict is Verdict.ACCEPTED, found.reason


def edited(*changes: Callable[[Whole], None]) -> bytes:
    file = opened(made()[1])
    for change in changes:
        change(file)
    return file.sealed()


def generous(file: Whole) -> None:
    """Loss and gap can hardly fail any more."""
    file.claim["loss_upper"] = file.claim["gap"] = "1000000000000"


FAULTS: dict[str, tuple[tuple[Callable[[Whole], None], ...], str]] = {
    "gap negative": ((field("gap", lambda x: Fraction(-1)),), "K1a"),
    "decay zero": ((field("decay", lambda x: Fraction(0)),), "K1b"),
    "decay negative": ((field("decay", lambda x: -x), generous), "K1b"),
    "t negative": ((field("t", lambda x: -x),), "K1c"),
    "scale zero": ((entry("scale", 0, lambda x: 0.0),), "K1d"),
    "label scale negative": ((entry("scale", -1, lambda x: -x),), "K1d"),
    "radius negative": ((entry("radii", (1, 2), lambda x: -1e-300),), "K1e"),
    "neuron on two columns": ((entry("W", 0, lambda x: x + 1.0),), "K2"),
    "edges equal": ((entry("edges", 1, lambda x: -99.0),), "K3"),
    "count negative": ((entry("counts", (0, 0), lambda x: -1),), "K4a"),
    "one row more": ((entry("counts", (1, 3), lambda x: x + 1),), "K4b"),
    "loss a hair too small": ((field("loss_upper", lambda x: x - Fraction(1, 2**200)),), "K5"),
    "gap a hair too small": ((field("gap", lambda x: x - Fraction(1, 2**200)),), "K6"),
    "A larger": ((entry("totals", (0, 0), lambda x: x * 1.001),), "K5"),
    "kappa larger": ((entry("radii", (0, 2), lambda x: 1.0),), "K5"),
    "B larger": ((entry("totals", (2, 1), lambda x: x + 1e-6),), "K6"),
    "eta larger": ((entry("radii", (1, 3), lambda x: 1e-6),), "K6"),
    "weights larger": ((entry("v", 0, lambda x: 3 * x + 1),), "K6"),
    "Y with a mean of r": (
        (entry("totals", (0, 2), lambda x: 1e-3), entry("totals", (0, 3), lambda x: 50.0)),
        "K6",
    ),
    "mean of r": ((entry("totals", (0, 2), lambda x: x + 3.0), generous), "K7"),
    "rho larger": ((entry("radii", (0, 0), lambda x: 1.0), generous), "K7"),
    "sigma larger": ((entry("radii", (2, 1), lambda x: 1.0), generous), "K7"),
    "kappa much larger": ((entry("radii", (0, 2), lambda x: 1e9), generous), "K7"),
    "residuals larger": ((entry("residuals", (0, 0), lambda x: x + 9.0), generous), "K7"),
    "residuals smaller": ((entry("residuals", (0, 0), lambda x: x - 9.0), generous), "K7"),
    "moments larger": ((entry("moments", (0, 8), lambda x: x + 9.0), generous), "K7"),
    "t larger": ((field("t", lambda x: 2 * x), generous), "K7"),
    "decay smaller": ((field("decay", lambda x: x / 2), generous), "K7"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_check_refuses_its_own_fault(name: str) -> None:
    changes, number = FAULTS[name]
    verdict, reason = agreed(edited(*changes))
    assert verdict == "REJECTED"
    assert f"check {number} " in reason, reason


@pytest.mark.parametrize("name", ["residuals", "moments", "squares", "totals"])
@pytest.mark.parametrize("step", [1, -1])
def test_sums_outside_the_radius_are_refused_only_with_the_rows(name: str, step: int) -> None:
    """A stored sum is moved by more than its radius: nobody sees it without the rows."""
    case = cases.drawn()
    fields, tensors = cases.parts(case, t=0.5)
    fields |= {"gap": fields["gap"] + 1, "loss_upper": fields["loss_upper"] + 1}
    column = {"residuals": 0, "moments": 1, "squares": 2, "totals": 3}[name]
    places = range(4) if name == "totals" else [int(np.argmax(tensors["counts"][1]))]
    for place in places:
        moved = {key: value.copy() for key, value in tensors.items()}
        moved[name][1, place] += step * 1e-9
        blob = cases.build(case, (fields, moved))
        assert agreed(blob)[0] == "ACCEPTED"
        verdict, reason = agreed(blob, case.rows)
        letter = "bcde"[place] if name == "totals" else "f"
        assert (verdict, f"check K10{letter} " in reason) == ("REJECTED", True), reason
        own = (2, 3, 0, 3)[place] if name == "totals" else column
        moved["radii"][1, own] += 1.1e-9  # per row, so now it is covered
        assert agreed(cases.build(case, (fields, moved)), case.rows)[0] == "ACCEPTED"


def test_rows_in_another_bin_are_refused_with_the_rows() -> None:
    case = cases.drawn()
    fields, tensors = cases.parts(case, t=0.5)
    full = np.flatnonzero(tensors["counts"][0])
    tensors["counts"][0, full[0]] -= 1
    tensors["counts"][0, full[0] + 1] += 1
    blob = cases.build(case, (fields, tensors))
    assert agreed(blob)[0] == "ACCEPTED"
    assert "check K10f " in agreed(blob, case.rows)[1]


def test_a_row_outside_of_the_edges_is_refused() -> None:
    case = cases.drawn()
    fields, tensors = cases.parts(case, t=0.5)
    for row, value in ((0, 1e3), (1, -1e3)):
        rows = case.rows.copy()
        rows[row, 0] = value
        file = opened(cases.build(case, (fields, tensors)))
        file.top["data"]["shards"][0]["sha256"] = digest(rows[:4])
        verdict, reason = agreed(file.sealed(), rows)
        assert (verdict, "check K10a " in reason) == ("REJECTED", True), reason


def test_other_rows_are_refused() -> None:
    case, blob = made()
    changed = case.rows.copy()
    changed[7, 0] = np.nextafter(changed[7, 0], 9)
    assert "check K9 " in agreed(blob, changed)[1]
    assert agreed(blob, case.rows[:7])[0] == "UNDECIDED"


def test_numbers_of_extreme_size_are_added_exactly() -> None:
    """Exponents from -1000 to 5 in one column; the slow checker adds fractions."""
    case = cases.drawn(6, 1, cuts=(2,))
    rows = case.rows.copy()
    rows[:, 0] = [1e-300, 3.0, -2.5e-17, 5e-324, 1.0, -0.0]
    case = replace(case, rows=rows, edges=(np.array([-1.0, -1e-17, 0.5, 3.0]),))
    blob = cases.build(case, cases.parts(case, t=0.01))
    assert agreed(blob, rows)[0] == "ACCEPTED"


def test_a_neuron_without_a_column_is_a_constant() -> None:
    case = cases.drawn(6, 1, cuts=(2,))
    more = replace(
        case,
        W=np.vstack([case.W, [[0.0]], [[0.0]]]),
        bias=np.append(case.bias, [0.5, -0.5]),
        v=np.append(case.v, [0.25, 8.0]),
        intercept=case.intercept - 0.125,
    )
    assert more.residuals(more.rows) == case.residuals(case.rows)
    assert agreed(cases.build(more, cases.parts(more)), more.rows)[0] == "ACCEPTED"


def test_the_worked_example_of_the_page() -> None:
    case = cases.Case(
        np.array([[-1.0, -1.0], [1.0, 1.0]]), (), np.zeros(2), np.ones(2),
        (np.array([-1.0, 0.0, 1.0]),), np.zeros((1, 1)), np.zeros(1), np.zeros(1),
    )  # fmt: skip

    def verdict(t: Fraction, gap: Fraction) -> str:
        fields, tensors = cases.parts(case, t=0.5)
        tensors["radii"] = np.zeros((1, 4))
        fields |= {"t": t, "gap": gap, "loss_upper": Fraction(1)}
        return agreed(cases.build(case, (fields, tensors)), case.rows)[0]

    t = Fraction(78, 125)
    assert verdict(t, Fraction(47, 125) ** 2) == "ACCEPTED"
    assert verdict(t, Fraction(47, 125) ** 2 - Fraction(1, 2**100)) == "REJECTED"
    assert verdict(Fraction(5, 8), Fraction(1)) == "REJECTED"


@pytest.mark.parametrize("seed", range(12))
def test_the_theorem_against_all_neurons_on_a_grid(seed: int) -> None:
    """The largest t that the checker accepts is feasible for the rows themselves: no neuron on a
    fine grid of kinks violates its constraint; with fine bins hardly more is lost.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    x, r = rng.standard_normal(n) * 10.0 ** rng.uniform(-1, 1), rng.standard_normal(n)
    r -= r.mean()
    rows = np.column_stack([x, -r])
    edges = np.unique(np.concatenate([[x.min(), x.max()], rng.uniform(x.min(), x.max(), 5)]))
    fine = np.unique(np.concatenate([x, x + 1e-7]))
    found = []
    for own in (edges, fine):
        case = cases.Case(
            rows, (), np.zeros(2), np.ones(2), (own,), np.zeros((1, 1)), np.zeros(1), np.zeros(1)
        )
        found.append(cases.parts(case, decay=0.3 * n**0.5)[0]["t"])
    kinks = np.concatenate([np.linspace(x.min() - 1, x.max() + 1, 4001), x])
    gaps = x[:, None] - kinks
    sums = [np.abs(r @ np.maximum(side * gaps, 0.0)) / np.hypot(1, kinks) for side in (1, -1)]
    limit = 0.3 * n**0.5 / max(s.max() for s in sums)
    assert found[0] <= limit * (1 + 1e-9)
    assert found[1] <= limit * (1 + 1e-9)
    assert found[1] >= min(limit, 1.0) - 1e-3


def test_rows_come_from_files(tmp_path: Path) -> None:
    case, blob = made()
    certificate, rows = tmp_path / "stream.gmc", tmp_path / "rows.npy"
    certificate.write_bytes(blob)
    np.save(rows, case.rows)
    assert check_file(certificate, rows=[rows]).statement.startswith("All rows were read")


@pytest.mark.parametrize("seed", range(8))
def test_both_checkers_end_at_the_same_multiple(seed: int) -> None:
    """Several rows in wide bins: the largest t of the slow checker is accepted, a little more is
    not, so that every term of (1) and (2) counts.
    """
    rng = np.random.default_rng(seed)
    n = 9
    x, r = rng.standard_normal(n) * 2.0, rng.standard_normal(n)
    edges = np.linspace(x.min(), x.max(), 4)
    spread = np.array([(0.0, -30.0, 30.0)[seed % 3], 0.0]), np.array([2.0, 1.0])
    case = cases.Case(
        np.column_stack([x, r - r.mean()]), (4,), *spread, (edges,), np.zeros((1, 1)), np.zeros(1),
        np.zeros(1),
    )  # fmt: skip
    fields, tensors = cases.parts(case, decay=0.05, t=0.0)
    tensors["radii"] = np.array([[0.01, 0.02, 0.03, 0.0], [0.02, 0.01, 0.05, 0.0]])
    t = cases.largest(case, tensors, [3], 0.05)
    assert 0.0 < t < 0.99
    fields |= {"t": t, "gap": Fraction(10**6), "loss_upper": Fraction(10**6)}
    assert agreed(cases.build(case, (fields, tensors)))[0] == "ACCEPTED"
    fields |= {"t": t + 2.0**-13}
    verdict, reason = agreed(cases.build(case, (fields, tensors)))
    assert (verdict, "check K7 " in reason or "check K8 " in reason) == ("REJECTED", True)
