"""Reliability R14 and R15: npz and parquet files, bombs, lies and pickles."""

import io
import struct
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from globalmin.data import Dataset, DataTypeError
from globalmin.data.loading import load_table
from globalmin.errors import DataError

X = np.random.default_rng(0).normal(size=(6, 3))
Y = np.arange(6.0)


def archive(folder, members, *, compression=zipfile.ZIP_STORED):
    path = folder / "data.npz"
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in members:
            file.writestr(name, content)
    return path


def npy(array, *, allow_pickle=False):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=allow_pickle)
    return stream.getvalue()


def header_only(text):
    """A .npy member with a header of our own and no numbers."""
    body = text.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(body)) + body


PAIR = [("X.npy", npy(X)), ("y.npy", npy(Y))]
OBJECTS = np.array([[1, "a"]], dtype=object)
HOSTILE = (
    b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
    + b" " * 61
    + b"\ncos\nsystem\n(S'true'\ntR."
)


def bad_crc(folder):
    path = archive(folder, PAIR)
    content = bytearray(path.read_bytes())
    content[200] ^= 0xFF
    path.write_bytes(bytes(content))
    return path


def encrypted(folder):
    path = archive(folder, PAIR)
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(signature)
        while place >= 0:
            content[place + offset] |= 1
            place = content.find(signature, place + 1)
    path.write_bytes(bytes(content))
    return path


def truncated(folder):
    path = archive(folder, PAIR)
    path.write_bytes(path.read_bytes()[:-40])
    return path


def overstated(folder):
    """The directory claims a gigantic member."""
    path = archive(folder, PAIR)
    content = bytearray(path.read_bytes())
    place = content.find(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", 2**31)
    path.write_bytes(bytes(content))
    return path


def understated(folder):
    path = archive(folder, PAIR)
    content = bytearray(path.read_bytes())
    place = content.find(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", 100)
    path.write_bytes(bytes(content))
    return path


def overlapping(folder):
    """Forty directory entries that all point at one compressed member: each is honest, together
    they are a bomb.
    """
    path = archive(
        folder,
        [("X.npy", npy(np.tile(np.random.default_rng(1).normal(size=100), 80).reshape(80, 100)))],
        compression=8,
    )
    content = path.read_bytes()
    start, end = content.find(b"PK\x01\x02"), content.find(b"PK\x05\x06")
    entry = content[start:end]
    entries = b"".join(
        entry.replace(
            b"X.npy",
            f"{chr(65 + i % 26)}.npy".encode() if i < 26 else f"{chr(71 + i)}.npy".encode(),
        )
        for i in range(40)
    )
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 40, 40, len(entries), start, 0)
    path.write_bytes(content[:start] + entries + tail)
    return path


def of(members, **options):
    return lambda folder: archive(folder, members, **options)


def raw(content):
    def make(folder):
        path = folder / "data.npz"
        path.write_bytes(content)
        return path

    return make


# maker of the file, options, error class, pieces of the message
REFUSED = {
    "not an archive": (raw(b"hello"), {}, DataError, ["not a readable npz archive", "numpy.savez"]),
    "empty file": (raw(b""), {}, DataError, ["not a readable npz archive"]),
    "a csv named npz": (raw(b"a,b\n1,2\n"), {}, DataError, ["not a readable npz archive"]),
    "a pickle named npz": (
        raw(b"\x80\x04cos\nsystem\n."),
        {},
        DataError,
        ["not a readable npz archive"],
    ),
    "an npy named npz": (raw(npy(X)), {}, DataError, ["not a readable npz archive"]),
    "truncated": (truncated, {}, DataError, ["not a readable npz archive"]),
    "wrong checksum": (bad_crc, {}, DataError, ["data.npz"]),
    "encrypted": (encrypted, {}, DataError, ["not a readable npz archive"]),
    "no arrays": (of([]), {}, DataError, ["no array 'X'", "none"]),
    "no X": (of([("y.npy", npy(Y))]), {}, DataError, ["no array 'X'", "the arrays are 'y'"]),
    "no y": (of([("X.npy", npy(X))]), {}, DataError, ["no array 'y'"]),
    "target not there": (
        of(PAIR),
        {"target": "labels"},
        DataError,
        ["no array 'labels'", "'X', 'y'"],
    ),
    "features not there": (of(PAIR), {"features": "inputs"}, DataError, ["no array 'inputs'"]),
    "several targets by name": (
        of(PAIR),
        {"target": ["y", "X"]},
        DataError,
        ["names several arrays"],
    ),
    "lengths differ": (
        of([("X.npy", npy(X)), ("y.npy", npy(Y[:4]))]),
        {},
        DataError,
        ["4 entries but X has 6 rows"],
    ),
    "one-dimensional X": (
        of([("X.npy", npy(Y)), ("y.npy", npy(Y))]),
        {},
        DataError,
        ["array 'X' is one-dimensional"],
    ),
    "text": (
        of([("X.npy", npy(X.astype(str))), ("y.npy", npy(Y))]),
        {},
        DataTypeError,
        ["array 'X' holds text"],
    ),
    "complex": (
        of([("X.npy", npy(X * 1j)), ("y.npy", npy(Y))]),
        {},
        DataTypeError,
        ["array 'X' holds complex"],
    ),
    "nan": (
        of([("X.npy", npy(X * np.nan)), ("y.npy", npy(Y))]),
        {},
        DataError,
        ["array 'X'[0, 0] contains NaN"],
    ),
    "large integers": (
        of([("X.npy", npy(X)), ("y.npy", npy(np.full(6, 2**60)))]),
        {},
        DataError,
        ["beyond 2^53"],
    ),
    "objects": (
        of([("X.npy", npy(OBJECTS, allow_pickle=True)), PAIR[1]]),
        {},
        DataError,
        ["Python objects (pickle)", "never loaded"],
    ),
    "a hostile pickle inside": (
        of([("X.npy", HOSTILE), PAIR[1]]),
        {},
        DataError,
        ["Python objects (pickle)"],
    ),
    "objects inside a record": (
        of(
            [
                (
                    "X.npy",
                    header_only("{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (1,)}"),
                ),
                PAIR[1],
            ]
        ),
        {},
        DataError,
        ["Python objects (pickle)"],
    ),
    "header claims 10^11 numbers": (
        of(
            [
                (
                    "X.npy",
                    header_only(
                        "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000, 1)}"
                    ),
                ),
                PAIR[1],
            ]
        ),
        {},
        DataError,
        ["claims shape (100000000000, 1)", "does not match its size"],
    ),
    "header claims a negative size": (
        of(
            [
                (
                    "X.npy",
                    header_only("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 0)}"),
                ),
                PAIR[1],
            ]
        ),
        {},
        DataError,
        ["data.npz"],
    ),
    "header is not a header": (
        of([("X.npy", header_only("import os")), PAIR[1]]),
        {},
        DataError,
        ["not a readable npz archive"],
    ),
    "header is nested deeply": (
        of([("X.npy", header_only("(" * 3000)), PAIR[1]]),
        {},
        DataError,
        ["not a readable npz archive"],
    ),
    "header is very long": (
        of([("X.npy", header_only(" " * 60_000)), PAIR[1]]),
        {},
        DataError,
        ["not a readable npz archive"],
    ),
    "newer array format": (
        of([("X.npy", b"\x93NUMPY\x03\x00" + npy(X)[8:]), PAIR[1]]),
        {},
        DataError,
        ["array format (3, 0)"],
    ),
    "member without magic": (
        of([("X.npy", b"12345678"), PAIR[1]]),
        {},
        DataError,
        ["not a readable npz archive"],
    ),
    "empty member": (of([("X.npy", b""), PAIR[1]]), {}, DataError, ["not a readable npz archive"]),
    "one byte too many": (
        of([("X.npy", npy(X) + b"\0"), PAIR[1]]),
        {},
        DataError,
        ["does not match its size"],
    ),
    "bomb": (
        of([("X.npy", npy(np.zeros((1000, 1000)))), PAIR[1]], compression=8),
        {},
        DataError,
        ["expands", "more than 100"],
    ),
    "bomb beside the data": (
        of([*PAIR, ("z.npy", b"\0" * 10**6)], compression=8),
        {},
        DataError,
        ["expands", "more than 100"],
    ),
    "overlapping members": (overlapping, {}, DataError, ["expands"]),
    "beyond the size limit": (
        of([*PAIR, ("z.npy", b"\0" * 5000)], compression=8),
        {"max_bytes": 4000},
        DataError,
        ["limit of 4000"],
    ),
    "overstated size": (overstated, {}, DataError, ["expands to 2147483"]),
    "understated size": (understated, {}, DataError, ["data.npz"]),
    "parent folder": (
        of([*PAIR, ("../evil.npy", npy(X))]),
        {},
        DataError,
        ["'../evil.npy'", "not a plain array name"],
    ),
    "absolute path": (
        of([*PAIR, ("/tmp/evil.npy", npy(X))]),  # noqa: S108
        {},
        DataError,
        ["not a plain array name"],
    ),
    "windows path": (
        of([*PAIR, ("c:\\evil.npy", npy(X))]),
        {},
        DataError,
        ["not a plain array name"],
    ),
    "folder": (of([*PAIR, ("inner/", b"")]), {}, DataError, ["not a plain array name"]),
    "no array suffix": (
        of([*PAIR, ("readme.txt", b"hello")]),
        {},
        DataError,
        ["'readme.txt'", "not a plain array name"],
    ),
    "empty name": (of([*PAIR, (".npy", npy(X))]), {}, DataError, ["not a plain array name"]),
    "control characters": (
        of([*PAIR, ("a\x1b[2J.npy", npy(X))]),
        {},
        DataError,
        ["not a plain array name"],
    ),
    "unknown compression": (
        of(PAIR, compression=zipfile.ZIP_LZMA),
        {},
        DataError,
        ["compressed by an unknown method"],
    ),
    "thousands of members": (
        of([(f"a{i}.npy", b"") for i in range(1001)]),
        {},
        DataError,
        ["1001 members"],
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_unusable_archives_are_refused_and_nothing_is_written(case, tmp_path):
    make, options, error, pieces = case
    path = make(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(error) as caught:
        Dataset.load(path, **options)
    assert all(piece in str(caught.value) for piece in pieces), str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_two_members_of_one_name_are_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = archive(tmp_path, [*PAIR, ("X.npy", npy(-X))])
    with pytest.raises(DataError, match="two members named 'X'"):
        Dataset.load(path)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_come_back_bit_for_bit(save, tmp_path):
    save(tmp_path / "data.npz", X=np.asfortranarray(X), y=Y, other=np.arange(3))
    assert Dataset.load(tmp_path / "data.npz").digest == Dataset(X, Y).digest


def test_arrays_may_have_other_names_and_types(tmp_path):
    np.savez(
        tmp_path / "data.npz",
        inputs=X.astype(">f4"),
        labels=np.array([1, 0, 1, 1, 0, 1], dtype=bool),
    )
    table = load_table(tmp_path / "data.npz", target="labels", features="inputs")
    assert table.X.tolist() == X.astype(np.float32).tolist()
    assert table.y.ravel().tolist() == [1, 0, 1, 1, 0, 1]
    assert table.target_names == ("labels",)


def test_several_targets_are_columns_of_one_array(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=np.stack([Y, -Y], axis=1))
    assert Dataset.load(tmp_path / "data.npz").n_targets == 2


def test_just_below_the_limits_is_read(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    needed = max((tmp_path / "data.npz").stat().st_size, len(npy(X)) + len(npy(Y)))
    assert Dataset.load(tmp_path / "data.npz", max_bytes=needed).n_samples == 6
    with pytest.raises(DataError, match="limit"):
        Dataset.load(tmp_path / "data.npz", max_bytes=needed - 1)


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_mutated_archives_raise_one_class_or_load(compression, tmp_path):
    """1,000 seeded byte mutants per kind: every failure is a DataError, whatever zipfile and numpy
    raise inside.
    """
    content = archive(tmp_path, PAIR, compression=compression).read_bytes()
    rng = np.random.default_rng(7)
    path = tmp_path / "mutant.npz"
    refused = 0
    for _ in range(1000):
        mutant = bytearray(content)
        for place in rng.integers(0, len(content), rng.integers(1, 4)):
            mutant[place] = rng.integers(0, 256)
        path.write_bytes(
            bytes(mutant[: rng.integers(1, len(content))] if rng.random() < 0.1 else mutant)
        )
        try:
            Dataset.load(path)
        except DataError:
            refused += 1
    assert refused > 500


def parquet(folder, columns, **options):
    path = folder / "table.parquet"
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_parquet_columns_come_back_bit_for_bit(tmp_path):
    path = parquet(
        tmp_path,
        {"a": X[:, 0], "b": X[:, 1].astype(np.float32), "c": np.arange(6), "d": Y > 2, "price": Y},
    )
    table = load_table(path, target="price")
    assert table.feature_names == ("a", "b", "c", "d")
    assert (
        table.X.tolist()
        == np.stack([X[:, 0], X[:, 1].astype(np.float32), np.arange(6), Y > 2], axis=1).tolist()
    )
    assert Dataset.load(path, target=["price", "a"], features=["c"]).target_names == ("price", "a")


PARQUET_REFUSED = {
    "text": (
        {"a": ["x", "y"], "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a' has type string", "'x'", "encode"],
    ),
    "dictionary": (
        {"a": pa.array(["x", "y"]).dictionary_encode(), "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a' has type dictionary"],
    ),
    "dates": (
        {"a": pa.array([0, 1], pa.date32()), "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a' has type date32"],
    ),
    "lists": (
        {"a": [[1.0], [2.0]], "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a' has type list"],
    ),
    "null": (
        {"a": [1.0, None], "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a', data row 2", "missing"],
    ),
    "null integer": (
        {"a": pa.array([None, 3]), "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a', data row 1", "missing"],
    ),
    "nan": (
        {"a": [1.0, np.nan], "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a', data row 2", "missing (NaN)"],
    ),
    "infinity": (
        {"a": [1.0, -np.inf], "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a', data row 2", "infinite"],
    ),
    "large integers": (
        {"a": [1, 2**53 + 1], "b": [1.0, 2.0]},
        {"target": "b"},
        ["column 'a' has integers beyond 2^53"],
    ),
    "no target": ({"a": [1.0], "b": [1.0]}, {}, ["no target column is named", "'a', 'b'"]),
    "missing target": (
        {"a": [1.0], "b": [1.0]},
        {"target": "z"},
        ["no target column 'z'", "'a', 'b'"],
    ),
    "no rows": (
        {"a": pa.array([], pa.float64()), "b": pa.array([], pa.float64())},
        {"target": "b"},
        ["no rows"],
    ),
    "too large": (
        {"a": np.arange(1000.0), "b": np.zeros(1000)},
        {"target": "b", "max_bytes": 15_000},
        ["more than the limit of 15000"],
    ),
}


@pytest.mark.parametrize("case", PARQUET_REFUSED.values(), ids=PARQUET_REFUSED.keys())
def test_unusable_parquet_tables_are_refused(case, tmp_path):
    columns, options, pieces = case
    path = parquet(tmp_path, columns)
    with pytest.raises(DataError) as caught:
        Dataset.load(path, **options)
    assert all(piece in str(caught.value) for piece in pieces), str(caught.value)


def test_repeated_parquet_columns_are_refused(tmp_path):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), path)
    with pytest.raises(DataError, match="'a' exists twice"):
        Dataset.load(path, target="a")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\0" * 100 + b"PAR1", b"a,b\n1,2\n"])
def test_damaged_parquet_files_are_refused(content, tmp_path):
    path = tmp_path / "table.parquet"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a readable parquet file"):
        Dataset.load(path, target="a")


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    path = parquet(tmp_path, {"a": [1.0], "b": [2.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"globalmin\[parquet\]"):
        Dataset.load(path, target="b")
