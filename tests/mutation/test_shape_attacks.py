"""Hostile files of networks whose curves have shapes: nothing false is accepted, the two checkers
agree, and no curve of a tiny class gains more from u than the decay that was proved.

The default run makes 100 files, `-m campaign` 1,200. What a curve gains at most is found by a
linear program over all bends of a grid.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.figures import Record, record_hostile
from tests.mutation.both_checkers import attack
from tests.mutation.shape_attacks import honest, hostile, written
from tests.mutation.shape_gains import largest_gain
from tests.oracles.claim_grammar import MalformedError

from globalmin_check.engine import check_bytes

SEED = 4417
FILES, CAMPAIGN, HONEST = 100, 1200, 60


def test_nothing_false_is_accepted_and_the_checkers_agree():
    counts = attack(hostile, FILES, [SEED])
    print(dict(counts))
    # an attack that is never accepted, or always, has no teeth
    assert counts["ACCEPTED"] >= FILES // 10
    assert counts["false"] >= FILES // 6


@pytest.mark.campaign
def test_nothing_false_of_twelve_hundred_is_accepted(record_property: Record):
    counts = attack(hostile, CAMPAIGN, [SEED + 1])
    record_hostile(record_property, counts, counts["files"])
    print(dict(counts))


def test_honest_files_are_accepted_and_a_little_less_decay_is_not():
    """Near the edge: the decay is the least, up to 2^-80, for the stored vectors."""
    counts: Counter[str] = Counter()
    for number in range(HONEST):
        rng = np.random.default_rng([SEED + 2, number])
        try:
            with np.errstate(all="ignore"):
                case, u, rho = honest(rng)
                raw = written((case, u, rho))
        except (MalformedError, ArithmeticError):
            continue
        counts[check_bytes(raw).verdict.value] += 1
        if check_bytes(raw).verdict.value == "ACCEPTED" and case.network["b"] > Fraction(1, 10**5):
            case.network["b"] *= 1 - Fraction(1, 2**30)
            less = check_bytes(written((case, u, rho))).verdict.value
            counts["less decay " + less] += 1
    print(dict(counts))
    assert counts["ACCEPTED"] >= HONEST // 2
    assert counts["less decay REJECTED"] >= HONEST // 4


def test_no_curve_gains_more_than_the_decay_and_convex_ones_as_much():
    """R7 (b) by another road, for any u and multipliers, not only those of a minimum."""
    counts: Counter[str] = Counter()
    for number in range(HONEST):
        rng = np.random.default_rng([SEED + 3, number])
        try:
            with np.errstate(all="ignore"):
                case, u, rho = honest(rng)
                accepted = check_bytes(written((case, u, rho))).verdict.value == "ACCEPTED"
        except (MalformedError, ArithmeticError):
            continue
        if not accepted:
            continue
        b = float(case.network["b"])
        gains = [largest_gain(case, j, u) for j in range(case.X.shape[1])]
        assert max(gains) <= b * (1 + 1e-9) + 1e-9, number
        counts["accepted"] += 1
        counts["tight"] += max(gains) >= 0.99 * b
    print(dict(counts))
    assert counts["accepted"] >= HONEST // 2
    assert counts["tight"] >= HONEST // 4
