r"""Chapter 4 along a run of gradient descent on two factors: Lemma 4.1 (A), (B), (C) and the
descent inequality (4.16) at every recorded step, and what the printed schedule would have asked.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError
from globalmin.factorization import landscape
from globalmin.factorization.factors import checked_matrix
from globalmin.factorization.train import STEP, estimate_norm
from globalmin.facts.explanation import Explanation, Lemma, Promise
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin._types import ArrayLike
    from globalmin.factorization.train import FactorizationRun

ACCURACY = 1e-2  # of |M|_F, if none is asked for


@states("DU-T4.4", "DU-L4.4")
def explain_run(
    run: FactorizationRun,
    M: ArrayLike,
    *,
    accuracy: float | None = None,
    step_size: float | None = None,
) -> Explanation:
    """Lemma 4.1 and (4.16) along a run of `factorize` or `descend_factors` on M; the step is the
    default one unless given.
    """
    M, start = checked_matrix(M), run.start
    if start is None:
        raise DataError("the run has no start: there is nothing to explain")
    kept = run.iteration <= run.n_iter  # the finish is no gradient descent
    t, losses, gradients = run.iteration[kept], run.losses[kept], run.gradients[kept]
    norm, rank = float(np.linalg.norm(M)), start.rank
    eps = ACCURACY * norm if accuracy is None else accuracy
    eta = STEP / max(estimate_norm(M), 1e-300) if step_size is None else step_size
    sizes = np.maximum(run.norm_u[kept], run.norm_v[kept]) ** 2
    rise = np.append(np.nan, np.where(np.diff(t) == 1, losses[:-1] - losses[1:], np.nan))
    drop = landscape.descent_slack(losses, gradients, np.full(len(t) - 1, eta))
    beta = landscape.descent_smoothness_at_most(rank, norm)
    short = (np.diff(t) == 1) & (eta <= 1.0 / beta)
    largest = 5.0 * math.sqrt(rank) * norm
    lemmas = (
        Lemma("DU-T4.4", "(A) the imbalance stays below ε", eps - run.imbalance[kept], norm),
        Lemma("DU-T4.4", "(B) the loss does not rise", rise, norm**2),
        Lemma("DU-T4.4", "(B) the loss stays below 2|M|²", 2.0 * norm**2 - losses, norm**2),
        Lemma("DU-T4.4", "(C) the factors stay below 5√r|M|", largest - sizes, norm),
        Lemma("DU-L4.4", "the loss falls by η|∇f|²/2 (steps up to 1/β)",
              np.append(np.nan, np.where(short, drop, np.nan)), norm**2),
    )  # fmt: skip
    gap = math.sqrt(2.0 * max(run.loss, 0.0))
    conditions = landscape.start_conditions(start, M, eps)
    promises = [
        Promise("DU-T4.4", f"start small enough for ε = {eps:.3g}: sizes, imbalance" if
                conditions.hold else f"silent for ε = {eps:.3g}: the start is not small enough",
                eps, max(conditions.sizes)),
        Promise("DU-L4.4", "step up to 1/β", 1.0 / beta, eta),
        Promise("DU-T4.4", "|UVᵀ − M| at the end, at most ε", eps, gap,
                gap <= eps if conditions.hold and run.status.is_success else None),
    ]  # fmt: skip
    if 0.0 < eps < norm:
        needed = landscape.schedule_report(start, M, eps).log10_steps_lower
        words = "log₁₀ of the steps that the printed schedule needs, at least"
        promises.append(Promise("DU-T4.4", words, needed, math.log10(max(run.n_iter, 1))))
    return Explanation(
        f"gradient descent on factors of rank {rank} of a {M.shape[0]} x {M.shape[1]} matrix, step "
        f"{eta:.4g}, {run.n_iter} steps and {run.n_sweeps} sweeps (DU chapter 4)",
        f"|UVᵀ − M| = {gap:.4g} of |M| = {norm:.4g}: {run.status.message}",
        t,
        lemmas,
        tuple(promises),
        losses,
        np.full(len(t), np.nan),
        "loss",
    )
