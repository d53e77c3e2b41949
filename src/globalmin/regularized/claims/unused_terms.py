"""Claim `unused-terms`: which columns no optimal network uses, and how much weight a near-optimal
one can put on a column (theorem R6).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Question, rational
from globalmin.regularized.claims import dual_gap
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.train import oracle_for

# of H and of the largest eigenvalue: above the rounding of the float search and of eigvalsh
_ROOM = 1e-9
# the Lipschitz constant of the derivative, where there is one
_SMOOTHNESS = {"squared": 1.0, "huber": 1.0, "squared_hinge": 1.0, "logistic": 0.25}


def build(
    network: RegularizedNetwork, problem: RegularizedProblem, u: Array | None = None
) -> Claim:
    """The claim with its dual vector, or CannotCertify with the reason.

    Parameters
    ----------
    network, problem : what the claim speaks of: neurons of one column, penalized hidden biases.
    u : a dual vector from training; by default the derivative of the loss at the outputs.
    """
    groups = problem.group_list()
    if problem.penalty.neurons != "relu":
        raise CannotCertify("unused terms are proved for ReLU neurons, not for squares")
    is_covered = problem.penalty.hidden_bias == "penalized" and not (
        problem.monotone or problem.shapes
    )
    if not is_covered or max(map(len, groups)) > 1:
        raise CannotCertify(
            "unused terms are proved for neurons of one column with penalized hidden biases and "
            "any slope"
        )
    if problem.outputs > 1:
        raise CannotCertify("unused terms are proved for one output; see theorem R6")
    gap = dual_gap.build(network, problem, u)
    b = problem.penalty.weight_decay
    heights = oracle_for(problem).search(np.asarray(gap.tensors["u"], float), np.inf)[0]
    h = [min(Fraction(float(x) * (1 + _ROOM)), Fraction(b)) for x in heights]
    fields: dict[str, Json] = {"h": [rational(x) for x in h], "unused": []}
    room = [Fraction(b) - x for x in h]
    if problem.loss.name in _SMOOTHNESS:
        spread = Fraction(str(gap.fields["gap"]))
        constants = [_constant(problem, group) for group in groups]
        fields["Lam"] = [rational(x) for x in constants]
        fields["unused"] = [
            g
            for g, (left, Lam) in enumerate(zip(room, constants, strict=True))
            if left > 0 and left**2 > 2 * spread * Fraction(Lam)
        ]
    return Claim(CLAIM.kind, {**gap.fields, **fields}, gap.tensors, gap.summary)


def _constant(problem: RegularizedProblem, group: tuple[int, ...]) -> float:
    """More than the largest eigenvalue of sum_i x_i x_i^T/mu_i, rows with their entry tau."""
    rows = np.column_stack(
        [problem.X[:, list(group)], np.full(len(problem.X), problem.penalty.tau)]
    )
    gram = (rows.T * (_SMOOTHNESS[problem.loss.name] * problem.weights)) @ rows
    return float(np.linalg.eigvalsh(gram)[-1] * (1 + _ROOM) + np.finfo(float).tiny)


def _answer(question: Question) -> Claim:
    run = question.options.get("run")
    return build(question.network, question.data, None if run is None else run.u)


CLAIM = ClaimRecord(
    kind="unused-terms",
    theorem="unused-terms/1",
    proves=Proves.GAP,
    label="terms that no optimal network uses",
    network=RegularizedNetwork,
    build=_answer,
    limit="Every optimal network is meant, not that there is one. The function between the rows "
    "and its split into terms are not claimed to be unique.",
)
