"""`globalmin examine`: the verdict on a network that somebody trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from globalmin.cli.arguments import (
    DATA,
    DECAY,
    HIDDEN_BIAS,
    INTERCEPT,
    JSON,
    LANDSCAPE,
    LOSS,
    PREDICTED,
    QUIET,
    READ_DROP,
    READ_USE,
    check_penalty,
)
from globalmin.cli.brought import MODEL, NEURONS, OUTPUT, is_foreign


def examine(
    model: Annotated[Path, MODEL],
    data: Annotated[Path, DATA],
    *,
    target: Annotated[str, PREDICTED],
    loss: Annotated[str, LOSS] = "squared",
    weight_decay: Annotated[float | None, DECAY] = None,
    hidden_bias: Annotated[str, HIDDEN_BIAS] = "penalized",
    intercept: Annotated[str, INTERCEPT] = "free",
    trained: Annotated[str, LANDSCAPE] = "vW",
    use: Annotated[list[str] | None, READ_USE] = None,
    drop: Annotated[list[str] | None, READ_DROP] = None,
    activation: Annotated[str | None, NEURONS] = None,
    output: Annotated[int | None, OUTPUT] = None,
    max_iter: Annotated[
        int, typer.Option(metavar="N", min=1, help="Most steps of polishing.")
    ] = 500,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Of starts elsewhere.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep both certificates and the polished network here."),
    ] = None,
    json: Annotated[bool, JSON] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Say what the network in MODEL is for the loss on DATA, and what polishing reaches.

    With --weight-decay it is the penalized objective of ReLU networks, for any convex --loss.
    A global minimum, near one (how far in loss), a saddle (which way down), a trap, or not trained
    far enough; with a certificate for the network as given and for the polished one. Exits with 0
    if the checker accepted one about the network as given.
    """
    from globalmin.cli import terminal
    from globalmin.cli.options import check_columns, check_model, check_output, check_trained

    layers = check_trained(trained)
    check_penalty(loss, hidden_bias, intercept)
    if weight_decay is None and loss != "squared":
        raise typer.BadParameter(
            f"--loss {loss} has a proved floor with weight decay only; give --weight-decay B too"
        )
    check_model(model)
    columns = check_columns(use, drop, None, None)
    if out is not None:
        check_output(out)
    from globalmin.examination.examine import examine as look

    if is_foreign(model):
        from globalmin.cli.brought import load_foreign

        read = {"activation": activation, "columns": columns}
        network, table = load_foreign(model, data, target, **read)
        rows = (table.X, table.y.ravel())
    else:
        from globalmin.cli.certify import load_stored, refuse_decay

        network, rows = load_stored(model, data, target, 0.0, 0, columns=columns)
        if weight_decay is None:
            refuse_decay(network, model, "; `globalmin examine` asks about it with --weight-decay")
        output = None
    options: dict[str, Any] = {"output": output, "seed": seed}
    if weight_decay is None:
        options |= {"trained": layers, "max_iter": max_iter}
    else:
        options |= {"loss": loss, "weight_decay": weight_decay}
        options |= {"hidden_bias": hidden_bias, "intercept": intercept}
    with terminal.working("examining", quiet=quiet or json):
        found = look(network, rows, **options)
    written = {} if out is None else found.save(out)
    code = terminal.ACCEPTED if found.proof.is_accepted else terminal.NOT_CERTIFIED
    files = {name: str(path) for name, path in written.items()}
    if json:
        record = {"command": "examine", "exit_code": code, **found.as_dict(), "files": files}
        terminal.print_json(record)
    else:
        copied = [(name, path, terminal.COPY) for name, path in files.items()]
        terminal.print_rows([*((label, text, "") for label, text in found.lines()), *copied])
    return code
