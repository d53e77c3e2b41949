"""The command: verdict first, exit codes, --json, --explain, no foreign imports, light --help, no
traceback.
"""

import json
import os
import runpy
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import (
    build,
    build_relu,
    descent_claim,
    floor_claim,
    interpolation_claim,
    relu_claim,
    relu_network,
    trained_network,
)
from tests.oracles import gmc_builder as gmc

from globalmin_check.command import cli

NET = trained_network(4, 2, 4)
SRC = str(Path(cli.__file__).parents[2])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    relu = relu_network(4, 3, 4)
    fields, tensors = interpolation_claim(NET)
    floor = floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(10))
    files = {
        "accepted": build(NET, [(fields, tensors)]),
        "rejected": build(NET, [(fields | {"R": "0"}, tensors)]),
        "malformed": b"nothing",
        "undecided": build(NET, [(fields, tensors)], stored=False),
        "all": build(NET, [(fields, tensors), descent_claim(NET), floor]),
        "relu": build_relu(relu, [relu_claim(relu)]),
        "data": gmc.build_data(NET.X, NET.y),
    }
    for name, blob in files.items():
        (tmp_path / f"{name}.gmc").write_bytes(blob)
    return tmp_path


HERE = ["--time-limit", "0", "--memory-limit", "0"]  # in this process


def run(folder: Path, *arguments: str) -> int:
    return cli.main(
        [
            str(folder / argument) if argument.endswith(".gmc") else argument
            for argument in arguments
        ]
        + HERE
    )


@pytest.mark.parametrize(
    ("name", "code"),
    [("accepted", 0), ("rejected", 1), ("malformed", 3), ("undecided", 4), ("all", 0), ("relu", 0)],
)
def test_the_verdict_is_the_first_word_and_the_exit_code(
    folder: Path, capsys: Any, name: str, code: int
) -> None:
    assert run(folder, f"{name}.gmc") == code
    out = capsys.readouterr().out
    assert out.split(":")[0] == {0: "ACCEPTED", 1: "REJECTED", 3: "MALFORMED", 4: "UNDECIDED"}[code]
    assert "preprocessing is not proved" in out
    assert ("zero training loss is not generalization" in out) == (code < 2)


def test_a_second_file_gives_the_data(folder: Path, capsys: Any) -> None:
    assert run(folder, "undecided.gmc", "--data", "data.gmc") == 0
    assert "ACCEPTED" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["accepted", "rejected", "malformed", "undecided", "all", "relu"])
def test_json_is_one_object_with_the_verdict(folder: Path, capsys: Any, name: str) -> None:
    code = run(folder, f"{name}.gmc", "--json")
    result = json.loads(capsys.readouterr().out)
    assert list(result) == ["verdict", "reason", "claims", "notes", "route"]
    assert {"ACCEPTED": 0, "REJECTED": 1, "MALFORMED": 3, "UNDECIDED": 4}[result["verdict"]] == code


def test_explain_prints_theorem_hypotheses_conclusion_and_what_is_not_proved(
    folder: Path, capsys: Any
) -> None:
    run(folder, "all.gmc", "--explain")
    out = capsys.readouterr().out
    assert out.startswith("ACCEPTED")
    for words in (
        "Newton-Kantorovich",
        "descent path",
        "group floor",
        "[I5] 2 Lip e < a",
        "Conclusion",
        "Not proved",
    ):
        assert words in out
    assert "gradient descent in exact arithmetic, not a floating-point run" in out
    run(folder, "relu.gmc", "--explain")
    assert "ReLU cell" in capsys.readouterr().out


def test_explain_of_a_rejected_file_draws_no_conclusion(folder: Path, capsys: Any) -> None:
    assert run(folder, "rejected.gmc", "--explain") == 1
    out = capsys.readouterr().out
    assert "No conclusion: check I6" in out
    assert "Conclusion, over" not in out
    assert run(folder, "malformed.gmc", "--explain") == 3


def test_every_kind_has_an_explanation() -> None:
    from globalmin_check.claims import KINDS

    assert all(kind.meaning.startswith("Theorem") for kind in KINDS.values())


def test_usage_errors_exit_with_two(folder: Path, capsys: Any) -> None:
    assert run(folder, "missing.gmc") == 2
    assert cli.main([str(folder)]) == 2
    assert run(folder, "accepted.gmc", "--data", "missing.gmc") == 2
    assert "cannot read" in capsys.readouterr().err
    for arguments in ([], ["a", "b"], ["--nonsense"], ["a", "--json", "--explain"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(arguments)
        assert stop.value.code == 2
    assert capsys.readouterr().out == ""


def test_a_defect_of_the_checker_is_no_verdict(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("globalmin_check.engine.read_certificate", broken)
    assert run(folder, "accepted.gmc") == 5
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "internal error, no verdict: ZeroDivisionError" in captured.err


def test_an_interrupt_exits_with_130(
    folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("globalmin_check.engine.read_certificate", interrupted)
    assert run(folder, "accepted.gmc") == 130
    assert capsys.readouterr().out == ""


def python(*arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": SRC, "PYTHONIOENCODING": "ascii"}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, check=False
    )


def test_no_foreign_module_is_imported(folder: Path) -> None:
    program = (
        "import sys\n"
        "from globalmin_check.command.cli import main\n"
        f"code = main([{str(folder / 'all.gmc')!r}, '--explain', '--time-limit', '0', "
        "'--memory-limit', '0'])\n"
        "loaded = {name.split('.')[0] for name in sys.modules}\n"
        "foreign = loaded & {'numpy', 'scipy', 'globalmin', 'jax', 'sklearn', 'safetensors'}\n"
        "print('FOREIGN', sorted(foreign), code)\n"
    )
    assert "FOREIGN [] 0" in python("-c", program).stdout


def test_help_is_light(folder: Path) -> None:
    program = (
        "import sys\n"
        "from globalmin_check.command.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print('flint' in sys.modules)"
    )
    done = python("-c", program)
    assert done.stdout.rstrip().endswith("False")
    assert "exit codes" in done.stdout


def test_the_module_runs_and_prints_ascii_whatever_the_file_says(folder: Path) -> None:
    certificate, tensors = gmc.unpack((folder / "accepted.gmc").read_bytes())
    certificate["network"]["activation"] = "é\ud800"
    (folder / "strange.gmc").write_bytes(gmc.pack(certificate, tensors))
    for name, code in (("accepted", 0), ("strange", 3)):
        done = python("-m", "globalmin_check", str(folder / f"{name}.gmc"))
        assert done.returncode == code
        assert "Traceback" not in done.stderr


def test_many_random_mutants_get_a_verdict_without_a_traceback(folder: Path, capsys: Any) -> None:
    rng = np.random.default_rng(11)
    blob = (folder / "all.gmc").read_bytes()
    for _ in range(300):
        changed = bytearray(blob)
        for _ in range(int(rng.integers(1, 4))):
            changed[int(rng.integers(len(changed)))] = int(rng.integers(256))
        try:
            sealed = gmc.seal(bytes(changed))
        except (ValueError, IndexError):
            sealed = bytes(changed)
        (folder / "mutant.gmc").write_bytes(sealed)
        assert run(folder, "mutant.gmc") in (0, 1, 3, 4)
    assert "Traceback" not in capsys.readouterr().err


def test_running_the_module_calls_the_command(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["globalmin-check", str(folder / "rejected.gmc"), *HERE])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("globalmin_check", run_name="__main__")
    assert stop.value.code == 1
