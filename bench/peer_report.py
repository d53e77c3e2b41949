"""Tables and pictures from the cells of `bench.regularized_peers`."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from bench import peer_objectives, peer_scores
from bench.peer_models import METHODS, OURS
from bench.peer_scores import N_SPLITS
from scipy.stats import t as student

Cells = dict[str, dict[str, Any]]
PEERS = ("torch L-BFGS", "torch Adam", "pyscnn", "pyscnn with our patterns")


def _grouped(
    cells: Cells, size: int, tables: list[str]
) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Cells by the first parts of their names: tables in their order, then by the other parts."""
    found: dict[tuple[str, ...], list[dict[str, Any]]] = defaultdict(list)
    places = {table: place for place, table in enumerate(tables)}

    def place(numbers: dict[str, Any]) -> tuple[int, list[str]]:
        return places.get(numbers["parts"][0], len(places)), numbers["parts"]

    for numbers in sorted(cells.values(), key=place):
        found[tuple(numbers["parts"][:size])].append(numbers)
    return found


def measured(cells: Cells, versions: dict[str, str]) -> str:
    """One line: when, at which commit, with what."""
    tools = ", ".join(f"{name} {number}" for name, number in versions.items())
    return f"Measured {_when(cells.values())}; {tools}.\n"


def _when(cells: Iterable[dict[str, Any]]) -> str:
    """Dates and commits."""
    known = [numbers for numbers in cells if "date" in numbers and "commit" in numbers]
    dates = sorted({numbers["date"] for numbers in known})
    commits = dict.fromkeys(numbers["commit"] for numbers in known)
    return f"{', '.join(dates)} at {', '.join(commits)}"


def filled(page: str, name: str, block: str) -> str:
    """The page with what stands between the marks of this name written anew."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"the page has no marks {begin} and {end}; put them where the table goes")
    before, rest = page.split(begin, 1)
    return f"{before}{begin}\n\n{block.strip()}\n\n{end}{rest.split(end, 1)[1]}"


def with_tables(page: str, block: str) -> str:
    """The page with these score tables; tables of the page that are not among them stay."""
    begin, end = "<!-- scores -->", "<!-- end of scores -->"
    old = page.partition(begin)[2].partition(end)[0]
    found = {**_sections(old), **_sections(block)}
    order = [*(name for name in peer_scores.TABLES if name in found)]
    order += [name for name in found if name not in order]
    return filled(page, "scores", "\n\n".join(f"### {name}\n\n{found[name]}" for name in order))


def _sections(block: str) -> dict[str, str]:
    """What stands under each heading of the third order."""
    parts = [part.partition("\n") for part in f"\n{block}".split("\n### ")[1:]]
    return {name.strip(): text.strip() for name, _, text in parts}


def objective_table(cells: Cells) -> str:
    """One row per table, class and decay: ours with its proved gap, and objectives of the peers
    over ours, the best to the worst of the seeds, with CPU seconds of one run.
    """
    by = _grouped(cells, 4, list(peer_objectives.TABLES))
    head = ["table", "class", "b/b_max", "ours", "proved gap", "CPU s (with proof)", *PEERS]
    rows = [head, ["---"] * len(head)]
    for key in dict.fromkeys(parts[:3] for parts in by):
        mine = by.get((*key, "ours"), [{"error": "missing"}])[0]
        if "error" in mine:
            rows.append([*key, mine["error"], *[""] * (len(head) - 4)])
            continue
        peers = [_ratios(by.get((*key, peer), []), mine["objective"]) for peer in PEERS]
        seconds = f"{mine['seconds']:.1f} ({mine['proved_seconds']:.1f})"
        gap = f"{mine['relative_gap']:.1e}"
        rows.append([*key, f"{mine['objective']:.6g}", gap, seconds, *peers])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _ratios(runs: list[dict[str, Any]], ours: float) -> str:
    good = [run for run in runs if "error" not in run]
    if not good:
        return runs[0]["error"] if runs else "-"
    ratios = sorted(run["objective"] / ours for run in good)
    text = f"{ratios[0]:.5f}"
    if len(ratios) > 1:
        text += f" to {ratios[-1]:.5f}"
    return f"{text} ({_seconds(good, 1)} s)"


def _seconds(runs: list[dict[str, Any]], digits: int) -> str:
    """The mean CPU seconds of those that were timed; "?" if none was."""
    found = [run["seconds"] for run in runs if run.get("is_timed", True) and "error" not in run]
    return f"{np.mean(found):.{digits}f}" if found else "?"


def corrected_error(differences: np.ndarray) -> float:
    """Standard error of a mean over repeated folds by the corrected resampled t: the variance times
    1/J + n_test/n_train, because the training sets of the J folds overlap (Nadeau, Bengio 2003).
    """
    count = len(differences)
    if count < 2:
        return math.inf
    return float(np.sqrt((1.0 / count + 1.0 / (N_SPLITS - 1)) * differences.var(ddof=1)))


def _by_fold(runs: list[dict[str, Any]], name: str) -> dict[str, float]:
    return {run["parts"][2]: run[name] for run in runs if name in run}


def difference(mine: dict[str, float], theirs: dict[str, float]) -> tuple[float, float, int] | None:
    """Mean of mine - theirs over the folds of both, its corrected standard error, and how many."""
    shared = sorted(set(mine) & set(theirs))
    if not shared:
        return None
    values = np.array([mine[fold] - theirs[fold] for fold in shared])
    return float(values.mean()), corrected_error(values), len(shared)


def score_tables(cells: Cells) -> str:
    """One table per data set, and beneath it the paired difference of the best of ours to the best
    peer.
    """
    by = _grouped(cells, 2, list(peer_scores.TABLES))
    parts = []
    for table in dict.fromkeys(key[0] for key in by):
        runs = {method: by[table, method] for method in METHODS if (table, method) in by}
        source = f"Measured {_when(numbers for found in runs.values() for numbers in found)}."
        parts.append(f"### {table}\n\n{_score_rows(runs)}\n{verdict(runs)}\n{source}\n")
    return "\n".join(parts)


def comparable(runs: dict[str, list[dict[str, Any]]]) -> dict[str, float]:
    """Mean scores of the methods that were measured on the most folds: a mean over a fold or two
    is that of other rows.
    """
    scores = {method: _by_fold(found, "score") for method, found in runs.items()}
    most = max((len(found) for found in scores.values()), default=0)
    return {
        method: float(np.mean(list(found.values())))
        for method, found in scores.items()
        if found and len(found) == most
    }


def _score_rows(runs: dict[str, list[dict[str, Any]]]) -> str:
    means = comparable(runs)
    best = max(means.values(), default=-math.inf)
    has_loss = any("log_loss" in run for found in runs.values() for run in found)
    head = ["method", "score", *(["log loss"] if has_loss else []), "CPU s a fit", "folds"]
    rows = [head, ["---"] * len(head)]
    for method, found in runs.items():
        name = f"ours: {method}" if method in OURS else method
        scores = np.array(list(_by_fold(found, "score").values()))
        if not len(scores):
            rows.append([name, found[0]["error"], *[""] * (len(head) - 2)])
            continue
        text = f"{scores.mean():.3f}" + (f" ± {scores.std():.3f}" if len(scores) > 1 else "")
        row = [name, f"**{text}**" if means.get(method) == best else text]
        if has_loss:
            row.append(f"{np.mean(list(_by_fold(found, 'log_loss').values())):.3f}")
        failed = sum("error" in run for run in found)
        count = f"{len(scores)}" + (f", {failed} failed" if failed else "")
        rows.append([*row, _seconds(found, 2), count])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def verdict(runs: dict[str, list[dict[str, Any]]]) -> str:
    """The best of ours minus the best peer, of those on the most folds."""
    scores = {method: _by_fold(found, "score") for method, found in runs.items()}
    means = comparable(runs)
    mine = max((m for m in means if m in OURS), key=lambda m: means[m], default=None)
    peer = max((m for m in means if m not in OURS), key=lambda m: means[m], default=None)
    if mine is None or peer is None:
        return ""
    found = difference(scores[mine], scores[peer])
    if found is None:
        return ""
    mean, error, count = found
    if count == 1:
        return f"\nBest of ours ({mine}) minus best peer ({peer}): {mean:+.4f} on one fold.\n"
    word = "no difference at 5 %"
    if abs(mean) > float(student.ppf(0.975, count - 1)) * error:
        word = "we are ahead" if mean > 0 else "we are behind"
    return (
        f"\nBest of ours ({mine}) minus best peer ({peer}): {mean:+.4f} ± {error:.4f} over {count} "
        f"folds: {word}.\n"
    )


def draw_objective(cells: Cells, path: Path) -> None:
    """Objectives over ours, and the proved floor under us, a row per problem."""
    from matplotlib.figure import Figure

    by = _grouped(cells, 4, list(peer_objectives.TABLES))
    keys = [
        key
        for key in dict.fromkeys(parts[:3] for parts in by)
        if "objective" in by.get((*key, "ours"), [{}])[0]
    ]
    figure = Figure(figsize=(8.0, 1.0 + 0.3 * len(keys)), layout="constrained")
    ax = figure.subplots()
    marks = dict(zip(PEERS, ("o", "s", "^", "v"), strict=True))
    for place, key in enumerate(keys):
        mine = by[*key, "ours"][0]
        floor = max(100.0 * (mine["lower_bound"] / mine["objective"] - 1.0), -100.0)
        ax.barh(place, -floor, left=floor, color="0.85", height=0.7)
        for peer, mark in marks.items():
            runs = [run for run in by.get((*key, peer), []) if "objective" in run]
            values = [100.0 * (run["objective"] / mine["objective"] - 1.0) for run in runs]
            color = f"C{PEERS.index(peer)}"
            ax.plot(values, [place] * len(values), mark, color=color, ms=5, alpha=0.7)
    for peer, mark in marks.items():
        ax.plot([], [], mark, color=f"C{PEERS.index(peer)}", label=peer)
    ax.barh([0], [0], color="0.85", label="what anybody could still gain (proved)")
    ax.axvline(0.0, color="k", lw=1, label="ours")
    ax.set_xscale("symlog", linthresh=1e-3)
    ticks = (-10, -1, -0.1, -0.01, 0, 0.01, 0.1, 1, 10)
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=7)
    ax.set_yticks(range(len(keys)), [f"{t}, {c}, {s}" for t, c, s in keys])
    ax.invert_yaxis()
    ax.set_xlabel("objective relative to ours, per cent")
    ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _save(figure, path)


def draw_scores(cells: Cells, path: Path) -> None:
    """Held-out scores, a panel per table: a dot per method with one standard deviation."""
    from matplotlib.figure import Figure

    by = _grouped(cells, 2, list(peer_scores.TABLES))
    tables = list(dict.fromkeys(key[0] for key in by))
    across = min(4, max(len(tables), 1))
    down = -(-len(tables) // across) or 1
    figure = Figure(figsize=(2.9 * across, 2.7 * down), layout="constrained")
    axes = np.ravel(figure.subplots(down, across, squeeze=False, sharey=True))
    for ax, table in zip(axes, tables, strict=False):
        for place, method in enumerate(METHODS):
            scores = list(_by_fold(by.get((table, method), []), "score").values())
            if scores:
                color = "C0" if method in OURS else "C7"
                mean, spread = float(np.mean(scores)), float(np.std(scores))
                ax.errorbar(mean, place, xerr=spread, fmt="o", color=color, capsize=2)
        ax.set_title(table, fontsize=9)
        ax.set_yticks(range(len(METHODS)), list(METHODS), fontsize=8)
        ax.tick_params(axis="x", labelsize=7)
        ax.grid(axis="x", alpha=0.3)
    axes[0].invert_yaxis()
    for ax in axes[len(tables) :]:
        ax.set_visible(False)
    _save(figure, path)


def _save(figure: Any, path: Path) -> None:
    import matplotlib as mpl

    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "peers"}):
        figure.savefig(path, metadata={"Date": None})
