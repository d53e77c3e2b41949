"""Arguments and options that several commands have, in the same words."""

from __future__ import annotations

from pathlib import Path

import typer

DATA = typer.Argument(
    metavar="DATA", help="Table: .csv, .npz or .parquet.", exists=True, dir_okay=False
)
PREDICTED = typer.Option("--target", "-t", metavar="COL", help="Column the network predicts.")
LABELS = typer.Option("--target", "-t", metavar="COL", help="Column of labels.")
TARGET = typer.Option("--target", "-t", metavar="COL", help="Column to predict.")
LANDSCAPE = typer.Option(metavar="W|vW", help="Layers that the landscape is a function of.")
TABLE = "The table: columns of text, dates and gaps become numbers, as the output says"
USE = typer.Option(
    "--use", metavar="COL", help="Take only this column; repeat.", rich_help_panel=TABLE
)
DROP = typer.Option(
    "--drop", metavar="COL", help="Leave this column out; repeat.", rich_help_panel=TABLE
)
CATEGORY = typer.Option(
    "--category",
    metavar="COL",
    help="This column of numbers names categories; repeat.",
    rich_help_panel=TABLE,
)
READ = "The inputs, numbers without gaps (a model of globalmin names its own columns)"
READ_USE = typer.Option(
    "--use", metavar="COL", help="Only this column, in this order; repeat.", rich_help_panel=READ
)
READ_DROP = typer.Option(
    "--drop", metavar="COL", help="All but this column; repeat.", rich_help_panel=READ
)
JSON = typer.Option("--json", help="Print one JSON object and nothing else.")
QUIET = typer.Option("--quiet", "-q", help="No progress.")
LOSS = typer.Option(
    metavar="L",
    help="squared, huber, quantile, poisson; labels 1, -1: logistic, hinge, squared_hinge.",
)
DECAY = typer.Option(metavar="B", help="Of the summed loss: n times that of a mean loss.")
HIDDEN_BIAS = typer.Option(metavar="R", help="penalized, free or none.")
INTERCEPT = typer.Option(metavar="R", help="free or none.")


def check_penalty(loss: str, hidden_bias: str, intercept: str) -> None:
    """Usage errors for words that the penalized objective does not know."""
    from globalmin.cli.options import check_choice
    from globalmin.losses import LOSSES
    from globalmin.regularized.objective import HIDDEN_BIASES

    check_choice("--loss", loss, tuple(LOSSES))
    check_choice("--hidden-bias", hidden_bias, HIDDEN_BIASES)
    check_choice("--intercept", intercept, ("free", "none"))


def model_of(path: Path | None) -> Path | None:
    """The model of an output folder of `globalmin fit`; a file is itself."""
    return _inside(path, "model.safetensors", "the file of a network")


def certificate_of(path: Path) -> Path:
    """The certificate of an output folder of `globalmin fit`; a file is itself."""
    return _inside(path, "certificate.gmc", "a certificate file") or path


def _inside(path: Path | None, name: str, wanted: str) -> Path | None:
    if path is None or not path.is_dir():
        return path
    if (path / name).is_file():
        return path / name
    below = sorted(str(found) for found in path.glob(f"*/{name}"))
    more = f" ({', '.join(below)})" if below else ""
    raise typer.BadParameter(
        f"the folder {path} has no {name}; give {wanted}, or the folder that `globalmin fit` "
        f"wrote{more}"
    )
