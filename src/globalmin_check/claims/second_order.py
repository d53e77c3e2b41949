"""The claim `second-order-stationary`: small gradient, no large negative curvature
(`spec/claims/second-order-stationary.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check import limits
from globalmin_check.activations import SMOOTH
from globalmin_check.balls import decimal_up, lower_float, root, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.hessian import Curve
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.surroundings import (
    Surroundings,
    read_surroundings,
    require_exact_surroundings,
    require_surroundings,
    sentences,
    surroundings_numbers,
)
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import Malformed

MEANING = (
    "Theorem (second-order point). |grad L| <= eps and hess L >= -delta I, verified at the stored "
    "weights: on the whole Hessian, or block by block, since hess L = J^T J + blockdiag_l(v_l "
    "sum_i r_i phi''(z_il) x_i x_i^T) and J^T J >= 0. If the Hessian is rho-Lipschitz on the ball "
    "of radius R, eps <= epsilon and delta^2 <= rho epsilon, they are an epsilon-second-order "
    "point. If also hess L >= mu I there, rho R < mu, 0 < D <= R and mu D - rho D^2/2 > eps, the "
    "ball holds exactly one critical point, a strict minimum, at most D away."
)


@dataclass(frozen=True)
class SecondOrder:
    """Fields and tensors of section 5.10."""

    loss_upper: Fraction
    both: bool
    eps: Fraction
    delta: Fraction
    dense: bool
    C: Tensor
    radius: Surroundings | None


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> SecondOrder:
    """Take the fields and tensors of the claim; form only."""
    both = fields.choice("trained", ("W", "vW")) == "vW"
    dense = fields.choice("method", ("dense", "blocks")) == "dense"
    p = sizes.k * sizes.d + (sizes.k if both else 0)
    if dense and p > limits.DENSE_PARAMETERS:
        raise Malformed(
            f"{fields.where}: the dense method is for at most {limits.DENSE_PARAMETERS} "
            f"parameters, not {p}"
        )
    if both and not dense:
        raise Malformed(f"{fields.where}: blocks are for trained = W only")
    return SecondOrder(
        loss_upper=fields.rational("loss_upper"),
        both=both,
        eps=fields.rational("eps"),
        delta=fields.rational("delta"),
        dense=dense,
        C=tensors.take("C", "F64", p, p if dense else sizes.d),
        radius=read_surroundings(fields, tensors, sizes.d, both, p if dense else 0)
        if fields.has("radius")
        else None,
    )


def work(claim: SecondOrder, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, d, k = sizes.n, sizes.d, sizes.k
    p, size = claim.C.shape[0], claim.radius.near.size if claim.radius else 0
    first = (
        4 * n * k * d
        + 2 * limits.WORK_PER_VALUE * n * k
        + n * k * d * d
        + 2 * d**3
        + n * size**2
        + 2 * size**3
    )
    whole = (
        n * p * p + (4 if claim.radius and claim.radius.minimum else 2) * p**3
        if claim.dense
        else 2 * k * d**3
    )
    return first + whole, 8 * n * k + 2 * n * d + n * size + 3 * size**2 + (
        n * p + 3 * p * p if claim.dense else 4 * d * d
    )


def exact(claim: SecondOrder, problem: Problem, checks: ExactChecks) -> None:
    """T1, T2, the zero blocks of T6, and the exact part of the checks about a ball."""
    name, d = problem.activation, problem.sizes.d
    checks.require_fact(
        "T1", "the activation is smooth", name in SMOOTH, f"the activation is {name}"
    )
    checks.require_sign("T2a", "eps >= 0", claim.eps)
    checks.require_sign("T2b", "delta > 0", claim.delta)
    if not claim.dense:
        for neuron in (neuron for neuron, head in enumerate(problem.v.values) if head == 0):
            clean = not any(claim.C.values[neuron * d * d : (neuron + 1) * d * d])
            checks.require_fact(f"T6.{neuron}", "C is zero where v_l = 0", clean, "as stored")
    if claim.radius is not None:
        require_exact_surroundings(checks, claim.radius, claim.eps, claim.delta)


def check(claim: SecondOrder, problem: Problem, _: None, checks: Checks) -> Numbers:
    """Verify gradient and Hessian at the present precision."""
    curve = Curve(problem, claim.both)
    loss = require_loss(checks, "T3", problem, claim.loss_upper, curve.r)
    gradient = curve.gradient_square()
    checks.require("T4", "|grad L|^2 <= eps^2", gradient, "<=", claim.eps**2)
    if claim.dense:
        require_positive_definite(
            checks, "T5", "H + delta I", shifted(curve.matrix(), 1, claim.delta), claim.C
        )
    else:
        _require_blocks(checks, claim, problem, curve)
    numbers: Numbers = {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "eps": upper_float(claim.eps),
        "delta": upper_float(claim.delta),
        "gradient": upper_float(root(gradient)),
        "gradient_scale": lower_float(curve.gradient_scale()),
        "curvature_scale": lower_float(curve.tangent.trace()),
        "trained": "vW" if claim.both else "W",
        "method": "dense" if claim.dense else "blocks",
    }
    if claim.radius is not None:
        require_surroundings(checks, claim.radius, curve)
        numbers |= surroundings_numbers(claim.radius)
    return numbers


def _require_blocks(checks: Checks, claim: SecondOrder, problem: Problem, curve: Curve) -> None:
    """Check 6: P1 on the block of every neuron with v_l != 0."""
    d = problem.sizes.d
    for neuron, head in enumerate(problem.v.values):
        if head:
            factor = Tensor(
                "F64", (d, d), claim.C.values[neuron * d * d : (neuron + 1) * d * d], claim.C.raw
            )
            block = shifted(curve.block(neuron), 1, claim.delta)
            require_positive_definite(
                checks, f"T6.{neuron}", f"delta I + block of neuron {neuron}", block, factor
            )


def vacuous(claim: SecondOrder, problem: Problem, numbers: Numbers) -> str:
    """Tolerances beyond the scale of gradient and curvature at these weights."""
    parts = []
    if float(numbers["eps"]) >= float(numbers["gradient_scale"]):
        parts.append("eps is not below |J|_F (|r| + |y|)")
    if float(numbers["delta"]) >= float(numbers["curvature_scale"]):
        parts.append("delta is not below the trace of J^T J")
    return (
        f"{' and '.join(parts)}: tolerances of that size exclude next to nothing" if parts else ""
    )


def statement(claim: SecondOrder, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    what = "both layers (v, W)" if claim.both else "W (head v fixed)"
    around = sentences(claim.radius, claim.eps) if claim.radius else ""
    known = (
        "that minimum is global"
        if claim.radius and claim.radius.minimum
        else "they are a minimum, local or global"
    )
    return (
        "The stored weights are a second-order stationary point of the training loss as a function "
        f"of {what}, up to tolerances: the gradient has norm at most {decimal_up(claim.eps)}, and "
        f"no direction has a second derivative below -{decimal_up(claim.delta)}. {around}This does "
        f"not say that {known}. The stored weights have loss at most "
        f"{decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind(
    "second-order-stationary",
    "second-order/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    vacuous=vacuous,
)
