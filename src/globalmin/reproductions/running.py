"""Run one reproduction, through the sweep engine, and write its files; an output folder keeps its
trials for the next time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from globalmin.errors import DataError
from globalmin.reproductions.registry import entry
from globalmin.reproductions.result import Reproduction
from globalmin.reproductions.setting import SCALES, Setting
from globalmin.reproductions.trials import EXECUTORS, stored_trials

TRIALS = ".trials"


def reproduce(
    item: str,
    scale: str = "thumbnail",
    out: str | Path | None = None,
    executor: str = "local",
    seed: int = 0,
) -> Reproduction:
    """Make one figure or table of the papers again; print the result for the table *published |
    ours | difference | note*.

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
    """
    found = entry(item)
    check_options(scale, executor, seed)
    folder = None if out is None else writable_folder(Path(out))
    with _trial_folder(folder) as store:
        result = found.run(Setting(scale, seed, stored_trials(store, executor=executor)))
    if folder is not None:
        from globalmin.reproductions.saving import publish

        publish(found, result, folder)
    return result


def check_options(scale: str, executor: str, seed: int) -> None:
    """Refuse an unknown scale or executor and a negative seed, before anything is computed."""
    if scale not in SCALES:
        raise DataError(f"scale {scale!r} is unknown; choose {' or '.join(SCALES)}")
    if executor not in EXECUTORS:
        raise DataError(f"executor {executor!r} is unknown; choose {', '.join(EXECUTORS)}")
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
