"""The files of rejected/ about quadratic networks: one fault in an honest draft, or a worked
example pushed over the line.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus import corpus_quadratic_goldens as g
from tests.corpus.drafts import Draft
from tests.corpus.edits import (
    Edit,
    add,
    change_entry,
    data,
    exchange,
    negate,
    put,
    renamed,
    several,
    tensor,
    times,
    zero,
)

Table = dict[str, tuple[str, Edit, str]]
MORE, LESS = 1.001, 0.999


def word(**words: str) -> Edit:
    """Set words of the first claim."""
    return lambda draft: draft.claims[0].fields.update(words)


def without(*roles: str) -> Edit:
    """Remove tensors of the first claim."""

    def edit(draft: Draft) -> None:
        for role in roles:
            del draft.claims[0].tensors[role]

    return edit


def only_lower(draft: Draft) -> None:
    """A claim for every head is passed off as one for nonnegative heads; the stored head has both
    signs.
    """
    several(word(heads="nonnegative"), without("C_upper"))(draft)


def new_neuron(head: float) -> Edit:
    """One more neuron with zero weights: the network is the same function, its head is another."""

    def edit(draft: Draft) -> None:
        draft.W, draft.v = np.vstack([draft.W, 0 * draft.W[:1]]), np.append(draft.v, head)

    return edit


GAP: Table = {
    "gap_too_small": ("gap_positive_tight", times("gap", 0.5), "O5"),
    "gap_negative": ("gap_positive_tight", times("gap", -1.0), "gap"),
    "loss_upper_too_small": ("gap_positive_tight", times("loss_upper", LESS), "loss"),
    "label_changed": ("gap_positive_tight", tensor("y", add(0, 0.5)), ""),
    "label_swapped": (
        "gap_positive_tight",
        several(tensor("y", exchange), put(loss_upper=1000)),
        "O5",
    ),
    "sign_of_one_feature": ("gap_positive_tight", data("X", negate((0, 0))), "O7"),
    "one_head_negative": (
        "gap_positive_nonnegative",
        several(new_neuron(-1e-300), put(loss_upper=1000)),
        "O3",
    ),
    "one_head_positive": (
        "gap_positive_nonpositive",
        several(new_neuron(5e-324), put(loss_upper=1000)),
        "O3",
    ),
    "heads_of_the_other_sign": ("gap_positive_nonnegative", word(heads="nonpositive"), "O3"),
    "activation_abs": ("gap_positive_tight", renamed("abs"), "quadratic"),
    "lambda_negated": ("gap_positive_tight", data("lambda", lambda z: -z), "O7"),
    "lambda_zero": ("gap_positive_tight", data("lambda", zero), "O7"),
    "lambda_is_the_residual_on_the_boundary": ("gap_golden_infimum", data("lambda", zero), "O7"),
    "factor_zero": ("gap_positive_tight", tensor("C", zero), "O7"),
    "nonpositive_factor_zero": ("gap_positive_nonpositive", tensor("C", zero), "O8"),
    "rank_row_outside_the_span": ("gap_rank_nonnegative", data("X", add((4, 2), 2.0**-40)), "O6"),
    "rank_chosen_rows_parallel": (
        "gap_rank_nonnegative",
        data("X", change_entry(3, lambda _: [1.0, 0.0, 1.0])),
        "",
    ),
    "rank_factor_zero": ("gap_rank_nonnegative", tensor("C", zero), "O7"),
    "rank_nonpositive_factor_zero": ("gap_rank_nonpositive", tensor("C", zero), "O8"),
    "rank_three_named_as_two": (
        "gap_rank_nonnegative",
        data("X", lambda X: X + np.diag([1.0, 0, 0, 0, 0])[:, :3]),
        "O6",
    ),
    "span_mu_too_large": ("gap_span_tight", times("mu", MORE), "mu"),
    "span_mu_zero": ("gap_span_tight", put(mu=0, gap=10**9), "mu"),
    "span_mu_negative": ("gap_span_tight", times("mu", -1.0), "mu"),
    "span_gap_too_small": ("gap_span_tight", times("gap", LESS), "O9"),
    "span_gap_negative": ("gap_span_tight", times("gap", -1.0), "gap"),
    "span_witness_zero": ("gap_span_tight", tensor("z", zero), "O9"),
    "span_factor_zero": ("gap_span_tight", tensor("C", zero), "mu"),
    "span_label_changed": (
        "gap_span_tight",
        several(tensor("y", add(1, 0.25)), put(loss_upper=1000)),
        "O9",
    ),
    "span_two_equal_samples": (
        "gap_span_tight",
        data("X", change_entry(0, lambda _: [1.0, 1.0])),
        "O10",
    ),
    "span_activation_tanh": ("gap_span_tight", renamed("tanh"), "quadratic"),
    "decay_gap_too_small": ("gap_decay_any", times("gap", 0.5), "O5"),
    "decay_forgotten_in_the_gap": (
        "gap_decay_any",
        lambda d: put(gap=_unpenalized_gap(d))(d),
        "O5",
    ),
    "decay_larger": ("gap_decay_any", times("decay", 1.01), "O5"),
    "decay_smaller": ("gap_decay_any", several(times("decay", 0.99), put(gap=1000)), ""),
    "decay_zero": ("gap_decay_nonnegative", put(decay=0, gap=1000), "decay > 0"),
    "decay_negative": (
        "gap_decay_nonnegative",
        several(times("decay", -1.0), put(gap=1000)),
        "decay > 0",
    ),
    "decay_v_max_below_a_head": ("gap_decay_any", put(v_max=0.5, gap=1000), "v_max"),
    "decay_v_max_negative": ("gap_decay_any", put(v_max=-1, gap=1000), "v_max"),
    "decay_v_max_too_large_for_the_dual": ("gap_decay_any", put(v_max=2), ""),
    "decay_lower_factor_zero": ("gap_decay_any", tensor("C_lower", zero), "O7"),
    "decay_upper_factor_zero": ("gap_decay_any", tensor("C_upper", zero), "O8"),
    "decay_factors_exchanged": (
        "gap_decay_any",
        lambda d: _exchange_roles(d, "C_lower", "C_upper"),
        "",
    ),
    "decay_any_head_claimed_nonnegative": ("gap_decay_any", only_lower, "O3"),
    "decay_dual_doubled": ("gap_decay_any", data("u", lambda u: 2 * u), ""),
    "bias_column_claimed_but_absent": ("gap_span", lambda d: setattr(d, "bias", True), "bias"),
    "weights_scaled": (
        "gap_positive_tight",
        several(tensor("W", lambda W: W * 1.5), put(loss_upper=1000)),
        "O5",
    ),
}
RANK: Table = {
    "identifies_loss_upper_too_small": ("identifies", times("loss_upper", LESS), "loss"),
    "identifies_activation_relu": ("identifies", renamed("relu"), "quadratic"),
    "identifies_two_samples_opposite": (
        "identifies_as_many_samples_as_unknowns",
        data("X", lambda X: np.vstack([-X[1:2], X[1:]])),
        "U5",
    ),
    "identifies_mu_too_large": ("identifies_stable_tight", times("mu", MORE), "mu"),
    "identifies_mu_zero": ("identifies_stable_tight", put(mu=0), "mu"),
    "identifies_mu_negative": ("identifies_stable_tight", times("mu", -1.0), "mu"),
    "identifies_factor_zero": ("identifies_stable_tight", tensor("C", zero), "mu"),
    "identifies_stable_but_deficient": (
        "identifies_stable_tight",
        data("X", lambda X: X[:, :1] * [[1.0, 2.0]]),
        "U5",
    ),
    "ambiguous_sigma2_too_large": ("ambiguous_tight", times("sigma2", MORE), "sigma2"),
    "ambiguous_sigma2_zero": ("ambiguous_tight", put(sigma2=0, difference=0), "sigma2"),
    "ambiguous_difference_zero": ("ambiguous_tight", put(difference=0), "difference"),
    "ambiguous_difference_negative": ("ambiguous_tight", times("difference", -1.0), "difference"),
    "ambiguous_difference_too_large": ("ambiguous_tight", times("difference", MORE), "A4"),
    "ambiguous_loss_upper_too_small": ("ambiguous_tight", times("loss_upper", LESS), "loss"),
    "ambiguous_factor_zero": ("ambiguous_tight", tensor("C", zero), "sigma2"),
    "ambiguous_head_negative": ("ambiguous_tight", new_neuron(-5e-324), "A2"),
    "ambiguous_activation_erf": ("ambiguous_tight", renamed("erf"), "quadratic"),
    "ambiguous_singular_network": (
        "ambiguous_tight",
        data("W", lambda W: W[:, :1] * [[1.0, 1.0]]),
        "sigma2",
    ),
    "ambiguous_kernel_not_symmetric": (
        "ambiguous_kernel",
        tensor("M", lambda _: np.array([[0, 1], [-1, 0]])),
        "symmetric",
    ),
    "ambiguous_kernel_zero": ("ambiguous_kernel", tensor("M", zero), "not zero"),
    "ambiguous_kernel_does_not_vanish": ("ambiguous_kernel", tensor("M", add((0, 0), 1)), "A6"),
    "ambiguous_sample_off_the_axes": (
        "ambiguous_kernel",
        data("X", change_entry(2, lambda _: [1.0, 2.0**-500])),
        "A6",
    ),
}
BARRIER: Table = {
    "barrier_loss_upper_too_small": ("barrier_tight", times("loss_upper", LESS), "loss"),
    "barrier_phi_too_large": ("barrier_tight", times("phi", MORE), "phi"),
    "barrier_phi_zero": ("barrier_golden", put(phi=0), "phi"),
    "barrier_phi_negative": ("barrier_golden", put(phi=-1), "phi"),
    "barrier_Phi_too_small_for_factor": ("barrier_tight", times("Phi", LESS), "Phi"),
    "barrier_Phi_too_small_for_row_sums": ("barrier_tight_rows", times("Phi", LESS), "Phi"),
    "barrier_Phi_is_the_largest_diagonal_entry": (
        "barrier_rows",
        lambda d: put(Phi=_largest_diagonal(d))(d),
        "Phi",
    ),
    "barrier_Phi_negative": ("barrier_golden", put(Phi=-1), "Phi"),
    "barrier_a_lo_too_large": ("barrier_tight", times("a_lo", MORE), "B9"),
    "barrier_a_hi_too_small": ("barrier_tight", times("a_hi", LESS), "B10"),
    "barrier_E0_too_small": ("barrier_tight", times("E0", LESS), "E0"),
    "barrier_E0_negative": ("barrier_golden", put(E0=-1), "E0"),
    "barrier_E0_above_the_barrier": ("barrier_golden", put(E0=2), "tau"),
    "barrier_step_too_large": ("barrier_tight", times("eta", 1.01), "eta"),
    "barrier_step_zero": ("barrier_golden", put(eta=0), "eta"),
    "barrier_step_negative": ("barrier_golden", put(eta=-1), "eta"),
    "barrier_rate_too_small": (
        "barrier_tight",
        lambda d: put(rate=1 - (1 - _field(d, "rate")) * Fraction(MORE))(d),
        "rate",
    ),
    "barrier_rate_one": ("barrier_golden", put(rate=1), "rate"),
    "barrier_rate_negative": ("barrier_golden", put(rate=-1), "rate"),
    "barrier_head_zero": ("barrier_rows", new_neuron(0.0), "B2"),
    "barrier_head_negative": ("barrier_rows", new_neuron(-1e-300), "B2"),
    "barrier_activation_linear": ("barrier_golden", renamed("linear"), "quadratic"),
    "barrier_minimizer_not_symmetric": (
        "barrier_rows",
        tensor("A_hat", add((0, 1), 1e-12)),
        "symmetric",
    ),
    "barrier_minimizer_wrong": ("barrier_golden", tensor("A_hat", lambda A: A + 0.25), "E0"),
    "barrier_label_changed": ("barrier_tight", data("y", add(0, 1e-3)), ""),
    "barrier_label_of_the_other_sign": ("barrier_golden", data("y", lambda y: -y), ""),
    "barrier_two_features_parallel": (
        "barrier_rows",
        data("X", lambda X: X[:, :1] * [[1.0, 1.0]]),
        "",
    ),
    "barrier_one_neuron_for_two_features": (
        "barrier_rows",
        several(data("W", lambda W: W[:1]), tensor("v", lambda v: v[:1])),
        "",
    ),
}
BARRIER |= {
    f"barrier_factor_{role}_zero": ("barrier_factor", tensor(role, zero), number)
    for role, number in (("C_phi", "B12"), ("C_Phi", "B11"), ("C_lo", "B9"), ("C_hi", "B10"))
}


def _field(draft: Draft, name: str) -> Fraction:
    return draft.claims[0].fields[name]


def _largest_diagonal(draft: Draft) -> float:
    return float(np.max(np.sum(draft.X**4, axis=0)))


def _exchange_roles(draft: Draft, one: str, other: str) -> None:
    tensors = draft.claims[0].tensors
    tensors[one], tensors[other] = tensors[other], tensors[one]


def _unpenalized_gap(draft: Draft) -> Fraction:
    """The gap without the penalty of the stored weights: what a producer that forgot (w/2)|W|^2
    would claim.
    """
    penalty = _field(draft, "decay") / 2 * Fraction(float(np.sum(draft.W**2)))
    return max(_field(draft, "gap") - penalty, Fraction(0))


def golden_faults() -> dict[str, tuple[Draft, str]]:
    """Worked examples beyond the line, with the check that must see it."""
    minus: dict[str, Any] = {"heads": "nonpositive"}
    few: Any = ((1.0, 0.0), (0.0, 1.0))
    hair = Fraction(1, 10**60)
    return {
        "gap_golden_smaller_by_1e-9": (
            g.gap_positive(0.1, gap=_golden_gap() - Fraction(1, 10**9)),
            "O5",
        ),
        "gap_golden_one_negative_head": (g.gap_positive(v=-1.0), "O3"),
        "gap_golden_dual_of_the_wrong_sign": (
            g.gap_positive(v=-1.0, lam=1.0, y=1.0, gap=Fraction(1000), **minus),
            "O8",
        ),
        "gap_golden_v_max_zero": (_zero_head(v_max=Fraction(0)), "O2d"),
        "gap_golden_span_mu_zero": (g.gap_span(mu=Fraction(0), gap=Fraction(1000)), "mu > 0"),
        "gap_golden_span_mu_negative": (g.gap_span(mu=Fraction(-1), gap=Fraction(1000)), "mu > 0"),
        "identifies_golden_mu_zero": (g.identifies_stable(mu=Fraction(0)), "mu > 0"),
        "identifies_golden_mu_negative": (g.identifies_stable(mu=Fraction(-3)), "mu > 0"),
        "gap_golden_decay_for_the_other_heads": (g.gap_decay(**minus), "O3"),
        "identifies_golden_third_row_on_an_axis": (g.identifies((*few, (2.0, 0.0))), "U5"),
        "identifies_one_sample_too_few": (g.identifies(few), "U2"),
        "identifies_hundred_samples_on_two_lines": (
            g.identifies([few[i % 2] for i in range(100)]),
            "U5",
        ),
        "ambiguous_sigma2_negative": (g.ambiguous(sigma2=Fraction(-5)), "A3a"),
        "ambiguous_kernel_vanishes_modulo_two_to_the_64": (
            g.ambiguous(
                ((4.0, 0.0), (0.0, 1.0), (8.0, 0.0)),
                M=np.array([[2**62, 0], [0, 0]]),
                loss_upper=Fraction(10**6),
            ),
            "A6",
        ),
        "ambiguous_golden_identified_data": (g.ambiguous((*few, (1.0, 1.0))), "A6"),
        "barrier_golden_above": (g.barrier(w=1.42), "B6"),
        "barrier_golden_at_zero_weights": (g.barrier(w=0.0), "B6"),
        "barrier_golden_exactly_at_the_barrier": (
            g.barrier(w=0.0, whiskers={"phi": hair, "a_lo": hair}),
            "",
        ),
    }


def _golden_gap() -> Fraction:
    return g.gap_positive(0.1).claims[0].fields["gap"]


def _zero_head(**fields: Any) -> Draft:
    draft = g.gap_decay(**fields)
    draft.v = np.zeros(1)
    return draft
