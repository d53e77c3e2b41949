"""`globalmin predict`: a saved model on the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from globalmin.estimators.loaded import LoadedModel


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", help="model.safetensors of globalmin.", exists=True, dir_okay=False
        ),
    ],
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="Table: .csv.", exists=True, dir_okay=False)
    ],
    *,
    drop: Annotated[
        list[str] | None,
        typer.Option("--drop", metavar="COL", help="Columns that are no inputs, as the target."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write; without: stdout.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Predict the rows of a table with a saved model, its preprocessing included.

    Inputs are found by the names of the columns that the model was fitted to; other columns do not
    matter. Writes csv: the row, the prediction and, of logistic classifiers, the probabilities.
    """
    from globalmin.cli.options import check_file, check_model
    from globalmin.cli.terminal import ACCEPTED, print_json
    from globalmin.data.labels import load_inputs
    from globalmin.estimators.loaded import load
    from globalmin.files import save_atomically

    if out is not None:
        check_file("--out", out)
    found = load(check_model(model))
    X = load_inputs(data, columns=found.columns, drop=tuple(drop or ()))
    header, rows = _table(found, X)
    if out is not None:
        save_atomically(out, _text(header, rows).encode("utf-8"))
    if json:
        shown = {"predictions": [row[1] for row in rows]} if out is None else {"out": str(out)}
        print_json({"command": "predict", "exit_code": ACCEPTED, "n_rows": len(rows), **shown})
    elif out is None:
        typer.echo(_text(header, rows), nl=False)
    else:
        typer.echo(f"{out}: {len(rows)} rows")
    return ACCEPTED


def _table(model: LoadedModel, X: Any) -> tuple[list[str], list[list[Any]]]:
    outputs = model.predict(X)
    columns = outputs[:, None] if outputs.ndim == 1 else outputs
    names = (
        ["prediction"]
        if columns.shape[1] == 1
        else [f"prediction {j}" for j in range(columns.shape[1])]
    )
    rows = [[i, *values] for i, values in enumerate(columns.tolist())]
    if model.classes is not None and model.loss in ("logistic", "softmax"):
        names += [f"probability {label}" for label in model.classes]
        rows = [
            [*row, *shares]
            for row, shares in zip(rows, model.predict_proba(X).tolist(), strict=True)
        ]
    return ["row", *names], rows


def _text(header: list[str], rows: list[list[Any]]) -> str:
    import csv
    import io

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([[repr(x) if isinstance(x, float) else x for x in row] for row in rows])
    return stream.getvalue()
