"""R1: byte-level mutants of sealed certificates are never accepted and never crash the checker."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.corpus.two_checkers import VERDICTS, Bench
from tests.figures import Record, record_hostile
from tests.mutation.byte_mutants import byte_mutant
from tests.mutation.sources import sealed

SEED = 20261


def run(folder: Path, count: int, seed: int = SEED) -> Counter[str]:
    rng, bench, files = np.random.default_rng(seed), Bench(folder), sealed()
    outcomes: Counter[str] = Counter()
    survivors = []
    for number in range(count):
        _, raw, data = files[number % len(files)]
        name, mutant = byte_mutant(rng, raw, files[int(rng.integers(len(files)))][1])
        outcome = bench.fast(mutant, data)
        outcomes[outcome.verdict] += 1
        if outcome.verdict not in VERDICTS - {"ACCEPTED"}:
            survivors.append((number, name, outcome))
    print(f"R1: {count} byte mutants (seed {seed}) of {len(files)} certificates: {dict(outcomes)}")
    assert not survivors
    return outcomes


def test_no_byte_mutant_is_accepted_or_crashes(tmp_path: Path, record_property: Record):
    counts = run(tmp_path, 1500)
    record_hostile(record_property, {"ACCEPTED": counts["ACCEPTED"]}, counts.total())


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_no_byte_mutant_of_a_hundred_thousand_is_accepted_or_crashes(
    part: int, tmp_path: Path, record_property: Record
):
    counts = run(tmp_path, 10_000, SEED + 1 + part)
    record_hostile(record_property, {"ACCEPTED": counts["ACCEPTED"]}, counts.total())
