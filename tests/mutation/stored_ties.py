"""Ties that no field of the claim can make, made of the stored doubles themselves.

The loss of a one-filter network has to be below the barrier, and both depend on the stored numbers
alone. A filter with four entries reaches that tie digit by digit: two entries to 53 bits, the
third, some 2^-50 in size, to 106, the fourth to 159. And the last slope of a residual network is an
integral: only rows as short as 1/16 and a fine rule make its error smaller than 2^-150.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
from tests.checker import gram_cases as gram
from tests.checker import trap_cases as trap
from tests.checker.gram_cases import resnet_claim
from tests.corpus.whole_files import Whole, opened
from tests.mutation.oracle_margins import tie, with_field
from tests.oracles import fraction_filter_claims as one_filter
from tests.oracles import gmc_builder as gmc

BITS = 420
PLANTED_BASES = 3


def _room(start: trap.Start, bits: int = BITS) -> Fraction:
    """Barrier minus loss."""
    v, a, w, true = (
        [Fraction(float(x)) for x in vector] for vector in (start.v, start.a, start.w, start.true)
    )
    moments = one_filter.Moments(one_filter.FilterFile(v, a, w, true, []), bits)
    gap = moments.barrier() - moments.loss()
    return (gap.lower + gap.upper) / 2


def _turned(start: trap.Start, angle: float, *fine: float) -> trap.Start:
    return replace(start, v=np.array([np.cos(angle), np.sin(angle), *fine]))


def _crossing(start: trap.Start) -> float | None:
    """An angle of the filter at which the loss is the barrier, to double precision."""
    angles = np.linspace(0, 2 * np.pi, 33)
    rooms = [_room(_turned(start, float(angle), 0.0, 0.0), 100) > 0 for angle in angles]
    place = next((i for i in range(32) if rooms[i] and not rooms[i + 1]), None)
    if place is None:
        return None
    low, high = float(angles[place]), float(angles[place + 1])
    while low < (middle := (low + high) / 2) < high:
        low, high = (
            (middle, high) if _room(_turned(start, middle, 0.0, 0.0), 100) > 0 else (low, middle)
        )
    return low


@cache
def _filter_start(kind: str, number: int) -> tuple[trap.Start, float]:
    """A start with b of the right sign whose filter can be turned through the barrier."""
    rng = np.random.default_rng([number, len(kind)])
    while True:
        k = int(rng.integers(1, 4))
        w = np.append(rng.standard_normal(2), 0.2 * rng.uniform(0.5, 1, 2))
        true = (
            trap.teacher_head(k, float(rng.uniform(0.05, 0.6)), int(rng.integers(2**31)))
            if k > 1
            else np.ones(1)
        )
        start = trap.Start(w, np.zeros(k), w, true)
        near = start.best_head(0.0) if kind == "spurious-minimum" else start.W * true
        start = replace(start, a=near * (1 + 0.05 * rng.standard_normal(k)))
        right = start.b < 0 if kind == "spurious-minimum" else start.b > 0
        angle = _crossing(start) if right else None
        if angle is not None:
            return start, angle


def at_the_barrier(kind: str, number: int, exponent: int, side: int) -> Whole:
    """A filter file whose loss is below (side +1) or above (side -1) the barrier by about
    2^-exponent.
    """
    start, angle = _filter_start(kind, number)
    aim = side * Fraction(1, 2**exponent)
    fine = [0.0, 0.0]
    for place in (0, 1):
        here = _room(_turned(start, angle, *fine)) - aim
        probe = list(fine)
        probe[place] = 2.0**-60
        slope = (_room(_turned(start, angle, *probe)) - aim - here) / Fraction(2.0**-60)
        fine[place] = float(-here / slope)
    final = _turned(start, angle, *fine)
    claim = trap.claim(final, kind, step=None, loss_upper=Fraction(1000))
    return opened(trap.build(final, claim))


@cache
def _short_row(name: str) -> tuple[Whole, Fraction]:
    """A residual network on one row of length 1/16 with a fine rule, and lam at the tie of G6."""
    X = np.array([[0.0625, 0.0]])
    rule = {"step": Fraction(1, 3), "nodes": 48}
    fields, tensors, _ = resnet_claim(name, X, depth=2, **rule)
    A = 1.5 * float(gram.partial_sum(name, X, [1], features=True)[0, 0])
    kappa = Fraction(A * 0.8)
    fields |= {
        "kappa": str(kappa),
        "lam": str(Fraction(fields["lam"]) * kappa / Fraction(fields["kappa"])),
    }
    tensors = {"Q": np.array([1], np.int64), "C": np.array([[(A * 0.2) ** -0.5]])}
    file = opened(
        gmc.build(
            X,
            np.zeros(1),
            np.zeros((1, 2)),
            np.zeros(1),
            [(fields | {"loss_upper": "1"}, tensors)],
            activation=name,
        )
    )
    found = tie(file, "last slope", "lam")
    if found is None:
        raise AssertionError("the last slope has no tie")
    return file, found.value


def at_the_last_slope(name: str, exponent: int, side: int) -> Whole:
    """A resnet file whose lam is below (side +1) or above (side -1) the bound of G6 by a relative
    2^-exponent.
    """
    file, value = _short_row(name)
    return with_field(file, "lam", value * (1 - side * Fraction(1, 2**exponent)))
