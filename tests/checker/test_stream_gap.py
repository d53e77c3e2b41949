"""The claim stream-gap (theorem H): honest files, each check falsified alone, rows read and not
read, form, both checkers.
"""

import sys
from array import array
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checker import stream_cases as cases
from tests.corpus.whole_files import Whole, entry, field, opened
from tests.oracles import fraction_checker, fraction_stream_claims

from globalmin_check import Verdict, check_file
from globalmin_check.command.cli import main
from globalmin_check.engine import check_bytes

HEADS = ["any", "nonnegative", "nonpositive"]


def made(heads: str = "any", **options: Any) -> tuple[cases.Case, bytes]:
    case = cases.drawn(heads=heads, **options)
    return case, cases.build(case, cases.parts(case, heads))


def agreed(blob: bytes, rows: np.ndarray | None = None, shard: int = 0) -> tuple[str, str]:
    """Verdict and reason, after both checkers gave the same; UNDECIDED of the fast one for rows
    that do not fit is REJECTED by the slow one.
    """
    if rows is None:
        fast, slow = check_bytes(blob), fraction_checker.check_bytes(blob)
        slow_verdict, why = slow.verdict, slow.reason
    else:
        fast = check_bytes(blob, rows=cases.given(rows), shard=shard)
        slow_verdict, why = fraction_stream_claims.check_bytes(
            blob, rows=rows.tolist(), first=shard
        )
    if fast.verdict is not Verdict.UNDECIDED:
        assert fast.verdict.name == slow_verdict, (fast.reason, why)
    else:
        assert slow_verdict == "REJECTED"
    return fast.verdict.name, fast.reason


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("heads", HEADS)
def test_honest_files_are_accepted_with_and_without_their_rows(heads: str, bias: bool) -> None:
    case, blob = made(heads, bias=bias)
    assert agreed(blob)[0] == "ACCEPTED"
    assert agreed(blob, case.rows)[0] == "ACCEPTED"


def test_the_gap_covers_the_distance_to_the_true_minimum_and_is_near_it() -> None:
    """The distance by another road: both objectives in floats, at a network half as large."""
    best, half = cases.drawn(), cases.drawn(trained=0.5)

    def objective(case: cases.Case) -> float:
        r = np.array([float(x) for x in case.residuals(case.rows)])
        return 0.5 * float(r @ r) + 0.5 * float(np.sum(case.W**2))

    fields, _ = cases.parts(half)
    excess = objective(half) - objective(best)
    assert excess <= float(fields["gap"]) <= 10 * excess


def test_what_was_read_is_said_plainly() -> None:
    case, blob = made()
    silent = check_bytes(blob)
    assert silent.statement.startswith("For all rows whose sums are those of the file (the rows ")
    assert (silent.claims[0].numbers or {})["shards_read"] == "0"
    whole = check_bytes(blob, rows=cases.given(case.rows))
    assert whole.statement.startswith("All rows were read, and have the digests and the sums")
    part = check_bytes(blob, rows=cases.given(case.rows[5:9]), shard=1)
    assert part.statement.startswith("The rows of shards 1 to 1 (of 3, counted from 0) were read")
    assert "which were not read" in part.statement
    assert (part.claims[0].numbers or {})["shards_read"] == "1"


def test_blocks_of_any_size_give_the_same_verdict() -> None:
    case, blob = made()
    for block in (1, 2, 5, 100):
        found = check_bytes(blob, rows=cases.given(case.rows, block))
        assert found.verdict is Verdict.ACCEPTED, found.reason


def edited(change: Callable[[Whole], None], heads: str = "any") -> bytes:
    file = opened(made(heads)[1])
    change(file)
    return file.sealed()


FAULTS: dict[str, tuple[Callable[[Whole], None], str]] = {
    "gap negative": (field("gap", lambda x: Fraction(-1)), "H1a"),
    "decay zero": (field("decay", lambda x: Fraction(0)), "H1b"),
    "v_max zero": (field("v_max", lambda x: Fraction(0)), "H1c"),
    "t negative": (field("t", lambda x: -x), "H1d"),
    "scale zero": (entry("scale", 0, lambda x: 0.0), "H1e"),
    "scale negative": (entry("scale", -1, lambda x: -x), "H1e"),
    "radius negative": (entry("radii", (1, 2), lambda x: -1e-300), "H1f"),
    "head beyond the class": (entry("v", 0, lambda x: 2 * x), "H2a"),
    "loss a hair too small": (
        field("loss_upper", lambda x: x - Fraction(1, 2**200)),
        "H3",
    ),
    "gap a hair too small": (field("gap", lambda x: x - Fraction(1, 2**200)), "H4"),
    "squares larger": (entry("squares", 1, lambda x: x * 1.001), "H3"),
    "alpha larger": (entry("radii", (0, 0), lambda x: 1.0), "H3"),
    "products larger": (entry("products", 2, lambda x: x + 1e-6), "H4"),
    "beta larger": (entry("radii", (2, 1), lambda x: 1e-6), "H4"),
    "weights larger": (entry("W", (0, 0), lambda x: 9 * abs(x) + 1), "H4"),
    "zeta larger": (entry("radii", (1, 2), lambda x: 0.5), "H5"),
    "moments larger": (entry("moments", (1, 0), lambda x: x - 3.0), "H5"),
    "v_max larger": (field("v_max", lambda x: 2 * x), "H5"),
    "upper factor empty": (entry("C_upper", (0, 0), lambda x: 0.0), "H6"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_check_refuses_its_own_fault(name: str) -> None:
    change, number = FAULTS[name]
    verdict, reason = agreed(edited(change))
    assert verdict == "REJECTED"
    assert f"check {number} " in reason, reason


@pytest.mark.parametrize(("heads", "other"), [("nonnegative", -1.0), ("nonpositive", 1.0)])
def test_a_head_of_the_other_sign_is_not_in_the_class(heads: str, other: float) -> None:
    verdict, reason = agreed(edited(entry("v", 0, lambda x: other), heads))
    assert (verdict, "check H2b " in reason) == ("REJECTED", True), reason


@pytest.mark.parametrize("place", [0, 1, 2])
def test_sums_outside_the_radius_are_refused_only_with_the_rows(place: int) -> None:
    """A stored sum is moved by twice its radius and more, in the direction that makes the claim
    weaker: nobody sees it without the rows.
    """
    case = cases.drawn()
    fields, tensors = cases.parts(case)
    name, row = ("squares", "products", "moments")[place], (1,) if place < 2 else (1, 0)
    moved = {key: value.copy() for key, value in tensors.items()}
    moved[name][row] += 1e-9
    fields = fields | {"gap": fields["gap"] + 1, "loss_upper": fields["loss_upper"] + 1}
    blob = cases.build(case, (fields, moved))
    assert agreed(blob)[0] == "ACCEPTED"
    verdict, reason = agreed(blob, case.rows)
    assert (verdict, f"check H8{'abc'[place]} " in reason) == ("REJECTED", True), reason
    moved["radii"][1, place] = 1e-9 * (1 + 1e-6)  # now it is covered
    assert agreed(cases.build(case, (fields, moved)), case.rows)[0] == "ACCEPTED"


def test_moments_off_the_diagonal_count_twice() -> None:
    """The distance is that of whole matrices: an entry off the diagonal is there twice."""
    case = cases.drawn()
    fields, tensors = cases.parts(case)
    tensors["moments"][0, 1] += 1e-6
    fields |= {"gap": fields["gap"] + 1}
    for radius, verdict in ((1.41e-6, "REJECTED"), (1.42e-6, "ACCEPTED")):
        tensors["radii"][0, 2] = radius
        assert agreed(cases.build(case, (fields, tensors)), case.rows)[0] == verdict


def test_other_rows_are_refused() -> None:
    case, blob = made()
    changed = case.rows.copy()
    changed[7, 0] = np.nextafter(changed[7, 0], 9)
    verdict, reason = agreed(blob, changed)
    assert (verdict, "check H7 " in reason) == ("REJECTED", True), reason
    swapped = case.rows[[1, 0, *range(2, len(case.rows))]]
    assert agreed(blob, swapped)[0] == "REJECTED"


def test_rows_that_do_not_fit_the_shards_are_no_proof() -> None:
    case, blob = made()
    for rows, shard, words in (
        (case.rows[:3], 0, "end within shard 0, 2 rows before"),
        (case.rows[:7], 0, "end within shard 1"),
        (np.concatenate([case.rows, case.rows[:1]]), 0, "more rows than the shards"),
        (case.rows[5:9], 3, "there is no shard 3"),
        (case.rows[:0], 0, "end within shard 0"),
    ):
        found = check_bytes(blob, rows=cases.given(rows), shard=shard)
        assert found.verdict is Verdict.UNDECIDED
        assert words in found.reason
    more = np.concatenate([case.rows, case.rows[:1]])
    found = check_bytes(blob, rows=cases.given(more, len(case.rows)))  # in a block of its own
    assert "more rows than the shards" in found.reason
    for values in ([np.nan], [np.inf], [-np.inf], [np.inf, -np.inf], [1e308, 1e308, -np.inf]):
        bad = case.rows.copy()
        bad[2 : 2 + len(values), 1] = values
        assert "NaN" in check_bytes(blob, rows=cases.given(bad, 8)).reason
    bad[2:4, 1] = bad[2, 0] = bad[4, 1] = 1e308  # finite, and their sum is not
    found = check_bytes(blob, rows=cases.given(bad, 8))
    assert (found.verdict, "have its digest" in found.reason) == (Verdict.REJECTED, True)
    found = check_bytes(blob, rows=lambda columns: iter([array("d", [1.0])]))
    assert "numbers per row" in found.reason


def test_numbers_of_extreme_size_are_added_exactly() -> None:
    """Exponents from -1000 to 300 in one column; the slow checker adds fractions."""
    case = cases.drawn(6, 1, cuts=(2,))
    rows = case.rows.copy()
    rows[:, 0] = [1e-300, 3.0, -2.5e-17, 5e-324, 1.0, -0.0]
    case = replace(case, rows=rows)
    blob = cases.build(case, cases.parts(case))
    assert agreed(blob, rows)[0] == "ACCEPTED"


def test_two_claims_read_the_rows_twice() -> None:
    case, blob = made()
    file = opened(blob)
    file.top["claims"] = file.top["claims"] * 2
    file.tensors |= {
        name.replace("claims.0.", "claims.1."): value
        for name, value in list(file.tensors.items())
        if name.startswith("claims.0.")
    }
    found = check_bytes(file.sealed(), rows=cases.given(case.rows))
    assert found.verdict is Verdict.ACCEPTED, found.reason
    assert found.statement.count("All rows were read") == 2


def test_the_worked_examples_of_the_page() -> None:
    """One row a = 1 with the label 1 and W = 0: r = -1, A = 1, B = -1, Z = -1."""
    case = cases.Case(
        np.array([[1.0, 1.0]]), (), np.zeros(2), np.ones(2), np.zeros((1, 1)), np.ones(1), False
    )

    def verdict(w: float, t: float, gap: Fraction, alpha: float = 0.0, zeta: float = 0.0) -> str:
        fields, tensors = cases.parts(case, "nonnegative", w, 0.0)
        fields |= {"t": t, "gap": gap, "loss_upper": Fraction(1)}
        tensors["radii"] = np.array([[alpha, 0.0, zeta]])
        size = w / 2 - t * zeta - t
        tensors["C_lower"] = np.array([[abs(size) ** -0.5]])
        return agreed(cases.build(case, (fields, tensors)), case.rows)[0]

    tiny = Fraction(1, 2**100)
    assert verdict(4.0, 1.0, Fraction(0)) == "ACCEPTED"
    assert verdict(1.0, 0.499, Fraction(1, 8) + Fraction(1, 1000)) == "ACCEPTED"
    assert verdict(1.0, 0.501, Fraction(1)) == "REJECTED"
    exact = Fraction(1, 2) * (1 + Fraction(1, 4)) - Fraction(1, 2)
    assert exact == Fraction(1, 8)
    half = Fraction(5, 8) * (1 + Fraction(0.01)) - Fraction(1, 2)
    assert verdict(1.1, 0.5, half, alpha=0.01) == "ACCEPTED"
    assert verdict(1.1, 0.5, half - tiny, alpha=0.01) == "REJECTED"
    assert verdict(4.0, 1.0, Fraction(1), zeta=1.5) == "REJECTED"
    third = Fraction(2.0 / 3.0)
    assert verdict(4.0, 2.0 / 3.0, (1 + third**2) / 2 - third, zeta=1.5) == "ACCEPTED"


def test_a_stream_is_no_shallow_network_and_rows_are_for_streams() -> None:
    case, blob = made()
    file = opened(blob)
    file.top["network"] = {"kind": "filter"}
    assert check_bytes(file.sealed()).verdict is Verdict.MALFORMED
    from tests.checker import factorization_cases

    other = factorization_cases.build(factorization_cases.noisy())
    found = check_bytes(other, rows=cases.given(case.rows))
    assert (found.verdict, "not about a stream" in found.reason) == (Verdict.UNDECIDED, True)


def write(path: Path, rows: np.ndarray) -> Path:
    names = ["x0", "x1", "y"]
    if path.suffix == ".npy":
        np.save(path, rows)
    elif path.suffix == ".csv":
        lines = [",".join(["more", *reversed(names)])]
        lines += [",".join(["7", *(repr(float(x)) for x in row[::-1])]) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    else:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(list(rows.T), names=names), path, row_group_size=4)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".parquet"])
def test_rows_come_from_files_cut_anywhere(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case, blob = made()
    certificate = tmp_path / "stream.gmc"
    certificate.write_bytes(blob)
    files = [
        write(tmp_path / f"part{i}{suffix}", rows)
        for i, rows in enumerate(np.split(case.rows, [3, 11]))
    ]
    assert check_file(certificate, rows=files).statement.startswith("All rows were read")
    code = main([str(certificate), "--rows", *map(str, files), "--time-limit", "0",
                 "--memory-limit", "0"])  # fmt: skip
    assert (code, "All rows were read" in capsys.readouterr().out) == (0, True)
    wrong = check_file(certificate, rows=files[::-1])
    assert wrong.verdict is not Verdict.ACCEPTED
    alone = write(tmp_path / f"alone{suffix}", case.rows[5:9])
    assert main([str(certificate), "--rows", str(alone), "--shard", "1", "--time-limit", "0",
                 "--memory-limit", "0"]) == 0  # fmt: skip


def test_files_that_hold_no_such_rows_are_undecided(tmp_path: Path) -> None:
    case, blob = made()
    certificate = tmp_path / "stream.gmc"
    certificate.write_bytes(blob)
    text = {"a.csv": "x0,x1\n1,2\n", "b.csv": "x0,x1,y\n1,2\n", "c.csv": "x0,x1,y\n1,2,three\n"}
    for name, content in (text | {"d.xlsx": "", "e.npy": "no array", "f.csv": ""}).items():
        (tmp_path / name).write_text(content)
        assert check_file(certificate, rows=[tmp_path / name]).verdict is Verdict.UNDECIDED
    for bad in (case.rows.astype("f4"), case.rows[:, :2], np.asfortranarray(case.rows)):
        np.save(tmp_path / "g.npy", bad)
        found = check_file(certificate, rows=[tmp_path / "g.npy"])
        assert "not a float64 array in row order with 3 columns" in found.reason
    with pytest.raises(OSError, match="nothing"):
        check_file(certificate, rows=[tmp_path / "nothing.csv"])


ODD_ROWS = {
    "not UTF-8.csv": b"x0,x1,y\n\xff\xfe,1,2\n",  # these two once ended the checker
    "a long field.csv": b"x0,x1,y\n1,2," + b"9" * 200_000 + b"\n",
    "an open quote.csv": b'x0,x1,y\n"1,2,3\n',
    "a zero byte.csv": b"x0,x1,y\n1,\x002,3\n",
    "infinite.csv": b"x0,x1,y\n1e999,2,3\n",
    "no number.csv": b"x0,x1,y\nnan,2,3\n",
    "cut header.npy": b"\x93NUMPY\x01\x00",
    "no header.npy": b"\x93NUMPY\x01\x00\x08\x00xxxxxxxx",
    "a list.npy": b"\x93NUMPY\x01\x00\x02\x00[]",
    "brackets.npy": b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535,
    "garbage.parquet": b"PAR1 and nothing else",
}


@pytest.mark.parametrize("name", ODD_ROWS)
def test_odd_files_of_rows_get_a_verdict_and_never_an_acceptance(name: str, tmp_path: Path) -> None:
    _, blob = made()
    (tmp_path / "stream.gmc").write_bytes(blob)
    (tmp_path / name).write_bytes(ODD_ROWS[name])
    found = check_file(tmp_path / "stream.gmc", rows=[tmp_path / name])
    assert found.verdict in (Verdict.UNDECIDED, Verdict.REJECTED), found.reason


def test_arrays_that_end_within_a_row_and_parquet_with_gaps_are_undecided(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    case, blob = made()
    (tmp_path / "stream.gmc").write_bytes(blob)
    whole = write(tmp_path / "rows.npy", case.rows).read_bytes()
    (tmp_path / "rows.npy").write_bytes(whole[:-4])
    gaps = {"x0": [1.0, None], "x1": [1.0, 2.0], "y": [0.0, 1.0]}
    pq.write_table(pa.table(gaps), tmp_path / "rows.parquet")
    for name, words in (("rows.npy", "ends within a row"), ("rows.parquet", "has gaps")):
        found = check_file(tmp_path / "stream.gmc", rows=[tmp_path / name])
        assert found.verdict is Verdict.UNDECIDED
        assert words in found.reason


def test_parquet_without_pyarrow_is_undecided(tmp_path: Path, monkeypatch: Any) -> None:
    _, blob = made()
    (tmp_path / "stream.gmc").write_bytes(blob)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "rows.parquet").write_bytes(b"")
    found = check_file(tmp_path / "stream.gmc", rows=[tmp_path / "rows.parquet"])
    assert "needs pyarrow" in found.reason
