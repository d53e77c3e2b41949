"""The files of rejected/ about strict saddles and second-order points, and the table of all later
claims together.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.corpus import corpus_quadratic_goldens as g
from tests.corpus.corpus_quadratic_close_calls import quadratic_close_calls
from tests.corpus.corpus_quadratic_rejected import (
    BARRIER,
    GAP,
    LESS,
    MORE,
    RANK,
    Table,
    golden_faults,
    without,
    word,
)
from tests.corpus.drafts import Draft
from tests.corpus.edits import add, data, exchange, put, renamed, several, tensor, times, zero
from tests.corpus.fault import Fault
from tests.corpus.honest_quadratic import SOURCES

SADDLE: Table = {
    "loss_upper_too_small": ("saddle_tight_vW", times("loss_upper", 0.25), "loss"),
    "gamma_too_large": ("saddle_tight_vW", times("gamma", MORE), "gamma"),
    "gamma_zero": ("saddle_golden", put(gamma=0), "gamma"),
    "gamma_negative": ("saddle_golden", put(gamma=-1), "gamma"),
    "eps_too_small": ("saddle_tight_vW", times("eps", LESS), "grad"),
    "eps_negative": ("saddle_tight_vW", times("eps", -1.0), "eps"),
    "direction_of_both_layers_zero": (
        "saddle_tight_vW",
        several(tensor("U", zero), tensor("u", zero)),
        "zero",
    ),
    "direction_of_the_head_dropped": (
        "saddle_tight_vW",
        several(word(trained="W"), without("u")),
        "S6",
    ),
    "direction_of_positive_curvature": ("saddle_tight_vW", tensor("U", exchange), "S6"),
    "label_changed": ("saddle_tight_radius_rows", data("y", add(0, -0.5)), ""),
    "activation_relu": ("saddle_tight_vW", renamed("relu"), "smooth"),
    "activation_changed": ("saddle_tight_radius_rows", renamed("erf"), ""),
    "radius_too_large": ("saddle_tight_radius_rows", times("R", 1.01), ""),
    "radius_lam_too_small": ("saddle_tight_radius_rows", times("lam", LESS), "lam"),
    "radius_lam_zero": ("saddle_golden_radius", put(lam=0), "lam"),
    "radius_kappa_too_small": ("saddle_tight_radius_rows", times("kappa", LESS), "kappa"),
    "radius_kappa_negative": ("saddle_golden_radius", put(kappa=-1), "kappa"),
    "radius_svec_shift_changed": ("saddle_quadratic_radius_svec", put(t=10**5), "S9"),
    "radius_larger_than_gamma_allows": ("saddle_golden_radius", put(R=Fraction(3, 4)), "S7"),
    "factor_C_lam_zero": ("saddle_tight_radius_rows", tensor("C_lam", zero), "S8"),
    "factor_C_kappa_zero": ("saddle_tight_radius_rows", tensor("C_kappa", zero), "S9"),
}
SECOND_ORDER: Table = {
    "loss_upper_too_small": ("second_order_tight_dense", times("loss_upper", 0.25), "loss"),
    "eps_too_small": ("second_order_tight_dense", times("eps", LESS), "grad"),
    "eps_negative": ("second_order_tight_dense", times("eps", -1.0), "eps"),
    "delta_too_small": ("second_order_tight_dense", times("delta", LESS), "T5"),
    "delta_too_small_for_blocks": ("second_order_tight_blocks", times("delta", LESS), "T6"),
    "factor_zero": ("second_order_tight_dense", tensor("C", zero), "T5"),
    "parameters_in_another_order": (
        "second_order_tanh_vW_dense",
        tensor("C", lambda C: np.roll(C, 2, (0, 1))),
        "T5",
    ),
    "first_block_zero": (
        "second_order_tight_blocks",
        tensor("C", lambda C: np.vstack([0 * C[:2], C[2:]])),
        "T6.0",
    ),
    "last_block_zero": (
        "second_order_tight_blocks",
        tensor("C", lambda C: np.vstack([C[:2], 0 * C[2:]])),
        "T6.1",
    ),
    "blocks_exchanged": (
        "second_order_tight_blocks",
        tensor("C", lambda C: np.vstack([C[2:], C[:2]])),
        "T6",
    ),
    "block_of_a_zero_head_not_zero": (
        "second_order_block_of_a_head_minus_zero",
        tensor("C", add((2, 0), 1.0)),
        "T6.1",
    ),
    "block_zero_but_the_head_is_not": (
        "second_order_block_of_a_head_minus_zero",
        tensor("v", add(1, 1e-300)),
        "T6.1",
    ),
    "label_changed": ("second_order_tight_dense", data("y", add(0, 0.5)), ""),
    "activation_leaky_relu": ("second_order_tight_dense", renamed("leaky_relu", "1/2"), "smooth"),
    "activation_linear": ("second_order_golden_at_the_minimum", renamed("linear"), "smooth"),
}


def second_order_goldens() -> dict[str, tuple[Draft, str]]:
    """Worked examples beyond the line, with the check that must see it."""
    minimum = 1.0
    return {
        "saddle_golden_at_a_minimum": (
            g.saddle(minimum, Fraction(-4), loss_upper=Fraction(1)),
            "S2a",
        ),
        "saddle_golden_curvature_zero_claimed_negative": (
            g.saddle(0.625, Fraction(1, 10**9), eps=Fraction(9)),
            "S6",
        ),
        "saddle_golden_radius_zero": (g.saddle_radius(Fraction(0)), "R > 0"),
        "saddle_golden_radius_negative": (_negative_radius(), "R > 0"),
        "saddle_golden_gamma_2p001": (g.saddle(gamma=Fraction(2001, 1000)), "S6"),
        "saddle_golden_not_stationary": (g.saddle(0.25, Fraction(1), eps=Fraction(0)), "S5"),
        "saddle_golden_ball_reaches_a_minimum": (g.saddle_radius(Fraction(1)), "S7d"),
        "saddle_golden_constants_at_the_center_only": (
            g.saddle_radius(Fraction(1, 4), (Fraction(-3, 2), Fraction(-3, 2))),
            "S8",
        ),
        "second_order_golden_1p999": (g.second_order(Fraction(1999, 1000)), "T5"),
        "second_order_golden_delta_zero_at_the_minimum": (
            g.second_order(Fraction(0), minimum),
            "T2b",
        ),
        "second_order_golden_delta_negative_at_the_minimum": (
            g.second_order(Fraction(-1), minimum),
            "T2b",
        ),
        "second_order_golden_blocks_claim_the_dense_delta": (
            g.second_order(Fraction(3, 2), 0.375, method="blocks"),
            "T6.0",
        ),
    }


def _negative_radius() -> Draft:
    """R = -1/8: the weight is 12/8 all the same, and lam = kappa = 7/2 is above it by 2."""
    C = g.inverse_root(Fraction(2))
    return g.saddle_radius(Fraction(-1, 8), (Fraction(5), Fraction(5)), C_lam=C, C_kappa=C)


def foreign_witnesses() -> dict[str, Fault]:
    """The claim of one file over the data and weights of another of the same shapes; every bound of
    the loss is generous.
    """
    faults = {}
    for name, source in SOURCES.items():
        mine, other = source(31), source(47)
        other.claims[0].fields |= {
            field: Fraction(1000)
            for field in ("loss_upper", "eps")
            if field in other.claims[0].fields
        }
        mine.claims = other.claims
        if other.claims[0].tensors:
            faults[f"{name}_claim_of_another_file"] = Fault(mine)
    return faults


def quadratic_rejected(drafts: dict[str, Draft]) -> dict[str, Fault]:
    """All faults of the six later kinds by file name; `drafts` are those of accepted/."""
    faults = {
        name: Fault(draft) for name, draft in quadratic_close_calls()[1].items()
    } | foreign_witnesses()
    faults |= {
        name: Fault(draft, reason)
        for name, (draft, reason) in (golden_faults() | second_order_goldens()).items()
    }
    for prefix, table in {
        "gap_": GAP,
        "": RANK | BARRIER,
        "saddle_": SADDLE,
        "second_order_": SECOND_ORDER,
    }.items():
        for name, (base, edit, reason) in table.items():
            draft = drafts[base].copy()
            edit(draft)
            faults[f"{prefix}{name}"] = Fault(draft, reason)
    return faults
