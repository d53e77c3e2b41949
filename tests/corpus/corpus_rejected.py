"""The certificates of rejected/: well-formed files whose proof fails, each by one named fault in an
otherwise honest draft.

`rejected(drafts)` returns name -> `Fault`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.corpus.corpus_accepted import network, one_neuron, seeded
from tests.corpus.corpus_close_calls import close_calls
from tests.corpus.corpus_rejected_floors import floor_faults
from tests.corpus.corpus_second_order_rejected import quadratic_rejected
from tests.corpus.corpus_sole_faults import sole_faults
from tests.corpus.drafts import Draft, claim, seal
from tests.corpus.edits import (
    Edit,
    add,
    change_entry,
    data,
    exchange,
    hide_loss,
    negate,
    put,
    renamed,
    tensor,
    times,
    zero,
)
from tests.corpus.fault import Fault
from tests.corpus.honest_instances import interpolation_draft
from tests.corpus.small_producer import Model, random_model
from tests.oracles.fraction_network import Network
from tests.oracles.strict_container import read


def _negate_sample(draft: Draft) -> None:
    draft.X[4], draft.y[4] = -draft.X[4], -draft.y[4]
    hide_loss(draft)


def _without_beta(draft: Draft) -> None:
    draft.claims[0].fields["trained"] = "W"
    del draft.claims[0].fields["beta2"], draft.claims[0].tensors["C_beta"]


def _second_claim_false(draft: Draft) -> None:
    draft.claims = draft.copy().claims[:1] + draft.copy().claims[:1]
    draft.claims[1].fields["floor"] += 1


INTERPOLATION: dict[str, tuple[str, Edit, str]] = {
    "label_swapped": ("interpolation_tight", data("y", exchange), ""),
    "label_changed": ("interpolation_tight", data("y", add(0, 0.5)), ""),
    "sample_rows_swapped": ("interpolation_tight", data("X", exchange), ""),
    "sign_of_one_feature": ("interpolation_tight", data("X", negate((0, 0))), ""),
    "sign_of_one_weight": ("interpolation_tight", data("W", negate((0, 0))), ""),
    "sign_of_one_head": ("interpolation_tight", data("v", negate(0)), ""),
    "activation_changed": ("interpolation_tight", renamed("tanh"), ""),
    "parameter_changed": ("interpolation_tight", renamed("softplus", "5/4"), ""),
    "activation_relu": ("interpolation_tight", renamed("relu"), "smooth"),
    "activation_abs": ("interpolation_tight", renamed("abs"), "smooth"),
    "loss_upper_too_small": ("interpolation_tight", times("loss_upper", 0.999), "loss"),
    "loss_upper_zero": ("interpolation_tight", put(loss_upper=0), "loss"),
    "loss_upper_negative": ("interpolation_tight", put(loss_upper=-1), "loss"),
    "a2_too_large": ("interpolation_tight", times("a2", 1.001), "a2"),
    "a2_zero": ("interpolation_tight", put(a2=0), "a2"),
    "a2_negative": ("interpolation_tight", times("a2", -1.0), "a2"),
    "kappa_too_small": ("interpolation_tight_vW_svec", times("kappa", 0.999), "kappa"),
    "kappa_zero": ("interpolation_tight", put(kappa=0), "kappa"),
    "kappa_negative": ("interpolation_tight", times("kappa", -1.0), "kappa"),
    "svec_shift_t_changed": ("interpolation_tight_vW_svec", put(t=7), "kappa"),
    "beta2_too_small": ("interpolation_tight_vW_svec", times("beta2", 0.999), "beta2"),
    "beta2_zero": ("interpolation_tight_vW_svec", put(beta2=0), "beta2"),
    "beta2_negative": ("interpolation_tight_vW_svec", times("beta2", -1.0), "beta2"),
    "rho_negative": ("interpolation_tight", times("rho", -1.0), "rho"),
    "rho_below_R": ("interpolation_tight", times("rho", 0.2), "rho"),
    "R_0p1_percent_too_small": ("interpolation_tight", times("R", 0.999), "R"),
    "R_zero": ("interpolation_tight", put(R=0), "R"),
    "R_negative": ("interpolation_tight", times("R", -1.0), "R"),
    "lower_radius_0p1_percent_too_large": ("interpolation_tight", times("R_lo", 1.001), "R_lo"),
    "lower_radius_zero": ("interpolation_tight", put(R_lo=0), "R_lo"),
    "lower_radius_negative": ("interpolation_tight", times("R_lo", -1.0), "R_lo"),
    "lower_radius_above_rho": ("interpolation_tight", put(R_lo=1000), "R_lo"),
    "factor_C_a_zero": ("interpolation_tight", tensor("C_a", zero), "a2"),
    "factor_C_a_transposed_sign": ("interpolation_tight", tensor("C_a", negate((1, 0))), "a2"),
    "factor_C_kappa_zero": ("interpolation_tight", tensor("C_kappa", zero), "kappa"),
    "factor_C_beta_zero": ("interpolation_tight_vW_svec", tensor("C_beta", zero), "beta2"),
    "witness_z_negated": ("interpolation_far_from_zero_loss", tensor("z", lambda z: -z), ""),
    "witness_z_zero_with_lower_radius": ("interpolation_far_from_zero_loss", tensor("z", zero), ""),
    "bias_claimed_but_absent": ("interpolation_tight", lambda d: setattr(d, "bias", True), "bias"),
    "bias_column_off_by_one_unit": (
        "interpolation_bias_column",
        data("X", add((0, -1), 2.0**-52)),
        "bias",
    ),
    "trained_vW_numbers_claimed_for_W": (
        "interpolation_tanh_vW_rows",
        _without_beta,
        "",
    ),
}
DESCENT: dict[str, tuple[str, Edit, str]] = {
    "step_0p1_percent_too_large": ("descent_tight", times("eta", 1.001), "eta"),
    "step_zero": ("descent_tight", put(eta=0), "eta"),
    "step_negative": ("descent_tight", times("eta", -1.0), "eta"),
    "rate_too_small": (
        "descent_tight",
        lambda d: put(rate=1 - (1 - d.claims[0].fields["rate"]) * Fraction(1.001))(d),
        "rate",
    ),
    "rate_zero": ("descent_tight", put(rate=0), "rate"),
    "rate_one": ("descent_tight", put(rate=1), "rate"),
    "rate_negative": ("descent_tight", put(rate=-1), "rate"),
    "path_0p1_percent_too_short": ("descent_tight", times("path", 0.999), "path"),
    "path_zero": ("descent_tight", put(path=0), "path"),
    "rho_below_path": ("descent_tight", times("rho", 0.25), "rho"),
    "b2_too_small_for_row_sums": ("descent_tight", times("b2", 0.999), "b2"),
    "b2_too_small_for_factor": ("descent_tight_factor", times("b2", 0.999), "b2"),
    "b2_negative": ("descent_tight", times("b2", -1.0), "b2"),
    "factor_C_b_zero": ("descent_tight_factor", tensor("C_b", zero), "b2"),
    "factor_C_a_zero": ("descent_tight", tensor("C_a", zero), "a2"),
    "a2_too_large": ("descent_tight", times("a2", 1.001), "a2"),
    "kappa_too_small": ("descent_tight", times("kappa", 0.999), "kappa"),
    "beta2_too_small": ("descent_tight_factor", times("beta2", 0.999), "beta2"),
    "rho_negative": ("descent_tight", times("rho", -1.0), "rho"),
    "kappa_zero": ("descent_tight", put(kappa=0), "kappa"),
    "beta2_zero": ("descent_tight_factor", put(beta2=0), "beta2"),
    "label_changed": ("descent_tight", data("y", add(1, -0.25)), ""),
    "label_swapped": ("descent_tight", data("y", exchange), ""),
    "loss_upper_too_small": ("descent_tight", times("loss_upper", 0.999), "loss"),
    "activation_leaky_relu": ("descent_tight", renamed("leaky_relu", "1/10"), "smooth"),
}
RELU_CELL: dict[str, tuple[str, Edit, str]] = {
    "mu_too_large": ("relu_tight", times("mu", 1.001), "mu"),
    "mu_zero": ("relu_tight", put(mu=0), "mu"),
    "mu_negative": ("relu_tight", times("mu", -1.0), "mu"),
    "R_0p1_percent_too_small": ("relu_tight", times("R", 0.999), "R"),
    "R_negative": ("relu_tight", times("R", -1.0), "R"),
    "loss_upper_too_small": ("relu_tight", times("loss_upper", 0.999), "loss"),
    "label_changed": ("relu_tight", data("y", add(0, 2.0)), ""),
    "label_swapped": ("relu_tight", data("y", exchange), ""),
    "sample_rows_swapped": ("relu_tight", data("X", exchange), ""),
    "sign_of_one_head": ("relu_tight", data("v", negate(0)), ""),
    "witness_weights_zero": ("relu_tight", tensor("W_hat", zero), ""),
    "witness_weights_off": ("relu_tight", tensor("W_hat", add((0, 0), 0.5)), ""),
    "factor_zero": ("relu_tight", tensor("C", zero), "mu"),
    "activation_leaky_relu": ("relu_tight", renamed("leaky_relu", "0"), "relu"),
    "activation_abs": ("relu_tight", renamed("abs"), "relu"),
    "dropped_zero_row_with_a_label": ("relu_dropped_samples", data("y", add(3, 1.0)), "drop"),
    "dropped_row_not_zero": ("relu_dropped_samples", data("X", add((3, 0), 1.0)), "drop"),
    "dropped_label_not_proportional": ("relu_dropped_samples", data("y", add(4, 1e-9)), "drop"),
    "dropped_row_not_proportional": ("relu_dropped_samples", data("X", add((4, 1), 1e-9)), "drop"),
    "dropped_negative_multiple": ("relu_dropped_samples", _negate_sample, "drop"),
    "dropped_as_zero_but_it_is_not": (
        "relu_dropped_samples",
        tensor("dropped", change_entry((1, 1), lambda _: -1)),
        "drop",
    ),
}


FLOOR_EDITS: dict[str, tuple[str, Edit, str]] = {
    "gap_too_small": ("floor_ray_relu", times("gap", 0.999), "gap"),
    "gap_zero": ("floor_ray_relu", put(gap=0), "gap"),
    "gap_negative": ("floor_ray_relu", times("gap", -1.0), "gap"),
    "loss_upper_too_small": ("floor_ray_relu", times("loss_upper", 0.999), "loss"),
    "label_changed": ("floor_ray_relu", data("y", add(1, 1.0)), "floor"),
    "ratio_changed": ("floor_ray_relu", data("X", lambda X: np.array([X[0], 1.5 * X[0]])), "floor"),
    "second_claim_false": ("floor_sixty_four_claims", _second_claim_false, "floor"),
}


def hand_made_faults() -> dict[str, Fault]:
    """Networks that do not interpolate, singular Jacobians, ties, witnesses of other files."""
    softplus = network("softplus")
    base = interpolation_draft(seeded("hand"), softplus, lower=True)
    other = interpolation_draft(seeded("other"), softplus, lower=True)
    faults = {}
    for role in ("C_a", "C_kappa", "z"):
        mixed = base.copy()
        mixed.claims[0].tensors[role] = other.claims[0].tensors[role]
        faults[f"interpolation_witness_{role}_of_another_file"] = Fault(mixed)
    faults["interpolation_claim_of_another_file"] = Fault(
        Draft(base.network, base.X, base.y, base.W, base.v, other.claims)
    )
    untrained = random_model(seeded("untrained"), softplus, (3, 2, 3))
    faults["interpolation_network_does_not_interpolate"] = Fault(
        untrained.draft(base.copy().claims)
    )
    equal_rows = base.copy()
    data("X", lambda X: np.array([X[0], X[0], X[2]]))(equal_rows)
    faults["interpolation_two_equal_rows"] = Fault(equal_rows)
    faults["interpolation_more_samples_than_weights"] = Fault(_more_samples_than_weights(), "a2")
    faults["golden_no_room_at_h_one_half"] = Fault(_golden(0.0, Fraction(1, 10**40)), "2 Lip e < a")
    faults["golden_no_zero_exists"] = Fault(_golden(-0.5, Fraction(1, 10**12)), "2 Lip e < a")
    faults["interpolation_loss_upper_true_beyond_1900_bits"] = Fault(
        _undecidable_loss(base, above=True), "loss", ("UNDECIDED",)
    )
    faults["interpolation_loss_upper_false_beyond_1900_bits"] = Fault(
        _undecidable_loss(base, above=False), "loss", ("UNDECIDED",)
    )
    faults["two_claims_one_undecided_one_false"] = Fault(
        _undecided_and(base, second_is_false=True), "claim 1"
    )
    faults["two_claims_one_undecided_one_true"] = Fault(
        _undecided_and(base, second_is_false=False), "claim 0", ("UNDECIDED",)
    )
    return faults


def _undecided_and(draft: Draft, *, second_is_false: bool) -> Draft:
    """Two claims, the first undecidable; one certain failure anywhere is a rejection, none leaves
    the file undecided.
    """
    result = _undecidable_loss(draft, above=True)
    result.claims.append(draft.copy().claims[0])
    if second_is_false:
        result.claims[1].fields["R"] = Fraction(0)
    return result


def _undecidable_loss(draft: Draft, *, above: bool) -> Draft:
    """loss_upper so close to the loss that no precision of either checker tells them apart."""
    result = draft.copy()
    loss = Network(read(seal(draft)), 2000).loss
    result.claims[0].fields["loss_upper"] = loss.upper if above else loss.lower
    return result


def _more_samples_than_weights() -> Draft:
    """n = 3, k d = 2: K is singular whatever the factor says."""
    X, net = np.array([[1.0], [2.0], [3.0]]), network("tanh")
    model = Model(
        net,
        X,
        np.tanh(X @ np.array([[0.5], [0.25]]).T) @ np.ones(2),
        np.array([[0.5], [0.25]]),
        np.ones(2),
    )
    fields = {
        "trained": "W",
        "a2": Fraction(1, 10**9),
        "rho": Fraction(1),
        "quartic": {"kappa": Fraction(1000), "method": "rows"},
    }
    fields |= {"R": Fraction(1, 2), "loss_upper": Fraction(1)}
    J = model.jacobian("W")
    C_a = np.linalg.inv(np.linalg.cholesky(J @ J.T + 1e-6 * np.eye(3)))
    tensors = {"C_a": C_a, "C_kappa": np.array([[1000**-0.5]]), "z": np.zeros(3)}
    return model.draft([claim("interpolation", fields, tensors)])


def _golden(y: float, whisker: Fraction) -> Draft:
    """w = 1, x = 1: K = 4 and the quartic form 4, each claimed with a whisker of room; e = (1 -
    y)/2.
    """
    fields = {
        "trained": "W",
        "a2": 4 - whisker,
        "rho": Fraction(2),
        "quartic": {"kappa": 4 + whisker, "method": "rows"},
    }
    fields |= {"R": Fraction(2), "loss_upper": Fraction(2)}
    C = np.array([[float(1 / whisker) ** 0.5]])
    return one_neuron(y).draft(
        [claim("interpolation", fields, {"C_a": C, "C_kappa": C, "z": np.array([(1 - y) / 4])})]
    )


def rejected(drafts: dict[str, Draft]) -> dict[str, Fault]:
    """All faults by file name; `drafts` are those of accepted/."""
    faults = (
        floor_faults()
        | hand_made_faults()
        | {name: Fault(draft) for name, draft in (sole_faults() | close_calls()[1]).items()}
    )
    tables = {
        "interpolation": INTERPOLATION,
        "descent": DESCENT,
        "relu": RELU_CELL,
        "floor": FLOOR_EDITS,
    }
    faults |= quadratic_rejected(drafts)
    outside = drafts["interpolation_data_stored_outside"]
    label, shorter = outside.copy(), outside.copy()
    label.y[0] += 0.125
    shorter.X, shorter.y = shorter.X[:-1], shorter.y[:-1]
    faults["interpolation_data_file_of_another_instance"] = Fault(
        outside, "digest", other_data=label
    )
    faults["interpolation_data_file_with_fewer_samples"] = Fault(
        outside, "digest", other_data=shorter
    )
    inside = outside.copy()
    inside.stored = True
    faults["interpolation_other_data_given_beside_the_stored_ones"] = Fault(
        inside, other_data=label
    )
    wrong = drafts["interpolation_softplus_W_rows"].copy()
    wrong.overrides["data"] = {"bias": False, "n": 3, "d": 2, "sha256": "0" * 64, "stored": True}
    faults["interpolation_digest_of_other_data"] = Fault(wrong, "digest")
    for prefix, table in tables.items():
        for name, (base, edit, reason) in table.items():
            draft = drafts[base].copy()
            edit(draft)
            faults[f"{prefix}_{name}"] = Fault(draft, reason)
    return faults
