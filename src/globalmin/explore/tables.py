"""The tables of the explorer: those that come with it, and the user's own; each with the scaling
that the command line uses, so that exported weights belong to the same numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.data import Dataset
from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.data.preprocessing import Preprocessing

MOST_ROWS = 400  # a step costs n^3/3 in the browser: a fifth of a second for this many
MOST_FEATURES = 60


def built_in() -> list[dict[str, Any]]:
    """The tables that come with the page, the first one shown first."""
    return [_wave(), _rings(), _sphere(), _diabetes()]


def given(name: str, X: Array, y: Array, preprocessing: Preprocessing) -> dict[str, Any]:
    """The user's table, at most `MOST_ROWS` rows of it, evenly spaced."""
    n, d = X.shape
    if d > MOST_FEATURES:
        raise DataError(
            f"{name}: {d} columns beside the target; the page takes up to {MOST_FEATURES}: choose "
            "fewer columns (--use, --drop), or train with globalmin fit"
        )
    kept = np.unique(np.linspace(0, n - 1, min(n, MOST_ROWS)).round().astype(int))
    note = "" if len(kept) == n else f"{len(kept)} of {n} rows, evenly spaced."
    width = max(2, -(-2 * len(kept) // (d + 1)))
    return _entry(name, note, (X[kept], y[kept]), preprocessing, width + width % 2)


def _entry(
    title: str,
    note: str,
    arrays: tuple[Array, Array],
    preprocessing: Preprocessing,
    width: int,
) -> dict[str, Any]:
    X, y = arrays
    fields = preprocessing.as_dict()
    names = fields.pop("feature_names") or [f"x{j + 1}" for j in range(X.shape[1])]
    target = fields.pop("target_name") or "y"
    return {
        "title": title,
        "note": note,
        "features": names,
        "target": target,
        "raw": X.tolist(),
        "labels": y.tolist(),
        "preprocessing": fields,
        "width": min(width, 200),
    }


def _made(title: str, note: str, X: Array, y: Array, **options: Any) -> dict[str, Any]:
    width = options.pop("width")
    data = Dataset(X, y, **options)
    return _entry(title, note, (X, y), data.preprocessing, width)


def _wave() -> dict[str, Any]:
    x = np.linspace(-3.0, 3.0, 12)
    note = "12 points on a curve: the network is the curve through them."
    return _made("A wave", note, x[:, None], np.sin(2.0 * x) + 0.3 * x, width=20)


def _rings() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    inner = np.arange(40) % 2 == 1
    turn, radius = rng.uniform(0.0, 2.0 * np.pi, 40), np.where(inner, 1.0, 2.0)
    X = np.stack([radius * np.cos(turn), radius * np.sin(turn)], axis=1)
    X += 0.1 * rng.standard_normal(X.shape)
    note = "40 points in the plane, labels +1 inside and -1 outside."
    return _made("Two rings", note, X, np.where(inner, 1.0, -1.0), width=40)


def _sphere() -> dict[str, Any]:
    from globalmin.data.generators import sphere_with_random_labels

    data = sphere_with_random_labels(200, 10, seed=0)
    note = "200 points on the unit sphere in 10 dimensions with random labels: nothing to learn, "
    options = {"bias": False, "scaling": "none", "width": 50}
    return _made("Random labels", note + "only to fit.", data.X, data.y, **options)


def _diabetes() -> dict[str, Any]:
    from sklearn.datasets import load_diabetes

    found: Any = load_diabetes(scaled=False)
    names = [str(name) for name in found.feature_names]
    X, y = (np.asarray(part[:120], dtype=np.float64) for part in (found.data, found.target))
    note = "The first 120 patients of scikit-learn's diabetes table, ten columns."
    options = {"feature_names": names, "target_names": ["progression"], "width": 40}
    return _made("Diabetes", note, X, y[:, None], **options)
