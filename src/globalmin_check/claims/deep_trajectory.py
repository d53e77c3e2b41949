"""The claim `deep-trajectory`: gradient descent on all layers of a deep network from its start
(`spec/claims/deep-trajectory.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import arb

from globalmin_check.balls import (
    ball,
    decimal_down,
    decimal_up,
    largest,
    lower_float,
    root,
    sum_of_squares,
    upper_float,
)
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims import deep_descent
from globalmin_check.claims.deep_descent import DeepDescent
from globalmin_check.claims.deep_lipschitz import lipschitz
from globalmin_check.claims.deep_passes import Passes
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.replay import (
    Replayed,
    Run,
    Weights,
    charge,
    follow,
    matrix,
    read_run,
    replay_numbers,
    require_arrival,
    start_words,
)
from globalmin_check.claims.trajectory import ONE_START_NOTE
from globalmin_check.container import Tensors
from globalmin_check.network import require_loss
from globalmin_check.primitives import row_sums
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE

# of one step, so that many steps of a tiny network are counted too
WORK_PER_LAYER = 10**5
MEANING = (
    "Theorem (trajectory of a deep network). The steps theta -> theta - eta grad L(theta) on all "
    "layers and the head are replayed in balls from the start, with a bound delta of the distance "
    "to the exact run that grows in every step by at most the factor max(1, eta b^2 - 1) + eta Lam "
    "(|r| + b delta), b >= |J| and Lam a Lipschitz constant of J on the ball of radius delta, and "
    "by the rounding of the step. If the exact run is within Delta of the stored weights V after K "
    "steps, and at V G = J J^T >= a^2 I, |J| <= b, |r| <= g, J Lipschitz with Lam on the ball of "
    "radius t + Delta, and with a' = a - Lam Delta, b' = b + Lam Delta, g' = g + (b + Lam Delta/2) "
    "Delta it holds that Lam t < a', g' <= a' t - Lam t^2/2 and eta (b' + Lam t)^2 <= 1, then the "
    "run converges to weights with zero loss, its residual shrinking by 1 - eta (a' - Lam t)^2 in "
    "every step after the K-th."
)


@dataclass(frozen=True)
class DeepTrajectory:
    """Fields and tensors of section 5.23: the run, and the claim `deep-descent` where it lands."""

    run: Run
    landing: DeepDescent
    path: Fraction


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> DeepTrajectory:
    """Take the fields and tensors of the claim; form only."""
    eta = fields.rational("eta")
    landing = deep_descent.read(fields, tensors, sizes, eta=eta)
    layers = landing.layers
    roles: dict[str, tuple[int, ...]] = {
        f"W0_{h}": W.shape for h, W in enumerate(layers.weights, start=1)
    }
    roles["v0"] = (layers.head,)
    run = read_run(fields, tensors, eta, roles, seeds=True)
    return DeepTrajectory(run, landing, fields.rational("path"))


def work(claim: DeepTrajectory, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once by the landing; the replay is counted by its own
    pass.
    """
    return deep_descent.work(claim.landing, sizes)


class DeepStep:
    """One step theta -> theta - eta grad L(theta), all layers and the head."""

    def __init__(self, claim: DeepTrajectory, problem: Problem) -> None:
        self.problem, self.layers = problem, claim.landing.layers
        self.eta, self.omega = ball(claim.run.eta), list(map(ball, claim.landing.omega))
        self.landed = list(map(matrix, self.layers.weights))

    def __call__(self, t: int, weights: Weights, delta: arb) -> tuple[Weights, arb]:
        """The balls of the next weights, and the factor on the ball of radius delta."""
        passes = Passes(self.problem, self.layers, weights)
        r = passes.residual()
        steps = zip(weights, passes.gradient(r), strict=True)
        moved = tuple(layer - slope * self.eta for layer, slope in steps)
        return moved, self._factor(passes, root(sum_of_squares(r)), weights, delta)

    def _factor(self, passes: Passes, g: arb, weights: Weights, delta: arb) -> arb:
        """A Lipschitz constant of the step on the ball of radius delta (lemma 1)."""
        away = [
            root(sum_of_squares((W - V).entries()))
            for W, V in zip(weights[:-1], self.landed, strict=True)
        ]
        omega = [size + moved for size, moved in zip(self.omega, away, strict=True)]
        Lam = lipschitz(passes, omega, delta)
        b = root(largest(row_sums(passes.gram()))) + Lam * delta
        return (self.eta * b * b - 1).max(arb(1)) + self.eta * Lam * (g + b * delta)


def exact(claim: DeepTrajectory, problem: Problem, checks: ExactChecks) -> Replayed:
    """DT1 to DT3, and DT4: the one pass of the replay at the bits of the claim."""
    run, layers = claim.run, claim.landing.layers
    deep_descent.require_numbers(claim.landing, problem, checks, "DT")
    checks.require_sign("DT3a", "Delta > 0", run.Delta)
    checks.require_sign("DT3b", "delta0 >= 0", run.start.delta0)
    products, balls = deep_descent.work_of_passes(layers, problem.sizes.n)
    entries = sum(W.shape[0] * W.shape[1] for W in layers.weights)
    slopes = problem.sizes.n * layers.pixels * entries
    overhead = WORK_PER_LAYER * (len(layers.weights) + 1)
    charge(run, products + slopes + overhead, balls + 6 * (entries + layers.head), checks)
    found = follow(
        run, lambda _: DeepStep(claim, problem), (*layers.weights, problem.v), number="DT4"
    )
    require_arrival(checks, "DT4", run, found)
    return found


def check(claim: DeepTrajectory, problem: Problem, found: Replayed, checks: Checks) -> Numbers:
    """DT5 to DT13 at the present precision: theorem DL."""
    run, landing = claim.run, claim.landing
    passes = Passes(problem, landing.layers)
    r = passes.residual()
    loss = require_loss(checks, "DT5", problem, landing.loss_upper, r)
    a, b = ball(landing.a2).sqrt(), ball(landing.b2).sqrt()
    t, eta, Delta = ball(landing.t), ball(run.eta), ball(run.Delta)
    Lam = lipschitz(passes, landing.omega, landing.t + run.Delta)
    g = root(sum_of_squares(r)) + (b + Lam * Delta / 2) * Delta
    a, b = a - Lam * Delta, b + Lam * Delta
    checks.require("DT6", "Lam t < a' = a - Lam Delta", Lam * t, "<", a)
    checks.require("DT7", "g' <= a' t - Lam t^2/2", g, "<=", a * t - Lam * t * t / 2)
    checks.require("DT8", "eta (b' + Lam t)^2 <= 1", eta * (b + Lam * t) ** 2, "<=", 1)
    rate = 1 - eta * (a - Lam * t) ** 2
    checks.require("DT9", "1 - eta (a' - Lam t)^2 <= rate", rate, "<=", landing.rate)
    path = ball(found.path[0]).union(ball(found.path[1])) + t
    checks.require("DT10", "path of the replay + t <= path", path, "<=", claim.path)
    deep_descent.require_spectra(checks, ("DT11", "DT12", "DT13"), landing, passes)
    return _numbers(claim, found, loss, (a, b, Lam, g))


def _numbers(
    claim: DeepTrajectory, found: Replayed, loss: arb, parts: tuple[arb, arb, arb, arb]
) -> Numbers:
    a, b, Lam, g = parts
    run, landing = claim.run, claim.landing
    return {
        "loss_upper": upper_float(landing.loss_upper),
        "loss": upper_float(loss),
        "eta": str(run.eta),
        "rate": upper_float(landing.rate),
        "path": upper_float(claim.path),
        **replay_numbers(run, found),
        "a": lower_float(a),
        "b": upper_float(b),
        "Lam": upper_float(Lam),
        "g": upper_float(g),
    }


def statement(claim: DeepTrajectory, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    run, landing = claim.run, claim.landing
    return (
        f"Gradient descent on all {len(landing.layers.weights)} hidden layers and the head (one "
        f"common step) of the deep network with the claimed step eta (about "
        f"{decimal_down(run.eta)}) from {start_words(run.start)}, in exact arithmetic, is after "
        f"{run.K} steps within {decimal_up(run.Delta)} of the stored weights and converges to "
        f"weights that fit all {problem.sizes.n} samples exactly: zero training loss, the global "
        "minimum. From then on every step multiplies the norm of the residual by at most 1 - "
        f"{decimal_down(1 - landing.rate)}; the whole path, from the start, is at most "
        f"{decimal_up(claim.path)} long. The stored weights have loss at most "
        f"{decimal_up(landing.loss_upper)}."
    )


CLAIM = ClaimKind(
    "deep-trajectory",
    "replayed-deep-descent/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE, ONE_START_NOTE, GENERALIZATION_NOTE),
    network="deep",
    zero_loss=True,
)
