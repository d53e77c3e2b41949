"""The bridge to the sweep engine: a list of points through one recipe, results in their order, kept
in a folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from globalmin.errors import GlobalMinError
from globalmin.reproductions.setting import Point, Recipe, Trials

EXECUTORS = ("local", "dask", "ray")
# columns of the sweep's table that are no results
BOOKKEEPING = "trial", "seed", "status", "error"


class TrialFailed(GlobalMinError, RuntimeError):
    """A trial of a reproduction raised; the message carries its parameters and the last line of its
    traceback.
    """


@cache
def sources_digest() -> str:
    """Digest of all sources of globalmin: trials computed by other code are not used again."""
    import globalmin

    root = Path(globalmin.__file__).parent
    total = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def stored_trials(folder: Path, *, executor: str = "local", workers: int | None = None) -> Trials:
    """Function `trials(recipe, points)` that runs through the sweep engine and keeps one ledger a
    recipe in `folder`.
    """

    def run(recipe: Recipe, points: Sequence[Point]) -> list[dict[str, Any]]:
        place = (
            folder / sources_digest() / f"{recipe.__module__.rpartition('.')[2]}-{recipe.__name__}"
        )
        keys = [repr(sorted(point.items())) for point in points]
        different = dict(zip(keys, points, strict=True))
        found: dict[int, dict[str, Any]] = {}
        for seeds, cells in _plans(list(different.values())):
            found |= _sweep(recipe, seeds, cells, place, executor=executor, workers=workers)
        results = {key: found[i] for i, key in enumerate(different)}
        return [dict(results[key]) for key in keys]

    return run


def _plans(points: Sequence[Point]) -> list[tuple[list[int], list[dict[int, Point]]]]:
    """Seeds with parameter sets such that every point is one of the products; one plan if the
    points are a full product.

    A parameter set is a dict from the place among the points, one for each seed, to the parameters.
    """
    by_seed: dict[int, dict[str, tuple[int, Point]]] = {}
    for place, point in enumerate(points):
        rest = {name: value for name, value in point.items() if name != "seed"}
        by_seed.setdefault(int(point["seed"]), {})[repr(sorted(rest.items()))] = (place, rest)
    families: dict[tuple[str, ...], list[int]] = {}
    for seed, cells in by_seed.items():
        families.setdefault(tuple(cells), []).append(seed)
    return [
        (seeds, [{by_seed[seed][key][0]: by_seed[seed][key][1] for seed in seeds} for key in keys])
        for keys, seeds in families.items()
    ]


def _sweep(
    recipe: Recipe, seeds: list[int], cells: list[dict[int, Point]], place: Path, **options: Any
) -> dict[int, dict[str, Any]]:
    from globalmin import sweep

    parameters = [dict(next(iter(cell.values()))) for cell in cells]
    ended = sweep.run(sweep.Plan(recipe, trials=parameters, seeds=seeds), place, **options)
    if (
        ended.failed and not ended.computed
    ):  # failures of an earlier call: a full disk or a kill may have passed
        sweep.resume(place, retry_failed=True, **options)
    rows = sweep.rows(place, arrays=True)
    failed = [row for row in rows if row["status"] != "done"]
    if failed:
        lines = str(failed[0]["error"]).strip().splitlines()
        raise TrialFailed(
            f"{len(failed)} of {len(rows)} trials of {recipe.__name__} failed; the first, "
            f"{_named(failed[0], parameters[0])}: {lines[-1] if lines else 'no traceback'}"
        )
    places = [i for cell in cells for i in cell]
    names = {*BOOKKEEPING, *parameters[0]}
    return {
        i: {name: row[name] for name in row if name not in names}
        for i, row in zip(places, rows, strict=True)
    }


def _named(row: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in (*parameters, "seed"))
