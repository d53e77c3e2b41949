"""Where text goes, results to stdout and everything else to stderr, and how a command ends: exit
codes, and which error means which, the contract with scripts that call `globalmin`.
"""

from __future__ import annotations

import json
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from globalmin.errors import (
    CannotCertify,
    DataError,
    GlobalMinError,
    HypothesisError,
    MemoryRefused,
    NotConverged,
    StoreError,
    StoreFull,
)

if TYPE_CHECKING:
    from globalmin.proving.proof import Proof

FIRST_LINE = 2.0  # seconds after which work that goes on is told of
WIDTH = 110  # of lines that do not go to a terminal
NARROW = 4  # columns before the texts, where labels have lines of their own

Row = tuple[str, str, str]  # label, text, style of the text
COPY = "copy"  # the style of texts to be copied: a folded command is no command


def print_rows(rows: Sequence[Row]) -> None:
    """Results on stdout as two columns; long texts are folded, unless they are there to be
    copied.
    """
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    columns = console.width if sys.stdout.isatty() else WIDTH
    indent = 2 + max(len(label) for label, _, _ in rows)
    is_narrow = indent > columns // 2  # then labels have lines of their own
    indent = NARROW if is_narrow else indent
    for label, text, style in rows:
        lines = [text] if style == COPY else textwrap.wrap(text, max(columns - indent, 20)) or [""]
        if is_narrow and label:
            for part in textwrap.wrap(label, columns):
                console.print(Text(part, "dim"), soft_wrap=True)
        for i, line in enumerate(lines):
            head = (label if i == 0 and not is_narrow else "").ljust(indent)
            styled = (
                Text.assemble((head, "dim"), (line, "" if style == COPY else style))
                if line
                else Text()
            )
            console.print(styled, soft_wrap=True)


def print_text(text: str) -> None:
    """Text on stdout as it is; on a terminal, lines that are too long for it are folded."""
    if not sys.stdout.isatty():
        sys.stdout.write(text)
        return
    from rich.console import Console

    columns = Console().width
    for line in text.splitlines():
        hang = " " * min(len(line) - len(line.lstrip()) + 2, columns // 2)
        folded = textwrap.wrap(line, columns, subsequent_indent=hang, drop_whitespace=False)
        sys.stdout.write("\n".join(part.rstrip() for part in folded or [""]) + "\n")


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


def print_found(command: str, found: Any, *, as_json: bool) -> None:
    """A value with `to_json` as one JSON object, or as its text."""
    if as_json:
        print_json({"command": command, "exit_code": ACCEPTED, **json.loads(found.to_json())})
    else:
        print_text(str(found))


@contextmanager
def told(*, quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """What work that knows how far it is says to: a line on stderr after 2, 4, 8, ... seconds."""
    began, wait = time.monotonic(), [FIRST_LINE]

    def watch(what: str, share: float) -> None:
        passed = time.monotonic() - began
        if not quiet and passed >= wait[0]:
            say(f"globalmin: {what}, {share:.0%} done, {passed:.0f} s so far")
            wait[0] *= 2.0

    yield watch


@contextmanager
def working(title: str, *, quiet: bool) -> Iterator[None]:
    """A spinner on stderr while something takes long; off a terminal a line after 2, 4, 8, ...
    seconds, so that a log shows that the work goes on.
    """
    if quiet:
        yield
        return
    if not sys.stderr.isatty():
        with _lines(title):
            yield
        return
    from rich.console import Console

    with Console(stderr=True).status(title):
        yield


@contextmanager
def _lines(title: str) -> Iterator[None]:
    import threading

    ended = threading.Event()

    def report() -> None:
        waited = FIRST_LINE
        while not ended.wait(waited if waited == FIRST_LINE else waited / 2):
            say(f"globalmin: {title}, {waited:g} s so far")
            waited *= 2

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


ACCEPTED = 0
NOT_CERTIFIED = 1
USAGE = 2
MALFORMED_INPUT = 3
UNDECIDED = 4
INTERNAL = 5
INTERRUPTED = 130


class InterruptError(Exception):
    """Ctrl-C, before there was anything worth keeping."""


_BY_ERROR: tuple[tuple[type[BaseException], int], ...] = (
    (MemoryRefused, UNDECIDED),
    (MemoryError, UNDECIDED),
    (DataError, MALFORMED_INPUT),
    (StoreFull, UNDECIDED),
    (StoreError, MALFORMED_INPUT),
    (CannotCertify, NOT_CERTIFIED),
    (NotConverged, NOT_CERTIFIED),
    (HypothesisError, NOT_CERTIFIED),
    (InterruptError, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED),
    (GlobalMinError, NOT_CERTIFIED),
)
_BY_VERDICT = {"UNDECIDED": UNDECIDED, "MALFORMED": INTERNAL}
_WORST_FIRST = (INTERRUPTED, INTERNAL, NOT_CERTIFIED, UNDECIDED, ACCEPTED)


def code_of_error(error: BaseException) -> int:
    """Exit code of an exception; what nobody foresaw is an internal error."""
    return next((code for kind, code in _BY_ERROR if isinstance(error, kind)), INTERNAL)


def code_of_proof(proof: Proof) -> int:
    """Exit code of the verdict on a file that globalmin itself has written: malformed is then our
    own fault.

    An accepted file that leaves open whether the network is at the global minimum is no success of
    `fit`; with the head trained alone, at the minimum over heads.
    """
    if proof.is_accepted:
        is_least = proof.reaches_minimum or proof.reaches_head_minimum
        return ACCEPTED if is_least else NOT_CERTIFIED
    if proof.lacks_memory:
        return UNDECIDED
    return _BY_VERDICT.get(proof.verdict, NOT_CERTIFIED)


def worst(codes: Iterable[int]) -> int:
    """The code to exit with when several targets ended differently."""
    seen = set(codes)
    return next((code for code in _WORST_FIRST if code in seen), ACCEPTED)
