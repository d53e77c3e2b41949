"""`python -m scripts.mutants`: record what tests reach, run a seeded sample, write the table.

python -m scripts.mutants record                 # once; minutes
python -m scripts.mutants record tests/x.py      # what changed since
python -m scripts.mutants run --per-module 12    # two children at a time; resumes
python -m scripts.mutants run --again            # the survivors once more
python -m scripts.mutants table                  # docs/mutation.md
"""

from __future__ import annotations

import argparse
import json
import random
import tomllib
from collections import defaultdict
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


def run(per_module: int, jobs: int, only: str, again: bool) -> None:
    """Judge the sample; verdicts already in the folder are kept, but `again` looks once more at
    survivors that have no excuse.
    """
    log, excused = FOLDER / "verdicts.jsonl", _excused()
    known = _verdicts().items()
    done = {key for key, e in known if e["outcome"] == DIED or key in excused or not again}
    chosen = [m for m in sample(per_module) if m.key not in done and only in m.module]
    chosen.sort(key=lambda m: m.key in excused)  # the others first
    total, seen = len(chosen), 0
    with log.open("a", encoding="utf-8") as file:

        def keep(verdict: Verdict) -> None:
            nonlocal seen
            seen += 1
            entry = {"key": verdict.mutant.key, "outcome": verdict.outcome}
            entry |= {"killer": verdict.killer, "n_tests": verdict.n_tests}
            file.write(json.dumps(entry) + "\n")
            file.flush()
            if verdict.outcome != DIED:
                print(f"{seen}/{total} {verdict.outcome}: {verdict.mutant.key}", flush=True)

        judge(ROOT, load(FOLDER), chosen, jobs, keep)
    print(f"{total} mutants judged")


def _excused() -> dict[str, str]:
    """Mutants that no input can tell from the module, with the reason."""
    return {e["mutant"]: e["reason"] for e in settings().get("equivalent", [])}  # type: ignore


def _verdicts() -> dict[str, dict[str, object]]:
    """The last verdict on every mutant."""
    log = FOLDER / "verdicts.jsonl"
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def table(per_module: int) -> str:
    """The scores of the sample by module and the survivors with their reasons, as a page."""
    excused = _excused()
    outcomes = {key: str(entry["outcome"]) for key, entry in _verdicts().items()}
    rooms: dict[str, list[str]] = defaultdict(list)
    for mutant in sample(per_module):
        rooms[mutant.module].append(mutant.key)
    rows, killed, judged, idle = [], 0, 0, 0
    for module in sorted(rooms):
        met = [key for key in rooms[module] if key in outcomes]
        dead = sum(outcomes[key] == DIED for key in met)
        equal = sum(outcomes[key] != DIED and key in excused for key in met)
        real = len(met) - equal
        killed, judged, idle = killed + dead, judged + real, idle + len(rooms[module]) - len(met)
        share = f"{100 * dead / real:.0f} %" if real else "–"
        rows.append(f"| `{module}` | {real} | {dead} | {equal} | {share} |")
    lines = [
        f"{killed} of {judged} mutants killed ({100 * killed / max(judged, 1):.1f} %; "
        f"the gate asks {100 * GATE:.0f} %); at most {per_module} of each module were drawn"
        + (f", {idle} of these not run yet." if idle else "."),
        "",
        "| module | mutants | killed | equivalent | score |",
        "|---|---|---|---|---|",
        *rows,
        "",
        "## Survivors",
        "",
        "| mutant | reason |",
        "|---|---|",
    ]
    for key in (k for module in sorted(rooms) for k in rooms[module]):
        if outcomes.get(key, DIED) != DIED:
            reason = excused.get(key, outcomes[key] if outcomes[key] == UNREACHED else "not caught")
            lines.append(f"| `{key.replace('|', '&#124;')}` | {reason} |")
    return "\n".join(lines) + "\n"


PAGE = ROOT / "docs" / "mutation.md"
WORDS = """# Formulas pinned

A test must be able to fail. `make mutants` changes one constant, sign, exponent, operator or
comparison of a module at a time (a seeded sample of all such places in the modules of SJL, GKZ,
OS, FCL and DU), runs the tests that reach the changed line, and counts the changes that no test
notices.
Messages of errors, docstrings and annotations are left alone. Only tests of the rooms themselves
may kill (`scripts/mutants/gate.toml`), not the long campaigns or the docs, so a score is a lower
bound of what `make test` catches. Changes that cannot be told apart by any input are listed as
equivalent, with the reason.

"""


def main() -> None:
    """Parse the command line and do one of the three jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", choices=("record", "run", "table"))
    parser.add_argument("tests", nargs="*", help="record: these anew, the others as they were")
    parser.add_argument("--per-module", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="run: modules whose name contains this")
    parser.add_argument("--again", action="store_true", help="run: judge survivors once more")
    options = parser.parse_intermixed_args()
    if options.job == "record":
        tests = [str(t) for t in settings()["tests"]]  # type: ignore[attr-defined]
        record(ROOT, FOLDER, options.tests or tests, options.jobs, bool(options.tests))
    elif options.job == "run":
        run(options.per_module, options.jobs, options.only, options.again)
    else:
        page = table(options.per_module)
        PAGE.write_text(WORDS + page, encoding="utf-8")
        print(page.splitlines()[0])


if __name__ == "__main__":
    main()
