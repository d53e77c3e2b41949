"""The table as a file: rows, types, order, and the same bytes twice."""

import csv

import pyarrow
import pyarrow.parquet
import pytest
from tests.sweep import recipes

from globalmin import sweep
from globalmin.errors import PlanError, StoreError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("sweep") / "out"
    plan = sweep.Plan(
        recipes.poisoned_product,
        trials=[{"a": a, "b": b} for a in (0, 1) for b in (1, 2.5)] + [{"a": 2, "b": [1, 2]}],
        seeds=2,
    )
    sweep.run(plan, out, workers=2)
    return out


def test_parquet_has_one_type_per_column_and_nulls_for_failures(folder, tmp_path):
    sweep.export(folder, tmp_path / "t.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "t.parquet")
    types = {name: str(table.schema.field(name).type) for name in table.column_names}
    assert types["a"] == "int64"
    assert types["b"] == "string"  # a list among numbers
    assert types["loss"] == types["diverged"] == "double"
    assert (types["count"], types["even"], types["word"], types["curve"]) == (
        "int64",
        "bool",
        "string",
        "string",
    )
    assert table.column_names[:4] == ["trial", "a", "b", "seed"]
    expected = sweep.rows(folder)
    assert table.column("loss").to_pylist() == [row["loss"] for row in expected]
    assert table.column("status").to_pylist() == ["done"] * 8 + ["failed"] * 2
    assert table.column("error").to_pylist()[8] == "ValueError: no lists here"
    assert table.column("nothing").null_count == 10


def test_csv_has_the_same_cells(folder, tmp_path):
    sweep.export(folder, tmp_path / "t.csv")
    with open(tmp_path / "t.csv", newline="", encoding="utf-8") as stream:
        cells = list(csv.DictReader(stream))
    expected = sweep.rows(folder)
    assert [float(row["loss"]) for row in cells[:8]] == [row["loss"] for row in expected[:8]]
    assert cells[8]["b"] == "[1,2]"
    assert cells[0]["diverged"] == "inf"


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_the_same_sweep_gives_the_same_bytes(folder, tmp_path, suffix):
    first = sweep.export(folder, tmp_path / f"first{suffix}").read_bytes()
    plan = sweep.Plan(
        recipes.poisoned_product,
        trials=[{"a": a, "b": b} for a in (0, 1) for b in (1, 2.5)] + [{"a": 2, "b": [1, 2]}],
        seeds=2,
    )
    sweep.run(plan, tmp_path / "again", workers=1)
    assert sweep.export(tmp_path / "again", tmp_path / f"second{suffix}").read_bytes() == first


def test_timing_is_added_only_when_asked(folder, tmp_path):
    sweep.export(folder, tmp_path / "t.csv", timing=True)
    header = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()[0].split(",")
    assert header[-2:] == ["seconds", "tries"]


def test_names_that_say_no_format_or_no_folder_are_refused(folder, tmp_path, monkeypatch):
    with pytest.raises(PlanError, match=r"\.parquet, \.csv"):
        sweep.export(folder, tmp_path / "t.xlsx")
    with pytest.raises(StoreError, match="nowhere"):
        sweep.export(folder, tmp_path / "nowhere" / "t.csv")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(PlanError, match=r"globalmin\[parquet\]"):
        sweep.export(folder, tmp_path / "t.parquet")
    assert not list(tmp_path.iterdir())


def test_numbers_too_large_for_64_bits_become_floats():
    from globalmin.sweep.reading import _column

    assert str(_column([2**70, None, 1]).type) == "double"
    assert str(_column([None, None]).type) == "string"
    assert str(_column([True, 1]).type) == "string"
