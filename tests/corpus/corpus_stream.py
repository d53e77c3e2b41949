"""The files about stream-gap: honest ones, one fault each with the number of the check that must
see it, and faults of form. Their rows are not in them: what is said here is about the stored sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.checker import stream_cases as cases
from tests.corpus.edits import add, zero
from tests.corpus.whole_files import (
    Edit,
    Whole,
    array,
    network,
    new_tensor,
    opened,
    put,
    shape_of,
    times,
    without,
    word,
)

Files = dict[str, bytes]
ROWS = np.array([[1, 2, 3], [2, -1, -2], [-1, 1, 0], [3, 0, 1], [0, 2, 2], [1, -1, -1]]) / 4


def _case(heads: str, bias: bool) -> cases.Case:
    """Rows and weights that are short binary numbers, the same on every machine."""
    W = np.array([[1.0, 0.5, 0.25], [0.25, -0.5, 1.0]])[:, : 2 + bias] / 2
    v = {"any": [1.0, -1.0], "nonnegative": [1.0, 0.5], "nonpositive": [-1.0, 0.0]}[heads]
    shift, scale = np.array([0.25, 0.0, 0.5]), np.array([1.0, 2.0, 0.75])
    return cases.Case(ROWS, (2, 5), shift, scale, W, np.array(v), bias)


def _file(heads: str = "any", bias: bool = True) -> bytes:
    case = _case(heads, bias)
    fields, tensors = cases.parts(case, heads, 64.0, t=0.5)
    short = {
        name: np.round(value * 2.0**20) / 2.0**20 if name.startswith("C_") else value
        for name, value in tensors.items()
    }
    return cases.build(case, (fields, short))


def stream_accepted() -> Files:
    """Every class of heads, with and without the constant."""
    return {
        "stream_any": _file(),
        "stream_any_no_bias": _file(bias=False),
        "stream_nonnegative": _file("nonnegative"),
        "stream_nonpositive": _file("nonpositive", bias=False),
    }


def _data(**fields: Any) -> Edit:
    def edit(file: Whole) -> None:
        file.top["data"] |= fields

    return edit


def _shard(**fields: Any) -> Edit:
    def edit(file: Whole) -> None:
        file.top["data"]["shards"][0] |= fields

    return edit


def _all(*edits: Edit) -> Edit:
    def edit(file: Whole) -> None:
        for one in edits:
            one(file)

    return edit


def _moments(diagonal: float) -> Edit:
    """M = diagonal I, known exactly."""
    places = (0, 3, 5)  # of the diagonal in an upper triangle of order 3

    def stored(moments: np.ndarray) -> np.ndarray:
        moments = 0.0 * moments
        moments[0, places] = diagonal
        return moments

    exact = array("radii", lambda radii: radii * [1.0, 1.0, 0.0])
    return _all(array("moments", stored), exact)


def _factor(size: float) -> Edit:
    return array("C_lower", lambda C: size * np.eye(len(C)))


LESS = 0.999
# the one fault of a file whose other checks hold: sums that no rows have make it possible
ALONE: dict[str, tuple[str, Edit, str]] = {
    "gap_negative_alone": (
        "stream_nonnegative",
        _all(array("squares", lambda a: a - 1000.0), put(gap=-1)),
        "H1a",
    ),
    "decay_zero_alone": (
        "stream_nonnegative",
        _all(put(decay=0), _moments(2.0), _factor(1.0)),  # t M = I
        "H1b",
    ),
    "v_max_zero_alone": ("stream_nonnegative", _all(array("v", zero), put(v_max=0)), "H1c"),
    "t_negative_alone": (
        "stream_nonnegative",
        _all(put(t=-0.5, gap=1000), _moments(0.0), _factor(0.18)),  # c I, c = 32
        "H1d",
    ),
}
REJECTED: dict[str, tuple[str, Edit, str]] = {
    "gap_negative": ("stream_any", put(gap=-1), "H1a"),
    "decay_zero": ("stream_any", put(decay=0), "H1b"),
    "v_max_negative": ("stream_any", put(v_max=-1), "H1c"),
    "t_negative": ("stream_any", put(t=-0.5), "H1d"),
    "scale_zero": ("stream_any", array("scale", zero), "H1e"),
    "radius_negative": ("stream_any", array("radii", lambda r: r - 1), "H1f"),
    "v_max_too_small": ("stream_any", put(v_max=LESS), "H2a"),
    "head_negative": ("stream_nonnegative", array("v", lambda v: -v), "H2b"),
    "head_positive": ("stream_nonpositive", array("v", lambda v: -v), "H2b"),
    "loss_upper_too_small": ("stream_any", times("loss_upper", LESS), "H3"),
    "squares_larger": ("stream_any", array("squares", add(1, 0.01)), "H3"),
    "alpha_larger": ("stream_any", array("radii", add((2, 0), 0.01)), "H3"),
    "gap_too_small": ("stream_any", times("gap", LESS), "H4"),
    "products_larger": ("stream_any", array("products", add(0, 0.01)), "H4"),
    "beta_larger": ("stream_nonpositive", array("radii", add((0, 1), 0.01)), "H4"),
    "weights_larger": ("stream_any", array("W", lambda W: 2 * W), "H4"),
    "zeta_larger": ("stream_any", array("radii", add((1, 2), 99.0)), "H5"),
    "moments_larger": ("stream_any", array("moments", lambda m: 100 * m), ""),
    "lower_factor_zero": ("stream_any", array("C_lower", zero), "H5"),
    "upper_factor_zero": ("stream_any", array("C_upper", zero), "H6"),
    "upper_factor_alone": ("stream_nonpositive", array("C_upper", zero), "H6"),
}
MALFORMED: dict[str, tuple[str, Edit]] = {
    "no_shards": ("stream_any", _data(shards=[])),
    "shard_without_rows": ("stream_any", _shard(rows=0)),
    "shard_with_true_rows": ("stream_any", _shard(rows=True)),
    "shard_digest_of_capitals": ("stream_any", _shard(sha256="A" * 64)),
    "shard_digest_short": ("stream_any", _shard(sha256="0" * 63)),
    "shard_of_too_many_rows": ("stream_any", _shard(rows=10**15)),
    "shard_with_a_name": ("stream_any", _shard(name="first")),
    "columns_one_too_few": ("stream_any", _data(columns=["a", "y"])),
    "columns_twice": ("stream_any", _data(columns=["a", "a", "y"])),
    "column_without_a_name": ("stream_any", _data(columns=["", "a", "y"])),
    "column_a_number": ("stream_any", _data(columns=[1, "a", "y"])),
    "bias_without_an_input": ("stream_any", _data(d=1, columns=["y"])),
    "bias_another": ("stream_any", _data(bias=False)),
    "bias_a_number": ("stream_any", _data(bias=1)),
    "d_zero": ("stream_any", _data(d=0)),
    "n_in_data": ("stream_any", _data(n=6)),
    "shift_too_short": ("stream_any", shape_of("shift", 2)),
    "scale_missing": ("stream_any", without("scale")),
    "moments_too_narrow": ("stream_any", array("moments", lambda m: m[:, :-1])),
    "moments_of_two_shards": ("stream_any", array("moments", lambda m: m[:2])),
    "squares_of_two_shards": ("stream_any", array("squares", lambda a: a[:2])),
    "radii_of_two_kinds": ("stream_any", array("radii", lambda r: r[:, :2])),
    "C_upper_missing": ("stream_any", without("C_upper")),
    "C_upper_unasked": ("stream_nonnegative", new_tensor("C_upper", np.eye(3))),
    "C_lower_of_another_size": ("stream_any", shape_of("C_lower", 2, 2)),
    "heads_unknown": ("stream_any", word(heads="mixed")),
    "kind_shallow": ("stream_any", network(kind="shallow")),
    "activation_in_the_network": ("stream_any", network(activation="quadratic")),
    "theorem_of_another_claim": ("stream_any", word(theorem="quadratic-gap/1")),
    "kind_optimality_gap": ("stream_any", word(kind="optimality-gap", theorem="quadratic-gap/1")),
    "method_given": ("stream_any", word(method="decay")),
}
FIELDS = ("gap", "decay", "v_max", "t", "loss_upper")


def _edited(raw: bytes, edit: Edit) -> bytes:
    file = opened(raw)
    edit(file)
    return file.sealed()


def stream_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    honest = stream_accepted()
    return {
        f"stream_{name}": (_edited(honest[base], edit), reason)
        for name, (base, edit, reason) in (REJECTED | ALONE).items()
    }


def stream_malformed() -> Files:
    """Faults that no number shows."""
    honest = stream_accepted()
    missing = {f"{name}_missing": ("stream_any", word(**{name: ...})) for name in FIELDS}
    floats = {f"{name}_a_number": ("stream_any", word(**{name: 1})) for name in FIELDS}
    return {
        f"stream_{name}": _edited(honest[base], edit)
        for name, (base, edit) in (MALFORMED | missing | floats).items()
    }
