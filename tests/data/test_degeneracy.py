"""Facts about the stored rows, and what is said about them."""

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.data.degeneracy import Degeneracy
from globalmin.errors import DataError, DegenerateDataWarning


def facts(X, y=None):
    return Degeneracy(np.array(X, dtype=float), None if y is None else np.array(y, dtype=float))


def test_equal_rows_and_those_that_conflict():
    found = facts([[1, 2], [3, 4], [1, 2], [3, 4], [5, 6]], [0, 1, 0, 2, 9])
    assert found.equal_rows == ((0, 2), (1, 3))
    assert found.conflicting_rows == ((1, 3),)


def test_labels_that_differ_only_in_the_sign_of_zero_agree():
    assert facts([[1], [1]], [0.0, -0.0]).conflicting_rows == ()


def test_zero_rows_rays_lines_and_opposite_rows():
    found = facts(
        [[0, 0], [1, 2], [2, 4], [-3, -6], [-1, -2], [0, 5], [-0.0, 0.0], [0, -5], [1, 1]]
    )
    assert found.zero_rows == (0, 6)
    assert found.lines == ((1, 2, 3, 4), (5, 7))
    assert found.rays == ((1, 2), (3, 4))
    assert found.opposite_rows == ((1, 4), (5, 7))
    assert found.rank == 2
    assert found.line_representatives.tolist() == [1, 5, 8]


def test_a_bias_column_leaves_only_equal_rows_on_one_line():
    data = Dataset([[1.0], [2.0], [-1.0], [1.0]], [1, 2, 3, 1], scaling="none")
    assert data.degeneracy.lines == data.degeneracy.equal_rows == ((0, 3),)
    assert data.degeneracy.zero_rows == ()


def test_rank_is_none_where_only_bounds_are_affordable(monkeypatch):
    monkeypatch.setattr("globalmin.data.exact_algebra.MAX_PIVOTS", 0)
    found = facts([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    assert found.rank_bounds == (2, 3)
    assert found.rank is None


def test_facts_are_computed_once():
    data = Dataset(np.eye(3), [1, 2, 3])
    assert data.degeneracy is data.degeneracy
    assert data.degeneracy.lines is data.degeneracy.lines


@pytest.mark.parametrize("max_bytes", [1, 2000, 2**26])
def test_the_closest_pair_agrees_with_comparing_all_pairs(max_bytes):
    from globalmin.data.exact_algebra import estimate_closest_pair

    X = np.random.default_rng(0).normal(size=(60, 3)) * np.random.default_rng(1).lognormal(
        size=(60, 1)
    )
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    angles = {
        (i, j): np.arccos(min(abs(U[i] @ U[j]), 1.0)) for i in range(60) for j in range(i + 1, 60)
    }
    best = min(angles, key=angles.__getitem__)
    pair = estimate_closest_pair(X, np.arange(60), max_bytes=max_bytes)
    assert pair is not None
    assert (pair.i, pair.j) == best
    assert pair.angle == pytest.approx(angles[best], rel=1e-8)


def test_angles_far_below_the_resolution_of_a_cosine_are_seen():
    X = np.array([[1.0, 0.0], [-1.0, 1e-12], [1.0, 1.0], [2.0, -1.0]])
    pair = facts(X).estimate_closest_pair()
    assert pair is not None
    assert (pair.i, pair.j) == (0, 1)
    assert pair.angle == pytest.approx(1e-12, rel=1e-3)
    message = facts(X).near_message()
    assert "rows 0 and 1" in message
    assert "1e-12 radians" in message
    assert "remove one of them" in message


def test_exactly_parallel_rows_are_not_the_closest_pair():
    pair = facts([[1, 0], [2, 0], [0, 1], [0, 0]]).estimate_closest_pair()
    assert pair is not None
    assert (pair.i, pair.j) == (0, 2)
    assert pair.angle == pytest.approx(np.pi / 2)
    assert facts([[1, 0], [2, 0]]).estimate_closest_pair() is None
    assert facts([[1, 0], [0, 1]]).near_message() == facts([[1, 0]]).near_message() == ""


MESSAGES = {
    "equal": (
        [[1], [2], [1]],
        [0, 5, 1],
        "softplus",
        ["rows 0, 2 are equal", "different labels", "at least 0.25"],
    ),
    "zero": ([[0], [2]], [3, 5], "relu", ["row 0 is zero", "has nonzero labels", "at least 4.5"]),
    "zeros": ([[0], [0], [2]], [3, 3, 5], "tanh", ["rows 0, 1 are zero", "at least 9"]),
    "ray": ([[1, 2], [2, 4]], [1, 1], "relu", ["rows 0, 1 lie on one ray", "at least 0.1"]),
    "line": (
        [[1, 2], [-2, -4]],
        [1, 1],
        "quadratic",
        ["rows 0, 1 lie on one line", "at least 0.264706"],
    ),
    "odd": ([[1, 2], [-1, -2]], [1, 1], "tanh", ["rows 0, 1 are equal up to sign", "at least 1"]),
    "many": (
        np.repeat(np.arange(1.0, 6.0), 2)[:, None],
        range(10),
        "softplus",
        ["rows 0, 1", "rows 4, 5", "and 2 more groups"],
    ),
    "long": (np.ones((9, 1)), range(9), "softplus", ["rows 0, 1, 2, 3, 4, ... are equal"]),
}


@pytest.mark.parametrize("case", MESSAGES.values(), ids=MESSAGES.keys())
def test_the_warning_names_the_rows_and_the_floor(case):
    X, y, activation, pieces = case
    found = facts(X, list(y))
    message = found.message(activation)
    assert all(piece in message for piece in pieces), message
    with pytest.warns(DegenerateDataWarning, match="zero loss is impossible"):
        found.warn(activation)


def test_negative_labels_are_named_for_nonnegative_heads():
    message = facts([[1.0], [2.0]], [1.0, -2.0]).message("softplus", heads="nonnegative")
    assert "row 1 has negative labels" in message


def test_nothing_is_said_about_data_in_general_position():
    found = facts([[1, 2], [3, 4]], [1, 2])
    assert found.message("relu") == ""
    found.warn("relu")


def test_labels_are_needed_for_conflicts():
    with pytest.raises(DataError, match="for_target"):
        _ = facts([[1]]).conflicting_rows
