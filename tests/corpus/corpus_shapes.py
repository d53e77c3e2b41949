"""Corpus files of networks whose curves have shapes (R7 (b) of `dual-gap`)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.regularized_cases import Case, changed, file_of, golden
from tests.corpus.whole_files import opened

Files = dict[str, bytes]
Array = np.ndarray


def _flat(**network: Any) -> tuple[Case, Array]:
    """Falling data for a rising class: the constant 0 is optimal, and u = (-1, 1)."""
    case, _ = golden(shapes=["increasing"], **network)
    nothing = {"W": 0 * case.W, "v": 0 * case.v, "bias": np.zeros(1), "intercept": 0.0}
    return replace(case, y=-case.y, **nothing), np.array([-1.0, 1.0])


def _with_rho(given: tuple[Case, Array], *rho: list[float]) -> bytes:
    return file_of(*given, witness={"rho": np.array(rho)})


def _curve(word: str, *neurons: tuple[float, float, float], **network: Any) -> bytes:
    """A curve of these neurons (w, bias, v) and u = 0, on three samples."""
    W, bias, v = (np.array(part, float) for part in zip(*neurons, strict=True))
    case = Case(
        np.array([[-1.0], [0.0], [1.0]]), np.array([0.0, 1.0, 3.0]), W[:, None], v, bias=bias,
        intercept=0.0, network={"shapes": [word]} | network,
    )  # fmt: skip
    witness = {"rho": np.zeros((1, 3))} if word in ("increasing", "decreasing") else {}
    return file_of(case, np.zeros(3), witness=witness)


def _lines(s: float) -> bytes:
    """Convex, u = (1, -2, 1) + s (-1, 0, 1) at (-4, 0, 4): lines need 8 s <= 2b = 1."""
    X = np.array([[-4.0], [0.0], [4.0]])
    case = Case(X, np.zeros(3), np.zeros((1, 1)), np.zeros(1), bias=np.zeros(1), intercept=0.0,
                network={"shapes": ["convex"]})  # fmt: skip
    return file_of(case, np.array([1.0 - s, -2.0, 1.0 + s]))


def _two_columns(**network: Any) -> tuple[Case, Array]:
    case, u = _flat()
    case = replace(case, X=np.hstack([case.X, -case.X]), W=np.zeros((1, 2)))
    return changed(case, network={"shapes": ["increasing", "decreasing"]} | network), u


def shapes_accepted() -> Files:
    """Every shape, both bias rules, equality, and networks that no rule for neurons allows."""
    case, u = golden(shapes=["convex"])
    return {
        "shapes_constant_is_optimal": _with_rho(_flat(), [1.0, 0.0]),
        "shapes_free_bias_with_equality": _with_rho(_flat(hidden_bias="free"), [1.25, 0.0]),
        "shapes_two_columns": _with_rho(_two_columns(), [1.0, 0.0], [0.0, 1.0]),
        "shapes_convex": file_of(case, u),
        "shapes_concave": file_of(
            changed(case, network={"shapes": ["concave"]}, v=-case.v, y=-case.y, intercept=0.5), -u
        ),
        "shapes_line_with_equality": _lines(1 / 8),
        "shapes_plateau": _curve("increasing", (1, 1, 1), (1, 0, -1)),
        "shapes_falling_plateau": _curve("decreasing", (-1, 1, 1), (-1, 0, -1)),
        "shapes_convex_line": _curve("convex", (1, 0, 1), (-1, 0, -1), hidden_bias="free"),
    }


def shapes_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    above = float(np.nextafter(1.25, 2.0))
    tau = {"tau": Fraction(2)}
    return {
        "shapes_without_multipliers": (_with_rho(_flat(), [0.0, 0.0]), "Y7"),
        "shapes_multiplier_above": (_with_rho(_flat(hidden_bias="free"), [above, 0.0]), "Y7"),
        "shapes_multipliers_of_the_other_column": (
            _with_rho(_two_columns(), [0.0, 1.0], [1.0, 0.0]),
            "Y15",
        ),
        "shapes_multiplier_negative": (_with_rho(_flat(), [-1e-300, 0.0]), "Y15"),
        "shapes_multiplier_at_the_largest_value": (_with_rho(_flat(), [1.0, 1e-300]), "Y15"),
        "shapes_line_above": (_lines(1 / 8 + 2.0**-40), "Y7"),
        "shapes_dip_between_two_kinks": (
            _curve("increasing", (1, 1, 1), (1, 0, -1 - 1e-12), (1, -0.5, 1)),
            "Y16",
        ),
        "shapes_falls_left_of_all_kinks": (_curve("increasing", (1, 2, 1), (-1, -2, 1e-12)), "Y16"),
        "shapes_falls_right_of_all_kinks": (_curve("increasing", (1, 2, 1), (1, -9, -1.5)), "Y16"),
        "shapes_kinks_one_unit_apart": (
            _curve("convex", (1, 0, 1), (-1, 2.0**-52, -1), **tau),
            "Y16",
        ),
        "shapes_bends_down": (_curve("convex", (1, 0, 1), (1, -0.5, -1e-12)), "Y16"),
    }


def shapes_malformed() -> Files:
    """Words, classes and sizes that no file may have."""
    case, u = golden(shapes=["convex"])
    plain, flat = opened(file_of(case, u)), opened(_with_rho(_flat(), [1.0, 0.0]))
    files = {}
    network = {
        "unknown_word": {"shapes": ["rising"]},
        "no_shape": {"shapes": ["none"]},
        "too_long": {"shapes": ["convex", "none"]},
        "with_monotone": {"monotone": [1]},
        "with_one_sign_of_heads": {"heads": "nonnegative"},
        "rho_missing": {"shapes": ["increasing"]},
    }
    for name, edit in network.items():
        file = plain.copy()
        file.top["network"] |= edit
        files[f"shapes_{name}"] = file.sealed()
    file = plain.copy()
    file.claim["constraint"] = "cones"
    files["shapes_by_cones"] = file.sealed()
    file = flat.copy()
    file.tensors["claims.0.rho"] = np.zeros((1, 3))
    files["shapes_rho_too_long"] = file.sealed()
    return files
