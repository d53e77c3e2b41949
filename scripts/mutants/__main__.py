"""`python -m scripts.mutants`: record what tests reach, run a seeded sample, write the table.

python -m scripts.mutants record                 # once; minutes
python -m scripts.mutants record tests/x.py      # what changed since
python -m scripts.mutants run --per-module 12    # two children at a time; resumes
python -m scripts.mutants run --again            # the survivors once more
python -m scripts.mutants run --seed 7 --only deep,octopus   # another sample, of some modules
python -m scripts.mutants table                  # a section of docs/mutation.md
python -m scripts.mutants record --gate checker  # any of these for the checker's own source
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.mutants.gate import DIED, UNREACHED, Bench, Verdict, judge
from scripts.mutants.reach import load, record
from scripts.mutants.sites import Mutant, mutants

ROOT = Path(__file__).resolve().parents[2]
SEED = 20261116
GATE = 0.95


@dataclass(frozen=True)
class Gate:
    """What is changed and which tests may kill: a file beside this one, and the folder where its
    verdicts are kept.
    """

    name: str = "formulas"

    @property
    def folder(self) -> Path:
        """Where the record and the verdicts are."""
        return ROOT / "out" / "mutants" / self.name

    def settings(self) -> dict[str, Any]:
        """Package, modules, tests and excused survivors."""
        return tomllib.loads(
            (Path(__file__).parent / f"{self.name}.toml").read_text(encoding="utf-8")
        )

    def excused(self) -> dict[str, str]:
        """Mutants that no input can tell from the module, with the reason."""
        return {e["mutant"]: e["reason"] for e in self.settings().get("equivalent", [])}

    def outcomes(self, first: bool = False) -> dict[str, str]:
        """The last outcome for every mutant, or the first one."""
        log = self.folder / "verdicts.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        entries = [json.loads(line) for line in (reversed(lines) if first else lines)]
        return {entry["key"]: entry["outcome"] for entry in entries}


@dataclass(frozen=True)
class Draw:
    """Which mutants: how many of each module at most, by which seed, and of which modules (those
    whose name contains one of the words; all if there is none).
    """

    per_module: int
    seed: int = SEED
    only: tuple[str, ...] = ()
    gate: Gate = Gate()


def sample(draw: Draw) -> list[Mutant]:
    """The same mutants for the same sources: a seeded choice of each module's sites."""
    chosen = []
    for pattern in draw.gate.settings()["modules"]:
        for file in sorted((ROOT / "src").glob(pattern)):
            module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
            if draw.only and not any(word in module for word in draw.only):
                continue
            found = mutants(file.read_text(encoding="utf-8"), module)
            random.Random(f"{draw.seed} {module}").shuffle(found)  # noqa: S311 - no secret
            chosen += sorted(found[: draw.per_module], key=lambda m: m.line)
    return chosen


def run(draw: Draw, jobs: int, again: bool, seconds: float = math.inf) -> None:
    """Judge the sample; verdicts already in the folder are kept, but `again` looks once more at
    survivors that have no excuse. When the seconds are over, no new mutant is begun.
    """
    gate = draw.gate
    log, excused, known = gate.folder / "verdicts.jsonl", gate.excused(), gate.outcomes().items()
    done = {key for key, outcome in known if outcome == DIED or key in excused or not again}
    chosen = [m for m in sample(draw) if m.key not in done]
    chosen.sort(key=lambda m: m.key in excused)  # the others first
    total, seen = len(chosen), 0
    end = time.monotonic() + seconds
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

        judge(Bench(ROOT, load(gate.folder), jobs, end), chosen, keep)
    print(f"{seen} of {total} mutants judged")


def table(draw: Draw) -> str:
    """The scores of a sample by package and by module and its survivors with their reasons."""
    gate = draw.gate
    excused, last, first = gate.excused(), gate.outcomes(), gate.outcomes(first=True)
    chosen = sample(draw)
    by_module, by_package = defaultdict(list), defaultdict(list)
    for mutant in chosen:
        by_module[mutant.module].append(mutant.key)
        by_package[mutant.module.split(".")[-2 if gate.name == "checker" else 1]].append(mutant.key)
    whole = Score.of([m.key for m in chosen], last, first, excused)
    share = 100 * whole.killed / max(whole.mutants, 1)
    lines = [
        f"{whole.killed} of {whole.mutants} mutants killed ({share:.1f} %; the gate asks "
        f"{100 * GATE:.0f} %), {whole.at_first} of them before any test was written against this "
        f"sample; {whole.equivalent} more are equivalent; seed {draw.seed}, at most "
        f"{draw.per_module} of each module" + (f"; {whole.idle} not run." if whole.idle else "."),
    ]
    for name, groups in (("package", by_package), ("module", by_module)):
        lines += ["", f"| {name} | mutants | killed | at first | equivalent | not run | score |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for group in sorted(groups):
            lines.append(Score.of(groups[group], last, first, excused).row(group))
    survivors = [key for key in (m.key for m in chosen) if last.get(key, DIED) != DIED]
    lines += ["", "| survivor | reason |", "|---|---|"] if survivors else []
    for key in survivors:
        reason = excused.get(key, last[key] if last[key] == UNREACHED else "not caught")
        lines.append(f"| `{key.replace('|', '&#124;')}` | {reason} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Score:
    """What became of some mutants; `at_first` counts those that died when they were first met."""

    mutants: int
    killed: int
    at_first: int
    equivalent: int
    idle: int

    @classmethod
    def of(
        cls, keys: list[str], last: dict[str, str], first: dict[str, str], excused: dict[str, str]
    ) -> Score:
        """Counts over the mutants of these keys."""
        met = [key for key in keys if key in last]
        equal = sum(last[key] != DIED and key in excused for key in met)
        dead, at_first = (sum(of[key] == DIED for key in met) for of in (last, first))
        return cls(len(met) - equal, dead, at_first, equal, len(keys) - len(met))

    def row(self, name: str) -> str:
        """A line of the table."""
        share = f"{100 * self.killed / self.mutants:.0f} %" if self.mutants else "–"
        numbers = (self.mutants, self.killed, self.at_first, self.equivalent, self.idle)
        return f"| `{name}` | " + " | ".join(map(str, numbers)) + f" | {share} |"


PAGE = ROOT / "docs" / "mutation.md"


def with_section(page: str, title: str, text: str) -> str:
    """The page with the section of that title replaced, or added at its end."""
    head, *sections = page.rstrip("\n").split("\n## ")
    section = f"{title}\n\n{text.rstrip()}"
    titles = [part.splitlines()[0] for part in sections]
    if title in titles:
        sections[titles.index(title)] = section
    else:
        sections.append(section)
    return "\n\n## ".join(part.strip("\n") for part in (head, *sections)) + "\n"


def main() -> None:
    """Parse the command line and do one of the three jobs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("job", choices=("record", "run", "table"))
    parser.add_argument("tests", nargs="*", help="record: these anew, the others as they were")
    parser.add_argument("--per-module", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--only", default="", help="modules whose name contains one of a,b,...")
    parser.add_argument("--title", default="The whole gate", help="table: section of the page")
    parser.add_argument("--again", action="store_true", help="run: judge survivors once more")
    parser.add_argument("--seconds", type=float, default=math.inf, help="run: begin no more then")
    parser.add_argument("--gate", choices=("formulas", "checker"), default="formulas")
    options = parser.parse_intermixed_args()
    gate = Gate(options.gate)
    if options.job == "record":
        found = gate.settings()
        tests = options.tests or found["tests"]
        anew = bool(options.tests)
        record(ROOT, gate.folder, found["package"], tests, jobs=options.jobs, keeps_others=anew)
        return
    only = tuple(filter(None, options.only.split(",")))
    draw = Draw(options.per_module, options.seed, only, gate)
    if options.job == "run":
        run(draw, options.jobs, options.again, options.seconds)
    else:
        text = table(draw)
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_section(page, options.title, text), encoding="utf-8")
        print(text.splitlines()[0])


if __name__ == "__main__":
    main()
