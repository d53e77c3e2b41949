"""Where text goes: results to stdout, everything else to stderr. rich obeys NO_COLOR and leaves
files and pipes uncolored.
"""

from __future__ import annotations

import json
import sys
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

WIDTH = 110  # of lines that do not go to a terminal

Row = tuple[str, str, str]  # label, text, style of the text
COPY = "copy"  # the style of texts to be copied: a folded command is no command


def print_rows(rows: Sequence[Row]) -> None:
    """Results on stdout as two columns; long texts are folded, unless they are there to be
    copied.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    indent = 2 + max(len(label) for label, _, _ in rows)
    width = (console.width if sys.stdout.isatty() else WIDTH) - indent
    for label, text, style in rows:
        lines = [text] if style == COPY else textwrap.wrap(text, max(width, 20)) or [""]
        for i, line in enumerate(lines):
            head = (label if i == 0 else "").ljust(indent)
            styled = (
                Text.assemble((head, "dim"), (line, "" if style == COPY else style))
                if line
                else Text()
            )
            console.print(styled, soft_wrap=True)


def say(message: str) -> None:
    """One line on stderr."""
    sys.stderr.write(message + "\n")


@contextmanager
def warnings_to_stderr() -> Iterator[None]:
    """Inside, a Python warning is one line on stderr, whatever filters are set outside."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        say(f"globalmin: warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on stdout; infinities and NaN are not JSON and must have been replaced
    before.
    """
    sys.stdout.write(json.dumps(content, indent=1, allow_nan=False) + "\n")


@contextmanager
def working(title: str, *, quiet: bool) -> Iterator[None]:
    """A spinner on stderr while something takes long, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(title):
        yield
