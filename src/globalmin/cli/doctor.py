"""`globalmin doctor`: is everything here that a fit and its check need, and does it work?"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from globalmin.cli.arguments import JSON


def doctor(
    json: Annotated[bool, JSON] = False,
) -> int:
    """Show versions and memory, and try a tiny certificate end to end."""
    from globalmin.cli import terminal
    from globalmin.cli.terminal import print_json, print_rows
    from globalmin.data.validation import GIB, available_bytes

    trials = run_trials()
    facts: dict[str, Any] = {
        **environment(),
        "memory available": f"{available_bytes() / GIB:.1f} GiB",
    }
    code = (
        terminal.ACCEPTED
        if all(outcome == "ok" for outcome in trials.values())
        else terminal.NOT_CERTIFIED
    )
    if json:
        print_json({"command": "doctor", "exit_code": code, "environment": facts, "trials": trials})
        return code
    facts_rows = [(name, str(value), "") for name, value in facts.items()]
    trial_rows = [
        (name, outcome, "bold green" if outcome == "ok" else "bold red")
        for name, outcome in trials.items()
    ]
    print_rows([*facts_rows, ("", "", ""), *trial_rows])
    return code


def run_trials() -> dict[str, str]:
    """Each trial by name: "ok", or what went wrong."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="globalmin-doctor-") as folder:
        path = Path(folder) / "tiny.gmc"
        trials: dict[str, Callable[[], object]] = {
            "ball arithmetic (flint)": _try_flint,
            "write a tiny certificate": lambda: _write_tiny(path),
            "globalmin-check accepts it": lambda: _check(path, expected=0),
            "globalmin-check refuses it with one byte changed": lambda: _check(
                _damaged(path), expected=3
            ),
        }
        return {name: _outcome(trial) for name, trial in trials.items()}


def _outcome(trial: Callable[[], object]) -> str:
    try:
        trial()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "ok"


def _try_flint() -> None:
    from flint import arb

    third = arb(1) / 3
    if not (third * 3 - 1).contains(0) or third.rad() == 0:
        raise RuntimeError("1/3 is not enclosed by a ball; reinstall python-flint")


def _write_tiny(path: Path) -> None:
    """The golden example of the interpolation claim: one neuron z^2, one sample, zero loss at
    distance w - sqrt(y) = 1/2.
    """
    from globalmin.data import Dataset
    from globalmin.proving.producer import certify
    from globalmin.shallow.network import ShallowNetwork

    certify(
        ShallowNetwork([[1.0]], [1.0], "quadratic"), Dataset.from_preprocessed([[1.0]], [0.25])
    ).save(path)


def _damaged(path: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    other = path.with_name("damaged.gmc")
    other.write_bytes(bytes(content))
    return other


def _check(path: Path, *, expected: int) -> None:
    import subprocess

    run = subprocess.run(
        [sys.executable, "-m", "globalmin_check", str(path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if run.returncode != expected:
        said = (run.stdout + run.stderr).strip().replace(str(path), path.name)[:200]
        raise RuntimeError(f"exit code {run.returncode} instead of {expected}: {said}")


PACKAGES = (
    "globalmin",
    "globalmin-check",
    "numpy",
    "scipy",
    "scikit-learn",
    "python-flint",
    "safetensors",
    "matplotlib",
    "jinja2",
    "typer",
    "rich",
)


def environment() -> dict[str, Any]:
    """Versions and machine facts as a flat dictionary, with a `fingerprint` over all of them."""
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    facts |= {name: _version(name) for name in PACKAGES}
    facts |= {"cores": cores(), **blas()}
    text = json.dumps(facts, sort_keys=True)
    return {**facts, "fingerprint": hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]}


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blas() -> dict[str, Any]:
    """Name, version, kernel and thread count of the BLAS that numpy loaded."""
    import numpy as np  # noqa: F401 (loads the library that is asked about)
    from threadpoolctl import threadpool_info

    found = sorted(
        (i for i in threadpool_info() if i.get("user_api") == "blas"),
        key=lambda i: str(i.get("filepath")),
    )
    if not found:
        return {"blas": "unknown", "blas threads": 0}
    info = found[0]
    name = " ".join(
        str(info[key]) for key in ("internal_api", "version", "architecture") if info.get(key)
    )
    return {"blas": name, "blas threads": int(info["num_threads"])}


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
