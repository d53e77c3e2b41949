"""Reliability R13: every awkward array gets its documented error (argument, place, remedy) or its
documented exact result.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from globalmin.data import Dataset, DataTypeError, Preprocessing
from globalmin.errors import DataError, GlobalMinError

GOOD_X = np.array([[1.0, 2.0], [3.0, 5.0], [4.0, -1.0]])
GOOD_Y = np.array([1.0, 2.0, 4.0])


def with_entry(value, dtype=float):
    X = GOOD_X.astype(dtype)
    X[1, 0] = value
    return X


def with_label(value):
    return np.array([1.0, value, 4.0])


RAGGED = [[1.0, 2.0], [3.0]]
MASKED = np.ma.masked_array(GOOD_X, mask=GOOD_X > 4)
RECORDS = np.zeros((3, 2), dtype=[("a", float)])
DATES = np.zeros((3, 2), dtype="datetime64[D]")
DURATIONS = np.zeros((3, 2), dtype="timedelta64[s]")
LONG = np.longdouble(1) + np.finfo(np.longdouble).eps

# name: (X, y, options, error class, pieces of the message)
REFUSED = {
    "nan in X": (with_entry(np.nan), GOOD_Y, {}, DataError, ["X[1, 0]", "NaN", "remove the row"]),
    "nan in y": (GOOD_X, with_label(np.nan), {}, DataError, ["y[1]", "NaN", "remove the row"]),
    "inf in X": (
        with_entry(np.inf),
        GOOD_Y,
        {},
        DataError,
        ["X[1, 0]", "infinity", "correct the value"],
    ),
    "minus inf in X": (with_entry(-np.inf), GOOD_Y, {}, DataError, ["X[1, 0]", "-inf"]),
    "inf in y": (GOOD_X, with_label(np.inf), {}, DataError, ["y[1]", "infinity"]),
    "float32 nan": (with_entry(np.nan, np.float32), GOOD_Y, {}, DataError, ["X[1, 0]", "NaN"]),
    "nan in two targets": (
        GOOD_X,
        np.array([[1, 2], [3, np.nan], [5, 6]]),
        {},
        DataError,
        ["y[1, 1]", "NaN"],
    ),
    "X is None": (None, GOOD_Y, {}, DataError, ["X cannot be None"]),
    "y is None": (GOOD_X, None, {}, DataError, ["y cannot be None"]),
    "no rows": (np.empty((0, 2)), np.empty(0), {}, DataError, ["X is empty", "0 sample(s)"]),
    "no columns": (np.empty((3, 0)), GOOD_Y, {}, DataError, ["X is empty", "0 feature(s)"]),
    "empty list": ([], [], {}, DataError, ["X is one-dimensional", "reshape"]),
    "list of empty lists": ([[], []], [1, 2], {}, DataError, ["X is empty", "0 feature(s)"]),
    "one-dimensional X": (
        np.arange(3.0),
        GOOD_Y,
        {},
        DataError,
        ["X is one-dimensional", "X.reshape(-1, 1)", "X.reshape(1, -1)"],
    ),
    "scalar X": (3.0, GOOD_Y, {}, DataError, ["X has 0 dimensions"]),
    "three-dimensional X": (
        np.zeros((3, 2, 2)),
        GOOD_Y,
        {},
        DataError,
        ["X has 3 dimensions", "one row per sample"],
    ),
    "scalar y": (GOOD_X, 1.0, {}, DataError, ["y has shape ()"]),
    "three-dimensional y": (GOOD_X, np.zeros((3, 1, 1)), {}, DataError, ["y has shape (3, 1, 1)"]),
    "y too short": (
        GOOD_X,
        GOOD_Y[:2],
        {},
        DataError,
        ["y has 2 entries", "X has 3 rows", "one label per row"],
    ),
    "y too long": (GOOD_X, np.arange(4.0), {}, DataError, ["y has 4 entries", "X has 3 rows"]),
    "y transposed": (GOOD_X, GOOD_Y[None, :], {}, DataError, ["y has 1 entries", "X has 3 rows"]),
    "y without columns": (
        GOOD_X,
        np.empty((3, 0)),
        {},
        DataError,
        ["y has shape (3, 0)", "at least one"],
    ),
    "complex X": (GOOD_X + 1j, GOOD_Y, {}, DataTypeError, ["X holds complex", "separate columns"]),
    "complex y": (GOOD_X, GOOD_Y + 1j, {}, DataTypeError, ["y holds complex"]),
    "text X": (np.array([["a", "b"]] * 3), GOOD_Y, {}, DataTypeError, ["X holds text", "encode"]),
    "numbers as text": (GOOD_X.astype(str), GOOD_Y, {}, DataTypeError, ["X holds text"]),
    "text y": (
        GOOD_X,
        np.array(["cat", "dog", "cat"]),
        {},
        DataTypeError,
        ["y holds text", "encode"],
    ),
    "bytes X": (
        np.array([[b"a", b"b"]] * 3),
        GOOD_Y,
        {},
        DataTypeError,
        ["X holds bytes", "encode"],
    ),
    "mixed list": ([[1.0, "a"], [2.0, "b"]], [1, 2], {}, DataTypeError, ["X holds text"]),
    "a string": ("numbers.csv", GOOD_Y, {}, DataTypeError, ["X holds text"]),
    "object array": (
        GOOD_X.astype(object),
        GOOD_Y,
        {},
        DataTypeError,
        ["X has dtype object", "astype(float)"],
    ),
    "object with None": (
        np.array([[1.0, None]] * 3),
        GOOD_Y,
        {},
        DataTypeError,
        ["X has dtype object", "None"],
    ),
    "list with None": (
        [[1.0, None], [2.0, 3.0]],
        [1, 2],
        {},
        DataTypeError,
        ["X has dtype object", "None"],
    ),
    "fractions": (
        [[Fraction(1, 3)], [Fraction(1, 2)]],
        [1, 2],
        {},
        DataTypeError,
        ["X has dtype object", "Fraction"],
    ),
    "decimals": (
        [[Decimal("0.1")], [Decimal("0.2")]],
        [1, 2],
        {},
        DataTypeError,
        ["X has dtype object", "Decimal"],
    ),
    "python integers beyond the machine": (
        [[2**70], [1]],
        [1, 2],
        {},
        DataTypeError,
        ["X has dtype object", "machine integers"],
    ),
    "dictionary": ({"a": 1}, GOOD_Y, {}, DataTypeError, ["X has dtype object"]),
    "set": ({1.0, 2.0}, GOOD_Y, {}, DataTypeError, ["X has dtype object"]),
    "generator": ((x for x in [1.0]), GOOD_Y, {}, DataTypeError, ["X has dtype object"]),
    "ragged": (RAGGED, [1, 2], {}, DataError, ["X cannot be read", "rows of equal length"]),
    "dates": (DATES, GOOD_Y, {}, DataTypeError, ["X holds dates", "days since"]),
    "durations": (DURATIONS, GOOD_Y, {}, DataTypeError, ["X holds durations", "seconds"]),
    "records": (RECORDS, GOOD_Y, {}, DataTypeError, ["X holds records"]),
    "masked": (MASKED, GOOD_Y, {}, DataError, ["X is a masked array", "fill them in"]),
    "sparse csr": (
        sparse.csr_array(GOOD_X),
        GOOD_Y,
        {},
        DataTypeError,
        ["X is sparse", "X.toarray()"],
    ),
    "sparse csc": (
        sparse.csc_matrix(GOOD_X),
        GOOD_Y,
        {},
        DataTypeError,
        ["X is sparse", "X.toarray()"],
    ),
    "sparse coo": (
        sparse.coo_array(GOOD_X),
        GOOD_Y,
        {},
        DataTypeError,
        ["X is sparse", "X.toarray()"],
    ),
    "sparse y": (
        GOOD_X,
        sparse.csr_array(GOOD_Y[:, None]),
        {},
        DataTypeError,
        ["y is sparse", "y.toarray()"],
    ),
    "int64 beyond 2^53": (
        with_entry(2**53 + 1, np.int64),
        GOOD_Y,
        {},
        DataError,
        ["X contains the integer 9007199254740993", "2^53"],
    ),
    "negative int64 beyond 2^53": (
        with_entry(-(2**60), np.int64),
        GOOD_Y,
        {},
        DataError,
        ["X contains the integer 1152921504606846976"],
    ),
    "uint64 beyond 2^53": (
        with_entry(2**64 - 1, np.uint64),
        GOOD_Y,
        {},
        DataError,
        ["X contains the integer 18446744073709551615"],
    ),
    "int64 labels beyond 2^53": (
        GOOD_X,
        np.array([1, 2, 2**62]),
        {},
        DataError,
        ["y contains the integer", "offset"],
    ),
    "list mixing floats and large integers": (
        [[2**53 + 1, 0.5], [1, 2.0]],
        [1, 2],
        {},
        DataError,
        ["integer 9007199254740993"],
    ),
    "extended precision": (
        np.full((3, 2), LONG),
        GOOD_Y,
        {},
        DataError,
        ["X has extended precision", "astype(float)"],
    ),
    "extended range": (
        np.full((3, 2), np.longdouble("1e400")),
        GOOD_Y,
        {},
        DataError,
        ["X has extended precision"],
    ),
    "1e200 unscaled": (
        with_entry(1e200),
        GOOD_Y,
        {"scaling": "none"},
        DataError,
        ["X[1, 0] is 1e+200", "standardize"],
    ),
    "1e80 unscaled": (
        with_entry(1e80),
        GOOD_Y,
        {"scaling": "none"},
        DataError,
        ["X[1, 0] is 1e+80", "fourth powers overflow"],
    ),
    "1e305": (with_entry(1e305), GOOD_Y, {}, DataError, ["X has entries up to 1e+305", "divide X"]),
    "largest double": (
        with_entry(np.finfo(float).max),
        GOOD_Y,
        {"scaling": "rows"},
        DataError,
        ["X has entries up to 1.8e+308"],
    ),
    "1e-310 unscaled": (
        np.full((3, 1), 1e-310),
        GOOD_Y,
        {"scaling": "none"},
        DataError,
        ["X has no entry above", "standardize"],
    ),
    "labels 1e200 unscaled": (
        GOOD_X,
        with_label(1e200),
        {"scaling": "none"},
        DataError,
        ["y has a label of size 1e+200", "standardize"],
    ),
    "labels 1e200 with row scaling": (
        GOOD_X,
        with_label(1e200),
        {"scaling": "rows"},
        DataError,
        ["y has a label", "standardize"],
    ),
    "labels 1e305": (GOOD_X, with_label(1e305), {}, DataError, ["y has entries up to 1e+305"]),
    "labels 1e-310 unscaled": (
        GOOD_X,
        [0, 1e-310, 0],
        {"scaling": "none"},
        DataError,
        ["y has no label above", "standardize"],
    ),
    "unknown scaling": (
        GOOD_X,
        GOOD_Y,
        {"scaling": "minmax"},
        DataError,
        ["scaling='minmax'", "'standardize', 'rows', 'none'"],
    ),
    "scaling None": (GOOD_X, GOOD_Y, {"scaling": None}, DataError, ["scaling=None", "'none'"]),
    "scaling a list": (GOOD_X, GOOD_Y, {"scaling": ["rows"]}, DataError, ["scaling=['rows']"]),
    "bias a string": (GOOD_X, GOOD_Y, {"bias": "no"}, DataError, ["bias='no'", "True", "False"]),
    "bias a number": (GOOD_X, GOOD_Y, {"bias": 1}, DataError, ["bias=1"]),
    "too few feature names": (
        GOOD_X,
        GOOD_Y,
        {"feature_names": ["a"]},
        DataError,
        ["feature_names has 1 names for 2"],
    ),
    "feature names a string": (
        GOOD_X,
        GOOD_Y,
        {"feature_names": "ab"},
        DataError,
        ["feature_names is the single string 'ab'"],
    ),
    "repeated feature names": (
        GOOD_X,
        GOOD_Y,
        {"feature_names": ["a", "a"]},
        DataError,
        ["feature_names contains 'a' twice"],
    ),
    "too many target names": (
        GOOD_X,
        GOOD_Y,
        {"target_names": ["a", "b"]},
        DataError,
        ["target_names has 2 names for 1"],
    ),
    "frame with missing": (
        pd.DataFrame({"a": [1.0, None, 2.0]}),
        GOOD_Y,
        {},
        DataError,
        ["X column 'a'", "row 1", "missing"],
    ),
    "frame with nullable missing": (
        pd.DataFrame({"a": pd.array([1, None, 2], dtype="Int64")}),
        GOOD_Y,
        {},
        DataError,
        ["X column 'a'", "row 1", "missing"],
    ),
    "frame with text": (
        pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]}),
        GOOD_Y,
        {},
        DataTypeError,
        ["X column 'b'", "'x'"],
    ),
    "frame with categories": (
        pd.DataFrame({"a": pd.Categorical(["x", "y", "x"])}),
        GOOD_Y,
        {},
        DataTypeError,
        ["X column 'a'"],
    ),
    "frame with dates": (
        pd.DataFrame({"a": pd.date_range("2020", periods=3)}),
        GOOD_Y,
        {},
        DataTypeError,
        ["X column 'a' holds dates"],
    ),
    "frame mixing floats and large integers": (
        pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [2**53 + 1, 0, 0]}),
        GOOD_Y,
        {},
        DataError,
        ["X column 'b' contains the integer 9007199254740993"],
    ),
    "frame without columns": (
        pd.DataFrame(index=range(3)),
        GOOD_Y,
        {},
        DataError,
        ["X is empty", "0 feature(s)"],
    ),
    "frame without rows": (
        pd.DataFrame({"a": []}, dtype=float),
        [],
        {},
        DataError,
        ["X is empty", "0 sample(s)"],
    ),
    "series as X": (
        pd.Series([1.0, 2.0, 3.0]),
        GOOD_Y,
        {},
        DataError,
        ["X is one-dimensional", "reshape"],
    ),
    "series of text as y": (
        GOOD_X,
        pd.Series(["a", "b", "a"]),
        {},
        DataTypeError,
        ["y has dtype object", "'a'"],
    ),
    "series with missing as y": (
        GOOD_X,
        pd.Series([1.0, np.nan, 2.0]),
        {},
        DataError,
        ["y has a missing value", "row 1"],
    ),
    "frame with infinity": (
        pd.DataFrame({"a": [1.0, np.inf, 2.0]}),
        GOOD_Y,
        {},
        DataError,
        ["X[1, 0]", "infinity"],
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_unusable_arrays_are_refused_with_argument_place_and_remedy(case):
    X, y, options, error, pieces = case
    with pytest.raises(error) as caught:
        Dataset(X, y, **options)
    assert isinstance(caught.value, GlobalMinError | ValueError)
    assert all(piece in str(caught.value) for piece in pieces), str(caught.value)


def test_a_type_problem_is_caught_as_type_error_and_as_value_error():
    for family in (TypeError, ValueError, DataError, GlobalMinError):
        with pytest.raises(family):
            Dataset(sparse.csr_array(GOOD_X), GOOD_Y)


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


WHOLE = np.array([[1, 2], [3, 5], [4, -1]])
NULLABLE = pd.DataFrame(
    {"a": pd.array([1, 3, 4], dtype="Int64"), "b": pd.array([2, 5, -1], dtype="Float32")}
)

# every one of these holds exactly the numbers of GOOD_X
SAME_VALUES = {
    "list": GOOD_X.tolist(),
    "tuple": tuple(map(tuple, GOOD_X.tolist())),
    "list of arrays": list(GOOD_X),
    "int8": WHOLE.astype(np.int8),
    "int16": WHOLE.astype(np.int16),
    "int32": WHOLE.astype(np.int32),
    "int64": WHOLE.astype(np.int64),
    "list of integers": WHOLE.tolist(),
    "float16": GOOD_X.astype(np.float16),
    "float32": GOOD_X.astype(np.float32),
    "big-endian float64": GOOD_X.astype(">f8"),
    "big-endian float32": GOOD_X.astype(">f4"),
    "big-endian int64": WHOLE.astype(">i8"),
    "extended precision without extra digits": GOOD_X.astype(np.longdouble),
    "Fortran order": np.asfortranarray(GOOD_X),
    "read-only": read_only(GOOD_X),
    "every second row of a larger array": np.repeat(GOOD_X, 2, axis=0)[::2],
    "every second column": np.repeat(GOOD_X, 2, axis=1)[:, ::2],
    "reversed twice": GOOD_X[::-1, ::-1].copy()[::-1, ::-1],
    "transposed view": np.ascontiguousarray(GOOD_X.T).T,
    "masked array without masked entries": np.ma.masked_array(GOOD_X),
    "matrix": GOOD_X.view(np.matrix),
    "unaligned": np.frombuffer(b"\0" + GOOD_X.tobytes(), dtype=np.uint8)[1:]
    .view(np.float64)
    .reshape(3, 2),
    "frame": pd.DataFrame(GOOD_X, columns=["a", "b"]),
    "frame with a strange index": pd.DataFrame(GOOD_X, index=[7, 7, -1]),
    "frame of nullable columns": NULLABLE,
    "frame of mixed types": pd.DataFrame({"a": WHOLE[:, 0], "b": GOOD_X[:, 1]}),
    "frame with repeated names": pd.DataFrame(GOOD_X, columns=["a", "a"]),
}


@pytest.mark.parametrize("X", SAME_VALUES.values(), ids=SAME_VALUES.keys())
@pytest.mark.parametrize("scaling", ["none", "standardize", "rows"])
def test_the_same_numbers_in_any_wrapping_give_the_same_bits(X, scaling):
    expected = Dataset(GOOD_X, GOOD_Y, scaling=scaling)
    data = Dataset(X, GOOD_Y, scaling=scaling)
    assert data.digest == expected.digest
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert not data.X.flags.writeable


def test_a_read_only_memory_map_is_read(tmp_path):
    np.save(tmp_path / "X.npy", GOOD_X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert Dataset(mapped, GOOD_Y).digest == Dataset(GOOD_X, GOOD_Y).digest


LABELS = {
    "list": [1, 2, 4],
    "column": GOOD_Y[:, None],
    "boolean": np.array([True, False, True]),
    "int8": np.array([1, 2, 4], dtype=np.int8),
    "series": pd.Series([1.0, 2.0, 4.0], index=[5, 5, 5], name="price"),
    "nullable series": pd.Series([1, 2, 4], dtype="Int64"),
    "frame of one column": pd.DataFrame({"price": [1.0, 2.0, 4.0]}),
    "strided": np.repeat(GOOD_Y, 3)[::3],
}


@pytest.mark.parametrize("y", LABELS.values(), ids=LABELS.keys())
def test_labels_in_any_wrapping_become_one_vector(y):
    data = Dataset(GOOD_X, y, scaling="none")
    assert data.y.shape == (3,)
    assert data.y.tolist() == np.asarray(y, dtype=float).ravel().tolist()


def test_boolean_inputs_are_zeros_and_ones():
    X = np.array([[True, False], [False, True], [True, True]])
    assert Dataset(X, GOOD_Y, bias=False, scaling="none").X.tolist() == [[1, 0], [0, 1], [1, 1]]


def test_integers_up_to_2_53_are_exact():
    X = np.array([[2**53], [-(2**53)], [2**53 - 1]])
    assert (
        Dataset(X, GOOD_Y, bias=False, scaling="none").X[:, 0].astype(int).tolist()
        == X[:, 0].tolist()
    )


def test_names_come_from_frames_and_series():
    data = Dataset(pd.DataFrame(GOOD_X, columns=["height", 3]), pd.Series(GOOD_Y, name="price"))
    assert data.feature_names == ("height", "3")
    assert data.target_names == ("price",)
    assert data.preprocessing.target_name == "price"


def test_given_names_win_over_those_of_a_frame():
    data = Dataset(pd.DataFrame(GOOD_X), GOOD_Y, feature_names=["u", "v"], target_names=["w"])
    assert data.feature_names == ("u", "v")
    assert data.target_names == ("w",)


# scaling, rows that are legal corners, and the stored inputs they must give (bias last)
CORNERS = {
    "one sample standardized": ("standardize", [[3.0, 4.0]], [2.0], [[0.0, 0.0, 1.0]], [0.0]),
    "one sample by rows": ("rows", [[3.0, 4.0]], [2.0], [[0.6, 0.8, 1.0]], [2.0]),
    "one sample untouched": ("none", [[3.0, 4.0]], [2.0], [[3.0, 4.0, 1.0]], [2.0]),
    "one feature": (
        "standardize",
        [[1.0], [3.0]],
        [5.0, 7.0],
        [[-1.0, 1.0], [1.0, 1.0]],
        [-1.0, 1.0],
    ),
    "constant column": (
        "standardize",
        [[0.1, 1.0], [0.1, 3.0]],
        [5.0, 7.0],
        [[0.0, -1.0, 1.0], [0.0, 1.0, 1.0]],
        [-1.0, 1.0],
    ),
    "constant target": (
        "standardize",
        [[1.0], [3.0]],
        [0.1, 0.1],
        [[-1.0, 1.0], [1.0, 1.0]],
        [0.0, 0.0],
    ),
    "duplicate columns": (
        "standardize",
        [[1.0, 1.0], [3.0, 3.0]],
        [5, 7],
        [[-1.0, -1.0, 1.0], [1.0, 1.0, 1.0]],
        [-1.0, 1.0],
    ),
    "zero row by rows": (
        "rows",
        [[0.0, 0.0], [0.0, 2.0]],
        [1.0, 2.0],
        [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]],
        [1.0, 2.0],
    ),
    "zero matrix": ("none", [[0.0], [0.0]], [1.0, 1.0], [[0.0, 1.0], [0.0, 1.0]], [1.0, 1.0]),
    "huge standardized": (
        "standardize",
        [[1e200], [3e200]],
        [1e250, 3e250],
        [[-1.0, 1.0], [1.0, 1.0]],
        [-1.0, 1.0],
    ),
    "huge by rows": ("rows", [[3e200, 4e200]], [1.0], [[0.6, 0.8, 1.0]], [1.0]),
    "tiny standardized": (
        "standardize",
        [[0.0], [2.0**-1060]],
        [0.0, 2.0**-1060],
        [[-1.0, 1.0], [1.0, 1.0]],
        [-1.0, 1.0],
    ),
    "tiny by rows": ("rows", [[3 * 2.0**-1070, 4 * 2.0**-1070]], [1.0], [[0.6, 0.8, 1.0]], [1.0]),
    "one subnormal entry among others": (
        "none",
        [[5e-324, 1.0], [1.0, 2.0]],
        [1.0, 2.0],
        [[5e-324, 1.0, 1.0], [1.0, 2.0, 1.0]],
        [1, 2],
    ),
    "one class": ("none", [[1.0], [2.0]], [1.0, 1.0], [[1.0, 1.0], [2.0, 1.0]], [1.0, 1.0]),
}


@pytest.mark.parametrize("case", CORNERS.values(), ids=CORNERS.keys())
def test_legal_corners_have_their_defined_result(case):
    scaling, X, y, stored, labels = case
    data = Dataset(X, y, scaling=scaling)
    np.testing.assert_allclose(data.X, stored, rtol=1e-15)
    np.testing.assert_allclose(data.y, labels, rtol=1e-15)


def test_a_column_of_the_two_smallest_doubles_stays_finite():
    data = Dataset([[0.0], [5e-324]], [1.0, 2.0])
    assert np.isfinite(data.X).all()
    assert data.X[0, 0] != data.X[1, 0]


def test_the_case_tables_are_large_enough():
    assert len(REFUSED) + len(SAME_VALUES) * 3 + len(LABELS) + len(CORNERS) >= 120


PREPROCESSING_REFUSED = {
    "zero scale": {"x_scale": np.zeros(2)},
    "negative scale": {"x_scale": np.array([1.0, -1.0])},
    "scale of another length": {"x_scale": np.ones(3)},
    "nan shift": {"x_shift": np.array([np.nan, 0.0])},
    "zero label scale": {"y_scale": 0.0},
    "nan label scale": {"y_scale": np.nan},
    "infinite label shift": {"y_shift": np.inf},
    "unknown scaling": {"scaling": "log"},
}


@pytest.mark.parametrize("change", PREPROCESSING_REFUSED.values(), ids=PREPROCESSING_REFUSED.keys())
def test_a_damaged_preprocessing_is_refused(change):
    fields = {
        "scaling": "standardize",
        "bias": True,
        "x_shift": np.zeros(2),
        "x_scale": np.ones(2),
    } | change
    with pytest.raises(DataError):
        Preprocessing(**fields)
