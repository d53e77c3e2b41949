"""`globalmin attest`: an in-toto statement that binds certificate, model and table by their
digests.
"""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.arguments import JSON, certificate_of, model_of

FILE = typer.Argument(
    metavar="FILE",
    help="A certificate, .gmc, or the folder of a fit.",
    exists=True,
    callback=certificate_of,
)
MODEL = typer.Option(
    metavar="MODEL",
    help="The network file that was certified, or the folder of the fit.",
    exists=True,
    callback=model_of,
)
DATA = typer.Option(
    metavar="DATA", help="The table it was trained on.", exists=True, dir_okay=False
)


def attest(
    file: Annotated[Path, FILE],
    *,
    model: Annotated[Path | None, MODEL] = None,
    data: Annotated[Path | None, DATA] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="COL", help="Label column of DATA.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it.", show_default="standard output"),
    ] = None,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Check FILE and write an in-toto statement about it, to be signed by a tool of yours.

    Binds the digests of the files: the model must hold the very weights of the certificate, and
    the table its rows. Exits with 1 if the certificate is not accepted.
    """
    from globalmin.cli.options import check_file
    from globalmin.cli.terminal import print_json, say
    from globalmin.files import save_atomically
    from globalmin.interop.attestation import attest as attested

    path = None if out is None else check_file("--out", out)
    statement = attested(file, model=model, data=data, target=target)
    if data is not None and statement["predicate"]["data"]["rows_compared"] is None:
        beside = "its rows were not" if model is None else "the certificate has no rows to be"
        say(
            f"globalmin: note: {data.name} is named by its digest alone; {beside} compared with "
            f"those of the certificate{'; give --model too' if model is None else ''}"
        )
    if path is not None:
        save_atomically(path, (dumps(statement, indent=1) + "\n").encode())
        say(f"globalmin: wrote {path}")
    if path is None or json:
        print_json(statement)  # the statement itself is the object
    return 0
