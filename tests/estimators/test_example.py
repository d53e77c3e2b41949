"""The example runs as it is printed, and the doctests of the classes are true."""

import doctest
import os
import subprocess
import sys
from pathlib import Path

import pytest

from globalmin.estimators import quadratic, quadratic_cv, shallow

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_ends_with_an_accepted_certificate(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, ROOT / "examples/estimators.py"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ACCEPTED") >= 2
    assert (tmp_path / "diabetes.gmc").exists()


@pytest.mark.parametrize("module", [shallow, quadratic, quadratic_cv])
def test_the_examples_in_the_docstrings_are_true(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
