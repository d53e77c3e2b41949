"""Arrays from npz archives, read behind a size guard and without pickle.

The zip directory is examined before anything is decompressed, and every array's header is compared
with the size of its member before the array is allocated, so neither an archive bomb nor a header
that claims 10^11 numbers costs memory.
"""

from __future__ import annotations

import io
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from globalmin.data.loading import Choice, Table
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
    X = as_matrix(arrays["X"], f"{path}: array {wanted['X']!r}")
    y = as_targets(arrays["y"], X.shape[0], f"{path}: array {wanted['y']!r}")
    return Table(X, y, None, (wanted["y"],) if y.shape[1] == 1 else None)


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
