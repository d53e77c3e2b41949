"""Both layers trained near a teacher (SJL-T2.5) on one instance, the network in the part of the
teacher: every assumption with its measured value.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.activations.moments import average_class, mean_curvature, mean_slope
from globalmin.facts.assumptions import (
    at_least_as_wide,
    average_curvature,
    average_slope,
    enough_samples,
    few_samples,
    gaussian,
    not_affine,
    sized_weights,
    smooth,
)
from globalmin.facts.finding import Finding, Hypothesis, TheoremReport, check, fact, number, unknown
from globalmin.recovery import planted

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance

REPRODUCED = 1e-10  # of ‖y‖: labels that the network misses by this are its own
BASIN_LIMIT = 2_000_000  # n² d k up to which the basin of our own theorem is computed


def planted_by_network(it: Instance) -> Hypothesis:
    """The labels are outputs of a network of this width; seen only if they are the outputs of the
    network at hand.
    """
    statement, missed = "labels planted by a network of this width", it.start.residual_norm
    if missed <= REPRODUCED * it.m.y_norm:
        return check(statement, True, f"the network at hand misses them by {number(missed)}")
    return unknown(statement, "not visible in the data; give the teacher as the network")


@fact("SJL-T2.5", headline=True)
def local_theorem(it: Instance) -> TheoremReport:
    """SJL-T2.5 with SJL-A2.3, (2.2), (2.3), and what replaces its constants."""
    m, net = it.m, it.start.network
    says = (
        "both layers trained, planted labels, Gaussian inputs: linear convergence from a ball "
        "around the teacher"
    )
    scope = (smooth(m), not_affine(m))
    if any(h.finding is Finding.FAILS for h in scope):
        return TheoremReport("SJL-T2.5", says, scope)
    wide = at_least_as_wide(m, net.width)
    radius = (
        "radius without C₀: "
        + (number(planted.planted_scales(net, m.n).radius) if net.width >= m.d else "–")
        + "; C₀ exists only"
    )
    return TheoremReport(
        "SJL-T2.5",
        says,
        (
            *scope,
            gaussian(m),
            average_slope(it),
            average_curvature(it),
            planted_by_network(it),
            sized_weights(it),
            wide,
            enough_samples(m),
            few_samples(it),
            unknown("start within C₀ σ_min³/σ_max d^2.5/(n^1.5 k) of the teacher (2.4)", radius),
        ),
        instead='OS-C5: gm.certify(..., trained="vW") at the trained weights',
        numbers=tuple(local_numbers(it)),
    )


def local_numbers(it: Instance) -> list[tuple[str, float]]:
    """The orders of the theorem without its constants, and the basin that needs none."""
    m, net = it.m, it.start.network
    singular = np.linalg.svd(net.W, compute_uv=False)
    numbers = [("σ_max(W)", float(singular[0])), ("σ_min(W)", float(singular[-1]))]
    if net.width >= m.d:
        scales = planted.planted_scales(net, m.n)
        numbers += [
            ("step on ‖r‖²/(2n) without its constant, 1/((σ_max² + 1)k)", scales.step),
            ("radius without its constant (2.4)", scales.radius),
            ("radius of the head without its constant (2.5)", scales.head_radius),
            ("what the step is multiplied by in the rate of the loss, σ_min²d²/n", scales.exponent),
            ("part 1/n of the failure probability 1/n + 2n e^(−b√d)", 1.0 / m.n),
        ]
    if m.n**2 * net.W.size <= BASIN_LIMIT and math.isfinite(m.M):
        basin = planted.planted_basin(net, m.X)
        if basin is not None:
            numbers += [
                ("ours, no constant: descent returns to this teacher from within", basin.radius),
                ("its step on (1/2)Σr²", basin.step),
                ("1 − its factor of ‖r‖ per step", 1.0 - basin.rate),
            ]
    return numbers


@fact("SJL-A2.3", "SJL-Ex2.4")
def assumption(it: Instance) -> TheoremReport:
    """SJL-A2.3: the class of the activation, its means at norm 1."""
    letter, phi = average_class(it.m.activation).letter, it.m.activation
    return TheoremReport(
        "SJL-A2.3",
        f"the activation is of class {letter}"
        if letter
        else "the activation is of neither class: a mean vanishes at some scales only",
        (average_slope(it), average_curvature(it)),
        numbers=(("μ(1)", float(mean_slope(phi))), ("γ(1)", float(mean_curvature(phi)))),
    )
