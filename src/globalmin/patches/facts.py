"""The theorems of DU chapter 6 with the rows of the data as inputs of one neuron: the teacher is
the drawn network's first neuron, the start half its length away.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.facts.finding import TheoremReport, check, fact, number
from globalmin.patches import model, rates
from globalmin.patches.constants import RotationInvariantConstants, estimate_constants
from globalmin.patches.distributions import filter_at_distance, gaussian_patches
from globalmin.patches.rates import sgd_limits
from globalmin.patches.report import filter_report

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance

SEED = 1  # not that of the drawn network, whose first neuron would be drawn again
EPS = 1e-2  # of the start's distance: the accuracy asked about
ROWS = 2_000  # of the data used, so that the directions around the teacher cost seconds


def _setting(it: Instance) -> tuple[Array, Array, Array]:
    """Patches n x 1 x p, teacher and start."""
    w_star = it.start.network.W[0]
    w0 = filter_at_distance(w_star, 0.5 * float(np.linalg.norm(w_star)), seed=SEED)
    return it.m.X[:ROWS, None, :], w_star, w0


@fact(
    "DU-T6.1",
    "DU-T6.2",
    "DU-T6.5",
    "DU-T6.6",
    "DU-C6.1",
    "DU-L6.1",
    "DU-D6.0",
    "DU-D6.1",
    "DU-T6.7",
    "DU-T6.8",
)
def one_neuron(it: Instance) -> TheoremReport:
    """The report of chapter 6 on these inputs, and the constants of round laws beside it."""
    Z, w_star, w0 = _setting(it)
    known = estimate_constants(Z, w_star, n_bootstrap=0, seed=SEED)
    found = filter_report(Z, w_star, w0, known)
    p, phi0 = w_star.size, math.asin(0.5)
    first, second = model.neuron_descent_terms(Z, w0, w_star)
    alpha = 1.0 / math.sqrt(8.0 * math.pi * p)
    round_law = RotationInvariantConstants(float(np.mean(np.sum(Z**2, axis=2))) / p)
    alike = estimate_constants(
        gaussian_patches(len(Z), 1, p, SEED), w_star, n_bootstrap=0, seed=SEED
    )
    numbers = [
        ("γ(φ₀) on these inputs (estimate)", known.gamma(phi0)),
        ("γ(φ₀) on as many standard Gaussian inputs (estimate)", alike.gamma(phi0)),
        ("γ(φ₀) of a round law of the same size", round_law.gamma(phi0)),
        ("β on these inputs (estimate)", known.beta),
        ("β of a round law, m/π", round_law.beta),
        ("⟨∇ℓ, w−w*⟩, part where both are active", first),
        ("the same, part where only w is", second),
        ("a random start is good with probability ≥", model.good_start_at_least(alpha, p)),
        ("the same, as printed", model.good_start_printed(alpha, p)),
    ]
    if found.step_size > 0.0:
        steps = rates.iterations_at_most(known, phi0, found.step_size, EPS)
        numbers.append((f"steps to {EPS:g} of the distance ≤ (estimate)", float(steps)))
    return TheoremReport(
        "DU-T6.1",
        "one ReLU neuron: gradient descent turns to the teacher if the inputs are not too spiky",
        tuple(check(f"{f.item}: {f.hypothesis}", f.holds, number(f.value)) for f in found.findings),
        step_size=found.step_size or None,
        rate=math.sqrt(found.rate) if found.step_size > 0.0 else None,
        numbers=tuple(numbers),
        instead="gm.ConvolutionalFilterRegressor for several patches per sample",
    )


@fact("DU-T6.4", "DU-L6.2", "DU-L6.3", "DU-D6.2")
def stochastic(it: Instance) -> TheoremReport:
    """SGD on these inputs, with the repaired lemmas."""
    Z, w_star, w0 = _setting(it)
    known = estimate_constants(Z, w_star, n_bootstrap=0, seed=SEED)
    W, r0 = float(np.linalg.norm(w_star)), float(np.linalg.norm(w0 - w_star))
    bound = float(np.max(np.sum(Z**2, axis=2))) * 2.0 * (W + r0)
    step = 1e-3 * known.gamma(math.asin(0.5)) / max(bound**2, 1e-300) * r0**2
    gap = model.gradient_by_regions(Z, w0, w_star)
    says = "stochastic gradient descent stays near the teacher, but for the stated probability"
    try:
        found = sgd_limits(known, r0, step, 10_000, gradient_bound=bound, eps=0.1, W=W)
    except HypothesisError as refusal:
        return TheoremReport("DU-T6.4", says, (check(str(refusal), False),))
    return TheoremReport(
        "DU-T6.4",
        says,
        (check("the repaired lemmas apply to 10,000 small steps (estimated constants)", True),),
        step_size=step,
        failure=found.leave_upper,
        numbers=(
            ("‖∇ℓ‖ at the start, from the regions", float(np.linalg.norm(gap))),
            ("contraction α", found.alpha),
            ("radius that is kept", found.outer),
            ("probability of being further than 0.2‖w*‖ after them ≤", found.miss_upper),
        ),
    )
