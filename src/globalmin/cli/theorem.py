"""`globalmin theorem`: one item of the catalogue in plain words, and what it says of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.inspect import (
    ACTIVATION,
    DELTA,
    DEPTH,
    FAILURE,
    HEAD,
    NETWORK,
    TEST_SIZE,
    THETA,
    WIDTH,
    check_shares,
    check_start,
    load_both,
)


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
    network: Annotated[Path | None, NETWORK] = None,
    activation: Annotated[str | None, ACTIVATION] = None,
    width: Annotated[str, WIDTH] = "auto",
    head: Annotated[str | None, HEAD] = None,
    bias: Annotated[
        bool, typer.Option("--bias/--no-bias", help="Append a constant column 1.")
    ] = True,
    scaling: Annotated[
        str, typer.Option(metavar="S", help="standardize, rows (norm 1) or none.")
    ] = "standardize",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of that start.")] = 0,
    test_size: Annotated[float, TEST_SIZE] = 0.0,
    delta: Annotated[float, DELTA] = 1.0,
    theta: Annotated[float, THETA] = 0.5,
    failure: Annotated[float, FAILURE] = 0.1,
    depth: Annotated[int, DEPTH] = 3,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Say a theorem in plain words, what we corrected, and with DATA what it says of these rows.

    Nothing is trained and nothing is proved; the numbers are floating-point estimates. Exits with 0
    whatever the theorem says.
    """
    from globalmin.errors import DataError
    from globalmin.theorems.sources import entry

    try:
        known = entry(item)
    except DataError as refusal:
        raise typer.BadParameter(str(refusal)) from refusal
    neurons = check_start(activation, width, head, scaling)
    check_shares(delta=delta, theta=theta, failure=failure)
    if (data is None) != (target is None):
        raise typer.BadParameter("DATA and --target go together: give both, or neither")
    from globalmin.theorems import theorem as ask

    table, given = (
        (None, None)
        if data is None
        else load_both(
            data, target, network, bias=bias, scaling=scaling, test_size=test_size, seed=seed
        )
    )
    found = ask(
        known.item, table, width=neurons, activation=activation,
        network=given, scheme=head, seed=seed,
        delta=delta, theta=theta, failure=failure, depth=depth,
    )  # fmt: skip
    typer.echo(found.to_json() if json else str(found), nl=False)
    return 0
