"""The benchmark suite: turns, ratios, regressions and the page are what they say; the contenders of
a contest do the same job.
"""

import itertools
import json
import time

import numpy as np
import pytest
from bench import __main__ as command
from bench.contests import (
    contest,
    convex,
    growth,
    kernels,
    page,
    proofs,
    regressions,
    tangents_peer,
    training,
)
from bench.contests.contest import Contender, Contest, Outcome, Score
from bench.contests.tangents_peer import Peer


class Clock:
    """A clock that a contender sets forward by what it takes."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, []

    def contender(self, name: str, *seconds: float) -> Contender:
        takes = itertools.cycle(seconds)

        def run() -> Outcome:
            self.calls.append(name)
            self.now += next(takes)
            return Outcome(1.0, 10.0)

        return Contender(name, run)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setitem(contest.CLOCKS, "CPU", lambda: made.now)
    return made


def _absent() -> Outcome:
    raise ImportError("No module named 'peer'", name="peer")


def test_contenders_run_in_turns_after_a_first_run_that_does_not_count(clock):
    # the first runs take 7 and 9, the counted ones 1, 2, 3 and 4, 4, 9
    us, peer = clock.contender("us", 7, 1, 2, 3), clock.contender("peer", 9, 4, 4, 9)
    asked = Contest("job", "size", [us, peer, Contender("absent", _absent)], "unit")
    scores = contest.measured(asked, 3)
    assert clock.calls == ["us", "peer", "us", "peer", "peer", "us", "us", "peer"]
    assert scores["us"].seconds == [1, 2, 3]
    assert scores["peer"].seconds == [4, 4, 9]
    kept = contest.record(asked, scores, peak=5.0)["contenders"]
    # ratios within the rounds: 4, 2, 3; the median ratio is not the ratio of medians, 2
    assert (kept["peer"]["ratio"], kept["peer"]["ratio_low"], kept["peer"]["ratio_high"]) == (
        3,
        2,
        4,
    )
    assert kept["us"]["seconds"] == 2
    assert kept["us"]["share_of_peak"] == 10.0 / 2 / 5.0
    assert kept["absent"] == {"absent": "not installed: peer"}


def test_a_slow_contender_is_run_once_and_short_jobs_are_repeated(clock):
    us, slow = clock.contender("us", 0.01), clock.contender("slow", 21.0)
    scores = contest.measured(Contest("job", "size", [us, slow], "unit"), 2)
    assert clock.calls.count("slow") == 1
    assert clock.calls.count("us") == 1 + 2 * 5  # .05 s in steps of .01
    assert scores["us"].seconds == pytest.approx([0.01, 0.01])
    assert contest.ratios(scores["slow"], scores["us"]) == pytest.approx([2100.0])


def test_cpu_seconds_count_this_process_and_children_that_ended():
    import subprocess
    import sys

    began = contest.cpu_seconds()
    subprocess.run([sys.executable, "-c", "sum(i * i for i in range(2_000_000))"], check=True)
    child = contest.cpu_seconds()
    assert child - began > 0.02
    sum(i * i for i in range(2_000_000))
    assert contest.cpu_seconds() - child > 0.02


def _run(ratio: float, spread: float, name: str = "peer") -> dict:
    row = {"ratio": ratio, "ratio_low": ratio - spread, "ratio_high": ratio + spread}
    return {"contests": {"job: size": {"contenders": {name: row}}}}


@pytest.mark.parametrize(
    ("name", "before", "after", "spread", "is_worse"),
    [
        ("peer", 10.0, 8.4, 0.1, True),  # a peer came 16 % nearer
        ("peer", 10.0, 8.6, 0.1, False),  # 14 %
        ("peer", 10.0, 8.4, 2.0, False),  # within the spread
        ("peer", 10.0, 12.0, 0.1, False),  # we became faster
        ("check", 0.10, 0.116, 0.001, True),  # a part of our own: more is worse
        ("check", 0.10, 0.114, 0.001, False),
        ("check", 0.10, 0.08, 0.001, False),
        ("additive network with proof", 2.0, 2.4, 0.01, True),
    ],
)
def test_a_ratio_that_became_worse_by_more_than_15_percent_is_named(
    name, before, after, spread, is_worse
):
    lines = regressions.regressions(_run(before, spread, name), _run(after, spread, name))
    assert bool(lines) is is_worse
    if is_worse:
        assert lines[0].startswith(f"job: size, {name}: {before:.3g} before, {after:.3g} now")


def test_only_what_both_runs_have_is_compared():
    other = {"contests": {"another": {"contenders": {}}}}
    assert regressions.regressions(_run(1.0, 0.0), other) == []
    absent = {"contests": {"job: size": {"contenders": {"peer": {"absent": "not installed"}}}}}
    assert regressions.regressions(_run(1.0, 0.0), absent) == []


@pytest.mark.parametrize("name", training.TRAINERS)
def test_every_trainer_fits_the_same_problem(name):
    """Residuals fall to the tolerance, or, of those that have another rule, far below the start."""
    network, data = training.start_of(40, 10, 12)
    train, _ = training.TRAINERS[name]
    try:
        found = train(network, data).quality
    except ImportError as missing:
        pytest.skip(f"{missing.name} is in the environment of the peers only")
    # scikit-learn stops by its own rule (a relative change of the loss of 2e-9); torch's line
    # search gives up at rounding of the loss, whose root is 1e-8
    limit = {"sklearn MLP": 1e-2, "torch L-BFGS": 1e-7}.get(name, 1e-9)
    assert found <= limit


def test_the_bare_loop_takes_the_steps_of_levenberg_marquardt():
    """One step from the same point, against the normal equations with the dense Jacobian."""
    network, data = training.start_of(30, 8, 6)
    J = training._jacobian(network, data.X)
    r = np.logaddexp(0.0, data.X @ network.W.T) @ network.v - data.y
    dense = np.linalg.solve(J.T @ J + np.eye(J.shape[1]), J.T @ r)
    S = network.activation.derivative(data.X @ network.W.T) * network.v
    a = np.linalg.solve((S @ S.T) * (data.X @ data.X.T) + np.eye(30), r)
    assert np.allclose((S * a[:, None]).T @ data.X, dense.reshape(network.W.shape), rtol=1e-9)


def test_the_convex_solvers_agree():
    """The factors end where our solver does: quality is the excess over a floor, so near zero and
    never negative beyond rounding.
    """
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 6)), rng.standard_normal(60)
    asked = convex._solvers(60, 6)
    first, second = (contender.run().quality for contender in asked.contenders[:2])
    assert 0.0 <= first < 1e-8
    assert 0.0 <= second < 1e-6
    M = convex.factored_point(X, y, 1.0)
    assert np.array_equal(M, M.T)


def test_plain_kernels_are_the_kernels():
    X = np.random.default_rng(1).standard_normal((20, kernels.D))
    X /= np.linalg.norm(X, axis=1)[:, None]
    peer = StoodIn()
    for asked in (kernels._shallow(X, peer), kernels._deep(X, 5, peer)):
        ours, plain, other = (contender.run() for contender in asked.contenders)
        assert ours.quality < 1e-12  # entries of size 1, a few roundings each
        assert plain.quality == 0.0
        assert ours.seconds is not None
        assert other.seconds == 3.0  # what it says of itself
        assert other.quality > 0.01
    assert peer.asked == [("gram", 1), ("ntk", 5)]


class StoodIn(Peer):
    """A process that answers zeros."""

    def __init__(self) -> None:
        self.asked = []

    def kernel(self, name: str, depth: int) -> tuple[np.ndarray, float]:
        self.asked.append((name, depth))
        return np.zeros((20, 20)), 3.0


def test_a_contender_without_its_environment_is_absent(monkeypatch, tmp_path):
    monkeypatch.delenv("NEURAL_TANGENTS_PYTHON", raising=False)
    script = tmp_path / "fails.sh"
    script.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setattr(tangents_peer, "SCRIPT", script)
    peer = Peer(np.eye(3))
    absent = Contender("them", lambda: Outcome(float(peer.kernel("gram", 1)[1])))
    ours = Contender("ours", lambda: Outcome(0.0))
    scores = contest.measured(Contest("job", "size", [ours, absent], "none"), 1)
    assert scores["them"].absent == "not installed: neural_tangents"
    peer.close()


def test_seconds_that_a_contender_measures_itself_count(clock):
    made = clock.contender("ours", 7.0)
    said = Contender("said", lambda: Outcome(1.0, seconds=made.run().quality * 0.25))
    assert contest.timed(made, "CPU", 2)[0] == 7.0
    assert contest.timed(said, "CPU", 2)[0] == 0.25


def test_proof_and_check_are_of_the_trained_network(tmp_path):
    asked = proofs._contest(30, 10, 8, tmp_path / "proof.gmc")
    outcomes = {contender.name: contender.run() for contender in asked.contenders}
    assert outcomes["train"].quality <= 1e-10
    assert outcomes["proof"].quality == outcomes["check"].quality > 0


def test_growth_exponents_are_slopes_on_logarithmic_axes():
    points = [{"rows": n, "seconds": n**2.5, "gib": 1e-5} for n in (100, 200, 400)]
    assert growth.exponent(points, "seconds") == pytest.approx(2.5)
    assert np.isnan(growth.exponent(points, "gib"))


def test_memory_is_what_a_job_holds_at_its_peak():
    with growth.Memory() as memory:
        held = np.ones(2**25)  # 256 MiB
        time.sleep(0.05)  # the watch looks every two milliseconds
        del held
    assert 0.24 < memory.needed < 0.30


def test_the_page_is_written_from_the_results_alone(tmp_path, monkeypatch):
    asked = Contest("job", "n = 5", [Contender("us", lambda: Outcome(0.5))], "unit")
    row = contest.record(asked, {"us": Score([2.0, 4.0, 3.0], Outcome(0.5))}, 1.0)
    row["contenders"]["peer"] = {
        "seconds": 9.0, "ratio": 3.0, "ratio_low": 2.5, "ratio_high": 3.5, "runs": 3,
        "quality": 0.25,
    }  # fmt: skip
    points = [{"rows": n, "seconds": float(n), "gib": n / 100} for n in (10, 20)]
    machine = {
        "date": "2026-01-01", "commit": "abc", "cores": 2, "load_at_start": 0.1, "gflops": 30.0,
        "python": "3.11", "packages": {"numpy": "2"},
    }  # fmt: skip
    results = {"contests": {"job: n = 5": row}, "growth": {"train": points}, "machine": machine}
    target = tmp_path / "benchmarks.md"
    target.write_text(command.PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(command, "PAGE", target)
    monkeypatch.setattr(command, "FIGURES", tmp_path)
    (tmp_path / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert command.main(["--page", "--out", str(tmp_path / "results.json")]) == 0
    text = target.read_text(encoding="utf-8")
    assert "| us | 3 s (0.5) |" in text
    assert "| peer | 9 s (0.25); **3** [2.5, 3.5] |" in text
    assert "| train | 10: 10 s, 0.1; 20: 20 s, 0.2 | 1.0 | 1.0 |" in text
    assert (tmp_path / "bench-ratios.svg").stat().st_size > 1_000
    assert (tmp_path / "bench-growth.svg").stat().st_size > 1_000
    assert page.filled(text, "growth", "anew").count("bench: begin growth") == 1
