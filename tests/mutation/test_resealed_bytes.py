"""Byte-level mutants that are sealed again: the seal no longer says that something was changed, so
the parser and the checks must. What is accepted nevertheless, the second checker accepts too.
"""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.corpus.drafts import resealed
from tests.corpus.two_checkers import VERDICTS, Bench
from tests.figures import Record, record_hostile
from tests.mutation.byte_mutants import byte_mutant
from tests.mutation.sources import sealed
from tests.oracles.fraction_checker import check_bytes as slow_check

SEED = 20271


def run(folder: Path, count: int, seed: int, record: Record) -> Counter[str]:
    rng, bench, files = np.random.default_rng(seed), Bench(folder), sealed()
    outcomes: Counter[str] = Counter()
    wrong = []
    for number in range(count):
        name, raw, data = files[number % len(files)]
        change, mutant = byte_mutant(rng, raw, files[int(rng.integers(len(files)))][1])
        mutant = resealed(mutant)
        outcome = bench.fast(mutant, data)
        outcomes[outcome.verdict] += 1
        if outcome.verdict == "ACCEPTED":
            second = slow_check(mutant, data)
            outcomes["second opinions"] += 1
            if second.verdict != "ACCEPTED":
                wrong.append((number, name, change, outcome, second))
        elif outcome.verdict not in VERDICTS:
            wrong.append((number, name, change, outcome))
    print(f"{count} byte mutants sealed again (seed {seed}): {dict(outcomes)}")
    record_hostile(record, {"ACCEPTED": outcomes["ACCEPTED"]}, count)
    assert not wrong
    return outcomes


def test_what_is_accepted_of_mutants_sealed_again_is_accepted_twice(
    tmp_path: Path, record_property: Record
):
    outcomes = run(tmp_path, 600, SEED, record_property)
    assert outcomes["REJECTED"] > 60  # many pass the parser
    assert outcomes["ACCEPTED"] > 6  # and some changes do no harm


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_what_is_accepted_of_fifty_thousand_is_accepted_twice(
    part: int, tmp_path: Path, record_property: Record
):
    run(tmp_path, 5000, SEED + 1 + part, record_property)
