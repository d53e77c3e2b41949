"""The files of rejected/ about the families' claims: one fault in an honest file, with the number
of the check that must see it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from tests.corpus import corpus_families_accepted as a
from tests.corpus.corpus_families_sole_faults import family_sole_faults
from tests.corpus.corpus_layers_rejected import LAYERS
from tests.corpus.corpus_relu_linearized import RELU_LINEARIZED, linearized_file
from tests.corpus.edits import add, exchange, negate, zero
from tests.corpus.whole_files import (
    Edit,
    Whole,
    array,
    hidden,
    network,
    opened,
    put,
    several,
    times,
    transplanted,
)

Table = dict[str, tuple[str, Edit, str]]
MORE, LESS = 1.01, 0.99


def sooner(name: str, share: float) -> Edit:
    """Bring a rate nearer to zero by a share of its distance from one."""

    def edit(file: Whole) -> None:
        rate = Fraction(file.claim[name])
        put(**{name: 1 - (1 - rate) * (1 + Fraction(share))})(file)

    return edit


def square_times(factor: float) -> Edit:
    """Multiply the bound of the second quartic form."""

    def edit(file: Whole) -> None:
        square = file.claim["square"]
        square["kappa"] = str(Fraction(square["kappa"]) * Fraction(factor))

    return edit


GRAM: Table = {
    "closed_form_of_abs": ("gram_relu_weights", network(activation="abs"), "G1"),
    "series_of_relu": ("gram_erf_weights", network(activation="relu"), "G1"),
    "lam_zero": ("gram_relu_weights", put(lam=0), "G2a"),
    "kappa_zero": ("gram_resnet_tanh", put(kappa=0), "G2b"),
    "c_res_negative": ("gram_resnet_tanh", several(times("c_res", -1), times("lam", 0.5)), "G2c"),
    "c_sigma_zero": ("gram_resnet_tanh", put(c_sigma=0), "G2d"),
    "step_negative": ("gram_erf_weights", times("step", -1), "G2e"),
    "row_zero": ("gram_relu_weights", array("X", lambda X: np.vstack([0 * X[:1], X[1:]])), "G3"),
    "label_changed": ("gram_relu_weights", array("y", add(0, 0.5)), "G4"),
    "nodes_too_near": ("gram_erf_weights", lambda file: file.claim.update(nodes=3), "G5"),
    "resnet_lam_too_large": ("gram_resnet_tanh", times("lam", MORE), "G6"),
    "lam_too_large": ("gram_relu_weights", times("lam", 1.02), "G7"),
    "features_lam_too_large": ("gram_relu_features", times("lam", 1.02), "G7"),
    "series_lam_too_large": ("gram_tanh_weights", times("lam", 1.02), "G7"),
    "resnet_kappa_too_large": ("gram_resnet_tanh", times("kappa", 1.02), "G7"),
    "rows_parallel": (
        "gram_relu_weights",
        array("X", lambda X: np.vstack([2 * X[1:2], X[1:]])),
        "G7",
    ),
    "sample_changed": ("gram_relu_weights", array("X", add((0, 0), 0.5)), "G7"),
    "factor_zero": ("gram_relu_weights", array("C", zero), "G7"),
    "one_order_only": ("gram_erf_weights", array("Q", lambda Q: Q[1:2]), "G7"),
}
RELU_DESCENT: Table = {
    "activation_abs": ("relu_descent_golden", network(activation="abs"), "V1"),
    "tau_zero": ("relu_descent_golden_at_zero_loss", put(tau=0), "V2a"),
    "lam_zero": ("relu_descent_golden", put(lam=0), "V2b"),
    "Lam_zero": ("relu_descent_golden", put(Lam=0), "V2c"),
    "eta_negative": ("relu_descent_golden", put(eta=-1), "V2d"),
    "path_negative": ("relu_descent_golden", times("path", -1), "V2e"),
    "eps_negative": ("relu_descent_golden", put(eps=Fraction(-1, 10**9)), "V2f"),
    "rate_negative": ("relu_descent_golden", put(rate=-1), "V2g"),
    "rate_one": ("relu_descent_golden", put(rate=1), "V2h"),
    "weight_zero": ("relu_descent_golden", array("e", zero), "V2i"),
    "eps_is_lam": ("relu_descent_golden_at_zero_loss", put(eps=Fraction(999999, 10**6)), "V3"),
    "eta_too_large": ("relu_descent_factor", times("eta", MORE), "V4"),
    "rate_too_small": ("relu_descent_factor", sooner("rate", 1e-6), "V5"),
    "path_too_short": ("relu_descent_factor", times("path", LESS), "V6"),
    "loss_upper_too_small": ("relu_descent_golden", times("loss_upper", LESS), "V7"),
    "label_changed": ("relu_descent_factor", hidden(array("y", add(0, 0.5))), "V8"),
    "label_behind_the_kink": ("relu_descent_golden", hidden(array("y", lambda y: y - 1)), "V8"),
    "eps_too_small": ("relu_descent_unstable_pairs", times("eps", LESS), "V9"),
    "neuron_at_the_kink": (
        "relu_descent_golden_at_zero_loss",
        several(array("W", zero), array("y", zero)),
        "V9",
    ),
    "Lam_too_small": ("relu_descent_factor", times("Lam", LESS), "V10"),
    "Lam_too_small_for_the_rows": ("relu_descent_rows", times("Lam", LESS), "V10"),
    "factor_C_Lam_zero": ("relu_descent_factor", array("C_Lam", zero), "V10"),
    "lam_too_large": ("relu_descent_factor", times("lam", 1.002), "V11"),
    "factor_zero": ("relu_descent_factor", array("C", zero), "V11"),
    "one_head_doubled": ("relu_descent_rows", hidden(array("v", lambda v: 2 * v)), ""),
}
DEEP: Table = {
    "activation_quadratic": ("deep_dense_tanh", hidden(network(activation="quadratic")), "N1"),
    "a2_zero": ("deep_dense_tanh", put(a2=0), "N2a"),
    "b2_zero": ("deep_dense_tanh", put(b2=0), "N2b"),
    "t_negative": ("deep_dense_tanh", times("t", -1), "N2c"),
    "eta_zero": ("deep_dense_tanh", put(eta=0), "N2d"),
    "rate_negative": ("deep_dense_tanh", put(rate=-1), "N2e"),
    "rate_one": ("deep_dense_tanh", put(rate=1), "N2f"),
    "norm_of_a_layer_zero": ("deep_dense_tanh", array("omega", zero), "N2g"),
    "loss_upper_negative": ("deep_dense_tanh", put(loss_upper=-1), "N3"),
    "radius_too_large": ("deep_dense_tanh", put(t=10), "N4"),
    "radius_too_small": ("deep_dense_tanh", put(t=Fraction(1, 10**40)), "N5"),
    "label_changed": ("deep_dense_tanh", hidden(array("y", add(0, 0.25))), "N5"),
    "eta_too_large": ("deep_convolution_tanh", times("eta", MORE), "N6"),
    "rate_too_small": ("deep_residual_sigmoid", sooner("rate", 0.01), "N7"),
    "norm_of_a_layer_too_small": (
        "deep_dense_tanh",
        array("omega", lambda omega: omega * [1.0, 0.99]),
        "N8.2",
    ),
    "factor_of_the_first_layer_zero": ("deep_convolution_tanh", array("C_omega_1", zero), "N8.1"),
    "b2_too_small": ("deep_dense_tanh", times("b2", LESS), "N9"),
    "b2_too_small_for_the_rows": ("deep_dense_one_layer_rows", times("b2", LESS), "N9"),
    "a2_too_large": ("deep_dense_tanh", times("a2", 1.002), "N10"),
    "factor_zero": ("deep_dense_tanh", array("C_a", zero), "N10"),
    "window_turned": ("deep_convolution_tanh", hidden(array("patches", lambda w: w[:, ::-1])), ""),
    "weights_of_the_second_layer_exchanged": (
        "deep_dense_tanh",
        hidden(array("W_2", exchange)),
        "",
    ),
}
FILTER: Table = {
    "trap_filter_zero": ("trap_two_patches", array("filter", zero), "T1a"),
    "trap_true_filter_zero": ("trap_two_patches", array("true_filter", zero), "T1b"),
    "trap_true_head_zero": ("trap_two_patches", array("true_head", zero), "T1c"),
    "trap_head_on_the_other_side": ("trap_two_patches", array("head", lambda head: -head), "T2"),
    "trap_above_the_barrier": (
        "trap_two_patches",
        hidden(array("filter", lambda v: v * [1.0, -1.0])),
        "T3",
    ),
    "trap_loss_upper_too_small": ("trap_two_patches", times("loss_upper", LESS), "T4"),
    "trap_eta_zero": ("trap_two_patches", put(eta=0), "T5a"),
    "trap_eta_too_large": ("trap_nine_patches", times("eta", 1.001), "T5b"),
    "trap_floor_zero": ("trap_two_patches", put(floor=0), "T6"),
    "trap_floor_too_high": ("trap_of_the_flow", times("floor", 1.001), "T7"),
    "basin_filter_zero": ("basin_two_patches", array("filter", zero), "T1a"),
    "basin_head_on_the_other_side": ("basin_two_patches", array("head", lambda head: -head), "T2"),
    "basin_above_the_barrier": (
        "basin_two_patches",
        hidden(array("head", lambda head: 5 * head)),
        "T3",
    ),
    "basin_loss_upper_too_small": ("basin_two_patches", times("loss_upper", LESS), "T4"),
    "basin_eta_negative": ("basin_two_patches", put(eta=-1), "T5a"),
    "basin_eta_too_large": ("basin_above_the_threshold", times("eta", 1.001), "T5b"),
    "basin_filter_opposite": ("basin_two_patches", lambda file: _opposite(file), "T8"),
}


def _opposite(file: Whole) -> None:
    file.tensors["filter"] = -2.0 * file.tensors["true_filter"]


UNIQUE: Table = {
    "activation_relu": ("unique_golden", network(activation="relu"), "U1"),
    "r_zero": ("unique_golden", put(r=0), "U2.r"),
    "mu_negative": ("unique_plain_tanh", times("mu", -1), "U2.mu"),
    "tau_one": ("unique_mixed_tanh", put(tau=1), "U2.tau1"),
    "r_minus_negative": ("unique_split_tanh", times("r_minus", -1), "U2.r_minus"),
    "loss_upper_negative": ("unique_golden", put(loss_upper=-1), "U3"),
    "loss_upper_too_small": ("unique_tensor_tanh", times("loss_upper", 0.25), "U3"),
    "golden_beyond_the_largest_radius": ("unique_golden", put(r=Fraction(27, 100)), "U4"),
    "r_minus_zero": ("unique_plain_tanh", put(r_minus=0), "U6"),
    "gradient_too_large": ("unique_plain_tanh", hidden(array("W", add((0, 0), 1e-3))), "U6"),
    "r_minus_above_half_the_radius": ("unique_golden", put(r_minus=Fraction(11, 100)), "U7"),
    "label_changed": ("unique_mixed_tanh", hidden(array("y", add(0, 0.25))), "U6"),
    "sample_changed": (
        "unique_golden",
        hidden(array("X", negate((0, 0))), array("W", lambda W: W * 0.5)),
        "",
    ),
    "lam_too_small": ("unique_plain_tanh", times("lam", 0.9), "U13"),
    "flat2_too_small": ("unique_tensor_tanh", times("flat2", 0.9), "U13"),
    "square_too_small": ("unique_split_tanh", square_times(0.9), "U14"),
    "tilt_of_another_size": ("unique_mixed_tanh", array("V", lambda V: V * 8), "U10"),
    "factor_C_m_zero": ("unique_mixed_quadratic", array("C_m", zero), "U10"),
    "factor_C_square_zero": ("unique_split_quadratic", array("C_square", zero), "U14"),
    "factor_C_flat_zero": ("unique_tensor_quadratic", array("C_flat", zero), "U13"),
}
for _form in ("plain", "split", "tensor", "mixed"):
    UNIQUE |= {
        f"{_form}_mu_too_large": (f"unique_{_form}_tanh", times("mu", MORE), "U4"),
        f"{_form}_M_too_small": (f"unique_{_form}_tanh", times("M", LESS), "U5"),
        f"{_form}_eta_too_large": (f"unique_{_form}_tanh", times("eta", MORE), "U8"),
        f"{_form}_rate_too_small": (f"unique_{_form}_tanh", sooner("rate", 0.01), "U9"),
        f"{_form}_m0_too_large": (f"unique_{_form}_tanh", times("m0", MORE), "U10"),
        f"{_form}_M0_too_small": (f"unique_{_form}_tanh", times("M0", LESS), "U11"),
        f"{_form}_kappa_too_small": (f"unique_{_form}_tanh", times("kappa", 0.9), "U12"),
    }
FACTORIZATION: Table = {
    "gap_negative": ("factorization_frobenius_right", times("gap", -1), "F1a"),
    "floor_negative": ("factorization_zero", put(floor=-1), "F1b"),
    "loss_upper_too_small": ("factorization_frobenius_right", times("loss_upper", LESS), "F2"),
    "a_zero": ("factorization_frobenius_right", put(a=0), "F3a"),
    "b_not_below_tau": ("factorization_frobenius_right", put(tau=0), "F3b"),
    "a_too_large": ("factorization_frobenius_right", times("a", MORE), "F4"),
    "left_a_too_large": ("factorization_factor_left", times("a", MORE), "F4"),
    "factor_C_a_zero": ("factorization_factor_right", array("C_a", zero), "F4"),
    "b_too_small": ("factorization_frobenius_right", times("b", LESS), "F5"),
    "left_b_too_small": ("factorization_frobenius_left", times("b", LESS), "F5"),
    "b_too_small_for_the_factor": ("factorization_factor_right", times("b", LESS), "F6"),
    "factor_C_b_zero": ("factorization_factor_left", array("C_b", zero), "F6"),
    "gap_too_small": ("factorization_frobenius_right", times("gap", LESS), "F7"),
    "zero_gap_too_small": ("factorization_zero", times("gap", LESS), "F7"),
    "entry_changed": ("factorization_zero", hidden(array("M", add((0, 0), 0.5))), "F7"),
    "entry_of_the_product_changed": (
        "factorization_factor_right",
        hidden(array("U", add((0, 0), 0.01))),
        "F7",
    ),
    "other_side": (
        "factorization_frobenius_right",
        lambda file: file.claim.update(side="left"),
        "",
    ),
    "floor_too_high": ("factorization_frobenius_right", times("floor", MORE), "F8"),
    "zero_floor_positive": ("factorization_zero", put(floor=Fraction(1, 10**9)), "F8"),
}
EPSILON = Fraction(1, 10**9)


def _just_beyond(file: Whole) -> None:
    """A distance a little above eps/mu: outward by the gradient alone, not by the Lipschitz
    constant.
    """
    minimum = file.claim["radius"]["minimum"]
    minimum["distance"] = str(Fraction(file.claim["eps"]) / Fraction(minimum["mu"]) * (1 + EPSILON))


def _beyond_the_ball(file: Whole) -> None:
    radius = file.claim["radius"]
    radius["minimum"]["distance"] = str(2 * Fraction(radius["R"]))


RADIUS: Table = {
    "R_zero": ("second_order_radius_W_tanh", put(R=0), "T7a"),
    "both_R_negative": ("second_order_radius_vW_softplus", times("R", -1), "T7a"),
    "lam_zero": ("second_order_radius_W_tanh", put(lam=0), "T7b"),
    "both_Lip_zero": ("second_order_radius_vW_softplus", put(Lip=0), "T7b"),
    "both_Lip_negative": ("second_order_radius_vW_softplus", times("Lip", -1), "T7b"),
    "kappa_negative": ("second_order_radius_W_tanh", times("kappa", -1), "T7c"),
    "lam_too_small": (
        "second_order_radius_W_tanh",
        several(times("lam", LESS), times("epsilon", 2)),
        "T8",
    ),
    "both_Lip_too_small": (
        "second_order_radius_vW_softplus",
        several(times("Lip", LESS), times("epsilon", 2)),
        "T8",
    ),
    "ball_too_large": ("second_order_radius_W_blocks", times("R", 4), "T8"),
    "both_ball_too_large": ("second_order_radius_vW_softplus", times("R", 4), "T8"),
    "kappa_too_small": (
        "second_order_radius_W_tanh",
        several(times("kappa", LESS), times("epsilon", 2)),
        "T9",
    ),
    "epsilon_below_eps": ("second_order_radius_minimum_W", times("epsilon", LESS), "T10a"),
    "epsilon_too_small_for_delta": ("second_order_radius_minimum_vW", put(Lip=EPSILON), "T10b"),
    "mu_zero": ("second_order_radius_minimum_W", put(mu=0), "T11a"),
    "distance_zero": ("second_order_radius_minimum_W", put(distance=0), "T11b"),
    "minimum_beyond_the_ball": ("second_order_radius_minimum_W", _beyond_the_ball, "T11c"),
    "ball_too_large_for_the_minimum": ("second_order_radius_minimum_W", times("R", 10**6), "T11d"),
    "distance_too_small": ("second_order_radius_minimum_vW", times("distance", LESS), "T11e"),
    "distance_a_little_too_small": ("second_order_radius_minimum_vW", _just_beyond, "T11f"),
    "mu_too_large": ("second_order_radius_minimum_W", times("mu", 1.002), "T12"),
    "factor_C_mu_zero": ("second_order_radius_minimum_vW", array("C_mu", zero), "T12"),
    "label_changed": ("second_order_radius_minimum_W", hidden(array("y", add(0, 0.5))), "T4"),
}
SADDLE_RADIUS: Table = {
    "R_zero": ("saddle_radius_both_layers_tanh", put(R=0), "S7a"),
    "Lip_negative": ("saddle_radius_both_layers_tanh", times("Lip", -1), "S7b"),
    "ball_too_large": ("saddle_radius_both_layers_tanh", times("R", 1000), "S7d"),
    "Lip_too_small": ("saddle_radius_both_layers_softplus", times("Lip", LESS), "S8"),
    "label_changed": ("saddle_radius_both_layers_softplus", hidden(array("y", add(0, 0.5))), "S5"),
}
HEAD: Table = {
    "gap_too_small": ("head_columns_tight", times("gap", LESS), "H3"),
    "gap_too_small_without_solve": ("head_columns_without_solve", times("gap", 0.5), "H3"),
    "gap_negative": ("head_columns_relu", times("gap", -1), "H1a"),
    "mu_zero": ("head_columns_small_mu", put(mu=0), "H1b"),
    "mu_negative": ("head_rows_tanh", times("mu", -1), "H1b"),
    "mu_too_large": ("head_columns_relu", times("mu", 1.2), "H4"),
    "rows_mu_too_large": ("head_rows_softplus", times("mu", 1.2), "H6"),
    "loss_upper_too_small": ("head_columns_tight", times("loss_upper", 0.99), "H2"),
    "rows_loss_upper_too_small": ("head_rows_relu", times("loss_upper", 0.99), "H2"),
    "R_too_small": ("head_rows_relu", times("R", 0.99), "H5"),
    "R_negative": ("head_rows_relu", times("R", -1), "H1a"),
    "factor_C_zero": ("head_columns_softplus", array("C", zero), "H4"),
    "rows_factor_C_zero": ("head_rows_softplus", array("C", zero), "H6"),
    "solve_of_another_residual": ("head_columns_tight", array("z", lambda z: 9.0 * z), "H3"),
    "hidden_weight_changed": ("head_columns_tight", hidden(array("W", add(0, 0.5))), ""),
    "label_changed": ("head_rows_relu", hidden(array("y", add(0, 0.5))), "H5"),
}
TABLES = {
    "head_": HEAD,
    "gram_": GRAM | LAYERS,
    "relu_descent_": RELU_DESCENT,
    "relu_linearized_": RELU_LINEARIZED,
    "deep_": DEEP,
    "": FILTER,
    "unique_": UNIQUE,
    "factorization_": FACTORIZATION,
    "second_order_radius_": RADIUS,
    "saddle_radius_both_layers_": SADDLE_RADIUS,
}
FOREIGN: dict[str, Callable[[int], bytes]] = {
    "gram": lambda seed: a.gram_file("relu", seed=seed),
    "gram_series": lambda seed: a.gram_file("tanh", seed=seed),
    "gram_layers": lambda seed: a.layers_file("tanh", "two", seed=seed),
    "relu_descent": lambda seed: a.relu_descent_file(seed),
    "relu_linearized": lambda seed: linearized_file(seed),
    "deep": lambda seed: a.deep_file("dense", seed=seed),
    "trap": lambda seed: a.trap_file(9, 1.0 + seed, seed=seed),
    "basin": lambda seed: a.basin_file(9 - 7 * seed, 1.0, seed=seed, step=0.9999),
    **{
        f"unique_{form}": lambda seed, form=form: a.unique_file(form, seed=seed)
        for form in ("plain", "split", "tensor", "mixed")
    },
    **{
        f"factorization_{m}": lambda seed, m=m: a.factorization_file(m, seed=seed)
        for m in ("zero", "frobenius", "factor")
    },
    **{f"head_{m}": lambda seed, m=m: a.head_file(m, seed=seed) for m in ("columns", "rows")},
    "second_order_radius": lambda seed: a.around("tanh", "W", seed=7 + seed),
    "second_order_radius_minimum": lambda seed: a.near_minimum("sigmoid", "vW", seed=seed),
    "saddle_radius_both_layers": lambda seed: a.saddle_of_both("tanh", seed=4 * seed),
}


def family_rejected() -> dict[str, tuple[bytes, str]]:
    """File name without ending -> bytes and the words expected in the reason."""
    honest = {name: opened(raw) for name, raw in a.family_accepted().items()}
    files = {
        name: (raw, f"check {number} ") for name, (raw, number) in family_sole_faults().items()
    }
    for prefix, table in TABLES.items():
        for name, (base, edit, number) in table.items():
            file = honest[base].copy()
            edit(file)
            files[f"{prefix}{name}"] = file.sealed(), f"check {number} " if number else ""
    for name, source in FOREIGN.items():
        files[f"{name}_claim_of_another_file"] = (
            transplanted(opened(source(0)), opened(source(1))).sealed(),
            "",
        )
    return files
