"""R4: the fast checker and the slow one never contradict each other on small random certificates
and their mutants.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.corpus.drafts import resealed, seal
from tests.corpus.two_checkers import Bench, contradict
from tests.figures import Record, record_hostile
from tests.mutation.byte_mutants import byte_mutant
from tests.mutation.random_certificates import (
    ALL_KINDS,
    Kinds,
    random_certificate,
    random_quadratic,
)
from tests.mutation.semantic_mutants import semantic_mutant
from tests.mutation.sources import drafts

from globalmin_check.claims import quadratic

SEED = 20264


def run(
    folder: Path, count: int, record: Record, seed: int = SEED, kinds: Kinds = ALL_KINDS
) -> None:
    rng, bench, honest = np.random.default_rng(seed), Bench(folder), drafts()
    pairs: Counter[tuple[str, str]] = Counter()
    contradictions = []
    for number in range(count):
        draft = random_certificate(rng, kinds)
        style = number % 4
        if style >= 2:
            draft = semantic_mutant(rng, draft, honest)[1]
        raw = seal(draft)
        if style == 3 and rng.random() < 0.3:
            raw = resealed(byte_mutant(rng, raw, raw[::-1])[1])
        fast, slow = bench.both(raw)
        pairs[fast.verdict, slow.verdict] += 1
        if contradict(fast, slow):
            contradictions.append((number, fast, slow))
    equal = sum(number for (fast, slow), number in pairs.items() if fast == slow)
    undecided = sum(
        number
        for (fast, slow), number in pairs.items()
        if fast != slow and "UNDECIDED" in (fast, slow)
    )
    print(
        f"R4: {count} certificates (seed {seed}): {equal} equal verdicts, {undecided} differ by "
        "UNDECIDED"
    )
    print("    (fast, slow):", dict(pairs))
    record_hostile(record, {}, count)
    record("equal verdicts", equal)
    record("contradictions", len(contradictions))
    assert not contradictions


def test_the_checkers_never_contradict_each_other(tmp_path: Path, record_property: Record):
    run(tmp_path, 300, record_property)


def test_the_checkers_never_contradict_each_other_where_integers_replace_balls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
):
    monkeypatch.setattr(quadratic, "LARGE", -1)
    run(tmp_path, 150, record_property, SEED + 1, (random_quadratic,))


@pytest.mark.campaign
def test_the_checkers_never_contradict_each_other_in_two_thousand_on_the_grid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Record
):
    monkeypatch.setattr(quadratic, "LARGE", -1)
    run(tmp_path, 2000, record_property, SEED + 2, (random_quadratic,))


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(8))
def test_the_checkers_never_contradict_each_other_in_twenty_thousand(
    part: int, tmp_path: Path, record_property: Record
):
    run(tmp_path, 2500, record_property, SEED + 1000 * (part + 1))
