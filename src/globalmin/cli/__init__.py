"""The command line `globalmin`: one file per command; nothing heavy is imported before a command
runs.
"""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; `arguments` are those of the process if not
    given.
    """
    from globalmin.cli.application import run

    return run(arguments)
