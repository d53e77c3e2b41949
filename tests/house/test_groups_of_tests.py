"""Tests of one `xdist_group` run in one worker, in their order: pytest 9.2.0 with xdist 3.8.0 lost
the groups without a word, and tests that build on each other failed now and then.
"""

import re
import subprocess
import sys

TESTS = """
import pytest

@pytest.mark.xdist_group("together")
@pytest.mark.parametrize("number", range(40))
def test_together(number):
    pass

@pytest.mark.parametrize("number", range(40))
def test_alone(number):
    pass
"""


def test_a_group_stays_in_one_worker(tmp_path):
    (tmp_path / "test_numbers.py").write_text(TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "-n", "2", "--dist", "loadgroup", "."]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    workers = re.findall(r"\[(gw\d)\].*test_together\[(\d+)", said)
    assert len(workers) == 40, said
    assert len({worker for worker, _ in workers}) == 1
    assert len(set(re.findall(r"\[(gw\d)\].*test_(?:alone|together)\[", said))) == 2  # two at work
