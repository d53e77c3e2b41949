"""`globalmin selftest`: the reliability figures at a small size, on what is installed here."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from globalmin.cli.arguments import JSON, QUIET

if TYPE_CHECKING:
    from globalmin.selftest.probes import Probe, Scene


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    id: str
    what: str
    reached: str
    asked: str
    seconds: float
    verdict: str


def selftest(
    figures: Annotated[
        list[str] | None, typer.Argument(metavar="[FIGURE]...", help="R1, R10, ...; all if none.")
    ] = None,
    *,
    report: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Write the table as Markdown.")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Of the files made here.")] = 0,
    quiet: Annotated[bool, QUIET] = False,
    json: Annotated[bool, JSON] = False,
) -> int:
    """Make certificates, check them, spoil and forge them, kill a sweep; print what came of it.

    About a minute. Exits with 0 if every figure is reached, with 1 if one is not. The figures in
    full, from the source tree: make campaign.
    """
    import tempfile

    from globalmin.cli import terminal
    from globalmin.cli.doctor import environment
    from globalmin.selftest.probes import Scene

    chosen = _chosen(figures)
    with tempfile.TemporaryDirectory(prefix="globalmin-selftest-") as folder:
        with terminal.working("making files", quiet=quiet or json):
            scene = Scene.at(Path(folder), seed)
        lines = []
        for id, probe in chosen.items():
            with terminal.working(probe.what, quiet=quiet or json):
                lines.append(measured(id, probe, scene))
    code = (
        terminal.ACCEPTED
        if all(line.verdict == "reached" for line in lines)
        else terminal.NOT_CERTIFIED
    )
    if report is not None:
        report.write_text(_page(lines, environment()), encoding="utf-8")
    if json:
        table = [asdict(line) for line in lines]
        terminal.print_json({"command": "selftest", "exit_code": code, "figures": table})
        return code
    rows = [(line.id, _words(line), "" if line.verdict == "reached" else "red") for line in lines]
    terminal.print_rows([*rows, ("", "", ""), ("all", _total(lines), "bold")])
    return code


def _chosen(figures: list[str] | None) -> dict[str, Probe]:
    from globalmin.selftest.probes import PROBES

    for id in figures or ():
        if id not in PROBES:
            raise typer.BadParameter(
                f"{id!r} is not measured here; there are {', '.join(PROBES)}, and the others by "
                "`make campaign` in the source tree"
            )
    return {id: PROBES[id] for id in figures or PROBES}


def measured(id: str, probe: Probe, scene: Scene) -> Line:
    """Run a probe; an exception is what was reached."""
    started = time.monotonic()
    try:
        found = probe.measure(scene)
        words, verdict = found.words, "reached" if found.passed else "short"
    except Exception as error:
        words, verdict = f"{type(error).__name__}: {error}", "failed"
    seconds = round(time.monotonic() - started, 2)
    return Line(id, probe.what, words, probe.asked, seconds, verdict)


def _words(line: Line) -> str:
    return (
        f"{line.verdict}: {line.what}: {line.reached} (asked: {line.asked}; {line.seconds:.1f} s)"
    )


def _total(lines: list[Line]) -> str:
    reached = sum(line.verdict == "reached" for line in lines)
    return f"{reached} of {len(lines)} figures reached"


def _page(lines: list[Line], facts: dict[str, object]) -> str:
    """The table as Markdown, with the day and the packages."""
    head = ["id", "what", "reached", "asked", "seconds", "verdict"]
    rows = [[str(value) for value in asdict(line).values()] for line in lines]
    table = ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]
    packages = ", ".join(f"{name} {value}" for name, value in facts.items())
    day = time.strftime("%Y-%m-%d")
    return "\n".join(["# Self-test", "", f"{day}. {packages}.", "", *table, "", _total(lines), ""])
