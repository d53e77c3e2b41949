"""Gradient descent replayed in balls from its start (theorem TR of `spec/claims/trajectory.md`).

One pass at the bits the claim names. After every step the weights are reset to the midpoints of
their balls, and one number `delta` bounds the distance to every exact run from the start set.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from flint import arb, arb_mat, fmpz

from globalmin_check import limits
from globalmin_check.activations import jet, supremum
from globalmin_check.balls import ball, column, largest, precision, root, sum_of_squares
from globalmin_check.canonical import Fields
from globalmin_check.checks import ExactChecks
from globalmin_check.container import Tensor, Tensors
from globalmin_check.primitives import hadamard, lower_product, row_sums
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import Malformed, Undecided

BITS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
STEPS = 10**6
SEED_BITS = 1024  # of the cell of one entry
WORK_PER_STEP = 10**4  # so that many steps of a tiny network are counted too
WORK_PER_DRAW = 3 * 10**4  # one inverse of the normal distribution


@dataclass(frozen=True)
class Replay:
    """The fields of section 5.20 that say which run is replayed, and where it must arrive."""

    eta: Fraction
    K: int
    bits: int
    Delta: Fraction
    x2: Fraction
    rows: bool  # expansion by row sums of K(w_t) instead of the global bound of |J|
    C_x: Tensor
    W0: Tensor | None
    delta0: Fraction
    seed: int | None


def read_replay(fields: Fields, tensors: Tensors, sizes: Sizes) -> Replay:
    """Take the fields and tensors of the run; form only."""
    K, bits = fields.integer("K", 0), fields.integer("bits", BITS[0])
    if K > STEPS:
        raise Malformed(f"{fields.where}.K is more than {STEPS}")
    if bits not in BITS:
        raise Malformed(f"{fields.where}.bits is {bits}, not one of {', '.join(map(str, BITS))}")
    seed = fields.integer("seed", 0) if fields.has("seed") else None  # of at most 18 digits
    stored = seed is None
    return Replay(
        eta=fields.rational("eta"),
        K=K,
        bits=bits,
        Delta=fields.rational("Delta"),
        x2=fields.rational("x2"),
        rows=fields.choice("expansion", ("norm", "rows")) == "rows",
        C_x=tensors.take("C_x", "F64", sizes.d, sizes.d),
        W0=tensors.take("W0", "F64", sizes.k, sizes.d) if stored else None,
        delta0=fields.rational("delta0") if stored else Fraction(0),
        seed=seed,
    )


@dataclass(frozen=True)
class Replayed:
    """What the pass found, as exact rationals: how far every run of the start set is from the
    stored weights after K steps, and how long its path is up to then.
    """

    distance: tuple[Fraction, Fraction]
    path: tuple[Fraction, Fraction]
    delta: Fraction


def charge(run: Replay, sizes: Sizes, checks: ExactChecks) -> None:
    """Count the whole pass before its first step."""
    n, d, k = sizes.n, sizes.d, sizes.k
    step = 2 * n * k * d + limits.WORK_PER_VALUE * n * k + WORK_PER_STEP
    step += n * n * (k + d) if run.rows else 0
    draws = 0 if run.seed is None else WORK_PER_DRAW * k * d
    balls = 6 * n * k + 4 * k * d + n * d + (3 * n * n if run.rows else 0)
    checks.charge_balls(step * run.K + draws, balls, run.bits)


def replayed(run: Replay, problem: Problem, checks: ExactChecks) -> Replayed:
    """Follow K steps; raises Undecided if the bound of the distance outgrows Delta."""
    charge(run, problem.sizes, checks)
    with precision(run.bits):
        step, limit = _Step(run, problem), ball(run.Delta)
        W, delta = _start(run, problem.sizes)
        shortest = longest = arb(0)
        for t in range(run.K):
            moved, grown = step(W, delta)
            if not grown <= limit:
                raise Undecided(
                    f"check J4 is undecided: after step {t + 1} the replay at {run.bits} bits is "
                    "known to no more than Delta"
                )
            length, spread = _norm(moved - W), delta + grown
            shortest = (shortest + length - spread).lower()
            longest = (longest + length + spread).upper()
            W, delta = moved, grown
        away = _norm(W - arb_mat(problem.W.rows()))
        near, far = (away - delta).lower(), (away + delta).upper()
        return Replayed(
            (_fraction(near), _fraction(far)),
            (_fraction(shortest), _fraction(longest)),
            _fraction(delta),
        )


class _Step:
    """One step w -> w - eta grad L(w): midpoints, and the bound of lemma 1 and theorem TR."""

    def __init__(self, run: Replay, problem: Problem) -> None:
        self.problem, self.rows, self.eta = problem, run.rows, ball(run.eta)
        self.points = problem.X.rows()
        self.X, self.y = arb_mat(self.points), column(problem.y.values.tolist())
        self.v = [arb(entry) for entry in problem.v.values]
        squares = [sum_of_squares([arb(entry) for entry in row]) for row in self.points]
        name, parameter = problem.activation, problem.parameter
        bend = supremum(name, parameter, 2)
        slope = supremum(name, parameter, 1)
        # kappa0 <= x2 max |x_i|^2, so J is C-Lipschitz everywhere
        self.C = (
            ball(bend or 0) * largest(map(abs, self.v)) * (ball(run.x2) * largest(squares)).sqrt()
        )
        head = root(sum_of_squares(self.v))
        self.beta = None if slope is None else ball(slope) * head * ball(run.x2).sqrt()

    def __call__(self, W: arb_mat, delta: arb) -> tuple[arb_mat, arb]:
        name, parameter = self.problem.activation, self.problem.parameter
        jets = [[jet(name, parameter, z) for z in row] for row in (self.X * W.transpose()).tolist()]
        values = arb_mat([[entry[0] for entry in row] for row in jets])
        r = (values * column(self.v) - self.y).entries()
        B = [[entry[1] * v for entry, v in zip(row, self.v, strict=True)] for row in jets]
        pulled = arb_mat(
            [[entry * factor for entry in row] for row, factor in zip(B, r, strict=True)]
        )
        moved = W - (pulled.transpose() * self.X) * self.eta
        rounding = root(sum_of_squares([entry.rad() for entry in moved.entries()]))
        grown = self._expansion(B, root(sum_of_squares(r)), delta) * delta + rounding
        return moved.mid(), grown.upper()

    def _expansion(self, B: list[list[arb]], g: arb, delta: arb) -> arb:
        """A Lipschitz constant of w -> w - eta grad L(w) on the ball of radius delta (lemma 1)."""
        if self.rows or self.beta is None:
            K = hadamard(lower_product(B, B), lower_product(self.points, self.points))
            b = root(largest(row_sums(K))) + self.C * delta
        else:
            b = self.beta
        return (self.eta * b * b - 1).max(arb(1)) + self.eta * self.C * (g + b * delta)


def _start(run: Replay, sizes: Sizes) -> tuple[arb_mat, arb]:
    """w_0 and delta_0: the stored doubles and the claimed radius, or the cell of the seed."""
    if run.W0 is not None:
        return arb_mat(run.W0.rows()), ball(run.delta0).upper()
    entries = [_cell(f"{run.seed}|{j}") for j in range(sizes.k * sizes.d)]
    W = arb_mat(sizes.k, sizes.d, [entry.mid() for entry in entries])
    return W, root(sum_of_squares([entry.rad() for entry in entries])).upper()


def _cell(place: str) -> arb:
    """The ball of all z with m <= 2^1024 Phi(z) <= m + 1, m the integer of four digests."""
    digests = (sha256(f"globalmin-start/1|{place}|{b}".encode("ascii")) for b in range(4))
    m = int.from_bytes(b"".join(digest.digest() for digest in digests), "big")
    half = 1 << (SEED_BITS - 1)
    ends = (arb(fmpz(m + step - half)) / arb(fmpz(half)) for step in (0, 1))
    lower, upper = (arb(2).sqrt() * end.erfinv() for end in ends)
    return lower.union(upper)


def _norm(A: arb_mat) -> arb:
    return root(sum_of_squares(A.entries()))


def _fraction(value: arb) -> Fraction:
    """The exact rational of a ball of radius zero; raises Undecided if it is not finite."""
    if not value.is_finite():
        raise Undecided("check J4 is undecided: the replay does not stay finite")
    mantissa, exponent = value.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
