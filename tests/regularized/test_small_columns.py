"""The scan of small tables is the compiled one, number for number; the compiled one is measured
against grids and exact rationals in test_columns, through this one.
"""

import subprocess
import sys

import numpy as np
import pytest

from globalmin.regularized import columns
from globalmin.regularized.columns import ColumnOracle
from globalmin.regularized.small_columns import SMALL


def _tables():
    rng = np.random.default_rng(0)
    for n, d in ((1, 1), (2, 3), (7, 2), (40, 5), (100, 10)):
        yield rng.standard_normal((n, d))
        yield np.round(rng.standard_normal((n, d)))  # ties
        yield 1e-3 * rng.random((n, d)) + 5.0  # of one sign
        yield np.ones((n, d))


def _both(oracle, u, threshold, monkeypatch, limit=512):
    assert oracle.X.size <= SMALL
    small = oracle.search(u, threshold, limit)
    monkeypatch.setattr(columns, "SMALL", 0)
    compiled = oracle.search(u, threshold, limit)
    monkeypatch.undo()
    return small, compiled


@pytest.mark.parametrize("slope", [0, 1, -1])
@pytest.mark.parametrize("tau", [1.0, 0.25])
@pytest.mark.parametrize("hidden_bias", ["penalized", "free"])
def test_the_scan_of_small_tables_is_the_compiled_one(slope, tau, hidden_bias, monkeypatch):
    rng = np.random.default_rng(1)
    seen = 0
    for X in _tables():
        n, d = X.shape
        oracle = ColumnOracle.of(X, tau=tau, hidden_bias=hidden_bias, slopes=[slope] * d)
        u = rng.standard_normal(n)
        u -= u.mean() if hidden_bias == "free" else 0.0
        height = oracle.search(u, np.inf)[0].max()
        for threshold in (0.0, 0.3 * height, 0.999 * height, np.inf):
            for limit in (512, 3):
                (a, x), (b, y) = _both(oracle, u, threshold, monkeypatch, limit)
                assert np.array_equal(a, b)
                for left, right in zip(x, y, strict=True):
                    assert left.shape == right.shape
                    assert np.array_equal(left, right)
                seen += len(x.values)
    assert seen > 100


def test_a_table_above_the_limit_is_scanned_by_the_compiled_loop(monkeypatch):
    called = []
    monkeypatch.setattr(columns, "scan_small", lambda *a: called.append(a))
    X = np.random.default_rng(0).standard_normal((SMALL + 1, 1))
    heights, _ = ColumnOracle.of(X).search(np.ones(SMALL + 1), np.inf)
    assert heights.shape == (1,)
    assert not called


def test_importing_the_compiled_loops_does_not_import_numba():
    code = (
        "import sys, globalmin.regularized.train, globalmin.regularized.full_run; "
        "import globalmin.shallow.train; assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
