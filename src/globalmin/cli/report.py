"""`globalmin report`: draw the page of an output folder again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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

    DIR may be the folder of a fit of several targets, with a folder for each. Exits like fit: 0
    only if the checker accepts every certificate.
    """
    from globalmin.cli import terminal
    from globalmin.cli.terminal import print_json
    from globalmin.estimators.saved import models_below

    folders = parts_of(models_below(directory)) or [directory]
    outcomes = [_drawn(folder) for folder in folders]
    code = terminal.worst(code for code, _, _ in outcomes)
    if json:
        found = [facts for _, facts, _ in outcomes]
        shown = found[0] if len(found) == 1 else {"out": str(directory), "targets": found}
        print_json({"command": "report", "exit_code": code, **shown})
        return code
    for _, facts, verdicts in outcomes:
        typer.echo(f"{facts['report']}: {', '.join(verdicts)}")
    return code


def parts_of(folders: list[Path]) -> list[Path]:
    """These folders if they are those of one fit of several targets; else none, so that a folder
    that happens to hold several fits is not taken for one.
    """
    from globalmin.report.regularized_page import read_facts

    facts = [read_facts(folder) for folder in folders]
    names = {None if found is None else found["data"].get("name") for found in facts}
    return folders if len(names) == 1 and None not in names else []


def _drawn(directory: Path) -> tuple[int, dict[str, Any], list[str]]:
    """Draw the page of one folder: exit code, what JSON says of it, and the verdicts."""
    from globalmin.cli import terminal
    from globalmin.cli.summary import proof_json
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
        return code, {"report": str(path), "verdicts": verdicts}, verdicts
    page, proofs = render_folder(directory)
    path = save_atomically(directory / FILENAME, page.encode("utf-8"))
    code = terminal.worst(terminal.code_of_proof(proof) for proof in proofs)
    told = {"report": str(path), "targets": [proof_json(proof) for proof in proofs]}
    return code, told, [proof.verdict for proof in proofs]
