"""Which theorems of DU chapter 6 speak about given patches, every hypothesis with its value on the
user's own inputs; and the same theorems with the rows of the data as inputs of one neuron.

The theorems are about a law of patches and labels of a teacher. Measured on samples the constants
are estimates; for noisy labels or a fitted filter in place of the teacher, no theorem promises
anything about the empirical loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from globalmin.errors import HypothesisError
from globalmin.facts.finding import TheoremReport, check, fact, number
from globalmin.patches import model, rates
from globalmin.patches.constants import (
    FilterConstants,
    RotationInvariantConstants,
    closeness,
    estimate_constants,
)
from globalmin.patches.inputs import filter_at_distance, gaussian_patches
from globalmin.patches.model import as_patches, good_start_at_least, is_dead
from globalmin.patches.rates import (
    angle_limit,
    contraction,
    cross_margin,
    largest_good_angle,
    max_step,
    sgd_limits,
    starts_below_zero,
)
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance


@dataclass(frozen=True)
class Finding:
    """One hypothesis of one theorem: whether it holds on these patches, its value, and in words
    what it means.
    """

    item: str
    hypothesis: str
    holds: bool
    value: float
    meaning: str = ""


@dataclass(frozen=True)
class FilterReport:
    """All findings, and what follows where all hypotheses of a rate theorem hold.

    Attributes
    ----------
    step_size : largest step of DU-T6.3 (DU-T6.2 for one patch) at the start; 0 if the theorem does
        not apply.
    rate : factor per step of the squared distance for that step; 1 if it does not apply.
    start_dead : no patch is active at the start.
    """

    findings: tuple[Finding, ...]
    constants: FilterConstants
    step_size: float
    rate: float
    start_dead: bool

    def holds(self, item: str) -> bool:
        """Whether all hypotheses of an item hold (and there are any)."""
        mine = [finding.holds for finding in self.findings if finding.item == item]
        return bool(mine) and all(mine)

    def __str__(self) -> str:
        lines = (
            ["dead start: no patch is active, gradient descent cannot move"]
            if self.start_dead
            else []
        )
        lines += [
            f"{each.item:8} {'holds' if each.holds else 'FAILS'}  {each.hypothesis} "
            f"({each.value:.4g}) {each.meaning}".rstrip()
            for each in self.findings
        ]
        return "\n".join(
            [
                *lines,
                f"step {self.step_size:.4g}, factor per step of |w - w*|^2 {self.rate:.6g} "
                "(estimates)",
            ]
        )


@states("DU-T6.1", "DU-T6.2", "DU-T6.3", "DU-T6.4", "DU-T6.5", "DU-T6.6")
def filter_report(
    Z: ArrayLike,
    w_star: ArrayLike,
    w0: ArrayLike,
    constants: FilterConstants | None = None,
    *,
    seed: int = 0,
) -> FilterReport:
    """Check the corrected hypotheses of chapter 6 on patches n x k x p, for a teacher w* and a
    start w0.

    `constants` are estimated on the patches if not given (`estimate_constants` with its defaults).
    """
    Z, w_star = as_patches(Z, w_star)
    Z, w0 = as_patches(Z, w0)
    known = estimate_constants(Z, w_star, seed=seed) if constants is None else constants
    rate_item = "DU-T6.2" if Z.shape[1] == 1 else "DU-T6.3"
    try:
        phi0 = angle_limit(w0, w_star)
    except HypothesisError:
        phi0 = math.nan
    findings = [
        *_general(Z, w_star, w0, known),
        *_rate(rate_item, known, phi0, w0, w_star),
        *_closeness(Z, w_star, w0),
    ]
    step = max(max_step(known, phi0), 0.0) if math.isfinite(phi0) else 0.0
    applies = step > 0.0 and all(finding.holds for finding in findings if finding.item == rate_item)
    rate = contraction(known, phi0, step) if applies else 1.0
    return FilterReport(tuple(findings), known, step if applies else 0.0, rate, is_dead(Z, w0))


def _general(
    Z: np.ndarray, w_star: np.ndarray, w0: np.ndarray, known: FilterConstants
) -> list[Finding]:
    least = known.gamma(math.pi / 2.0)
    start = starts_below_zero(Z, w0, w_star)
    found = [
        Finding(
            "DU-T6.1", "l(w0) < l(0)", start, float(start), "a start that beats the zero filter"
        )
    ]
    if Z.shape[1] == 1:
        found.append(
            Finding(
                "DU-T6.1",
                "A positive definite up to pi/2",
                least > 0.0,
                least,
                "on a grid of angles",
            )
        )
    chance = good_start_at_least(1.0 / math.sqrt(8.0 * math.pi * w_star.size), w_star.size)
    found.append(
        Finding(
            "DU-T6.6",
            "a random start is good",
            chance > 0.0,
            chance,
            "lower bound of its probability",
        )
    )
    return found


def _rate(
    item: str, known: FilterConstants, phi0: float, w0: np.ndarray, w_star: np.ndarray
) -> list[Finding]:
    ratio = float(np.linalg.norm(w0 - w_star)) / max(float(np.linalg.norm(w_star)), 1e-300)
    found = [Finding(item, "|w0 - w*| < |w*|", ratio < 1.0, ratio)]
    if not math.isfinite(phi0):
        return found
    if item == "DU-T6.2":
        found.append(Finding(item, "gamma(phi0) > 0", known.gamma(phi0) > 0.0, known.gamma(phi0)))
        return found
    margin = min(cross_margin(known, float(phi)) for phi in np.linspace(0.0, phi0, 33))
    found.append(
        Finding(item, "gamma > 6 L_cross up to phi0", margin > 0.0, margin, "L_cross at the angle")
    )
    best = largest_good_angle(known)
    found.append(Finding("DU-T6.4", "phi0 < phi_*", phi0 < best, best, "SGD; phi_* is the value"))
    return found


def _closeness(Z: np.ndarray, w_star: np.ndarray, w0: np.ndarray) -> list[Finding]:
    if not np.all(np.any(Z, axis=2)) or not np.any(w0):
        return [
            Finding(
                "DU-T6.5",
                "no zero patch",
                False,
                math.nan,
                "angles of zero patches are not defined",
            )
        ]
    close = closeness(Z, w0, w_star)
    return [
        Finding("DU-T6.5", "patches have length 1", close.unit_norm, float(close.unit_norm)),
        Finding(
            "DU-T6.5",
            "corrected lower bound of gamma > 0",
            close.gamma_lower > 0.0,
            close.gamma_lower,
            f"rho = {close.rho:.3g}",
        ),
    ]


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
