"""`globalmin sweep`: run, resume, watch and export many trials of one recipe."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalmin._options import EXECUTORS
from globalmin.cli import terminal
from globalmin.cli.arguments import JSON
from globalmin.cli.terminal import print_json, print_rows, say

if TYPE_CHECKING:
    from globalmin.sweep import Status, Summary


app = typer.Typer(
    name="sweep",
    help="Many trials of one recipe, on all cores, Dask or Ray; killed at any moment, nothing "
    "recorded is lost.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)

FOLDER = typer.Argument(metavar="DIR", help="Folder of the sweep.", exists=True, file_okay=False)
EXECUTOR = typer.Option(metavar="local|dask|ray", help="Where trials run.")
WORKERS = typer.Option(metavar="N", min=1, help="Worker processes; all cores if left out.")
ADDRESS = typer.Option(
    metavar="A", help="Dask scheduler or Ray cluster; one is started here if left out."
)
QUIET = typer.Option("--quiet", "-q", help="No progress bar.")
COLUMN = typer.Option(
    metavar="C", help="Result that the picture shows; the first numeric one if left out."
)


def run(
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="Plan in TOML.", exists=True, dir_okay=False)
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="DIR", help="Folder; the plan's name if left out."),
    ] = None,
    executor: Annotated[str, EXECUTOR] = "local",
    workers: Annotated[int | None, WORKERS] = None,
    address: Annotated[str | None, ADDRESS] = None,
    quiet: Annotated[bool, QUIET] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Compute the trials of PLAN that DIR does not have yet.

    Exits with 0 if all are done, 1 if some failed (the others are done all the same), 130 after
    Ctrl-C.
    """
    from globalmin import sweep
    from globalmin.cli.options import check_output

    folder = check_output(out or Path(plan.stem))
    check_executor(executor, address)
    content = sweep.Plan.from_toml(plan)
    progress = False if quiet else None
    return carry_out(
        folder,
        lambda: sweep.run(content, folder, executor, workers, address=address, progress=progress),
        command="sweep run",
        as_json=json,
    )


def resume(
    folder: Annotated[Path, FOLDER],
    *,
    executor: Annotated[str, EXECUTOR] = "local",
    workers: Annotated[int | None, WORKERS] = None,
    address: Annotated[str | None, ADDRESS] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Try failed trials again.")
    ] = False,
    quiet: Annotated[bool, QUIET] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Go on with the sweep in DIR where it was interrupted or killed; nothing is computed twice."""
    from globalmin import sweep

    check_executor(executor, address)
    options: dict[str, Any] = {
        "address": address,
        "progress": False if quiet else None,
        "retry_failed": retry_failed,
    }
    return carry_out(
        folder,
        lambda: sweep.resume(folder, executor, workers, **options),
        command="sweep resume",
        as_json=json,
    )


def status(folder: Annotated[Path, FOLDER], *, json: Annotated[bool, JSON] = False) -> int:
    """Show how far the sweep in DIR is; may be asked while it runs."""
    from globalmin import sweep

    show_status(sweep.status(folder), as_json=json)
    return 0


def export(
    folder: Annotated[Path, FOLDER],
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Table, .parquet or .csv.")
    ] = None,
    timing: Annotated[
        bool, typer.Option("--timing", help="Also seconds and tries of every trial.")
    ] = False,
    figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also a picture, .svg or .png.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also a page with picture, table and failures."),
    ] = None,
    column: Annotated[str | None, COLUMN] = None,
    x: Annotated[
        str | None, typer.Option("--x", metavar="P", help="Parameter along the horizontal axis.")
    ] = None,
    y: Annotated[
        str | None,
        typer.Option("--y", metavar="P", help="Parameter along the vertical axis of a map."),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Write the table of the sweep in DIR, one row per trial in the order of the plan;
    DIR/table.parquet if --out is left out.
    """
    from globalmin.cli.options import check_file, check_picture

    check_picture(figure)
    for option, path in (("--out", out), ("--figure", figure), ("--page", page)):
        if path is not None:
            check_file(option, path)
    files = export_files(
        folder, {"table": out, "figure": figure, "page": page}, timing=timing, shown=(column, x, y)
    )
    show_files(files, command="sweep export", as_json=json)
    return 0


COMMANDS = (run, resume, status, export)


TABLE = "table.parquet"


def check_executor(executor: str, address: str | None) -> None:
    """A known executor, and an address only where one is understood."""
    from globalmin.cli.options import check_choice

    check_choice("--executor", executor, EXECUTORS)
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
                    "exit_code": terminal.INTERRUPTED,
                    "folder": str(folder),
                    "interrupted": message,
                }
            )
        return terminal.INTERRUPTED
    code = terminal.NOT_CERTIFIED if summary.failed else terminal.ACCEPTED
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
        print_json({"command": "sweep status", "exit_code": terminal.ACCEPTED, **asdict(status)})
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
        print_json({"command": command, "exit_code": terminal.ACCEPTED, **names})
    else:
        print_rows([(kind, str(path), "copy") for kind, path in files.items()])


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, whichever is readable."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    if seconds < 6000:
        return f"{seconds / 60:.3g} min"
    return f"{seconds / 3600:.3g} h"
