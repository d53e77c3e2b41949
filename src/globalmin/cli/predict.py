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
    from globalmin.cli.options import check_file, column_list
    from globalmin.cli.terminal import print_json, say
    from globalmin.data.raw_table import read_raw_table
    from globalmin.errors import DataError
    from globalmin.files import save_atomically

    path = None if out is None else check_file("--out", out)
    found = _loaded(model)
    if data.suffix.lower() == ".npz":
        raise DataError(f"{data}: rows to predict are read from .csv and .parquet files")
    known = [name for part in found for name in part.columns or ()]
    table = read_raw_table(data, target=known)
    table = table.without(column_list(drop), "--drop") if drop else table
    names, rows = _joined([_answers(part, table, proba and _tells(part, found)) for part in found])
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


def refuse_foreign(model: Path) -> None:
    """Usage error for a file of another framework, which predicts by itself."""
    from globalmin.cli.brought import SUFFIXES

    if model.suffix.lower() in SUFFIXES:
        raise typer.BadParameter(
            f"{model.name} is a network of another framework, which predicts there; here models "
            "that `globalmin fit` wrote are used (in Python: gm.interop.from_file)"
        )


def _loaded(model: Path) -> list[Any]:
    """The model of a file or folder; of a fit of several targets the model of each."""
    refuse_foreign(model)
    from globalmin.cli.report import parts_of
    from globalmin.estimators.saved import load, models_below

    below = models_below(model)
    if below and not parts_of(below):
        raise typer.BadParameter(
            f"the folder {model} holds several fits, not one of several targets; give one of "
            f"{', '.join(map(str, below))}"
        )
    return [load(folder) for folder in below or (model,)]


def _tells(part: Any, found: list[Any]) -> bool:
    """Whether probabilities are asked of a model: of several only those of classes have any."""
    return bool(part.classes) or not any(other.classes for other in found)


def _joined(parts: list[tuple[list[str], list[list[Any]]]]) -> tuple[list[str], list[list[Any]]]:
    names = [name for found, _ in parts for name in found]
    if len(set(names)) < len(names):  # classes of the same name in several targets
        names = [
            name if name == found[0] else f"{found[0]}: {name}"
            for found, _ in parts
            for name in found
        ]
    tables = [rows for _, rows in parts]
    return names, [[cell for row in rows for cell in row] for rows in zip(*tables, strict=True)]


def _answers(model: Any, table: Any, proba: bool) -> tuple[list[str], list[list[Any]]]:
    """Names of the columns, and a row for each row: prediction, then probabilities."""
    predicted = model.predict(table)
    targets = model.targets or ("prediction",)
    several = predicted.ndim == 2
    names = list(targets) if several else [targets[0]]
    rows = predicted.tolist() if several else [[value] for value in predicted.tolist()]
    if model.classes:
        rows = [[_as_written(name) for name in row] for row in rows]
    if proba:
        names += [f"probability of {_as_written(name)}" for name in model.classes]
        shares = model.predict_proba(table).tolist()
        rows = [[*row, *share] for row, share in zip(rows, shares, strict=True)]
    return names, rows


def _as_written(name: Any) -> Any:
    """The name of a class; a whole number without the point that tables do not have."""
    return int(name) if isinstance(name, float) and name.is_integer() else name
