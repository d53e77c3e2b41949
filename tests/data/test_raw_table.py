"""Raw tables: text as it is, gaps, headers that are there and headers that are not."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from globalmin.data.raw_table import RawTable, raw_table_of, read_raw_table
from globalmin.errors import DataError


@pytest.fixture
def written(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_delimiter_is_found_and_gaps_are_none(written, mark):
    rows = ["name,age,city", "Ann,31,Oslo", "Bo,,n/a", "'',7,?"]
    table = read_raw_table(written("\n".join(rows).replace(",", mark)))
    assert table.names == ("name", "age", "city")
    assert table.columns["age"] == ["31", None, "7"]
    assert table.columns["city"] == ["Oslo", None, None]
    assert table.n_rows == 3


def test_a_first_row_of_numbers_is_kept_as_data_with_a_warning(written):
    path = written("1,2,3\n4,5,6\n")
    with pytest.warns(UserWarning, match="the first row .1, 2, 3, .* is data like the others"):
        table = read_raw_table(path)
    assert table.columns == {"column 1": ["1", "4"], "column 2": ["2", "5"], "column 3": ["3", "6"]}


def test_a_first_row_with_text_and_numbers_like_the_others_is_data(written):
    path = written("Ann,31\nBo,40\nCy,7\n")
    with pytest.warns(UserWarning, match="kept"):
        table = read_raw_table(path)
    assert table.columns["column 1"] == ["Ann", "Bo", "Cy"]


@pytest.mark.parametrize(
    ("text", "target"),
    [
        (
            "country,2019,2020\nNorway,1,2\nItaly,3,4\n",
            ["2020"],
        ),  # years as names, one is asked for
        ("a,b\nx,y\nz,w\n", []),  # text only
        ("a,b\n", ["b"]),
        ("name,age\nAnn,31\nBo,\n", []),  # a name above a column of numbers
    ],
)
def test_a_header_is_recognized(written, text, target):
    header = tuple(text.partition("\n")[0].split(","))
    if text.count("\n") == 1:
        with pytest.raises(DataError, match="a header but no data row"):
            read_raw_table(written(text), target=target)
        return
    assert read_raw_table(written(text), target=target).names == header


def test_places_name_the_line_also_after_blank_lines_and_in_parts(written):
    table = read_raw_table(written("a,b\n1,2\n\n3,4\n5,6\n"))
    assert [table.place(i) for i in range(3)] == [
        "line 2 (data row 1)",
        "line 4 (data row 2)",
        "line 5 (data row 3)",
    ]
    assert table.rows([2, 0]).place(0) == "line 5 (data row 1)"
    assert table.only(["b"]).place(1) == "line 4 (data row 2)"
    assert RawTable({"a": [1, 2]}).place(1) == "data row 2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1\n", ["line 2 has 1 cells", "complete the row"]),
        ("a,a\n1,2\n", ["'a' twice"]),
        ("a,\n1,2\n", ["column 2 has no name"]),
    ],
)
def test_broken_files_are_refused_with_their_place(written, text, words):
    with pytest.raises(DataError) as caught:
        read_raw_table(written(text))
    assert all(word in str(caught.value) for word in words)


def test_columns_that_are_not_there_are_named_with_those_alike():
    table = RawTable({"Age": [1], "city": [2]}, "people.csv")
    with pytest.raises(DataError, match="no --drop column 'age'; did you mean 'Age'"):
        table.without(["age"], "--drop")
    with pytest.raises(DataError, match="no column is left"):
        table.without(["Age", "city"])
    with pytest.raises(DataError, match=r"no target column 'zz'; the columns are 'Age', 'city'$"):
        table.require(["zz"], "target")


def test_columns_of_different_lengths_or_none_are_refused():
    with pytest.raises(DataError, match=r"\[1, 2\] rows"):
        RawTable({"a": [1], "b": [1, 2]})
    with pytest.raises(DataError, match="at least one"):
        RawTable({"a": []})
    with pytest.raises(DataError):
        RawTable({})


def test_parquet_keeps_types_and_frames_too(tmp_path):
    frame = pd.DataFrame(
        {
            "age": [31.0, np.nan],
            "city": ["Oslo", None],
            "born": pd.to_datetime(["1990-05-17", None]),
            "member": [True, False],
        }
    )
    frame.to_parquet(tmp_path / "p.parquet")
    for table in (read_raw_table(tmp_path / "p.parquet"), raw_table_of(frame)):
        assert table.columns["age"] == [31.0, None]
        assert table.columns["city"] == ["Oslo", None]
        assert table.columns["born"][0] == dt.datetime(1990, 5, 17)
        assert table.columns["born"][1] is None
        assert table.columns["member"] == [True, False]


def test_npz_arrays_and_plain_arrays_are_tables_of_numbers(tmp_path):
    np.savez(tmp_path / "a.npz", X=[[1.0, 2.0], [3.0, 4.0]], y=[5.0, 6.0])
    table = read_raw_table(tmp_path / "a.npz")
    assert table.columns == {"column 1": [1.0, 3.0], "column 2": [2.0, 4.0], "y": [5.0, 6.0]}
    assert raw_table_of([[1.0, np.nan]]).columns == {"column 1": [1.0], "column 2": [None]}
    assert raw_table_of({"a": [1]}).names == ("a",)
    with pytest.raises(DataError, match=r"shape \(2,\)"):
        raw_table_of([1, 2])


def test_files_beyond_the_limit_are_refused_before_they_are_read(written):
    with pytest.raises(DataError, match="more than the limit of 3"):
        read_raw_table(written("a,b\n1,2\n"), max_bytes=3)
