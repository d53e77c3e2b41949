"""Hostile files about streams with their rows, on both routes of the checker: what floats accept is
accepted in integers, with the same numbers, and bounds hold for rows that are hard to add up.

The default run makes 90 files, `-m campaign` 2,000.
"""

from __future__ import annotations

from array import array
from collections import Counter

import numpy as np
import pytest
from tests.checker import stream_cases as cases
from tests.checker.stream_sums import frobenius, stream_of
from tests.figures import Record, record_hostile
from tests.mutation.stream_attacks import KINDS, hostile, stream

from globalmin_check.engine import check_bytes
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import NotProved
from globalmin_check.fast.streams import BoundedSums

SEED = 8812
FILES, CAMPAIGN = 90, 2000


def campaign(files: int, seed: int) -> Counter[str]:
    """So many files, the kinds in turns."""
    counts: Counter[str] = Counter()
    for number in range(files):
        rng = np.random.default_rng([seed, number])
        kind = list(KINDS)[number % len(KINDS)]
        with np.errstate(all="ignore"):
            case = stream(rng, kind)
            try:
                mode, raw = hostile(rng, case)
            except OverflowError:  # sums beyond doubles
                counts["no file"] += 1
                continue
        rows = cases.given(case.rows, int(rng.integers(1, 9)))
        fast, exact = (check_bytes(raw, rows=rows, route=route) for route in ("fast", "exact"))
        pair = fast.verdict.value, exact.verdict.value
        where = f"seed {seed}, file {number} ({kind}, {mode}): {pair} {fast.reason} {exact.reason}"
        assert pair[0] in ("UNDECIDED", pair[1]), where
        assert pair[0] != "ACCEPTED" or fast.claims[0].numbers == exact.claims[0].numbers, where
        counts["/".join(pair)] += 1
    return counts


def test_the_routes_never_contradict_each_other_about_streams():
    counts = campaign(FILES, SEED)
    print("streams (fast/exact):", dict(counts))
    assert counts["ACCEPTED/ACCEPTED"] >= FILES // 10
    assert counts["UNDECIDED/REJECTED"] >= FILES // 6


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_hold_for_rows_that_are_hard_to_add_up(kind: str):
    """In any order, in blocks of any length."""
    held = 0
    for number in range(12):
        rng = np.random.default_rng([SEED, number])
        with np.errstate(all="ignore"):
            case = stream(rng, kind)
            rows, step = rng.permutation(case.rows), int(rng.integers(1, 13))
            sums = BoundedSums(stream_of(case), Products(b"digest"))
            try:
                for start in range(0, len(rows), step):
                    sums.add(array("d", rows[start : start + step].ravel().tolist()))
            except NotProved:
                continue
        squares, products, *moments, alpha, beta, zeta = sums.closed()
        A, B, Z = case.sums(rows)
        assert abs(A - squares) <= alpha
        assert abs(B - products) <= beta
        distance = frobenius(case.W.shape[1], [z - m for z, m in zip(Z, moments, strict=True)])
        assert distance <= float(zeta)
        held += 1
    assert held >= (2 if kind == "subnormal" else 12)  # most are scaled beyond 2^100


@pytest.mark.campaign
def test_two_thousand_files_about_streams(record_property: Record):
    counts = campaign(CAMPAIGN, SEED + 1)
    record_hostile(record_property, {}, CAMPAIGN - counts["no file"])
    print("streams (fast/exact):", dict(counts))
