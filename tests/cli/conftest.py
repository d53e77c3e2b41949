"""Small tables on disk, and the command line run inside this process."""

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from globalmin.cli import main


class Ended(NamedTuple):
    """How a command ended: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    """Run `globalmin` with these arguments."""

    def call(*arguments) -> Ended:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    return call


@pytest.fixture
def table(tmp_path):
    """Write a csv file of n rows with inputs a, b, c, d and the given target columns; rows can be
    changed before writing.
    """

    def write(n: int = 24, targets=("price",), change=None, name: str = "table.csv") -> Path:
        rng = np.random.default_rng(7)
        header = ["a", "b", "c", "d", *targets]
        rows = [[repr(float(x)) for x in rng.standard_normal(len(header))] for _ in range(n)]
        if change is not None:
            change(rows)
        path = tmp_path / name
        path.write_text(
            "\n".join(",".join(row) for row in [header, *rows]) + "\n", encoding="utf-8"
        )
        return path

    return write
