"""The theorems of DU chapter 4 on matrix factorization, with the inputs X of the data as the matrix
to factorize.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import HypothesisError
from globalmin.factorization import landscape, rank_one
from globalmin.factorization.factors import Factors
from globalmin.factorization.landscape import balanced_target, saddle_test
from globalmin.facts.finding import TheoremReport, check, fact, number

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance

STEPS = 200  # of descent on the factors from a small start
C_INIT, C_STEP = 0.1, 0.1  # of the rank-one experiment


@fact("DU-A4.9", "DU-T4.4", "DU-L4.4", "DU-L4.2")
def factorizing(it: Instance) -> TheoremReport:
    """Descent on the factors of X, of half its rank, watched step by step."""
    M, rank = it.m.X, max(1, it.m.rank // 2)
    target = balanced_target(M, rank).product()
    norm = float(np.linalg.norm(target))
    says = "small random factors of a matrix of rank r descend to it, balanced, past strict saddles"
    if norm == 0.0:
        return TheoremReport("DU-A4.9", says, (check("the matrix is not zero", False),))
    factors = Factors.initialize(M.shape, rank, scale=1e-2 * math.sqrt(norm / max(M.shape)), seed=0)
    start = landscape.start_conditions(factors, target, 0.1 * norm)
    eta = 1.0 / landscape.descent_smoothness_at_most(rank, norm)
    change = landscape.imbalance_change(factors, target, eta)
    losses, sizes = [], []
    for _ in range(STEPS):
        by_u, by_v = landscape.factorization_gradient(factors, target)
        losses.append(landscape.factorization_loss(factors, target))
        sizes.append(math.hypot(float(np.linalg.norm(by_u)), float(np.linalg.norm(by_v))))
        factors = Factors(factors.U - eta * by_u, factors.V - eta * by_v)
    slack = landscape.descent_slack(losses, sizes, np.full(STEPS - 1, eta))
    keep = np.arange(rank) < rank - 1
    lesser = balanced_target(target, rank)
    saddle = saddle_test(Factors(lesser.U * keep, lesser.V * keep), target)
    return TheoremReport(
        "DU-A4.9",
        says,
        (
            check(
                "the start is small and balanced, for an accuracy of a tenth",
                start.hold,
                f"sizes {number(max(start.sizes))}, imbalance {number(start.imbalance)}",
            ),
        ),
        step_size=eta,
        numbers=(
            (f"best loss of rank {rank} on X", landscape.estimate_best_loss(M, rank)),
            ("change of the imbalance in the first step", float(np.linalg.norm(change))),
            (f"least f_t − f_(t+1) − (η/2)‖∇f‖² over {STEPS} steps", float(slack.min())),
            ("imbalance at the end", float(np.linalg.norm(landscape.imbalance(factors)))),
            ("curvature out of the point that lacks one singular value", saddle.curvature),
        ),
        instead="gm.factorize, then gm.certify_factorization",
    )


@fact("DU-T4.5")
def rank_one_run(it: Instance) -> TheoremReport:
    """The leading rank-one part of X: the four-number map from a drawn start."""
    left, values, right = np.linalg.svd(it.m.X, full_matrices=False)
    sigma = float(values[0])
    says = "rank one: from a small random start with the right signs descent converges linearly"
    if sigma == 0.0:
        return TheoremReport("DU-T4.5", says, (check("the matrix is not zero", False),))
    rng = np.random.default_rng(0)
    scale = C_INIT * math.sqrt(sigma / max(it.m.X.shape))
    u, v = (scale * rng.standard_normal(size) for size in it.m.X.shape)
    state = rank_one.rank_one_state(u, v, left[:, 0], right[0])
    if state.alpha * state.beta < 0.0:  # one of the two signs of v works
        state = rank_one.rank_one_state(u, -v, left[:, 0], right[0])
    constants = rank_one.rank_one_constants()
    try:
        run = rank_one.rank_one_run(state, sigma, C_STEP)
    except HypothesisError as refusal:
        return TheoremReport("DU-T4.5", says, (check(str(refusal), False),))
    found = {**run.stage_one, **run.stage_two}
    return TheoremReport(
        "DU-T4.5",
        says,
        tuple(check(f"along the run: {name}", holds) for name, holds in found.items()),
        step_size=C_STEP / sigma,
        numbers=(
            ("steps of stage one", float(run.first_stage or 0)),
            ("steps of stage one ≤", float(rank_one.first_stage_at_most(state, sigma, C_STEP))),
            ("steps to 1e-10 σ₁", float(run.steps or math.inf)),
            ("c₁ measured", run.c_1),
            ("c₁ of the proof", constants.c_1),
            ("c_init that the proof allows", constants.c_init_printed),
        ),
    )
