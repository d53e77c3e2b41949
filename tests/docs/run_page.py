"""Run the blocks of a page in order, as a reader would, in the working folder.

Usage: run_page.py PAGE [--fresh], with Python text on stdin that is run in the page's names at
the end. `--fresh` gives every Python block names of its own, for pages that promise that each
block runs alone.
"""

from __future__ import annotations

import runpy
import shlex
import sys
from pathlib import Path

from page_blocks import Block, blocks


def run_python(block: Block, page: Path, names: dict) -> None:
    """Run a Python block in `names`; a traceback shows the line of the page."""
    source = "\n" * (block.line - 1) + block.text
    exec(compile(source, str(page), "exec"), names)  # noqa: S102  (our own pages)


def run_command(line: str) -> None:
    """Run one line of a shell block in this process; anything but success ends the page."""
    from globalmin.cli import main as globalmin
    from globalmin_check.command.cli import main as globalmin_check

    programs = {"globalmin": globalmin, "globalmin-check": globalmin_check, "python": _run_script}
    print("$", line, flush=True)
    program, *arguments = shlex.split(line)
    try:
        code = programs[program](arguments)
    except SystemExit as end:
        code = end.code
    if code:
        sys.exit(f"{line}: exit code {code}")


def _run_script(arguments: list[str]) -> None:
    before, sys.argv = sys.argv, arguments
    runpy.run_path(arguments[0], run_name="__main__")
    sys.argv = before


def main() -> None:
    """Run the page named on the command line."""
    page, fresh = Path(sys.argv[1]), "--fresh" in sys.argv
    names: dict = {"__name__": "page"}
    for block in blocks(page):
        if block.reason:
            continue
        if block.language == "python":
            names = {"__name__": "page"} if fresh else names
            run_python(block, page, names)
        elif block.language == "":
            for line in block.commands:
                run_command(line)
    exec(compile(sys.stdin.read(), "what the page promises", "exec"), names)  # noqa: S102


if __name__ == "__main__":
    main()
