"""One page of every kind that globalmin writes, made as a user makes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from globalmin.cli import main


def _table(folder: Path, n: int) -> Path:
    rng = np.random.default_rng(7)
    names = ["a", "b", "c", "d", "price"]
    rows = [[repr(float(x)) for x in rng.standard_normal(len(names))] for _ in range(n)]
    path = folder / "table.csv"
    path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n", encoding="utf-8")
    return path


def _fit(folder: Path, n: int, *options: object) -> Path:
    out = folder / "out"
    arguments = ["fit", _table(folder, n), "-t", "price", "--out", out, "--quiet", *options]
    assert main([str(part) for part in arguments]) == 0
    return out / "report.html"


def _people(folder: Path, *options: object) -> Path:
    """A fit of a table with text, dates, gaps, and names in other scripts."""
    rng = np.random.default_rng(3)
    lines = ["年齢,class,boarded,größe,price"]
    for i in range(60):
        age = "" if i % 9 == 0 else int(rng.integers(1, 80))
        cells = [age, ["first", "二等", "third"][i % 3], f"1912-04-{1 + i % 28:02}"]
        cells += [repr(float(x)) for x in rng.standard_normal(2)]
        lines.append(",".join(map(str, cells)))
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = folder / "out"
    arguments = ["fit", path, "-t", "price", "--out", out, "--quiet", *options]
    assert main([str(part) for part in arguments]) == 0
    return out / "report.html"


def _classes(folder: Path) -> Path:
    """Three classes, a network, a file and a picture for each."""
    rng = np.random.default_rng(5)
    points = rng.standard_normal((60, 2))
    lines = ["width,length,kind"]
    lines += [f"{x!r},{y!r},{'abc'[int(x > 0) + int(y > 0)]}" for x, y in points.tolist()]
    path = folder / "kinds.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = folder / "out"
    arguments = ["fit", path, "-t", "kind", "--model", "additive", "--weight-decay", 2]
    assert main([str(part) for part in [*arguments, "--out", out, "--quiet"]]) == 0
    return out / "report.html"


def _sweep(folder: Path) -> Path:
    from tests.sweep import recipes

    from globalmin import sweep
    from globalmin.report.sweep_page import save_page

    grid = {"scale": [1.0, 3.0], "a": [0, 1, 2], "b": [1, 5, 7]}
    plan = sweep.Plan(recipes.product, grid=grid, seeds=3, name="plane")
    sweep.run(plan, folder / "out", workers=1)
    return save_page(folder / "out", folder / "page.html", column="loss")


def _inspection(folder: Path) -> Path:
    page = folder / "page.html"
    arguments = ["inspect", _table(folder, 20), "-t", "price", "--page", page, "--json"]
    assert main([str(part) for part in arguments]) == 0
    return page


def _reproduction(folder: Path) -> Path:
    arguments = ["reproduce", "DU-F5.2", "--scale", "thumbnail", "--out", folder / "out"]
    assert main([str(part) for part in arguments]) == 0
    return next((folder / "out").rglob("*.html"))


def _explorer(folder: Path) -> Path:
    page = folder / "page.html"
    arguments = ["explore", _table(folder, 20), "-t", "price", "--out", page]
    assert main([str(part) for part in arguments]) == 0
    return page


MADE: dict[str, Callable[[Path], Path]] = {
    "fit": lambda folder: _fit(folder, 24, "--interpolate"),
    "fit of two targets": lambda folder: _fit(folder, 24, "-t", "d", "--interpolate"),
    "relu": lambda folder: _fit(folder, 16, "--activation", "relu"),
    "quadratic": lambda folder: _fit(folder, 24, "--activation", "quadratic", "--test-size", 0),
    "deep": lambda folder: _fit(folder, 14, "--depth", 2, "--width", 16, "--activation", "tanh"),
    "additive": lambda folder: _fit(folder, 60, "--model", "additive", "--weight-decay", 2),
    "stream": lambda folder: _fit(folder, 60, "--stream", "--weight-decay", 2),
    "additive stream": lambda folder: _fit(
        folder, 60, "--stream", "--model", "additive", "--weight-decay", 2
    ),
    "pairs": lambda folder: _fit(
        folder,
        40,
        "--model",
        "additive",
        "--weight-decay",
        6,
        "--interactions",
        "pairs",
        "--bins",
        4,
    ),
    "shapes": lambda folder: _fit(
        folder,
        60,
        "--model",
        "additive",
        "--weight-decay",
        1,
        "--shape",
        "a:increasing",
        "--shape",
        "b:convex",
    ),
    "relu with weight decay": lambda folder: _fit(
        folder, 30, "--model", "relu", "--weight-decay", 9, "--use", "a,b"
    ),
    "chosen": lambda folder: _fit(folder, 60, "--use", "a,b,c"),
    "three classes": _classes,
    "table as it is": lambda folder: _people(folder, "--interpolate"),
    "squares": lambda folder: _people(folder, "--model", "quadratic", "--weight-decay", 2),
    "sweep": _sweep,
    "inspection": _inspection,
    "reproduction": _reproduction,
    "explorer": _explorer,
}
"""The kinds by name: each makes its page in a folder and returns the path."""
