"""`globalmin reproduce`: the figures and tables of the papers, made again, with their numbers
beside the published ones.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from globalmin import reproductions
from globalmin._options import EXECUTORS, ExecutorName
from globalmin.cli import terminal
from globalmin.cli.arguments import JSON
from globalmin.cli.options import check_choice
from globalmin.cli.terminal import print_json, print_rows, say
from globalmin.errors import DataError
from globalmin.reproductions import entries, entry
from globalmin.reproductions.registry import COLUMNS, Entry, Reproduction
from globalmin.reproductions.running import SCALES, Scale, data_for, writable_folder
from globalmin.reproductions.saving import PAGE

ITEMS = typer.Argument(
    metavar="list | ID... | all",
    help="IDs such as OS-E.fig2a or DU-TAB5.1; `list` names them, `all` makes all.",
)
SCALE = typer.Option(
    metavar="thumbnail|paper", help="thumbnail: seconds each; paper: the published sizes."
)
OUT = typer.Option(
    metavar="DIR",
    help="Folder for figures, tables, data and index.html; trials are kept there too.",
)
DATA = typer.Option(
    metavar="FILE",
    help="MNIST's images, idx format, .gz or not, for the items that learn from digits.",
)


def reproduce(
    items: Annotated[list[str], ITEMS],
    *,
    scale: Annotated[str, SCALE] = "thumbnail",
    out: Annotated[Path, OUT] = Path("reproductions"),
    executor: Annotated[
        str, typer.Option(metavar="local|dask|ray", help="Where the trials run.")
    ] = "local",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of every draw.")] = 0,
    data: Annotated[Path | None, DATA] = None,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Make figures and tables of the five papers, and our certified phase diagram.

    Each comes with its figure, its data and a table *published | reference | ours | tolerance |
    verdict | note*: published is what the paper prints, reference is ours, with its source.

    Run the same command again after Ctrl-C: finished trials are not computed a second time.
    Exits with 1 if a number is out of its tolerance.
    """
    if items == ["list"]:
        print_list(as_json=json)
        return terminal.ACCEPTED
    chosen = chosen_entries(items)
    size, where = check(scale, executor)
    if data is not None and not any(one.takes_data for one in chosen):
        data_for(chosen[0], data)
    return make_all(chosen, out, as_json=json, data=data, scale=size, executor=where, seed=seed)


def print_list(*, as_json: bool) -> None:
    """IDs with titles on stdout."""
    known = entries().values()
    if as_json:
        print_json(
            {
                "command": "reproduce list",
                "exit_code": terminal.ACCEPTED,
                "items": [{"item": one.item, "title": one.title} for one in known],
            }
        )
    else:
        print_rows([(one.item, one.title, "") for one in known])


def chosen_entries(items: Sequence[str]) -> list[Entry]:
    """The entries behind the words of the command line, each once."""
    words = list(dict.fromkeys(items))
    if words == ["all"]:
        return list(entries().values())
    if "all" in words or "list" in words:
        raise typer.BadParameter("'all' and 'list' stand alone; leave the IDs out")
    try:
        return [entry(word) for word in words]
    except DataError as error:
        raise typer.BadParameter(str(error)) from error


def check(scale: str, executor: str) -> tuple[Scale, ExecutorName]:
    """The scale and the executor; an unknown one is a mistake in the command line."""
    return check_choice("scale", scale, SCALES), check_choice("executor", executor, EXECUTORS)


def make_all(
    chosen: Sequence[Entry], out: Path, *, as_json: bool, data: Path | None = None, **options: Any
) -> int:
    """Make every item; one that fails does not stop the others. Returns the exit code."""
    writable_folder(out)
    results: list[dict[str, Any]] = []
    for place, one in enumerate(chosen, start=1):
        say(f"[{place}/{len(chosen)}] {one.item}: {one.title}")
        began = time.monotonic()
        try:
            images = data if one.takes_data else None
            found = reproductions.reproduce(one.item, out=out, data=images, **options)
        except KeyboardInterrupt as interrupt:
            done = f"{place - 1} of {len(chosen)} items are done"
            raise terminal.InterruptError(
                f"interrupted; {done}, finished trials are kept in {out}: run it again to go on"
            ) from interrupt
        except Exception as error:
            if len(chosen) == 1:
                raise
            say(f"globalmin: {one.item} failed: {error}")
            results.append(
                {"item": one.item, "error": str(error), "exit_code": terminal.code_of_error(error)}
            )
            continue
        say(f"    {time.monotonic() - began:.1f} s, {found.headline}")
        results.append(_summary(found))
        if not as_json:
            sys.stdout.write(f"{found}\n")
    return _finish(results, out, as_json)


def _summary(found: Reproduction) -> dict[str, Any]:
    rows = [dict(zip(COLUMNS, row.texts(), strict=True)) for row in found.table]
    code = terminal.ACCEPTED if found.agrees else terminal.NOT_CERTIFIED
    return {
        "item": found.item,
        "scale": found.scale,
        "agrees": found.agrees,
        "headline": found.headline,
        "exit_code": code,
        "table": rows,
    }


def _finish(results: list[dict[str, Any]], out: Path, as_json: bool) -> int:
    code = terminal.worst(one["exit_code"] for one in results)
    if as_json:
        print_json(
            {"command": "reproduce", "exit_code": code, "page": str(out / PAGE), "items": results}
        )
    elif any("error" not in one for one in results):
        print_rows([("page", str(out / PAGE), "copy")])
    return code
