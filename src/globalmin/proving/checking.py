"""Hand a certificate file to the independent checker."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from globalmin_check import Result


def check(path: str | os.PathLike[str], data: str | os.PathLike[str] | None = None) -> Result:
    """Verify the file at `path` with `globalmin_check` and return its result (`verdict`, `claims`,
    `statement`, `reason`).

    Parameters
    ----------
    path : str | os.PathLike[str]
        The certificate file.
    data : str | os.PathLike[str] | None
        The data file, for a certificate that stores only the digest of its data.
    """
    from globalmin_check import check_file

    return check_file(path, data)
