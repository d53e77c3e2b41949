"""What one gradient step from the drawn start shows of the lemmas about moving weights: the bound,
and the change that was measured.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin.facts.assumptions import relu, smooth, unit_rows
from globalmin.facts.finding import TheoremReport, check, fact, number
from globalmin.kernels import movement, rates
from globalmin.kernels.linearized import linearize_run, predicted_steps, secant_gram
from globalmin.shallow.hessian import estimate_hessian_norm
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import (
    head_gradient,
    jacobian_gram,
    jacobian_times,
    jacobian_transpose_times,
    residual,
)

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.facts.instance import Instance
    from globalmin.shallow.network import ShallowNetwork


class Step(NamedTuple):
    """The drawn network, the one after a gradient step on both layers, and the step's parts."""

    before: ShallowNetwork
    W: Array
    v: Array

    @property
    def dW(self) -> Array:
        """The step of the first layer."""
        return self.W - self.before.W


def one_step(it: Instance) -> Step:
    """One step of gradient descent with the instance's step size, the head moved too."""
    net, m = it.start.network, it.m
    r = residual(net, m.X, m.y)
    W = net.W - it.step_size * jacobian_transpose_times(net, m.X, r)
    return Step(net, W, net.v - it.step_size * head_gradient(net, m.X, r))


def _change(it: Instance, W: Array, v: Array) -> float:
    """Norm of the change of the first-layer Jacobian, by its Gram matrix."""
    net, m = it.start.network, it.m
    old = m.activation.derivative(m.X @ net.W.T) * net.v
    D = m.activation.derivative(m.X @ W.T) * v - old
    return math.sqrt(max(float(np.linalg.eigvalsh((D @ D.T) * (m.X @ m.X.T))[-1]), 0.0))


@fact("OS-L6.8", "OS-LC.1", "OS-K4")
def smooth_change(it: Instance) -> TheoremReport:
    """The change of the Jacobian in one step, by three bounds."""
    m, step = it.m, one_step(it)
    says = "the Jacobian changes by at most a constant times the movement of the weights"
    if not math.isfinite(m.M):
        return TheoremReport("OS-L6.8", says, (smooth(m),))
    v = step.before.v
    lipschitz = movement.jacobian_lipschitz_limit(v, m.M, m.X_norm, m.row_norms[1])
    old, new = (m.activation.derivative(m.X @ W.T) for W in (step.before.W, step.W))
    ours = m.M * float(np.abs(v).max()) * math.sqrt(m.kappa4)
    return TheoremReport(
        "OS-L6.8",
        says,
        (smooth(m),),
        numbers=(
            ("movement in one step, ‖W₁−W₀‖ (spectral)", float(np.linalg.norm(step.dW, 2))),
            ("‖J₁−J₀‖ ≤, OS-L6.8", lipschitz * float(np.linalg.norm(step.dW, 2))),
            ("‖J₁−J₀‖ ≤, OS-K4", ours * float(np.linalg.norm(step.dW))),
            ("‖J₁−J₀‖ ≤, OS-LC.1", movement.jacobian_change_limit(old, new, v, m.X_norm)),
            ("‖J₁−J₀‖ measured", _change(it, step.W, v)),
        ),
    )


@fact("SJL-L7.11")
def joint_change(it: Instance) -> TheoremReport:
    """The same when both layers move."""
    m, step = it.m, one_step(it)
    says = "when both layers move, the first-layer Jacobian changes by at most the sum of two terms"
    if not math.isfinite(m.M):
        return TheoremReport("SJL-L7.11", says, (smooth(m),))
    bound = movement.joint_jacobian_change_limit(
        step.dW,
        step.v - step.before.v,
        step.before.v,
        B=m.B,
        M=m.M,
        X_norm=m.X_norm,
        row_norm=m.row_norms[1],
    )
    return TheoremReport(
        "SJL-L7.11",
        says,
        (smooth(m),),
        numbers=(
            ("‖J₁−J₀‖ ≤ in one step of both layers", bound),
            ("‖J₁−J₀‖ measured", _change(it, step.W, step.v)),
        ),
    )


@fact("OS-LC.2")
def flips(it: Instance) -> TheoremReport:
    """How many signs one step can change and how many it does."""
    m, step = it.m, one_step(it)
    says = "a movement of the weights changes few signs of pre-activations per sample"
    if not m.is_relu:
        return TheoremReport("OS-LC.2", says, (relu(m),))
    Z, distance = m.X @ step.before.W.T, float(np.linalg.norm(step.dW, 2))
    allowed = movement.flips_allowed(Z, np.linalg.norm(m.X, axis=1), distance)
    printed = movement.flips_allowed_by_order(Z, distance)
    return TheoremReport(
        "OS-LC.2",
        says,
        (relu(m), unit_rows(m)),
        numbers=(
            ("movement in one step (spectral)", distance),
            ("signs of one sample that may change, ours", float(allowed.max())),
            ("the same as printed (unit rows)", float(printed.max())),
            ("changed in one step", float(movement.changed_signs(m.X @ step.W.T, Z).max())),
        ),
    )


@fact("DU-Q2.6", "OS-DEFG.2")
def dynamics(it: Instance) -> TheoremReport:
    """The exact identity of one step, and the linearized prediction."""
    m, net, step = it.m, it.start.network, one_step(it)
    r, eta = residual(net, m.X, m.y), it.step_size
    after = residual(net.with_weights(W=step.W), m.X, m.y)
    defect = after - (r - eta * secant_gram(net, step.W, m.X) @ r)
    bent = after - r - jacobian_times(net, m.X, step.dW)
    run = linearize_run(jacobian_gram(net, m.X), r + m.y, m.y)
    return TheoremReport(
        "DU-Q2.6",
        "the residuals obey r⁺ = (I − ηĤ)r exactly, with the secant Gram matrix Ĥ of the step; "
        "holding Ĥ at its first value predicts the run",
        (),
        numbers=(
            ("defect of the identity in one step (rounding)", float(np.abs(defect).max())),
            ("what the step bends, ‖u₁ − u₀ − JΔW‖", float(np.linalg.norm(bent))),
            ("‖r‖ after one step", float(np.linalg.norm(after))),
            ("the same by the prediction", float(run.residual_norms([1], eta)[0])),
            ("steps to ‖r‖/1000 by the prediction", predicted_steps(run, eta)),
            ("factor per step in the long run", run.rate(eta)),
        ),
    )


@fact("SJL-L7.12", "SJL-L7.14", "SJL-PL", "SJL-D4")
def gradient_domination(it: Instance) -> TheoremReport:
    """Gradient against loss, smoothness, and the path that follows; loss (1/2n) sum of squares."""
    m, net, s = it.m, it.start.network, it.start
    says = (
        "with L = ‖r‖²/(2n): ‖∇L‖² lies between multiples of L; where they and the smoothness hold "
        "along the way, descent is linear and its path bounded"
    )
    r, n = residual(net, m.X, m.y), m.n
    loss = float(r @ r) / (2.0 * n)
    low, high = movement.gradient_to_loss_limits(s.a, s.b, n)
    square = float(np.sum(jacobian_transpose_times(net, m.X, r) ** 2)) / n**2
    heads = movement.head_gradient_limit(m.activation(m.X @ net.W.T), loss)
    numbers = [
        ("lower multiple, (2/n) σ_min(J)²", low),
        ("‖∇L‖²/L at the drawn start", square / loss if loss > 0.0 else 0.0),
        ("upper multiple, (2/n) ‖J‖²", high),
        ("largest |∂L/∂v| ≤", heads),
        ("largest |∂L/∂v|", float(np.abs(head_gradient(net, m.X, r)).max()) / n),
    ]
    if math.isfinite(m.M):
        full = math.sqrt(float(np.linalg.norm(jacobian_gram(net, m.X, trained="vW"), 2)))
        joint = estimate_lipschitz(net, m.X, 0.0, trained="vW")
        beta = movement.smoothness_limit(full, joint, s.residual_norm, n)
        alone = estimate_hessian_norm(net, m.X, m.y) / n
        numbers += [("‖∇²L‖ ≤, both layers", beta), ("‖∇²L‖ ≤, first layer", alone)]
        if low > 0.0:
            factor = rates.polyak_factor(low, alone, 1.0 / alone)
            path = rates.polyak_path_limit(low, high, loss)
            numbers += [
                ("factor of L per step 1/‖∇²L‖, while these hold", factor),
                ("path, while these hold", path),
            ]
    rank = check("J has full row rank at the drawn start", s.a > 0.0, number(s.a))
    return TheoremReport("SJL-L7.12", says, (smooth(m), rank), numbers=tuple(numbers))
