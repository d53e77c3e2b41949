"""The files of malformed/ whose fault is in one of the later claims: fields, words, tensors,
indices, limits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.corpus.drafts import Draft
from tests.corpus.resealing import with_claim, with_tensors

KINDS = {
    "gap": "gap_positive_nonnegative",
    "identifies": "identifies_stable",
    "ambiguous": "ambiguous_kernel",
    "barrier": "barrier_factor",
    "saddle": "saddle_tanh_W_radius_rows",
    "second_order": "second_order_tanh_W_blocks",
}
REQUIRED = {
    "gap": ("gap", "heads", "method"),
    "identifies": (),
    "ambiguous": ("sigma2", "difference"),
    "barrier": ("phi", "Phi", "norm", "a_lo", "a_hi", "E0", "eta", "rate"),
    "saddle": ("trained", "gamma", "eps"),
    "second_order": ("trained", "eps", "delta", "method"),
}


def common_faults(drafts: dict[str, Draft]) -> dict[str, bytes]:
    """What can be wrong with every kind: a field or tensor missing or too many, a number of the
    wrong type or shape.
    """
    files: dict[str, bytes] = {}
    for kind, base in KINDS.items():
        draft = drafts[base]
        for field in ("loss_upper", "theorem", *REQUIRED[kind]):
            files[f"{kind}_without_{field}"] = with_claim(draft, **{field: None})
        files[f"{kind}_extra_field"] = with_claim(draft, rho="1")
        files[f"{kind}_theorem_of_another_kind"] = with_claim(draft, theorem="group-floor/1")
        files[f"{kind}_loss_upper_is_a_number"] = with_claim(draft, loss_upper=1)
        files[f"{kind}_extra_tensor"] = with_tensors(draft, claims__0__C_a=np.ones((2, 2)))
        files |= _tensor_faults(kind, draft)
    return files


def _tensor_faults(kind: str, draft: Draft) -> dict[str, bytes]:
    files = {}
    for role, array in draft.claims[0].tensors.items():
        integers = array.dtype.kind == "i"
        spoiled: dict[str, Any] = {"missing": None, "too_long": np.concatenate([array, array[:1]])}
        if integers:
            spoiled["of_floats"] = array.astype(float)
        else:
            spoiled["with_nan"] = np.full(array.shape, np.nan)
        for fault, value in spoiled.items():
            files[f"{kind}_{role}_{fault}"] = with_tensors(draft, **{f"claims__0__{role}": value})
    return files


def special_faults(drafts: dict[str, Draft]) -> dict[str, bytes]:
    """Words, conditional fields and index sets of single kinds."""
    positive, rank, span = (
        drafts["gap_positive_nonnegative"],
        drafts["gap_rank_nonnegative"],
        drafts["gap_span"],
    )
    any_head, plain, counted = (
        drafts["gap_decay_any"],
        drafts["identifies"],
        drafts["ambiguous_one_sample_less"],
    )
    rows, ball, both = (
        drafts["barrier_rows"],
        drafts["saddle_tanh_W_radius_rows"],
        drafts["saddle_tanh_vW"],
    )
    dense, blocks = drafts["second_order_tanh_vW_dense"], drafts["second_order_tanh_W_blocks"]
    radius = {"R": "1", "lam": "1", "quartic": {"kappa": "1", "method": "rows"}}

    def chosen(*numbers: Any) -> bytes:
        return with_tensors(rank, claims__0__rows=np.array(numbers, dtype=np.int64))

    return {
        "gap_method_unknown": with_claim(positive, method="negative"),
        "gap_positive_for_any_head": with_claim(positive, heads="any"),
        "gap_heads_unknown": with_claim(any_head, heads="positive"),
        "gap_positive_with_mu": with_claim(positive, mu="1"),
        "gap_positive_with_decay": with_claim(positive, decay="1", v_max="1"),
        "gap_span_with_heads": with_claim(span, heads="nonnegative"),
        "gap_span_with_rank": with_claim(span, rank=1),
        "gap_span_without_mu": with_claim(span, mu=None),
        "gap_decay_without_v_max": with_claim(any_head, v_max=None),
        "gap_decay_with_rank": with_claim(any_head, rank=1),
        "gap_decay_nonnegative_with_the_upper_factor": with_claim(any_head, heads="nonnegative"),
        "gap_rank_zero": with_claim(rank, rank=0),
        "gap_rank_is_d": with_claim(rank, rank=3),
        "gap_rank_negative": with_claim(rank, rank=-2),
        "gap_rank_a_string": with_claim(rank, rank="2"),
        "gap_rank_true": with_claim(rank, rank=True),
        "gap_rank_other_than_the_rows": with_claim(rank, rank=1),
        "gap_rank_missing_but_rows_present": with_claim(rank, rank=None),
        "gap_rows_not_increasing": chosen(3, 0),
        "gap_rows_repeat": chosen(3, 3),
        "gap_rows_out_of_range": chosen(0, 5),
        "gap_rows_negative": chosen(-1, 3),
        "gap_rows_largest_integer": chosen(0, 2**63 - 1),
        "gap_rows_empty": chosen(),
        "gap_rows_a_matrix": chosen([0, 3]),
        "identifies_factor_without_mu": with_claim(drafts["identifies_stable"], mu=None),
        "identifies_mu_without_factor": with_claim(plain, mu="1"),
        "ambiguous_kernel_although_counting_suffices": with_tensors(
            counted, claims__0__M=np.eye(2, dtype=np.int64)
        ),
        "barrier_norm_unknown": with_claim(rows, norm="spectral"),
        "barrier_factor_without_C_Phi": with_claim(rows, norm="factor"),
        "barrier_rows_with_C_Phi": with_claim(drafts["barrier_factor"], norm="rows"),
        "barrier_factor_of_order_d": with_tensors(rows, claims__0__C_phi=np.eye(2)),
        "saddle_trained_v": with_claim(ball, trained="v"),
        "saddle_radius_for_both_layers": with_claim(both, radius=radius),
        "saddle_radius_extra_field": with_claim(ball, radius=radius | {"rho": "1"}),
        "saddle_radius_without_lam": with_claim(
            ball, radius={name: x for name, x in radius.items() if name != "lam"}
        ),
        "saddle_radius_is_a_rational": with_claim(ball, radius="1"),
        "saddle_radius_other_quartic": with_claim(
            ball, radius=radius | {"quartic": {"kappa": "1", "method": "trace"}}
        ),
        "saddle_radius_rows_with_t": with_claim(
            ball, radius=radius | {"quartic": {"kappa": "1", "method": "rows", "t": "0"}}
        ),
        "saddle_radius_svec_with_a_small_factor": with_claim(
            ball, radius=radius | {"quartic": {"kappa": "1", "method": "svec", "t": "0"}}
        ),
        "saddle_radius_missing_but_factors_present": with_claim(ball, radius=None),
        "saddle_head_direction_with_W": with_claim(both, trained="W"),
        "saddle_no_head_direction_with_vW": with_tensors(both, claims__0__u=None),
        "second_order_method_unknown": with_claim(dense, method="lanczos"),
        "second_order_blocks_for_both_layers": with_claim(dense, method="blocks"),
        "second_order_dense_with_block_factors": with_claim(blocks, method="dense"),
        "second_order_factor_of_the_other_trained": with_claim(dense, trained="W"),
        "second_order_factor_rectangular": with_tensors(dense, claims__0__C=np.ones((6, 2))),
    }


def quadratic_malformed(drafts: dict[str, Draft]) -> dict[str, bytes]:
    """All of them: file name -> certificate bytes."""
    return common_faults(drafts) | special_faults(drafts)
