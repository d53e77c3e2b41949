"""Tables from files: csv, npz (never pickle) and parquet; every refusal names the file, the place
and the remedy.

The zip directory is examined before anything is decompressed, and every array's header is compared
with the size of its member before the array is allocated, so neither an archive bomb nor a header
that claims 10^11 numbers costs memory.
"""

from __future__ import annotations

import io
import stat
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalmin._types import Array
from globalmin.data.validation import as_matrix, as_targets
from globalmin.errors import DataError

MAX_RATIO = 100
MAX_MEMBERS = 1000
_MAX_HEADER = 10_000
_BROKEN = (
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    MemoryError,
    KeyError,
    SyntaxError,
    TypeError,
)


def read_npz(path: Path, choice: Choice, max_bytes: int) -> Table:
    """Read the arrays X and y (or the named ones) of an npz archive; see `load_table`."""
    for argument, names in (("target", choice.target), ("features", choice.features)):
        if names is not None and len(names) > 1:
            raise DataError(
                f"{path}: {argument}={list(names)} names several arrays; in an npz file name one, "
                "with a column per variable"
            )
    wanted = {"X": (choice.features or ("X",))[0], "y": (choice.target or ("y",))[0]}
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive, max_bytes)
            arrays = {
                role: _read_member(path, archive, _find(path, members, name))
                for role, name in wanted.items()
            }
    except DataError:
        raise
    except _BROKEN as error:
        raise DataError(
            f"{path}: not a readable npz archive ({type(error).__name__}: {error!s:.100}); write "
            "it again with numpy.savez"
        ) from error
    X = as_matrix(_flat_images(arrays["X"]), f"{path}: array {wanted['X']!r}")
    y = as_targets(arrays["y"], X.shape[0], f"{path}: array {wanted['y']!r}")
    return Table(X, y, None, (wanted["y"],) if y.shape[1] == 1 else None)


def _flat_images(X: NDArray[Any]) -> NDArray[Any]:
    """Images n x height x width as rows, pixel by pixel; anything else as it is."""
    return X.reshape(len(X), -1) if X.ndim == 3 and X.size else X


def _members(path: Path, archive: zipfile.ZipFile, max_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Array name -> directory entry, after the whole directory has passed the guard."""
    entries = archive.infolist()
    if len(entries) > MAX_MEMBERS:
        raise DataError(
            f"{path}: the archive has {len(entries)} members, more than {MAX_MEMBERS}; keep only "
            "the arrays needed"
        )
    members: dict[str, zipfile.ZipInfo] = {}
    for entry in entries:
        name = entry.filename.removesuffix(".npy")
        if (
            name in ("", entry.filename)
            or not name.isprintable()
            or any(mark in name for mark in ("/", "\\", "..", ":"))
        ):
            raise DataError(
                f"{path}: the archive has a member {entry.filename!r:.100}, which is not a plain "
                "array name; write it with numpy.savez"
            )
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DataError(
                f"{path}: member {entry.filename!r} is compressed by an unknown method; write it "
                "with numpy.savez"
            )
        if name in members:
            raise DataError(
                f"{path}: the archive has two members named {name!r}; write it again with "
                "numpy.savez"
            )
        members[name] = entry
    _refuse_bomb(path, entries, max_bytes)
    return members


def _refuse_bomb(path: Path, entries: list[zipfile.ZipInfo], max_bytes: int) -> None:
    total = sum(entry.file_size for entry in entries)
    if total > max_bytes:
        raise DataError(
            f"{path}: the archive expands to {total} bytes, more than the limit of {max_bytes}; "
            "raise max_bytes if it fits in memory"
        )
    # the directory may understate compressed sizes or let members overlap, so the size of the file
    # itself counts too
    compressed = min(path.stat().st_size, sum(entry.compress_size for entry in entries))
    worst = max(
        [
            total / max(compressed, 1),
            *(entry.file_size / max(entry.compress_size, 1) for entry in entries),
        ]
    )
    if worst > MAX_RATIO:
        raise DataError(
            f"{path}: the archive expands {worst:.0f} times, more than {MAX_RATIO}; "
            "write it uncompressed with numpy.savez if it is genuine"
        )


def _find(path: Path, members: dict[str, zipfile.ZipInfo], name: str) -> zipfile.ZipInfo:
    if name not in members:
        listed = ", ".join(map(repr, sorted(members)[:20]))
        raise DataError(
            f"{path}: there is no array {name!r}; the arrays are {listed or 'none'}; name them "
            "with target= and features="
        )
    return members[name]


def _read_member(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(entry) as stream:
        content = stream.read(entry.file_size + 1)
    if len(content) != entry.file_size:
        raise DataError(
            f"{path}: member {entry.filename!r} has another size than the archive says; write it "
            "again with numpy.savez"
        )
    _check_header(path, entry.filename, content)
    return np.lib.format.read_array(
        io.BytesIO(content), allow_pickle=False, max_header_size=_MAX_HEADER
    )


def _check_header(path: Path, filename: str, content: bytes) -> None:
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise DataError(
            f"{path}: member {filename!r} has array format {version}; write plain numeric arrays "
            "with numpy.savez"
        )
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(stream, max_header_size=_MAX_HEADER)
    if dtype.hasobject:
        raise DataError(
            f"{path}: member {filename!r} holds Python objects (pickle), which are never loaded; "
            "store plain numbers"
        )
    count = 1
    for length in shape:
        count *= int(length)
    if count * dtype.itemsize != len(content) - stream.tell() or count < 0:
        raise DataError(
            f"{path}: member {filename!r} claims shape {shape} of {dtype}, which does not match "
            "its size; write it again with numpy.savez"
        )


MAX_BYTES = 2**30


class Table(NamedTuple):
    """Raw inputs X (n x features), labels y (n x targets) and their names (None where the file has
    none).
    """

    X: Array
    y: Array
    feature_names: tuple[str, ...] | None
    target_names: tuple[str, ...] | None


class Choice(NamedTuple):
    """Which columns (or arrays) are labels and which are inputs; None means not said."""

    target: tuple[str, ...] | None
    features: tuple[str, ...] | None


def load_table(
    path: str | Path,
    *,
    target: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    max_bytes: int = MAX_BYTES,
) -> Table:
    """Read the table in `path`; the format follows the suffix (.csv, .tsv, .txt, .npz, .parquet).

    Parameters
    ----------
    target, features : as in `Dataset.load`.
    max_bytes : files, archives and tables that are larger are refused before they are read.
    """
    path = Path(path)
    reader = _reader(path)
    size = regular_file_size(path)
    if size > max_bytes:
        raise DataError(
            f"{path}: the file has {size} bytes, more than the limit of {max_bytes}; raise "
            "max_bytes if it fits in memory"
        )
    return reader(path, Choice(_names(target, "target"), _names(features, "features")), max_bytes)


def select_columns(
    path: Path, columns: Sequence[str], choice: Choice
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the feature and the target columns, each checked to exist."""
    listed = ", ".join(map(repr, columns))
    if choice.target is None:
        raise DataError(
            f"{path}: no target column is named; pass target= one of the columns {listed}"
        )
    features = choice.features or tuple(name for name in columns if name not in choice.target)
    for argument, names in (("target", choice.target), ("feature", features)):
        for name in names:
            if name not in columns:
                raise DataError(
                    f"{path}: there is no {argument} column {name!r}{alike(name, columns)}; the "
                    f"columns are {listed}"
                )
    both = [name for name in features if name in choice.target]
    if both:
        raise DataError(f"{path}: column {both[0]!r} is named as feature and as target; choose one")
    if not features:
        raise DataError(
            f"{path}: no column is left for the inputs; the columns are {listed}, and all of them "
            "are targets"
        )
    return features, choice.target


def alike(name: str, names: Sequence[str]) -> str:
    """A question with the names that look like this one, whatever their case; "" if none does."""
    from difflib import get_close_matches

    lowered = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), lowered, n=2, cutoff=0.6)
    found = " or ".join(repr(lowered[match]) for match in close)
    return f"; did you mean {found}?" if found else ""


def _reader(path: Path) -> Callable[[Path, Choice, int], Table]:
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv", ".txt"):
        from globalmin.data.loading_tables import read_csv

        return read_csv
    if suffix == ".npz":
        return read_npz
    if suffix in (".parquet", ".pq"):
        from globalmin.data.loading_tables import read_parquet

        return read_parquet
    raise DataError(
        f"{path}: the suffix {suffix!r} is not a known format; give a .csv, .npz or .parquet file"
    )


def regular_file_size(path: Path) -> int:
    """Bytes of a file; DataError for what is none."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(f"{path}: cannot be opened ({reason}); check the path") from error
    if not stat.S_ISREG(status.st_mode):
        raise DataError(
            f"{path}: is not a regular file; give the path of a .csv, .npz or .parquet file"
        )
    return status.st_size


def _names(value: str | Sequence[str] | None, argument: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(name, str) for name in names):
        raise DataError(
            f"{argument}={value!r} must be a column name or a non-empty list of column names"
        )
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise DataError(f"{argument} names {repeated[0]!r} twice; name every column once")
    return names
