"""Networks with weight decay beside their peers, in one run: the same objective minimized by torch
and pyscnn, and held-out scores beside EBM, pyGAM and scikit-learn.

    python -m bench.regularized_peers objective [tables]
    python -m bench.regularized_peers scores [tables] [--methods a,b] [--budget 300]
    python -m bench.regularized_peers report        # tables, a JSON of everything, pictures
    python -m bench.regularized_peers report --page docs/peers.md --pictures docs/figures

`make bench-peers` does all three in an environment of its own. Every measurement is a file in
`--folder`; Ctrl-C loses the one under way, and the same command goes on. `--budget` is the CPU
seconds that one method gets on one table: no further fold begins after them; `--limit` those of one
fit. `--seconds` ends a run early, between two measurements.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from bench import peer_objectives, peer_report, peer_scores
from bench.peer_cells import Store, run_cells, versions
from bench.peer_models import METHODS


def parsed(words: list[str]) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bench.regularized_peers")
    parser.add_argument("part", choices=("objective", "scores", "report"))
    parser.add_argument("tables", nargs="*", help="all by default")
    parser.add_argument("--folder", type=Path, default=Path("out/peers"))
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--budget", type=float, default=math.inf)
    parser.add_argument("--limit", type=float, default=peer_scores.LIMIT)
    parser.add_argument("--folds", type=int, default=25, help="the first so many of 5 x 5")
    parser.add_argument("--untimed", action="store_true", help="the machine is busy otherwise")
    parser.add_argument("--pictures", type=Path, default=None)
    parser.add_argument("--page", type=Path, default=None, help="whose tables are written anew")
    return parser.parse_args(words)


def main(words: list[str]) -> int:
    """One part; returns the number of measurements that are still missing."""
    given = parsed(words)
    if given.part == "report":
        report(given)
        return 0
    store = Store(given.folder / given.part)
    if given.part == "objective":
        cells = peer_objectives.cells(store, given.tables or list(peer_objectives.TABLES))
        missing = run_cells(cells, store, seconds=given.seconds, is_timed=not given.untimed)
    else:
        tables = given.tables or list(peer_scores.TABLES)
        cells = peer_scores.cells(tables, given.methods.split(","), given.limit, given.folds)
        skip = peer_scores.over_budget(store, given.budget)
        missing = run_cells(
            cells, store, seconds=given.seconds, skip=skip, is_timed=not given.untimed
        )
    print(f"{given.part}: {missing} measurements missing", flush=True)
    return missing


def report(given: argparse.Namespace) -> None:
    """Print the tables; write everything as one JSON file, and the pictures. A page keeps what this
    folder has no measurements of.
    """
    objective = Store(given.folder / "objective").all()
    scores = Store(given.folder / "scores").all()
    blocks = {
        "measured": peer_report.measured({**objective, **scores}, versions()),
        "objective": peer_report.objective_table(objective),
    }
    tables = peer_report.score_tables(scores)
    for block in (*blocks.values(), tables):
        print(block)
    if given.page is not None:
        text = given.page.read_text(encoding="utf-8")
        for name, block in blocks.items() if objective else ():
            text = peer_report.filled(text, name, block)
        given.page.write_text(peer_report.with_tables(text, tables), encoding="utf-8")
    whole = {"versions": versions(), "objective": objective, "scores": scores}
    given.folder.mkdir(parents=True, exist_ok=True)
    path = given.folder / "peers.json"
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    pictures = given.pictures or given.folder
    if objective:
        peer_report.draw_objective(objective, pictures / "peers-objective.svg")
    peer_report.draw_scores(scores, pictures / "peers-scores.svg")


if __name__ == "__main__":
    try:
        sys.exit(1 if main(sys.argv[1:]) else 0)
    except KeyboardInterrupt:
        sys.exit("interrupted; the same command goes on from here")
