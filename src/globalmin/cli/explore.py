"""`globalmin explore`: one page that trains in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.arguments import CATEGORY, DROP, JSON, TARGET, USE


def explore(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Table to show first: .csv, .npz or .parquet. Without it the page has its own.",
            exists=True,
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    *,
    target: Annotated[str | None, TARGET] = None,
    use: Annotated[list[str] | None, USE] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    category: Annotated[list[str] | None, CATEGORY] = None,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("explore.html"),
    json: Annotated[bool, JSON] = False,
) -> int:
    """Write one self-contained page: train in the browser, without a server, and watch.

    Loss, Gram spectrum, the moment the proof fires, a slice of the landscape, saddles and a trap;
    weights exported there are proved by `globalmin certify`. The page makes no network request.
    """
    from globalmin.cli.options import check_columns, check_file, refuse_columns
    from globalmin.cli.terminal import print_json

    path = check_file("--out", out)
    if (data is None) != (target is None):
        raise typer.BadParameter(
            "DATA and --target belong together: give both, or neither for the tables of the page"
        )
    columns = check_columns(use, drop, category, None)
    from globalmin.explore import save_page

    if data is None or target is None:
        refuse_columns(columns, "choose columns of DATA; give it, with its --target")
        save_page(path)
        recipe: list[str] = []
    else:
        from globalmin.cli.tables import read_told

        table, recipe = read_told(data, target, columns, bias=True, scaling="standardize")
        save_page(path, table, data.name)
    if json:
        print_json({"command": "explore", "exit_code": 0, "page": str(path), "recipe": recipe})
    else:
        typer.echo(f"{path}: open it in a browser; nothing is sent anywhere")
    return 0
