"""The table of the campaign and docs/reliability.md, written from what is kept."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from scripts.campaign.figures import ATTACKS, FOLDER, ROOT, Figure, Measured, figures, number
from scripts.campaign.stored import STORED, measured

ASKED = 200_000  # hostile files in all
PAGE = ROOT / "docs" / "reliability.md"
COLUMNS = ("id", "what", "reached", "asked", "command", "CPU s", "measured", "verdict")
WORDS = """# Reliability, in figures

How often was it attacked, killed, filled up and fed nonsense, and what came of it? Every line is
measured by tests of the suite (`make test` runs most of them at a smaller size), in full by
`make campaign`, one by `python -m scripts.campaign run R1`. This page is written by
`python -m scripts.campaign publish` from what those runs left in `out/campaign/`, and from what was
published before (`reliability.json`, beside this page) where they left nothing; *measured* gives
dates and commits, and says where the sources that a figure judges have changed since. A line that
falls short says so: two cores that others used too did not get further that day.

Whoever has installed the two packages can try them where they are: `globalmin selftest` makes
files of several claims, spoils them, kills a sweep, and prints a table like this one in a minute.
"""

HOSTILE = """A test fails, and its files are not counted, if one false file is accepted or if the
two checkers contradict each other: the false acceptances among the files below are 0. Where
*accepted* is given, those files were called true by the oracle or by the construction, or
(byte mutants sealed again) accepted by both checkers."""


def row(figure: Figure, found: Measured) -> str:
    """One line of the table."""
    verdict = found.verdict(figure)
    if verdict != "reached" and not found.failed and figure.why:
        verdict += f" ({figure.why})"
    cells = (
        f"`{figure.id}`",
        figure.what,
        found.words(figure),
        figure.asked,
        f"`{figure.command}`",
        number(round(found.cpu)),
        "; ".join(found.stamps),
        verdict,
    )
    return "| " + " | ".join(cells) + " |"


def table(chosen: list[Figure], folder: Path = FOLDER, path: Path = STORED) -> str:
    """The figures as a Markdown table."""
    rows = [row(figure, Measured.of(measured(figure, folder, path))) for figure in chosen]
    head = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    return "\n".join([*head, *rows])


def hostile_files(folder: Path = FOLDER, path: Path = STORED) -> str:
    """The files of every attack and their sum."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for id in ATTACKS:
        for one in measured(figures()[id], folder, path):
            if one["outcome"] == "passed":
                name = one["test"].split("::")[0].removeprefix("tests/mutation/test_")
                for place, column in enumerate(("files", "accepted", "false")):
                    counts[name.removesuffix(".py")][place] += int(one["numbers"].get(column, 0))
    lines = ["| attack | files | accepted | false by the oracle |", "|---|---:|---:|---:|"]
    for name, (files, accepted, false) in sorted(counts.items()):
        lines.append(
            f"| `{name}` | {files:,} | {accepted or '–':{',' if accepted else ''}} | "
            f"{false or '–':{',' if false else ''}} |"
        )
    files = sum(entry[0] for entry in counts.values())
    return "\n".join([*lines, f"| all (asked: {ASKED:,}) | {files:,} | | |"])


def page(folder: Path = FOLDER, path: Path = STORED) -> str:
    """docs/reliability.md."""
    notes = [f"- `{figure.id}`: {figure.note}." for figure in figures().values() if figure.note]
    return "\n".join(
        [
            WORDS,
            table(list(figures().values()), folder, path),
            "",
            *notes,
            "",
            "## Hostile files",
            "",
            HOSTILE,
            "",
            hostile_files(folder, path),
            "",
        ]
    )
