"""Claim `deep-trajectory`: gradient descent on all layers of a deep network from its start reaches
zero loss, replayed by the checker step by step.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin.deep.claims.descent import DeepPoint, measure, norm_witness, witnesses
from globalmin.deep.lipschitz import GROWTH, ROUNDING, ROUNDS, JacobianBound
from globalmin.deep.network import DeepNetwork
from globalmin.deep.problem import pose_deep
from globalmin.errors import CannotCertify
from globalmin.proving import claim
from globalmin.references import states
from globalmin.shallow.claims.linearized_point import MARGIN, loss_above
from globalmin.shallow.claims.replay import REACH, enough_bits

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.data import Dataset
    from globalmin.deep.from_start import DeepStartedRun


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
def build(network: DeepNetwork, data: Dataset, run: DeepStartedRun) -> claim.Claim:
    """The claim about the run, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : the network where the run lands, and the data.
    run : the start, the step and the number of steps.
    """
    point = measure(network, data)
    landing = _Landing(point, REACH * max(1.0, float(np.linalg.norm(network.flat))))
    t, Lam = landing.radius()
    step = run.step_size * (landing.b * (1.0 + MARGIN) + Lam * (t + landing.Delta)) ** 2
    if not step <= 1.0 - MARGIN:
        raise CannotCertify(
            f"step {run.step_size:.3g} is {step:.3g} times the longest that goes on from these "
            "weights; take a shorter one"
        )
    bits = enough_bits(log_growth(run, data, point.norms.omega), run.n_iter)
    return _assemble(landing, (t, Lam), run, bits)


def log_growth(run: DeepStartedRun, data: Dataset, omega: Array) -> float:
    r"""$\sum_t \ln l_t$, by which the replay loses precision, along the run made once more: $l =
    \max(1, \eta b^2 - 1) + \eta\Lambda\|r\|$ with the row sums $b^2$ of the Gram matrix and
    $\omega_h + \|W_h - V_h\|$ as norms of the weights in $\Lambda$ (an estimate).
    """
    point, landed = pose_deep(run.start, data.X, data.y).at(run.start), run.network
    eta, total = run.step_size, 0.0
    for _ in range(run.n_iter):
        pairs = zip(point.network.weights, landed.weights, strict=True)
        away = [float(np.linalg.norm(W - V)) for W, V in pairs]
        Lam = JacobianBound.of(point.network, point.passed, omega + np.array(away)).at(0.0)
        b2 = float(np.abs(point.gram).sum(axis=1).max())
        total += math.log(max(1.0, eta * b2 - 1.0) + eta * Lam * point.norm)
        point = point.moved(point.gradient, -eta) or point
    return total


class _Landing:
    """Theorem DL in floats: the constants of deep-descent within Delta of the point."""

    def __init__(self, point: DeepPoint, Delta: float) -> None:
        self.point, self.Delta = point, Delta
        self.b2, self.C_b = norm_witness(point.gram)
        self.b = math.sqrt(self.b2)
        passed = point.network.forward(point.X)
        self.bound = JacobianBound.of(point.network, passed, point.norms.omega)

    def lower(self, Lam: float) -> float:
        """The number a' = a - Lam Delta, with a margin."""
        return self.point.a * (1.0 - MARGIN) - Lam * self.Delta

    def radius(self) -> tuple[float, float]:
        """The radius t of the rest of the path, and Lam at t + Delta."""
        t, Lam = 0.0, 0.0
        for _ in range(ROUNDS):
            Lam = self.bound.at(t + self.Delta) * (1.0 + ROUNDING)
            a = self.lower(Lam)
            g = self.point.g + (self.b + Lam * self.Delta / 2.0) * self.Delta
            g = max(g, 2.0**-500) * (1.0 + MARGIN)
            rest = a * a - 2.0 * Lam * g
            if not (a > 0.0 and rest > 0.0):
                break
            needed = 2.0 * g / (a + math.sqrt(rest)) * (1.0 + MARGIN)
            if needed <= t and Lam * t < a:
                return t, Lam
            t = needed * (1.0 + GROWTH)
        ratio = 2.0 * Lam * self.point.g / self.point.lower.bound
        raise CannotCertify(
            f"2 Lam ||r|| / a^2 = {ratio:.3g} where the run ends, must be < 1 with room for the "
            "path; take more steps or a wider network"
        )


def _assemble(
    landing: _Landing, ball: tuple[float, float], run: DeepStartedRun, bits: int
) -> claim.Claim:
    point, (t, Lam) = landing.point, ball
    alpha = landing.lower(Lam) - Lam * t
    rate = max(1 - Fraction(run.step_size) * Fraction(alpha * (1.0 - MARGIN)) ** 2, Fraction(0))
    loss = loss_above(point.residual)
    walked = run.length * (1.0 + 1e-9) + 2.0 * (run.n_iter + 1) * landing.Delta
    numbers = {
        "a2": point.lower.bound,
        "b2": landing.b2,
        "t": t,
        "eta": run.step_size,
        "loss_upper": loss,
        "Delta": landing.Delta,
        "path": (walked + t) * (1.0 + MARGIN),
    }
    fields: dict[str, claim.Json] = {name: claim.rational(value) for name, value in numbers.items()}
    fields |= {
        "rate": claim.rational(rate),
        "norm": "rows" if landing.C_b is None else "factor",
        "K": run.n_iter,
        "bits": bits,
    }
    tensors = witnesses(point, landing.C_b)
    if run.seed is None:
        fields["delta0"] = "0"
        tensors |= {f"W0_{h}": W for h, W in enumerate(run.start.weights, start=1)}
        tensors["v0"] = run.start.head.ravel()
    else:
        fields["seed"] = run.seed
    summary = numbers | {"rate": float(rate), "steps": float(run.n_iter), "Lam": Lam}
    return claim.Claim(CLAIM.kind, fields, tensors, summary)


def _answer(question: claim.Question) -> claim.Claim:
    run = question.options.get("run")
    if run is None:
        raise CannotCertify("a trajectory needs its run: use prove_start(start, data)")
    return build(question.network, question.data, run)


CLAIM = claim.ClaimRecord(
    kind="deep-trajectory",
    theorem="replayed-deep-descent/1",
    proves=claim.Proves.ZERO_LOSS,
    label="descent of all layers from its start to zero loss",
    network=DeepNetwork,
    build=_answer,
    limit="The statement is about this start; one start says nothing of how likely others succeed.",
)
