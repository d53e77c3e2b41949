"""`globalmin report`: draw the page of an output folder again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.arguments import JSON


def report(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Output folder of globalmin fit.", exists=True, file_okay=False
        ),
    ],
    json: Annotated[bool, JSON] = False,
) -> int:
    """Write DIR/report.html anew, after checking its certificates again.

    Exits like fit: 0 only if the checker accepts every certificate.
    """
    from globalmin.cli import terminal
    from globalmin.cli.summary import proof_json
    from globalmin.cli.terminal import print_json
    from globalmin.files import save_atomically
    from globalmin.report import regularized_page, stream_page
    from globalmin.report.page import FILENAME, render_folder

    for pages in (regularized_page, stream_page):
        if (facts := pages.read_facts(directory)) is None:
            continue
        page, verdicts = pages.render(facts, directory)
        path = save_atomically(directory / FILENAME, page.encode("utf-8"))
        is_accepted = all(verdict == "ACCEPTED" for verdict in verdicts)
        code = terminal.ACCEPTED if is_accepted else terminal.NOT_CERTIFIED
        if json:
            print_json(
                {
                    "command": "report",
                    "exit_code": code,
                    "report": str(path),
                    "verdicts": verdicts,
                }
            )
        else:
            typer.echo(f"{path}: {', '.join(verdicts)}")
        return code
    page, proofs = render_folder(directory)
    path = save_atomically(directory / FILENAME, page.encode("utf-8"))
    code = terminal.worst(terminal.code_of_proof(proof) for proof in proofs)
    if json:
        print_json(
            {
                "command": "report",
                "exit_code": code,
                "report": str(path),
                "targets": [proof_json(proof) for proof in proofs],
            }
        )
    else:
        typer.echo(f"{path}: {', '.join(proof.verdict for proof in proofs)}")
    return code
