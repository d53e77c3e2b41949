"""What `globalmin sweep` does with a sweep and how it speaks of it; results to stdout, the rest to
stderr.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from globalmin.cli import exits
from globalmin.cli.console import print_json, print_rows, say

if TYPE_CHECKING:
    from globalmin.sweep import Status, Summary

TABLE = "table.parquet"


def check_executor(executor: str, address: str | None) -> None:
    """A known executor, and an address only where one is understood."""
    from globalmin.sweep.executors import NAMES

    if executor not in NAMES:
        raise typer.BadParameter(f"--executor {executor} is not one of {', '.join(NAMES)}")
    if executor == "local" and address is not None:
        raise typer.BadParameter(f"--address {address} is for --executor dask or ray")


def carry_out(folder: Path, work: Callable[[], Summary], *, command: str, as_json: bool) -> int:
    """Run or resume, then say how it ended."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # Ray prints there
            summary = work()
    except KeyboardInterrupt as interrupt:
        message = str(interrupt) or "interrupted at once; what was recorded is safe"
        say(f"globalmin: {message}; go on with: globalmin sweep resume {folder}")
        if as_json:
            print_json(
                {
                    "command": command,
                    "exit_code": exits.INTERRUPTED,
                    "folder": str(folder),
                    "interrupted": message,
                }
            )
        return exits.INTERRUPTED
    code = exits.NOT_CERTIFIED if summary.failed else exits.ACCEPTED
    if as_json:
        print_json(
            {"command": command, "exit_code": code, **asdict(summary), "folder": str(folder)}
        )
        return code
    rows = [
        ("trials", f"{summary.total} ({summary.computed} computed now)", ""),
        ("done", str(summary.done), "green"),
        ("time", duration(summary.seconds), ""),
        ("table", f"globalmin sweep export {folder}", "copy"),
    ]
    if summary.failed:
        rows.insert(
            2,
            (
                "failed",
                f"{summary.failed}; their tracebacks: globalmin sweep export {folder} --page "
                "page.html",
                "red",
            ),
        )
    print_rows(rows)
    return code


def show_status(status: Status, *, as_json: bool) -> None:
    """Counts, rate, time left."""
    if as_json:
        print_json({"command": "sweep status", "exit_code": exits.ACCEPTED, **asdict(status)})
        return
    driver = (
        "running"
        if status.driven
        else "complete"
        if status.done + status.failed == status.total
        else "not running"
    )
    print_rows(
        [
            ("sweep", f"{status.name}, {driver}", ""),
            ("done", f"{status.done} of {status.total}", "green"),
            ("failed", str(status.failed), "red" if status.failed else ""),
            ("running", str(status.running), ""),
            ("waiting", str(status.waiting), ""),
            (
                "rate",
                "unknown" if status.rate is None else f"{status.rate:.3g} trials per second",
                "",
            ),
            (
                "left",
                "unknown" if status.seconds_left is None else duration(status.seconds_left),
                "",
            ),
        ]
    )


def export_files(
    folder: Path,
    wanted: Mapping[str, Path | None],
    *,
    timing: bool,
    shown: tuple[str | None, str | None, str | None],
) -> dict[str, Path]:
    """Table, picture and page, those that are wanted; the table always unless only the others
    are.
    """
    from globalmin import sweep

    files: dict[str, Path] = {}
    figure, page = wanted["figure"], wanted["page"]
    column, x, y = (
        shown  # the picture first: it may refuse a column, and then nothing is to be written
    )
    if figure is not None:
        from globalmin.report.sweep_page import save_figure

        files["figure"] = save_figure(folder, figure, column=column, x=x, y=y)
    if page is not None:
        from globalmin.report.sweep_page import save_page

        files["page"] = save_page(folder, page, column=column, x=x, y=y)
    if wanted["table"] is not None or (figure is None and page is None):
        files["table"] = sweep.export(folder, wanted["table"] or folder / TABLE, timing=timing)
    return files


def show_files(files: Mapping[str, Path], *, command: str, as_json: bool) -> None:
    """Where things were written."""
    if as_json:
        names = {kind: str(path) for kind, path in files.items()}
        print_json({"command": command, "exit_code": exits.ACCEPTED, **names})
    else:
        print_rows([(kind, str(path), "copy") for kind, path in files.items()])


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever is readable."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    if seconds < 6000:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.3g} h"
