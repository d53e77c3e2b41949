"""`globalmin export`: a saved model for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.arguments import JSON
from globalmin.cli.predict import MODEL, refuse_foreign


def export(
    model: Annotated[Path, MODEL],
    *,
    out: Annotated[Path, typer.Option(metavar="FILE", help="The .onnx file to write.")],
    single: Annotated[
        bool,
        typer.Option("--single", help="float32 throughout, for devices without float64."),
    ] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Write a model of `globalmin fit` as an ONNX file that predicts raw rows in onnxruntime.

    What was done to the columns is part of the file: numbers (NaN at gaps), categories as strings
    ("" at gaps), dates as seconds since 1970-01-01.
    """
    from globalmin.cli.options import check_file
    from globalmin.cli.terminal import print_json
    from globalmin.estimators.saved import load
    from globalmin.interop.export import to_onnx

    path = check_file("--out", out)
    if path.suffix.lower() != ".onnx":
        raise typer.BadParameter(f"--out {path}: the file is one of ONNX; name it {path.stem}.onnx")
    refuse_foreign(model)
    graph = to_onnx(load(model), path, single=single).graph
    told = {
        "inputs": [given.name for given in graph.input],
        "outputs": [made.name for made in graph.output],
    }
    if json:
        facts = {"bytes": path.stat().st_size, "single": single}
        print_json({"command": "export", "exit_code": 0, "file": str(path), **told, **facts})
        return 0
    for word, names in told.items():
        typer.echo(f"{word}: {', '.join(names)}")
    typer.echo(f"wrote {path} ({path.stat().st_size} bytes)")
    return 0
