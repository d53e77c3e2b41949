"""`globalmin classify`: what kind of point of the landscape the stored weights are, and a proof of
it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.arguments import DATA, JSON, LANDSCAPE, PREDICTED, QUIET, READ_DROP, READ_USE
from globalmin.cli.brought import MODEL, NEURONS, OUTPUT


def classify(
    model: Annotated[Path, MODEL],
    data: Annotated[Path, DATA],
    *,
    target: Annotated[str, PREDICTED],
    trained: Annotated[str, LANDSCAPE] = "W",
    test_size: Annotated[
        float,
        typer.Option(
            metavar="F",
            min=0.0,
            max=0.95,
            help="Leave out the rows that fit held out with this fraction.",
        ),
    ] = 0.0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of that split.")] = 0,
    use: Annotated[list[str] | None, READ_USE] = None,
    drop: Annotated[list[str] | None, READ_DROP] = None,
    activation: Annotated[str | None, NEURONS] = None,
    output: Annotated[int | None, OUTPUT] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the certificate here.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the point, .svg or .png.")
    ] = None,
    json: Annotated[bool, JSON] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Say what kind of point the weights in MODEL are for the loss on the rows of DATA.

    A global minimum, a strict saddle (with a direction of escape and its curvature), second-order
    stationary, not stationary, or not decided: a curvature so slight that the gradient left may
    have caused it. Classified in floating point, then proved where a claim exists for the kind;
    exits with 0 if the proof is accepted, and for weights that are not stationary, with 1 if there
    is no proof.
    """
    from globalmin.cli.options import (
        check_columns,
        check_file,
        check_model,
        check_picture,
        check_trained,
    )

    layers = check_trained(trained)
    for option, path in (("--out", out), ("--picture", picture)):
        if path is not None:
            check_file(option, path)
    check_picture(picture)
    from globalmin.cli.certify import load_stored, refuse_decay
    from globalmin.cli.classifying import classify_and_prove, print_point

    columns = check_columns(use, drop, None, None)
    brought = {"activation": activation, "output": output, "columns": columns}
    network, part = load_stored(check_model(model), data, target, test_size, seed, **brought)
    refuse_decay(network, model)
    found = classify_and_prove(network, part, trained=layers, out=out, quiet=quiet or json)
    if picture is not None:
        from globalmin.cli.classifying import write_picture

        write_picture(picture, network, part, found)
    print_point(found, out=out, picture=picture, as_json=json)
    return found.exit_code
