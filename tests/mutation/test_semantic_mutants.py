"""R2: re-sealed semantic mutants; what the checker accepts, the truth oracle calls true."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.corpus.drafts import seal
from tests.corpus.two_checkers import VERDICTS, Bench
from tests.figures import Record, record_hostile
from tests.mutation.semantic_mutants import FAMILIES, MUST_REFUSE, semantic_mutant
from tests.mutation.sources import drafts
from tests.oracles.fraction_checker import oracle_truth

SEED = 20262


def run(folder: Path, count: int, seed: int = SEED) -> dict[str, int]:
    rng, bench, honest = np.random.default_rng(seed), Bench(folder), drafts()
    table: Counter[tuple[str, str, bool | None]] = Counter()
    wrong = []
    for number in range(count):
        wanted = list(FAMILIES)[number % len(FAMILIES)]
        family, mutant = semantic_mutant(
            rng, honest[int(rng.integers(len(honest)))], honest, wanted
        )
        raw = seal(mutant)
        outcome, truth = bench.fast(raw), oracle_truth(raw)
        table[family, outcome.verdict, truth] += 1
        if outcome.verdict not in VERDICTS or (outcome.verdict == "ACCEPTED" and truth is not True):
            wrong.append((number, family, outcome, truth))
    report(table, count, seed)
    assert not wrong
    return {
        "files": count,
        "ACCEPTED": sum(n for (_, verdict, _), n in table.items() if verdict == "ACCEPTED"),
        "false": sum(n for (_, _, truth), n in table.items() if truth is False),
    }


def report(table: Counter[tuple[str, str, bool | None]], count: int, seed: int) -> None:
    print(
        f"R2: {count} re-sealed semantic mutants (seed {seed}); equivalent = accepted and called "
        "true by the oracle"
    )
    for family in FAMILIES:
        rows = {key[1:]: number for key, number in table.items() if key[0] == family}
        false = sum(number for (_, truth), number in rows.items() if truth is False)
        accepted_false = sum(
            number
            for (verdict, truth), number in rows.items()
            if verdict == "ACCEPTED" and truth is False
        )
        equivalent = sum(
            number
            for (verdict, truth), number in rows.items()
            if verdict == "ACCEPTED" and truth is True
        )
        unproved = sum(
            number
            for (verdict, truth), number in rows.items()
            if verdict != "ACCEPTED" and truth is True
        )
        mark = "must refuse" if family in MUST_REFUSE else ""
        print(
            f"  {family:16} {sum(rows.values()):6} mutants, {false:6} false of which accepted "
            f"{accepted_false},"
            f" {equivalent:6} equivalent, {unproved:6} true but not proved by the witness {mark}"
        )


def test_no_false_mutant_is_accepted(tmp_path: Path, record_property: Record):
    counts = run(tmp_path, 400)
    record_hostile(record_property, counts, counts["files"])


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(4))
def test_no_false_mutant_of_ten_thousand_is_accepted(
    part: int, tmp_path: Path, record_property: Record
):
    counts = run(tmp_path, 2500, SEED + 1000 * (part + 1))
    record_hostile(record_property, counts, counts["files"])
