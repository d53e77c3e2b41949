"""Run one reproduction and write its files: what it is told (scale, seed, how to run trials), and
the bridge to the sweep engine, which keeps the trials of an output folder for the next time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeVar, get_args

from globalmin._options import EXECUTORS, ExecutorName, one_of
from globalmin.errors import DataError, GlobalMinError
from globalmin.reproductions.registry import Entry, Reproduction, entries, entry

Scale = Literal["thumbnail", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)

Value = TypeVar("Value")
Recipe = Callable[..., Mapping[str, Any]]
Point = Mapping[str, Any]
Trials = Callable[[Recipe, Sequence[Point]], list[dict[str, Any]]]


def in_this_process(recipe: Recipe, points: Sequence[Point]) -> list[dict[str, Any]]:
    """Run the trials one after the other, here, and keep nothing: for tests; `recipe.batch`, if
    there is one, takes them all.
    """
    batch = getattr(recipe, "batch", None)
    if batch is not None:
        return [dict(result) for result in batch([dict(point) for point in points])]
    return [dict(recipe(**point)) for point in points]


@dataclass(frozen=True)
class Setting:
    """Scale and seed of one reproduction, the function `trials(recipe, points)` that runs its
    trials, and the data file to use instead of what the package carries.
    """

    scale: Scale = "thumbnail"
    seed: int = 0
    trials: Trials = in_this_process
    data: Path | None = None

    def __post_init__(self) -> None:
        one_of("scale", self.scale, SCALES)

    def pick(self, *, thumbnail: Value, paper: Value) -> Value:
        """The value for this scale."""
        return thumbnail if self.scale == "thumbnail" else paper


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


def stored_trials(
    folder: Path, *, executor: ExecutorName = "local", workers: int | None = None
) -> Trials:
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


TRIALS = ".trials"


def reproduce(
    item: str,
    scale: Scale = "thumbnail",
    out: str | Path | None = None,
    executor: ExecutorName = "local",
    seed: int = 0,
    *,
    data: str | Path | None = None,
) -> Reproduction:
    """Make one figure or table of the papers again; print the result for the table *published |
    reference | ours | tolerance | verdict | note*.

    Parameters
    ----------
    item : str
        ID as in the spec pages, `OS-E.fig2a`; an unknown one raises `DataError` with close matches.
    scale : str
        "thumbnail" (seconds) or "paper" (the published sizes; minutes to hours).
    out : str | Path | None
        Folder for figures, table, data and the page `index.html`; its trials are kept, so that a
        second call goes on where an interrupted one ended. None: nothing is written.
    executor : str
        Where the trials run: "local" processes, "dask" or "ray".
    seed : int
        Of every random draw; the published numbers beside ours do not depend on it.
    data : str | Path | None
        Images in MNIST's own format (idx, packed by gzip or not), for the items that learn from
        digits; None: the digits of scikit-learn.
    """
    found = entry(item)
    check_options(scale, executor, seed)
    images = None if data is None else data_for(found, Path(data))
    folder = None if out is None else writable_folder(Path(out))
    with _trial_folder(folder) as store:
        result = found.run(Setting(scale, seed, stored_trials(store, executor=executor), images))
    if folder is not None:
        from globalmin.reproductions.saving import publish

        publish(found, result, folder)
    return result


def data_for(found: Entry, data: Path) -> Path:
    """The data file in full; `DataError` if there is none, or if the item cannot use one."""
    if not found.takes_data:
        able = ", ".join(one.item for one in entries().values() if one.takes_data)
        raise DataError(f"data {data}: {found.item} takes no data file, only {able} do")
    if not data.is_file():
        raise DataError(f"data {data} is no file; give MNIST's train-images-idx3-ubyte or its .gz")
    return data.resolve()


def check_options(scale: Scale, executor: ExecutorName, seed: int) -> None:
    """Refuse an unknown scale or executor and a negative seed, before anything is computed."""
    one_of("scale", scale, SCALES)
    one_of("executor", executor, EXECUTORS)
    if seed < 0:
        raise DataError(f"seed {seed} is negative; give an integer of at least 0")


def writable_folder(folder: Path) -> Path:
    """The folder, made if it is missing; `DataError` if it is a file or cannot be written, before
    anything is computed.
    """
    if folder.exists() and not folder.is_dir():
        raise DataError(f"out {folder} is a file; give a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder, prefix=".try-"):
            pass
    except OSError as error:
        raise DataError(
            f"out {folder} cannot be written ({error.strerror}); give a folder of your own"
        ) from error
    return folder


@contextmanager
def _trial_folder(folder: Path | None) -> Iterator[Path]:
    if folder is not None:
        yield folder / TRIALS
        return
    with TemporaryDirectory(prefix="globalmin-") as temporary:
        yield Path(temporary)
