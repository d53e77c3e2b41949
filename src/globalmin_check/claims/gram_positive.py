"""The claim `gram-positive`: the least eigenvalue of a limiting Gram matrix of the data
(`spec/claims/gram-positive.md`).
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from globalmin_check import limits
from globalmin_check.balls import ball, decimal_down, decimal_up, lower_float, upper_float
from globalmin_check.canonical import Fields
from globalmin_check.checks import Checks, ExactChecks
from globalmin_check.claims.deep_limit import DeepLimit
from globalmin_check.claims.gaussian import ANALYTIC, Trapezoid
from globalmin_check.claims.kind import ClaimKind, Numbers
from globalmin_check.claims.limit_gram import Near, Norms, Series, near_pairs, norms, relu_gram
from globalmin_check.claims.limit_layers import LimitLayers, limit_work, read_limit, zero_window
from globalmin_check.container import Tensor, Tensors
from globalmin_check.network import require_loss, residual
from globalmin_check.positive import require_positive_definite
from globalmin_check.primitives import shifted
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import Malformed

ORDER = 4096  # largest Hermite order
MEANING = (
    "Theorem (limiting Gram matrix). For w ~ N(0, I), the matrix K_ij E[phi'(w . x_i) phi'(w . "
    "x_j)] of a ReLU network is K_ij (pi - theta_ij)/(2 pi); for a smooth phi with bounded slope "
    "it is at least, in the order of symmetric matrices, the sum over any finite set of r >= 0 of "
    "(c_r c_r^T) o rho^r o K with c_r(i) = E[phi'(|x_i| g) h_r(g)], h_r the orthonormal Hermite "
    "polynomials, because each omitted term is positive semidefinite; the same with phi and "
    "without K for E[phi phi]. Residual network of depth H: lambda_min of the last Gram matrix is "
    "at least (c_res/H)^2 kappa min_i E[phi'(sqrt(K_ii) g)^2] if the partial sum over r >= 1 for "
    "E[phi phi], times c_sigma, is at least kappa I. Deep network: every entry of the recursion is "
    "a Hermite series whose remainder after the order r - 1 is at most |rho|^r times the root of "
    "the product of the two missing mean squares."
)
KERNELS = {
    "weights": "the matrix H_ij = (x_i . x_j) E[phi'(w . x_i) phi'(w . x_j)], w ~ N(0, I), the "
    "limit of the Gram matrix of the "
    "hidden weights of an infinitely wide network with head entries +-1/sqrt(width)",
    "features": "the matrix E[phi(w . x_i) phi(w . x_j)], w ~ N(0, I), the limit of the Gram "
    "matrix of the features of an "
    "infinitely wide network",
    "resnet": "the matrix t^2 K_ij E[phi'(u_i) phi'(u_j)], u ~ N(0, K), t = c_res/H, K = K^(H-1) "
    "of the recursion K^(1) = "
    "c_sigma E[phi(u) phi(u)^T] with u ~ N(0, X X^T), b^(1) = sqrt(c_sigma) mu, K^(h) = K^(h-1) + "
    "t (b mu^T + mu b^T) + t^2 "
    "E[phi(u) phi(u)^T], b^(h) = b^(h-1) + t mu with u ~ N(0, K^(h-1)) and mu = E[phi(u)], the "
    "Gram matrix of the last layer of "
    "an infinitely wide residual network of depth H",
    "layers": "the limiting Gram matrix, by the recursion GP-deep of the claim's page, of the "
    "blocks named below of an infinitely wide deep network with the layers named below",
}


@dataclass(frozen=True)
class GramPositive:
    """Fields and tensors of section 5.12; `orders` is empty for the closed forms and deep networks,
    `depth` 0 unless the kernel is resnet, `layers` None unless it is deep.
    """

    loss_upper: Fraction
    kernel: str
    lam: Fraction
    kappa: Fraction
    depth: int
    c_res: Fraction
    c_sigma: Fraction
    orders: tuple[int, ...]
    step: Fraction
    nodes: int
    C: Tensor
    layers: LimitLayers | None = None


@dataclass(frozen=True)
class GramRows:
    """The exact row norms (series), or the exact determinants of nearly parallel pairs (closed
    form).
    """

    norms: Norms | None
    near: dict[tuple[int, int], Near]


def read(fields: Fields, tensors: Tensors, sizes: Sizes) -> GramPositive:
    """Take the fields and tensors of the claim; form only."""
    kernel = fields.choice("kernel", tuple(KERNELS))
    resnet, deep = kernel == "resnet", kernel == "layers"
    methods = ("series",) if resnet or deep else ("closed", "series")
    series = fields.choice("method", methods) == "series"
    orders = _orders(fields, tensors, int(resnet)) if series and not deep else array("q")
    lam = fields.rational("lam")
    return GramPositive(
        loss_upper=fields.rational("loss_upper"),
        kernel=kernel,
        lam=lam,
        kappa=fields.rational("kappa") if resnet else lam,
        depth=fields.integer("depth", 2) if resnet else 0,
        c_res=fields.rational("c_res") if resnet else Fraction(1),
        c_sigma=fields.rational("c_sigma") if resnet else Fraction(1),
        orders=tuple(orders),
        step=fields.rational("step") if series else Fraction(1),
        nodes=fields.integer("nodes", 1) if series else 0,
        C=tensors.take("C", "F64", sizes.n, sizes.n),
        layers=read_limit(fields, tensors, sizes) if deep else None,
    )


def _orders(fields: Fields, tensors: Tensors, least: int) -> array:
    orders = tensors.take("Q", "I64", None).values
    increasing = all(a < b for a, b in pairwise(orders))
    if not (orders and orders[0] >= least and orders[-1] <= ORDER and increasing):
        raise Malformed(
            f"{fields.where}: Q is not an increasing list of orders between {least} and {ORDER}"
        )
    return orders


def work(claim: GramPositive, sizes: Sizes) -> tuple[int, int]:
    """Ball multiplications and balls held at once."""
    n, top, points = sizes.n, max(claim.orders, default=0), 2 * claim.nodes + 1
    per_value = limits.WORK_PER_VALUE
    stored = n * sizes.k * (sizes.d + per_value)
    if claim.layers is not None:
        products, balls = limit_work(claim.layers, sizes, claim.nodes, per_value)
        return products + stored + 2 * n**3, balls + 4 * n * n + n * sizes.k
    closed = n * n * (per_value + sizes.d)
    layers = (points + 10) * (
        2 + 3 * claim.depth
    )  # the means of a layer cost as much as ten values besides those at the nodes
    values = n * (layers + len(claim.orders)) * per_value if claim.orders else closed
    series = points * (40 * top + n * len(claim.orders)) + 3 * n * n * len(claim.orders)
    return values + series + stored + n * n * sizes.d + 2 * n**3, 4 * n * n + points * (
        n + top + 4
    ) + n * sizes.k


def exact(claim: GramPositive, problem: Problem, checks: ExactChecks) -> GramRows:
    """G1 to G3 and G5, and what the matrix needs to know of the rows."""
    name = problem.activation
    covered = ANALYTIC if claim.orders or claim.layers else ("relu",)
    checks.require_fact(
        "G1",
        f"the activation is {' or '.join(covered)}",
        name in covered,
        f"the activation is {name}",
    )
    for number, word in zip("abcde", ("lam", "kappa", "c_res", "c_sigma", "step"), strict=True):
        checks.require_sign(f"G2{number}", f"{word} > 0", getattr(claim, word))
    zero = next((i for i in range(problem.sizes.n) if not any(problem.X.row(i))), None)
    checks.require_fact(
        "G3", "no row is zero", zero is None, "as stored" if zero is None else f"row {zero} is zero"
    )
    if claim.layers is None and not claim.orders:
        return GramRows(None, near_pairs(problem, checks))
    checks.require("G5", "nodes * step >= 2", Fraction(2), "<=", claim.nodes * claim.step)
    if claim.layers is None:
        return GramRows(norms(problem, checks), {})
    positive, empty = min(claim.layers.squares) > 0, zero_window(problem, claim.layers)
    checks.require_fact("G8", "every scale^2 is positive", positive, "as stored")
    checks.require_fact("G9", "no window of a sample is zero", not empty, empty or "as stored")
    return GramRows(None, {})


def check(claim: GramPositive, problem: Problem, rows: GramRows, checks: Checks) -> Numbers:
    """G4, G6 and G7 at the present precision."""
    loss = require_loss(checks, "G4", problem, claim.loss_upper, residual(problem))
    features = claim.kernel != "weights"
    if claim.layers is not None:
        rule = Trapezoid(problem.activation, problem.parameter, claim.step, claim.nodes)
        K = shifted(DeepLimit(problem, claim.layers, rule).matrix(), 1, -claim.lam)
        require_positive_definite(checks, "G7", "K - lam I", K, claim.C)
    elif rows.norms is None:
        H = shifted(relu_gram(problem, features, rows.near), 1, -claim.lam)
        require_positive_definite(checks, "G7", "H - lam I", H, claim.C)
    else:
        rule = Trapezoid(problem.activation, problem.parameter, claim.step, claim.nodes)
        _require_series(checks, claim, Series(problem, rows.norms, rule), features)
    return {
        "loss_upper": upper_float(claim.loss_upper),
        "loss": upper_float(loss),
        "lambda": lower_float(claim.lam),
        "kappa": lower_float(claim.kappa),
        "orders": float(len(claim.orders)),
        "kernel": claim.kernel,
    }


def _require_series(checks: Checks, claim: GramPositive, series: Series, features: bool) -> None:
    if claim.kernel == "resnet":
        slope = series.least_last_slope(claim.depth, claim.c_res, claim.c_sigma)
        bound = ball((claim.c_res / claim.depth) ** 2 * claim.kappa) * slope
        checks.require(
            "G6", "lam <= (c_res/H)^2 kappa min_i E[phi'(sqrt(K_ii) g)^2]", claim.lam, "<=", bound
        )
    factor, rows = ball(claim.c_sigma), series.partial_sum(claim.orders, features)
    partial = shifted([[factor * entry for entry in row] for row in rows], 1, -claim.kappa)
    require_positive_definite(checks, "G7", "partial sum - kappa I", partial, claim.C)


def statement(claim: GramPositive, problem: Problem) -> str:
    """The conclusion in a few sentences."""
    text = (
        f"The least eigenvalue of {KERNELS[claim.kernel]}, phi = {problem.phi}, is at least "
        f"{decimal_down(claim.lam)} for the stored {problem.sizes.n} samples. This is about the "
        "infinite-width matrix only and proves nothing about a finite network. The stored weights "
        f"have loss at most {decimal_up(claim.loss_upper)}."
    )
    if claim.layers is not None:
        return f"{text} {claim.layers.words()}"
    if claim.kernel != "resnet":
        return text
    return f"{text} Here H = {claim.depth}, c_res = {claim.c_res}, c_sigma = {claim.c_sigma}."


CLAIM = ClaimKind("gram-positive", "limit-gram/1", MEANING, read, work, exact, check, statement)
