"""R9: deliberately false claims from a producer with planted bugs; none is accepted."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.corpus.drafts import seal
from tests.corpus.small_producer import NotProvableError
from tests.corpus.two_checkers import VERDICTS, Bench
from tests.figures import Record, record_hostile
from tests.mutation.planted_bugs import SMOOTH_BUGS, Bug
from tests.mutation.planted_bugs_exact import EXACT_BUGS
from tests.mutation.planted_bugs_quadratic import QUADRATIC_BUGS
from tests.mutation.planted_bugs_second_order import SECOND_ORDER_BUGS
from tests.oracles.fraction_checker import oracle_truth

SEED = 20269
BUGS = SMOOTH_BUGS + EXACT_BUGS + QUADRATIC_BUGS + SECOND_ORDER_BUGS
TRIES = 40


def false_claim(rng: np.random.Generator, bug: Bug) -> bytes:
    """The first draw of a bug whose claim the oracle calls false."""
    for _ in range(TRIES):
        try:
            with np.errstate(all="ignore"):
                raw = seal(bug(rng))
        except (NotProvableError, np.linalg.LinAlgError):
            continue
        if oracle_truth(raw) is False:
            return raw
    raise AssertionError(f"{bug.__name__} made no false claim in {TRIES} draws")


def run(folder: Path, count: int, record: Record) -> None:
    rng, bench = np.random.default_rng(SEED), Bench(folder)
    verdicts: Counter[str] = Counter()
    accepted = []
    for number in range(count):
        bug = BUGS[number % len(BUGS)]
        outcome = bench.fast(false_claim(rng, bug))
        verdicts[outcome.verdict] += 1
        if outcome.verdict not in VERDICTS - {"ACCEPTED"}:
            accepted.append((number, bug.__name__, outcome))
    print(
        f"R9: {count} deliberately false claims of {len(BUGS)} kinds (seed {SEED}): "
        f"{dict(verdicts)}"
    )
    record_hostile(record, {"ACCEPTED": verdicts["ACCEPTED"], "false": count}, count)
    assert not accepted


def test_no_deliberately_false_claim_is_accepted(tmp_path: Path, record_property: Record):
    run(tmp_path, 3 * len(BUGS), record_property)


@pytest.mark.campaign
def test_no_deliberately_false_claim_of_a_thousand_is_accepted(
    tmp_path: Path, record_property: Record
):
    run(tmp_path, 1000, record_property)
