"""Separation of directions and parallel pairs."""

import itertools
import math

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.kernels.khatri_rao import parallel_pairs, separation


def test_separation_is_the_smallest_chord_between_lines():
    """OS-TI.1: by all pairs."""
    X = np.random.default_rng(0).standard_normal((30, 3)) * np.random.default_rng(1).uniform(
        0.1, 9, (30, 1)
    )
    U = X / np.linalg.norm(X, axis=1)[:, None]
    chords = [
        min(np.linalg.norm(u - v), np.linalg.norm(u + v)) for u, v in itertools.combinations(U, 2)
    ]
    assert separation(X) == pytest.approx(min(chords), rel=1e-12)


def test_separation_of_degenerate_rows():
    assert separation([[1.0, 2.0], [-3.0, -6.0]]) == 0.0
    assert separation([[1.0, 2.0], [0.0, 0.0]]) == 0.0
    assert separation([[1.0], [2.0]]) == 0.0
    assert separation([[1.0, 0.0]]) == math.inf
    assert separation([[1.0, 0.0], [1.0, 1e-12]]) == pytest.approx(1e-12, rel=1e-3)


def test_parallel_pairs_are_exact_without_tolerance():
    """DU-T2.1: equal, opposite and proportional rows; zero rows and near misses are none."""
    X = np.array(
        [
            [1.0, 2.0],
            [3.0, 1.0],
            [-0.5, -1.0],
            [0.0, 0.0],
            [1.0, np.nextafter(2.0, 3.0)],
            [3.0, 6.0],
        ]
    )
    assert parallel_pairs(X) == ((0, 2), (0, 5), (2, 5))
    assert parallel_pairs(X, limit=2) == ((0, 2), (0, 5))
    assert parallel_pairs(np.eye(3)) == ()


def test_parallel_pairs_within_a_tolerance():
    X = np.array([[1.0, 0.0], [1.0, 1e-5], [0.0, 1.0], [-2.0, 1e-3], [0.0, 0.0]])
    assert parallel_pairs(X, tol=2e-5) == ((0, 1),)
    assert parallel_pairs(X, tol=1e-3) == ((0, 1), (0, 3), (1, 3))
    assert parallel_pairs(X, tol=1e-3, limit=1) == ((0, 1),)
    assert parallel_pairs(np.ones((3, 1)), tol=1e-9) == ((0, 1), (0, 2), (1, 2))


def test_wrong_tolerances_are_refused():
    for tolerance in (-1e-9, 1.0, math.nan):
        with pytest.raises(DataError, match="tol="):
            parallel_pairs(np.eye(2), tol=tolerance)
