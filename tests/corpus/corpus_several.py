"""The files about networks with several outputs: honest ones of both losses and every rule, files
with one fault and the number of the check that must see it, and faults of form.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from tests.checker.regularized_cases import Case, changed, file_of
from tests.checker.several_cases import golden_softmax, golden_squared
from tests.corpus.corpus_regularized import Files, _beside, _edited, _set

F = Fraction


def _three(**network: object) -> tuple[Case, np.ndarray]:
    """Three classes, two columns (one constant), equal values, a sample of weight zero."""
    case = Case(
        np.array([[0.0, 2.0], [1.0, 2.0], [1.0, 2.0], [3.0, 2.0]]),
        np.array([0.0, 1.0, 2.0, 1.0]),
        np.array([[1.0, 0.0], [0.0, 0.5]]),
        np.array([[0.5, -0.25, 0.0], [0.0, 1.0, -1.0]]),
        bias=np.array([-1.0, 0.25]),
        intercept=np.array([0.0, 0.5, -0.5]),
        om=np.array([1.0, 0.5, 2.0, 0.0]),
        loss={"name": "softmax"},
        network={"b": F(4), "outputs": 3} | network,
    )
    U = np.array([[-0.25, 0.125, 0.125], [0.125, -0.25, 0.125], [0.125, 0.125, -0.25], [0, 0, 0]])
    return case, U


def _penalized() -> bytes:
    """Columns of U that do not sum to zero, which D pays for."""
    case, _ = _three(intercept="penalized", k0=F(1, 4))
    U = np.array([[-1.0, 0.75, 0.25], [0, 0, 0], [0, 0, 0], [0, 0, 0]])
    return file_of(case, U)


def several_accepted() -> Files:
    """Both losses, every rule."""
    case, U = _three()
    none = changed(case, bias=None)
    return {
        "several_softmax_with_equality": file_of(*golden_softmax()),
        "several_squared_with_equality": file_of(*golden_squared()),
        "several_three_classes": file_of(case, U),
        "several_two_parts": file_of(case, np.vstack([U, U * 2.0**-60])),
        "several_free_bias": file_of(*_three(hidden_bias="free")),
        "several_no_bias": file_of(none, U),
        "several_penalized_intercept": _penalized(),
        "several_listed_groups": file_of(*_three(groups=[[0], [1]])),
    }


def several_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    case, U = _three()
    plain, tiny = file_of(case, U), F(1, 10**30)
    golden = golden_softmax()[0]
    bounds = {"p_up": F(99), "p_low": F(-99), "gap": F(999)}
    moved = U.copy()
    moved[0] += [0.0, 2.0**-40, -(2.0**-40)]
    own = np.array([[-0.5, 0.5], [0.5, -0.5]])
    negative = np.array([[0.125, -0.125], [-0.125, 0.125]])
    unbalanced = U + np.array([[2.0**-50, 0, 0], [-(2.0**-50), 0, 0], [0, 0, 0], [0, 0, 0]])
    weightless = U.copy()
    weightless[3] = [2.0**-60, -(2.0**-60), 0.0]
    weightless[0] -= weightless[3]
    wide = changed(
        golden, X=np.hstack([golden.X, 2 * golden.X]), W=np.hstack([golden.W, 0 * golden.W])
    )
    stray = replace(case, W=np.array([[1.0, 0.5], [0.0, 0.5]]))
    unit = float(np.nextafter(0.25, 1))
    return {
        "several_neuron_of_two_columns": (file_of(stray, U), "Y1"),
        "several_gap_too_small": (_beside(plain, "gap", -tiny), "Y2"),
        "several_probability_negative": (file_of(golden, negative, **bounds), "Y4"),
        "several_more_than_its_weight": (
            file_of(replace(golden, om=np.array([0.25, 1.0])), own, **bounds),
            "Y4",
        ),
        "several_row_sum_not_zero": (file_of(case, unbalanced, **bounds), "Y4"),
        "several_weight_zero": (file_of(case, weightless, **bounds), "Y4"),
        "several_column_sum_not_zero": (file_of(case, moved, **bounds), "Y5"),
        "several_softmax_above": (file_of(*golden_softmax(unit)), "Y7"),
        "several_squared_above": (file_of(*golden_squared(unit)), "Y7"),
        "several_unused_column_above": (file_of(wide, golden_softmax()[1]), "Y7"),
        "several_free_bias_above": (file_of(*_three(hidden_bias="free", b=F(1, 4))), "Y7"),
        "several_p_up_too_small": (_beside(plain, "p_up", F(-1, 10**6)), "Y12"),
        "several_p_low_too_large": (_beside(plain, "p_low", F(1, 10**6)), "Y13"),
        "several_price_not_paid": (_beside(_penalized(), "p_low", F(1, 10**6)), "Y13"),
        "several_squared_p_up_too_small": (
            _beside(file_of(*golden_squared()), "p_up", -tiny),
            "Y12",
        ),
        "several_squared_p_low_too_large": (
            _beside(file_of(*golden_squared()), "p_low", tiny),
            "Y13",
        ),
    }


def several_malformed() -> Files:
    """Faults of form: classes that several outputs do not have, labels that are no classes."""
    plain, squared = file_of(*golden_softmax()), file_of(*golden_squared())
    network = {
        "outputs_one": ("outputs", 1),
        "outputs_three": ("outputs", 3),
        "outputs_true": ("outputs", True),
        "outputs_too_many": ("outputs", 4097),
        "nonnegative": ("heads", "nonnegative"),
        "monotone": ("monotone", [0]),
        "linear": ("linear", "free"),
    }
    labels = {"half": [0.5, 1.0], "negative": [-1.0, 1.0], "beyond": [0.0, 2.0]}

    def without_outputs(raw: bytes) -> bytes:
        return _edited(raw, lambda file: file.top["network"].pop("outputs"))

    return (
        {
            f"several_{name}": _edited(plain, _set(f"network.{field}", value))
            for name, (field, value) in network.items()
        }
        | {
            f"several_label_{name}": _edited(plain, _set("tensor.y", np.array(y)))
            for name, y in labels.items()
        }
        | {
            "several_softmax_without_outputs": without_outputs(plain),
            "several_squared_without_outputs": without_outputs(squared),
            "several_by_cones": _edited(plain, _set("claim.constraint", "cones")),
            "several_repair": _edited(
                _edited(plain, _set("claim.repair", 1)),
                _set("tensor.claims.0.repair", np.zeros(1, np.int64)),
            ),
            "several_logistic": _edited(
                plain, lambda file: file.top.update(loss={"name": "logistic"})
            ),
            "several_unused_terms": _unused(plain),
        }
    )


def _unused(raw: bytes) -> bytes:
    """A claim that is proved for one output only."""
    fields = {"kind": "unused-terms", "theorem": "unused-terms/1", "h": ["1/2"], "unused": []}
    return _edited(raw, lambda file: file.claim.update(fields))
