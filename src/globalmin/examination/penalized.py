"""The verdict on a network that was trained with weight decay, and any convex loss: how far it is
at most from the global minimum of its own objective over every width, proved; and the network that
training from its weights, or from others, reaches.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from globalmin.examination.outcome import (
    Verdict,
    proof_dict,
    proof_sentence,
    rounded_up,
    write_certificates,
)
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof
from globalmin.regularized.full_run import FullRun
from globalmin.regularized.objective import objective
from globalmin.regularized.optimality import OptimalityGap, optimality_gap
from globalmin.shallow.storage import save_network

LOWER = 0.99  # of the objective: what training must get below to be a way down


@dataclass(frozen=True, eq=False)
class PenalizedExamination:
    """The verdict on a ReLU network for its penalized objective; get one from `examine`, print it.

    Attributes
    ----------
    verdict : Verdict
        In one word. Saddles and traps are not told apart here: kinks have no Hessian.
    reason : str
        Why, with the number and the tolerance it was compared with.
    found : OptimalityGap
        Objective, proved floor, gap, and the best network that was found.
    polished : Proof
        What is proved about the best network.
    """

    verdict: Verdict
    reason: str
    found: OptimalityGap
    polished: Proof = field(repr=False)

    @property
    def proof(self) -> Proof:
        """What is proved about the network as given."""
        return self.found.proof

    @property
    def loss(self) -> float:
        """The objective of the network as given, penalty included, in floats."""
        return self.found.objective

    @property
    def gap(self) -> float:
        """Proved: the objective is at most this above the least one; infinite without proof."""
        return self.found.gap

    @property
    def is_proved(self) -> bool:
        """Whether the checker accepted the gap."""
        return self.proof.is_accepted

    @property
    def descent(self) -> float:
        """The objective minus the least one that was found, in floats: so much of the gap is
        real.
        """
        return max(0.0, self.found.objective - self.found.best_objective)

    def lines(self) -> list[tuple[str, str]]:
        """Label and text, line by line."""
        problem = self.found.problem
        about = f"{problem.loss.name} loss, weight decay {problem.penalty.weight_decay:g}"
        return [
            ("verdict", str(self.verdict)),
            ("why", self.reason),
            ("objective", about),
            ("gap", str(self.found)),
            ("as given", proof_sentence(self.proof)),
            ("polished", f"the best network found has {self.found.best_objective:.6g}"),
            ("", proof_sentence(self.polished)),
        ]

    def __str__(self) -> str:
        return "\n".join(f"{label:10}{text}" for label, text in self.lines())

    def save(self, folder: str | os.PathLike[str]) -> dict[str, Path]:
        """Write `given.gmc` and `polished.gmc`, where they were accepted, and the best network.

        Parameters
        ----------
        folder : str | os.PathLike[str]
            It is made if it is not there.
        """
        written = write_certificates(Path(folder), self.proof, self.polished)
        save_network(written["model"], self.found.best_network)
        return written

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; infinities are null."""
        it = self.found
        numbers = {"lower_bound": it.lower_bound, "gap": it.gap, "relative_gap": it.relative_gap}
        return {
            "verdict": str(self.verdict),
            "reason": self.reason,
            "loss": it.problem.loss.name,
            "weight_decay": it.problem.penalty.weight_decay,
            "objective": it.objective,
            "best_objective": it.best_objective,
            **{name: v if math.isfinite(v) else None for name, v in numbers.items()},
            "is_proved": self.is_proved,
            "given": proof_dict(self.proof),
            "polished": {"objective": it.best_objective, **proof_dict(self.polished)},
        }


def examine_penalized(
    model: Any, data: Any, *, gap_tol: float, near_tol: float, **options: Any
) -> PenalizedExamination:
    """See `examine`; `options` are those of `optimality_gap`."""
    found = optimality_gap(model, data, **options)
    polished = found.proof
    if found.best_network is not found.network:
        run = FullRun(found.best_network, found.problem, found.bound)
        polished = prove(found.best_network, found.problem, run=run)
    verdict, reason = _verdict(found, gap_tol, near_tol)
    return PenalizedExamination(verdict, reason, found, polished)


def _verdict(found: OptimalityGap, gap_tol: float, near_tol: float) -> tuple[Verdict, str]:
    share = found.relative_gap
    for tol, verdict in ((gap_tol, Verdict.GLOBAL_MINIMUM), (near_tol, Verdict.NEAR)):
        if found.proof.is_accepted and share <= tol:
            return verdict, (
                f"proved: the gap is at most {rounded_up(share)} of the objective (tolerance "
                f"{tol:g})"
            )
    best = objective(found.best_network, found.problem)
    if best < LOWER * found.objective:
        return Verdict.NOT_TRAINED, (
            f"training reaches {best:.6g}, {100 * (1 - best / found.objective):.3g} % lower"
        )
    known = (
        f"the proved gap is {rounded_up(share)} of the objective, more than {near_tol:g}"
        if math.isfinite(share)
        else "no floor is proved"
    )
    return Verdict.NOT_DECIDED, f"{known}, and training does not get lower by 1 %"
