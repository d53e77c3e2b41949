"""The claim `deep-descent`: gradient descent on all layers of a deep network
(`spec/claims/deep-descent.md`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from flint import arb

from globalmin_check import limits
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
from globalmin_check.claims.deep_lipschitz import lipschitz
from globalmin_check.claims.deep_network import Layers
from globalmin_check.claims.deep_passes import Passes
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import Rows, lower_product, row_sums, shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE

BOUNDED = ("softplus", "sigmoid", "tanh", "erf")  # smooth activations with a bounded slope
MEANING = (
    "Theorem (deep path). Let G = J J^T >= a^2 I, |J| <= b and |r| at the stored weights of all "
    "layers, and let J be Lipschitz with the constant Lam on the ball of radius t around them. If "
    "Lam t < a, |r| <= a t - Lam t^2/2 and 0 < eta <= 1/(b + Lam t)^2, then gradient descent with "
    "the step eta on L = (1/2) sum r_i^2 travels at most t, multiplies the norm of the residual by "
    "at most 1 - eta (a - Lam t)^2 in every step, and converges to weights with zero loss. Lam "
    "follows layer by layer from bounds of the norms of the weight matrices and of the slope and "
    "the curvature of phi."
)


@dataclass(frozen=True)
class DeepDescent:
    """Fields and tensors of section 5.13."""

    layers: Layers
    loss_upper: Fraction
    a2: Fraction
    b2: Fraction
    t: Fraction
    eta: Fraction
    rate: Fraction
    omega: list[Fraction]
    C_a: Tensor
    C_b: Tensor | None
    C_omega: list[Tensor]


def read(
    fields: Fields, tensors: Tensors, sizes: Sizes, *, eta: Fraction | None = None
) -> DeepDescent:
    """Take the fields and tensors of the claim; form only. The step may be taken already."""
    layers, n = cast(Layers, sizes.deep), sizes.n  # only files with a deep network hold this claim
    factor = fields.choice("norm", ("rows", "factor")) == "factor"
    orders = [min(W.shape) for W in layers.weights]
    return DeepDescent(
        layers=layers,
        **{name: fields.rational(name) for name in ("loss_upper", "a2", "b2", "t", "rate")},
        eta=fields.rational("eta") if eta is None else eta,
        omega=list(map(Fraction, tensors.take("omega", "F64", len(orders)).values)),
        C_a=tensors.take("C_a", "F64", n, n),
        C_b=tensors.take("C_b", "F64", n, n) if factor else None,
        C_omega=[tensors.take(f"C_omega_{h}", "F64", m, m) for h, m in enumerate(orders, start=1)],
    )


def work(claim: DeepDescent, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    products, held = work_of_passes(claim.layers, sizes.n)
    products += (4 if claim.C_b else 2) * sizes.n**3
    for W in claim.layers.weights:
        (m, columns), small = W.shape, min(W.shape)
        products += 2 * small**3 + m * columns * small
        held += 3 * small**2
    return products, held


def work_of_passes(layers: Layers, n: int) -> tuple[int, int]:
    """The same for the two passes and the Gram matrix alone."""
    rows, products, held, peak = n * layers.pixels, 0, 8 * n * n, 0
    for h, W in enumerate(layers.weights):
        m, columns = W.shape
        strip = min(limits.STRIP_BALLS, n * columns * (layers.pixels + m))
        products += 2 * rows * m * columns + rows * m * limits.WORK_PER_VALUE
        if layers.prefers_pairs(h):
            products += rows * rows * (m + columns + 2)
            pairs = 3 * rows * rows
        else:
            products += (n * n + rows) * m * columns
            pairs = 4 * (strip + n * m) + rows * m
        peak = max(peak, pairs, 4 * (strip + layers.pixels * columns))
        held += 6 * rows * m + rows * columns // 4
    return products, held + peak


def exact(claim: DeepDescent, problem: Problem, checks: ExactChecks) -> None:
    """N1 and N2."""
    require_numbers(claim, problem, checks, "N")


def require_numbers(claim: DeepDescent, problem: Problem, checks: ExactChecks, letter: str) -> None:
    """Checks 1 and 2 of a claim about descent on all layers: activation, signs."""
    name = problem.activation
    checks.require_fact(
        f"{letter}1",
        "the activation is smooth with a bounded slope",
        name in BOUNDED,
        f"the activation is {name}",
    )
    for number, word in zip("abcd", ("a2", "b2", "t", "eta"), strict=True):
        checks.require_sign(f"{letter}2{number}", f"{word} > 0", getattr(claim, word))
    checks.require_sign(f"{letter}2e", "rate >= 0", claim.rate)
    checks.require(f"{letter}2f", "rate < 1", claim.rate, "<", Fraction(1))
    checks.require_fact(
        f"{letter}2g", "every omega_h is positive", min(claim.omega) > 0, "as stored"
    )


def check(claim: DeepDescent, problem: Problem, _: None, checks: Checks) -> Numbers:
    """N3 to N10 at the present precision."""
    passes = Passes(problem, claim.layers)
    r = passes.residual()
    loss = require_loss(checks, "N3", problem, claim.loss_upper, r)
    a, b, t, g = (
        ball(claim.a2).sqrt(),
        ball(claim.b2).sqrt(),
        ball(claim.t),
        root(sum_of_squares(r)),
    )
    Lam = lipschitz(passes, claim.omega, claim.t)
    checks.require("N4", "Lam t < a", Lam * t, "<", a)
    checks.require("N5", "|r| <= a t - Lam t^2/2", g, "<=", a * t - Lam * t * t / 2)
    eta = ball(claim.eta)
    checks.require("N6", "eta (b + Lam t)^2 <= 1", eta * (b + Lam * t) ** 2, "<=", 1)
    checks.require(
        "N7", "1 - eta (a - Lam t)^2 <= rate", 1 - eta * (a - Lam * t) ** 2, "<=", claim.rate
    )
    require_spectra(checks, ("N8", "N9", "N10"), claim, passes)
    return _numbers(claim, loss, (a, b, Lam, g))


def require_spectra(
    checks: Checks, numbers: tuple[str, str, str], claim: DeepDescent, passes: Passes
) -> None:
    """omega_h above the norm of W_h, G <= b2 I and G >= a2 I."""
    for h, (W, omega, C) in enumerate(
        zip(claim.layers.weights, claim.omega, claim.C_omega, strict=True), start=1
    ):
        require_positive_definite(
            checks, f"{numbers[0]}.{h}", f"omega_{h}^2 I - W_{h} W_{h}^T", _above(W, omega), C
        )
    G, b2 = passes.gram(), claim.b2
    if claim.C_b is None:
        checks.require(numbers[1], "largest row sum of |G| <= b2", largest(row_sums(G)), "<=", b2)
    else:
        require_positive_definite(checks, numbers[1], "b2 I - G", shifted(G, -1, b2), claim.C_b)
    require_positive_definite(checks, numbers[2], "G - a2 I", shifted(G, 1, -claim.a2), claim.C_a)


def _above(W: Tensor, omega: Fraction) -> Rows:
    """omega^2 I - W W^T, or with W^T W if that is smaller."""
    rows = W.rows() if W.shape[0] <= W.shape[1] else list(map(list, zip(*W.rows(), strict=True)))
    return shifted(lower_product(rows, rows), -1, omega**2)


def _numbers(claim: DeepDescent, loss: arb, parts: tuple[arb, arb, arb, arb]) -> Numbers:
    a, b, Lam, g = parts
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "eta": str(claim.eta),
        "rate": upper_float(claim.rate),
        "path": upper_float(claim.t),
        "a": lower_float(a),
        "b": upper_float(b),
        "Lam": upper_float(Lam),
        "g": upper_float(g),
        "h": upper_float(Lam * g / (a * a)),
    }


def statement(claim: DeepDescent, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    return (
        f"Gradient descent on all {len(claim.layers.weights)} hidden layers and the head (one "
        "common step) of the deep network with the claimed step eta (about "
        f"{decimal_down(claim.eta)}) from the stored weights, in exact arithmetic, converges to "
        f"weights that fit all {problem.sizes.n} samples exactly: zero training loss, the global "
        "minimum. Every step multiplies the norm of the residual by at most 1 - "
        f"{decimal_down(1 - claim.rate)}, and the whole path is at most {decimal_up(claim.t)} "
        f"long. The stored weights have loss at most {decimal_up(claim.loss_upper)}."
    )


CLAIM = ClaimKind(
    "deep-descent",
    "deep-path/1",
    MEANING,
    read,
    work,
    exact,
    check,
    statement,
    notes=(DESCENT_NOTE, GENERALIZATION_NOTE),
    network="deep",
    zero_loss=True,
)
