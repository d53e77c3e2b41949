"""The theorems of ours about the weights themselves, drawn or given: OS-C1, OS-C2, OS-C4,
without unknown constants. Smooth activations; OS-C3 is ReLU's.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.facts.assumptions import TRAINED, WIDER, bounded_curvature
from globalmin.facts.finding import TheoremReport, check, fact, number
from globalmin.linalg.spectrum import ALL_LIMIT
from globalmin.shallow.sgd_guarantee import sgd_guarantee, stochastic_guarantee

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance
    from globalmin.shallow.sgd_guarantee import StochasticGuarantee


@fact("OS-C1", headline=True)
def descent_at_start(it: Instance) -> TheoremReport:
    """OS-C1 at the weights."""
    m, start = it.m, it.start
    found = start.descent
    measured = (
        f"2 Lip ‖r‖/a² = {number(start.descent_ratio)} (a = {number(start.a)}, Lip = "
        f"{number(start.Lip)}){_too_few(it)}"
    )
    small = check(
        "2 Lip ‖r‖ < a² at the drawn start", found is not None, measured, remedy=_remedy(it)
    )
    return TheoremReport(
        "OS-C1",
        "ours: gradient descent from exactly these weights reaches zero loss",
        (bounded_curvature(m), small),
        None, found.eta if found else None, found.rate if found else None,
        instead="it fires after some training at widths near kd ≥ 1.2 n: gm.train, then gm.certify",
        numbers=(("path to the zero-loss network, at most", found.S),) if found else (),
    )  # fmt: skip


@fact("OS-C2", headline=True)
def existence_at_start(it: Instance) -> TheoremReport:
    """OS-C2 at the weights."""
    m, start = it.m, it.start
    near = check(
        "2 Lip e ≤ a at the drawn start",
        start.newton_ratio <= 1.0,
        f"2 Lip e/a = {number(start.newton_ratio)}{_too_few(it)}",
        remedy=_remedy(it),
    )
    return TheoremReport(
        "OS-C2",
        "ours: a network with zero loss exists near exactly these weights",
        (bounded_curvature(m), near),
        instead="it fires earlier in training than OS-C1",
    )


@fact("OS-C4", headline=True)
def stochastic_at_start(it: Instance) -> TheoremReport:
    """OS-C4 at the weights, the same numbers as `gm.train(method="sgd", step_size="local")`."""
    m = it.m
    says = (
        "ours: stochastic gradient descent from exactly these weights converges in mean, with an "
        "explicit probability"
    )
    full = check(
        "J has full row rank at the drawn start",
        it.start.a > 0.0,
        f"a = {number(it.start.a)}{_too_few(it)}",
        remedy=_remedy(it),
    )
    found = _guarantee(it)
    if found is None:
        return TheoremReport("OS-C4", says, (bounded_curvature(m), full))
    stays = check(
        "the probability of leaving the ball is below 1",
        found.failure < 1.0,
        f"at most {number(found.failure)}, radius {number(found.radius)}",
        remedy=TRAINED,
    )
    return TheoremReport(
        "OS-C4", says, (bounded_curvature(m), full, stays),
        None, found.step_size, math.sqrt(found.rate), found.failure,
        instead="apply it after some training, when ‖r‖ is small",
        numbers=(("radius that is not left", found.radius),),
    )  # fmt: skip


def _guarantee(it: Instance) -> StochasticGuarantee | None:
    """OS-C4 at the weights, None where it does not apply; for many samples with the Lipschitz
    constant M ||v||_inf sqrt(kappa_4), which needs no search of a radius.
    """
    m, s = it.m, it.start
    if s.a == 0.0:
        return None
    if m.n <= ALL_LIMIT:
        try:
            return sgd_guarantee(s.network, m)
        except HypothesisError:
            return None
    v = s.network.v
    Lip = m.M * float(np.abs(v).max()) * math.sqrt(m.kappa4)
    row = m.B * float(np.linalg.norm(v)) * m.row_norms[1]
    if not (math.isfinite(Lip) and math.isfinite(row)):
        return None
    return stochastic_guarantee(s.a, s.b, Lip, s.residual_norm, n=m.n, row_norm=row)


def _too_few(it: Instance) -> str:
    """Why no training will help, where there are fewer weights than samples."""
    size = it.start.network.W.size
    return f"; kd = {size} weights for n = {it.m.n} samples" if size < it.m.n else ""


def _remedy(it: Instance) -> str:
    return WIDER if it.start.network.W.size < it.m.n else TRAINED
