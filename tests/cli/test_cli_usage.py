"""Usage errors, interrupts, internal errors, and the start-up of the command line."""

import os
import subprocess
import sys

import pytest
from tests.cli.folders import everything_below

import globalmin

HEAVY = ("jax", "sklearn", "matplotlib", "scipy", "pandas", "flint", "numpy", "jinja2")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from globalmin.cli import main; main(['--help']); print([m for m in "
        f"{HEAVY!r} if m in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": "src"},
    )
    assert "fit" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["fit", "certify", "doctor", "report"])
def test_every_command_explains_itself(run, command):
    ended = run(command, "--help")
    assert ended.code == 0
    assert "Usage: globalmin" in ended.out
    assert "--json" in ended.out


def test_version_is_printed(run):
    ended = run("--version")
    assert (ended.code, ended.out) == (0, f"globalmin {globalmin.__version__}\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("fit", "TABLE"),
        ("fit", "nowhere.csv", "-t", "price"),
        ("fit", "TABLE", "-t", "price", "--width", "0"),
        ("fit", "TABLE", "-t", "price", "--width", "wide"),
        ("fit", "TABLE", "-t", "price", "--activation", "sine of the times"),
        ("fit", "TABLE", "-t", "price", "--method", "prayer"),
        ("fit", "TABLE", "-t", "price", "--scaling", "log"),
        ("fit", "TABLE", "-t", "price", "--test-size", "1.5"),
        ("fit", "TABLE", "-t", "price", "--seed", "-1"),
        ("fit", "TABLE", "-t", "price", "-t", "price"),
        ("fit", "TABLE", "-t", "price", "--out", "TABLE"),
        ("report", "nowhere"),
        ("certify", "nowhere.safetensors", "TABLE", "-t", "price"),
        ("no-such-command",),
        ("doctor", "--no-such-option"),
    ],
)
def test_usage_errors_exit_with_2_and_write_nothing(run, table, tmp_path, arguments):
    path = table(6)
    ended = run(*(path if a == "TABLE" else a for a in arguments))
    assert ended.code == 2, ended
    assert ended.out == ""
    assert "rror" in ended.err
    assert everything_below(tmp_path) == {"table.csv"}


def test_ctrl_c_during_training_keeps_the_best_network_marks_it_unproved_and_exits_with_130(
    run, table, tmp_path, monkeypatch
):
    from globalmin.optimize import follow

    record = follow.Recorder.record

    def interrupt(self, point, iteration):
        record(self, point, iteration)
        if iteration >= 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(follow.Recorder, "record", interrupt)
    ended = run(
        "fit",
        "--interpolate",
        table(),
        "-t",
        "price",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 130, ended
    assert everything_below(tmp_path / "o") == {"model.safetensors", "report.html", "fit.json"}
    (target,) = ended.json["targets"]
    assert (target["verdict"], target["training"]["status"]) == ("NOT PROVED", "interrupted")
    assert "interrupted" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


def test_ctrl_c_during_the_proof_keeps_the_trained_network(run, table, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("globalmin.proving.producer.certified", interrupt)
    ended = run(
        "fit", "--interpolate", table(12), "-t", "price", "--out", tmp_path / "o", "--test-size", 0
    )
    assert ended.code == 130
    assert "NOT PROVED" in ended.out
    assert everything_below(tmp_path / "o") == {"model.safetensors", "report.html", "fit.json"}


def test_ctrl_c_before_training_writes_nothing(run, table, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("globalmin.cli.tables.read_raw_table", interrupt)
    ended = run("fit", "--interpolate", table(6), "-t", "price", "--out", tmp_path / "o", "--json")
    assert ended.code == ended.json["exit_code"] == 130
    assert "nothing was written" in ended.err
    assert everything_below(tmp_path) == {"table.csv"}


def test_an_unforeseen_error_exits_with_5_and_writes_nothing(run, table, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("globalmin.report.page.render", fail)
    ended = run(
        "fit", "--interpolate", table(6), "-t", "price", "--out", tmp_path / "o", "--test-size", 0
    )
    assert ended.code == 5
    assert "planted" in ended.err
    assert everything_below(tmp_path) == {"table.csv"}


def test_a_certificate_that_the_checker_does_not_accept_is_never_success(
    run, table, tmp_path, monkeypatch
):
    from globalmin_check import Result, Verdict

    for verdict, code in ((Verdict.REJECTED, 1), (Verdict.UNDECIDED, 4), (Verdict.MALFORMED, 5)):
        monkeypatch.setattr(
            "globalmin.proving.producer.check",
            lambda path, verdict=verdict: Result(verdict, "planted reason"),
        )
        ended = run(
            "fit",
            "--interpolate",
            table(6),
            "-t",
            "price",
            "--out",
            tmp_path / verdict.value,
            "--test-size",
            0,
        )
        assert ended.code == code
        assert verdict.value in ended.out
        assert "planted reason" in ended.out


def test_no_color_is_obeyed_and_pipes_get_plain_text(run, table, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    ended = run(
        "fit", "--interpolate", table(6), "-t", "price", "--out", tmp_path / "o", "--test-size", 0
    )
    assert "\x1b[" not in ended.out + ended.err
    assert all(line == line.rstrip() for line in ended.out.splitlines())


def test_long_work_off_a_terminal_is_told_of_at_growing_intervals(capsys, monkeypatch):
    """Lines after 1, 2 and 4 units of time; nothing for short or quiet work."""
    import time

    from globalmin.cli import terminal

    monkeypatch.setattr(terminal, "FIRST_LINE", 0.05)
    with terminal.working("the work", quiet=False):
        time.sleep(0.35)  # 7 units: the fourth line would come after 8
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "globalmin: the work, 0.05 s so far"
    assert 2 <= len(lines) <= 3  # a busy machine may be late with the last
    with terminal.working("the work", quiet=True):
        time.sleep(0.1)
    with terminal.working("the work", quiet=False):
        pass
    assert capsys.readouterr().err == ""
