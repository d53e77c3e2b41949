"""The page about saddles and its example run as they are printed, block by block."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"```python\n(.*?)```", (ROOT / "docs/saddles.md").read_text(encoding="utf-8"), flags=re.DOTALL
)
SAID = {
    0: ("second_order", "second-order stationary (estimate)"),
    1: ("strict saddle (estimate)", "second_order", "(4, 4)"),
    2: ("second_order", "trust-krylov: gradient and least eigenvalue"),
    3: ("Perturbation(step_size=",),
    4: ("A strict local minimum lies at most", "no other critical point within"),
}


def _run(script: Path, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("number", SAID)
def test_every_block_runs_alone_and_says_what_the_page_says(number, tmp_path):
    assert len(BLOCKS) == len(SAID)
    script = tmp_path / "block.py"
    script.write_text(BLOCKS[number], encoding="utf-8")
    said = _run(script, tmp_path)
    for words in SAID[number]:
        assert words in said


def test_the_example_ends_with_two_accepted_files(tmp_path):
    said = _run(ROOT / "examples/saddles.py", tmp_path)
    assert said.count("ACCEPTED") == 2
    assert "cubic: second_order at" in said
    assert (tmp_path / "saddle.gmc").exists()
    assert (tmp_path / "minimum.gmc").exists()
