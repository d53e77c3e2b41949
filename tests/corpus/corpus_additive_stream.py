"""The files about additive-stream-gap: honest ones, one fault each with the number of the check
that must see it, and faults of form. Their rows are not in them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.checker import additive_stream_cases as cases
from tests.corpus.corpus_stream import ROWS, _edited, _shard
from tests.corpus.edits import add, zero
from tests.corpus.whole_files import (
    Edit,
    Whole,
    array,
    network,
    new_tensor,
    put,
    several,
    shape_of,
    times,
    without,
    word,
)

Files = dict[str, bytes]
LARGE = 10**6


def _file(cuts: tuple[int, ...] = (2, 5), q: int = 2) -> bytes:
    """Rows, edges and weights that are short binary numbers, the same on every machine."""
    W = np.array([[0.5, 0.0], [0.0, -0.25], [-0.25, 0.0]])[:, 2 - q :]
    bias, v = np.array([0.25, 0.5, -0.125]), np.array([0.5, -0.5, 0.25])
    rows = ROWS[:, 2 - q :]
    edges = tuple(np.unique(np.append(rows[:, j], [-0.5, 0.125, 1.0])) for j in range(q))
    spread = np.array([0.25, 0.0, 0.5])[2 - q :], np.array([1.0, 2.0, 0.75])[2 - q :]
    case = cases.Case(rows, cuts, *spread, edges, W, bias, v, -0.125)
    return cases.build(case, cases.parts(case, 16.0, t=0.25))


def additive_stream_accepted() -> Files:
    """One and several shards, one and two columns."""
    return {
        "additive_stream_shards": _file(),
        "additive_stream_whole": _file(()),
        "additive_stream_column": _file((3,), 1),
    }


def _generous(*edits: Edit) -> Edit:
    return several(*edits, put(gap=LARGE, loss_upper=LARGE))


# the one fault of a file whose other checks hold: sums that no rows have make it possible
def _no_sums(file: Whole) -> None:
    for name in ("residuals", "moments", "squares", "totals", "radii"):
        zero_it = array(name, zero)
        zero_it(file)


ALONE: dict[str, tuple[Edit, str]] = {
    "gap_negative_alone": (
        several(array("totals", lambda a: a - [1000.0, 0.0, 0.0, 0.0]), put(gap=-1)),
        "K1a",
    ),
    "decay_zero_alone": (several(_no_sums, put(decay=0)), "K1b"),
    "t_negative_alone": (several(_no_sums, put(t=-0.25, gap=LARGE)), "K1c"),
    "scale_zero_alone": (
        several(_no_sums, array("scale", lambda s: s * [1.0, 1.0, 0.0]), put(gap=LARGE)),
        "K1d",
    ),
    "radius_negative_alone": (_generous(_no_sums, array("radii", lambda r: r - 1e-9)), "K1e"),
    "two_columns_alone": (_generous(array("W", add((0, 1), 0.25))), "K2"),
    "edges_fall_alone": (_generous(_no_sums, array("edges", lambda e: -e)), "K3"),
    "count_negative_alone": (
        _generous(_no_sums, array("counts", lambda n: n + _moved(n, -1))),
        "K4a",
    ),
    "counts_too_many_alone": (_generous(array("counts", add((0, 0), 1))), "K4b"),
    "outside_alone": (
        _generous(_no_sums, array("shift", lambda s: s - [40.0, 0.0, 0.0]),
                  array("residuals", lambda r: _pair(r, 300.0))),
        "K8",
    ),
}  # fmt: skip


def _moved(counts: np.ndarray, by: int) -> np.ndarray:
    """A bin with fewer rows than none, and its neighbor with more, in the first shard."""
    change = np.zeros_like(counts)
    change[0, 0], change[0, 1] = by - counts[0, 0], counts[0, 0] - by
    return change


def _pair(residuals: np.ndarray, size: float) -> np.ndarray:
    """Two sums of opposite signs far apart."""
    found = 0.0 * residuals
    found[0, 0], found[0, 3] = size, -size
    return found


REJECTED: dict[str, tuple[Edit, str]] = {
    "gap_negative": (put(gap=-1), "K1a"),
    "decay_zero": (put(decay=0), "K1b"),
    "t_negative": (put(t=-0.25), "K1c"),
    "scale_zero": (array("scale", zero), "K1d"),
    "radius_negative": (array("radii", lambda r: r - 1), "K1e"),
    "neuron_on_two_columns": (array("W", lambda W: W + 1.0), "K2"),
    "edges_equal": (array("edges", lambda e: np.sort(e) * 0.0), "K3"),
    "counts_too_many": (array("counts", lambda n: n + 1), "K4b"),
    "loss_upper_too_small": (times("loss_upper", 0.999), "K5"),
    "squares_larger": (array("totals", add((1, 0), 0.01)), "K5"),
    "kappa_larger": (array("radii", add((2, 2), 0.01)), "K5"),
    "gap_too_small": (times("gap", 0.999), "K6"),
    "products_larger": (array("totals", add((0, 1), 0.01)), "K6"),
    "eta_larger": (array("radii", add((0, 3), 0.01)), "K6"),
    "weights_larger": (array("v", lambda v: 2 * v), "K6"),
    "bias_larger": (array("bias", lambda b: b + 1.0), "K6"),
    "mean_larger": (_generous(array("totals", add((0, 2), 99.0))), "K7"),
    "rho_larger": (_generous(array("radii", add((1, 0), 99.0))), "K7"),
    "sigma_larger": (_generous(array("radii", add((1, 1), 99.0))), "K7"),
    "residuals_larger": (_generous(array("residuals", lambda r: 100 * r)), "K7"),
    "moments_larger": (_generous(array("moments", lambda r: r + 99.0)), "K7"),
    "squares_of_bins_larger": (_generous(array("squares", lambda r: 1e9 * r)), "K7"),
    "t_larger": (_generous(times("t", 64)), "K7"),
    "decay_smaller": (_generous(times("decay", 1 / 128)), "K7"),
}


def _data(**fields: Any) -> Edit:
    return lambda file: file.top["data"].update(fields)


MALFORMED: dict[str, Edit] = {
    "no_shards": _data(shards=[]),
    "shard_without_rows": _shard(rows=0),
    "columns_one": _data(columns=["y"]),
    "columns_one_too_few": _data(columns=["a", "y"]),
    "columns_twice": _data(columns=["a", "a", "y"]),
    "d_given": _data(d=2),
    "bias_in_the_data": _data(bias=True),
    "bias_missing": without("bias"),
    "bias_too_short": shape_of("bias", 2),
    "intercept_missing": without("intercept"),
    "intercept_twice": shape_of("intercept", 2),
    "scale_missing": without("scale"),
    "bins_missing": word(bins=...),
    "bins_of_one_column": word(bins=[3]),
    "bins_zero": word(bins=[0, 9]),
    "bins_true": word(bins=[True, 9]),
    "bins_a_number": word(bins=9),
    "bins_of_words": word(bins=["9", "9"]),
    "edges_too_few": array("edges", lambda e: e[:-1]),
    "counts_of_doubles": array("counts", lambda n: n.astype(float)),
    "counts_of_two_shards": array("counts", lambda n: n[:2]),
    "moments_too_narrow": array("moments", lambda m: m[:, :-1]),
    "squares_missing": without("squares"),
    "totals_of_three_kinds": array("totals", lambda r: r[:, :3]),
    "radii_of_three_kinds": array("radii", lambda r: r[:, :3]),
    "factor_unasked": new_tensor("C_lower", np.eye(2)),
    "kind_stream": network(kind="stream"),
    "activation_in_the_network": network(activation="relu"),
    "theorem_of_another_claim": word(theorem="quadratic-shards/1"),
    "kind_stream_gap": word(kind="stream-gap", theorem="quadratic-shards/1"),
    "version_two": word(version=2),
    "heads_given": word(heads="any"),
}
FIELDS = ("gap", "decay", "t", "loss_upper")


def additive_stream_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    base = _file()
    return {
        f"additive_stream_{name}": (_edited(base, edit), reason)
        for name, (edit, reason) in (REJECTED | ALONE).items()
    }


def additive_stream_malformed() -> Files:
    """Faults that no number shows."""
    base = _file()
    missing = {f"{name}_missing": word(**{name: ...}) for name in FIELDS}
    numbers = {f"{name}_a_number": word(**{name: 1}) for name in FIELDS}
    return {
        f"additive_stream_{name}": _edited(base, edit)
        for name, edit in (MALFORMED | missing | numbers).items()
    }
