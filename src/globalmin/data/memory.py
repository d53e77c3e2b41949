"""The memory guard: work that does not fit is refused with the figure, before anything large is
allocated.
"""

from __future__ import annotations

import os
from pathlib import Path

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
    allowed = available_bytes() if limit is None else limit
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
