"""The two routes of the checker never contradict each other on hostile files: seeded attacks of
every kind that the fast route knows.
"""

from collections import Counter

import pytest
from tests.figures import Record, record_hostile
from tests.mutation.fast_differences import difference
from tests.mutation.soundness_campaign import attacks

from globalmin_check.fast.route import KINDS

SEED = 20414
FILES = 20_000
# of these only the search over cones, or the sums over rows, are done in floats:
# test_fast_cones_campaign.py and test_fast_streams_campaign.py
IN_PART = ("dual-gap", "unused-terms", "stream-gap")
WHOLE = sorted(set(KINDS) - set(IN_PART))


def run(kind: str, files: int, seed: int) -> Counter[str]:
    counts: Counter[str] = Counter()
    for number, attack in enumerate(attacks(kind, files, seed)):
        raw = attack.file.sealed()
        found = difference(raw, counts)
        assert not found, f"{kind}, seed {seed}, file {number} ({attack.style}): {found}"
    print(f"{kind}, seed {seed}, {files} files (fast/exact):", dict(counts))
    return counts


@pytest.mark.parametrize("kind", WHOLE)
def test_the_routes_never_contradict_each_other(kind: str, record_property: Record):
    counts = run(kind, 60, SEED)
    record_hostile(record_property, {}, 60)
    assert counts["ACCEPTED/ACCEPTED"] >= 5


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(20))
@pytest.mark.parametrize("kind", WHOLE)
def test_twenty_thousand_hostile_files(kind: str, block: int, record_property: Record):
    files = FILES // (20 * len(WHOLE))
    run(kind, files, SEED + 1 + block)
    record_hostile(record_property, {}, files)
