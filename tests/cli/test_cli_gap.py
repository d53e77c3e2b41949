"""`globalmin gap`: the gap of a network from files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from globalmin.cli.application import run


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Weights of a network, and its table."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2))
    y = np.maximum(X[:, 0], 0.0) + 0.1 * rng.standard_normal(25)
    weights, table = tmp_path / "weights.npz", tmp_path / "table.csv"
    np.savez(weights, W=[[0.9, 0.0]], b=[0.0], v=[0.8], c0=0.1)
    np.savetxt(table, np.column_stack([X, y]), delimiter=",", header="a,c,y", comments="")
    return weights, table


def test_gap_of_weights_in_a_file(files: tuple[Path, Path], capsys: Any) -> None:
    weights, table = files
    given = ["gap", str(weights), str(table), "--target", "y", "--weight-decay", "2", "--json"]
    assert run(given) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "ACCEPTED"
    assert found["lower_bound"] <= found["best_objective"] <= found["objective"]
    assert found["gap"] >= found["objective"] - found["best_objective"]
    assert Path(found["certificate"]) == weights.with_suffix(".gmc")
    assert weights.with_suffix(".gmc").exists()


def test_wrong_options_are_usage_errors(files: tuple[Path, Path]) -> None:
    weights, table = files
    given = ["gap", str(weights), str(table), "--target", "y"]
    assert run(given) == 2  # no weight decay
    assert run([*given, "--weight-decay", "1", "--loss", "cubic"]) == 2
    assert run([*given, "--weight-decay", "-1"]) == 3
