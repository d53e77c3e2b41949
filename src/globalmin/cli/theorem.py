"""`globalmin theorem`: one item of the catalogue in plain words, and what it says of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.inspect import ACTIVATION, WIDTH


def theorem(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="ID of an item such as OS-T2.1.")],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA", help="Table: .csv, .npz or .parquet.", exists=True, dir_okay=False
        ),
    ] = None,
    *,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="Column to predict.")
    ] = None,
    activation: Annotated[str, ACTIVATION] = "softplus",
    width: Annotated[str, WIDTH] = "auto",
    head: Annotated[
        str, typer.Option(metavar="os|sjl|du|identity", help="Start that is measured.")
    ] = "os",
    bias: Annotated[
        bool, typer.Option("--bias/--no-bias", help="Append a constant column 1.")
    ] = True,
    scaling: Annotated[
        str, typer.Option(metavar="S", help="standardize, rows (norm 1) or none.")
    ] = "standardize",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of that start.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Say a theorem in plain words, what we corrected, and with DATA what it says of these rows.

    Nothing is trained and nothing is proved; the numbers are floating-point estimates. Exits with 0
    whatever the theorem says.
    """
    from globalmin.cli.options import check_activation, check_width
    from globalmin.errors import DataError
    from globalmin.theorems.sources import entry

    try:
        known = entry(item)
    except DataError as refusal:
        raise typer.BadParameter(str(refusal)) from refusal
    check_activation(activation)
    neurons = check_width(width)
    if (data is None) != (target is None):
        raise typer.BadParameter("DATA and --target go together: give both, or neither")
    from globalmin.data import Dataset
    from globalmin.theorems import theorem as ask

    table = None if data is None else Dataset.load(data, target=target, bias=bias, scaling=scaling)
    found = ask(
        known.item,
        table,
        width=None if isinstance(neurons, str) else neurons,
        activation=activation,
        scheme=head,
        seed=seed,
    )
    typer.echo(found.to_json() if json else str(found), nl=False)
    return 0
