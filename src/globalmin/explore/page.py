"""Assembling the page: style sheet, scripts and numbers in one HTML file that makes no request.

The policy of the page allows exactly this style sheet and this script, by their digests.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.files import save_atomically

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.data import Dataset

ACTIVATIONS = ("softplus", "relu", "tanh", "sigmoid", "quadratic")
SEEDS, NORMALS = 8, 1000  # starts of numpy's generator that the page carries, and their length
ENGINE = ("algebra", "network", "training", "proof", "one_filter", "table")
VIEW = ("chart", "map", "verdict", "session", "trap", "page")
BEGIN = '"use strict";\n(() => {\n'
END = "globalThis.globalminExplorer = { engine: ENGINE, session: start() };\n})();\n"


def save_page(path: str | os.PathLike[str], data: Dataset | None = None, name: str = "") -> Path:
    """Write the page; `data` (a raw table with its preprocessing) stands first among the tables.

    Parameters
    ----------
    path : str | os.PathLike[str]
        The HTML file; replaced whole, or not at all.
    data : Dataset | None
        One target; its raw rows are restored from the stored ones.
    name : str
        What the page calls it.
    """
    return save_atomically(path, render(data, name).encode("utf-8"))


def render(data: Dataset | None = None, name: str = "") -> str:
    """The page as text."""
    css, script = static("explore.css"), _script()
    return (
        static("explore.html")
        .replace("{{ policy }}", policy(css, script))
        .replace("{{ css }}", css)
        .replace("{{ numbers }}", as_json_block(numbers(data, name)))
        .replace("{{ script }}", script)
    )


def static(name: str) -> str:
    """A file of the folder `static`."""
    return files("globalmin.explore").joinpath(f"static/{name}").read_text(encoding="utf-8")


def engine() -> str:
    """The scripts that compute and touch no page."""
    return "\n".join(static(f"{name}.js") for name in ENGINE)


def _script() -> str:
    names = (
        "eigenvalues, leastEigenpair, activation, problem, Point, balancedHead, hessian, METHODS, "
        "theoryStep, inequalities, relativeGradient, wayDown, filterTeacher, filterLoss, "
        "filterGradient, filterRun, filterBasin, shadowLoss, shadowHead, angleOfTurn, tableFrom, "
        "standardized, stored, equalRows, normals, networkFile, tableText, parseCsv"
    )
    view = "\n".join(static(f"{name}.js") for name in VIEW)
    return f"{BEGIN}{engine()}\nconst ENGINE = {{ {names} }};\n{view}\n{END}"


def policy(css: str, script: str) -> str:
    """The content security policy: nothing but this style sheet and this script."""
    return (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(css)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def digest(text: str) -> str:
    """SHA-256 as a source of a content security policy."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode()


def as_json_block(value: Any) -> str:
    """JSON that can stand in a script element: no `<`."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c")


def numbers(data: Dataset | None, name: str) -> dict[str, Any]:
    """What the scripts read: tables, suprema of the activations, starts of numpy's generator."""
    from globalmin import __version__
    from globalmin.explore.tables import MOST_ROWS, built_in, given

    own = [] if data is None else [given(name or "Your table", *_raw(data), data.preprocessing)]
    return {
        "version": __version__,
        "mostRows": MOST_ROWS,
        "tables": own + built_in(),
        "suprema": {name: _suprema(name) for name in ACTIVATIONS},
        "normals": {str(seed): _normals(seed) for seed in range(SEEDS)},
    }


def _raw(data: Dataset) -> tuple[Array, Array]:
    """Rows and labels in the user's units."""
    if data.scaling == "rows":
        raise DataError("the page knows scaling='standardize' and 'none', not 'rows'")
    part = data.raw_rows(range(data.n_samples))
    return part.X, part.y


def _suprema(name: str) -> list[float | None]:
    """Suprema over the line of the first three derivatives, None where there is none."""
    found = [float(get_activation(name).supremum(order)) for order in (1, 2, 3)]
    return [bound if math.isfinite(bound) else None for bound in found]


def _normals(seed: int) -> str:
    """The first numbers of numpy's generator, little-endian doubles in base64."""
    drawn = np.random.default_rng(seed).standard_normal(NORMALS).astype("<f8")
    return base64.b64encode(drawn.tobytes()).decode()
