"""Hostile and honest files about cones, on both routes of the checker: what floats accept must be
true by the exact oracle and accepted in integers, or be left open there for its size.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.figures import Record, record_hostile
from tests.mutation.regularized_attacks import hostile
from tests.mutation.regularized_instances import honest, largest, opened_case, written
from tests.oracles.claim_grammar import MalformedError
from tests.oracles.fraction_checker import oracle_truth
from tests.oracles.fraction_regularized import repaired

from globalmin_check.engine import check_bytes

SEED = 20415
FILES, EDGES, CAMPAIGN = 60, 15, 1000
ROOMS = (1e-3, 1e-6, 1e-9, -1e-12, -1e-9, -1e-6, -1e-3)


def compared(raw: bytes, counts: Counter[str], where: str) -> str:
    """The verdict in floats, held against the truth and against integers."""
    fast = check_bytes(raw, route="fast").verdict.value
    exact = check_bytes(raw, route="exact").verdict.value
    counts[f"{fast}/{exact}"] += 1
    assert fast in ("UNDECIDED", exact) or (fast, exact) == ("ACCEPTED", "UNDECIDED"), where
    assert not (fast == "ACCEPTED" and oracle_truth(raw) is False), where
    return fast


def campaign(constraint: str, files: int, seed: int) -> Counter[str]:
    """So many files of one constraint, a third of them honest."""
    counts: Counter[str] = Counter()
    for number in itertools.count():
        if sum(counts.values()) >= files:
            return counts
        rng = np.random.default_rng([seed, len(constraint), number])
        try:
            with np.errstate(all="ignore"):
                raw = (
                    hostile(rng, constraint)[1] if number % 3 else written(*honest(rng, constraint))
                )
        except (MalformedError, np.linalg.LinAlgError, ArithmeticError):
            continue
        compared(raw, counts, f"{constraint}, seed {seed}, file {number}")
    raise AssertionError


@pytest.mark.parametrize("constraint", ["cones", "unused"])
def test_the_routes_never_contradict_each_other_about_cones(constraint: str):
    counts = campaign(constraint, FILES, SEED)
    print(constraint, "(fast/exact):", dict(counts))
    assert counts["ACCEPTED/ACCEPTED"] >= 5
    assert counts["UNDECIDED/REJECTED"] + counts["REJECTED/REJECTED"] >= 5


@pytest.mark.parametrize("number", range(EDGES))
def test_files_at_the_edge_of_the_exact_maximum(number: int):
    """b = (1 + room) H_g(u) of the largest group, H by enumeration: accepted above it down to 1e-9,
    never below it.
    """
    counts: Counter[str] = Counter()
    for attempt in itertools.count():
        rng = np.random.default_rng([SEED, number, attempt])
        case, options = honest(rng, "cones")
        file = opened_case(case)
        u = [Fraction(x) for x in options["u"]]
        final = repaired(file, u, options["repair"]) if options["repair"] else u
        tops = largest(file, final or u)
        wide = [len(group) > 1 for group in file.network["groups"]]
        top = max(tops)
        if top > Fraction(1, 1000) and wide[tops.index(top)] and case.network["heads"] == "any":
            break
    for room in ROOMS:
        b = top * (1 + Fraction(room))
        edge = replace(case, network=case.network | {"b": b})
        raw = written(edge, options | {"constraint": "cones"})
        verdict = compared(raw, counts, f"file {number}, room {room}")
        assert verdict == "ACCEPTED" if room > 0 else verdict != "ACCEPTED", (number, room)


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize("constraint", ["cones", "unused"])
def test_thousands_of_files_about_cones(constraint: str, block: int, record_property: Record):
    counts = campaign(constraint, CAMPAIGN, SEED + 1 + block)
    record_hostile(record_property, {}, CAMPAIGN)
    print(constraint, "(fast/exact):", dict(counts))
