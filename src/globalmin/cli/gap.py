"""`globalmin gap`: how far a ReLU network, trained by whatever, is from the global minimum of its
objective.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalmin.cli.arguments import (
    DATA,
    DECAY,
    HIDDEN_BIAS,
    INTERCEPT,
    JSON,
    LOSS,
    PREDICTED,
    QUIET,
    READ_DROP,
    READ_USE,
    check_penalty,
    model_of,
)
from globalmin.cli.brought import ELSEWHERE, NEURONS, OUTPUT, is_foreign, load_foreign

if TYPE_CHECKING:
    from globalmin.cli.options import Columns
    from globalmin.regularized.optimality import OptimalityGap


def gap(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Weights W (k x d), b, v and c0 in an .npz file, for the columns of DATA as they "
            "are; a .safetensors file of globalmin, or the folder of a fit; .onnx, .keras, .pt or "
            ".pth.",
            exists=True,
            callback=model_of,
        ),
    ],
    data: Annotated[Path, DATA],
    *,
    target: Annotated[str, PREDICTED],
    weight_decay: Annotated[float, DECAY],
    loss: Annotated[str, LOSS] = "squared",
    hidden_bias: Annotated[str, HIDDEN_BIAS] = "penalized",
    intercept: Annotated[str, INTERCEPT] = "free",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Of our own training.")] = 0,
    use: Annotated[list[str] | None, READ_USE] = None,
    drop: Annotated[list[str] | None, READ_DROP] = None,
    activation: Annotated[str | None, NEURONS] = None,
    output: Annotated[int | None, OUTPUT] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Certificate file.", show_default="MODEL with suffix .gmc"
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Prove how far the network in MODEL is at most from the global minimum on the rows of DATA.

    The objective is the summed loss plus half the weight decay times the squares of hidden and
    output weights. Trains a network of its own, finds the best floor over all widths, writes one
    certificate file and checks it. Exits with 0 if the file is accepted, however wide the gap.
    """
    from globalmin.cli import terminal
    from globalmin.cli.options import check_columns, check_file

    check_penalty(loss, hidden_bias, intercept)
    path = check_file("--out", out or model.with_suffix(".gmc"))
    from globalmin.regularized.optimality import optimality_gap

    columns = check_columns(use, drop, None, None)
    network, rows = _read(model, data, target, columns, (activation, output))
    with terminal.working("the gap", quiet=quiet or json):
        found = optimality_gap(
            network,
            rows,
            loss,
            weight_decay=weight_decay,
            hidden_bias=hidden_bias,
            intercept=intercept,
            seed=seed,
        )
    written = None if found.certificate is None else found.save_certificate(path)
    code = terminal.ACCEPTED
    if not found.proof.is_accepted:
        code = terminal.code_of_proof(found.proof)
    if json:
        terminal.print_json({"command": "gap", "exit_code": code, **_record(found, written)})
    else:
        rows_out = [("gap", str(found), ""), ("certificate", str(written or "none"), terminal.COPY)]
        terminal.print_rows(rows_out)
    return code


def _read(
    model: Path, data: Path, target: str, columns: Columns, said: tuple[str | None, int | None]
) -> tuple[Any, Any]:
    """The network and the rows it reads; `said` of a foreign one, its neurons and the output."""
    activation, output = said
    if is_foreign(model):
        read = {"activation": activation, "columns": columns}
        network, table = load_foreign(model, data, target, **read)
        return network if output is None else network.only(output), (table.X, table.y.ravel())
    if model.suffix == ".npz":
        import numpy as np

        from globalmin.cli.tables import read_plain

        with np.load(model, allow_pickle=False) as stored:
            weights = {name: stored[name] for name in stored.files}
        table = read_plain(data, target, columns, reason=ELSEWHERE)
        return weights, (table.X, np.ravel(np.asarray(table.y)))
    from globalmin.cli.certify import load_stored

    network, rows = load_stored(model, data, target, 0.0, 0, columns=columns)
    if network.activation.name != "relu":
        from globalmin.errors import DataError

        raise DataError(
            f"{model}: {network.activation.name} neurons; the gap is that of relu networks: for "
            "others `globalmin certify`, for a fit with weight decay its own certificate"
        )
    return network, rows


def _record(found: OptimalityGap, written: Path | None) -> dict[str, Any]:
    return {
        "verdict": found.verdict,
        "sentence": str(found),
        "objective": found.objective,
        "lower_bound": found.lower_bound if found.certificate else None,
        "gap": found.gap if found.certificate else None,
        "relative_gap": found.relative_gap if found.certificate else None,
        "best_objective": found.best_objective,
        "constraint": found.constraint,
        "certificate": None if written is None else str(written),
    }
