"""The independent checker of globalmin certificates: standard library and python-flint only (numpy
too for the optional fast route), no code shared with the trainer.

The file formats and the theorems are in `spec/certificate-v1.md` and `spec/claims/`. Acceptance
means: every statement printed is true over the real numbers for the numbers stored in the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin_check.verdict import ClaimResult, Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

__all__ = ["ClaimResult", "Result", "Verdict", "check_file"]
__version__ = "0.1.0"


def check_file(
    path: str | PathLike[str],
    data: str | PathLike[str] | None = None,
    *,
    route: str = "auto",
    rows: Sequence[str | PathLike[str]] = (),
    shard: int = 0,
) -> Result:
    """Check a certificate file and return the verdict with its reasons.

    Parameters
    ----------
    path : the certificate (`*.gmc`).
    data : the file with X and y, for a certificate that names its data by digest only. If the
        certificate stores its data, the file given here must hold the same numbers.
    route : "exact" for balls only; "fast" for floats with proved bounds only, which needs numpy;
        "auto" for the fast route where the exact one takes long and numpy is installed, with balls
        for what it leaves open.
    rows : for a stream, the files (.csv, .parquet, .npy) with the raw rows of its shards, in their
        order. Without them the statement is about the sums that the file stores, and says so.
    shard : the shard with which `rows` begin.

    Raises
    ------
    OSError
        If a file cannot be read; whatever its bytes are, a file that can be read gets one of the
        four verdicts.
    """
    from globalmin_check.container import read_regular_file
    from globalmin_check.engine import check_bytes

    blob = read_regular_file(path)
    beside = None if data is None else read_regular_file(data)
    if not rows:
        return check_bytes(blob, beside, route)
    from globalmin_check.command.row_files import read_rows

    return check_bytes(
        blob, beside, route, rows=lambda columns: read_rows(rows, columns), shard=shard
    )
