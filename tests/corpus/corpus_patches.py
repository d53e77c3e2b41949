"""The files about patch-interpolation: honest ones, one fault each with the number of the check
that must see it, and faults of form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from tests.checker import patch_cases as cases
from tests.corpus.edits import add, zero
from tests.corpus.whole_files import (
    Edit,
    array,
    hidden,
    network,
    new_tensor,
    opened,
    put,
    several,
    shape_of,
    times,
    without,
    word,
)

Files = dict[str, bytes]


def golden(hat: float = 1.5, label: float = 3.0, other: float | None = None) -> bytes:
    """The worked example of the page: f = 3w/2; with `other` a second sample of that label."""
    X, y = [[1.0, 2.0]], [label]
    if other is not None:
        X, y = [*X, [2.0, 1.0]], [*y, other]
    table = np.array([[0], [1]], dtype=np.int64)
    half = np.full((1, 2), 0.5)
    case = cases.Case(np.array(X), np.array(y), table, np.ones((1, 1)), half)
    made = cases.parts(case, solved=[0], hat=np.array([[hat]]))
    return cases.build(case, made)


def _made(X: list, W: list, heads: list, table: np.ndarray, miss: list) -> cases.Case:
    """A case by hand, whose labels are its outputs and a little more."""
    arrays = (np.array(part, dtype=float) for part in (X, miss, W, heads))
    X_, miss_, W_, heads_ = arrays
    case = cases.Case(X_, np.zeros(len(X_)), table, W_, heads_)
    return replace(case, y=case.outputs() + miss_)


def _dead_place() -> cases.Case:
    """Products that are exactly zero at a place whose output weight is zero play no part."""
    X = [[3, 2, -1, 4], [5, -2, 1, 7]]
    return _made(X, [[1, 2]], [[1, 0, 1]], cases.windows(4, 2), [2.0**-8, -(2.0**-9)])


def _by_margin() -> cases.Case:
    """A small product that only the second condition keeps on its side."""
    table = cases.windows(4, 2, 2)
    return _made([[1, 0, -(2.0**-6), 1]], [[1, 0]], [[1, 1]], table, [2.0**-4])


def _one_moves() -> cases.Case:
    """Two filters, of which the second is active everywhere."""
    X = [[3, 1, 2], [1, 4, -1]]
    heads = [[1, -1], [0.5, 2]]
    return _made(X, [[-1, 1], [2, 1]], heads, cases.windows(3, 2), [2.0**-10, 2.0**-11])


def _rest_fixed() -> bytes:
    """More samples than weights, two filters, of which the first is the teacher's and stays."""
    case = cases.integral(7, 5, 2, 2, seed=1)
    case = replace(case, W=case.W - np.array([[2.0**-30], [0.0]]))
    return cases.build(case, cases.parts(case, moving=[1], solved=_basis(case, [1])))


def patches_accepted() -> Files:
    """One and several filters, overlap, padding, thresholds, fewer weights than samples."""
    many = cases.integral(5, 4, 1, 2, seed=4)
    two = cases.integral(7, 5, 2, 2, seed=1)
    return {
        "patches_plain": cases.build(cases.drawn()),
        "patches_bias": cases.build(cases.drawn(bias=True)),
        "patches_padding": cases.build(cases.drawn(padding=1)),
        "patches_one_filter": cases.build(cases.drawn(2, 5, 1, 3, off=1e-6, seed=2)),
        "patches_one_filter_moves": cases.build(
            _one_moves(), cases.parts(_one_moves(), moving=[1])
        ),
        "patches_more_samples_than_weights": cases.build(
            many, cases.parts(many, solved=_basis(many))
        ),
        "patches_two_filters_many_samples": cases.build(
            two, cases.parts(two, solved=_basis(two, [0, 1]))
        ),
        "patches_rest_fixed_many_samples": _rest_fixed(),
        "patches_golden": golden(),
        "patches_golden_second_sample": golden(other=3.0),
        "patches_dead_place": cases.build(_dead_place()),
        "patches_by_margin": cases.build(_by_margin()),
    }


def _basis(case: cases.Case, moving: Sequence[int] = (0,)) -> list[int]:
    """Samples whose slopes span those of all: the first that raise the rank."""
    J = case.slopes(case.W)[:, list(moving)].reshape(len(case.y), -1)
    chosen: list[int] = []
    for i in range(len(J)):
        if np.linalg.matrix_rank(J[[*chosen, i]]) > len(chosen):
            chosen.append(i)
    return chosen


MORE, LESS = 1.01, 0.99
REJECTED: dict[str, tuple[str, Edit, str]] = {
    "activation_abs": ("patches_golden", network(activation="abs"), "Q1"),
    "leaky_relu_of_slope_zero": (
        "patches_golden",
        network(activation="leaky_relu", parameter="0"),
        "Q1",
    ),
    "mu_zero": ("patches_golden", put(mu=0), "Q2"),
    "mu_negative": ("patches_golden", put(mu=-1), "Q2"),
    "one_label_in_its_last_place": (
        "patches_more_samples_than_weights",
        array("y", lambda y: np.array([*y[:-1], np.nextafter(y[-1], 99)])),
        "Q3",
    ),
    "two_labels_for_the_same_patches": (
        "patches_golden_second_sample",
        array("y", lambda y: y + np.array([0, 2.0**-51])),
        "Q3",
    ),
    "samples_left_out": (
        "patches_plain",
        several(array("S", lambda S: S[:1]), array("C", lambda C: C[:1, :1])),
        "Q3",
    ),
    "fixed_filter_off": (
        "patches_rest_fixed_many_samples",
        hidden(*(array(name, add((0, 0), 2.0**-20)) for name in ("W", "W_hat"))),
        "Q3",
    ),
    "loss_upper_too_small": ("patches_plain", times("loss_upper", LESS), "Q4"),
    "loss_of_a_sample_outside_S": (
        "patches_more_samples_than_weights",
        times("loss_upper", LESS),
        "Q4",
    ),
    "R_too_small": ("patches_plain", times("R", LESS), "Q5"),
    "R_negative": ("patches_golden", times("R", -1), "Q5"),
    "R_of_a_distant_witness": ("patches_golden", put(R=Fraction(9, 10)), "Q5"),
    "label_far_away": (
        "patches_plain",
        several(hidden(array("y", add(0, 9.0))), put(R=1000)),
        "Q6",
    ),
    "label_negative_for_a_positive_head": (
        "patches_golden",
        several(hidden(array("y", lambda y: -y)), put(R=1000)),
        "Q6",
    ),
    "product_zero": (
        "patches_padding",
        several(hidden(array("W_hat", zero)), put(R=1000)),
        "",
    ),
    "mu_too_large": ("patches_plain", times("mu", MORE), "Q7"),
    "factor_zero": ("patches_plain", array("C", zero), "Q7"),
    "heads_halved": ("patches_golden", several(hidden(array("v", lambda v: v / 2)), put(R=99)), ""),
    "table_changed": (
        "patches_one_filter",
        several(hidden(array("patches", lambda t: t[::-1, ::-1])), put(R=1000)),
        "",
    ),
    "bias_column_not_one": ("patches_bias", array("X", lambda X: X * 2), "constant 1"),
}
MALFORMED: dict[str, tuple[str, Edit]] = {
    "T_empty": ("patches_plain", array("T", lambda T: T[:0])),
    "T_beyond_the_last": ("patches_plain", array("T", lambda T: T + 1)),
    "T_negative": ("patches_plain", array("T", lambda T: T - 1)),
    "T_decreasing": ("patches_plain", array("T", lambda T: T[::-1])),
    "S_empty": ("patches_plain", array("S", lambda S: S[:0])),
    "S_beyond_the_last": ("patches_plain", array("S", lambda S: S + 1)),
    "S_negative": ("patches_plain", array("S", lambda S: S - 1)),
    "S_twice": ("patches_plain", array("S", lambda S: S * 0)),
    "S_shorter_than_C": ("patches_plain", array("S", lambda S: S[:1])),
    "C_not_square": ("patches_plain", shape_of("C", 3, 2)),
    "W_hat_of_another_shape": ("patches_plain", shape_of("W_hat", 3, 2)),
    "place_beyond_the_last": ("patches_plain", array("patches", lambda t: t + 5)),
    "place_minus_two": ("patches_padding", array("patches", lambda t: t - 1)),
    "table_empty": ("patches_plain", array("patches", lambda t: t[:0])),
    "table_of_doubles": ("patches_plain", array("patches", lambda t: t.astype(float))),
    "table_missing": ("patches_plain", without("patches")),
    "heads_too_few": ("patches_plain", array("v", lambda v: v[:-1])),
    "filters_of_another_width": ("patches_plain", array("W", lambda W: W[:, :-1])),
    "kind_shallow": ("patches_plain", network(kind="shallow")),
    "layers_in_the_network": ("patches_plain", network(layers=[])),
    "theorem_of_another_claim": ("patches_plain", word(theorem="relu-cell/1")),
    "kind_relu_interpolation": (
        "patches_plain",
        word(kind="relu-interpolation", theorem="relu-cell/1"),
    ),
    "one_tensor_more": ("patches_plain", new_tensor("dropped", np.zeros((0, 2), dtype=np.int64))),
}
FIELDS = ("mu", "R", "loss_upper")


def _edited(raw: bytes, edit: Edit) -> bytes:
    file = opened(raw)
    edit(file)
    return file.sealed()


def patches_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    honest = patches_accepted()
    return {
        f"patches_{name}": (_edited(honest[base], edit), reason)
        for name, (base, edit, reason) in REJECTED.items()
    }


def patches_malformed() -> Files:
    """Faults that no number shows."""
    honest = patches_accepted()
    missing = {f"{name}_missing": ("patches_plain", word(**{name: ...})) for name in FIELDS}
    floats = {f"{name}_a_number": ("patches_plain", word(**{name: 1})) for name in FIELDS}
    return {
        f"patches_{name}": _edited(honest[base], edit)
        for name, (base, edit) in (MALFORMED | missing | floats).items()
    }
