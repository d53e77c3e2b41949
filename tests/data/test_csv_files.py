"""Text tables: every awkward file gets its documented error or its documented numbers."""

import numpy as np
import pandas as pd
import pytest

from globalmin.data import Dataset
from globalmin.data.loading import load_table
from globalmin.errors import DataError

TABLE = "a,b,price\n1,2,10\n3,4.5,20\n-1e-3,0,30\n"


def write(folder, content, name="table.csv"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


# content, options, pieces of the message
REFUSED = {
    "text in a numeric column": (
        "a,b\n1,2\nred,3\n",
        {"target": "b"},
        ["column 'a'", "line 3", "data row 2", "'red'", "encode text"],
    ),
    "text in the target": ("a,b\n1,yes\n", {"target": "b"}, ["column 'b'", "line 2", "'yes'"]),
    "text after thousands of rows": (
        "a,b\n" + "1,2\n" * 9000 + "1,x\n",
        {"target": "b"},
        ["column 'b'", "line 9002", "data row 9001"],
    ),
    "missing cell": (
        "a,b\n1,2\n,3\n",
        {"target": "b"},
        ["column 'a'", "line 3", "missing", "fill it in"],
    ),
    "NA": ("a,b\n1,2\nNA,3\n", {"target": "b"}, ["column 'a'", "missing ('NA'"]),
    "nan": ("a,b\n1,2\n3,nan\n", {"target": "b"}, ["column 'b'", "missing", "NaN"]),
    "question mark": ("a,b\n1,2\n?,3\n", {"target": "b"}, ["missing ('?'"]),
    "inf": ("a,b\n1,2\ninf,3\n", {"target": "b"}, ["column 'a'", "infinite"]),
    "beyond the doubles": (
        "a,b\n1,2\n1e400,3\n",
        {"target": "b"},
        ["'1e400' is infinite as a double"],
    ),
    "no target named": (TABLE, {}, ["no target column is named", "'a', 'b', 'price'"]),
    "missing target column": (
        TABLE,
        {"target": "cost"},
        ["no target column 'cost'", "'a', 'b', 'price'"],
    ),
    "one of two targets missing": (
        TABLE,
        {"target": ["price", "cost"]},
        ["no target column 'cost'"],
    ),
    "missing feature column": (
        TABLE,
        {"target": "price", "features": ["z"]},
        ["no feature column 'z'", "'a', 'b', 'price'"],
    ),
    "feature and target": (
        TABLE,
        {"target": "price", "features": ["a", "price"]},
        ["'price' is named as feature and as target"],
    ),
    "target named twice": (TABLE, {"target": ["price", "price"]}, ["target names 'price' twice"]),
    "empty target list": (TABLE, {"target": []}, ["target=[]", "non-empty"]),
    "target a number": (TABLE, {"target": [2]}, ["target=[2]", "column name"]),
    "all columns are targets": (
        TABLE,
        {"target": ["a", "b", "price"]},
        ["no column is left for the inputs"],
    ),
    "only a target column": (
        "price\n1\n2\n",
        {"target": "price"},
        ["no column is left for the inputs"],
    ),
    "duplicate header": ("a,a,b\n1,2,3\n", {"target": "b"}, ["header names 'a' twice"]),
    "unnamed column": (
        ",a,b\n0,1,2\n",
        {"target": "b"},
        ["column 1 has no name", "saved row index"],
    ),
    "no header": (
        "1,2,3\n4,5,6\n",
        {"target": "price"},
        ["first row (1, 2, 3, ...) holds numbers", "add a header row"],
    ),
    "short row": ("a,b\n1,2\n3\n", {"target": "b"}, ["line 3 has 1 cells", "header has 2"]),
    "long row": ("a,b\n1,2\n3,4,5\n", {"target": "b"}, ["line 3 has 3 cells", "header has 2"]),
    "empty file": ("", {"target": "b"}, ["the file is empty"]),
    "blank file": (" \n\n \n", {"target": "b"}, ["the file is empty"]),
    "only a mark of encoding": (b"\xef\xbb\xbf", {"target": "b"}, ["the file is empty"]),
    "header only": ("a,b\n", {"target": "b"}, ["a header but no data row"]),
    "latin-1": (
        "a,b\n1,2\nn\xe9,3\n".encode("latin-1"),
        {"target": "b"},
        ["byte 9 (line 3) is not UTF-8"],
    ),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), {"target": "b"}, ["UTF-16", "save it as UTF-8"]),
    "utf-16 without mark": ("a,b\n1,2\n".encode("utf-16-le"), {"target": "b"}, ["NUL bytes"]),
    "an archive": (b"PK\x03\x04\x14\x00\x00\x00\x08\x00\x90\x91", {"target": "b"}, ["not UTF-8"]),
    "open quotation": ('a,b\n1,"2\n', {"target": "b"}, ["not readable", "quotation marks"]),
    "text after quotation": ('a,b\n1,"2"x\n', {"target": "b"}, ["line 2 is not readable"]),
    "decimal comma": (
        "a;b\n1,5;2\n",
        {"target": "b"},
        ["column 'a'", "'1,5' is not a number", "decimal comma as a point"],
    ),
    "integer beyond 2^53": (
        "a,b\n9007199254740993,1\n",
        {"target": "b"},
        ["integer 9007199254740993", "beyond 2^53"],
    ),
    "negative integer beyond 2^53": (
        "a,b\n-9007199254740993,1\n",
        {"target": "b"},
        ["integer -9007199254740993"],
    ),
    "underscored number": ("a,b\n1_000,1\n", {"target": "b"}, ["'1_000' is not a number"]),
    "hexadecimal": ("a,b\n0x10,1\n", {"target": "b"}, ["'0x10' is not a number"]),
    "a date": ("a,b\n2020-01-01,1\n", {"target": "b"}, ["'2020-01-01' is not a number"]),
    "percent": ("a,b\n5%,1\n", {"target": "b"}, ["'5%' is not a number"]),
    "beyond the size limit": (
        TABLE,
        {"target": "price", "max_bytes": 10},
        ["bytes, more than the limit of 10", "max_bytes"],
    ),
    "table beyond the size limit": (
        "a,b\n" + "1,2\n" * 20,
        {"target": "b", "max_bytes": 100},
        ["more than the limit of 100 bytes"],
    ),
    "a very long cell": (
        "a,b\n" + "x" * 200_000 + ",1\n",
        {"target": "b"},
        ["line 2 is not readable", "field larger"],
    ),
    "nothing but separators": (",,,\n,,,\n", {"target": "b"}, ["column 1 has no name"]),
    "semicolons in a comma file": ("a,b\n1;2\n", {"target": "b"}, ["line 2 has 1 cells"]),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_unusable_tables_are_refused_with_place_and_remedy(case, tmp_path):
    content, options, pieces = case
    path = write(tmp_path, content)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(DataError) as caught:
        Dataset.load(path, **options)
    message = str(caught.value)
    assert all(piece in message for piece in pieces), message
    assert len(message) < 1500
    assert sorted(tmp_path.iterdir()) == before


# content, the expected columns
ACCEPTED = {
    "commas": TABLE,
    "semicolons": TABLE.replace(",", ";"),
    "tabs": TABLE.replace(",", "\t"),
    "windows line ends": TABLE.replace("\n", "\r\n"),
    "old line ends": TABLE.replace("\n", "\r"),
    "no last line end": TABLE.rstrip(),
    "mark of encoding": b"\xef\xbb\xbf" + TABLE.encode(),
    "blank lines": "\n" + TABLE.replace("\n", "\n\n"),
    "quoted": '"a","b","price"\n"1","2","10"\n3,"4.5",20\n-1e-3,0,30\n',
    "spaces": "a, b , price\n 1, 2 ,10\n3 , 4.5, 20\n -1e-3,0,30 \n",
    "columns in another order": "price,a,b\n10,1,2\n20,3,4.5\n30,-1e-3,0\n",
    "other spellings of the same numbers": "a,b,price\n+1.0,2e0,1e1\n3.,4.50,20\n-.001,-0,30\n",
}


@pytest.mark.parametrize("content", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_the_same_table_in_any_dialect_gives_the_same_numbers(content, tmp_path):
    table = load_table(write(tmp_path, content), target="price")
    assert table.X.tolist() == [[1.0, 2.0], [3.0, 4.5], [-0.001, 0.0]]
    assert table.y.tolist() == [[10.0], [20.0], [30.0]]
    assert (table.feature_names, table.target_names) == (("a", "b"), ("price",))


@pytest.mark.parametrize("suffix", [".csv", ".CSV", ".tsv", ".txt"])
def test_suffixes_of_text_tables(suffix, tmp_path):
    assert Dataset.load(write(tmp_path, TABLE, "table" + suffix), target="price").n_samples == 3


def test_several_targets_in_the_order_asked_for(tmp_path):
    data = Dataset.load(write(tmp_path, TABLE), target=["price", "a"], scaling="none")
    assert data.target_names == ("price", "a")
    assert data.targets.tolist() == [[10.0, 1.0], [20.0, 3.0], [30.0, -0.001]]
    assert data.feature_names == ("b",)


def test_chosen_features_leave_a_text_column_out(tmp_path):
    data = Dataset.load(
        write(tmp_path, "name,a,b\nx,1,2\ny,3,5\n"),
        target="b",
        features=["a"],
        scaling="none",
        bias=False,
    )
    assert data.X.tolist() == [[1.0], [3.0]]


def test_options_reach_the_data_set(tmp_path):
    data = Dataset.load(str(write(tmp_path, TABLE)), target="price", bias=False, scaling="rows")
    assert (data.bias, data.scaling) == (False, "rows")


def test_a_header_of_numbers_is_a_header_when_the_target_is_in_it(tmp_path):
    table = load_table(write(tmp_path, "0,1,2\n5,6,7\n8,9,10\n"), target="2")
    assert table.feature_names == ("0", "1")
    assert table.y.ravel().tolist() == [7.0, 10.0]


def test_names_in_any_script_and_with_line_ends(tmp_path):
    table = load_table(write(tmp_path, '"größe\nin cm",価格\n1,2\n3,4\n'), target="価格")
    assert table.feature_names == ("größe\nin cm",)


def test_one_row_is_legal(tmp_path):
    data = Dataset.load(write(tmp_path, "a,b\n1,2\n"), target="b")
    assert data.X.tolist() == [[0.0, 1.0]]
    assert data.preprocessing.restore(data.y).tolist() == [2.0]


def test_a_constant_target_is_legal(tmp_path):
    data = Dataset.load(write(tmp_path, "a,b\n1,7\n2,7\n"), target="b")
    assert data.y.tolist() == [0.0, 0.0]


def test_conflicting_rows_are_reported_with_their_floor(tmp_path):
    data = Dataset.load(write(tmp_path, "a,b\n1,0\n1,2\n3,4\n"), target="b", scaling="none")
    assert data.degeneracy.conflicting_rows == ((0, 1),)
    assert data.degeneracy.loss_floor("softplus").floor == 1


def test_numbers_are_the_nearest_doubles_and_survive_a_round_trip(tmp_path):
    X = np.random.default_rng(0).normal(size=(5000, 4)) * 10.0 ** np.random.default_rng(1).integers(
        -300, 200, (5000, 4)
    )
    path = tmp_path / "wide.csv"
    pd.DataFrame(X, columns=list("abcd")).to_csv(path, index=False)
    table = load_table(path, target="d")
    assert table.X.tobytes() == np.ascontiguousarray(X[:, :3]).tobytes()


def test_large_integers_that_are_doubles_are_read(tmp_path):
    table = load_table(
        write(tmp_path, "a,b\n9007199254740992,1\n18014398509481984,1\n12345678901234567890.5,2\n"),
        target="b",
    )
    assert table.X.ravel().tolist() == [2.0**53, 2.0**54, 12345678901234567890.5]


# path made in the folder, pieces of the message
def missing(folder):
    return folder / "absent.csv"


def directory(folder):
    (folder / "folder.csv").mkdir()
    return folder / "folder.csv"


def dangling_link(folder):
    (folder / "link.csv").symlink_to(folder / "absent.csv")
    return folder / "link.csv"


def pipe(folder):
    import os

    os.mkfifo(folder / "pipe.csv")
    return folder / "pipe.csv"


def device(folder):
    (folder / "zero.csv").symlink_to("/dev/zero")
    return folder / "zero.csv"


def nul_in_name(folder):
    return str(folder / "a\0b.csv")


PLACES = {
    "missing": (missing, "cannot be opened"),
    "directory": (directory, "not a regular file"),
    "dangling link": (dangling_link, "cannot be opened"),
    "pipe": (pipe, "not a regular file"),
    "endless device": (device, "not a regular file"),
    "nul in the name": (nul_in_name, "cannot be opened"),
}


@pytest.mark.parametrize("case", PLACES.values(), ids=PLACES.keys())
def test_paths_that_are_not_files_are_refused(case, tmp_path):
    make, piece = case
    with pytest.raises(DataError, match=piece):
        Dataset.load(make(tmp_path), target="b")


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.pkl", "table.npy", "table.json"])
def test_unknown_formats_are_refused_with_the_known_ones(name, tmp_path):
    with pytest.raises(DataError, match=r"\.csv, \.npz or \.parquet"):
        Dataset.load(write(tmp_path, TABLE, name), target="price")
