"""How far a network, trained by whatever, is from the global minimum of its objective: one number,
one sentence, one certificate.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from globalmin._types import ArrayLike
from globalmin.errors import DataError
from globalmin.files import save_atomically
from globalmin.losses import Loss, get_loss
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof
from globalmin.proving.rounded_text import above, below
from globalmin.regularized.dual import scale_words
from globalmin.regularized.full_dual import MAX_CONES
from globalmin.regularized.full_run import FullRun, train_relu, without_cones
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective
from globalmin.regularized.own_network import Given, read_model


@dataclass(frozen=True, eq=False)
class OptimalityGap:
    """How far a network is at most from the global minimum; print it for the sentence.

    Attributes
    ----------
    objective : float
        Of the network given, in floats.
    lower_bound : float
        Proved: no network of the class, of any width, has a lower objective; minus infinity if
        nothing is proved.
    gap, relative_gap : float
        Proved bound of the objective minus the global minimum, and its share of the objective.
    best_objective : float
        The least objective that we found: part of the gap may be closed by this network.
    best_network : RegularizedNetwork
        The network that has it.
    constraint : str | None
        How the floor was proved: "spectral", "cones" or "columns".
    proof : Proof
        With `verdict`, `statement` and `certificate`.
    network : RegularizedNetwork
        The network given.
    problem : RegularizedProblem
        What it was said to minimize.
    bound : Any
        The dual vector that the floor was proved from, None without one.
    """

    objective: float
    lower_bound: float
    gap: float
    best_objective: float
    best_network: RegularizedNetwork = field(repr=False)
    constraint: str | None
    proof: Proof = field(repr=False)
    network: RegularizedNetwork = field(repr=False)
    problem: RegularizedProblem = field(repr=False)
    bound: Any = field(repr=False, default=None)

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective above what no model undercuts, which is 0 for all
        losses but Poisson's.
        """
        return FullRun(self.network, self.problem, None).share_of(self.gap)

    @property
    def verdict(self) -> str:
        """The checker's word on the certificate, or NOT PROVED."""
        return self.proof.verdict

    @property
    def certificate(self) -> bytes | None:
        """The accepted file."""
        return self.proof.certificate

    def save_certificate(self, path: str | os.PathLike[str]) -> Path:
        """Write the accepted file and return its path."""
        if self.certificate is None:
            raise DataError(f"there is no accepted certificate: {self.proof.why}")
        return save_atomically(path, self.certificate)

    def __str__(self) -> str:
        found = (
            f" The best network found here has {self.best_objective:.6g}."
            if self.best_objective < self.objective * (1.0 - 1e-9)
            else ""
        )
        if not math.isfinite(self.gap):
            return (
                f"This network has the objective {self.objective:.6g}; no floor is proved under "
                f"it ({self.proof.why}).{found}"
            )
        return (
            f"No ReLU network of any width has an objective more than {above(self.gap)} below the "
            f"{self.objective:.6g} of this one: {above(self.relative_gap)} "
            f"{scale_words(self.problem)} (floor {below(self.lower_bound, 6)} proved by "
            f"{self.constraint}, file {self.verdict}).{found}"
        )


def optimality_gap(
    model: Any,
    data: Any,
    loss: str | Loss | None = None,
    *,
    weight_decay: float | None = None,
    hidden_bias: str | None = None,
    intercept: str | float | None = None,
    linear: str | float | None = None,
    tau: float = 1.0,
    sample_weight: ArrayLike | None = None,
    starts: int = 2,
    max_seconds: float = 20.0,
    max_cones: int = MAX_CONES,
    seed: int = 0,
) -> OptimalityGap:
    r"""How far a ReLU network with one hidden layer, trained by whatever, is at most from the
    global minimum of its objective.

    The objective is the sum of the losses plus $\frac b2\sum_l(|w_l|^2 + v_l^2)$, b the weight
    decay. The floor is that of all networks of any width: a network is trained here too, from
    several starts and from yours, and the better dual vector is used.

    Parameters
    ----------
    model : Any
        Weights (W, b, v, c0), a `RegularizedNetwork`, a relu `ShallowNetwork`, a fitted estimator
        of globalmin, or a model of another framework that `gm.interop` reads (torch, ONNX, Keras,
        scikit-learn, Flax), with one hidden layer and one output.
    data : Any
        The pair (X, y) it was trained on, or a `Dataset`; raw rows for a fitted estimator.
    loss : str | Loss | None
        See `get_loss`; by default that of the model, else "squared". Two classes are -1 and 1,
        or 0 and 1.
    weight_decay : float | None
        b > 0 of the summed loss (n times that of a mean loss); by default that of the model.
    hidden_bias : str | None
        "penalized", "free" or "none"; by default "free" for scikit-learn's networks, else
        "penalized". Free ones have a floor too, by slabs of the bias.
    intercept : str | float | None
        "free", "none" or its penalty.
    linear : str | float | None
        "free", "none" or its penalty.
    tau : float
        The bias feature of penalized hidden biases.
    sample_weight : ArrayLike | None
        n numbers of at least 0.
    starts : int
        Of our own training.
    max_seconds : float
        Of our own training and of the search for a floor.
    max_cones : int
        Of the search over cones, up to six dimensions.
    seed : int
        Of everything random.

    Returns
    -------
    OptimalityGap
        Numbers, certificate, and the sentence when printed.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[-1.0], [1.0]])
    >>> found = optimality_gap(([[1.0]], [0.0], [0.5]), (X, [-1.0, 1.0]), weight_decay=0.5)
    >>> found.verdict, round(found.objective, 4), round(found.lower_bound, 4)
    ('ACCEPTED', 0.9375, 0.5821)
    """
    given = read_model(model, data)
    rules = {"hidden_bias": hidden_bias, "intercept": intercept, "linear": linear}
    penalty = _penalty(given, weight_decay, tau, rules)
    chosen = get_loss(given.loss_or(loss))
    problem = RegularizedProblem(
        given.X,
        given.labels_for(chosen),
        penalty,
        chosen,
        groups="all",
        sample_weight=sample_weight,
    )
    run = train_relu(
        problem,
        starts=starts,
        start=given.network,
        max_seconds=max_seconds,
        max_cones=max_cones,
        seed=seed,
    )
    proof = prove(given.network, problem, run=FullRun(given.network, problem, run.bound))
    if (
        proof.claim("dual-gap") is None
        and run.bound is not None
        and run.bound.constraint == "cones"
    ):
        run = without_cones(run, given.network, max_seconds=max_seconds, seed=seed)
        proof = prove(given.network, problem, run=FullRun(given.network, problem, run.bound))
    claim = proof.claim("dual-gap")
    floor = -math.inf if claim is None else claim.numbers.floor
    gap = math.inf if claim is None else claim.numbers.gap
    value = objective(given.network, problem)
    return OptimalityGap(
        objective=value,
        lower_bound=-math.inf if floor is None else floor,
        gap=math.inf if gap is None else gap,
        best_objective=min(run.objective, value),
        best_network=run.network if run.objective < value else given.network,
        constraint=None if claim is None else str(claim.numbers.others.get("constraint")),
        proof=proof,
        network=given.network,
        problem=problem,
        bound=run.bound,
    )


def _penalty(
    given: Given, weight_decay: float | None, tau: float, rules: Mapping[str, Any]
) -> Penalty:
    """What the user says wins over what the model says."""
    decay = given.weight_decay if weight_decay is None else weight_decay
    if decay is None:
        raise DataError(
            "weight_decay=None: the model does not say its own; give b > 0, n times that of a mean "
            "loss"
        )
    chosen: dict[str, Any] = {
        name: getattr(given, name) if rule is None else rule for name, rule in rules.items()
    }
    return Penalty(float(decay), tau=tau, **chosen)
