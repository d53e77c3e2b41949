"""Write the diabetes table that scikit-learn ships (442 rows, 10 inputs, the target "progression")
as a csv file.

Usage: diabetes_csv.py PATH
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def write_diabetes(path: str | Path) -> None:
    """Write the table in the units of the study; the same bytes every time."""
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    names = [*bunch["feature_names"], "progression"]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for inputs, target in zip(bunch["data"].tolist(), bunch["target"].tolist(), strict=True):
            writer.writerow([*map(_short, inputs), _short(target)])


def _short(value: float) -> str:
    """Shortest decimal that reads back as the same double, without a trailing '.0'."""
    return repr(value).removesuffix(".0")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    write_diabetes(sys.argv[1])
