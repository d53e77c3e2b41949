"""Networks of other frameworks on the command line: files that are not ours, and the rows they
read, as they are in the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from globalmin.cli.arguments import model_of
from globalmin.cli.options import ALL_COLUMNS, Columns
from globalmin.cli.terminal import say

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.interop.network import ImportedNetwork

ELSEWHERE = (
    "what the network's own program made of that is not known here; write the numbers that it gave "
    "the network into the table"
)
SUFFIXES = (".onnx", ".keras", ".pt", ".pth")  # `globalmin.interop.foreign` reads them
MODEL = typer.Argument(
    metavar="MODEL",
    help="Network: .safetensors of globalmin, or the folder of a fit; .onnx, .keras; .pt, .pth, "
    ".safetensors with a state dict.",
    exists=True,
    callback=model_of,
)
NEURONS = typer.Option(
    "--activation",
    metavar="A",
    help="Of the hidden layers, for files that hold tensors only: relu, tanh, softplus, ...",
)
OUTPUT = typer.Option(
    "--output", metavar="J", min=0, help="Which of several outputs of MODEL, counted from 0."
)


def is_foreign(model: Path) -> bool:
    """Whether a file is of another framework: by its suffix, or tensors without our header."""
    if model.suffix.lower() in SUFFIXES:
        return True
    if model.suffix.lower() != ".safetensors":
        return False
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(model, framework="numpy") as stream:
            names = list(stream.keys())
            return "format" not in (stream.metadata() or {}) or all(
                name.endswith((".weight", ".bias")) for name in names
            )
    except (OSError, SafetensorError):
        return False


def load_foreign(
    model: Path,
    data: Path,
    target: str,
    *,
    activation: str | None,
    columns: Columns = ALL_COLUMNS,
) -> tuple[ImportedNetwork, Any]:
    """The network of a file, and the table with the columns it reads."""
    from globalmin.cli.tables import read_plain
    from globalmin.errors import DataError
    from globalmin.interop.foreign import from_file

    network = from_file(model, activation=activation)
    table = read_plain(data, target, columns, reason=ELSEWHERE, named=network.feature_names)
    if table.X.shape[1] != network.n_features:
        names = ", ".join(map(repr, table.feature_names or ())) or "without names"
        raise DataError(
            f"{model.name} reads {network.n_features} features and {data.name} has "
            f"{table.X.shape[1]} columns besides {target!r} ({names}); give those it was trained "
            "on, in their order: --use names them, --drop leaves others out"
        )
    if network.agreement is not None:
        say(f"globalmin: {network.agreement}")
    return network, table


def pose_foreign(
    model: Path,
    data: Path,
    target: str,
    *,
    test_size: float,
    seed: int,
    activation: str | None,
    output: int | None,
    columns: Columns = ALL_COLUMNS,
) -> tuple[Any, Dataset]:
    """The network as one of our families, and its training rows in the form it reads them."""
    from globalmin.data.preprocessing import split_rows

    read = {"activation": activation, "columns": columns}
    network, table = load_foreign(model, data, target, **read)
    posed = network.with_data(table.X, table.y, output=output)
    if test_size:
        train, _ = split_rows(posed.data, test_size, seed)
        posed = network.with_data(table.X[train], table.y[train], output=output)
    for note in posed.notes:
        say(f"globalmin: note: {note}")
    return posed.network, posed.data
