"""The files of malformed/ whose fault is in a claim: its rationals, its fields, its tensors, its
indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.corpus.drafts import Draft, assemble, canonical, certificate_object, seal, tensors_of
from tests.corpus.resealing import with_claim, with_tensors

RATIONALS = {
    "float": "0.5",
    "not_in_lowest_terms": "2/4",
    "denominator_one": "3/1",
    "denominator_zero": "1/0",
    "denominator_negative": "1/-2",
    "minus_zero": "-0",
    "plus_sign": "+1",
    "leading_zero": "01/2",
    "leading_zero_of_denominator": "1/02",
    "space": "1 /2",
    "empty": "",
    "exponent": "1e3",
    "underscore": "1_000",
    "newline_at_the_end": "1/2\n",
    "other_digits": "\u0661/2",
    "nan": "nan",
    "too_long": "1" * 2501,
    "zero_fraction": "0/2",
}


def claim_faults(drafts: dict[str, Draft]) -> dict[str, bytes]:
    """Faults of claim objects and of their tensors."""
    W, vW = drafts["interpolation_softplus_W_rows"], drafts["interpolation_softplus_vW_svec"]
    down, factor = drafts["descent_softplus_W_rows_rows"], drafts["descent_softplus_vW_svec_factor"]
    n, floats = len(W.y), np.ones
    files = {f"rational_{word}": with_claim(W, a2=text) for word, text in RATIONALS.items()}
    files |= {
        "rational_as_integer": with_claim(W, a2=1),
        "rational_as_boolean": with_claim(W, a2=True),
        "rational_as_array": with_claim(W, a2=["1"]),
        "claim_unknown_kind": with_claim(W, kind="optimality"),
        "claim_kind_missing": with_claim(W, kind=None),
        "claim_kind_is_an_array": with_claim(W, kind=["interpolation"]),
        "claim_version_2": with_claim(W, version=2),
        "claim_version_string": with_claim(W, version="1"),
        "claim_version_true": with_claim(W, version=True),
        "claim_theorem_of_another_kind": with_claim(W, theorem="descent-path/1"),
        "claim_extra_field": with_claim(W, note="x"),
        "claim_without_loss_upper": with_claim(W, loss_upper=None),
        "claim_trained_v": with_claim(W, trained="v"),
        "claim_beta2_with_W": with_claim(W, beta2="1"),
        "claim_vW_without_beta2": with_claim(vW, beta2=None),
        "claim_quartic_other_method": with_claim(W, quartic={"kappa": "1", "method": "trace"}),
        "claim_quartic_rows_with_t": with_claim(
            W, quartic={"kappa": "1", "method": "rows", "t": "0"}
        ),
        "claim_quartic_svec_without_t": with_claim(vW, quartic={"kappa": "1", "method": "svec"}),
        "claim_quartic_is_a_rational": with_claim(W, quartic="1"),
        "claim_descent_other_norm": with_claim(down, norm="frobenius"),
        "claim_descent_with_R": with_claim(down, R="1"),
        "claim_descent_factor_without_C_b": with_tensors(factor, claims__0__C_b=None),
        "claim_descent_rows_with_C_b": with_tensors(down, claims__0__C_b=floats((3, 3))),
        "tensor_missing_z": with_tensors(W, claims__0__z=None),
        "tensor_missing_W": with_tensors(W, W=None),
        "tensor_missing_X": with_tensors(W, X=None),
        "tensor_unknown": with_tensors(W, extra=floats(1)),
        "tensor_of_a_claim_that_is_not_there": with_tensors(W, claims__1__z=floats(n)),
        "tensor_claim_index_with_leading_zero": _renamed_tensor(W, "claims.0.z", "claims.00.z"),
        "tensor_C_a_rectangular": with_tensors(W, claims__0__C_a=floats((n, n + 1))),
        "tensor_C_a_flat": with_tensors(W, claims__0__C_a=floats(n * n)),
        "tensor_C_a_integers": with_tensors(W, claims__0__C_a=np.eye(n, dtype=np.int64)),
        "tensor_C_kappa_of_the_other_method": with_tensors(W, claims__0__C_kappa=floats((3, 3))),
        "tensor_C_beta_with_W": with_tensors(W, claims__0__C_beta=floats((2, 2))),
        "tensor_z_too_long": with_tensors(W, claims__0__z=floats(n + 1)),
        "tensor_z_a_column": with_tensors(W, claims__0__z=floats((n, 1))),
        "tensor_v_too_short": with_tensors(W, v=floats(2)),
        "tensor_v_integers": with_tensors(W, v=np.ones(3, dtype=np.int64)),
        "tensor_y_too_long": with_tensors(W, y=floats(n + 1)),
        "tensor_W_other_width": with_tensors(W, W=floats((3, 3))),
        "tensor_F64_empty": with_tensors(W, claims__0__z=np.zeros(0)),
        "number_nan_in_X": with_tensors(W, X=np.full((3, 2), np.nan)),
        "number_infinity_in_W": with_tensors(W, W=np.full((3, 2), np.inf)),
        "number_nan_in_C_a": with_tensors(W, claims__0__C_a=np.full((n, n), np.nan)),
        "number_minus_infinity_in_z": with_tensors(W, claims__0__z=np.full(n, -np.inf)),
        "number_signaling_nan_in_z": with_tensors(
            W, claims__0__z=np.array([0x7FF0000000000001] * n, dtype=np.uint64).view(np.float64)
        ),
    }
    return files


def _renamed_tensor(draft: Draft, old: str, new: str) -> bytes:
    tensors = tensors_of(draft)
    tensors[new] = tensors.pop(old)
    return assemble(canonical(certificate_object(draft)), tensors)


def index_faults(drafts: dict[str, Draft]) -> dict[str, bytes]:
    """Faults of the integer tensors."""
    relu, dropped, floor = (
        drafts["relu_plain"],
        drafts["relu_dropped_samples"],
        drafts["floor_several_groups"],
    )

    def integers(*numbers: Any) -> Any:
        return np.array(numbers, dtype=np.int64)

    return {
        "relu_T_empty": with_tensors(relu, claims__0__T=np.zeros(0, dtype=np.int64)),
        "relu_T_not_increasing": with_tensors(relu, claims__0__T=integers(1, 0)),
        "relu_T_repeats": with_tensors(relu, claims__0__T=integers(1, 1)),
        "relu_T_out_of_range": with_tensors(relu, claims__0__T=integers(0, 5)),
        "relu_T_largest_integer": with_tensors(relu, claims__0__T=integers(0, 2**63 - 1)),
        "relu_dropped_smallest_integer": with_tensors(
            dropped, claims__0__dropped=integers([-(2**63), -1], [4, 0], [5, 1])
        ),
        "floor_sizes_add_up_modulo_two_to_the_64": with_tensors(
            floor, claims__0__sizes=integers(2**63 - 1, 2**63 - 1, 7)
        ),
        "floor_member_largest_integer": with_tensors(
            floor, claims__0__members=integers(2**63 - 1, 3, 0, 2, 1)
        ),
        "relu_T_negative": with_tensors(relu, claims__0__T=integers(-1, 0)),
        "relu_T_floats": with_tensors(relu, claims__0__T=np.array([0.0, 1.0])),
        "relu_W_hat_missing": with_tensors(relu, claims__0__W_hat=None),
        "relu_W_hat_other_width": with_tensors(relu, claims__0__W_hat=np.ones((4, 2))),
        "relu_factor_of_the_wrong_order": with_tensors(relu, claims__0__C=np.eye(2)),
        "relu_factor_counts_dropped_samples": with_tensors(dropped, claims__0__C=np.eye(6)),
        "relu_dropped_out_of_range": with_tensors(
            dropped, claims__0__dropped=integers([3, -1], [4, 0], [6, 1])
        ),
        "relu_dropped_partner_out_of_range": with_tensors(
            dropped, claims__0__dropped=integers([3, -1], [4, 0], [5, 6])
        ),
        "relu_dropped_partner_minus_two": with_tensors(
            dropped, claims__0__dropped=integers([3, -2], [4, 0], [5, 1])
        ),
        "relu_dropped_for_a_dropped_sample": with_tensors(
            dropped, claims__0__dropped=integers([3, -1], [4, 5], [5, 1])
        ),
        "relu_dropped_for_itself": with_tensors(
            dropped, claims__0__dropped=integers([3, -1], [4, 4], [5, 1])
        ),
        "relu_dropped_not_increasing": with_tensors(
            dropped, claims__0__dropped=integers([4, 0], [3, -1], [5, 1])
        ),
        "relu_dropped_repeats": with_tensors(
            dropped, claims__0__dropped=integers([3, -1], [3, -1], [5, 1])
        ),
        "relu_dropped_three_columns": with_tensors(
            dropped, claims__0__dropped=integers([3, -1, 0], [4, 0, 0], [5, 1, 0])
        ),
        "relu_dropped_flat": with_tensors(relu, claims__0__dropped=np.zeros(0, dtype=np.int64)),
        "floor_sample_in_two_groups": with_tensors(
            floor, claims__0__members=integers(4, 3, 3, 2, 1)
        ),
        "floor_member_out_of_range": with_tensors(
            floor, claims__0__members=integers(4, 3, 0, 2, 5)
        ),
        "floor_member_negative": with_tensors(floor, claims__0__members=integers(-1, 3, 0, 2, 1)),
        "floor_sizes_too_small": with_tensors(floor, claims__0__sizes=integers(2, 1, 1)),
        "floor_sizes_too_large": with_tensors(floor, claims__0__sizes=integers(2, 2, 2)),
        "floor_size_zero": with_tensors(floor, claims__0__sizes=integers(2, 3, 0)),
        "floor_size_negative": with_tensors(floor, claims__0__sizes=integers(2, 4, -1)),
        "floor_kinds_too_few": with_tensors(floor, claims__0__kinds=integers(0, 2)),
        "floor_kind_six": with_tensors(floor, claims__0__kinds=integers(0, 2, 6)),
        "floor_kind_negative": with_tensors(floor, claims__0__kinds=integers(0, 2, -1)),
        "floor_no_group": with_tensors(
            floor,
            claims__0__members=integers(),
            claims__0__sizes=integers(),
            claims__0__kinds=integers(),
        ),
        "floor_heads_positive": with_claim(floor, heads="positive"),
        "floor_gap_missing": with_claim(floor, gap=None),
        "floor_sixty_five_claims": _sixty_five(drafts["floor_ray_relu"]),
    }


def _sixty_five(draft: Draft) -> bytes:
    many = draft.copy()
    many.claims = [many.claims[0]] * 65
    return seal(many)
