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
from tests.checker.regularized_cases import Case
from tests.corpus.whole_files import opened
from tests.figures import Record, record_hostile
from tests.mutation import regularized_instances
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
    assert fast == exact or "UNDECIDED" in (fast, exact), where
    truth = oracle_truth(raw)
    assert (fast, truth) not in (("ACCEPTED", False), ("REJECTED", True)), where
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


def of_all_sizes(rng: np.random.Generator, case: Case) -> Case:
    """The same case with columns, weights and tau times powers of two from 2^-900 to 2^900, equal,
    parallel and zero rows among the others.
    """
    n, d = case.X.shape
    powers = rng.choice([0, 0, -3, 40, -40, 300, -300, 900, -900], d)
    if rng.random() < 0.5:
        powers[:] = powers[0]
    X, network, bias = np.ldexp(case.X, powers), dict(case.network), case.bias
    if n > 1 and rng.random() < 0.3:
        X[1] = X[0] * float(rng.choice([1, 2, -1]))
    if rng.random() < 0.2:
        X[int(rng.integers(n))] = 0.0
    if bias is not None and "tau" in network and rng.random() < 0.5:
        power = int(rng.choice([-900, -40, -5, 5, 40, 900, powers[0]]))
        network["tau"] = Fraction(network["tau"]) * Fraction(2) ** power
        bias = np.ldexp(bias, -power)
    linear = None if case.linear is None else np.ldexp(case.linear, -powers)
    W = np.ldexp(case.W, -powers)
    return replace(case, X=X, W=W, bias=bias, linear=linear, network=network)


@pytest.fixture
def all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are made from cases of all sizes."""
    plain = regularized_instances.random_case
    monkeypatch.setattr(
        regularized_instances,
        "random_case",
        lambda rng, constraint: of_all_sizes(rng, plain(rng, constraint)),
    )


@pytest.mark.usefixtures("all_sizes")
@pytest.mark.parametrize("constraint", ["cones", "unused"])
def test_the_routes_never_contradict_each_other_at_any_size(constraint: str):
    counts = campaign(constraint, FILES, SEED + 9)
    print(constraint, "(fast/exact):", dict(counts))
    assert counts["ACCEPTED/ACCEPTED"] + counts["ACCEPTED/UNDECIDED"] >= 5
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


@pytest.mark.parametrize("constraint", ["cones", "unused"])
def test_bounds_too_good_by_a_hair_are_not_accepted_whatever_the_cones_say(constraint: str):
    """p_up and p_low are tested in balls at every precision, the gap in rationals."""
    tried = 0
    for number in range(40):
        rng = np.random.default_rng([SEED + 2, number])
        raw = written(*honest(rng, constraint))
        if check_bytes(raw, route="fast").verdict.value != "ACCEPTED":
            continue
        for name, hair in (("p_up", -1), ("p_low", 1), ("gap", -1)):
            file = opened(raw)
            file.claim[name] = str(Fraction(file.claim[name]) + Fraction(hair, 10**60))
            if name != "gap":  # so that only this bound is wrong
                file.claim["gap"] = str(Fraction(file.claim["gap"]) + 1)
            lied = check_bytes(file.sealed(), route="fast")
            assert lied.verdict.value in ("UNDECIDED", "REJECTED"), (number, name)
        tried += 1
    assert tried >= 5


@pytest.mark.campaign
@pytest.mark.usefixtures("all_sizes")
@pytest.mark.parametrize("constraint", ["cones", "unused"])
def test_a_thousand_files_about_cones_of_all_sizes(constraint: str, record_property: Record):
    counts = campaign(constraint, CAMPAIGN, SEED + 10)
    record_hostile(record_property, {}, CAMPAIGN)
    print(constraint, "(fast/exact):", dict(counts))


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize("constraint", ["cones", "unused"])
def test_thousands_of_files_about_cones(constraint: str, block: int, record_property: Record):
    counts = campaign(constraint, CAMPAIGN, SEED + 1 + block)
    record_hostile(record_property, {}, CAMPAIGN)
    print(constraint, "(fast/exact):", dict(counts))
