"""The claim patch-interpolation (theorem of the patch cell): honest files, the worked example at
its edges, exact zeros, exact ranks, what is refused, both checkers.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import fmpz_mat
from tests.checker.patch_cases import Case, build, drawn, integral, parts, windows
from tests.corpus.corpus_patches import _basis, _by_margin, _dead_place, golden
from tests.oracles import fraction_checker
from tests.oracles import fraction_patch_claims as slow

from globalmin_check import Verdict, limits
from globalmin_check.certificate import read_certificate
from globalmin_check.claims.patch_network import all_patches, cut, integer_system
from globalmin_check.engine import check_bytes


def agreed(raw: bytes) -> str:
    """The verdict, after both checkers gave the same one for the same check."""
    fast, second = check_bytes(raw), fraction_checker.check_bytes(raw)
    assert fast.verdict.name == second.verdict, (fast.reason, second.reason)
    if second.verdict == "REJECTED":
        assert f"check {second.reason.split()[-1]} " in fast.reason, (fast.reason, second.reason)
    return second.verdict


def zero_of(raw: bytes) -> tuple[slow.PatchFile, slow.Matrix]:
    """The filters that the theorem promises, in exact rationals."""
    file = slow.read_patches(raw)
    return file, slow.nearest_zero(file, file.claims[0])


HONEST = [{}, {"bias": True}, {"padding": 1}, {"n": 2, "m": 1}, {"n": 5, "m": 3, "off": 1e-7}]


@pytest.mark.parametrize("shape", HONEST, ids=str)
def test_honest_files_are_accepted_and_the_promised_filters_have_loss_exactly_zero(shape: Any):
    raw = build(drawn(**shape))
    assert agreed(raw) == "ACCEPTED"
    assert fraction_checker.oracle_truth(raw) is True
    file, found = zero_of(raw)
    assert file.residual(found) == [0] * len(file.y)
    assert slow.distance2(found, file.filters) <= file.claims[0].fields["R"] ** 2
    result = check_bytes(raw)
    assert "output weights v fixed" in result.statement
    assert result.claims[0].numbers is not None
    assert result.claims[0].numbers["loss"] > 0  # the stored filters are not the zero


def test_the_worked_example_at_its_edges():
    """f = 3w/2 for w > 0, label 3, the zero at w = 2."""
    assert agreed(golden()) == "ACCEPTED"
    _, found = zero_of(golden())
    assert found == [[Fraction(2)]]
    # from w = 1 the move would have the length of the product itself: no mu below G = 9/4 holds
    assert agreed(golden(hat=1.0)) == "REJECTED"
    assert agreed(golden(other=3.0)) == "ACCEPTED"
    assert agreed(golden(other=3.0 + 2.0**-51)) == "REJECTED"
    assert agreed(golden(label=-3.0)) == "REJECTED"


@pytest.mark.parametrize("seed", range(4))
def test_more_samples_than_weights_need_labels_that_are_exact(seed: int):
    """kd < n: zero loss is proved by an exact rank, and one unit in the last place ends it."""
    case = integral(7, 5, 1, 3, seed=seed)
    made = parts(case, solved=_basis(case))
    raw = build(case, made)
    assert len(case.y) > case.W.size
    assert agreed(raw) == "ACCEPTED"
    file, found = zero_of(raw)
    assert file.residual(found) == [0] * 7
    last = int(np.argmax(~np.isin(np.arange(7), _basis(case))))
    labels = case.y.copy()
    labels[last] = np.nextafter(labels[last], np.inf)
    off = replace(case, y=labels)
    assert agreed(build(off, made)) == "REJECTED"
    assert "check Q3" in check_bytes(build(off, made)).reason


def test_the_integer_matrix_has_the_rank_of_the_rational_one():
    """Rows, output weights and filters are scaled by powers of two; filters outside T enter."""
    rng = np.random.default_rng(0)
    for number in range(60):
        n, m, p = (int(rng.integers(1, top)) for top in (6, 4, 3))
        table = windows(4, p)
        draws = (rng.integers(-3, 4, s) * 2.0 ** rng.integers(-5, 6) for s in ((n, 4), n, (m, p)))
        X, y, W = draws
        case = Case(X, y, table, W, rng.integers(-2, 3, (m, len(table))) / 4.0)
        moving = sorted(rng.choice(m, int(rng.integers(1, m + 1)), replace=False).tolist())
        raw = build(
            case, (dict.fromkeys(("loss_upper", "mu", "R"), Fraction(1)), _witness(case, moving))
        )
        problem, claims = read_certificate(raw, None)
        pattern = [
            [int(sum(Fraction(a) * Fraction(b) for a, b in zip(z, w, strict=True)) > 0) for w in W]
            for z in all_patches(problem)
        ]
        found = integer_system(problem, claims[0].content.W_hat, moving, pattern)
        cell = slow.Cell(slow.read_patches(raw), slow.read_patches(raw).claims[0])
        system = [[*row, r] for row, r in zip(cell.J, cell.residual, strict=True)]
        assert isinstance(found, fmpz_mat)
        assert found.rank() == slow.rank(system), number


def _witness(case: Case, moving: list[int]) -> dict[str, Any]:
    S = np.arange(len(case.y))
    return {
        "W_hat": case.W,
        "T": np.array(moving, dtype=np.int64),
        "S": S.astype(np.int64),
        "C": np.eye(len(S)),
    }


def test_only_the_second_condition_or_a_zero_output_weight_saves_a_small_product():
    for case in (_by_margin(), _dead_place()):
        assert agreed(build(case)) == "ACCEPTED"
    wide = replace(_by_margin(), heads=np.array([[1.0, 0.0]]))
    assert agreed(build(replace(wide, y=wide.outputs() + 2.0**-4))) == "ACCEPTED"
    alive = replace(_dead_place(), heads=np.array([[1.0, 2.0**-30, 1.0]]))
    assert agreed(build(replace(alive, y=_dead_place().y))) == "REJECTED"


def test_a_patch_network_is_not_its_dense_network():
    """Copies of a filter may move apart in a dense network; here two samples that show the filter
    the same patches at exchanged places must have the same label.
    """
    X = np.array([[1.0, 2.0], [2.0, 1.0]])
    table = np.array([[0], [1]], dtype=np.int64)
    case = Case(X, np.array([3.0, 3.5]), table, np.array([[2.0]]), np.full((1, 2), 0.5))
    for solved in ([0], [1]):
        made = parts(case, solved=solved)
        assert agreed(build(case, made, R=Fraction(100))) == "REJECTED"
    whole = parts(replace(case, y=np.array([3.0, 3.0])), solved=[0])
    assert agreed(build(replace(case, y=np.array([3.0, 3.0])), whole)) == "ACCEPTED"


def test_patches_are_cut_as_the_format_page_says():
    assert cut([5.0, 6.0, 7.0], ((-1, 0), (2, 1))) == [[0, 5.0], [7.0, 6.0]]
    case = drawn(padding=1, seed=3)
    problem, _ = read_certificate(build(case), None)
    assert np.array_equal(np.array(all_patches(problem)), case.patches.reshape(-1, 3))


def test_data_may_lie_outside_of_the_file():
    from tests.oracles import gmc_builder as gmc

    case = drawn()
    raw, data = build(case, stored=False), gmc.build_data(case.X, case.y)
    assert check_bytes(raw).verdict is Verdict.UNDECIDED
    assert check_bytes(raw, data).verdict is Verdict.ACCEPTED
    assert fraction_checker.check_bytes(raw, data).verdict == "ACCEPTED"
    other = gmc.build_data(case.X, case.y + 1e-9)
    assert check_bytes(raw, other).verdict is Verdict.REJECTED
    assert fraction_checker.check_bytes(raw, other).verdict == "REJECTED"


def test_the_statement_is_bound_to_the_table():
    """Another table is another network, so the digits of the statement differ."""
    case = drawn()
    turned = replace(case, table=case.table[::-1].copy(), heads=case.heads[:, ::-1].copy())
    assert np.allclose(case.outputs(), turned.outputs())
    first, second = (read_certificate(build(c), None)[0].about for c in (case, turned))
    assert first != second


def test_patches_that_do_not_fit_into_memory_are_undecided(monkeypatch: pytest.MonkeyPatch):
    """n k p patches are counted before they are cut."""
    raw = build(drawn(padding=1))
    assert check_bytes(raw).verdict is Verdict.ACCEPTED
    monkeypatch.setattr(limits, "BALL_BYTES", 80 * 3 * 5 * (2 * 3 + 3 * 2))
    result = check_bytes(raw)
    assert result.verdict is Verdict.UNDECIDED
    assert "bytes" in result.reason


def test_the_work_of_an_exact_rank_is_counted(monkeypatch: pytest.MonkeyPatch):
    case = integral(7, 5, 1, 3)
    raw = build(case, parts(case, solved=_basis(case)))
    # 63 products and 7 x 4 x 4 steps of elimination, 500 each, and about 1,000 ball products
    monkeypatch.setattr(limits, "WORK", 92_000)
    assert check_bytes(raw).verdict is Verdict.ACCEPTED
    monkeypatch.setattr(limits, "WORK", 500 * (63 + 112))
    assert check_bytes(raw).verdict is Verdict.UNDECIDED
