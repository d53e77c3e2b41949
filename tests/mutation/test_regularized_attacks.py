"""Hostile files about the dual bound: nothing false is accepted, the two checkers agree, and no
network of a tiny class is below a floor that was proved.

The truth is exact: H_g(u) by enumeration, sums in fractions. The default run makes 100 files for
each constraint, `-m campaign` 1,000 each, and minimizes 500 tiny problems by brute force.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.checker.regularized_cases import derivative, golden
from tests.figures import Record, record_hostile
from tests.mutation.both_checkers import attack
from tests.mutation.regularized_attacks import hostile
from tests.mutation.regularized_instances import CONSTRAINTS, honest, written
from tests.mutation.tiny_optima import lowest_objective

from globalmin_check.claims import dual_quadratic
from globalmin_check.engine import check_bytes

SEED = 181
FILES, CAMPAIGN, ZEROS = 100, 1000, 40
OPTIMA, ALL_OPTIMA = 12, 500
FLOORS = (*CONSTRAINTS[:5], "slabs")  # without "unused", whose floor is that of "columns"


def attack_on(constraint: str, count: int, seed: int) -> Counter[str]:
    """Files about one constraint."""
    place = CONSTRAINTS.index(constraint)
    return attack(lambda rng: hostile(rng, constraint), count, [seed, place])


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_nothing_false_is_accepted_and_the_checkers_agree(constraint: str):
    counts = attack_on(constraint, FILES, SEED)
    print(constraint, dict(counts))
    # an attack that is never accepted, or always, has no teeth
    assert counts["ACCEPTED"] >= FILES // 10
    assert counts["false"] >= FILES // 6


@pytest.mark.campaign
@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_nothing_false_of_a_thousand_is_accepted(constraint: str, record_property: Record):
    counts = attack_on(constraint, CAMPAIGN, SEED + 1)
    record_hostile(record_property, counts, counts["files"])
    print(constraint, dict(counts))
    assert counts["files"] == CAMPAIGN  # files that both checkers judged, not attempts


def test_nothing_false_is_accepted_on_the_road_for_zeros(monkeypatch):
    """Sums of squares in integers over the nonzeros, taken for every file of quadratic neurons."""
    monkeypatch.setattr(dual_quadratic, "_ZEROS", 0)
    counts = attack_on("quadratic", ZEROS, SEED + 4)
    assert counts["ACCEPTED"] >= ZEROS // 10
    assert counts["false"] >= ZEROS // 6


@pytest.mark.campaign
def test_nothing_false_of_a_thousand_is_accepted_on_the_road_for_zeros(
    monkeypatch, record_property: Record
):
    monkeypatch.setattr(dual_quadratic, "_ZEROS", 0)
    counts = attack_on("quadratic", 2 * CAMPAIGN, SEED + 5)
    record_hostile(record_property, counts, counts["files"])
    print("zeros", dict(counts))


def floors_hold(count: int, seed: int, starts: int) -> list[float]:
    """Accepted floors against the best networks that many local searches find."""
    rooms = []
    for number in range(count):
        constraint = FLOORS[number % len(FLOORS)]
        rng = np.random.default_rng([seed, number])
        case, options = honest(rng, constraint)
        if not np.any(options["u"]):
            options["u"] = 0 * derivative(case)
        raw = written(case, options)
        result = check_bytes(raw)
        if result.verdict.value != "ACCEPTED" or result.claims[0].numbers is None:
            continue
        floor = float(result.claims[0].numbers["p_low"])
        lowest = lowest_objective(case, rng, starts)
        size = 1 + abs(floor)
        assert lowest >= floor - 1e-9 * size, (number, constraint, lowest, floor)
        rooms.append((lowest - floor) / size)
    return rooms


def test_no_network_is_below_a_proved_floor():
    rooms = floors_hold(OPTIMA, SEED + 2, 2)
    assert len(rooms) >= OPTIMA // 2
    assert min(rooms) < 0.05  # a floor near a minimum, or the test shows nothing


@pytest.mark.campaign
def test_no_network_of_five_hundred_problems_is_below_a_proved_floor():
    rooms = floors_hold(ALL_OPTIMA, SEED + 3, 4)
    print(len(rooms), "floors, smallest room", min(rooms))


def test_the_golden_class_has_its_minimum_where_the_theorem_says():
    """b = 1/2, free hidden biases: D = 7/16 at t = 1/4 is the minimum, and brute force finds it."""
    case, _ = golden(hidden_bias="free")
    lowest = lowest_objective(case, np.random.default_rng(0))
    assert abs(lowest - float(Fraction(7, 16))) < 1e-5
