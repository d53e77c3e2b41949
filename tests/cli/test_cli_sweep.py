"""`globalmin sweep`: run, resume, status, export; exit codes and where things are said."""

import contextlib
import json
import signal
import sqlite3
import subprocess
import sys
import time

import pytest
from tests.sweep import recipes
from tests.sweep.marked_recipe import marked
from tests.sweep.marks import count_marks, process_environment

from globalmin.cli import terminal


@pytest.fixture
def plan(tmp_path):
    def write(recipe="product", grid="a = [1, 2]\nb = [3, 4]", extra="", module=recipes.__name__):
        path = tmp_path / "plan.toml"
        path.write_text(
            f'recipe = "{module}:{recipe}"\nseeds = 2\n{extra}\n[grid]\n{grid}\n', encoding="ascii"
        )
        return path

    return write


def test_a_sweep_from_plan_to_table_picture_and_page(run, plan, tmp_path):
    out = tmp_path / "out"
    ended = run("sweep", "run", plan(), "--out", out, "--workers", 1, "--json")
    assert ended.code == 0, ended
    counts = {"total": 8, "done": 8, "failed": 0, "computed": 8, "seconds": 0}
    assert {**ended.json, "seconds": 0} == {
        "command": "sweep run",
        "exit_code": 0,
        "folder": str(out),
        **counts,
    }
    assert run("sweep", "resume", out, "--json").json["computed"] == 0
    ended = run("sweep", "status", out)
    assert ended.code == 0
    assert "complete" in ended.out
    assert "8 of 8" in ended.out
    assert run("sweep", "status", out, "--json").json["done"] == 8
    files = {
        name: str(tmp_path / f"x{suffix}")
        for name, suffix in (("table", ".csv"), ("figure", ".svg"), ("page", ".html"))
    }
    ended = run(
        "sweep", "export", out, "--out", files["table"], "--figure", files["figure"], "--page",
        files["page"],
        "--column", "loss", "--x", "a", "--y", "b", "--timing", "--json",
    )  # fmt: skip
    assert ended.code == 0, ended
    assert ended.json == {"command": "sweep export", "exit_code": 0, **files}
    ended = run("sweep", "export", out)
    assert (ended.code, ended.out.split()) == (0, ["table", str(out / "table.parquet")])


def test_failed_trials_make_exit_code_1_and_are_pointed_to(run, plan, tmp_path):
    path = plan("poisoned", "a = [0, 1]", f'fixed = {{folder = "{tmp_path}"}}')
    ended = run("sweep", "run", path, "--out", tmp_path / "out", "--workers", 1)
    assert ended.code == terminal.NOT_CERTIFIED
    assert "--page" in ended.out
    assert (
        run("sweep", "resume", tmp_path / "out", "--retry-failed", "--workers", 1, "--json").json[
            "computed"
        ]
        == 2
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("run", "PLAN", "--executor", "threads"), 2, "choose one of 'local', 'dask', 'ray'"),
        (("run", "PLAN", "--address", "tcp://x"), 2, "--address"),
        (("run", "PLAN", "--workers", "0"), 2, "--workers"),
        (("run", "nowhere.toml"), 2, "nowhere.toml"),
        (("run", "PLAN", "--out", "PLAN"), 2, "is a file"),
        (("resume", "nowhere"), 2, "nowhere"),
        (("resume", "FOLDER"), 3, "no sweep here"),
        (("status", "FOLDER"), 3, "no sweep here"),
        (("export", "FOLDER"), 3, "no sweep here"),
        (("export", "FOLDER", "--figure", "x.gif"), 2, ".svg"),
        (("export", "FOLDER", "--page", "no/where.html"), 2, "--page"),
        ((), 2, ""),
    ],
)
def test_usage_and_input_errors(run, plan, tmp_path, *, arguments, code, words):
    places = {"PLAN": plan(), "FOLDER": tmp_path}
    ended = run("sweep", *(places.get(a, a) for a in arguments))
    assert ended.code == code, ended
    assert words in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.toml"]


@pytest.mark.parametrize(
    ("grid", "extra", "words"),
    [
        ("a = [1]", "colour = 3", "unknown key 'colour'"),
        ("a = [1]\nbb = [2]", "", "does not take 'bb'; did you mean 'b'?"),
    ],
)
def test_a_bad_plan_is_malformed_input(run, plan, tmp_path, *, grid, extra, words):
    ended = run("sweep", "run", plan(grid=grid, extra=extra), "--out", tmp_path / "out", "--json")
    assert ended.code == terminal.MALFORMED_INPUT
    assert words in ended.json["error"]["message"]
    assert not (tmp_path / "out").exists()


def test_a_damaged_ledger_is_malformed_input_and_no_traceback(run, plan, tmp_path):
    run("sweep", "run", plan(), "--out", tmp_path / "out", "--workers", 1)
    (tmp_path / "out" / "ledger.sqlite").write_bytes(b"not a database" * 1000)
    for command in ("status", "resume", "export"):
        ended = run("sweep", command, tmp_path / "out")
        assert ended.code == terminal.MALFORMED_INPUT, ended
        assert "damaged" in ended.err


def test_a_full_disk_is_a_limit():
    from globalmin.errors import StoreError, StoreFull

    assert terminal.code_of_error(StoreFull("x")) == terminal.UNDECIDED
    assert terminal.code_of_error(StoreError("x")) == terminal.MALFORMED_INPUT


def test_ctrl_c_exits_with_130_and_says_how_to_go_on(plan, tmp_path):
    path = plan(
        "marked",
        f"a = {list(range(100))}",
        f'fixed = {{folder = "{tmp_path}", pause = 0.2}}',
        marked.__module__,
    )
    command = [sys.executable, "-c", "import sys; from globalmin.cli import main; sys.exit(main())"]
    command += [
        "sweep",
        "run",
        str(path),
        "--out",
        str(tmp_path / "out"),
        "--workers",
        "2",
        "--json",
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=process_environment(),
        text=True,
    )
    deadline = time.monotonic() + 60
    while not count_marks(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == terminal.INTERRUPTED
    assert "globalmin sweep resume" in error
    assert json.loads(out)["exit_code"] == 130
    with contextlib.closing(sqlite3.connect(tmp_path / "out" / "ledger.sqlite")) as connection:
        done = connection.execute("SELECT count(*) FROM trial WHERE state = 'done'").fetchone()[0]
    assert count_marks(tmp_path).total() == done


@pytest.mark.parametrize("command", ["run", "resume", "status", "export"])
def test_every_command_explains_itself(run, command):
    ended = run("sweep", command, "--help")
    assert ended.code == 0
    assert "--json" in ended.out
