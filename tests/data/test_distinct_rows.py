"""Rows that repeat another are left out; the loss over all is at most `copies` times as large."""

import numpy as np

import globalmin as gm
from globalmin.data.distinct_rows import distinct_rows


def test_the_first_of_equal_rows_is_kept_in_its_place_with_its_label():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0], [3.0, 4.0], [1.0, 2.0]])
    y = np.array([0.5, -1.0, 0.5, 2.0, -1.0, 0.5])
    data = gm.Dataset(X, y, bias=False, scaling="none")
    found = distinct_rows(data)
    assert found is not None
    assert found.data.X.tolist() == X[[0, 1, 3]].tolist()
    assert found.data.y.tolist() == y[[0, 1, 3]].tolist()
    assert found.copies == 3
    assert "3 of 6 rows" in found.note
    assert "the 3 distinct rows" in found.note
    r = np.array([0.3, -0.2, 0.1])  # residuals of a network at the distinct rows
    whole = 0.5 * float(np.sum(np.square(r[[0, 1, 0, 2, 1, 0]])))
    assert whole <= found.copies * 0.5 * float(r @ r)


def test_without_repetition_there_is_nothing_to_leave_out():
    data = gm.Dataset([[1.0], [2.0]], [1.0, 1.0], bias=False, scaling="none")
    assert distinct_rows(data) is None


def test_rows_that_contradict_each_other_all_stay():
    X, y = [[1.0], [1.0], [2.0]], [0.0, 1.0, 3.0]
    data = gm.Dataset(X, y, bias=False, scaling="none")
    assert data.degeneracy.conflicting_rows
    assert distinct_rows(data) is None
