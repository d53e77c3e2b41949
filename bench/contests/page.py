"""The benchmark page: tables and pictures from the file of results, and nothing typed by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from bench.contests.growth import exponent

BEGIN, END = "<!-- bench: begin {} -->", "<!-- bench: end {} -->"


def filled(text: str, name: str, block: str) -> str:
    """The page with one block between its two marks written anew."""
    begin, end = BEGIN.format(name), END.format(name)
    head, rest = text.split(begin)
    _, tail = rest.split(end)
    return f"{head}{begin}\n{block.strip()}\n{end}{tail}"


def machine_line(machine: dict[str, Any]) -> str:
    """One sentence about what was measured on."""
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"Measured on {machine['date']} at commit {machine['commit']}: {machine['cores']} "
        f"cores, one thread, load {machine['load_at_start']} at the start, "
        f"{machine['gflops']} GFLOP/s in float64 matrix products, Python "
        f"{machine['python']}; {packages}."
    )


def tables(results: dict[str, Any]) -> str:
    """A table for each job, a row for each contender, a column for each size."""
    jobs: dict[str, list[dict[str, Any]]] = {}
    for contest in results["contests"].values():
        jobs.setdefault(contest["job"], []).append(contest)
    return "\n\n".join(_table(job, contests) for job, contests in jobs.items())


def _table(job: str, contests: list[dict[str, Any]]) -> str:
    names = list(dict.fromkeys(name for contest in contests for name in contest["contenders"]))
    clock = "wall seconds" if contests[0]["clock"] == "wall" else "CPU seconds"
    unit = contests[0]["quality"]
    head = (
        f"### {job.capitalize()}\n\n{clock} and, in brackets, {unit}; then the ratio over the "
        "first row, with its least and largest value in the rounds.\n"
    )
    lines = [
        head,
        "| | " + " | ".join(contest["size"] for contest in contests) + " |",
        "|---" * (len(contests) + 1) + "|",
    ]
    lines += [
        f"| {name} | "
        + " | ".join(_cell(contest["contenders"].get(name)) for contest in contests)
        + " |"
        for name in names
    ]
    return "\n".join(lines)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if "absent" in row:
        return row["absent"]
    share = f", {row['share_of_peak']:.0%} of peak" if "share_of_peak" in row else ""
    text = f"{row['seconds']:.3g} s ({row['quality']:.2g}{share})"
    if row["ratio"] == row["ratio_low"] == row["ratio_high"] == 1.0:
        return text
    spread = (
        f" [{row['ratio_low']:.2g}, {row['ratio_high']:.2g}]" if row["runs"] > 1 else " (one run)"
    )
    return f"{text}; **{row['ratio']:.3g}**{spread}"


def growth_table(growth: dict[str, list[dict[str, float]]]) -> str:
    """Seconds and memory at each size, exponents of the last doubling."""
    lines = ["| job | rows: CPU s, GiB | exponent in time | in memory |", "|---|---|---|---|"]
    for job, points in growth.items():
        cells = "; ".join(
            f"{point['rows']:,}: {point['seconds']:.2g} s, {point['gib']:.2g}" for point in points
        )
        powers = [exponent(points, unit) for unit in ("seconds", "gib")]
        shown = ["too small" if math.isnan(power) else f"{power:.1f}" for power in powers]
        lines.append(f"| {job} | {cells} | {' | '.join(shown)} |")
    return "\n".join(lines)


def draw_ratios(results: dict[str, Any], path: Path) -> None:
    """Every contender of every contest: its time over ours, on one logarithmic axis."""
    contests = list(results["contests"].items())
    figure, axis = plt.subplots(figsize=(9, 0.42 * len(contests) + 1.2), layout="constrained")
    colors: dict[str, Any] = {}
    for height, (_, contest) in enumerate(contests):
        for name, row in list(contest["contenders"].items())[1:]:
            if "ratio" not in row:
                continue
            color = colors.setdefault(name, f"C{len(colors) % 10}")
            marker = "osD^v"[(list(colors).index(name) // 10) % 5]
            is_first = not any(line.get_label() == name for line in axis.get_lines())
            axis.plot(row["ratio"], height, marker, color=color, label=name if is_first else None)
            axis.hlines(height, row["ratio_low"], row["ratio_high"], color=color, lw=2, alpha=0.5)
    axis.axvline(1.0, color="0.4", lw=1)
    axis.set_xscale("log")
    axis.set_yticks(range(len(contests)), [key for key, _ in contests], fontsize=8)
    axis.invert_yaxis()
    axis.set_xlabel("time over ours (right of the line: slower than us)")
    axis.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_growth(growth: dict[str, list[dict[str, float]]], path: Path) -> None:
    """CPU seconds and memory against rows, both axes logarithmic."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, unit, label in zip(axes, ("seconds", "gib"), ("CPU seconds", "GiB"), strict=True):
        for job, points in growth.items():
            rows = [point["rows"] for point in points]
            axis.plot(rows, [max(point[unit], 1e-3) for point in points], "o-", ms=4, label=job)
        axis.set(xscale="log", yscale="log", xlabel="rows", ylabel=label)
    axes[0].legend(fontsize=7, frameon=False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
