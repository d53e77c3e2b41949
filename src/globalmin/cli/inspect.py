"""`globalmin inspect`: what the theorems say of a table before training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

WIDTH = typer.Option(
    metavar="K", help="Number of neurons asked about, or auto: the recommended width."
)
ACTIVATION = typer.Option(metavar="A", help="softplus, relu, tanh, sigmoid, erf, softplus(4), ...")
PAGE = typer.Option(metavar="FILE", help="Also write a page with pictures.")


def inspect(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Table: .csv, .npz or .parquet.", exists=True, dir_okay=False
        ),
    ],
    *,
    target: Annotated[
        str, typer.Option("--target", "-t", metavar="COL", help="Column to predict.")
    ],
    activation: Annotated[str, ACTIVATION] = "softplus",
    width: Annotated[str, WIDTH] = "auto",
    head: Annotated[
        str, typer.Option(metavar="os|sjl|positive|du", help="Random start that is measured.")
    ] = "os",
    bias: Annotated[
        bool, typer.Option("--bias/--no-bias", help="Append a constant column 1.")
    ] = True,
    scaling: Annotated[
        str, typer.Option(metavar="S", help="standardize, rows (norm 1) or none.")
    ] = "standardize",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of that start.")] = 0,
    page: Annotated[Path | None, PAGE] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of the table.")
    ] = False,
) -> int:
    """Check every theorem's hypotheses on the rows of DATA: widths, steps and rates, with numbers.

    Nothing is trained and nothing is proved; the numbers are floating-point estimates. Exits with 0
    whatever the theorems say.
    """
    from globalmin.cli.options import check_activation, check_width

    check_activation(activation)
    _check_choice("--head", head, ("os", "sjl", "positive", "du"))
    _check_choice("--scaling", scaling, ("standardize", "rows", "none"))
    neurons = check_width(width)
    if page is not None and (page.is_dir() or not page.absolute().parent.is_dir()):
        raise typer.BadParameter(
            f"--page {page} is a folder or lies in none; give a file name in a folder that exists"
        )
    from globalmin.data import Dataset
    from globalmin.inspection import inspect as look

    table = Dataset.load(data, target=target, bias=bias, scaling=scaling)
    found = look(
        table,
        width=None if isinstance(neurons, str) else neurons,
        activation=activation,
        scheme=head,
        seed=seed,
    )
    if page is not None:
        from globalmin.report.inspection_page import save_page

        save_page(found, page)
    typer.echo(found.to_json() if json else str(found), nl=False)
    return 0


def _check_choice(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise typer.BadParameter(f"{option} {value} is not one of {', '.join(allowed)}")
