"""Claims on either side of the truth by 1e-30 to 1e-250: the true ones need several hundred bits,
the false ones are false.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.corpus.drafts import Draft, claim, seal
from tests.corpus.small_producer import Model
from tests.oracles.fraction_intervals import Interval
from tests.oracles.fraction_network import Network
from tests.oracles.strict_container import read

BITS = 1400
KEPT_BITS = 1150


def short(value: Fraction) -> Fraction:
    """A rational whose digits fit the limit of the format and which agrees with the value to about
    1e-340.
    """
    return Fraction(round(value * 2**KEPT_BITS), 2**KEPT_BITS)


def _model() -> Model:
    """One tanh neuron pair on one sample: K and the loss are transcendental numbers."""
    network = {"activation": "tanh", "kind": "shallow"}
    return Model(
        network,
        np.array([[1.0]]),
        np.array([0.5]),
        np.array([[0.25], [0.25]]),
        np.array([1.0, 1.0]),
    )


def _draft(a2: Fraction, C_a: float, loss_upper: Fraction) -> Draft:
    model = _model()
    fields = {
        "trained": "W",
        "a2": a2,
        "rho": Fraction(1, 16),
        "quartic": {"kappa": Fraction(1), "method": "rows"},
    }
    fields |= {"R": Fraction(1, 16), "loss_upper": loss_upper}
    tensors = {"C_a": np.array([[C_a]]), "C_kappa": np.array([[1.1]]), "z": np.array([(-1e-2)])}
    return model.draft([claim("interpolation", fields, tensors)])


def _exact_quantities() -> tuple[Fraction, Fraction]:
    """(K, loss) to 1400 bits."""
    net = Network(read(seal(_draft(Fraction(1), 1.0, Fraction(1)))), BITS)
    K: Interval = net.gram("W")[0][0]
    return K.lower, net.loss.lower


def close_calls() -> tuple[dict[str, Draft], dict[str, Draft]]:
    """(true ones, false ones) by name."""
    K, loss = _exact_quantities()
    half, C_half = short(K / 2), (2 / float(K)) ** 0.5
    true, false = {}, {}
    for digits in (30, 60, 120, 250):
        whisker = Fraction(1, 10**digits)
        C = float(10 ** (digits // 2)) / float(K) ** 0.5
        true[f"interpolation_a2_true_by_1e-{digits}"] = _draft(
            short(K * (1 - whisker)), C, Fraction(1)
        )
        false[f"interpolation_a2_false_by_1e-{digits}"] = _draft(
            short(K * (1 + whisker)), C, Fraction(1)
        )
        true[f"interpolation_loss_true_by_1e-{digits}"] = _draft(
            half, C_half, short(loss * (1 + whisker))
        )
        false[f"interpolation_loss_false_by_1e-{digits}"] = _draft(
            half, C_half, short(loss * (1 - whisker))
        )
    return true, false
