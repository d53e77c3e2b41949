"""`globalmin cite`: the work behind an item of the catalogue, and the code that states it."""

from __future__ import annotations

from typing import Annotated

import typer


def cite(
    item: Annotated[
        str,
        typer.Argument(
            metavar="ITEM", help="ID of an item such as SJL-T2.1, or key of a work such as SJL."
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> int:
    """Name the work an item belongs to and the functions that state it."""
    from globalmin.cli import exits
    from globalmin.cli.console import print_json, print_rows
    from globalmin.references import catalogue, works
    from globalmin.theorems.sources import code_of_items

    known = {name.lower(): name for name in (*works(), *catalogue())}
    name = known.get(item.lower())
    if name is None:
        raise typer.BadParameter(_unknown(item, list(known.values())))
    work = works()[name.partition("-")[0]]
    items = [name] if name != work.key else list(work.items)
    code = {listed: code_of_items().get(listed, []) for listed in items}
    if json:
        content = {
            "command": "cite",
            "exit_code": exits.ACCEPTED,
            "item": name,
            "work": work.key,
            "title": work.title,
        }
        print_json({**content, "code": code})
        return exits.ACCEPTED
    rows = [("work", f"{work.key}: {work.title}", "bold")]
    nothing = "nothing to compute: see globalmin theorem"
    rows += [(listed, ", ".join(places) or nothing, "") for listed, places in code.items()]
    print_rows(rows)
    return exits.ACCEPTED


def _unknown(item: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(item.upper(), names, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(near)}?" if near else "; the IDs are in docs/theorems.md"
    return f"{item!r} is not in the catalogue{hint}"
