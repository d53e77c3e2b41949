"""Figures of docs/reliability.md that are about the whole: the checker alone, the same bytes twice,
one thread and two, speed, coverage, mutants of the checker's source, a fresh machine.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import flint
import numpy as np
import pytest
from scripts.mutants.__main__ import Draw, Gate, Score, run, sample
from scripts.mutants.reach import record as record_reach
from tests.mutation.sources import ACCEPTED

import globalmin as gm
from globalmin_check import check_file

ROOT = Path(__file__).resolve().parents[2]
CHECKER_TESTS = ["tests/checker", "tests/corpus", "tests/mutation/test_regularized_attacks.py"]
SECONDS = float(os.environ.get("GLOBALMIN_MUTANTS", "inf"))  # after which no mutant is begun
ALONE = """
import sys
sys.path.append(sys.argv[1])
from importlib.util import find_spec
assert not any(map(find_spec, ("numpy", "scipy", "globalmin", "jax", "safetensors")))
from globalmin_check import check_file
for path in sys.argv[2:]:
    assert check_file(path).verdict.value == "ACCEPTED", path
print(len(sys.argv) - 2)
"""


def test_the_checker_alone_accepts_every_kind(tmp_path, record_property):
    """R16: an interpreter with the standard library, python-flint and the checker only."""
    library = Path(flint.__file__).parents[1]
    for part in (*library.glob("flint"), *library.glob("python_flint.libs")):
        (tmp_path / part.name).symlink_to(part)
    (tmp_path / "globalmin_check").symlink_to(ROOT / "src" / "globalmin_check")
    plain = [p for p in ACCEPTED.glob("*.gmc") if not p.with_suffix(".data").exists()]
    files = sorted(str(p) for p in plain if p.stat().st_size < 4000)[::4]
    command = [sys.executable, "-I", "-S", "-c", ALONE, str(tmp_path), *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(len(files)), done.stderr
    record_property("files checked without other packages", len(files))


FITS = """
import sys
from pathlib import Path
import globalmin as gm
out = Path(sys.argv[1])
for activation, width in (("softplus", 8), ("relu", 10), ("quadratic", 12)):
    data = gm.generators.sphere_with_random_labels(20, 5, seed=3)
    run = gm.train_auto(data, width=width, activation=activation, seed=1)
    gm.certify(run.network, data).save(out / f"{activation}.gmc")
X, y = data.X, data.y
model = gm.AdditiveNetworkRegressor(weight_decay=0.1).fit(X, y)
model.save_certificate(out / "additive.gmc")
"""


def _fitted(folder, threads):
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        environment[name] = str(threads)
    cores = {0} if threads == 1 else os.sched_getaffinity(0)
    subprocess.run(
        [sys.executable, "-c", FITS, str(folder)],
        env=environment,
        check=True,
        preexec_fn=lambda: os.sched_setaffinity(0, cores & os.sched_getaffinity(0) or cores),
    )
    return {path.name: path for path in sorted(folder.glob("*.gmc"))}


def test_the_same_seed_gives_the_same_bytes_and_two_threads_the_same_verdicts(
    tmp_path, record_property
):
    """R18: three processes; the first two have one thread on one core, the third has two."""
    first, again, other = (
        _fitted(tmp_path / name, threads) for name, threads in (("1", 1), ("2", 1), ("3", 2))
    )
    assert len(first) == 4
    for name, path in first.items():
        assert path.read_bytes() == again[name].read_bytes(), name
        verdicts = {str(check_file(file).verdict) for file in (path, other[name])}
        assert verdicts == {str(check_file(path).verdict)}, name
        assert gm.check(path).verdict.value == "ACCEPTED", name
    equal = sum(path.read_bytes() == other[name].read_bytes() for name, path in first.items())
    record_property("files", 2 * len(first))
    record_property("same bytes with two threads", equal)


@pytest.mark.campaign
def test_speed_of_the_checker(tmp_path, record_property):
    """R21: the best of three, CPU seconds, every claim that holds, balls only and by choice."""
    for n, width, unit, name in (
        (20, 60, 1e3, "largest ms, n=20 width 60"),
        (200, 1000, 1.0, "largest s, n=200 width 1,000"),
    ):
        data = gm.generators.sphere_with_random_labels(n, 10, seed=0)
        started = time.process_time()
        run = gm.train_auto(data, width=width, activation="softplus", seed=0)
        path = tmp_path / f"{n}.gmc"
        gm.certify(run.network, data).save(path)
        produced = time.process_time() - started
        for route in ("exact", "auto"):
            seconds = []
            for _ in range(3):
                started = time.process_time()
                assert check_file(path, route=route).verdict.value == "ACCEPTED"
                seconds.append(time.process_time() - started)
            label = name if route == "auto" else name + ", exact route"
            record_property(label, round(unit * min(seconds), 3))
        print(f"n={n}: produced in {produced:.2f} s, checked in {min(seconds):.3f} s")


def _percent(folder, package, tests):
    """Branch coverage of a package by these tests, in percent, and its lines that nobody runs."""
    data = {**os.environ, "COVERAGE_FILE": str(folder / "coverage"), "SCIPY_ARRAY_API": "1"}
    report = folder / "coverage.json"
    words = ["-q", f"--cov={package}", "--cov-branch", f"--cov-report=json:{report}", *tests]
    subprocess.run([sys.executable, "-m", "pytest", *words], cwd=ROOT, env=data, check=True)
    found = json.loads(report.read_text(encoding="utf-8"))
    missing = {f: e["missing_lines"] for f, e in found["files"].items() if e["missing_lines"]}
    print(f"{package}: {found['totals']['percent_covered']:.2f} %, not reached: {missing}")
    return found["totals"]["percent_covered"]


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("name", "package", "tests"),
    [
        ("checker", "globalmin_check", CHECKER_TESTS),
        ("store", "globalmin.sweep", ["tests/sweep"]),
        ("proving", "globalmin.proving", ["tests/proving", "tests/acceptance/test_refusals.py"]),
    ],
)
def test_branch_coverage(name, package, tests, tmp_path, record_property):
    """R7, by the tests of the rooms themselves."""
    record_property(f"least percent, {name}", round(_percent(tmp_path, package, tests), 2))


@pytest.mark.campaign
def test_mutants_of_the_checker_die(record_property):
    """R6: two changes of every module of the checker, drawn by seed; the verdicts are kept in
    out/mutants/checker and go on where they were.
    """
    gate = Gate("checker")
    draw = Draw(2, gate=gate)
    if not (gate.folder / "reach.json").exists():
        settings = gate.settings()
        package, tests = settings["package"], settings["tests"]
        record_reach(ROOT, gate.folder, package, tests, jobs=2, keeps_others=False)
    run(draw, 2, True, SECONDS)
    keys = [mutant.key for mutant in sample(draw)]
    score = Score.of(keys, gate.outcomes(), gate.outcomes(first=True), gate.excused())
    record_property("mutants", score.mutants)
    record_property("killed", score.killed)
    record_property("killed at first", score.at_first)
    record_property("equivalent", score.equivalent)
    record_property("least percent killed", round(100 * score.killed / score.mutants, 1))


@pytest.mark.campaign
def test_a_fresh_clone_makes_an_accepted_file(tmp_path, record_property):
    """R22: clone, environment, fit and check, by the clock."""
    clone = tmp_path / "clone"
    plain = {name: v for name, v in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    started = time.monotonic()
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    subprocess.run(["make", "setup"], cwd=clone, env=plain, check=True)
    installed = time.monotonic()
    rng = np.random.default_rng(0)
    rows = ["a,b,target", *(",".join(f"{x:.6f}" for x in row) for row in rng.random((40, 3)))]
    (tmp_path / "rows.csv").write_text("\n".join(rows) + "\n", encoding="ascii")
    out = tmp_path / "fit"
    fit = ["fit", str(tmp_path / "rows.csv"), "--target", "target", "--interpolate"]
    binaries = clone / ".venv" / "bin"
    subprocess.run([binaries / "globalmin", *fit, "--out", str(out)], env=plain, check=True)
    check = [binaries / "globalmin-check", str(out / "certificate.gmc")]
    subprocess.run(check, env=plain, check=True)
    record_property("largest seconds of the install", round(installed - started, 1))
    record_property("largest seconds in all", round(time.monotonic() - started, 1))
