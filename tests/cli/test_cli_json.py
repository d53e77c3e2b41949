"""`--json` on every command: one JSON document on stdout and nothing else, for success and for
errors; lines that fit the terminal; shells that complete.
"""

import json
import re
import subprocess

import numpy as np
import pytest
import typer

import globalmin as gm
from globalmin.cli import main
from globalmin.cli.application import app

# a cheap call of every command that succeeds; {} is the folder
CALLS = {
    "fit": "{}/table.csv -t y --model additive --weight-decay 1 --out {}/fit",
    "predict": "{}/fit {}/table.csv",
    "export": "{}/fit --out {}/model.onnx",
    "certify": "{}/net.safetensors {}/table.csv -t y --out {}/net.gmc",
    "classify": "{}/net.safetensors {}/table.csv -t y",
    "gap": "{}/weights.npz {}/table.csv -t y --weight-decay 5",
    "examine": "{}/net.safetensors {}/table.csv -t y",
    "inspect": "{}/table.csv -t y",
    "recover": "{}/taught.csv -t y --width 1 --no-certify --out {}/recovered",
    "starts": "{}/four.csv -t y --width 20 --seeds 1 --activation tanh --workers 1 --out {}/starts",
    "theorem": "OS-C1",
    "reproduce": "list",
    "report": "{}/fit",
    "explore": "--out {}/page.html",
    "cite": "OS-C1",
    "attest": "{}/fit/certificate.gmc",
    "completion": "bash",
    "doctor": "",
    "selftest": "R8 R16",
    "sweep run": "{}/plan.toml --out {}/sweep --workers 1",
    "sweep resume": "{}/sweep",
    "sweep status": "{}/sweep",
    "sweep export": "{}/sweep --out {}/sweep.csv",
}
pytestmark = pytest.mark.xdist_group("json")  # what follows a fit or a sweep needs it
PLAN = 'recipe = "tests.sweep.recipes:product"\nseeds = 1\n[grid]\na = [1]\nb = [2]\n'
STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("json")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 2)).round(3)
    y = rng.standard_normal(6).round(3)

    def write(name, rows, labels):
        text = [",".join(map(repr, map(float, [*r, t]))) for r, t in zip(rows, labels, strict=True)]
        (place / name).write_text("\n".join(["a,b,y", *text]) + "\n", encoding="utf-8")

    write("table.csv", X, y)
    write("four.csv", X[:4], y[:4])
    many = rng.standard_normal((400, 2))
    write("taught.csv", many, 1.0 / (1.0 + np.exp(-many @ [1.0, -0.5])))
    data = gm.Dataset.load(place / "table.csv", target="y")
    network = gm.ShallowNetwork.initialize(data, width=12, activation="tanh", seed=0)
    gm.save_network(place / "net.safetensors", gm.train(network, data).network, data.preprocessing)
    np.savez(place / "weights.npz", W=np.eye(2), b=np.zeros(2), v=np.zeros(2), c0=0.0)
    (place / "plan.toml").write_text(PLAN, encoding="utf-8")
    return place


def commands():
    def walk(group, prefix):
        for name, command in group.commands.items():
            if hasattr(command, "commands"):
                yield from walk(command, f"{prefix}{name} ")
            else:
                yield f"{prefix}{name}"

    return list(walk(typer.main.get_command(app), ""))


def test_every_command_of_the_help_is_in_the_table():
    assert sorted(commands()) == sorted(CALLS)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("command", CALLS)  # in this order: the fit is used by what follows
def test_json_is_one_document_and_nothing_else(command, folder, capfd):
    if command == "export":
        pytest.importorskip("onnx")
    capfd.readouterr()
    code = main([*command.split(), *CALLS[command].format(*[folder] * 4).split(), "--json"])
    said = capfd.readouterr()
    document = json.loads(said.out)
    assert isinstance(document, dict)
    if command == "attest":  # the statement is the document
        assert document["predicateType"]
    else:
        assert document["command"] == command + " list" * (command == "reproduce")
        assert document["exit_code"] == code
    assert code == 0 or command == "recover", said.err
    assert "Traceback" not in said.err


@pytest.mark.parametrize("command", CALLS)
def test_errors_are_one_document_too(command, capfd):
    assert main([*command.split(), "--no-such-option", "--json"]) == 2
    said = capfd.readouterr()
    document = json.loads(said.out)
    assert document["exit_code"] == 2
    assert "--no-such-option" in document["error"]["message"] or "Missing" in said.out


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("command", ["doctor", "inspect", "classify", "gap", "examine"])
def test_lines_fit_the_terminal(command, columns, folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    main([*command.split(), *CALLS[command].format(*[folder] * 4).split()])
    lines = [STYLE.sub("", line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    wide = [line for line in lines if len(line) > columns]
    # places of files are there to be copied: folded they would be none
    assert [line for line in wide if "/" not in line.split()[-1]] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_GLOBALMIN_COMPLETE=complete_" + shell in script
    assert main(["completion", "tcsh"]) == 2


def test_bash_completes_commands_and_options(tmp_path):
    """The script in a real bash, asked as readline asks."""
    script = tmp_path / "complete.sh"
    with script.open("w", encoding="utf-8") as stream:
        ask = subprocess.run(
            ["globalmin", "completion", "bash"], stdout=stream, check=False, env=_environment()
        )
    assert ask.returncode == 0
    lines = [f"source {script}"]
    for words in ("globalmin ex", "globalmin gap --weight"):
        parts = words.split()
        lines += [f"COMP_WORDS=({words}); COMP_CWORD={len(parts) - 1}"]
        lines += ["_globalmin_completion globalmin; echo ${COMPREPLY[@]}"]
    done = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)],
        capture_output=True, text=True, check=False, env=_environment(),
    )  # fmt: skip
    assert done.stdout.split("\n")[:2] == ["export examine explore", "--weight-decay"], done.stderr


def _environment():
    import os
    import sys
    from pathlib import Path

    here = Path(sys.executable).parent
    return os.environ | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
