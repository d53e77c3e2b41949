"""Nothing false is accepted from an attacker who postpones checks, spoils witnesses and plants
truths; the checkers agree.

The default run attacks every claim kind with 500 files; `-m campaign` with 10,000, and writes
`out/campaign/soundness.md`.
"""

import json
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from tests.figures import Record, record_hostile
from tests.mutation.oracle_margins import tie, with_field
from tests.mutation.postponed_checks import EXACT_LOSSES, KNOTS, open_checks, postponable
from tests.mutation.soundness_campaign import SEED, Tally, campaign, table
from tests.mutation.tiny_instances import base

from globalmin_check import limits
from globalmin_check.claims import KINDS
from globalmin_check.engine import check_bytes

FILES, BLOCKS, PARTS = 500, 5, 4
SHARES = {
    "accepted": 0.2,
    "false": 0.12,
    "postponed": 0.2,
}  # least shares of files that show that the attack has teeth
MOST = {
    "malformed": 0.2,
    "undecided on one side": 0.04,
    "accepted, truth open": 0.02,
}  # greatest shares of what shows nothing
OUT = Path(__file__).resolve().parents[2] / "out" / "campaign"


def assert_sound(tally: Tally, folder: Path) -> None:
    """No false acceptance, no contradiction; the files that say otherwise are kept."""
    for index, raw in enumerate(tally.bad_files):
        (folder / f"{tally.kind}_{index}.gmc").write_bytes(raw)
    report = "\n".join(tally.problems[:20])
    assert not tally.problems, f"{len(tally.problems)} problems, files in {folder}:\n{report}"
    assert tally.counts["false acceptances"] == tally.counts["disagreements"] == 0


def assert_teeth(tally: Tally) -> None:
    """Enough files were accepted, false and postponed, and every check that balls decide was
    postponed in both directions.
    """
    files = tally.counts["files"]
    for column, share in SHARES.items():
        if column == "postponed" and not postponable(tally.kind):
            continue  # all its checks are exact
        assert tally.counts[column] >= share * files, (tally.kind, column, tally.counts[column])
    for column, share in MOST.items():
        assert tally.counts[column] <= share * files, (tally.kind, column, tally.counts[column])
    for verdict in ("ACCEPTED", "REJECTED"):
        never = {
            number for number in postponable(tally.kind) if not tally.postponed[number, verdict]
        }
        assert not never, f"{tally.kind}: never postponed and then {verdict}: {sorted(never)}"


def words(tally: Tally) -> dict[str, int]:
    return {"ACCEPTED": tally.counts["accepted"], "false": tally.counts["false"]}


def test_every_claim_kind_is_attacked():
    assert set(KNOTS) == set(KINDS)


@pytest.mark.parametrize("kind", sorted(KNOTS))
def test_nothing_false_is_accepted_and_the_checkers_agree(
    kind: str, tmp_path: Path, record_property: Record
):
    tally = campaign(kind, FILES)
    record_hostile(record_property, words(tally), tally.counts["files"])
    print(f"\n{tally.row()}  postponed: {len(postponable(kind))} checks")
    assert_sound(tally, tmp_path)
    assert_teeth(tally)


@pytest.mark.campaign
@pytest.mark.parametrize("block", range(BLOCKS))
@pytest.mark.parametrize("kind", sorted(KNOTS))
def test_nothing_false_of_ten_thousand_is_accepted_and_the_checkers_agree(
    kind: str, block: int, tmp_path: Path, record_property: Record
):
    """Ten thousand files of every kind, in blocks of half a minute."""
    whole = Tally(kind)
    for part in range(block * PARTS, (block + 1) * PARTS):
        tally = campaign(kind, FILES, SEED + 1 + part)
        whole.counts += tally.counts
        whole.postponed += tally.postponed
        whole.problems += tally.problems
        whole.bad_files += tally.bad_files
    publish(whole, block)
    record_hostile(record_property, words(whole), whole.counts["files"])
    assert_sound(whole, tmp_path)
    assert_teeth(whole)


def publish(tally: Tally, block: int) -> None:
    """Keep the counts of one block and write the table of all kinds that have been counted in this
    folder.
    """
    folder = OUT / "soundness"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{tally.kind}.{block}.json"
    path.write_text(json.dumps(dict(tally.counts)), encoding="ascii")
    found: dict[str, Tally] = {}
    for path in sorted(folder.glob("*.*.json")):
        kind = path.name.split(".")[0]
        counts = Counter(json.loads(path.read_text(encoding="ascii")))
        found.setdefault(kind, Tally(kind)).counts += counts
    last = SEED + BLOCKS * PARTS
    text = f"Seeds {SEED + 1} to {last}, {FILES} files each.\n\n{table(list(found.values()))}"
    (OUT / "soundness.md").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("kind", sorted(EXACT_LOSSES))
@pytest.mark.parametrize("exponent", [140, 300])
def test_losses_of_rational_networks_wait_for_more_bits_if_rationals_are_too_long(
    kind: str, exponent: int, monkeypatch: pytest.MonkeyPatch
):
    """Small files decide these ties exactly at once; without that (a long file) they are open at
    128 bits and decided later.
    """
    for number in range(3):
        file = base(kind, number)
        found = tie(file, "loss_upper", "loss_upper")
        assert found is not None
        for side, verdict in ((1, "ACCEPTED"), (-1, "REJECTED")):
            raw = with_field(
                file, "loss_upper", found.value * (1 + side * Fraction(1, 2**exponent))
            ).sealed()
            assert EXACT_LOSSES[kind] not in open_checks(raw)
            assert check_bytes(raw).verdict.value == verdict
            with monkeypatch.context() as without:
                without.setattr(limits, "EXACT_TERMS", 0)
                assert EXACT_LOSSES[kind] in open_checks(raw)
                assert check_bytes(raw).verdict.value == verdict
