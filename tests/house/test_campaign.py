"""The campaign itself: its figures name tests that exist, numbers are added up rightly, a shortfall
is said, and what was measured is not measured again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from scripts.campaign.figures import ROOT, Measured, figures, number, total
from scripts.campaign.keep import Keeper, file_of, sources_digest, write
from scripts.campaign.page import hostile_files, page, row, table
from scripts.campaign.stored import NAMES, STORED, measured, merged, store, stored


def kept(**changes: object) -> dict[str, object]:
    plain = {"test": "t", "outcome": "passed", "numbers": {}, "cpu": 1.5}
    return {**plain, "date": "2026-01-01", "commit": "c", "sources": "s", **changes}


def test_every_figure_is_there_and_its_tests_too():
    ids = [f"R{i}" for i in range(1, 23)]
    assert [id for id in figures() if id.startswith("R")] == ids
    for figure in figures().values():
        assert figure.goals, figure.id
        assert all((ROOT / test).exists() for test in figure.tests), figure.id
        assert all((ROOT / "src" / part).exists() for part in figure.judged), figure.id
        for ends in figure.goals.values():
            assert ends.keys() <= {"at_least", "at_most"}


def test_numbers_of_one_name_are_added_and_the_largest_and_least_are_taken():
    parts = [{"files": 2, "largest s": 1.0, "least %": 9}, {"files": 3, "largest s": 4.0}]
    assert total([*parts, {"least %": 7}]) == {"files": 5, "largest s": 4.0, "least %": 7}
    assert [number(x) for x in (1234567, 0.51234, 2.0)] == ["1,234,567", "0.5123", "2"]


@pytest.mark.parametrize(
    ("tests", "verdict"),
    [
        ([], "**not run**"),
        ([{"files": 10_000, "accepted": 0}], "reached"),
        ([{"files": 9_000, "accepted": 0}, {"files": 1_000, "accepted": 0}], "reached"),
        ([{"files": 9_999, "accepted": 0}], "**short**: files 9,999"),
        ([{"files": 10_000, "accepted": 1}], "**short**: accepted 1"),
        ([{"files": 10_000}], "**short**: accepted not measured"),
    ],
)
def test_a_verdict_says_what_is_missing(tests, verdict):
    measured = Measured.of([kept(numbers=numbers) for numbers in tests])
    assert measured.verdict(figures()["R1"]) == verdict


def test_a_failed_test_fails_the_figure_and_its_numbers_do_not_count():
    good = kept(numbers={"files": 20_000, "accepted": 0})
    bad = kept(test="bad", outcome="failed", numbers={"files": 5})
    measured = Measured.of([good, bad])
    assert measured.verdict(figures()["R1"]) == "**failed**: bad"
    assert measured.numbers["files"] == 20_000
    assert measured.cpu == 3.0
    assert "| **failed**: bad |" in row(figures()["R1"], measured)


def test_a_line_that_falls_short_says_why_and_one_that_does_not_is_silent():
    short, reached = (
        row(replace(figures()["R1"], why="no time"), Measured.of([kept(numbers=numbers)]))
        for numbers in ({"files": 1, "accepted": 0}, {"files": 10_000, "accepted": 0})
    )
    assert "**short**: files 1 (no time) |" in short
    assert "| reached |" in reached


def test_hostile_files_of_tests_that_passed_are_added_up(tmp_path: Path):
    one = kept(test="tests/mutation/test_x.py::a", numbers={"files": 7, "accepted": 3, "false": 2})
    for name, id, content in (("a", "R1", one), ("b", "hostile", one)):
        write(tmp_path / id / f"{name}.json", content)
    write(tmp_path / "R2" / "c.json", {**one, "outcome": "failed"})
    nothing = tmp_path / "nothing.json"
    text = hostile_files(tmp_path, nothing)
    assert "| `x` | 14 | 6 | 4 |" in text
    assert "| 14 | | |" in text.splitlines()[-1]
    assert "## Hostile files" in page(tmp_path, nothing)


def test_publishing_from_a_fresh_clone_loses_nothing(tmp_path: Path):
    """Found when out/campaign was gone: the page would have been written without its figures."""
    path, full, bare = tmp_path / "stored.json", tmp_path / "full", tmp_path / "bare"
    one = kept(test="tests/mutation/test_x.py::a", numbers={"files": 9_000, "accepted": 0})
    two = {**one, "test": "tests/mutation/test_x.py::b"}
    write(full / "R1" / "a.json", {**one, "reason": "long", "seconds": 3.0})
    store(full, path)
    assert stored("R1", path) == [one]
    before = page(full, path)
    assert "files: 9,000" in before
    store(bare, path)
    assert page(bare, path) == before
    write(bare / "R1" / "b.json", two)
    assert "files: 18,000" in table([figures()["R1"]], bare, path)
    assert "| `x` | 18,000 |" in hostile_files(bare, path)
    write(bare / "R1" / "a.json", {**one, "outcome": "failed"})  # newer, though worse
    assert "**failed**: tests/mutation/test_x.py::a" in table([figures()["R1"]], bare, path)
    store(bare, path)
    assert [entry["outcome"] for entry in stored("R1", path)] == ["failed", "passed"]


def test_the_sum_of_a_file_gives_way_to_any_of_its_tests_and_to_no_other():
    old = [kept(test="t/test_x.py", tests=4), kept(test="t/test_y.py")]
    new = [kept(test="t/test_x.py::a")]
    assert [one["test"] for one in merged(old, new)] == ["t/test_x.py::a", "t/test_y.py"]
    assert merged(old, []) == old
    assert merged(old, [kept(test="t/test_y.py", commit="d")])[1]["commit"] == "d"
    assert Measured.of(old).numbers == {"tests": 5.0}


def test_a_figure_says_that_the_sources_have_changed_since(tmp_path: Path):
    figure = figures()["R1"]
    for name, sources in (("old", "other"), ("new", sources_digest(figure.judged))):
        write(tmp_path / "R1" / "a.json", kept(sources=sources, commit=name))
        text = table([figure], tmp_path, tmp_path / "nothing.json")
        assert ("| 2026-01-01 old (sources changed since) |" in text) == (name == "old")
        assert ("| 2026-01-01 new |" in text) == (name == "new")


def test_what_is_published_has_entries_of_known_figures_only():
    content = json.loads(STORED.read_text(encoding="utf-8"))
    assert content.keys() <= figures().keys()
    for id, entries in content.items():
        tests = [entry["test"] for entry in entries]
        assert len(set(tests)) == len(tests), id
        for entry in entries:
            assert entry.keys() <= set(NAMES), id
            assert entry["test"].split("::")[0].startswith(tuple(figures()[id].tests)), id
    assert len(measured(figures()["R1"])) >= 1


def test_what_is_kept_stays_kept_until_the_sources_change(tmp_path: Path):
    keeper = Keeper(tmp_path, "now")
    assert not keeper.is_kept("t::one")
    write(file_of(tmp_path, "t::one"), kept(sources="now"))
    assert keeper.is_kept("t::one")
    write(file_of(tmp_path, "t::one"), kept(sources="now", outcome="failed"))
    assert not keeper.is_kept("t::one")
    write(file_of(tmp_path, "t::one"), kept(sources="before"))
    assert not keeper.is_kept("t::one")
    assert sources_digest(["globalmin_check"]) != sources_digest(["globalmin/sweep"])


def test_a_campaign_that_was_stopped_goes_on(tmp_path: Path):
    """Two tests, the second fails once; a second run leaves the first one out."""
    (tmp_path / "test_two.py").write_text(
        "from pathlib import Path\n"
        "def test_one(record_property):\n    record_property('files', 5)\n"
        "    Path('ones').open('a').write('1')\n"
        "def test_two():\n    Path('twos').open('a').write('2')\n"
        "    assert Path('twos').stat().st_size == 2\n",
        encoding="ascii",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="ascii")
    words = ["-q", "-p", "scripts.campaign.keep", "--kept=out", "--judged=globalmin_check"]
    command = [sys.executable, "-m", "pytest", *words, "test_two.py"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    codes = [
        subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True)
        for _ in range(2)
    ]
    assert [done.returncode for done in codes] == [1, 0], codes[0].stdout
    assert (tmp_path / "ones").read_text(encoding="ascii") == "1"
    found = [json.loads(file.read_text("utf-8")) for file in (tmp_path / "out").glob("*.json")]
    assert {one["outcome"] for one in found} == {"passed"}
    assert Measured.of(found).numbers == {"files": 5, "tests": 2.0}
