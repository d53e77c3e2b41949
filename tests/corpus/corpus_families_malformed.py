"""The files of malformed/ about the families' claims: a field or a tensor missing, of the wrong
shape or too many, unknown words.
"""

from __future__ import annotations

import numpy as np
from tests.corpus import corpus_relu_linearized as linearized
from tests.corpus.corpus_families_accepted import family_accepted
from tests.corpus.whole_files import (
    Edit,
    Whole,
    array,
    inside,
    network,
    new_tensor,
    opened,
    shape_of,
    without,
    word,
)

Files = dict[str, bytes]
KINDS = {
    "gram": ("gram_tanh_weights", ("kernel", "method", "lam", "step", "nodes")),
    "gram_layers": (
        "gram_layers_windows_tanh",
        ("kernel", "method", "lam", "step", "nodes", "layers", "blocks", "terms", "pixels"),
    ),
    "relu_descent": (
        "relu_descent_factor",
        ("tau", "lam", "Lam", "norm", "eps", "eta", "rate", "path"),
    ),
    "relu_linearized": ("relu_linearized_unstable_pairs", linearized.FIELDS),
    "deep": ("deep_dense_tanh", ("a2", "b2", "norm", "t", "eta", "rate")),
    "trap": ("trap_two_patches", ("floor",)),
    "basin": ("basin_two_patches", ()),
    "unique_plain": (
        "unique_plain_quadratic",
        ("form", "r", "r_minus", "mu", "M", "m0", "quartic", "lam"),
    ),
    "unique_split": ("unique_split_quadratic", ("tau", "square")),
    "unique_tensor": ("unique_tensor_quadratic", ("flat2",)),
    "unique_mixed": ("unique_mixed_quadratic", ("tau",)),
    "factorization": (
        "factorization_factor_right",
        ("method", "gap", "floor", "side", "a", "b", "tau"),
    ),
    "factorization_zero": ("factorization_zero", ("gap", "floor")),
    "head": ("head_columns_relu", ("method", "gap", "mu")),
    "head_rows": ("head_rows_relu", ("R",)),
    "second_order_radius": (
        "second_order_radius_minimum_W",
        ("epsilon", "R", "lam", "kappa", "mu", "distance"),
    ),
    "second_order_radius_both": ("second_order_radius_vW_softplus", ("epsilon", "R", "Lip")),
    "saddle_radius_both_layers": ("saddle_radius_both_layers_tanh", ("R", "Lip")),
}


def _drop(name: str) -> Edit:
    return lambda file: file.top.pop(name)


def _data(**fields: object) -> Edit:
    return lambda file: file.top["data"].update(fields)


def _common(kind: str, file: Whole, fields: tuple[str, ...]) -> dict[str, Edit]:
    """What can be wrong with every kind."""
    edits: dict[str, Edit] = {
        f"{kind}_without_{field}": word(**{field: ...}) for field in ("loss_upper", *fields)
    }
    edits[f"{kind}_extra_field"] = word(sigma="1")
    edits[f"{kind}_theorem_of_another_kind"] = word(theorem="group-floor/1")
    edits[f"{kind}_extra_tensor"] = new_tensor("C_extra", np.ones((2, 2)))
    for name, value in file.tensors.items():
        if name.startswith("claims.0."):
            role = name.removeprefix("claims.0.")
            edits[f"{kind}_{role}_missing"] = without(role)
            edits[f"{kind}_{role}_too_long"] = array(role, lambda x: np.concatenate([x, x[-1:]]))
            if value.dtype.kind == "f":
                edits[f"{kind}_{role}_with_nan"] = array(role, lambda x: np.full(x.shape, np.nan))
    return edits


SPECIAL: dict[str, tuple[str, Edit]] = {
    "gram_kernel_unknown": ("gram_tanh_weights", word(kernel="deep")),
    "gram_method_unknown": ("gram_tanh_weights", word(method="quadrature")),
    "gram_nodes_zero": ("gram_tanh_weights", word(nodes=0)),
    "gram_nodes_a_string": ("gram_tanh_weights", word(nodes="28")),
    "gram_closed_with_step": ("gram_relu_weights", word(step="1")),
    "gram_orders_decreasing": ("gram_tanh_weights", array("Q", lambda Q: Q[::-1])),
    "gram_order_negative": ("gram_tanh_weights", array("Q", lambda Q: Q - 1)),
    "gram_order_too_large": ("gram_tanh_weights", array("Q", lambda Q: Q + 4096)),
    "gram_orders_of_floats": ("gram_tanh_weights", array("Q", lambda Q: Q.astype(float))),
    "gram_resnet_order_zero": ("gram_resnet_tanh", array("Q", lambda Q: Q - 1)),
    "gram_resnet_closed": ("gram_resnet_tanh", word(method="closed")),
    "gram_resnet_depth_one": ("gram_resnet_tanh", word(depth=1)),
    "gram_resnet_without_kappa": ("gram_resnet_tanh", word(kappa=...)),
    "gram_layers_empty": ("gram_layers_dense_tanh", word(layers=[])),
    "gram_layers_first_residual": (
        "gram_layers_dense_tanh",
        word(layers=[{"residual": True, "scale2": "1"}]),
    ),
    "gram_layers_residual_a_number": (
        "gram_layers_dense_tanh",
        word(layers=[{"residual": 0, "scale2": "1"}]),
    ),
    "gram_layers_extra_field_inside": (
        "gram_layers_dense_tanh",
        word(layers=[{"residual": False, "scale2": "1", "width": 3}]),
    ),
    "gram_layers_blocks_unknown": ("gram_layers_dense_tanh", word(blocks="first")),
    "gram_layers_terms_zero": ("gram_layers_dense_tanh", word(terms=0)),
    "gram_layers_terms_too_many": ("gram_layers_dense_tanh", word(terms=4097)),
    "gram_layers_closed": ("gram_layers_dense_tanh", word(method="closed")),
    "gram_layers_with_orders": (
        "gram_layers_dense_tanh",
        new_tensor("Q", np.arange(3, dtype=np.int64)),
    ),
    "gram_layers_with_kappa": ("gram_layers_dense_tanh", word(kappa="1")),
    "gram_layers_pixels_zero": ("gram_layers_windows_tanh", word(pixels=0)),
    "gram_layers_pixels_not_dividing": ("gram_layers_windows_tanh", word(pixels=3)),
    "gram_layers_window_outside": ("gram_layers_windows_tanh", array("patches", lambda w: w + 1)),
    "gram_weights_with_layers": (
        "gram_tanh_weights",
        word(layers=[{"residual": False, "scale2": "1"}]),
    ),
    "relu_descent_norm_unknown": ("relu_descent_factor", word(norm="spectral")),
    "relu_descent_rows_with_the_factor": ("relu_descent_factor", word(norm="rows")),
    "relu_descent_weights_a_matrix": ("relu_descent_factor", shape_of("e", 3, 1)),
    "deep_norm_unknown": ("deep_dense_tanh", word(norm="spectral")),
    "deep_layers_empty": ("deep_dense_tanh", network(layers=[])),
    "deep_scale_zero": (
        "deep_dense_tanh",
        lambda file: file.top["network"]["layers"][0].update(scale="0"),
    ),
    "deep_scale_negative": (
        "deep_dense_tanh",
        lambda file: file.top["network"]["layers"][1].update(scale="-1"),
    ),
    "deep_residual_a_number": (
        "deep_dense_tanh",
        lambda file: file.top["network"]["layers"][1].update(residual=1),
    ),
    "deep_first_layer_residual": (
        "deep_dense_tanh",
        lambda file: file.top["network"]["layers"][0].update(residual=True),
    ),
    "deep_weights_missing": ("deep_dense_tanh", without("W_2")),
    "deep_pixel_out_of_range": ("deep_convolution_tanh", array("patches", lambda w: w + 1)),
    "deep_pixels_do_not_divide": ("deep_convolution_tanh", network(pixels=3)),
    "deep_claim_about_a_shallow_network": (
        "deep_dense_tanh",
        word(kind="descent", theorem="descent-path/1"),
    ),
    "trap_in_a_shallow_network": ("trap_two_patches", network(kind="shallow")),
    "trap_law_unknown": ("trap_two_patches", _data(law="uniform-patches")),
    "trap_heads_of_two_lengths": ("trap_two_patches", shape_of("head", 3)),
    "trap_filter_missing": ("trap_two_patches", without("true_filter")),
    "trap_without_loss": ("trap_two_patches", _drop("loss")),
    "basin_with_a_floor": ("basin_two_patches", word(floor="1")),
    "basin_eta_a_number": ("basin_two_patches", word(eta=1)),
    "basin_filters_of_two_lengths": ("basin_two_patches", shape_of("filter", 3)),
    "basin_head_with_nan": ("basin_two_patches", array("head", lambda head: head * np.nan)),
    "basin_network_with_a_width": ("basin_two_patches", network(width=2)),
    "unique_form_unknown": ("unique_plain_quadratic", word(form="best")),
    "unique_form_of_another": ("unique_plain_quadratic", word(form="mixed")),
    "unique_plain_with_tau": ("unique_plain_quadratic", word(tau="1/2")),
    "unique_with_trained": ("unique_plain_quadratic", word(trained="W")),
    "unique_factor_rectangular": ("unique_tensor_quadratic", shape_of("C_m", 2, 1)),
    "unique_quartic_method_unknown": ("unique_split_quadratic", inside("square", method="trace")),
    "unique_mixed_tilt_of_one_column": ("unique_mixed_quadratic", shape_of("V", 2, 1)),
    "factorization_method_unknown": ("factorization_factor_right", word(method="nuclear")),
    "factorization_side_unknown": ("factorization_frobenius_right", word(side="both")),
    "factorization_zero_with_side": ("factorization_zero", word(side="right")),
    "factorization_frobenius_with_C_b": ("factorization_factor_right", word(method="frobenius")),
    "factorization_rows_other": ("factorization_zero", _data(rows=5)),
    "factorization_columns_true": ("factorization_zero", _data(columns=True)),
    "factorization_ranks_of_two_sizes": ("factorization_zero", shape_of("V", 3, 2)),
    "factorization_full_rank_with_the_theorem": (
        "factorization_zero_full_rank",
        word(method="frobenius", side="right", a="1", b="1", tau="2"),
    ),
    "factorization_matrix_missing": ("factorization_zero", without("M")),
    "head_method_unknown": ("head_columns_relu", word(method="both")),
    "head_columns_with_R": ("head_columns_relu", word(R="1")),
    "head_rows_with_gap": ("head_rows_relu", word(gap="1")),
    "head_rows_with_z": ("head_rows_relu", new_tensor("z", np.zeros(7))),
    "head_gap_a_number": ("head_columns_relu", word(gap=1)),
    "second_order_radius_extra_field": ("second_order_radius_W_tanh", inside("radius", rho="1")),
    "second_order_radius_is_a_rational": ("second_order_radius_vW_softplus", word(radius="1")),
    "second_order_radius_Lip_for_W": ("second_order_radius_W_tanh", inside("radius", Lip="1")),
    "second_order_radius_lam_for_both": (
        "second_order_radius_vW_softplus",
        inside("radius", lam="1"),
    ),
    "second_order_radius_minimum_with_blocks": (
        "second_order_radius_W_blocks",
        inside("radius", minimum={"distance": "1", "mu": "1"}),
    ),
    "second_order_radius_minimum_extra_field": (
        "second_order_radius_minimum_W",
        inside("radius.minimum", eps="1"),
    ),
    "second_order_radius_method_unknown": (
        "second_order_radius_W_tanh",
        inside("radius.quartic", method="trace"),
    ),
    "second_order_radius_missing_but_factors_present": (
        "second_order_radius_W_tanh",
        word(radius=...),
    ),
    "saddle_radius_both_layers_with_epsilon": (
        "saddle_radius_both_layers_tanh",
        inside("radius", epsilon="1"),
    ),
    "saddle_radius_both_layers_with_lam": (
        "saddle_radius_both_layers_tanh",
        inside("radius", lam="1"),
    ),
    "saddle_radius_both_layers_Lip_a_number": (
        "saddle_radius_both_layers_tanh",
        inside("radius", Lip=1),
    ),
}


def family_malformed() -> Files:
    """All of them: file name without ending -> bytes."""
    honest = {name: opened(raw) for name, raw in family_accepted().items()}
    table = SPECIAL | linearized.MALFORMED
    for kind, (base, fields) in KINDS.items():
        table |= {name: (base, edit) for name, edit in _common(kind, honest[base], fields).items()}
    files = {}
    for name, (base, edit) in table.items():
        file = honest[base].copy()
        edit(file)
        files[name] = file.sealed()
    return files
