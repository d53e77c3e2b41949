"""`python -m scripts.mutants`: record what tests reach, run a seeded sample, write the table.

python -m scripts.mutants record                 # once; minutes
python -m scripts.mutants run --per-module 12    # two children at a time; resumes
python -m scripts.mutants table                  # docs/mutation.md
"""

from __future__ import annotations

import argparse
import json
import random
import tomllib
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

from scripts.mutants.gate import DIED, UNREACHED, Verdict, judge
from scripts.mutants.reach import load, record
from scripts.mutants.sites import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "out" / "mutants"
SEED = 20261116
GATE = 0.95


def settings() -> dict[str, object]:
    """Modules, tests and excused survivors, from scripts/mutants/gate.toml."""
    return tomllib.loads((Path(__file__).parent / "gate.toml").read_text(encoding="utf-8"))


def sample(per_module: int) -> list[Mutant]:
    """The same mutants for the same sources: a seeded choice of each module's sites."""
    chosen = []
    for pattern in settings()["modules"]:  # type: ignore[attr-defined]
        for file in sorted((ROOT / "src").glob(pattern)):
            module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
            found = mutants(file.read_text(encoding="utf-8"), module)
            random.Random(f"{SEED} {module}").shuffle(found)  # noqa: S311 - a draw of mutants
            chosen += sorted(found[:per_module], key=lambda m: m.line)
    return chosen


def run(per_module: int, jobs: int, only: str) -> None:
    """Judge the sample; verdicts already in the folder are kept."""
    log = FOLDER / "verdicts.jsonl"
    done = {entry["key"] for entry in _read(log)}
    chosen = [m for m in sample(per_module) if m.key not in done and only in m.module]
    total, seen = len(chosen), 0
    with log.open("a", encoding="utf-8") as file:

        def keep(verdict: Verdict) -> None:
            nonlocal seen
            seen += 1
            entry = {"key": verdict.mutant.key, "outcome": verdict.outcome}
            entry |= {"n_tests": verdict.n_tests, **asdict(verdict.mutant)}
            file.write(json.dumps(entry) + "\n")
            file.flush()
            if verdict.outcome != DIED:
                print(f"{seen}/{total} {verdict.outcome}: {verdict.mutant.key}", flush=True)

        judge(ROOT, load(FOLDER), chosen, jobs, keep)
    print(f"{total} mutants judged")


def _read(log: Path) -> list[dict[str, object]]:
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return [json.loads(line) for line in lines]


def table() -> str:
    """The scores by module and the survivors with their reasons, as a page."""
    excused = {e["mutant"]: e["reason"] for e in settings().get("equivalent", [])}  # type: ignore
    rooms: dict[str, list[dict[str, object]]] = defaultdict(list)
    looked_at = {mutant.module for mutant in sample(1)}
    for entry in _read(FOLDER / "verdicts.jsonl"):
        if entry["module"] in looked_at:
            rooms[str(entry["module"])].append(entry)
    rows, survivors, killed, judged = [], [], 0, 0
    for module in sorted(rooms):
        real = [e for e in rooms[module] if e["key"] not in excused or e["outcome"] == DIED]
        dead = sum(e["outcome"] == DIED for e in real)
        killed, judged = killed + dead, judged + len(real)
        n_equal = len(rooms[module]) - len(real)
        share = f"{100 * dead / len(real):.0f} %" if real else "–"
        rows.append(f"| `{module}` | {len(real)} | {dead} | {n_equal} | {share} |")
        survivors += [e for e in rooms[module] if e["outcome"] != DIED]
    idle = ", ".join(f"`{module}`" for module in sorted(looked_at - set(rooms)))
    lines = [
        f"{killed} of {judged} mutants killed ({100 * killed / max(judged, 1):.1f} %; "
        f"the gate asks {100 * GATE:.0f} %).",
        "",
        *([f"Not run yet: {idle}.", ""] if idle else []),
        "| module | mutants | killed | equivalent | score |",
        "|---|---|---|---|---|",
        *rows,
        "",
        "## Survivors",
        "",
        "| mutant | reason |",
        "|---|---|",
    ]
    for e in survivors:
        reason = excused.get(str(e["key"]), "") or (
            "no test reaches it" if e["outcome"] == UNREACHED else "not caught"
        )
        lines.append(f"| `{str(e['key']).replace('|', '&#124;')}` | {reason} |")
    return "\n".join(lines) + "\n"


PAGE = ROOT / "docs" / "mutation.md"
WORDS = """# Formulas pinned

A test must be able to fail. `make mutants` changes one constant, sign, exponent, operator or
comparison of a module at a time (a seeded sample of all such places in the modules of SJL, GKZ, OS
and FCL), runs the tests that reach the changed line, and counts the changes that no test notices.
Messages of errors, docstrings and annotations are left alone. Only tests of the rooms themselves
may kill (`scripts/mutants/gate.toml`), not the long campaigns or the docs, so a score is a lower
bound of what `make test` catches. Changes that cannot be told apart by any input are listed as
equivalent, with the reason.

"""


def main() -> None:
    """Parse the command line and do one of the three jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", choices=("record", "run", "table"))
    parser.add_argument("--per-module", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="modules whose name contains this")
    options = parser.parse_args()
    if options.job == "record":
        tests = [str(t) for t in settings()["tests"]]  # type: ignore[attr-defined]
        record(ROOT, FOLDER, tests, options.jobs)
    elif options.job == "run":
        run(options.per_module, options.jobs, options.only)
    else:
        PAGE.write_text(WORDS + table(), encoding="utf-8")
        print(table().splitlines()[0])


if __name__ == "__main__":
    main()
