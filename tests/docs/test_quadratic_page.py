"""The page about quadratic networks and its example run as they are printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _run(script: Path, folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
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


def test_the_blocks_of_the_page_run_one_after_the_other(tmp_path):
    page = (ROOT / "docs/quadratic.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 3
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    said = _run(script, tmp_path)
    assert said.splitlines()[0] == "ACCEPTED"
    assert "(2, 8, 5)" in said
    assert "strict saddle" in said
    assert (tmp_path / "quadratic.gmc").exists()
    for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page):
        assert (ROOT / "docs" / picture).exists()


def test_the_commands_of_the_page_exist_with_their_options():
    import typer.main

    from globalmin.cli.application import app

    page = (ROOT / "docs/quadratic.md").read_text(encoding="utf-8")
    group = typer.main.get_command(app)
    for line in re.findall(r"^globalmin (.*)$", page, flags=re.MULTILINE):
        command = group.commands[line.split()[0]]
        known = {
            name
            for parameter in command.params
            for name in (*parameter.opts, *parameter.secondary_opts)
        }
        assert set(re.findall(r"--[a-z-]+", line)) <= known, line


def test_the_example_ends_with_two_accepted_files(tmp_path):
    said = _run(ROOT / "examples/quadratic.py", tmp_path)
    assert said.count("ACCEPTED") == 2
    assert (tmp_path / "quadratic.gmc").exists()
    assert (tmp_path / "saddle.gmc").exists()
