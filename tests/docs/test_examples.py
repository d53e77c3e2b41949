"""The example scripts end as they say, and the examples in all docstrings are true."""

import doctest
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WITH_EXAMPLES = [
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "src").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_the_docstrings_are_true(name: str, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize(
    ("script", "accepted", "files"),
    [
        ("quadratic", 2, ("quadratic.gmc", "saddle.gmc")),
        ("saddles", 2, ("saddle.gmc", "minimum.gmc")),
        ("estimators", 2, ("diabetes.gmc",)),
    ],
)
def test_the_example_ends_with_accepted_files(script, accepted, files, tmp_path):
    done = subprocess.run(
        [sys.executable, ROOT / f"examples/{script}.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ACCEPTED") >= accepted
    assert all((tmp_path / name).exists() for name in files)
