"""`globalmin reproduce`: the figures and tables of the papers, made again, with their numbers
beside the published ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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


def reproduce(
    items: Annotated[list[str], ITEMS],
    *,
    scale: Annotated[str, SCALE] = "thumbnail",
    out: Annotated[Path, OUT] = Path("reproductions"),
    executor: Annotated[
        str, typer.Option(metavar="local|dask|ray", help="Where the trials run.")
    ] = "local",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of every draw.")] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the tables.")
    ] = False,
) -> int:
    """Make figures and tables of the five papers, and our certified phase diagram.

    Each comes with its figure, its data and a table *published | ours | difference | note*.

    Run the same command again after Ctrl-C: finished trials are not computed a second time.
    Exits with 1 if a number is out of its tolerance.
    """
    from globalmin.cli import exits, reproducing

    if items == ["list"]:
        reproducing.print_list(as_json=json)
        return exits.ACCEPTED
    chosen = reproducing.chosen_entries(items)
    reproducing.check(scale, executor)
    return reproducing.make_all(
        chosen, out, as_json=json, scale=scale, executor=executor, seed=seed
    )
