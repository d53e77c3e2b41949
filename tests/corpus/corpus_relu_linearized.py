"""The files about relu-linearized-descent: honest ones, one fault each, faults of form."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker import relu_linearized_cases as cases
from tests.checker.relu_descent_cases import trained_relu
from tests.corpus.edits import add, zero
from tests.corpus.whole_files import Edit, Whole, array, hidden, network, put, several, times, word

Table = dict[str, tuple[str, Edit, str]]
MORE, LESS = 1.01, 0.99


def linearized_file(
    seed: int = 0, norm: str = "factor", steps: int = 300, follow: int = 4
) -> bytes:
    """Three samples, wide enough and trained long enough for the theorem."""
    fit = trained_relu(3, 4, 12, steps, seed=seed)
    made = cases.claim(fit, norm=norm, steps=follow)
    assert made is not None
    return cases.build(fit, [made])


def linearized_golden(w: float, y: float, **changes: Any) -> bytes:
    """One active neuron."""
    fit, fields, tensors = cases.one_neuron(w, y, **changes)
    return cases.build(fit, [(fields, tensors)])


def linearized_files() -> dict[str, bytes]:
    """relu-linearized-descent."""
    return {
        "relu_linearized_factor": linearized_file(),
        "relu_linearized_rows": linearized_file(norm="rows"),
        "relu_linearized_unstable_pairs": linearized_file(4, steps=20),
        "relu_linearized_long": linearized_file(1, steps=5, follow=12),
        "relu_linearized_golden": linearized_golden(1.0, 0.25),
        "relu_linearized_golden_at_zero_loss": linearized_golden(2.0, 2.0),
    }


def _sooner(file: Whole) -> None:
    rate = Fraction(file.claim["rate"])
    put(rate=1 - (1 - rate) * (1 + Fraction(1, 10**6)))(file)


def _shorter_tau(file: Whole) -> None:
    several(times("tau", LESS), times("path", LESS))(file)


RELU_LINEARIZED: Table = {
    "activation_abs": ("relu_linearized_golden", network(activation="abs"), "L1"),
    "tau_zero": ("relu_linearized_golden_at_zero_loss", put(tau=0), "L2a"),
    "lam_zero": ("relu_linearized_golden", put(lam=0), "L2b"),
    "Lam_zero": ("relu_linearized_golden", put(Lam=0), "L2c"),
    "eta_negative": ("relu_linearized_golden", put(eta=-1), "L2d"),
    "path_negative": ("relu_linearized_golden", times("path", -1), "L2e"),
    "eps_negative": ("relu_linearized_golden", put(eps=Fraction(-1, 10**9)), "L2f"),
    "rate_negative": ("relu_linearized_golden", put(rate=-1), "L2g"),
    "rate_one": ("relu_linearized_golden", put(rate=1), "L2h"),
    "weight_zero": ("relu_linearized_golden", array("e", zero), "L2i"),
    "eps_is_lam": (
        "relu_linearized_golden_at_zero_loss",
        put(eps=Fraction(999999, 10**6)),
        "L3",
    ),
    "eta_too_large": ("relu_linearized_factor", times("eta", MORE), "L4"),
    "rate_too_small": ("relu_linearized_factor", _sooner, "L5"),
    "path_too_short": ("relu_linearized_factor", times("path", LESS), "L6"),
    "loss_upper_too_small": ("relu_linearized_golden", times("loss_upper", LESS), "L7"),
    "label_changed": ("relu_linearized_factor", hidden(array("y", add(0, 0.5))), "L8"),
    "tau_too_small": ("relu_linearized_long", _shorter_tau, "L8"),
    "eps_too_small": ("relu_linearized_unstable_pairs", times("eps", LESS), "L9"),
    "Lam_too_small": ("relu_linearized_factor", times("Lam", LESS), "L10"),
    "Lam_too_small_for_the_rows": ("relu_linearized_rows", times("Lam", LESS), "L10"),
    "factor_C_Lam_zero": ("relu_linearized_factor", array("C_Lam", zero), "L10"),
    "lam_too_large": ("relu_linearized_factor", times("lam", 1.002), "L11"),
    "factor_zero": ("relu_linearized_factor", array("C", zero), "L11"),
    "neuron_dies": (
        "relu_linearized_golden",
        several(hidden(array("y", lambda y: y - 1)), put(tau=2, path=3)),
        "L12",
    ),
    "neuron_at_the_kink": (
        "relu_linearized_golden_at_zero_loss",
        several(array("W", zero), array("y", zero)),
        "",
    ),
    "pair_left_out": ("relu_linearized_unstable_pairs", array("U", lambda U: U[:-1]), "L10"),
    "one_head_doubled": ("relu_linearized_rows", hidden(array("v", lambda v: 2 * v)), ""),
}
MALFORMED: dict[str, tuple[str, Edit]] = {
    "relu_linearized_norm_unknown": ("relu_linearized_factor", word(norm="spectral")),
    "relu_linearized_steps_zero": ("relu_linearized_factor", word(steps=0)),
    "relu_linearized_steps_a_string": ("relu_linearized_factor", word(steps="4")),
    "relu_linearized_pair_negative": (
        "relu_linearized_unstable_pairs",
        array("U", lambda U: U - 100),
    ),
    "relu_linearized_pair_beyond_the_last": (
        "relu_linearized_unstable_pairs",
        array("U", lambda U: U + 36),
    ),
    "relu_linearized_pairs_decreasing": (
        "relu_linearized_unstable_pairs",
        array("U", lambda U: np.array([35, 0])),
    ),
    "relu_linearized_pairs_of_floats": (
        "relu_linearized_unstable_pairs",
        array("U", lambda U: U.astype(float)),
    ),
}
FIELDS = ("tau", "lam", "Lam", "norm", "eps", "eta", "rate", "path", "steps")
