"""`globalmin theorem` and `globalmin cite`: one item of the catalogue in plain words and what it
says of a table; the work behind it and the code that states it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from globalmin.cli.arguments import CATEGORY, DATA, DROP, JSON, TARGET, USE
from globalmin.cli.inspect import (
    ACTIVATION,
    DELTA,
    DEPTH,
    FAILURE,
    NETWORK,
    SCHEME,
    TEST_SIZE,
    THETA,
    WIDTH,
    check_shares,
    check_start,
    load_both,
)
from globalmin.cli.options import check_columns, refuse_columns


def theorem(
    item: Annotated[str, typer.Argument(metavar="ITEM", help="ID of an item such as OS-T2.1.")],
    data: Annotated[Path | None, DATA] = None,
    *,
    target: Annotated[str | None, TARGET] = None,
    network: Annotated[Path | None, NETWORK] = None,
    activation: Annotated[str | None, ACTIVATION] = None,
    width: Annotated[str, WIDTH] = "auto",
    scheme: Annotated[str | None, SCHEME] = None,
    bias: Annotated[
        bool, typer.Option("--bias/--no-bias", help="Append a constant column 1.")
    ] = True,
    scaling: Annotated[
        str, typer.Option(metavar="S", help="standardize, rows (norm 1) or none.")
    ] = "standardize",
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of that start.")] = 0,
    test_size: Annotated[float, TEST_SIZE] = 0.0,
    delta: Annotated[float, DELTA] = 1.0,
    theta: Annotated[float, THETA] = 0.5,
    failure: Annotated[float, FAILURE] = 0.1,
    depth: Annotated[int, DEPTH] = 3,
    use: Annotated[list[str] | None, USE] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    category: Annotated[list[str] | None, CATEGORY] = None,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Say a theorem in plain words, what we corrected, and with DATA what it says of these rows.

    Nothing is trained and nothing is proved; the numbers are floating-point estimates. Exits with 0
    whatever the theorem says.
    """
    from globalmin.errors import DataError
    from globalmin.theorems.sources import entry

    try:
        known = entry(item)
    except DataError as refusal:
        raise typer.BadParameter(str(refusal)) from refusal
    neurons, law, scale = check_start(activation, width, scheme, scaling)
    check_shares(delta=delta, theta=theta, failure=failure)
    columns = check_columns(use, drop, category, None)
    if data is None:
        refuse_columns(columns, "choose columns of DATA; give it, with its --target")
    if (data is None) != (target is None):
        raise typer.BadParameter("DATA and --target go together: give both, or neither")
    from globalmin.cli.terminal import print_found
    from globalmin.theorems import theorem as ask

    table, given = (
        (None, None)
        if data is None
        else load_both(
            data,
            target,
            network,
            bias=bias,
            scaling=scale,
            test_size=test_size,
            seed=seed,
            columns=columns,
        )
    )
    found = ask(
        known.item, table, width=neurons, activation=activation,
        network=given, scheme=law, seed=seed,
        delta=delta, theta=theta, failure=failure, depth=depth,
    )  # fmt: skip
    print_found("theorem", found, as_json=json)
    return 0


def cite(
    item: Annotated[
        str,
        typer.Argument(
            metavar="ITEM", help="ID of an item such as SJL-T2.1, or key of a work such as SJL."
        ),
    ],
    json: Annotated[bool, JSON] = False,
) -> int:
    """Name the work an item belongs to and the functions that state it."""
    from globalmin.cli import terminal
    from globalmin.cli.terminal import print_json, print_rows
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
            "exit_code": terminal.ACCEPTED,
            "item": name,
            "work": work.key,
            "title": work.title,
        }
        print_json({"command": "cite", "exit_code": 0, **content, "code": code})
        return terminal.ACCEPTED
    rows = [("work", f"{work.key}: {work.title}", "bold")]
    nothing = "nothing to compute: see globalmin theorem"
    rows += [(listed, ", ".join(places) or nothing, "") for listed, places in code.items()]
    print_rows(rows)
    return terminal.ACCEPTED


def _unknown(item: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(item.upper(), names, n=3, cutoff=0.5)
    hint = f"; did you mean {', '.join(near)}?" if near else "; the IDs are in docs/theorems.md"
    return f"{item!r} is not in the catalogue{hint}"
