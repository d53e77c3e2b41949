"""What DU-T3.1, DU-T3.2 and DU-T3.3 say of one table of data: the width, the step and the rate of
gradient descent on all layers, explicit (theorem DW).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Architecture
from globalmin.deep.architecture import check_depth
from globalmin.deep.constants import proof_width
from globalmin.deep.gram import framework, last_layer_gram
from globalmin.deep.sufficient_width import WidthQuestion, WidthTest, at_width, sufficient_width
from globalmin.deep.width_orders import deep_width_order, residual_width_order
from globalmin.facts import assumptions, finding
from globalmin.facts.finding import fact
from globalmin.linalg.spectrum import extremes

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance, Measurements

DEEP_LIMIT = 1_000  # samples up to which deep Gram matrices are computed here
PIXEL_LIMIT = 400  # samples times pixels, for a table that was not said to hold images
POLYNOMIALS = ("linear", "quadratic", "polynomial")
C_RES = 0.5  # strength of the residual branches, as in `deep_gram`
INSTEAD = "train with gm.train_deep, then the claim deep-descent (theorem DS) at actual weights"


def _analytic(m: Measurements) -> finding.Hypothesis:
    is_analytic = m.activation.is_smooth and m.activation.name not in POLYNOMIALS
    return finding.check(
        "φ is smooth, analytic and no polynomial", is_analytic, f"{m.activation}", is_scope=True
    )


def _sized(it: Instance, pixels: int) -> finding.Hypothesis:
    what, size = "samples" if pixels == 1 else "samples × pixels", it.m.n * pixels
    limit = DEEP_LIMIT if pixels == 1 or it.image_shape else PIXEL_LIMIT
    return finding.check(
        f"at most {limit:,} {what}, for which this is computed here",
        size <= limit,
        f"{size:,}",
        remedy="gm.theory.deep_width(X, y) computes it at any size that fits in memory",
    )


def _convergence(
    it: Instance,
    report: finding.TheoremReport,
    architecture: Architecture,
    inputs: Array,
    pixels: int = 1,
) -> finding.TheoremReport:
    """The report with hypotheses, width, step and rate for one architecture."""
    m, H = it.m, max(it.depth, 1 if architecture == "fully_connected" else 2)
    hypotheses = [_analytic(m), assumptions.smooth(m), *report.hypotheses, _sized(it, pixels)]
    if any(h.finding is finding.Finding.FAILS for h in hypotheses):
        return replace(report, hypotheses=tuple(hypotheses), instead=INSTEAD)
    recursion = framework(
        inputs, architecture, check_depth(H, architecture), m.activation, c_res=C_RES
    )
    lam = extremes(last_layer_gram(recursion), is_singular=bool(m.facts.equal_rows)).low
    question = WidthQuestion(recursion, m.y_norm, lam, it.failure)
    found = sufficient_width(question)
    here = at_width(question, float(it.width)) if lam > 0.0 else found
    hypotheses += [
        finding.check(
            f"λ₀ = λ_min(K^(H)) > 0 at depth H = {H}", lam > 0.0, f"λ₀ = {finding.number(lam)}"
        ),
        assumptions.enough_width(it.width, found.width),
    ]
    return replace(
        report,
        hypotheses=tuple(hypotheses),
        width=found.width,
        step_size=found.step_size or None,
        rate=found.rate if found.holds else None,
        failure=it.failure if here.holds else None,
        instead=INSTEAD,
        numbers=tuple(_numbers(it, question, found)),
    )


def _numbers(it: Instance, question: WidthQuestion, found: WidthTest) -> list[tuple[str, float]]:
    n, H, lam = it.m.n, len(question.recursion.rules), question.lambda0
    pixels, plain = question.recursion.geometry.pixels, not question.recursion.rules[-1].is_skip
    order = (
        deep_width_order(n, H, lam, it.failure)
        if plain
        else residual_width_order(n, H, lam, it.failure, pixels=pixels)
    )
    numbers = [
        ("λ₀ = λ_min(K^(H))", lam),
        ("width from our derivation (theorem DW)", found.width),
        ("promised decrease of log L per step, η λ₀/2", 0.5 * found.step_size * lam),
        ("bound of the path, at that width", found.radius),
        ("the thesis's order of the width, without its constant", order),
    ]
    if pixels == 1 and it.m.has_unit_rows:
        # E u_i(0)^2 is at most 4 (DU-L3.1), so ||r_0||^2 <= (||y||^2 + 4 n)/delta by Markov
        r = math.sqrt((it.m.y_norm**2 + 4.0 * n) / it.failure)
        c_res = None if plain else C_RES
        sizes = {"residual": r, "lambda0": lam, "c_res": c_res}
        numbers.append(
            (
                "width by the lemmas' own constants, R′ ≤ R (estimate)",
                proof_width(it.m.activation, H, n, **sizes),
            )
        )
    return numbers


@fact("DU-T3.1", headline=True)
def fully_connected_theorem(it: Instance) -> finding.TheoremReport:
    """DU-T3.1, explicit and for rows of any norm."""
    says = (
        f"gradient descent on all layers of a fully connected network of depth {it.depth} "
        "converges, L_k ≤ (1 − η λ₀/2)^k L₀"
    )
    return _convergence(it, finding.TheoremReport("DU-T3.1", says, ()), "fully_connected", it.m.X)


@fact("DU-T3.2", headline=True)
def residual_theorem(it: Instance) -> finding.TheoremReport:
    """DU-T3.2, explicit and for rows of any norm; powers of H corrected (erratum E15)."""
    says = f"the same for a residual network of depth {max(it.depth, 2)}"
    return _convergence(it, finding.TheoremReport("DU-T3.2", says, ()), "resnet", it.m.X)


@fact("DU-T3.3", headline=True)
def convolutional_theorem(it: Instance) -> finding.TheoremReport:
    """DU-T3.3, explicit: on images of the shape that was given, else on each row as a signal."""
    m, shape = it.m, it.image_shape
    what = f"an image {' × '.join(map(str, shape))}" if shape else f"a signal of {m.d} pixels"
    sides = shape[:2] or (m.d,)
    says = (
        f"the same for a convolutional residual network of depth {max(it.depth, 2)} with windows "
        f"of side 3, each row read as {what}"
    )
    wide = finding.check("at least 3 pixels along every side", min(sides) >= 3, what, is_scope=True)
    return _convergence(
        it,
        finding.TheoremReport("DU-T3.3", says, (wide,)),
        "convolutional_resnet",
        np.moveaxis(m.X.reshape(m.n, *sides, -1), -1, 1),  # channels first
        math.prod(sides),
    )
