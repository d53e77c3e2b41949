r"""Which theorems of chapter 6 speak about these patches: every hypothesis with its value, on the
user's own inputs.

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
from globalmin.patches.closeness import closeness
from globalmin.patches.constants import estimate_constants
from globalmin.patches.model import as_patches, good_start_at_least, is_dead
from globalmin.patches.rates import (
    angle_limit,
    contraction,
    cross_margin,
    largest_good_angle,
    max_step,
    starts_below_zero,
)
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.patches.constants import FilterConstants


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
