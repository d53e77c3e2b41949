"""The producer of spurious-minimum and global-basin (DU-CERT5, DU-B5): what it writes is accepted,
and long runs obey it.
"""

import math
from pathlib import Path

import numpy as np
import pytest

import globalmin as gm
from globalmin.activations.moments import angle
from globalmin.errors import DataError
from globalmin.one_filter import claims
from globalmin.one_filter.claims import certify_filter
from globalmin.one_filter.landscape import (
    Basin,
    barrier,
    best_head,
    smoothness,
    spurious_loss,
    trap_test,
)
from globalmin.one_filter.network import FilterTeacher, population_loss
from globalmin.one_filter.phases import heads_state, state_of, trajectory
from globalmin_check import Verdict
from globalmin_check.engine import check_bytes

KINDS = {Basin.GLOBAL: "global-basin", Basin.SPURIOUS: "spurious-minimum"}
Decided = tuple[np.ndarray, np.ndarray, FilterTeacher, Basin]


def random_start(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, FilterTeacher]:
    """Any filter, output weights anywhere between the trap's and the teacher's, lengths over six
    orders of magnitude.
    """
    k, p = int(rng.integers(1, 30)), int(rng.integers(1, 8))
    teacher = FilterTeacher(
        rng.standard_normal(p) * 10 ** rng.uniform(-1, 1),
        rng.standard_normal(k) + rng.uniform(-1, 1),
    )
    v = (rng.uniform(-3, 3) * teacher.w / teacher.W + rng.standard_normal(p)) * 10 ** rng.uniform(
        -3, 3
    )
    a = best_head(rng.uniform(0, np.pi), teacher)
    return (
        v,
        a + rng.uniform(0, 0.5) * np.linalg.norm(a) * rng.standard_normal(k) / np.sqrt(k),
        teacher,
    )


@pytest.fixture(scope="module")
def decided() -> list[Decided]:
    """A hundred random starts that the trap test decides, both sides well represented."""
    rng, starts = np.random.default_rng(7), []
    counts = dict.fromkeys(KINDS, 0)
    while len(starts) < 100:
        v, a, teacher = random_start(rng)
        basin = trap_test(v, a, teacher)
        if basin is not Basin.UNDECIDED and counts[basin] < 50:
            counts[basin] += 1
            starts.append((v, a, teacher, basin))
    return starts


def test_every_decided_start_gives_an_accepted_file(decided: list[Decided], tmp_path: Path) -> None:
    """DU-CERT5: flow and descent with nearly the largest step, through a file and the public
    checker.
    """
    for v, a, teacher, basin in decided:
        for step in (None, 0.999 * 2 / smoothness(v, a, teacher)):
            certificate = certify_filter(v, a, teacher, step)
            result = gm.check(certificate.save(tmp_path / "start.gmc"))
            assert result.verdict is Verdict.ACCEPTED, result.reason
            assert [claim.kind for claim in certificate.claims] == [KINDS[basin]]
            assert ("gradient descent" in result.statement) == (step is not None)


def test_certified_runs_obey_the_theorem(decided: list[Decided]) -> None:
    """DU-B5: at nearly 2/beta b keeps its sign and the loss falls; (S) above the floor, (G) with an
    angle that never grows.
    """
    for v, a, teacher, basin in decided[::4]:
        eta = 0.999 * 2 / smoothness(v, a, teacher)
        assert (
            check_bytes(certify_filter(v, a, teacher, eta).to_bytes()).verdict is Verdict.ACCEPTED
        )
        run = trajectory(state_of(v, a, teacher), teacher, eta, 300)
        room = 1e-12 * (teacher.W**2 * teacher.size)
        assert np.all(np.diff(run["loss"], axis=0) <= room)
        if basin is Basin.SPURIOUS:
            assert np.all(run["b"] < 0)
            assert np.all(run["loss"] >= certify_filter(v, a, teacher).claims[0].summary["floor"])
        else:
            assert np.all(run["b"] > 0)
            assert np.all(np.diff(run["phi"], axis=0) <= 1e-12)


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_certified_runs_arrive_where_the_certificate_says(side: float) -> None:
    """Five runs as one vector, |w*| = 1 and k = 3: the loss ends at l_sp (like a cube of the angle,
    slowly) or at zero.
    """
    rng = np.random.default_rng(3)
    teacher = FilterTeacher(np.array([1.0, 0.0, 0.0]), np.array([1.0, -0.8, 0.1]))
    filters = [np.array([side, *(0.1 * rng.standard_normal(2))]) for _ in range(5)]
    heads = best_head(0.0 if side < 0 else np.pi, teacher) + 0.05 * rng.standard_normal((5, 3))
    eta = min(0.9 * 2 / smoothness(v, a, teacher) for v, a in zip(filters, heads, strict=True))
    kinds = {
        certify_filter(v, a, teacher, eta).claims[0].kind
        for v, a in zip(filters, heads, strict=True)
    }
    assert kinds == {"spurious-minimum" if side < 0 else "global-basin"}
    phi, length2 = (
        np.array([angle(v, teacher.w) for v in filters]),
        np.array([float(v @ v) for v in filters]),
    )
    run = trajectory(heads_state(phi, length2, heads, teacher), teacher, eta, 5000)
    limit = spurious_loss(teacher) if side < 0 else 0.0
    assert run["loss"][-1] == pytest.approx(np.full(5, limit), abs=1e-7)


def test_stored_bounds_are_tight(decided: list[Decided]) -> None:
    for v, a, teacher, _ in decided:
        summary = certify_filter(v, a, teacher).claims[0].summary
        assert summary["loss_upper"] == pytest.approx(population_loss(v, a, teacher), rel=1e-8)
        assert summary["barrier"] == barrier(teacher)
        assert summary.get("floor", spurious_loss(teacher)) == pytest.approx(
            spurious_loss(teacher), rel=1e-8
        )


def test_the_same_certificate_has_the_same_bytes() -> None:
    teacher = FilterTeacher(np.array([3.0, 4.0]), np.array([1.0, 0.5]))
    first, second = (
        certify_filter([3.0, 3.0], [4.0, 2.0], teacher, 0.1).to_bytes() for _ in range(2)
    )
    assert first == second


def test_undecided_starts_are_refused_with_a_reason() -> None:
    teacher = FilterTeacher(np.array([3.0, 4.0]), np.array([1.0, 2.0]))
    for v, a in (
        ([1.0, 0.0], [-50.0, 1.0]),
        ([3.0, 4.0], [0.0, 0.0]),
        ([3.0, 4.0], [2.0, -1.0]),
        ([-3.0, -4.0], [0.5, 1.0]),
    ):
        with pytest.raises(gm.errors.CannotCertify, match="both ends are still possible") as error:
            certify_filter(v, a, teacher)
        assert "barrier" in str(error.value.reasons)


def test_steps_outside_the_open_interval_are_refused() -> None:
    teacher = FilterTeacher(np.array([3.0, 4.0]), np.array([1.0, 0.5]))
    v, a = [3.0, 3.5], [4.5, 2.5]
    most = 2 / smoothness(v, a, teacher)
    for step in (0.0, -1.0, most, 1.001 * most, np.inf, np.nan):
        with pytest.raises(gm.errors.CannotCertify, match="step_size"):
            certify_filter(v, a, teacher, step)
    assert (
        check_bytes(certify_filter(v, a, teacher, 0.9999 * most).to_bytes()).verdict
        is Verdict.ACCEPTED
    )


def test_the_counterexample_to_the_older_test_is_refused_for_descent_only() -> None:
    """DU-B5: |v0| = .001 makes eta = 1.39 far too large; the flow is certified."""
    teacher = FilterTeacher(np.array([1.0, 0.0]), np.array([1.0, 0.0]))
    v, a = 0.001 * np.array([np.cos(2.81), np.sin(2.81)]), np.array([-0.18, 0.37])
    with pytest.raises(gm.errors.CannotCertify, match="step_size"):
        certify_filter(v, a, teacher, 1.39)
    assert check_bytes(certify_filter(v, a, teacher).to_bytes()).verdict is Verdict.ACCEPTED
    assert np.any(trajectory(state_of(v, a, teacher), teacher, 1.39, 50)["b"] > 0)


@pytest.mark.parametrize("v", [[1.0], [np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]])
def test_bad_filters_are_data_errors(v: list[float]) -> None:
    teacher = FilterTeacher(np.array([3.0, 4.0]), np.array([1.0, 0.5]))
    with pytest.raises(gm.errors.DataError):
        certify_filter(v, [1.0, 1.0], teacher)


def test_starts_at_and_next_to_the_teacher_are_accepted() -> None:
    """DU-B5: the error of a - W a* is absolute, so the stored bound of the loss must not be
    relative alone.
    """
    rng = np.random.default_rng(8)
    for deviation in (0.0, 1e-16, 1e-12, 1e-8, 1e-4):
        for _ in range(8):
            teacher = FilterTeacher(
                rng.standard_normal(4) * 10.0 ** rng.integers(-3, 4), rng.standard_normal(5)
            )
            a = teacher.W * (teacher.a + deviation * rng.standard_normal(5))
            result = check_bytes(certify_filter(2.0 * teacher.w, a, teacher).to_bytes())
            assert result.verdict.value == "ACCEPTED", result.reason


def test_the_room_for_rounding_at_the_teacher_grows_like_the_root_of_its_size() -> None:
    """The bound of a loss of 0: (8 eps sqrt(k + p) W sqrt(|a*|^2 + s^2))^2, with k + p = 4 and 16,
    W = 5, |a*|^2 + s^2 = 1.
    """
    eps = 2.0**-52
    for k, p, room in ((2, 2, 16.0), (9, 7, 32.0)):
        a = np.array([1.0, -1.0] + [0.0] * (k - 2)) / math.sqrt(2.0)
        teacher = FilterTeacher(np.array([3.0, 4.0] + [0.0] * (p - 2)), a)
        found = claims._loss_above(0.0, teacher)
        assert found == pytest.approx((room * eps * 5.0) ** 2, rel=1e-9, abs=0.0)


def test_output_weights_of_another_length_are_refused_with_both_lengths() -> None:
    teacher = FilterTeacher(np.ones(3), np.ones(2))
    with pytest.raises(DataError, match=r"a has shape \(4,\)"):
        certify_filter(np.ones(3), np.ones(4), teacher)
