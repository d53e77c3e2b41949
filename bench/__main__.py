"""`make bench`: us and what a user would pick instead, in turns in one run; ratios with their
spread into `bench/results.json`, tables and pictures into docs/benchmarks.md.

    python -m bench                      # everything, about half an hour
    python -m bench --quick              # five minutes: small sizes, fewer rounds
    python -m bench --only training,proofs
    python -m bench --page               # write the page anew from the stored results
    python -m bench --against bench/results.json --out out/bench.json   # exit 1 if we became slower

Results are written after every contest; `--only` replaces those it runs and keeps the others.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
os.environ.setdefault(
    "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

JOBS = ("training", "proofs", "convex", "relu", "estimators", "kernels", "sweeps")
ROUNDS, QUICK_ROUNDS = 5, 3
QUICK_ROWS = 1_000  # of the jobs whose growth is measured
STORED = Path("bench/results.json")
PAGE, FIGURES = Path("docs/benchmarks.md"), Path("docs/figures")


def parsed(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default=",".join((*JOBS, "growth")))
    parser.add_argument("--out", type=Path, default=None)
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--against", type=Path, default=None, help="stored results to compare with")
    return parser.parse_args(words)


def run(given: argparse.Namespace, path: Path) -> dict[str, Any]:
    """All contests asked for; the file is written after each."""
    from bench.contests import machine
    from bench.contests.contest import measured, record

    results: dict[str, Any] = {"contests": {}, "growth": {}}
    if path.exists():
        results |= json.loads(path.read_text(encoding="utf-8"))
    results["machine"] = machine.description()
    results["is_quick"] = given.quick
    peak = results["machine"]["gflops"] * 1e9
    for job in [job for job in JOBS if job in given.only.split(",")]:
        for contest in importlib.import_module(f"bench.contests.{job}").contests():
            if given.quick and not contest.is_quick:
                continue
            scores = measured(contest, QUICK_ROUNDS if given.quick else ROUNDS)
            results["contests"][contest.key] = record(contest, scores, peak)
            _say(contest.key, results["contests"][contest.key])
            _write(path, results)
    if "growth" in given.only.split(","):
        _grow(results, path, is_quick=given.quick)
    return results


def _grow(results: dict[str, Any], path: Path, *, is_quick: bool) -> None:
    from bench.contests import growth

    jobs = list(growth.ROWS)[: 3 if is_quick else None]
    for job in jobs:
        results["growth"][job] = growth.grown(job, QUICK_ROWS if is_quick else None)
        print(f"growth of {job}: {results['growth'][job]}", flush=True)
        _write(path, results)


def _say(key: str, contest: dict[str, Any]) -> None:
    print(f"\n{key}")
    for name, row in contest["contenders"].items():
        if "absent" in row:
            print(f"  {name:36s} {row['absent']}")
            continue
        spread = f"[{row['ratio_low']:.2g}, {row['ratio_high']:.2g}]"
        print(
            f"  {name:36s} {row['seconds']:9.3g} s   {row['ratio']:8.3g} x {spread:16s} "
            f"{row['quality']:.2g}",
            flush=True,
        )


def _write(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def write_page(results: dict[str, Any]) -> None:
    """Tables and pictures of docs/benchmarks.md."""
    from bench.contests import page

    blocks = {
        "machine": page.machine_line(results["machine"]),
        "contests": page.tables(results),
        "growth": page.growth_table(results["growth"]),
    }
    text = PAGE.read_text(encoding="utf-8")
    for name, block in blocks.items():
        text = page.filled(text, name, block)
    PAGE.write_text(text, encoding="utf-8")
    page.draw_ratios(results, FIGURES / "bench-ratios.svg")
    page.draw_growth(results["growth"], FIGURES / "bench-growth.svg")


def main(words: list[str]) -> int:
    """Run, write, compare."""
    given = parsed(words)
    path = given.out or (Path("out/bench-quick.json") if given.quick else STORED)
    if given.page:
        write_page(json.loads(path.read_text(encoding="utf-8")))
        return 0
    results = run(given, path)
    if path == STORED:
        write_page(results)
    if given.against is None:
        return 0
    from bench.contests.regressions import regressions

    worse = regressions(json.loads(given.against.read_text(encoding="utf-8")), results)
    print("\n".join(worse) or "no ratio became worse by more than 15 %", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
