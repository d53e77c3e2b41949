"""`globalmin selftest`: what is installed is tried, and a defect is seen."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from globalmin.selftest import probes
from globalmin.selftest.files import damaged, forged, made
from globalmin.sweep import status
from globalmin_check import check_file
from globalmin_check.engine import check_bytes


def test_every_figure_is_reached_here_and_the_page_says_so(run, tmp_path):
    ended = run("selftest", "--report", tmp_path / "page.md", "--json")
    assert ended.code == 0, ended
    lines = ended.json["figures"]
    assert [line["id"] for line in lines] == list(probes.PROBES)
    assert {line["verdict"] for line in lines} == {"reached"}
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.count("| reached |\n") == len(lines)
    assert "python-flint" in page
    assert str(tmp_path) not in page


def test_a_figure_that_is_not_measured_here_is_named(run):
    ended = run("selftest", "R6")
    assert ended.code == 2
    assert "'R6' is not measured here" in ended.err
    assert "make campaign" in ended.err


BLIND = SimpleNamespace(verdict=SimpleNamespace(value="ACCEPTED"))  # whatever it is given


@pytest.mark.parametrize("figure", ["R1", "R2", "R5"])
def test_a_checker_that_accepts_everything_is_seen(run, monkeypatch, figure):
    monkeypatch.setattr(probes, "check_file", lambda *_, **__: BLIND)
    ended = run("selftest", figure)
    assert ended.code == 1
    assert "short" in ended.out
    assert "0 of 1 figures reached" in ended.out


@pytest.mark.parametrize("figure", ["R1", "R5"])
def test_a_checker_that_crashes_is_seen(run, monkeypatch, figure):
    def crash(*_, **__):
        raise RecursionError("too deep")

    monkeypatch.setattr(probes, "check_file", crash)
    ended = run("selftest", figure)
    assert ended.code == 1


def test_a_probe_that_cannot_run_is_a_failure_with_its_reason(run, monkeypatch):
    def missing(path):
        raise FileNotFoundError("no globalmin-check here")

    monkeypatch.setattr(probes, "checker", missing)
    ended = run("selftest", "R8", "--json")
    assert ended.code == 1
    (line,) = json.loads(ended.out)["figures"]
    assert line["verdict"] == "failed"
    assert "no globalmin-check here" in line["reached"]


def test_a_sweep_that_computes_recorded_trials_again_is_seen(tmp_path, monkeypatch):
    """`resume` that takes an empty folder for the sweep: everything is computed again."""
    scene = probes.Scene(tmp_path, {}, 0)
    resume = probes.sweep.resume

    def forgetful(folder, **options):
        summary = resume(folder, **options)
        return type(summary)(**{**vars(summary), "computed": summary.total})

    monkeypatch.setattr(probes.sweep, "resume", forgetful)
    found = probes.sweep_killed(scene)
    assert not found.passed
    assert status(tmp_path / "sweep").done == probes.TRIALS
    assert " 0 lost" in found.words


def test_forged_files_are_well_formed_and_false(tmp_path):
    """Only a claim is wrong with them: the checker rejects, it does not call them malformed."""
    path = made(tmp_path, 1)["tanh"]
    found = [check_bytes(raw) for raw in forged(path.read_bytes())]
    assert {result.verdict.value for result in found} == {"REJECTED"}
    assert all(result.claims for result in found)  # by a check of a claim, not by a digest
    assert len(found) == 20
    assert check_file(path).verdict.value == "ACCEPTED"


def test_damage_is_of_every_sort():
    rng, raw = np.random.default_rng(0), bytes(range(200))
    sizes = {np.sign(len(damaged(raw, rng)) - len(raw)) for _ in range(100)}
    assert sizes == {-1, 0, 1}
