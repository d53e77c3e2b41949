"""`globalmin predict`: what a saved model says of new rows."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from globalmin.cli.arguments import JSON

MODEL = typer.Argument(
    metavar="MODEL", help="model.safetensors of a fit, or its folder.", exists=True
)
DATA = typer.Argument(
    metavar="DATA", help="New rows: .csv, .npz or .parquet.", exists=True, dir_okay=False
)


def predict(
    model: Annotated[Path, MODEL],
    data: Annotated[Path, DATA],
    *,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            "--drop", metavar="COL", help="A column that is no input, for models without names."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A .csv file.", show_default="standard output"),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes beside the class.")
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Predict the rows of DATA with a model that `globalmin fit` wrote.

    The file of the model holds what was done to the columns; DATA may have more columns, in any
    order, and none of the label.
    """
    from globalmin.cli.options import check_file
    from globalmin.cli.tables import column_list
    from globalmin.cli.terminal import print_json, say
    from globalmin.data.raw_table import read_raw_table
    from globalmin.errors import DataError
    from globalmin.estimators.saved import load
    from globalmin.files import save_atomically

    path = None if out is None else check_file("--out", out)
    found = load(model)
    if data.suffix.lower() == ".npz":
        raise DataError(f"{data}: rows to predict are read from .csv and .parquet files")
    table = read_raw_table(data, target=found.columns or ())
    table = table.without(column_list(drop), "--drop") if drop else table
    names, rows = _answers(found, table, proba)
    if json:
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        print_json({"command": "predict", "exit_code": 0, "rows": len(rows), **columns})
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    if path is not None:
        save_atomically(path, text.getvalue().encode())
        say(f"globalmin: wrote {len(rows)} predictions to {path}")
    elif not json:
        typer.echo(text.getvalue(), nl=False)
    return 0


def _answers(model: Any, table: Any, proba: bool) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns, and a row for each row: prediction, then probabilities."""
    predicted = model.predict(table)
    targets = model.targets or ("prediction",)
    several = predicted.ndim == 2
    names = list(targets) if several else [targets[0]]
    rows = predicted.tolist() if several else [[value] for value in predicted.tolist()]
    if proba:
        names += [f"probability of {name}" for name in model.classes]
        shares = model.predict_proba(table).tolist()
        rows = [[*row, *share] for row, share in zip(rows, shares, strict=True)]
    return names, rows
