"""The fast route as the checker uses it: what it says of the whole corpus, when it is taken, what
the verdict names, and what it leaves to balls.
"""

import _ctypes
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.checker import cases
from tests.mutation.fast_differences import difference

from globalmin_check import check_file, limits
from globalmin_check.command.cli import main
from globalmin_check.engine import check_bytes
from globalmin_check.fast import choice as choice_module
from globalmin_check.fast import machine as machine_module
from globalmin_check.fast import route as route_module
from globalmin_check.fast.rounding import NotProved
from globalmin_check.verdict import Verdict

CORPUS = Path(__file__).resolve().parents[1] / "corpus"


def corpus_files() -> list[Path]:
    folders = ("accepted", "rejected", "malformed")
    return sorted(path for folder in folders for path in (CORPUS / folder).glob("*.gmc"))


def network(**options: Any) -> cases.Smooth:
    return cases.trained_network(12, 4, 6, seed=3, **options)


def interpolation(**options: Any) -> bytes:
    net = network(**options)
    return cases.build(net, [cases.interpolation_claim(net)])


def test_the_routes_agree_on_the_whole_corpus():
    """Where the fast route is sure, the exact one says the same, and the claim is true."""
    counts: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for path in corpus_files():
        raw, outside = path.read_bytes(), path.with_suffix(".data")
        data = outside.read_bytes() if outside.exists() else None
        result = check_bytes(raw, data, "fast")
        for claim in result.claims:
            if claim.verdict is Verdict.ACCEPTED:
                assert claim.route == "fast"
                kinds[claim.kind] += 1
        if result.verdict is not Verdict.UNDECIDED:
            found = difference(raw, counts, data)
            assert not found, f"{path.name}: {found}"
    print("routes on the corpus (fast/exact):", dict(counts), dict(kinds))
    assert set(kinds) == set(route_module.KINDS) - {"stream-gap"}  # which needs its rows
    assert counts["ACCEPTED/ACCEPTED"] > 30
    assert counts["MALFORMED/MALFORMED"] > 100


@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "tanh"])
@pytest.mark.parametrize("trained", ["W", "vW"])
@pytest.mark.parametrize("method", ["rows", "svec"])
def test_honest_files_are_accepted_by_floats_alone(activation: str, trained: str, method: str):
    net = network(activation=activation, trained=trained)
    claims = [cases.interpolation_claim(net, method=method), cases.descent_claim(net)]
    result = check_bytes(cases.build(net, claims), route="fast")
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert [claim.bits for claim in result.claims] == [53, 53]


@pytest.mark.parametrize("seed", range(3))
def test_honest_relu_files_are_accepted_by_floats_alone(seed: int):
    net = cases.relu_network(8, 6, 7, seed=seed)
    raw = cases.build_relu(net, [cases.relu_claim(net)])
    result = check_bytes(raw, route="fast")
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert not difference(raw, Counter())


def orthogonal_rows(error: float) -> bytes:
    """Two orthogonal rows; the first neuron does not see the second, long row, so that its margin
    counts there and not the length of the row.
    """
    X, W_hat = np.array([[1.0, 0.0], [0.0, 100.0]]), np.array([[1.0, -1e-3], [-1.0, 1.0]])
    y = np.maximum(X @ W_hat.T, 0.0).sum(axis=1) + np.array([error, 0.0])
    net = cases.Relu(X, y, W_hat, np.ones(2), W_hat, np.array([0, 1]))
    fields, tensors = cases.relu_claim(net)
    return cases.build_relu(net, [({**fields, "R": "100", "loss_upper": "100"}, tensors)])


def test_margins_of_relu_cells_are_those_of_the_balls():
    """With the residual the pairs that need the second condition become more, until one fails."""
    counts: Counter[str] = Counter()
    words: set[str] = set()
    for error in (1e-4, 1e-3, 1e-2, 0.1, 0.9, 1.1, 3.0):
        raw = orthogonal_rows(error)
        assert not difference(raw, counts)
        fast, exact = (check_bytes(raw, route=route).claims[0] for route in ("fast", "exact"))
        assert (fast.verdict is Verdict.ACCEPTED) == (exact.verdict is Verdict.ACCEPTED)
        if fast.verdict is Verdict.ACCEPTED:
            one, other = ([x.left for x in c.checks if x.number == "R6"] for c in (fast, exact))
            assert one == other
            words |= set(one)
    assert any(" 0 of them by the second" in word for word in words)
    assert len(words) > 1
    assert counts["UNDECIDED/REJECTED"] > 0


def test_a_pre_activation_of_exactly_zero_is_inactive_in_floats_too():
    net = cases.relu_network(8, 6, 7, seed=2)
    W_hat = net.W_hat.copy()
    W_hat[0] = 0.0
    for place in (net.T[1:], net.T):
        dead = replace(net, W_hat=W_hat, T=place)
        raw = cases.build_relu(dead, [cases.relu_claim(dead)])
        counts: Counter[str] = Counter()
        assert not difference(raw, counts)
        assert check_bytes(raw, route="fast").verdict is not Verdict.MALFORMED


def test_the_verdict_names_route_blas_and_what_is_trusted():
    raw = interpolation()
    fast, exact = check_bytes(raw, route="fast"), check_bytes(raw, route="exact")
    for word in ("float64", "numpy", "blas", "1 thread", "products confirmed by 2", "Trusted"):
        assert word in fast.route
    assert exact.route == "exact (python-flint balls)"
    assert json.loads(fast.to_json())["route"] == fast.route
    assert check_bytes(b"nothing").route == ""


def test_the_command_prints_the_route_second(tmp_path: Path, capsys: Any):
    path = tmp_path / "c.gmc"
    path.write_bytes(interpolation())
    for name, word in (
        ("fast", "route: fast"),
        ("exact", "route: exact"),
        ("auto", "route: exact"),
    ):
        assert main([str(path), "--route", name, "--time-limit", "0", "--memory-limit", "0"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].startswith("ACCEPTED")
        assert lines[1].startswith(word)
    with pytest.raises(SystemExit):
        main([str(path), "--route", "quick"])
    with pytest.raises(ValueError, match="route='quick' must be one of auto, fast, exact"):
        check_file(path, route="quick")


def test_the_guarded_command_works_in_one_thread(tmp_path: Path):
    path = tmp_path / "c.gmc"
    path.write_bytes(interpolation())
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-m", "globalmin_check", str(path), "--route", "fast"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0
    assert "1 thread" in done.stdout


def test_auto_takes_the_exact_route_first_where_it_is_quick(monkeypatch: pytest.MonkeyPatch):
    raw = interpolation()
    assert check_bytes(raw).claims[0].route == "exact"
    monkeypatch.setattr(choice_module, "EXACT_FIRST", 0)
    assert check_bytes(raw).claims[0].route == "fast"


def test_auto_takes_floats_sooner_in_a_process_that_has_numpy(monkeypatch: pytest.MonkeyPatch):
    raw = interpolation()
    monkeypatch.setattr(choice_module, "EXACT_FIRST_BESIDE_NUMPY", 0)
    assert check_bytes(raw).claims[0].route == "fast"
    monkeypatch.setattr(choice_module, "_has_numpy", lambda: False)
    assert check_bytes(raw).claims[0].route == "exact"


def test_what_floats_leave_open_goes_to_balls(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(choice_module, "EXACT_FIRST", 0)
    raw = interpolation(activation="erf")
    result = check_bytes(raw)
    assert (result.verdict, result.claims[0].route) == (Verdict.ACCEPTED, "exact")
    assert result.route == "exact (python-flint balls)"
    only = check_bytes(raw, route="fast")
    assert only.verdict is Verdict.UNDECIDED
    assert "does not know the activation erf" in only.reason
    monkeypatch.setattr(limits, "WORK", 10)
    both = check_bytes(raw)
    assert both.verdict is Verdict.UNDECIDED
    assert "fast: " in both.reason
    assert "; exact: the work" in both.reason


def test_a_claim_that_is_false_is_undecided_by_floats_and_rejected_by_balls():
    net = network()
    fields, tensors = cases.interpolation_claim(net)
    raw = cases.build(net, [({**fields, "R": str(Fraction(fields["R"]) / 10**6)}, tensors)])
    assert check_bytes(raw, route="fast").verdict is Verdict.UNDECIDED
    assert check_bytes(raw).verdict is Verdict.REJECTED


def test_a_sign_that_is_wrong_is_rejected_by_both():
    net = network()
    fields, tensors = cases.interpolation_claim(net)
    raw = cases.build(net, [({**fields, "a2": f"-{fields['a2']}"}, tensors)])
    for route in ("fast", "exact"):
        result = check_bytes(raw, route=route)
        assert result.verdict is Verdict.REJECTED
        assert "a2 > 0" in result.reason


def test_without_numpy_the_fast_route_is_refused_and_auto_is_exact(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(choice_module, "EXACT_FIRST", 0)
    monkeypatch.setattr(choice_module, "find_spec", lambda name: None)
    raw = interpolation()
    assert check_bytes(raw).claims[0].route == "exact"
    assert "globalmin-check[fast]" in check_bytes(raw, route="fast").reason


def test_the_checker_imports_numpy_only_for_the_fast_route(tmp_path: Path):
    path = tmp_path / "c.gmc"
    path.write_bytes(interpolation())
    code = (
        "import sys, globalmin_check as g; r = g.check_file(sys.argv[1]); "
        "print(r.verdict.value, 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["ACCEPTED", "False"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_failed_test_of_the_machine_is_no_verdict(monkeypatch: pytest.MonkeyPatch, when: str):
    calls: list[int] = []

    def failing() -> None:
        calls.append(1)
        if len(calls) == (1 if when == "before" else 2):
            raise NotProved("sums are not rounded to nearest even")

    monkeypatch.setattr(route_module, "self_test", failing)
    result = check_bytes(interpolation(), route="fast")
    assert result.verdict is Verdict.UNDECIDED
    assert "rounded to nearest" in result.reason
    assert not result.statement


def test_a_claim_beyond_the_limits_of_the_route_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    raw = interpolation()
    monkeypatch.setattr(route_module, "LARGEST_BYTES", 10)
    assert "bytes" in check_bytes(raw, route="fast").reason
    monkeypatch.setattr(route_module, "LARGEST_BYTES", 2**33)
    monkeypatch.setattr(route_module, "LARGEST_WORK", 10)
    assert "operations" in check_bytes(raw, route="fast").reason


def test_memory_that_runs_out_is_undecided(monkeypatch: pytest.MonkeyPatch):
    def hungry(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(route_module, "self_test", hungry)
    assert "out of memory" in check_bytes(interpolation(), route="fast").reason


def test_a_numpy_whose_blas_cannot_be_asked_needs_the_environment_to_say_one_thread(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    """No library beside numpy, one that cannot be loaded, one without the functions."""
    home = tmp_path / "numpy"
    (tmp_path / "numpy.libs").mkdir()
    home.mkdir()
    monkeypatch.setattr(machine_module.np, "__file__", str(home / "__init__.py"))
    assert machine_module._openblas.__wrapped__() is None
    (tmp_path / "numpy.libs" / "libopenblas.so").write_bytes(b"no library")
    assert machine_module._openblas.__wrapped__() is None
    plain = next(Path(_ctypes.__file__).parent.glob("_ctypes*.so"))
    (tmp_path / "numpy.libs" / "libopenblas2.so").symlink_to(plain)
    assert machine_module._openblas.__wrapped__() is None
