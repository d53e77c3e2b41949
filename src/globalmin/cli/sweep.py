"""`globalmin sweep`: run, resume, watch and export many trials of one recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
JSON = typer.Option("--json", help="Print one JSON object.")
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
    from globalmin.cli.sweeping import carry_out, check_executor

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
    from globalmin.cli.sweeping import carry_out, check_executor

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
    from globalmin.cli.sweeping import show_status

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
    from globalmin.cli.sweeping import export_files, show_files

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
