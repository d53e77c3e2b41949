"""What enters as data: converted to float64 exactly, or refused with the argument, the place and
the remedy; work that does not fit into memory is refused with the figure, before anything large is
allocated.

Nothing is rounded silently: float32, float16, booleans and integers up to 2^53 become doubles
without change of value, everything else is refused.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError, MemoryRefused

GIB = 2**30
_MEMINFO = Path("/proc/meminfo")
_CGROUP = Path("/sys/fs/cgroup")


def matrix_bytes(rows: int, columns: int, *, copies: int = 1) -> int:
    """Bytes of `copies` dense float64 matrices."""
    return 8 * int(rows) * int(columns) * int(copies)


def gram_bytes(n: int, *, copies: int = 1) -> int:
    """Bytes of `copies` dense n x n float64 matrices.

    >>> gram_bytes(1_000_000)
    8000000000000
    """
    return matrix_bytes(n, n, copies=copies)


def available_bytes() -> int:
    """Memory this process may still use (an estimate): the system's, or less inside a container
    with its own limit.
    """
    page = os.sysconf("SC_PAGE_SIZE")
    candidates = [_meminfo_available() or page * os.sysconf("SC_AVPHYS_PAGES")]
    limit, used = _integer(_CGROUP / "memory.max"), _integer(_CGROUP / "memory.current")
    if limit is not None and used is not None:
        candidates.append(max(limit - used, 0))
    return min(candidates)


_SMALL = 2**24  # bytes; asking how much is free takes longer than a small job


def _available_this_second() -> int:
    """What was available when somebody last asked within this second."""
    return _answer(available_bytes, int(time.monotonic()))


@lru_cache(maxsize=1)
def _answer(ask: Callable[[], int], _second: int) -> int:
    return ask()


def require_memory(n_bytes: int, what: str, *, limit: int | None = None) -> None:
    """Raise MemoryRefused when `what` needs more than `limit` bytes (default: what is available
    now).

    >>> require_memory(gram_bytes(1_000_000), "the Gram matrix", limit=2**30)
    Traceback (most recent call last):
    ...
    globalmin.errors.MemoryRefused: the Gram matrix needs 7450.6 GiB of memory, and 1.0 GiB may be \
used; take fewer samples or a machine with more memory
    """
    if limit is not None and limit < 0:
        raise DataError(f"limit={limit} is negative; give a number of bytes")
    asked = available_bytes if n_bytes > _SMALL else _available_this_second
    allowed = asked() if limit is None else limit
    if n_bytes > allowed:
        raise MemoryRefused(
            f"{what} needs {n_bytes / GIB:.1f} GiB of memory, and {allowed / GIB:.1f} GiB may be "
            "used; take fewer samples or a machine with more memory"
        )


def _meminfo_available() -> int | None:
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) * 1024 if found else None


def _integer(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


LARGEST_EXACT_INTEGER = 2**53
_REMEDY_OF_KIND = {
    "c": "complex numbers; pass the real and imaginary parts as separate columns",
    "U": "text; encode it as numbers (one column of 0 and 1 per category)",
    "S": "bytes; encode them as numbers (one column of 0 and 1 per category)",
    "M": "dates; convert them to numbers, for example days since a fixed date",
    "m": "durations; convert them to numbers, for example seconds",
    "V": "records; pass a plain two-dimensional array of numbers",
}


class DataTypeError(DataError, TypeError):
    """The data have a type that cannot be used at all; a DataError that is also a TypeError."""


def as_matrix(X: object, name: str = "X") -> Array:
    """Return `X` as a C-ordered float64 matrix with the same values, at least one row and one
    column.

    Raises DataError (DataTypeError for sparse, complex, text and object input) with the remedy.
    """
    array = as_floats(X, name)
    if array.ndim == 1:
        raise DataError(
            f"{name} is one-dimensional (shape {array.shape}); use {name}.reshape(-1, 1) for a "
            f"single feature, {name}.reshape(1, -1) for a single sample"
        )
    if array.ndim != 2:
        raise DataError(
            f"{name} has {array.ndim} dimensions (shape {array.shape}); pass one row per sample, "
            "one column per feature"
        )
    for axis, what in ((0, "sample"), (1, "feature")):
        if array.shape[axis] == 0:
            raise DataError(
                f"{name} is empty: found array with 0 {what}(s) (shape={array.shape}) while a "
                f"minimum of 1 is required; give at least one {what}"
            )
    return array


def as_targets(y: object, n: int, name: str = "y") -> Array:
    """Return the labels as a float64 matrix n x q, one column per target."""
    array = as_floats(y, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise DataError(
            f"{name} has shape {array.shape}; pass one number per sample, or one column per target"
        )
    if array.shape[0] != n:
        raise DataError(
            f"{name} has {array.shape[0]} entries but X has {n} rows; give one label per row"
        )
    if array.shape[1] == 0:
        raise DataError(
            f"{name} has shape {array.shape}, no target at all; give at least one column"
        )
    return np.ascontiguousarray(array)


def as_floats(value: object, name: str) -> Array:
    """Convert anything array-like to a finite, C-ordered float64 array of the same values."""
    if value is None:
        raise DataError(f"{name} cannot be None; pass an array of numbers")
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise DataTypeError(
            f"{name} is sparse, and globalmin needs dense data; pass {name}.toarray() if it fits "
            "in memory"
        )
    if _is_frame(value):
        array = _frame_values(value, name)
    elif hasattr(value, "iloc"):
        array = _column_values(value, name, "")
    else:
        array = _exact_floats(_as_array(value, name), name)
        if isinstance(value, list | tuple):
            _refuse_rounded_integers(value, array, name)
    refuse_non_finite(array, name)
    return array


def column_names(value: object) -> tuple[str, ...] | None:
    """Names of the columns of a data frame or the name of a series; None where there are none, or
    two are equal.
    """
    if _is_frame(value):
        names = tuple(str(column) for column in value.columns)  # type: ignore[attr-defined]
        return names if len(set(names)) == len(names) else None
    label = getattr(value, "name", None)
    return (str(label),) if hasattr(value, "iloc") and label is not None else None


def refuse_non_finite(array: Array, name: str) -> None:
    """Raise a DataError that names the first entry which is NaN or infinite."""
    if np.isfinite(array).all():
        return
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
    bad = array[where]
    what = "NaN" if np.isnan(bad) else f"infinity ({bad})"
    index = ", ".join(map(str, where))
    remedy = (
        "remove the row or fill in the missing value"
        if np.isnan(bad)
        else "remove the row or correct the value"
    )
    raise DataError(f"{name}[{index}] contains {what}; {remedy}")


def as_names(names: Sequence[str] | None, count: int, argument: str) -> tuple[str, ...] | None:
    """Check a list of distinct column names against the number of columns."""
    if names is None:
        return None
    if isinstance(names, str):
        raise DataError(
            f"{argument} is the single string {names!r}; pass a list of {count} name(s)"
        )
    checked = tuple(str(name) for name in names)
    if len(checked) != count:
        raise DataError(
            f"{argument} has {len(checked)} names for {count} column(s); give one name per column"
        )
    if len(set(checked)) != count:
        repeated = next(name for name in checked if checked.count(name) > 1)
        raise DataError(f"{argument} contains {repeated!r} twice; give every column its own name")
    return checked


def frozen(array: Array) -> Array:
    """The same numbers as an array that cannot be written to."""
    array = np.ascontiguousarray(array)
    if array.flags.writeable:
        array = array.view()
        array.setflags(write=False)
    return array


def as_weights(value: ArrayLike, name: str, *, dimensions: tuple[int, ...], remedy: str) -> Array:
    """A read-only float64 copy of weights: finite, not empty, with one of these numbers of
    dimensions; `remedy` ends the message about the shape.
    """
    try:
        if np.iscomplexobj(value):
            raise TypeError
        array = np.array(value, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise DataError(f"{name} is not an array of real numbers; give floats") from None
    if array.ndim not in dimensions or 0 in array.shape:
        raise DataError(f"{name} has shape {array.shape}; {remedy}")
    if not np.isfinite(array).all():
        raise DataError(f"{name} contains NaN or infinity; give finite weights")
    array.setflags(write=False)
    return array


def _is_frame(value: object) -> bool:
    return hasattr(value, "columns") and hasattr(value, "iloc")


def _frame_values(frame: Any, name: str) -> Array:
    """Column by column, because the common type of an integer and a float column would round the
    integers.
    """
    columns = [
        _column_values(frame.iloc[:, j], name, f" column {label!r}")
        for j, label in enumerate(frame.columns)
    ]
    return np.stack(columns, axis=1) if columns else np.empty((len(frame), 0))


def _column_values(column: Any, name: str, which: str) -> Array:
    missing = np.asarray(column.isna())
    if missing.any():
        raise DataError(
            f"{name}{which} has a missing value (NaN) in row {int(missing.argmax())}; remove the "
            "row or fill in the missing value"
        )
    plain = getattr(column.dtype, "numpy_dtype", None)  # nullable types (Int64, boolean) have one
    values = column if plain is None or plain.kind == "O" else column.to_numpy(dtype=plain)
    return _exact_floats(_as_array(values, name), f"{name}{which}")


def _as_array(value: object, name: str) -> NDArray[Any]:
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise DataError(
            f"{name} is a masked array with masked (missing) entries; fill them in or remove the "
            "rows"
        )
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise DataError(
            f"{name} cannot be read as an array of numbers ({error}); give rows of equal length"
        ) from error
    return array


def _exact_floats(array: NDArray[Any], name: str) -> Array:
    kind = array.dtype.kind
    if kind in _REMEDY_OF_KIND:
        raise DataTypeError(f"{name} holds {_REMEDY_OF_KIND[kind]} (dtype {array.dtype})")
    if kind == "O":
        raise DataTypeError(
            f"{name} has dtype object ({_first_odd_entry(array)}); convert it to numbers, for "
            f"example {name}.astype(float)"
        )
    if kind in "iu":
        _refuse_large_integers(array, name)
    with np.errstate(over="ignore"):
        floats = np.array(array, dtype=np.float64, order="C", subok=False)
    if (
        kind == "f"
        and array.dtype.itemsize > 8
        and not (np.isnan(floats) | (floats.astype(array.dtype) == array)).all()
    ):
        raise DataError(
            f"{name} has extended precision ({array.dtype}) that float64 would round; "
            f"convert it yourself with {name}.astype(float)"
        )
    return floats


def _first_odd_entry(array: NDArray[Any]) -> str:
    for entry in array.ravel():
        if not isinstance(entry, int | float | np.number):
            return f"for example the entry {entry!r:.60}"
    return "Python numbers, some of them beyond the machine integers"


def _refuse_large_integers(array: NDArray[Any], name: str) -> None:
    if array.dtype.itemsize < 8 or array.size == 0:
        return
    worst = max(int(array.max()), -int(array.min()))
    if worst > LARGEST_EXACT_INTEGER:
        raise DataError(
            f"{name} contains the integer {worst} in absolute value, beyond 2^53, where float64 is "
            f"not exact; subtract an offset, or accept the rounding with {name}.astype(float)"
        )


def _refuse_rounded_integers(value: object, array: Array, name: str) -> None:
    """Nested lists of mixed integers and floats: numpy has already rounded the integers, so look at
    the originals.
    """
    if array.size == 0 or not np.abs(array).max() >= LARGEST_EXACT_INTEGER:
        return
    for original in np.array(value, dtype=object).ravel():
        if isinstance(original, int) and abs(original) > LARGEST_EXACT_INTEGER:
            raise DataError(
                f"{name} contains the integer {original}, beyond 2^53, where float64 is not exact; "
                "pass it as a float to accept the rounding"
            )
