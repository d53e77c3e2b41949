"""Hypotheses that several theorems share, decided on one instance: rows, labels, widths,
smoothness; and those of SJL: A2.3 of the activation, (2.2) of the weights, (2.3) of the number of
samples.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.activations.moments import MeanSign, average_class, mean_curvature, mean_slope
from globalmin.facts.finding import Hypothesis, check, number, unknown
from globalmin.shallow.widths import parallel_groups, sample_condition_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

    from globalmin._types import Array
    from globalmin.activations import Activation
    from globalmin.facts.instance import Instance, Measurements

    Mean = Callable[[Activation, Array], Array]


def enough_width(width: int, needed: float) -> Hypothesis:
    """The hypothesis that the network is as wide as the theorem asks."""
    return check(
        f"width ≥ {number(needed)}", width >= needed, f"width {number(width)}", remedy=WIDER
    )


def promised(failure: float) -> Hypothesis:
    """The hypothesis that a stated probability says anything at all."""
    return check(
        "the promise has a positive probability",
        failure < 1.0,
        f"it fails with probability at most {number(failure)}",
        remedy="a larger delta, or more samples",
    )


WIDER = "a wider network"
UNIT_ROWS = 'rows of norm 1: scaling="rows"'
TRAINED = "weights after some training: inspect(data, network=run.network)"
CONVERGES = (
    "gradient descent from a random start reaches zero loss, the residual shrinking by the rate in "
    "every step"
)


def unit_rows(m: Measurements) -> Hypothesis:
    """All rows of norm 1."""
    low, high = m.row_norms
    remedy = "" if m.has_unit_rows else '; use scaling="rows" or scale them'
    return check(
        "all rows have norm 1",
        m.has_unit_rows,
        f"norms {number(low)} to {number(high)}{remedy}",
        remedy=UNIT_ROWS,
    )


def scale_rows(m: Measurements) -> str:
    """What to do where rows of other norms are all that stands in the way of a printed theorem's
    numbers.
    """
    ours = "OS-C3" if m.is_relu else "OS-C6"
    return (
        ""
        if m.has_unit_rows
        else f'stated for rows of norm 1: inspect with scaling="rows" for its numbers; {ours} '
        "takes any rows"
    )


def smooth(m: Measurements) -> Hypothesis:
    """Bounded first and second derivative."""
    return check(
        "φ' and φ'' are bounded",
        math.isfinite(m.B) and math.isfinite(m.M),
        f"{m.activation}: sup |φ'| = {number(m.B)}, sup |φ''| = {number(m.M)}",
        is_scope=True,
    )


def bounded_curvature(m: Measurements) -> Hypothesis:
    """Bounded second derivative, all that a Lipschitz Jacobian needs."""
    return check(
        "φ'' is bounded",
        math.isfinite(m.M),
        f"{m.activation}: sup |φ''| = {number(m.M)}",
        is_scope=True,
    )


DISTINCT = "no zero, equal or opposite rows"


def positive_lambda(m: Measurements) -> Hypothesis:
    """The limiting Gram matrix is positive definite."""
    return check("λ(X) > 0", m.lam > 0.0, f"λ = {number(m.lam)}{why_singular(m)}", remedy=DISTINCT)


def why_singular(m: Measurements) -> str:
    """Which rows make the limiting Gram matrix singular; empty if it is not."""
    if m.lam > 0.0:
        return ""
    if m.facts.zero_rows:
        return f": row {m.facts.zero_rows[0]} is zero"
    groups = parallel_groups(m.facts, m.activation)
    if groups:
        word = "are multiples of each other"
        if groups[0] in m.facts.equal_rows:
            word = "are equal"
        elif groups[0] in m.facts.opposite_rows:
            word = "are equal up to sign"
        return f": rows {groups[0][0]} and {groups[0][1]} {word}"
    return ": below what floats resolve" if not m.slope.is_resolved else ""


def labels(m: Measurements) -> Hypothesis:
    """The head has the size of the labels, so they must not all be zero."""
    return check(
        "y ≠ 0 (the head has its size)",
        m.y_norm > 0.0,
        f"‖y‖ = {number(m.y_norm)}",
        remedy="labels that are not all zero",
    )


def relu(m: Measurements) -> Hypothesis:
    """The activation is ReLU."""
    return check("ReLU", m.is_relu, f"{m.activation}", is_scope=True)


def no_parallel_rows(m: Measurements) -> Hypothesis:
    """No zero row and no two rows on one line; exact."""
    lines, zero = m.facts.lines, m.facts.zero_rows
    if zero:
        return check(
            "no two rows parallel, none zero", False, f"row {zero[0]} is zero", remedy=DISTINCT
        )
    if lines:
        i, j = lines[0][:2]
        opposite = float(m.X[i] @ m.X[j]) < 0.0
        word = "antiparallel" if opposite else "equal" if (m.X[i] == m.X[j]).all() else "parallel"
        return check(
            "no two rows parallel, none zero",
            False,
            f"rows {i} and {j} are {word} (exact)",
            remedy=DISTINCT,
        )
    return check("no two rows parallel, none zero", True, f"separation {number(m.separation)}")


def gaussian(m: Measurements) -> Hypothesis:
    """Standard normal inputs, a law; what one data set shows is its second moment."""
    spread = float(np.linalg.norm(m.X.T @ m.X / m.n - np.eye(m.d), 2))
    return unknown(
        "inputs drawn from N(0, I)",
        f"a law; here ‖XᵀX/n − I‖ = {number(spread)}, "
        f"{number(2 * math.sqrt(m.d / m.n) + m.d / m.n)} expected",
    )


def thrice_bounded(m: Measurements) -> Hypothesis:
    """Bounded first three derivatives."""
    bounds = (m.B, m.M, float(m.activation.supremum(3)))
    return check(
        "φ', φ'', φ''' are bounded",
        all(map(math.isfinite, bounds)),
        f"{m.activation}",
        is_scope=True,
    )


def at_least_as_wide(m: Measurements, k: int) -> Hypothesis:
    """At least as many neurons as features."""
    return check("k ≥ d", k >= m.d, f"k = {k}, d = {m.d}")


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
