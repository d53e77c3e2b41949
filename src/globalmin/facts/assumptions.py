"""The assumptions that the theorems of SJL share, on one instance: SJL-A2.3 of the activation,
(2.2) of the weights and (2.3) of the number of samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.activations.moments import MeanSign, average_class, mean_curvature, mean_slope
from globalmin.facts.finding import Hypothesis, check, number, unknown
from globalmin.shallow.widths import sample_condition_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from globalmin._types import Array
    from globalmin.activations import Activation
    from globalmin.facts.instance import Instance, Measurements

    Mean = Callable[[Activation, Array], Array]


def average_slope(it: Instance) -> Hypothesis:
    r"""SJL-A2.3, first part: $\mu(s) = E\phi'(sg)$ is zero for every s or for none."""
    found = average_class(it.m.activation).slope
    return check(
        "μ(s) = E φ'(sg) is zero for every s or for none",
        found is not MeanSign.SOMETIMES,
        found.value + _at_norms("μ", mean_slope, it, found),
    )


def average_curvature(it: Instance) -> Hypothesis:
    r"""SJL-A2.3, second part: $\gamma(s) = E\phi''(sg)$ is nowhere zero (class a) or zero
    everywhere (class b).
    """
    found = average_class(it.m.activation).curvature
    letter = {MeanSign.NEVER: " (class a)", MeanSign.ALWAYS: " (class b)"}.get(found, "")
    return check(
        "γ(s) = E φ''(sg) is zero for every s or for none",
        found is not MeanSign.SOMETIMES,
        found.value + letter + _at_norms("γ", mean_curvature, it, found),
    )


def _at_norms(symbol: str, mean: Mean, it: Instance, found: MeanSign) -> str:
    norms = np.linalg.norm(it.start.network.W, axis=1)
    norms = norms[norms > 0.0]
    if found is MeanSign.ALWAYS or not norms.size:
        return ""
    return f"; {symbol}(‖w_l‖) from {_range(mean(it.m.activation, norms))}"


def not_affine(m: Measurements) -> Hypothesis:
    """What SJL-A2.3 forgets: the slope of the activation varies (S15)."""
    is_affine = m.activation.name == "linear" or m.M == 0.0
    return check("φ is not affine (ours, S15)", not is_affine, f"{m.activation}", is_scope=True)


def sized_weights(it: Instance) -> Hypothesis:
    r"""(2.2): no head weight and no row of W is zero."""
    heads = np.abs(it.start.network.v)
    norms = np.linalg.norm(it.start.network.W, axis=1)
    return check(
        "0 < v_min ≤ |v_l| ≤ v_max and 0 < w_min ≤ ‖w_l‖ ≤ w_max (2.2)",
        float(heads.min()) > 0.0 and float(norms.min()) > 0.0,
        f"|v_l| from {_range(heads)}, ‖w_l‖ from {_range(norms)}",
    )


def _range(values: Array) -> str:
    return f"{number(float(values.min()))} to {number(float(values.max()))}"


def enough_samples(m: Measurements) -> Hypothesis:
    """The lower half of (2.3)."""
    return check("d ≤ n (2.3)", m.d <= m.n, f"d = {m.d}, n = {m.n}")


def few_samples(it: Instance) -> Hypothesis:
    r"""The upper half of (2.3): the ratio is computed, the constant it is compared with only
    exists; without full rank it fails for every constant.
    """
    W, n = it.start.network.W, it.m.n
    if average_class(it.m.activation).letter == "b":
        statement = "n ≤ c₀ d²/σ_max(W)⁸ (2.3), class b"
        ratio = n * float(np.linalg.norm(W, 2)) ** 8 / it.m.d**2
    else:
        statement, ratio = "n ≤ c₀ σ_min(W)⁴ d²/σ_max(W)⁸ (2.3)", sample_condition_ratio(W, n)
    if math.isinf(ratio):
        return check(statement, False, "W does not have full column rank: σ_min(W) = 0")
    return unknown(statement, f"n is {number(ratio)} times the right side without c₀")
