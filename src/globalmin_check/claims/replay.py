"""A descent replayed in balls from its start (theorem TR of `spec/claims/trajectory.md`), whatever
the network.

One pass at the bits the claim names. A map of the family gives the balls of the next weights and a
Lipschitz constant of the step on the ball of radius `delta`; after every step the weights are reset
to the midpoints of their balls, and `delta` bounds the distance to every exact run from the start
set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from itertools import islice
from math import prod

from flint import arb, arb_mat, fmpz

from globalmin_check.balls import (
    ball,
    column,
    decimal_down,
    decimal_up,
    precision,
    root,
    upper_float,
)
from globalmin_check.balls import sum_of_squares as squares
from globalmin_check.canonical import Fields
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.kind import Numbers
from globalmin_check.container import Tensor, Tensors, digest_of
from globalmin_check.verdict import Malformed, Undecided

BITS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
STEPS = 10**6
SEED_BITS = 1024  # of the cell of one entry
EXTENT = 2**14  # bits before or after the point, more than a rational of a claim can have
WORK_PER_STEP = 10**4  # so that many steps of a tiny network are counted too
WORK_PER_DRAW = 3 * 10**4  # one inverse of the normal distribution

Weights = tuple[arb_mat, ...]  # one matrix a layer; a vector is a column
# number of the step, exact weights, delta -> balls of the next weights, Lipschitz constant
StepMap = Callable[[int, Weights, arb], tuple[Weights, arb]]


@dataclass(frozen=True)
class Start:
    """The start set: a ball around stored weights, or the cell of a seed."""

    stored: tuple[Tensor, ...]
    delta0: Fraction
    seed: int | None
    shapes: tuple[tuple[int, ...], ...]  # of the weights, in the order in which a seed draws them

    @property
    def work(self) -> int:
        """Ball multiplications of the draw."""
        return 0 if self.seed is None else WORK_PER_DRAW * sum(map(prod, self.shapes))


@dataclass(frozen=True)
class Run:
    """Which steps are replayed from where, and where they must arrive."""

    eta: Fraction
    K: int
    bits: int
    Delta: Fraction
    start: Start


def read_run(
    fields: Fields,
    tensors: Tensors,
    eta: Fraction,
    roles: dict[str, tuple[int, ...]],
    *,
    seeds: bool = False,
    order: Tensor | None = None,
) -> Run:
    """Take the fields of the run and the tensors of its start, by role and shape; form only. A seed
    draws all of them, in this order; with an order there are as many steps as it has entries.
    """
    K = fields.integer("K", 0) if order is None else len(order.values)
    bits = fields.integer("bits", BITS[0])
    if K > STEPS:
        raise Malformed(f"{fields.where}.K is more than {STEPS}")
    if bits not in BITS:
        raise Malformed(f"{fields.where}.bits is {bits}, not one of {', '.join(map(str, BITS))}")
    return Run(
        eta=eta,
        K=K,
        bits=bits,
        Delta=fields.rational("Delta"),
        start=_read_start(fields, tensors, roles, seeds),
    )


def _read_start(
    fields: Fields, tensors: Tensors, roles: dict[str, tuple[int, ...]], seeds: bool
) -> Start:
    shapes = tuple(roles.values())
    if seeds and fields.has("seed"):
        return Start((), Fraction(0), fields.integer("seed", 0), shapes)  # of at most 18 digits
    stored = tuple(tensors.take(role, "F64", *lengths) for role, lengths in roles.items())
    return Start(stored, fields.rational("delta0"), None, shapes)


@dataclass(frozen=True)
class Replayed:
    """What the pass found, as exact rationals: how far every run of the start set is from the
    stored weights after K steps, and how long its path is up to then.
    """

    distance: tuple[Fraction, Fraction]
    path: tuple[Fraction, Fraction]
    delta: Fraction


def charge(run: Run, step: int, balls: int, checks: ExactChecks) -> None:
    """Count the whole pass before its first step: `step` multiplications each, and what every step
    costs.
    """
    checks.charge_balls((step + WORK_PER_STEP) * run.K + run.start.work, balls, run.bits)


def follow(
    run: Run, begin: Callable[[Weights], StepMap], stored: Sequence[Tensor], number: str
) -> Replayed:
    """Make the K steps; raises Undecided, for the check `number`, if the bound of the distance
    outgrows Delta. `begin` prepares the map, at the bits of the run, from the midpoints of the
    start.
    """
    with precision(run.bits):
        weights, delta = _drawn(run.start)
        step, limit = begin(weights), ball(run.Delta)
        shortest = longest = arb(0)
        for t in range(run.K):
            moved, factor = step(t, weights, delta)
            grown = (factor * delta + _radius(moved)).upper()
            if not grown <= limit:
                raise Undecided(
                    f"check {number} is undecided: after step {t + 1} the replay at {run.bits} "
                    "bits is known to no more than Delta"
                )
            middle, spread = tuple(layer.mid() for layer in moved), delta + grown
            length = _distance(middle, weights)
            shortest = (shortest + length - spread).lower()
            longest = (longest + length + spread).upper()
            weights, delta = middle, grown
        away = _distance(weights, tuple(map(matrix, stored)))
        return Replayed(
            (_at_least((away - delta).lower(), number), _at_most((away + delta).upper(), number)),
            (_at_least(shortest, number), _at_most(longest, number)),
            _at_most(delta, number),
        )


def require_arrival(checks: ExactChecks, number: str, run: Run, found: Replayed) -> None:
    """The distance after K steps is at most Delta: one outcome of one pass."""
    nearest, farthest = found.distance
    if farthest > run.Delta >= nearest:
        raise Undecided(
            f"check {number} is undecided: after {run.K} steps the replay at {run.bits} bits is "
            f"within {decimal_up(farthest)} of the stored weights, Delta is {decimal_up(run.Delta)}"
        )
    distance = farthest if farthest <= run.Delta else nearest
    checks.require(number, "distance to the stored weights <= Delta", distance, "<=", run.Delta)


def replay_numbers(run: Run, found: Replayed) -> Numbers:
    """The verified numbers of the replay itself."""
    return {
        "steps": float(run.K),
        "replay_bits": float(run.bits),
        "Delta": upper_float(run.Delta),
        "distance": upper_float(found.distance[1]),
        "delta": upper_float(found.delta),
        "delta0": upper_float(run.start.delta0),
        "seed": "" if run.start.seed is None else str(run.start.seed),
    }


def start_words(start: Start) -> str:
    """Which starts the statement is about."""
    if start.seed is not None:
        return (
            f"every start of the cell of seed {start.seed} (independent standard normal entries, "
            "1,024 bits each from SHA-256)"
        )
    lengths = " ".join(str(length) for tensor in start.stored for length in tensor.shape)
    name = digest_of(f"globalmin-start/1 {lengths}", *start.stored)[:12]
    if start.delta0 == 0:
        return f"the stored start {name}"
    return f"every start within {decimal_down(start.delta0)} of the stored start {name}"


def matrix(tensor: Tensor) -> arb_mat:
    """A stored matrix, or a stored vector as a column, in exact balls."""
    return arb_mat(tensor.rows()) if len(tensor.shape) == 2 else column(tensor.values.tolist())


def _drawn(start: Start) -> tuple[Weights, arb]:
    """w_0 and delta_0: the stored doubles and the claimed radius, or the cell of the seed."""
    if start.seed is None:
        return tuple(map(matrix, start.stored)), ball(start.delta0).upper()
    entries = [_cell(f"{start.seed}|{j}") for j in range(sum(map(prod, start.shapes)))]
    middle = iter(entry.mid() for entry in entries)
    weights = tuple(
        arb_mat(shape[0], shape[1] if shape[1:] else 1, list(islice(middle, prod(shape))))
        for shape in start.shapes
    )
    return weights, root(squares([entry.rad() for entry in entries])).upper()


def _cell(place: str) -> arb:
    """The ball of all z with m <= 2^1024 Phi(z) <= m + 1, m the integer of four digests."""
    digests = (sha256(f"globalmin-start/1|{place}|{b}".encode("ascii")) for b in range(4))
    m = int.from_bytes(b"".join(digest.digest() for digest in digests), "big")
    half = 1 << (SEED_BITS - 1)
    ends = (arb(fmpz(m + step - half)) / arb(fmpz(half)) for step in (0, 1))
    lower, upper = (arb(2).sqrt() * end.erfinv() for end in ends)
    return lower.union(upper)


def _radius(weights: Weights) -> arb:
    """The norm of the radii of all entries."""
    return root(squares([entry.rad() for layer in weights for entry in layer.entries()]))


def _distance(one: Weights, other: Weights) -> arb:
    pairs = zip(one, other, strict=True)
    return root(squares([entry for a, b in pairs for entry in (a - b).entries()]))


def _at_most(value: arb, number: str) -> Fraction:
    """A rational that is at least the ball of radius zero, and equal to it unless it is tiny: a
    slope of tanh far out has more digits after the point than a machine has memory.
    """
    if not value.is_finite():
        raise Undecided(f"check {number} is undecided: the replay does not stay finite")
    mantissa, exponent = map(int, value.man_exp())
    size = mantissa.bit_length() + exponent
    if size > EXTENT:
        raise Undecided(f"check {number} is undecided: the replay leaves 2^{EXTENT}")
    if size < -EXTENT:
        return Fraction(1, 1 << EXTENT) if mantissa > 0 else Fraction(0)
    return Fraction(mantissa) * Fraction(2) ** exponent


def _at_least(value: arb, number: str) -> Fraction:
    return -_at_most(-value, number)
