"""Every limit from both sides: what the file can hold, exact work, and the time and memory of the
command.
"""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.checker import resource_cases as cases
from tests.checker.cases import build, interpolation_claim, trained_network
from tests.corpus.corpus_previous_bugs import many_samples_not_stored

from globalmin_check import limits
from globalmin_check.checks import Budget
from globalmin_check.command import cli, guard
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import Verdict

SRC = str(Path(cli.__file__).parents[2])


def command(*arguments: str) -> subprocess.CompletedProcess:
    """Run `globalmin-check` as a user does."""
    program = [sys.executable, "-m", "globalmin_check", *arguments]
    return subprocess.run(
        program, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": SRC}
    )


def test_n_and_d_are_bounded_by_what_a_file_can_hold() -> None:
    most = limits.FILE_BYTES // 16  # d = 1: one number for x and one for y
    assert "for the samples that are kept" in check_bytes(many_samples_not_stored(most)).reason
    assert "can hold" in check_bytes(many_samples_not_stored(most + 1)).reason
    assert check_bytes(many_samples_not_stored(10**17)).verdict is Verdict.MALFORMED


EXACT = {
    "filters": (cases.long_filters(2000), 3 * 2000 + 5),
    "signs": (
        cases.zero_signs(8),
        8 * 8 * 8 + 8 * 8 * 16,
    ),  # the signs, and the loss, which is exactly zero
    "dropped": (cases.dropped_samples(300, 10), 299 * 10),
    "ray": (cases.one_ray(100), 100 * 28),
    "parallel": (cases.parallel_rows(20, 5), 3 * 190 * 5),
}


@pytest.mark.parametrize("name", EXACT)
def test_exact_work_is_counted_before_it_is_done(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    blob, operations = EXACT[name]
    counts, budgets, charge = [], [], Budget.charge_exact

    def counted(self: Budget, count: int) -> None:
        budgets.append(self)
        counts.append(count)
        charge(self, count)

    with monkeypatch.context() as patch:
        patch.setattr(Budget, "charge_exact", counted)
        verdict = check_bytes(blob).verdict
    assert verdict is not Verdict.UNDECIDED
    assert sum(counts) == operations
    monkeypatch.setattr(limits, "WORK", budgets[0].spent)
    assert check_bytes(blob).verdict is verdict
    monkeypatch.setattr(limits, "WORK", budgets[0].spent - 1)
    assert check_bytes(blob).verdict is Verdict.UNDECIDED


def test_exact_numbers_that_are_kept_count_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = 20 * 19 // 2
    monkeypatch.setattr(
        limits, "BALL_BYTES", pairs * limits.BALLS_PER_EXACT * limits.BYTES_PER_BALL
    )
    assert check_bytes(cases.parallel_rows(20, 5)).verdict is Verdict.REJECTED
    monkeypatch.setattr(
        limits, "BALL_BYTES", pairs * limits.BALLS_PER_EXACT * limits.BYTES_PER_BALL - 1
    )
    assert "bytes" in check_bytes(cases.parallel_rows(20, 5)).reason


@pytest.mark.parametrize(
    ("blob", "code"),
    [
        (many_samples_not_stored(10**17), 3),
        (many_samples_not_stored(8 * 10**6), 3),
        (cases.long_filters(40_000), 1),
        (cases.zero_signs(40), 1),
        (cases.zero_signs(80), 1),
        (cases.dropped_samples(2000), 1),
        (cases.one_ray(4000), 0),
        (cases.parallel_rows(100), 1),
        (cases.deep_kernel(10**17), 4),
        (cases.deep_kernel(10**9), 4),
    ],
    ids=[
        "n",
        "n that fits",
        "filters",
        "signs",
        "more signs",
        "dropped",
        "ray",
        "parallel",
        "depth",
        "less depth",
    ],
)
def test_the_resource_attacks_end_by_themselves_within_one_gibibyte(
    blob: bytes, code: int, tmp_path: Path
) -> None:
    """Each ends in a second or two where it took from ten seconds to for ever; the kernel enforces
    the memory.
    """
    path = tmp_path / "attack.gmc"
    path.write_bytes(blob)
    done = command(str(path), "--memory-limit", "1", "--time-limit", "120")
    assert done.returncode == code, done.stdout + done.stderr
    assert "limit of" not in done.stdout


def test_the_time_limit_names_itself_and_a_generous_one_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "deep.gmc"
    path.write_bytes(cases.deep_kernel(50_000))
    done = command(str(path), "--time-limit", "0.5")
    assert (done.returncode, done.stderr) == (4, "")
    assert done.stdout.startswith("UNDECIDED: the time limit of 0.5 s was reached")
    as_json = json.loads(command(str(path), "--time-limit", "0.5", "--json").stdout)
    assert (as_json["verdict"], as_json["claims"]) == ("UNDECIDED", [])
    path.write_bytes(cases.deep_kernel(50))
    limited, free = (
        command(str(path), "--time-limit", "300"),
        command(str(path), "--time-limit", "0", "--memory-limit", "0"),
    )
    assert (limited.returncode, limited.stdout) == (free.returncode, free.stdout)


def test_the_kernel_ends_a_child_whose_parent_does_not(tmp_path: Path) -> None:
    path = tmp_path / "deep.gmc"
    path.write_bytes(cases.deep_kernel(10**6))
    child = command(str(path), "--time-limit", "0.2", "--in-child")
    assert child.returncode < 0


def test_the_memory_limit_names_itself_and_a_generous_one_changes_nothing(tmp_path: Path) -> None:
    net = trained_network(4, 2, 4)
    path = tmp_path / "fit.gmc"
    path.write_bytes(build(net, [interpolation_claim(net)]))
    assert command(str(path), "--memory-limit", "0.5").returncode == 0
    path.write_bytes(path.read_bytes() + b"\0" * 2**28)
    done = command(str(path), "--memory-limit", "0.2")
    assert done.returncode == 4
    assert done.stdout.startswith("UNDECIDED: the memory limit of 0.2 GiB was reached")
    assert command(str(path), "--memory-limit", "2").returncode == 3


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "many"])
def test_a_limit_that_is_no_amount_is_a_usage_error(value: str) -> None:
    for option in ("--time-limit", "--memory-limit"):
        assert command("x.gmc", option, value).returncode == 2


@pytest.mark.parametrize(
    ("code", "expected", "words"),
    [
        (-6, 4, "the memory limit of 3 GiB was reached"),
        (-24, 4, "the time limit of 7 s was reached"),
        (-11, 5, "ended by signal 11, no verdict"),
        (0, 0, "ACCEPTED"),
        (5, 5, "ACCEPTED"),
    ],
)
def test_how_a_child_ends_decides_what_is_said(
    code: int, expected: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = subprocess.CompletedProcess([], code, "ACCEPTED", "")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    outcome = guard.run_guarded(["file"], 7, 3)
    assert outcome.code == expected
    assert words in outcome.out + outcome.error + outcome.limit
    assert not (code < 0 and outcome.out)


def test_a_child_that_outlives_its_time_is_undecided_without_its_output(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def slow(*_: Any, **__: Any) -> None:
        raise subprocess.TimeoutExpired([], 7, output="ACCEPTED")

    monkeypatch.setattr(subprocess, "run", slow)
    assert cli.main(["file.gmc", "--time-limit", "7"]) == 4
    assert capsys.readouterr().out.startswith("UNDECIDED: the time limit of 7 s was reached")


def test_the_child_asks_the_kernel_for_its_limits_and_keeps_lower_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[int, tuple[int, int]]] = []
    hard = {resource.RLIMIT_CPU: 5, resource.RLIMIT_AS: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, hard[kind]))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: asked.append((kind, pair)))
    guard.limit_this_process(0, 0)
    assert asked == []
    guard.limit_this_process(2.5, 0.5)
    guard.limit_this_process(10, 0)
    memory = (resource.RLIMIT_AS, (2**29, resource.RLIM_INFINITY))
    assert asked == [(resource.RLIMIT_CPU, (4, 5)), memory, (resource.RLIMIT_CPU, (5, 5))]


def test_memory_that_runs_out_in_the_child_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def exhausted(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("globalmin_check.engine.read_certificate", exhausted)
    monkeypatch.setattr(guard, "limit_this_process", lambda *_: None)
    path = tmp_path / "file.gmc"
    path.write_bytes(b"x")
    assert cli.main([str(path), "--memory-limit", "3", "--in-child"]) == 4
    assert "the memory limit of 3 GiB was reached" in capsys.readouterr().out


def test_an_amount_below_zero_or_without_end_is_refused_with_its_text(capsys: Any) -> None:
    for text in ("-1", "nan", "inf"):
        with pytest.raises(SystemExit):
            cli.main(["file.gmc", "--time-limit", text])
        assert f"{text} is not a number of at least 0" in capsys.readouterr().err
